# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With what the running kernel is built, of what moves data between devices."""

from __future__ import annotations

import health_nodes
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_options
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

RELEASE = "6.8.0-79-generic"
BOOT, BUILD = "/boot/config-" + RELEASE, "/lib/modules/%s/build/.config" % RELEASE
AMD = {"/sys/module/amdgpu": {"exists": True}}
NOWHERE = {path: {"absent": True} for path in (*(place % RELEASE for place in kernel_options.PLACES), kernel_options.PACKED)}


def read(files, *commands, release=RELEASE):
    return kernel_options.read(
        ReplayHost(
            {"schema": "fleetproof.accelerator/recording/v1", "node": "a", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": list(commands)}
        ),
        release,
    )


def said(path, text="", rc=0, **more):
    return {"argv": kernel_options.asked(path), "stdout": text, "rc": rc, **more}


@pytest.mark.parametrize("path", [BOOT, BUILD, kernel_options.PACKED])
def test_each_place_where_the_options_lie(path):
    files = {**NOWHERE, **AMD, path: {"exists": True}}
    assert read(files, said(path, "CONFIG_PCI_P2PDMA=y\n")) == {"p2pdma": True, "dmabuf_move_notify": False}
    assert read(files, said(path, "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y\n")) == {"p2pdma": True, "dmabuf_move_notify": True}
    assert read(files, said(path, rc=1)) == {"p2pdma": False, "dmabuf_move_notify": False}
    for bad in (said(path, rc=2), said(path, hang=True), {"argv": kernel_options.asked(path), "missing": True}):
        assert "unknown" in read(files, bad)


def test_the_running_kernels_options_are_asked_and_no_others():
    files = {**NOWHERE, **AMD, "/boot/config-5.15.0-1-generic": {"exists": True}}
    assert "none of the usual places" in read(files)["unknown"]
    assert "unknown" in read({**AMD, BOOT: {"error": "EACCES"}}) and "unknown" in read(AMD) and "unknown" in read(AMD, release=None)


def test_nothing_is_asked_where_no_driver_of_amd_is_loaded():
    assert "not_applicable" in read({"/sys/module/amdgpu": {"absent": True}})
    assert "unknown" in read({})


BOTH = {"p2pdma": True, "dmabuf_move_notify": True}


@pytest.mark.parametrize(
    ("maker", "options", "variables", "expected"),
    [
        ("amd", BOTH, {}, ("passed", None)),
        ("amd", dict(BOTH, dmabuf_move_notify=False), {}, ("found", "info")),
        ("amd", unknown("grep: timeout"), {}, ("unknown", None)),
        ("amd", dict(BOTH, p2pdma=unknown("x")), {}, ("unknown", None)),
        ("amd", not_applicable("no driver that asks for it is loaded"), {}, ("not_applicable", None)),
        ("nvidia", dict(BOTH, p2pdma=False), {}, ("not_applicable", None)),
        ("nvidia", dict(BOTH, p2pdma=False), {"accelerator_policy_kernel_peer_to_peer_manufacturers": ["nvidia"]}, ("found", "info")),
    ],
)
def test_what_the_rule_says(maker, options, variables, expected):
    sections = dict(health_nodes.node(2, maker), software={"kernel_options": options})
    told = health_nodes.ask("kernel-peer-to-peer", sections, **variables)
    assert [(outcome, level or ("info" if outcome == "found" else None)) for _node, outcome, level in told] == [expected]
