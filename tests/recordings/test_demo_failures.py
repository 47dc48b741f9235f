# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole nodes whose vendor tool fails in every way: what is detected, why not, and the verdict. Eight cards are on PCI in all of them."""

from __future__ import annotations

import demo
import pytest

NODES = {"nvidia": "gpu-h01", "amd": "gpu-m03", "ascend": "npu-a01"}  # m03 has the files of its driver too
TOOLS = {"nvidia": ("nvidia-smi",), "amd": ("amd-smi", "rocm-smi"), "ascend": ("npu-smi",)}
MODULES = {"nvidia": "nvidia", "amd": "amdgpu", "ascend": "drv_pcie"}
NOT_LOADED = {
    "nvidia": (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed.\n"),
    "amd": (255, "AMDSMI_STATUS_DRIVER_NOT_LOADED - Driver not loaded\n"),
    "ascend": (255, "dcmi module initialize failed. ret is -8005\n"),
}
MISMATCH = {
    "nvidia": (18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.207\n"),
    "amd": (1, "AttributeError: libamd_smi.so: undefined symbol: amdsmi_get_gpu_xcd_counter\n"),
    "ascend": (255, "dcmi module initialize failed. ret is -8017\n"),
}


def broken(manufacturer, answer, driver=True):
    """The manufacturer's healthy node, every call of its tools answered by answer(argv)."""
    document = demo.document(NODES[manufacturer])
    tools = TOOLS[manufacturer]
    argvs = [entry["argv"] for entry in document["commands"] if entry["argv"][0] in tools]
    if manufacturer == "amd":
        argvs = [["amd-smi", word, "--json"] for word in ("version", "list", "static")] + [["rocm-smi", "-a", "--json"]]
    document["commands"] = [entry for entry in document["commands"] if entry["argv"][0] not in tools]
    document["commands"] += [dict({"argv": argv}, **answer) for argv in argvs]
    if not driver:
        for path in list(document["files"]):
            if path.endswith("/driver") and path.startswith("/sys/bus/pci/devices"):
                document["files"][path] = {"absent": True}
        name = MODULES[manufacturer]
        document["files"]["/sys/module"]["dir"] = [m for m in document["files"]["/sys/module"]["dir"] if not m.startswith(name)]
        for path in ("/proc/driver/nvidia/version", *(p for p in document["files"] if p.startswith("/sys/module/" + name))):
            document["files"][path] = {"absent": True}
    return document


def judge(manufacturer, document):
    sections = demo.read(document)
    assert demo.misfits(sections) == []
    judged = demo.Judged(NODES[manufacturer], sections)
    return sections["accelerators." + manufacturer]["detection"], judged


CASES = {
    "missing": ({"missing": True}, True),
    "not loaded": (NOT_LOADED, False),
    "hangs": ({"hang": True}, True),
    "denied": ({"denied": True}, True),
    "mismatch": (MISMATCH, True),
    "empty": ({"rc": 0, "stdout": ""}, True),
}
BOTH = "amd-smi list --json: {0} and rocm-smi -a --json: {0}; PCI shows 8"
DIFFER = "the loaded kernel module and the library differ in version: reload the module or reboot"
UNUSABLE = "driver not usable: upgraded without a reboot, or no access to /dev/davinci_manager"
DETECTED, MATCH = ("accelerators-detected", "fail"), ("driver-library-match", "fail")
# (case, manufacturer): reason, verdict, findings beside the page fault that h01's log tells of
EXPECTED = {
    ("missing", "nvidia"): (
        "NVML: nvidia-ml-py is not installed (No module named 'pynvml'); nvidia-smi -q -x: absent (no such program); PCI shows 8", "incomplete", [],
    ),
    ("missing", "amd"): ("", "incomplete", []),  # the driver's files name all devices; what only the tool tells is unknown
    ("missing", "ascend"): ("npu-smi info: absent (no such program); PCI shows 8", "incomplete", []),
    ("not loaded", "nvidia"): ("nvidia-smi -q -x: the NVIDIA driver is not loaded; PCI shows 8", "rejected", [DETECTED]),
    ("not loaded", "amd"): (BOTH.format("AMDSMI_STATUS_DRIVER_NOT_LOADED - Driver not loaded"), "rejected", [DETECTED]),
    ("not loaded", "ascend"): ("npu-smi info: dcmi module initialize failed. ret is -8005 (%s); PCI shows 8" % UNUSABLE, "rejected", [DETECTED]),
    ("hangs", "nvidia"): ("nvidia-smi -q -x: timeout (no answer in time); PCI shows 8", "incomplete", []),
    ("hangs", "amd"): ("amd-smi version --json: timeout (no answer in time); PCI shows 8", "incomplete", []),
    ("hangs", "ascend"): ("npu-smi info: timeout (no answer in time); PCI shows 8", "incomplete", []),
    ("denied", "nvidia"): ("nvidia-smi -q -x: denied; PCI shows 8", "incomplete", []),
    ("denied", "amd"): (BOTH.format("denied"), "incomplete", []),
    ("denied", "ascend"): ("npu-smi info: denied; PCI shows 8", "incomplete", []),
    ("mismatch", "nvidia"): ("nvidia-smi -q -x: %s; PCI shows 8" % DIFFER, "rejected", [MATCH]),
    ("mismatch", "amd"): (BOTH.format("AttributeError: libamd_smi.so: undefined symbol: amdsmi_get_gpu_xcd_counter"), "incomplete", []),
    ("mismatch", "ascend"): ("npu-smi info: dcmi module initialize failed. ret is -8017 (upgrading); PCI shows 8", "incomplete", []),
    ("empty", "nvidia"): ("nvidia-smi -q -x: it printed nothing; PCI shows 8", "incomplete", []),
    ("empty", "amd"): (BOTH.format("no JSON in it"), "incomplete", []),
    ("empty", "ascend"): ("npu-smi info: no output; PCI shows 8", "incomplete", []),
}  # fmt: skip


@pytest.mark.parametrize(("case", "manufacturer"), EXPECTED)
def test_a_failing_tool(case, manufacturer):
    answer, driver = CASES[case]
    if manufacturer in answer:
        code, text = answer[manufacturer]
        answer = {"rc": code, "stderr": text} if manufacturer == "amd" else {"rc": code, "stdout": text}
    detection, judged = judge(manufacturer, broken(manufacturer, answer, driver))
    reason, verdict, findings = EXPECTED[case, manufacturer]
    assert (detection["reason"], judged.verdict) == (reason, verdict), judged.reasons
    roots = sorted((f["rule"], f["level"]) for f in judged.findings if not f["caused_by"])
    assert [told for told in roots if told[0] != "kernel-accelerator-events"] == findings
    if reason:
        # nothing is counted that was not read, and nothing that needs a device passes
        assert detection["state"] == "unavailable" and "unknown" in detection["accelerators"]
        assert judged.outcome("accelerators-detected") in ("found", "unknown")
        assert judged.outcome("device-lost") == judged.outcome("ecc-uncorrected") == judged.outcome("links-up") == "unknown"
    else:
        assert (detection["state"], detection["accelerators"], judged.outcome("links-up")) == ("ok", 8, "unknown")


@pytest.mark.parametrize("manufacturer", NODES)
def test_no_tool_and_no_card_is_nothing(manufacturer):
    document = broken(manufacturer, {"missing": True}, driver=False)
    document["natives"] = {"nvml": {"missing": "nvidia-ml-py is not installed"}}
    document["files"]["/sys/bus/pci/devices"] = {"dir": ["0000:00:01.0"]}
    document["files"]["/dev"] = {"dir": ["null"]}
    sections = demo.read(document)
    assert [name for name in sections if name.startswith("accelerators.")] == []
    judged = demo.Judged(NODES[manufacturer], sections)
    assert judged.verdict == "rejected" and ("no-accelerator", "fail", "node", NODES[manufacturer]) in judged.told()


def test_a_matrix_of_links_that_is_not_understood_accuses_no_link():
    document = demo.document("npu-a01")
    topology = next(entry for entry in document["commands"] if entry["argv"] == ["npu-smi", "info", "-t", "topo"])
    topology["stdout"] = topology["stdout"].replace("HCCS", "H??S", 1)
    judged = demo.Judged("npu-a01", demo.read(document))
    assert judged.findings == [] and judged.verdict == "incomplete" and judged.outcome("links-up") == "unknown"
