# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules make of container engines, from the recording of a node to the finding."""

from __future__ import annotations

import copy
import json

import engine_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from hypothesis import given, settings
from hypothesis import strategies as st

RULES = ("runtime-handler", "runtime-default-handler", "runtime-cgroup-driver", "runtime-serves-kubelet", "runtime-config-loaded", "runtime-toolkit-authority")
PROFILE = profiles.find("acceptance")
PLAIN = {"runtime-config-loaded": "na"}
TOOLKIT = {"/usr/bin/nvidia-container-runtime": {"exists": True}}


def kubelet(driver="systemd", state="running"):
    value = driver if isinstance(driver, (str, dict)) else unknown("the running kubelet names no value")
    return {"state": state, "settings": {"cgroup_driver": {"outcome": "value", "value": value, "source": "/var/lib/kubelet/config.yaml"}}}


def judged(found, driver="systemd", manufacturer="nvidia", sections=None, **variables):
    """({rule: "passed" | "fail" | …}, findings)."""
    given_sections = sections or synthetic.healthy(2)
    if manufacturer != "nvidia":
        devices = [synthetic.device(0, manufacturer, "Card")]
        entries = [synthetic.pci_entry(0, manufacturer)]
        given_sections = {
            "host": synthetic.host(),
            "pci": synthetic.pci(entries),
            "accelerators." + manufacturer: synthetic.section(devices, manufacturer, on_bus=entries),
        }
    given_sections["container_runtime"] = found
    given_sections["kubelet"] = driver if isinstance(driver, dict) and "state" in driver else kubelet(driver)
    told = engine.judge("n1", synthetic.envelopes(given_sections), policy.parse(variables), PROFILE)
    words = {}
    for rule in RULES:
        tally = told.counts[rule]
        levels = sorted(f["level"] for f in told.findings if f["rule"] == rule)
        words[rule] = "+".join([*levels, *(w for w, n in zip(("passed", "", "unknown", "na", "not_run"), tally) if n and w)])
    return words, [f for f in told.findings if f["rule"] in RULES]


def of(rule, *args, **more):
    return judged(*args, **more)[0][rule]


def test_a_healthy_node():
    words, findings = judged(samples.containerd())
    assert words == dict(dict.fromkeys(RULES, "passed"), **PLAIN) and findings == []


def test_not_read():
    sections = synthetic.healthy(2)
    del sections["container_runtime"], sections["kubelet"]
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE)
    assert [told.counts[rule] for rule in RULES] == [[0, 0, 1, 0, 0]] * len(RULES)


def test_a_node_without_an_engine():
    assert set(judged(samples.section(programs=()), kubelet(state="absent"))[0].values()) == {"na"}


def test_a_node_of_which_nothing_is_known():
    found = samples.section(programs=(), files={"/proc": {"error": "EACCES"}})
    words, findings = judged(found)
    assert findings == [] and {words[rule] for rule in RULES[:4]} == {"unknown"}


RUNC = samples.V2
BROKEN = samples.BOTH.replace("/usr/bin/nvidia-container-runtime", "/opt/nvidia-container-runtime")
GONE = {"/opt/nvidia-container-runtime": {"absent": True}}
CDI = samples.V2.replace("  sandbox_image", "  enable_cdi = true\n  sandbox_image")
ASCEND = samples.BOTH.replace("nvidia-container-runtime", "ascend-docker-runtime").replace('"nvidia"', '"ascend"').replace("runtimes.nvidia", "runtimes.ascend")
ASCEND_FILE = {"/usr/bin/ascend-docker-runtime": {"exists": True}}
NOT_DEFAULT = samples.BOTH.replace('  default_runtime_name = "nvidia"\n', "")


@pytest.mark.parametrize(
    ("config", "files", "manufacturer", "handler", "default"),
    [
        (samples.BOTH, {}, "nvidia", "passed", "passed"),
        (RUNC, {}, "nvidia", "fail", "info"),
        (CDI, {}, "nvidia", "info", "passed"),
        (RUNC, {}, "amd", "na", "passed"),
        (CDI, {}, "ascend", "fail", "info"),
        (ASCEND, ASCEND_FILE, "ascend", "passed", "passed"),
        (ASCEND, ASCEND_FILE, "nvidia", "fail", "warn"),
        (BROKEN, GONE, "nvidia", "fail", "fail"),
        (BROKEN, {"/opt/nvidia-container-runtime": {"error": "EACCES"}}, "nvidia", "unknown", "passed"),
        (NOT_DEFAULT, {}, "nvidia", "passed", "info"),
        (samples.BOTH.replace('"nvidia"', '"nvidla"'), {}, "nvidia", "passed", "fail"),
        ("version = \n", {}, "nvidia", "unknown", "unknown"),
    ],
)
def test_handlers(config, files, manufacturer, handler, default):
    found = samples.containerd(config, files=files, programs=("ctr", "containerd") if "= \n" not in config else ("ctr",))
    words = judged(found, manufacturer=manufacturer)[0]
    assert (words["runtime-handler"], words["runtime-default-handler"]) == (handler, default)


def test_a_broken_handler_beside_a_good_one():
    more = samples.NVIDIA_V2.replace("version = 2", "").replace("runtimes.nvidia", "runtimes.nvidia-old").replace("/usr/bin/nvidia-", "/opt/nvidia-")
    more = more.replace('  default_runtime_name = "nvidia"\n', "").replace('[plugins."io.containerd.grpc.v1.cri".containerd]\n', "")
    words = judged(samples.containerd(samples.BOTH + more, files=GONE))[0]
    assert (words["runtime-handler"], words["runtime-default-handler"]) == ("warn", "passed")


def test_the_default_that_a_site_asks_for():
    found = samples.containerd()
    assert of("runtime-default-handler", found, accelerator_policy_runtime_default_handler_handler="runc") == "fail"
    assert of("runtime-default-handler", samples.containerd(NOT_DEFAULT), accelerator_policy_runtime_default_handler_handler="runc") == "passed"


WITHOUT = samples.BOTH.replace("      SystemdCgroup = true\n", "")


@pytest.mark.parametrize(
    ("config", "number", "driver", "expected"),
    [
        (samples.BOTH, "1.7.24", "systemd", "passed"),
        (samples.BOTH, "1.7.24", "cgroupfs", "fail+warn"),
        (WITHOUT, "1.7.24", "systemd", "fail+warn"),
        (WITHOUT, "2.0.5", "systemd", "warn+warn"),
        (WITHOUT, "1.7.24", "cgroupfs", "passed"),
        (samples.BOTH, "1.7.24", None, "unknown"),
        (samples.BOTH, "1.7.24", "none", "unknown"),
    ],
)
def test_cgroup_drivers(config, number, driver, expected):
    assert of("runtime-cgroup-driver", samples.containerd(config, number), driver) == expected


def test_one_handler_of_another_driver():
    config = samples.V2 + samples.NVIDIA_V2.replace("version = 2", "").replace("      SystemdCgroup = true\n", "")
    words, findings = judged(samples.containerd(config))
    assert words["runtime-cgroup-driver"] == "fail+passed"
    assert [f["summary"] for f in findings if f["rule"] == "runtime-cgroup-driver"] == ["The kubelet uses systemd, handler nvidia of containerd uses cgroupfs"]


def test_no_kubelet_has_no_driver():
    assert of("runtime-cgroup-driver", samples.containerd(kubelet=None), kubelet(state="absent")) == "na"


def test_the_kubelet_is_served():
    off = 'disabled_plugins = ["cri"]\n' + samples.BOTH
    assert of("runtime-serves-kubelet", samples.containerd(off)) == "fail"
    assert of("runtime-serves-kubelet", samples.containerd(kubelet=None)) == "na"
    stopped = samples.section(
        commands=[samples.dumped(samples.BOTH)], files={samples.CONFIG: samples.BOTH}, kubelet=["kubelet", "--container-runtime-endpoint=" + samples.SOCKET]
    )
    assert of("runtime-serves-kubelet", stopped) == "fail"
    silent = samples.command(samples.CTR, "", rc=1, stderr="ctr: failed to dial")
    hung = samples.section(
        commands=[silent],
        files={samples.SOCKET: {"exists": True}, samples.CONFIG: samples.BOTH},
        kubelet=["kubelet", "--container-runtime-endpoint=" + samples.SOCKET],
    )
    assert of("runtime-serves-kubelet", hung) == "unknown"
    other = samples.containerd(kubelet=["kubelet", "--container-runtime-endpoint=unix:///run/other.sock"])
    assert of("runtime-serves-kubelet", other) == of("runtime-handler", other) == "unknown"


@pytest.mark.parametrize(
    ("default", "handlers", "expected"), [("nvidia", ("nvidia", "runc"), "passed"), ("runc", ("nvidia", "runc"), "warn"), ("nvidia", ("nvidia",), "warn")]
)
def test_a_configuration_that_is_not_loaded(default, handlers, expected):
    listed = {name: {"runtimeType": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}} for name in handlers}
    info = samples.running_info(containerd={"defaultRuntimeName": default, "runtimes": listed})
    assert of("runtime-config-loaded", samples.containerd(programs=("ctr", "crictl", "containerd"), extra=[info])) == expected


VENDOR = {"/usr/local/nvidia": {"dir": ["toolkit"]}, "/usr/local/nvidia/toolkit/nvidia-container-runtime": {"exists": True}}


def test_two_authorities():
    assert of("runtime-toolkit-authority", samples.containerd(programs=("ctr", "containerd", "nvidia-container-runtime"))) == "passed"
    assert of("runtime-toolkit-authority", samples.containerd(files=VENDOR)) == "warn"  # the handler names the host's
    both = samples.containerd(programs=("ctr", "containerd", "nvidia-container-runtime"), files=VENDOR)
    words, findings = judged(both)
    assert words["runtime-toolkit-authority"] == "warn"
    assert findings[0]["observed"] == ["/usr/bin/nvidia-container-runtime", "/usr/local/nvidia/toolkit/nvidia-container-runtime"]


def test_handlers_of_two_places():
    more = samples.NVIDIA_V2.replace("version = 2", "").replace("runtimes.nvidia", "runtimes.nvidia-op").replace("/usr/bin/", "/opt/toolkit/")
    more = more.replace('  default_runtime_name = "nvidia"\n', "").replace('[plugins."io.containerd.grpc.v1.cri".containerd]\n', "")
    found = samples.containerd(samples.BOTH + more, files={"/opt/toolkit/nvidia-container-runtime": {"exists": True}})
    assert of("runtime-toolkit-authority", found) == "warn"


def test_only_the_engine_of_the_kubelet_is_judged():
    info = {"ServerVersion": "27.3.1", "CgroupDriver": "cgroupfs", "DefaultRuntime": "runc", "Runtimes": {"runc": {"path": "runc"}}}
    commands = [samples.command(samples.SYSTEMCTL, "Id=docker.service\nActiveState=active\nMainPID=0\n"), samples.command(samples.DOCKER, json.dumps(info))]
    found = samples.containerd(programs=("ctr", "containerd", "docker", "runc"), extra=commands)
    assert [one["id"] for one in found["engines"]] == ["containerd", "docker"]
    words, findings = judged(found)
    assert findings == [] and words["runtime-handler"] == words["runtime-cgroup-driver"] == "passed"
    alone = samples.section(("docker", "runc"), commands)
    words, findings = judged(alone, kubelet(state="absent"))
    assert (words["runtime-handler"], words["runtime-default-handler"], words["runtime-cgroup-driver"]) == ("warn", "info", "na")


def test_an_engine_that_does_not_run_and_nobody_names():
    found = samples.section(("podman",))
    assert {judged(found, kubelet(state="absent"))[0][rule] for rule in RULES} == {"na"}


JSON = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=3), max_size=2)
    | st.just({})
    | st.just(unknown("x"))
    | st.just(not_applicable("x"))
)
HOSTILE = samples.containerd(files=VENDOR)
HOSTILE["engines"][0]["on_disk"] = {"default_handler": "x", "handlers": ["y"]}


def places(value, path=()):
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


PLACES = [path for path in places(HOSTILE) if path]


@given(st.sampled_from(PLACES), JSON)
@settings(max_examples=200, deadline=None)
def test_nothing_a_report_says_raises(path, value):
    found = copy.deepcopy(HOSTILE)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    judged(found)


def test_an_engine_that_does_not_run_is_not_judged():
    idle = samples.command(samples.SYSTEMCTL, "Id=docker.service\nActiveState=inactive\nMainPID=0\n")
    found = samples.section(("docker", "dockerd"), [idle], files={"/etc/docker/daemon.json": '{"default-runtime": "gone"}'})
    assert found["resolved"]["engine"] == "docker" and samples.engine(found, "docker")["running"] is False
    words, findings = judged(found, kubelet(state="absent"))
    assert findings == [] and (words["runtime-handler"], words["runtime-default-handler"]) == ("na", "na")
