# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of containerd, Docker, CRI-O and Podman, from recordings of a node."""

from __future__ import annotations

import json

import engine_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_runtime
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown

MAIN, DROP = samples.V2, samples.NVIDIA_V2


def engine(ident="containerd", **more):
    return samples.engine(samples.fits(samples.section(**more)), ident)


def by_files(main, drops=None, number=None, **more):
    """A containerd whose configuration is read from its files, the running one of this version."""
    imports = 'imports = ["/etc/containerd/conf.d/*.toml"]\n' if drops is not None else ""
    files = {samples.CONFIG: imports + main, samples.SOCKET: {"exists": True}, "/etc/containerd/conf.d": {"dir": sorted(drops or {})}}
    files.update({"/etc/containerd/conf.d/" + name: text for name, text in (drops or {}).items()})
    return engine(programs=("ctr",), commands=[samples.served(number)] if number else [], files=files, **more)


# -- containerd --------------------------------------------------------------------------------------------------------


def test_a_drop_in_replaces_the_section_in_containerd_1_and_adds_to_it_in_containerd_2():
    one, two = by_files(MAIN, {"99-nvidia.toml": DROP}, "1.7.24"), by_files(MAIN, {"99-nvidia.toml": DROP}, "2.0.5")
    assert sorted(one["handlers"]) == ["nvidia"] and is_unknown(one["sandbox_image"])
    assert sorted(two["handlers"]) == ["nvidia", "runc"] and two["sandbox_image"] == "registry.example/pause:3.9"
    assert one["default_handler"] == two["default_handler"] == "nvidia"
    assert one["files"] == two["files"] == [samples.CONFIG, "/etc/containerd/conf.d/99-nvidia.toml"]


def test_where_the_version_is_not_known_and_makes_a_difference_nothing_is_told():
    found = by_files(MAIN, {"99-nvidia.toml": DROP})
    for key in ("default_handler", "handlers", "cgroup_driver", "cdi", "sandbox_image"):
        assert "the version is not known" in found[key]["unknown"]


def test_version_3_is_of_containerd_2():
    found = by_files(samples.V3, {"nvidia.toml": samples.NVIDIA_V3})
    assert sorted(found["handlers"]) == ["nvidia", "runc"] and found["cdi"]["enabled"] is True and found["cgroup_driver"] == "systemd"


@pytest.mark.parametrize(("number", "enabled"), [("1.6.20", False), ("1.7.24", False), ("2.0.0", True), ("2.1.4-k3s1", True), (None, None)])
def test_cdi_by_default(number, enabled):
    found = by_files(MAIN, number=number)["cdi"]["enabled"]
    assert is_unknown(found) if enabled is None else found is enabled


@pytest.mark.parametrize("said", [True, False])
def test_cdi_as_configured(said):
    config = MAIN.replace("  sandbox_image", "  enable_cdi = %s\n  cdi_spec_dirs = ['/opt/cdi']\n  sandbox_image" % str(said).lower())
    assert by_files(config, number="1.7.1")["cdi"] == {"enabled": said, "directories": ["/opt/cdi"]}


def test_the_version_that_runs_is_not_that_of_the_client():
    assert by_files(MAIN, number="1.7.24")["version"] == "1.7.24"
    silent = samples.command(samples.CTR, "Client:\n  Version:  1.7.24\n", rc=1, stderr="ctr: failed to dial")
    found = engine(programs=("ctr",), commands=[silent], files={samples.SOCKET: {"exists": True}, samples.CONFIG: MAIN})
    assert is_unknown(found["version"]) and is_unknown(found["running"])


def test_a_handler_without_systemd_cgroup_uses_cgroupfs():
    config = MAIN + DROP.replace("version = 2", "").replace("      SystemdCgroup = true\n", "")
    found = by_files(config, number="1.7.24")
    assert found["handlers"]["nvidia"]["cgroup_driver"] == "cgroupfs" == found["cgroup_driver"] and found["handlers"]["runc"]["cgroup_driver"] == "systemd"


def test_a_sandbox_of_its_own_has_no_driver_of_ours():
    config = MAIN + '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata]\nruntime_type = "io.containerd.kata.v2"\n'
    assert is_not_applicable(by_files(config, number="1.7.24")["handlers"]["kata"]["cgroup_driver"])


@pytest.mark.parametrize(("entry", "present"), [({"exists": True}, True), ({"absent": True}, False), ({"error": "EACCES"}, None)])
def test_the_program_of_a_handler(entry, present):
    found = by_files(MAIN + DROP.replace("version = 2", ""), number="1.7.24")["handlers"]["nvidia"]["present"]
    assert found is True
    files = {samples.CONFIG: MAIN + DROP.replace("version = 2", ""), "/usr/bin/nvidia-container-runtime": entry}
    found = engine(programs=("ctr",), files=files)["handlers"]["nvidia"]["present"]
    assert is_unknown(found) if present is None else found is present


def test_a_default_that_is_not_configured():
    found = by_files('version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\ndefault_runtime_name = "nvidia"\n', number="1.7.24")
    assert found["default_handler"] == "nvidia" and sorted(found["handlers"]) == ["runc"] and is_unknown(found["cgroup_driver"])


@pytest.mark.parametrize(("disabled", "cri"), [('["cri"]', False), ('["io.containerd.grpc.v1.cri"]', False), ('["aufs"]', True), ("[]", True)])
def test_the_cri_plugin_may_be_disabled(disabled, cri):
    assert by_files("disabled_plugins = %s\n%s" % (disabled, MAIN.replace("version = 2", "")), number="1.7.24")["cri"] is cri


def test_version_1():
    config = '[plugins.cri]\nsandbox_image = "r/pause:3.1"\n[plugins.cri.containerd]\ndefault_runtime_name = "x"\n'
    config += '[plugins.cri.containerd.runtimes.x]\nruntime_type = "io.containerd.runc.v1"\n'
    found = by_files(config, number="1.3.4")
    assert (found["default_handler"], found["sandbox_image"], found["cgroup_driver"]) == ("x", "r/pause:3.1", "cgroupfs")


def test_the_images_section_of_version_3():
    config = (
        samples.V3
        + "[plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'zfs'\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'r/pause:3.10'\n"
    )
    found = by_files(config, number="2.0.5")
    assert (found["snapshotter"], found["sandbox_image"]) == ("zfs", "r/pause:3.10")


@pytest.mark.parametrize(
    ("entry", "words"),
    [("version = \n", "line 1"), ({"error": "EACCES"}, "denied"), ({"hang": True}, "timeout"), ({"dir": []}, "directory"), ("a = 1\n" * 2, "line 2")],
)
def test_a_configuration_that_cannot_be_read(entry, words):
    found = engine(programs=("ctr",), commands=[samples.served("1.7.24")], files={samples.CONFIG: entry, samples.SOCKET: {"exists": True}})
    assert words in found["handlers"]["unknown"] and words in found["default_handler"]["unknown"] and found["version"] == "1.7.24"


def test_a_drop_in_that_cannot_be_read_leaves_nothing_known():
    assert is_unknown(by_files(MAIN, {"a.toml": "x = "}, "1.7.24")["handlers"])
    assert is_unknown(by_files(MAIN, {"a.toml": {"error": "EACCES"}}, "1.7.24")["handlers"])


def test_imports_of_imports_and_of_itself():
    again = 'version = 2\nimports = ["/etc/containerd/config.toml", "more.toml", "missing.toml"]\n'
    files = {"/etc/containerd/conf.d/more.toml": DROP}
    found = by_files(MAIN, {"a.toml": again, "more.toml": DROP}, "2.0.0")
    assert found["default_handler"] == "nvidia" and found["files"].count(samples.CONFIG) == 1 and set(files) < set(found["files"])


def test_what_the_running_one_says_comes_before_what_is_on_disk():
    info = samples.running_info(
        containerd={"defaultRuntimeName": "runc", "runtimes": {"runc": {"runtimeType": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}}},
        enableCDI=False, cdiSpecDirs=["/etc/cdi"], sandboxImage="r/pause:3.8",
    )  # fmt: skip
    found = samples.engine(samples.fits(samples.containerd(programs=("ctr", "crictl", "containerd"), extra=[info])))
    assert found["read_from"] == ["crictl info", "containerd config dump"]
    assert (found["default_handler"], sorted(found["handlers"]), found["sandbox_image"]) == ("runc", ["runc"], "r/pause:3.8")
    assert found["on_disk"] == {"default_handler": "nvidia", "handlers": ["nvidia", "runc"]}


def test_what_a_newer_crictl_leaves_out_is_taken_from_the_dump():
    info = samples.running_info(containerd={"defaultRuntimeName": "nvidia"})
    found = samples.engine(samples.fits(samples.containerd(programs=("ctr", "crictl", "containerd"), extra=[info])))
    assert found["sandbox_image"] == "registry.example/pause:3.9" and found["cgroup_driver"] == "systemd"


def test_without_a_file_it_runs_with_its_defaults():
    default = samples.command(["containerd", "config", "default"], MAIN)
    found = engine(commands=[samples.served("1.7.24"), default], files={samples.SOCKET: {"exists": True}})
    assert found["read_from"] == ["containerd config default"] and found["files"] == [] and found["sandbox_image"] == "registry.example/pause:3.9"


def test_a_dump_that_fails_is_no_end():
    failed = samples.command(["containerd", "config", "dump"], "", rc=1, stderr="containerd: invalid plugin config")
    found = engine(commands=[samples.served("1.7.24"), failed], files={samples.SOCKET: {"exists": True}, samples.CONFIG: MAIN})
    assert found["read_from"] == ["files"] and found["sandbox_image"] == "registry.example/pause:3.9"


def test_flags_of_the_service_name_configuration_and_socket():
    shown = "Id=containerd.service\nActiveState=active\nMainPID=77\n\nId=docker.service\nActiveState=inactive\nMainPID=0\n"
    files = {"/proc/77/cmdline": "/usr/bin/containerd\0--config\0/opt/c.toml\0-a\0/run/x.sock\0", "/opt/c.toml": MAIN, "/run/x.sock": {"exists": True}}
    ctr = samples.command(["ctr", "--address", "/run/x.sock", "--connect-timeout", "3s", "version"], "Server:\n  Version:  1.7.1\n")
    dump = samples.command(["containerd", "--config", "/opt/c.toml", "config", "dump"], MAIN)
    crictl = {"argv": ["crictl", "--runtime-endpoint", "unix:///run/x.sock", "info"], "missing": True}
    found = engine(commands=[samples.command(samples.SYSTEMCTL, shown), ctr, dump, crictl], files=files)
    assert (found["socket"], found["version"], found["files"]) == ("/run/x.sock", "1.7.1", ["/opt/c.toml"])


@pytest.mark.parametrize(
    ("config", "socket", "ident"),
    [
        ("/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "/run/k3s/containerd/containerd.sock", "containerd:k3s"),
        ("/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "/run/k3s/containerd/containerd.sock", "containerd:rke2"),
        ("/var/snap/microk8s/current/args/containerd.toml", "/var/snap/microk8s/common/run/containerd.sock", "containerd:microk8s"),
        ("/etc/k0s/containerd.toml", "/run/k0s/containerd.sock", "containerd:k0s"),
    ],
)
def test_a_containerd_that_a_distribution_brings(config, socket, ident):
    files = {config: MAIN, socket: {"exists": True}}
    files.update(
        {
            path: {"absent": True}
            for path in (*(c for _n, _s, c in container_runtime.INSTANCES), *(s for _n, s, _c in container_runtime.INSTANCES))
            if path not in files
        }
    )
    files.update({container_runtime._RANCHER % n: {"absent": True} for n in ("k3s", "rke2") if container_runtime._RANCHER % n not in files})
    files.setdefault("/run/k3s/containerd/containerd.sock", {"absent": True})
    files["/var/lib/rancher"] = {"dir": []}
    files["/run/containerd/containerd.sock"] = {"absent": True}
    ctr = samples.command(["ctr", "--address", socket, "--connect-timeout", "3s", "version"], "Server:\n  Version:  v1.7.27-k3s1\n")
    crictl = {"argv": ["crictl", "--runtime-endpoint", "unix://" + socket, "info"], "missing": True}
    found = samples.fits(
        samples.section(programs=("ctr",), commands=[ctr, crictl], files=files, kubelet=["kubelet", "--container-runtime-endpoint=unix://" + socket])
    )
    assert [one["id"] for one in found["engines"]] == [ident] and found["kubelet"]["engine"] == ident
    assert found["engines"][0]["version"] == "1.7.27-k3s1" and found["engines"][0]["handlers"]["runc"]["cgroup_driver"] == "systemd"


def test_an_endpoint_nobody_knows():
    socket = "/opt/run/containerd.sock"
    ctr = samples.command(["ctr", "--address", socket, "--connect-timeout", "3s", "version"], "Server:\n  Version:  1.7.1\n")
    crictl = {"argv": ["crictl", "--runtime-endpoint", "unix://" + socket, "info"], "missing": True}
    kubelet = ["kubelet", "--container-runtime-endpoint", "unix://" + socket]
    found = samples.fits(samples.section(programs=("ctr",), commands=[ctr, crictl], files={socket: {"exists": True}}, kubelet=kubelet))
    assert found["kubelet"]["engine"] == "containerd:kubelet" and is_unknown(samples.engine(found, "containerd:kubelet")["handlers"])


# -- Docker ------------------------------------------------------------------------------------------------------------


def docker(info=None, daemon=None, active="active", arguments="/usr/bin/dockerd\0-H\0fd://\0", programs=("docker", "dockerd", "runc"), rc=0, **more):
    shown = "Id=containerd.service\nActiveState=inactive\nMainPID=0\n\nId=docker.service\nActiveState=%s\nMainPID=%d\n" % (
        active,
        88 if active == "active" else 0,
    )
    files = {"/proc/88/cmdline": arguments, **({"/etc/docker/daemon.json": daemon} if daemon is not None else {}), **more.pop("files", {})}
    asked = [samples.command(samples.DOCKER, info if isinstance(info, str) else json.dumps(info), rc=rc)] if info is not None else []
    return samples.engine(samples.fits(samples.section(programs, [samples.command(samples.SYSTEMCTL, shown), *asked], files, **more)), "docker")


def test_docker_says():
    found = docker(
        samples.INFO, json.dumps({"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}), programs=("docker", "runc", "nvidia-container-runtime")
    )
    assert (found["version"], found["cgroup_driver"], found["default_handler"], found["root"]) == ("27.3.1", "systemd", "runc", "/data/docker")
    assert found["handlers"]["nvidia"] == {"type": "path", "binary": "nvidia-container-runtime", "present": True, "cgroup_driver": "systemd"}
    assert found["cdi"] == {"enabled": True, "directories": ["/etc/cdi", "/var/run/cdi"]} and found["snapshotter"] == "overlay2"
    assert found["registry"]["mirrors"] == {"docker.io": ["https://m.example/"]} and found["registry"]["insecure"] == ["127.0.0.0/8", "r.example:5000"]
    assert found["on_disk"] == {"default_handler": "runc", "handlers": ["nvidia"]} and found["socket"] == "/run/docker.sock"


def test_docker_without_cdi():
    old = {key: value for key, value in samples.INFO.items() if key != "CDISpecDirs"}
    assert docker(old)["cdi"] == {"enabled": False, "directories": []}


@pytest.mark.parametrize(
    "said", ['{"ServerErrors": ["Cannot connect to the Docker daemon"], "ClientInfo": {"Version": "28.2.2"}}', "Server Version: 1.9.1\n", "", "[]", "{"]
)
def test_docker_whose_daemon_does_not_answer(said):
    found = docker(said)
    assert is_unknown(found["running"]) and is_unknown(found["version"]) and is_unknown(found["cgroup_driver"])
    assert found["read_from"] == [] and found["default_handler"] == "runc"  # of its file: there is none


def test_docker_that_does_not_run_is_not_asked():
    found = docker(
        active="inactive", daemon=json.dumps({"default-runtime": "nvidia", "exec-opts": ["native.cgroupdriver=cgroupfs"], "features": {"cdi": True}})
    )
    assert found["running"] is False and found["default_handler"] == "nvidia" and found["cgroup_driver"] == "cgroupfs"
    assert found["cdi"]["enabled"] is True and found["read_from"] == ["/etc/docker/daemon.json"]


def test_docker_by_its_pid_where_there_is_no_systemd():
    command = samples.command(samples.DOCKER, json.dumps(samples.INFO))
    files = {"/run/docker.pid": "4711", "/proc/4711": {"exists": True}}
    assert samples.engine(samples.section(("docker",), [command], files), "docker")["version"] == "27.3.1"
    files["/proc/4711"] = {"absent": True}  # it died, and its socket would start another
    assert samples.engine(samples.section(("docker",), [command], files), "docker")["running"] is False


def test_docker_at_another_socket():
    argv = [word.replace("/run/docker.sock", "/run/x.sock") for word in samples.DOCKER]
    for arguments, daemon in (
        ("dockerd\0--host=unix:///var/run/x.sock\0", None),
        ("dockerd\0", json.dumps({"hosts": ["tcp://0.0.0.0:2375", "unix:///run/x.sock"]})),
    ):
        shown = "Id=docker.service\nActiveState=active\nMainPID=88\n"
        files = {"/proc/88/cmdline": arguments, **({"/etc/docker/daemon.json": daemon} if daemon else {})}
        asked = [samples.command(samples.SYSTEMCTL, shown), samples.command(argv, json.dumps(samples.INFO))]
        assert samples.engine(samples.section(("docker",), asked, files), "docker")["version"] == "27.3.1"


@pytest.mark.parametrize(("daemon", "words"), [("{", "not JSON"), ({"error": "EACCES"}, "denied"), ("[1]", "not JSON")])
def test_a_daemon_json_that_cannot_be_read(daemon, words):
    found = docker(active="inactive", daemon=daemon)
    for key in ("default_handler", "handlers", "cgroup_driver"):
        assert words in found[key]["unknown"]
    assert docker(samples.INFO, daemon)["default_handler"] == "runc"


def test_podman_under_the_name_of_docker():
    asked = [
        samples.command(samples.SYSTEMCTL, "Id=docker.service\nActiveState=active\nMainPID=0\n"),
        samples.command(samples.DOCKER, '{"host": {"cgroupManager": "systemd"}}'),
    ]
    assert samples.section(("docker",), asked)["engines"] == []


# -- CRI-O and Podman --------------------------------------------------------------------------------------------------

CRIO = """
[crio]
storage_driver = "overlay"
[crio.runtime]
cgroup_manager = "systemd"
default_runtime = "crun"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/bin/crun"
"""
CRIO_DROP = """
[crio.runtime]
default_runtime = "nvidia"
[crio.runtime.runtimes.nvidia]
runtime_path = "/usr/bin/nvidia-container-runtime"
[crio.image]
pause_image = "r/pause:3.9"
"""


def crio(files, commands=(), programs=("crio",)):
    files = dict({"/run/crio/crio.sock": {"exists": True}, "/usr/bin/crun": {"exists": True}}, **files)
    names = sorted(path.rpartition("/")[2] for path in files if path.startswith("/etc/crio/crio.conf.d/"))
    files.setdefault("/etc/crio/crio.conf.d", {"dir": names})
    files.setdefault("/etc/crio/crio.conf", {"absent": True})
    status = ["crio", "status", "--socket", "/run/crio/crio.sock", "config"]
    commands = [samples.command(["crio", "--version"], "crio version 1.30.3\nVersion: 1.30.3\n"), *(commands or [{"argv": status, "rc": 1, "stderr": "no"}])]
    kubelet = ["kubelet", "--container-runtime-endpoint=unix:///var/run/crio/crio.sock"]
    section = samples.fits(samples.section(programs, commands, files, kubelet))
    assert section["kubelet"]["engine"] == "cri-o" and is_not_applicable(section["resolved"]["cli"])
    return samples.engine(section, "cri-o")


def test_crio_by_its_files():
    found = crio({"/etc/crio/crio.conf": CRIO, "/etc/crio/crio.conf.d/99-nvidia.conf": CRIO_DROP})
    assert (found["version"], found["default_handler"], found["cgroup_driver"], found["sandbox_image"]) == ("1.30.3", "nvidia", "systemd", "r/pause:3.9")
    assert sorted(found["handlers"]) == ["crun", "nvidia"] and found["handlers"]["nvidia"]["present"] is True and found["cdi"]["enabled"] is True
    assert is_unknown(found["running"]) and found["socket"] == "/run/crio/crio.sock"


def test_the_last_drop_in_wins():
    last = '[crio.runtime]\ndefault_runtime = "crun"\ncgroup_manager = "cgroupfs"\n'
    found = crio({"/etc/crio/crio.conf": CRIO, "/etc/crio/crio.conf.d/10-a.conf": CRIO_DROP, "/etc/crio/crio.conf.d/20-b.conf": last})
    assert (found["default_handler"], found["cgroup_driver"]) == ("crun", "cgroupfs")


def test_crio_that_answers():
    status = samples.command(["crio", "status", "--socket", "/run/crio/crio.sock", "config"], CRIO)
    found = crio({"/etc/crio/crio.conf": CRIO, "/etc/crio/crio.conf.d/99-nvidia.conf": CRIO_DROP}, [status])
    assert found["running"] is True and found["default_handler"] == "crun" and found["on_disk"] == {"default_handler": "nvidia", "handlers": ["crun", "nvidia"]}


@pytest.mark.parametrize("entry", ["x = ", {"error": "EACCES"}])
def test_crio_whose_files_cannot_be_read(entry):
    found = crio({"/etc/crio/crio.conf": CRIO, "/etc/crio/crio.conf.d/99-nvidia.conf": entry})
    assert is_unknown(found["handlers"]) and is_unknown(found["default_handler"]) and is_unknown(found["cgroup_driver"])


def test_podman_is_asked_only_where_it_ran():
    info = {
        "host": {"cgroupManager": "systemd", "ociRuntime": {"name": "crun", "path": "/usr/bin/crun"}},
        "store": {"graphDriverName": "overlay"},
        "version": {"Version": "5.2.3"},
    }
    asked = samples.command(["podman", "info", "--format", "json"], json.dumps(info))
    files = {"/run/libpod/alive": {"exists": True}, "/usr/bin/crun": {"exists": True}}
    found = engine("podman", programs=("podman",), commands=[asked], files=files)
    assert (found["version"], found["default_handler"], found["cgroup_driver"], found["snapshotter"]) == ("5.2.3", "crun", "systemd", "overlay")
    assert "not asked" in engine("podman", programs=("podman",), commands=[asked])["version"]["unknown"]


# -- the whole ---------------------------------------------------------------------------------------------------------


def test_a_node_without_engines():
    found = samples.fits(samples.section(programs=()))
    assert found["engines"] == [] and found["unsure"] == [] and found["toolkits"] == {}
    assert is_not_applicable(found["kubelet"]["endpoint"]) and is_not_applicable(found["resolved"]["cli"])


def test_a_node_of_which_nothing_is_known():
    host = ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "node": "n", "recorded": "2026-03-01T08:00:00Z"})
    found = samples.fits(container_runtime.collect(host)["container_runtime"])
    assert found["engines"] == [] and found["unsure"] and is_unknown(found["kubelet"]["endpoint"]) and found["resolved"]["reason"]


def test_toolkits_and_clients():
    files = {
        "/usr/local/nvidia/toolkit/nvidia-container-runtime": {"exists": True},
        "/usr/local/nvidia": {"dir": ["toolkit"]},
        "/etc/nerdctl/nerdctl.toml": 'namespace = "k8s.io"\n',
    }
    commands = [samples.command(["nerdctl", "--version"], "nerdctl version 2.0.3\n"), samples.command(["crictl", "--version"], "crictl version v1.31.1\n")]
    found = samples.fits(samples.section(("nerdctl", "crictl", "nvidia-container-runtime", "amd-container-runtime"), commands, files))
    assert [one["owner"] for one in found["toolkits"]["nvidia"]] == ["host", "vendor"] and len(found["toolkits"]["amd"]) == 1
    assert found["clients"]["nerdctl"]["version"] == "2.0.3" and found["clients"]["nerdctl"]["namespace"] == "k8s.io"
    assert found["clients"]["crictl"]["version"] == "1.31.1" and is_not_applicable(found["clients"]["docker"]["path"])


def test_hosts_of_certs_d():
    config = MAIN + '[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/etc/containerd/certs.d:/etc/docker/certs.d"\n'
    files = {samples.CONFIG: config, "/etc/containerd/certs.d": {"dir": ["docker.io", "_default"]}, "/etc/docker/certs.d": {"absent": True}}
    found = engine(programs=("ctr",), files=files)["registry"]
    assert found["hosts"] == ["_default", "docker.io"] and found["credentials"] is False
