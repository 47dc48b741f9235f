# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probe containers in real engines, with device nodes, preloaded libraries and readers of our own. Where an engine cannot start, its tests are skipped."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from allocation_samples import OK, UUID, accelerator
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command, grants, probe
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_judge as judge
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_script as script
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import live
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.together import run_together
from copied import ROOT
from probe_engines import IMAGE, client, dockerd, image_tree, libraries, load, nodes

SCHEMA = jsonschema.Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "probes.json").read_text(encoding="utf-8")))
NODES = ("/dev/alixpu", "/dev/alixpu_ctl", "/dev/alixpu_ppu0")
CONFIG = """
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=1024:4096"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "runc"
"""
# Does for a container what a vendor's runtime does: device nodes of the accelerators it names, and the vendor's tool. LEAK: of all accelerators.
RUNTIME = """#!/usr/bin/python3
import json, os, sys
if "create" in sys.argv:
    path = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    config = json.load(open(path))
    named = dict(one.partition("=")[::2] for one in config["process"]["env"]).get("NVIDIA_VISIBLE_DEVICES", "")
    given = ["/dev/nvidiactl"] + ["/dev/nvidia%d" % n for n in (0, 1) if os.path.exists("LEAK") or named.endswith("-%d" % n)]
    for node in given:
        facts = os.stat(node)
        one = {"type": "c", "major": os.major(facts.st_rdev), "minor": os.minor(facts.st_rdev)}
        config["linux"].setdefault("devices", []).append(dict(one, path=node, fileMode=438, uid=0, gid=0))
        config["linux"]["resources"]["devices"].append(dict(one, allow=True, access="rwm"))
    config["mounts"].append({"destination": "/bin/nvidia-smi", "source": "TOOL", "type": "bind", "options": ["rbind", "ro"]})
    json.dump(config, open(path, "w"))
os.execvp("runc", ["runc"] + sys.argv[1:])
"""
TOOL = """#!/bin/sh
[ "$1" = -L ] && { echo "GPU 0: Test (UUID: $NVIDIA_VISIBLE_DEVICES)"; exit; }
echo 24564
"""


class Engine:
    """An engine with the image, and what a run on it answers."""

    def __init__(self, here, name):
        self.here, self.name, self.bin = here, name, here / "bin"
        self.bin.mkdir()
        self.made, self.count = here / "made", 0

    def run(self, manufacturer="thead", devices=None, host=None, **options):
        own = host or live.LiveHost(path="%s:%s" % (self.bin, live.PATH), deadline=120)
        given = {
            "manufacturer": manufacturer,
            "devices": devices or [accelerator(manufacturer)],
            "detection": OK,
            "driver": {},
            "image": IMAGE,
            "pull": "never",
        }
        given.update({"runtime": self.name, **options})
        try:
            section = probe.collect(own, given, str(self.made), str(self.here / "none" / "lock"))
        finally:
            own.close()
        assert [error.message[:200] for error in SCHEMA.iter_errors(json.loads(json.dumps(section)))] == []
        return section

    def ids(self):
        words = [str(self.bin / self.name), "ps", "-aq"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A directory with a short path: a socket's name has 108 bytes at most."""
    path = tmp_path_factory.mktemp("p")
    yield path
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[1].startswith(str(path)):
            subprocess.run(["umount", "-l", line.split()[1]], check=False)


@pytest.fixture(scope="module")
def docker(short):
    here = short / "d"
    here.mkdir()
    (here / "tool").write_text(TOOL)
    (here / "runtime").write_text(RUNTIME.replace("LEAK", str(here / "leak")).replace("TOOL", str(here / "tool")))
    for name in ("tool", "runtime"):
        (here / name).chmod(0o755)
    daemon, socket = dockerd(here, json.dumps({"runtimes": {"nvidia": {"path": str(here / "runtime")}}}))
    try:
        engine = Engine(here, "docker")
        engine.socket = "unix://" + socket
        real = shutil.which("docker")
        client(engine.bin, "docker", [real, "-H", "unix://" + socket])
        load([str(engine.bin / "docker")], image_tree(here / "tree"))
        load([str(engine.bin / "docker")], image_tree(here / "hasty", without=("sleep",)), "hasty:1")
        with nodes(*NODES, "/dev/alixpu_ppu1", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1"):
            yield engine
    finally:
        daemon.end()


@pytest.fixture
def slices(tmp_path):
    return lambda *args, **more: libraries(tmp_path / "lib", *args, **more)


def told(section):
    return {row["capability"]: (row["state"], row["depth"], row["detail"] or row["reason"]) for row in section["checks"]}


def left_nothing(engine, section):
    assert engine.ids() == [] and [one.name for one in engine.made.iterdir()] == ["lock"]
    assert {entry["outcome"] for entry in section["writes"]} <= {"kept", "removed"}
    return True


def test_a_healthy_card(docker, slices):
    section = docker.run(slicing_library_root=slices("caps"))
    found = told(section)
    assert found["container-device"] == ("ok", "measured", "sees /dev/alixpu_ppu0 and no other accelerator")
    assert found["sliced-runtime-loaded"][:2] == ("ok", "measured") and "/usr/local/vppu/hggc_quota.so" in found["sliced-runtime-loaded"][2]
    assert found["sliced-quota-in-force"] == ("ok", "measured", "the reader in the container reports 49152, the cap of the grant")
    assert found["co-tenancy"] == ("ok", "measured", "two slices ran together, reporting 49152 and 49152")
    assert section["started"] == 4 and section["changed"] is True and left_nothing(docker, section)
    evidence = next(row["evidence"] for row in section["checks"] if row["capability"] == "co-tenancy")
    assert evidence.count("fleetproof-co-tenants-met") == 2 and evidence.startswith("tenant 1:\n") and "\ntenant 2:\n" in evidence


SHIMS = [
    # the library loads and caps nothing: what is applied was not observed
    ("idle", ("ok", "measured"), ("ok", "simulated"), ("ok", "simulated"), "did not report the cap"),
    # it prints the cap whenever it is loaded: its word is not the reader's
    ("banner", ("ok", "measured"), ("ok", "simulated"), ("ok", "simulated"), "did not report the cap"),
    ("aborts", ("unavailable", "measured"), ("unavailable", "measured"), ("unavailable", "measured"), "tenant 1: exit "),
    ("dies", ("unavailable", "measured"), ("unavailable", "measured"), ("unavailable", "measured"), "tenant 1: exit 134; tenant 2: exit 134"),
]


@pytest.mark.parametrize(("shim", "loaded", "quota", "tenants", "words"), SHIMS)
def test_shims(docker, slices, shim, loaded, quota, tenants, words):
    section = docker.run(slicing_library_root=slices(shim))
    found = told(section)
    assert found["container-device"][:2] == ("ok", "measured"), "the libraries are in slices alone"
    assert found["sliced-runtime-loaded"][:2] == loaded and found["sliced-quota-in-force"][:2] == quota
    assert found["co-tenancy"][:2] == tenants and words in found["co-tenancy"][2]
    if shim == "aborts":
        assert "not mapped in the container: " in found["sliced-runtime-loaded"][2] and "exit " in found["sliced-runtime-loaded"][2]
    if shim == "dies":
        assert found["sliced-runtime-loaded"][2] == "loaded, then the container died under it: exit 134"
    if shim == "banner":
        assert "memory limit 49152 MiB" in next(row["evidence"] for row in section["checks"] if row["capability"] == "sliced-quota-in-force")
    assert left_nothing(docker, section)


def test_a_library_that_is_not_loaded(docker, slices):
    found = told(docker.run(slicing_library_root=slices("caps", preload=("/usr/local/vppu/hgml_dlsym_hook.so",))))
    assert found["sliced-runtime-loaded"] == ("unavailable", "measured", "not mapped in the container: /usr/local/vppu/hggc_quota.so")
    assert found["sliced-quota-in-force"][:2] == ("ok", "simulated") and found["co-tenancy"][:2] == ("ok", "simulated")


def test_a_library_that_is_none(docker, slices):
    """The loader says so in the middle of the maps, and goes on."""
    root = slices("caps")
    Path(root, "thead", "hggc_quota.so").write_text("not a library")
    section = docker.run(slicing_library_root=root)
    assert told(section)["sliced-runtime-loaded"][2] == "not mapped in the container: /usr/local/vppu/hggc_quota.so"
    assert "cannot be preloaded" in next(row["evidence"] for row in section["checks"] if row["capability"] == "sliced-runtime-loaded")


def test_what_cannot_be_started_is_no_fault(docker, slices):
    section = docker.run(image="absent:1", slicing_library_root=slices("caps"))
    assert {row["capability"] for row in section["checks"]} == {"container-device", "sliced-runtime-loaded", "sliced-quota-in-force", "co-tenancy"}
    for row in section["checks"]:
        assert (row["state"], row["depth"]) == ("ok", "simulated") and row["detail"].startswith("it could not be started")
        assert "exit 125: docker: Error response from daemon: No such image: absent:1" in row["detail"] and row["command"] and row["evidence"]
    assert left_nothing(docker, section)


def test_libraries_that_are_not_there_are_not_made_by_the_engine(docker, tmp_path):
    section = docker.run(slicing_library_root=str(tmp_path / "nowhere"))
    found = told(section)
    assert found["container-device"][:2] == ("ok", "measured") and section["started"] == 1
    assert found["sliced-runtime-loaded"][:2] == ("ok", "simulated") and "is not on the machine" in found["sliced-runtime-loaded"][2]
    assert not (tmp_path / "nowhere").exists() and section["would_start"] == []


def test_a_container_that_does_not_end(docker, slices):
    root = slices("caps")
    Path(root, "thead", "ppu-monitor").write_text("#!/bin/sh\nsleep 600\n")
    section = docker.run(slicing_library_root=root, probe_seconds=4)
    found = told(section)
    assert found["sliced-runtime-loaded"] == ("unavailable", "measured", "loaded, then the container died under it: it had not ended after 4 s and was ended")
    assert found["co-tenancy"][0] == "unavailable" and found["co-tenancy"][2].count("had not ended") == 2
    assert left_nothing(docker, section)


def test_a_container_that_prints_without_end(docker, slices):
    root = slices("caps")
    Path(root, "thead", "ppu-monitor").write_text("#!/bin/sh\nwhile :; do echo 49152 49152 49152 49152 49152 49152; done\n")
    section = docker.run(slicing_library_root=root)
    assert told(section)["sliced-quota-in-force"][0] == "unavailable" and "more than is kept" in told(section)["sliced-quota-in-force"][2]
    assert all(len(row["evidence"]) < 9000 for row in section["checks"]) and left_nothing(docker, section)


def test_tenants_that_do_not_meet(docker, slices, tmp_path):
    """The second begins when the first, which has no sleep, is long gone."""
    late = client(tmp_path, "docker", [str(docker.bin / "docker")], 'case "$*" in *"> /fleetproof-barrier/tenant-2"*) sleep 3 ;; esac')
    host = live.LiveHost(path="%s:%s" % (late.parent, live.PATH), deadline=120)
    section = docker.run(host=host, image="hasty:1", slicing_library_root=slices("caps"))
    assert told(section)["co-tenancy"][:2] == ("ok", "simulated") and "did not meet" in told(section)["co-tenancy"][2]
    assert told(section)["sliced-quota-in-force"][:2] == ("ok", "measured") and left_nothing(docker, section)


def pair(manufacturer="thead", **more):
    first = accelerator(manufacturer, **more)
    second = dict(first, id="%s:1" % manufacturer, index=1, identity=dict(first["identity"], uuid={"value": UUID[manufacturer] + "-1", "quality": "good"}))
    first["identity"] = dict(first["identity"], uuid={"value": UUID[manufacturer] + "-0", "quality": "good"})
    extra = {"nvidia": {"minor": 1}, "thead": {"minor_number": 1}}[manufacturer]
    return [first, dict(second, device_nodes=["/dev/nvidia1"] if manufacturer == "nvidia" else second["device_nodes"], extra=extra)]


def test_each_of_two_accelerators_is_alone(docker):
    rows = [row for row in docker.run(devices=pair())["checks"] if row["capability"] == "container-device"]
    assert [row["detail"] for row in rows] == ["sees /dev/alixpu_ppu%d and no other accelerator" % n for n in (0, 1)]


@pytest.mark.parametrize("leaks", [False, True])
def test_a_vendors_runtime(docker, leaks):
    if leaks:
        (docker.here / "leak").write_text("")
    try:
        section = docker.run("nvidia", pair("nvidia"), driver={"runtime_version": "12.4"})
    finally:
        (docker.here / "leak").unlink(missing_ok=True)
    rows = [row for row in section["checks"] if row["capability"] == "container-device"]
    for number, row in enumerate(rows):
        assert " --runtime nvidia " in row["command"] and row["depth"] == "measured"
        other = "/dev/nvidia%d of another accelerator is in it" % (1 - number)
        assert (row["state"], row["reason"]) == (("unavailable", other) if leaks else ("ok", ""))
        assert leaks or row["detail"] == "sees /dev/nvidia%d, %s-%d and no other accelerator" % (number, UUID["nvidia"], number)
    assert left_nothing(docker, section)


def test_an_engine_without_the_vendors_runtime(docker):
    section = docker.run("mthreads", driver={})
    (row,) = section["checks"]
    assert (row["state"], row["depth"]) == ("ok", "simulated") and "could not be started" in row["detail"] and "mthreads" in row["detail"]


def test_check_mode_does_nothing_and_what_it_prints_runs(docker, slices):
    before = docker.made.exists() and [one.name for one in docker.made.iterdir()]
    section = docker.run(check_mode=True, slicing_library_root=slices("caps"))
    assert section["started"] == 0 and section["changed"] is True and len(section["would_start"]) == 3
    assert (docker.made.exists() and [one.name for one in docker.made.iterdir()]) == before and docker.ids() == []
    assert {entry["outcome"] for entry in section["writes"]} == {"intended"}
    assert all(row["state"] == "ok" and row["depth"] == "simulated" and row["command"] and not row["evidence"] for row in section["checks"])
    env = dict(os.environ, PATH="%s:%s" % (docker.bin, os.environ["PATH"]))
    pasted = subprocess.run(["sh", "-c", section["would_start"][0]], capture_output=True, text=True, env=env, check=True)
    assert "/dev/alixpu_ppu0" in pasted.stdout and docker.ids() == []


@pytest.mark.parametrize("check", [False, True])
def test_as_a_module(docker, tmp_path, check):
    """Sent to the machine as Ansible sends it, and what is told before."""
    folder = Path("/var/lib/fleetproof/accelerator")
    was = sorted(one.name for one in folder.iterdir()) if folder.exists() else None
    options = {"manufacturer": "thead", "devices": [accelerator("thead")], "detection": OK, "image": IMAGE, "pull": "never", "runtime": "docker"}
    probing = {"name": "Probe", "fleetproof.accelerator.container_probe": options, "register": "probed"}
    show = {"name": "Show", "ansible.builtin.copy": {"content": "{{ probed | to_json }}", "dest": str(tmp_path / "out")}, "check_mode": False}
    play = [{"name": "All", "hosts": "all", "gather_facts": False, "tasks": [probing, show]}]
    (tmp_path / "play.yml").write_text(json.dumps(play))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(tmp_path / "play.yml"), "-i", "here,", "-c", "local"]
    argv += ["-e", "ansible_python_interpreter=" + sys.executable, *(["--check"] if check else [])]
    env = dict(os.environ, DOCKER_HOST=docker.socket, ANSIBLE_NOCOLOR="1", COLUMNS="300")
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout[-2000:]
    result = json.loads((tmp_path / "out").read_text())
    section = result["sections"]["probes.thead"]
    told = "here: probes of thead: " + ("check mode, nothing is started" if check else "starts containers labeled fleetproof.accelerator/preflight=true")
    assert told in " ".join(done.stdout.split()) and result["changed"] is True
    row = section["checks"][0]
    assert (row["capability"], row["depth"]) == ("container-device", "simulated" if check else "measured"), row
    assert section["started"] == (0 if check else 1) and docker.ids() == []
    now = sorted(one.name for one in folder.iterdir()) if folder.exists() else None
    assert now == was if check else set(now) - {"lock"} == set(was or ()) - {"lock"}


def test_recorded_and_replayed(docker, slices):
    own = live.LiveHost(path="%s:%s" % (docker.bin, live.PATH), deadline=120)
    recording = RecordingHost(own)
    root = slices("caps")
    first = docker.run(host=recording, slicing_library_root=root)
    again = docker.run(host=ReplayHost(recording.recording()), slicing_library_root=root)
    assert again["checks"] == first["checks"] and {entry["outcome"] for entry in again["writes"]} == {"intended"}
    assert docker.run(host=ReplayHost({**recording.recording(), "commands": []}), slicing_library_root=root)["started"] == 0


def test_a_hundred_containers_leave_nothing(docker, slices):
    def state():
        """Of this engine alone, for others work on this machine too: mounts, that of a network namespace as well, processes, layers and containers."""
        here = str(docker.here)
        processes = set()
        for one in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = one.read_text(errors="replace").split("\0")
                processes |= {words[0]} if any(here in word for word in words) else set()
        mounts = sorted(line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines() if here in line)
        folders = [docker.here / "root" / name for name in ("overlay2", "containers")]
        return mounts, processes, [sorted(one.name for one in folder.glob("*")) for folder in folders]

    root = slices("caps")
    docker.run(slicing_library_root=root)
    before = state()
    started = 0
    for _turn in range(25):
        section = docker.run(slicing_library_root=root)
        started += section["started"]
        assert [(row["capability"], row["detail"]) for row in section["checks"] if row["depth"] != "measured"] == []
    assert started == 100 and left_nothing(docker, section) and state() == before


# Stands for the vendor's client: while it runs, the driver has a record of its slice. BYTES: the cap in it; WHERE: the pipe of the slice, or another.
CLIENT = """#!/bin/sh
pipe=$(awk '$1 == "pipe_id:" { print $2 }' /etc/vdev/docker/vdev0.conf); place=/sys/devices/virtual/kfd/kfd/vgpu/0x4d2@WHERE; mkdir -p $place
printf 'Vgpu device: %s\\nIndentifier: 88%s\\nVram limit: BYTES\\n' "$pipe" "$pipe" > $place/.new; /bin/mv $place/.new $place/entry; sleep 3
"""


@pytest.fixture
def records(docker, tmp_path):
    """records(client, tenants=1) -> what containers told whose grant is that of Hygon, over a topology of ours."""

    def run(code, tenants=1):
        shown = tmp_path / "sys" / "class/kfd/kfd/topology/nodes"
        for number, (location, card) in enumerate(((0, 0), (40704, 1234))):
            (shown / str(number)).mkdir(parents=True, exist_ok=True)
            (shown / str(number) / "properties").write_text("cpu_cores_count 0\nlocation_id %d\n" % location)
            (shown / str(number) / "gpu_id").write_text("%d\n" % card)
        (tmp_path / "opt/bin").mkdir(parents=True, exist_ok=True)
        if code:
            (tmp_path / "opt/bin/BandwidthTest").write_text(code)
            (tmp_path / "opt/bin/BandwidthTest").chmod(0o755)
        argvs = []
        for tenant in range(tenants):
            made = tmp_path / ("vdev%d" % tenant)
            made.mkdir(exist_ok=True)
            (made / "vdev0.conf").write_text("PciBusId: 0000:9f:00.0\nmem: 32760 MiB\npipe_id: %d\n" % tenant)
            mounts = [grants.mount(str(tmp_path / "sys"), "/sys", False), grants.mount(str(tmp_path / "opt"), "/opt/hygondriver")]
            mounts.append(grants.mount(str(made), "/etc/vdev/docker"))
            if tenants > 1:
                (tmp_path / "barrier").mkdir(exist_ok=True)
                mounts.append(grants.mount(str(tmp_path / "barrier"), script.BARRIER, False))
            words = ["sh", "-c", script.of_slice("hygon", tenant + 1 if tenants > 1 else 0)]
            engine, pull = {"cli": str(docker.bin / "docker")}, container_command.Options("never")
            argvs.append([engine["cli"], *container_command.argv({"cli": "docker"}, grants.new(mounts=mounts), IMAGE, words, pull)[1:]])
        host = live.LiveHost(deadline=60)
        found = [judge.ran(command, "docker", script.MAPS) for command in run_together(host, argvs, 50)]
        host.close()
        assert docker.ids() == []
        return found

    return run


def record(cap=32760, where="$pipe"):
    return CLIENT.replace("BYTES", str(cap << 20)).replace("WHERE", where)


CAP = ("32760", "")


def test_a_drivers_record(records):
    (found,) = records(record())
    assert judge.loaded({}, found, True)[:2] == judge.quota(CAP, found, True)[:2] == ("ok", "measured")


def test_a_record_of_another_size(records):
    (found,) = records(record(65520))
    assert judge.loaded({}, found, True)[:2] == ("ok", "measured") and judge.quota(CAP, found, True)[:2] == ("ok", "simulated")


def test_a_client_without_a_record_and_none_at_all(records):
    (found,) = records("#!/bin/sh\necho no library; exit 5\n")
    assert judge.loaded({}, found, True).reason.startswith("the vendor's client did not run in this image (exit 5)") and "no library" in found.output
    assert judge.quota(CAP, found, True)[:2] == ("ok", "simulated")


def test_a_record_of_another_pipe_is_not_ones_own(records):
    (found,) = records(record(where="9"))
    assert judge.loaded({}, found, True) == ("unavailable", "measured", "", "the driver recorded no slice for the process in the container")


def test_two_tenants_have_two_records(records):
    pair = records(record(), 2)
    verdict = judge.together([CAP, CAP], pair, True)
    assert verdict[:2] == ("ok", "measured"), (verdict, [one.output for one in pair])


def test_podman(short, slices):
    if os.geteuid() != 0 or shutil.which("podman") is None or shutil.which("runc") is None:
        pytest.skip("podman or runc is not installed, or this is not root")
    here = short / "pod"
    here.mkdir()
    engine = Engine(here, "podman")
    (here / "containers.conf").write_text(CONFIG)
    own = [shutil.which("podman"), "--root", str(here / "root"), "--runroot", str(here / "run"), "--tmpdir", str(here / "tmp")]
    client(engine.bin, "podman", own, "export CONTAINERS_CONF=%s" % (here / "containers.conf"))
    try:
        load([str(engine.bin / "podman")], image_tree(here / "tree"), "localhost/" + IMAGE)
        subprocess.run([str(engine.bin / "podman"), "run", "--rm", "--network", "none", "localhost/" + IMAGE, "true"], capture_output=True, check=False)
    except subprocess.CalledProcessError as error:
        pytest.skip("podman does not work here: %s" % error.stderr[-300:])
    with nodes(*NODES):
        section = engine.run(image="localhost/" + IMAGE, slicing_library_root=slices("caps"))
        assert {(row["state"], row["depth"]) for row in section["checks"]} == {("ok", "measured")} and left_nothing(engine, section)
        absent = engine.run(image="localhost/absent:1", slicing_library_root=slices("caps"))
    assert all(row["detail"].startswith("it could not be started") for row in absent["checks"]) and engine.ids() == []


def test_a_client_that_refuses_with_one(docker, slices, tmp_path):
    """Not nerdctl, which is not to be had: its options and its exit status, before the real engine."""
    words = 'while [ "${1#--}" != "$1" ]; do shift 2; done\n%s "$@"; rc=$?; [ $rc = 125 ] && rc=1; exit $rc' % shlex.quote(str(docker.bin / "docker"))
    standing = tmp_path / "nerdctl"
    standing.write_text("#!/bin/sh\n%s\n" % words)
    standing.chmod(0o755)
    path = "%s:%s" % (tmp_path, live.PATH)
    section = docker.run(host=live.LiveHost(path=path, deadline=120), runtime="nerdctl", slicing_library_root=slices("caps"))
    assert {(row["state"], row["depth"]) for row in section["checks"]} == {("ok", "measured")}
    assert all("nerdctl --namespace fleetproof-preflight run --rm " in row["command"] or "--address" in row["command"] for row in section["checks"])
    absent = docker.run(host=live.LiveHost(path=path, deadline=120), runtime="nerdctl", image="absent:1", slicing_library_root=slices("caps"))
    assert all("could not be started" in row["detail"] and "exit 1" in row["detail"] for row in absent["checks"])


def test_ctr_starts_nothing(short, slices):
    if shutil.which("ctr") is None:
        pytest.skip("ctr is not installed")
    here = short / "c"
    here.mkdir()
    engine = Engine(here, "ctr")
    section = engine.run(slicing_library_root=slices("caps"))
    assert section["started"] == 0 and section["engine"]["cli"] == "ctr"
    for row in section["checks"]:
        assert (row["state"], row["depth"], row["evidence"]) == ("ok", "simulated", "") and "written for nerdctl" in row["detail"]
        assert row["command"].startswith("nerdctl ") and container_command.LABEL in row["command"]
