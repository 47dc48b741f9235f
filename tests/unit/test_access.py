# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing where the vendor's own count is greater than what was detected."""

from __future__ import annotations

import ascend_samples
import nine
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import access
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA, ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document


def host(**files):
    every = {"/dev": {"dir": []}, "/usr/local": {"dir": []}, "/opt/rocm": {"dir": []}}
    every.update(files)
    return ReplayHost({"schema": SCHEMA, "recorded": "2026-11-29T17:00:00Z", "files": every})


def test_everything_is_missing():
    for manufacturer, entries in access.REMEDIES.items():
        assert access.missing(host(), manufacturer) == list(entries)
    assert access.missing(host(), "hygon") == []


def test_what_is_there_is_not_missing_and_sentences_stay():
    there = {"/dev": {"dir": ["nvidiactl", "kfd", "dri"]}, "/dev/nvidiactl": {"device": "char"}, "/dev/kfd": {"device": "char"}, "/dev/dri": {"dir": []}}
    assert access.missing(host(**there), "nvidia") == list(access.REMEDIES["nvidia"][1:])
    assert access.missing(host(**there), "amd") == list(access.REMEDIES["amd"][2:])


def test_a_library_path_that_leads_nowhere():
    links = {"/opt/rocm": {"dir": ["lib"]}, "/opt/rocm/lib": {"link": "core-7.14/lib"}}
    assert access.missing(host(**links), "amd")[-1] == "/opt/rocm/lib is a link to core-7.14/lib, which is not here: mount /opt/rocm/lib itself"
    links.update({"/opt/rocm": {"dir": ["lib", "core-7.14"]}, "/opt/rocm/core-7.14/lib": {"dir": []}})
    assert access.missing(host(**links), "amd")[-1] == access.REMEDIES["amd"][-1]


def test_what_cannot_be_looked_for_is_not_said_to_be_missing():
    said = access.missing(host(**{"/dev/davinci_manager": {"error": "EACCES"}}), "ascend")
    assert said[0] == "/dev/davinci_manager, of which it is not known whether it is there (/dev/davinci_manager: denied (EACCES))"


@pytest.mark.parametrize(
    ("counted", "detected", "more"),
    [(8, 1, True), (1, 0, True), (2, 2, False), (1, 2, False), ({"unknown": "x"}, 0, False), (True, 0, False), (3, {"unknown": "at least 2"}, True)],
)
def test_when_the_host_counts_more(counted, detected, more):
    devices = [{"kind": "package"}, {"kind": "package"}, {"kind": "partition"}]
    assert access.counts_more({"host": {"accelerators": counted}, "accelerators": detected}, devices) == more
    assert not access.counts_more({"host": {"not_applicable": "none"}, "accelerators": 0}, devices)


def test_the_document_of_a_node_whose_tool_sees_one_of_two():
    part = nine.ascend(2, info=ascend_samples.table("plain", [{"npu": 0, "bus": "0000:A1:00.0"}], processes=[0]))
    sections = nine.read(nine.recording(nine.lose(part, "/dev/devmm_svm")))
    assert nine.demo.misfits(sections) == []
    group = preflight_document.document(sections, ["ascend"])["accelerators"][0]
    assert (group["manufacturer"], group["detection"]["state"], group["detection"]["accelerators"]) == ("ascend", "unavailable", 1)
    assert group["detection"]["host"]["accelerators"] == 2
    assert group["detection"]["host"]["missingMounts"] == ["/dev/devmm_svm", "/dev/davinci<N> for each accelerator"]
