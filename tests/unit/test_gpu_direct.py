# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether RDMA reads the memory of accelerators: by a module, by DMA-BUF, or by neither."""

from __future__ import annotations

import demo
import pytest
import synthetic

RULE = "gpu-direct-rdma"
NONE = {"not_applicable": "no RDMA device"}


def node(loaded=("nvidia",), flavor="proprietary", release="6.8.0-79-generic", rails=8, state="active", **policy):
    sections = synthetic.healthy()
    sections["accelerators.nvidia"]["driver"]["flavor"] = flavor
    sections["settings"]["modules"]["loaded"] = list(loaded) if isinstance(loaded, tuple) else loaded
    sections["host"]["kernel"]["release"] = release
    told = {str(n): {"device": "mlx5_%d" % n, "ports": {"1": {"state": state}}} for n in range(rails)} if isinstance(rails, int) else rails
    sections["network_devices"] = {"rails": told}
    judged = demo.Judged("n1", sections, policy)
    return judged.outcome(RULE), next((f["level"] for f in judged.findings if f["rule"] == RULE), None)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"loaded": ("nvidia", "nvidia_peermem")}, ("passed", None)),
        ({"loaded": ("nvidia", "nv_peer_mem"), "flavor": {"unknown": "denied"}}, ("passed", None)),
        ({"flavor": "open"}, ("passed", None)),
        ({"flavor": "open", "release": "5.12.0"}, ("passed", None)),
        ({"flavor": "open", "release": "5.10.0-35-amd64"}, ("found", "warn")),
        ({"flavor": "open", "release": "5.10.0", "loaded": ("nvidia_peermem",)}, ("passed", None)),
        ({}, ("found", "warn")),
        ({"rails": 4}, ("found", "warn")),
        ({"rails": 3}, ("found", "info")),
        ({"state": "down"}, ("found", "info")),
        ({"rails": 3, "accelerator_policy_gpu_direct_rdma_adapters_per_accelerator": 0}, ("found", "warn")),
        ({"rails": NONE}, ("not_applicable", None)),
        ({"rails": {"unknown": "denied"}}, ("unknown", None)),
        ({"loaded": {"unknown": "denied"}}, ("unknown", None)),
        ({"flavor": {"unknown": "denied"}}, ("unknown", None)),
        ({"flavor": "open", "release": "unheard of"}, ("unknown", None)),
    ],
)
def test_what_stands_between_the_adapter_and_the_memory(changes, wanted):
    assert node(**changes) == wanted


def test_accelerators_of_other_makers_are_not_judged():
    sections = synthetic.healthy()
    del sections["accelerators.nvidia"]
    sections["network_devices"] = {"rails": {}}
    assert demo.Judged("n1", sections, {}).outcome(RULE) == "not_applicable"
