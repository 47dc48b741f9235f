# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a record says of container runtime, kubelet and adapters: a fact, or why there is none."""

from __future__ import annotations

import pytest
import synthetic
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import acceptance_record
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import record_surroundings as surroundings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.policy import Policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

ENGINE = {"id": "containerd", "running": True, "version": "1.7.24", "default_handler": "nvidia", "cgroup_driver": "systemd"}
RAIL = {"driver": "mlx5_core", "type": "MT4129", "firmware": "28.43.2026"}
UNKNOWN = {"unknown": "denied"}


def view(**sections):
    given = {name: data for name, data in synthetic.healthy().items() if name not in ("container_runtime", "kubelet", "network_devices")}
    given.update(sections)
    return NodeView("n1", synthetic.envelopes(given), Policy())


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"engines": [ENGINE]}, "containerd 1.7.24, handler nvidia, cgroup driver systemd"),
        ({"engines": [dict(ENGINE, version=UNKNOWN, default_handler=UNKNOWN), dict(ENGINE, id="docker", running=False)]},
         "containerd of a version that is not known, cgroup driver systemd"),
        ({"engines": [], "unsure": []}, {"not_applicable": "no container engine runs"}),
        ({"engines": [], "unsure": ["/run/docker.sock: denied"]}, {"unknown": "/run/docker.sock: denied"}),
        ({"engines": UNKNOWN}, {"unknown": "denied"}),
        (None, {"unknown": "section container_runtime: not filed"}),
    ],
)  # fmt: skip
def test_container_runtime(section, expected):
    assert surroundings.container_runtime(view(container_runtime=section) if section is not None else view()) == expected


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"state": "running", "settings": {"cgroup_driver": {"value": "systemd"}, "topology_manager_policy": {"value": "restricted"}}},
         "running, cgroup driver systemd, topology manager restricted"),
        ({"state": "not_running", "settings": {"cgroup_driver": {"value": UNKNOWN}}}, "not running"),
        ({"state": "absent"}, {"not_applicable": "no kubelet on this node"}),
        ({"state": "unknown", "problem": "/proc: hidepid"}, {"unknown": "/proc: hidepid"}),
        ({"state": 3}, {"unknown": "state: not a text: 3"}),
    ],
)  # fmt: skip
def test_kubelet(section, expected):
    assert surroundings.kubelet(view(kubelet=section)) == expected


def test_adapters():
    one = view(network_devices={"rails": {"0": RAIL, "1": dict(RAIL, firmware="28.39.1002"), "2": dict(RAIL, driver="ionic", type=None, firmware=UNKNOWN)}})
    assert surroundings.nic_firmware(one) == {"ionic": "unknown", "mlx5_core MT4129": "28.39.1002, 28.43.2026"}
    assert surroundings.nic_driver(one) == "ionic of the kernel, mlx5_core of the kernel"
    none = view(network_devices={"rails": {"not_applicable": "no RDMA device"}})
    assert surroundings.nic_firmware(none) == surroundings.nic_driver(none) == {"not_applicable": "no RDMA device"}
    assert surroundings.nic_firmware(view()) == {"unknown": "section network_devices: not filed"}


def test_a_record_says_them():
    text, _devices = acceptance_record.body(
        view(container_runtime={"engines": [ENGINE]}, kubelet={"state": "running"}, network_devices={"rails": {"0": RAIL}}), {}
    )
    record = yaml.safe_load(text)
    assert record["container_runtime"].startswith("containerd 1.7.24") and record["kubelet"] == "running"
    assert record["firmware"]["nic"] == {"mlx5_core MT4129": "28.43.2026"} and record["nic_driver"] == "mlx5_core of the kernel"


def test_a_record_has_a_long_command_line_to_its_end():
    line = "ro " + " ".join("quiet%d" % n for n in range(100))
    record = yaml.safe_load(acceptance_record.body(view(host={"kernel": {"command_line": line}}), {})[0])
    assert len(line) > 700 and record["kernel_command_line"] == line
    garbage = yaml.safe_load(acceptance_record.body(view(host={"kernel": {"command_line": ["ro"]}}), {})[0])
    assert "not a text" in garbage["kernel_command_line"]["unknown"]


@pytest.mark.parametrize("name", ["container_runtime", "kubelet", "network_devices"])
@pytest.mark.parametrize(
    "garbage", [{}, {"engines": 3, "state": [], "rails": "x"}, {"engines": [3, {}], "state": "\x1b[31m", "rails": {"0": 3, "1": {"firmware": 5}}}]
)
def test_garbage_raises_nothing(name, garbage):
    yaml.safe_load(acceptance_record.body(view(**{name: garbage}), {})[0])
