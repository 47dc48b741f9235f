# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets of container engines stay on the node, and nothing they say raises."""

from __future__ import annotations

import copy
import json

import engine_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_engines, container_runtime, containerd
from hypothesis import given, settings
from hypothesis import strategies as st

SECRETS = ("hunter2", "dXNlcjpodW50ZXIy", "t0ken-of-a-registry", "c2VjcmV0LWhlYWRlcg", "inline-pass")
REGISTRY = """
[plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]
  endpoint = ["https://u:inline-pass@mirror.example"]
[plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]
  username = "u"
  password = "hunter2"
  auth = "dXNlcjpodW50ZXIy"
  identitytoken = "t0ken-of-a-registry"
[plugins."io.containerd.grpc.v1.cri".registry.headers]
  Authorization = ["Basic c2VjcmV0LWhlYWRlcg"]
"""


@pytest.mark.parametrize("how", ["dump", "files", "broken", "running"])
def test_no_secret_of_a_registry_leaves_the_node(how):
    config = samples.V2 + REGISTRY + ("x = \n" if how == "broken" else "")
    commands = [samples.served("1.7.24")] + ([samples.dumped(config)] if how == "dump" else [])
    if how == "running":
        auth = {"username": "u", "password": "hunter2", "auth": "dXNlcjpodW50ZXIy", "identitytoken": "t0ken-of-a-registry"}
        listed = {
            "configs": {"r.example": {"auth": auth}},
            "mirrors": {"docker.io": {"endpoint": ["https://u:inline-pass@mirror.example"]}},
            "headers": {"Authorization": ["Basic c2VjcmV0LWhlYWRlcg"]},
        }
        commands.append(samples.running_info(containerd={"defaultRuntimeName": "runc"}, registry=listed))
    files = {
        samples.SOCKET: {"exists": True},
        samples.CONFIG: config,
        "/etc/docker/daemon.json": json.dumps({"registry-mirrors": ["https://u:inline-pass@m.example"]}),
    }
    host = RecordingHost(samples.node(("ctr", "crictl", "containerd", "docker"), commands, files))
    said = json.dumps([container_runtime.collect(host), host.recording()])
    assert [secret for secret in SECRETS if secret in said] == []
    found = samples.engine(container_runtime.collect(samples.node(("ctr", "crictl", "containerd", "docker"), commands, files))["container_runtime"])
    if how != "broken":
        assert found["registry"]["credentials"] is True and found["registry"]["mirrors"] == {"docker.io": ["https://u:[redacted]@mirror.example"]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=8), v, max_size=3),
    max_leaves=8,
)
PLACES = {
    "info": [(), ("config",), ("config", "containerd"), ("config", "containerd", "runtimes"), ("config", "registry"), ("config", "cdiSpecDirs")],
    "docker": [(), ("Runtimes",), ("Runtimes", "nvidia"), ("RegistryConfig",), ("RegistryConfig", "IndexConfigs"), ("CDISpecDirs",), ("DefaultRuntime",),
               ("ServerVersion",)],
    "daemon": [(), ("runtimes",), ("runtimes", "nvidia"), ("exec-opts",), ("hosts",), ("features",), ("registry-mirrors",)],
}  # fmt: skip


def broken(document, path, value):
    document = copy.deepcopy(document)
    if not path:
        return value
    place = document
    for key in path[:-1]:
        place = place.setdefault(key, {})
    place[path[-1]] = value
    return document


@given(st.sampled_from([(where, path) for where, paths in PLACES.items() for path in paths]), JSON)
@settings(max_examples=150, deadline=None)
def test_any_json(place, value):
    where, path = place
    documents = {
        "info": {"config": {"containerd": {"defaultRuntimeName": "runc", "runtimes": {"runc": {"options": {}}}}, "registry": {}}},
        "docker": samples.INFO, "daemon": {"runtimes": {"nvidia": {"path": "x"}}, "hosts": [], "exec-opts": ["a"], "features": {}},
    }  # fmt: skip
    documents[where] = broken(documents[where], path, value)
    shown = "Id=docker.service\nActiveState=active\nMainPID=88\n"
    commands = [
        samples.served("1.7.24"),
        samples.command(samples.CRICTL, json.dumps(documents["info"])),
        samples.command(samples.DOCKER, json.dumps(documents["docker"])),
    ]
    commands.append(samples.command(samples.SYSTEMCTL, shown))
    files = {
        samples.SOCKET: {"exists": True},
        samples.CONFIG: samples.V2,
        "/proc/88/cmdline": "dockerd\0",
        "/etc/docker/daemon.json": json.dumps(documents["daemon"]),
    }
    samples.fits(samples.section(("ctr", "crictl", "containerd", "docker"), commands, files))


TOML = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=6), v, max_size=3),
    max_leaves=8,
)
KEYS = [
    ("version",),
    ("imports",),
    ("disabled_plugins",),
    ("plugins",),
    ("grpc",),
    ("plugins", "cri"),
    ("plugins", "cri", "containerd"),
    ("plugins", "cri", "registry"),
]
KEYS += [
    ("plugins", "cri", "containerd", "runtimes"),
    ("plugins", "cri", "containerd", "runtimes", "runc"),
    ("plugins", "cri", "registry", "configs"),
    ("plugins", "cri", "registry", "mirrors"),
]


@given(st.sampled_from(KEYS), TOML, st.sampled_from([None, 1, 2]))
@settings(max_examples=150, deadline=None)
def test_any_toml(path, value, major):
    document = broken({"version": 2, "plugins": {"cri": {"containerd": {"runtimes": {"runc": {}}}, "registry": {}}}}, path, value)
    said, why = containerd.merged([("a", document), ("b", {"plugins": {"cri": {"containerd": {"default_runtime_name": "x"}}}})], major)
    asked = container_engines.Asked(samples.node())
    if said is not None:
        containerd._facts(asked, said, major, True)
    assert (said is None) == bool(why)
    container_engines.crio_config([{"crio": value}, broken({"crio": {"runtime": {"runtimes": {}}, "image": {}}}, ("crio", "runtime", "runtimes"), value)])


@given(st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_text(text):
    commands = [samples.command(samples.CTR, text), samples.command(samples.CRICTL, text), samples.dumped(text), samples.command(samples.SYSTEMCTL, text)]
    files = {samples.SOCKET: {"exists": True}, samples.CONFIG: text, "/etc/docker/daemon.json": text, "/run/docker.pid": text[:20]}
    samples.fits(samples.section(("ctr", "crictl", "containerd", "docker"), commands, files))
