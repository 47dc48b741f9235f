# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that look like an entry of the event catalogs and are not it; codes that no catalog knows; an old run under a newer catalog."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, kernel, kernel_catalogue, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.kernel_catalogue import assess, catalog, classify
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

LINES = {
    "xid": "NVRM: Xid (PCI:0000:5e:00): %s, pid=9, name=python, text",
    "sxid": "nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): %s, Non-fatal, Link 3 text",
    "ppu": "[alixpu] ppuid:3 XID (PCI:0000:0a:00): %s, text",
}
# What each message is not: an all-clear, another part's trouble, the same words of something else.
NEAR = {
    "nvidia-fallen-off-bus": "usb 3-1: device has fallen off the bus",
    "nvidia-not-supported": "NVRM: The NVIDIA GPU driver for 0000:5e:00.0 is ready",
    "nvidia-init-failed": "NVRM: RmInitAdapter succeeded",
    "nvidia-no-firmware": "bnxt_en 0000:1a:00.0: No firmware image found, using the built-in one",
    "nvidia-probe-failed": "NVRM: The NVIDIA probe routine finished.",
    "nvidia-none-initialized": "NVRM: None of the modules is tainted",
    "nvidia-version-mismatch": "fuse: API mismatch: the client has another version",
    "nvidia-gsp": "NVRM: GPU2 GSP RM heartbeat received after an error was cleared",
    "nvidia-memory-fatal": "NVRM: nvGpuOpsReportFatalError: no error",
    "nvidia-watchdog": "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is not locked, timeout not reached",
    "nvidia-peermem": "nvidia-peermem: module loaded, no errors",
    "nccl-crash": "python3[99]: segfault at 0 ip 00007f01 sp 00007f02 error 4 in libtorch_cuda.so[7f00+d0]",
    "amd-uncorrectable": "amdgpu 0000:05:00.0: amdgpu: no uncorrectable hardware error reported",
    "amd-ras-uncorrectable": "amdgpu 0000:05:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
    "amd-ras-new-uncorrectable": "amdgpu 0000:05:00.0: amdgpu: {5} socket: 0, die: 0, 2 new correctable hardware errors detected in umc block",
    "amd-ras-deferred": "amdgpu 0000:05:00.0: amdgpu: no deferred hardware errors detected in umc block",
    "amd-bad-page-threshold": "amdgpu 0000:05:00.0: amdgpu: RAS records:3 bad page threshold:256",
    "amd-poison": "amdgpu 0000:05:00.0: amdgpu: ras disable gfx poison:0 ret:0",
    "amd-lost": "amdgpu 0000:05:00.0: amdgpu: device is back on the bus after reset",
    "amd-reset-attempt-failed": "amdgpu 0000:05:00.0: amdgpu: GPU mode1 reset",
    "amd-reset-failed": "amdgpu 0000:05:00.0: amdgpu: GPU reset end with ret = 0",
    "amd-reset": "amdgpu 0000:05:00.0: amdgpu: GPU reset succeeded, trying to resume",
    "amd-mes-unrecoverable": "amdgpu 0000:05:00.0: amdgpu: MES is in a recoverable state after the reset",
    "amd-mes": "amdgpu 0000:05:00.0: amdgpu: MES feature version 1, reset counter 0",
    "amd-init-failed": "amdgpu 0000:05:00.0: amdgpu: no fatal error during GPU init",
    "amd-mailbox": "amdgpu 0000:05:00.0: amdgpu: mailbox: no error",
    "amd-smu": "amdgpu 0000:05:00.0: amdgpu: SMU is initialized successfully after reset",
    "amd-ring-recovered": "amdgpu 0000:05:00.0: amdgpu: ring sdma0 timeout, signaled seq=8, emitted seq=9",
    "amd-ring-reset-failed": "amdgpu 0000:05:00.0: amdgpu: Ring comp_1.0.0 reset succeeded",
    "amd-wedged": "amdgpu 0000:05:00.0: [drm] device wedged, but recovered through reset",
    "amd-ring-timeout": "amdgpu 0000:05:00.0: amdgpu: ring sdma0 timeout, but soft recovered",
    "amd-page-fault": "amdgpu 0000:05:00.0: amdgpu: page table updated after a fault",
    "amd-aca": "amdgpu 0000:05:00.0: amdgpu: Accelerator Check Architecture: no error",
    "amd-probe-failed": "snd_hda_intel 0000:05:00.1: probe with driver snd_hda_intel failed with error -2",
    "nvidia-driver-probe-failed": "i2c-nvidia-gpu 0000:5e:00.3: probe of i2c failed with error -110",
    "habana-heartbeat": "habanalabs hl3: Device heartbeat is on, reset counter 0",
    "habana-reset": "accel accel3: reset of the device ended without error",
    "neuron-hardware-error": "neuron: nd3 reset completed without error",
    "xe-wedged": "xe 0000:4d:00.0: [drm] device wedged, but no recovery needed",
    "kunlun-noc": "kl3_dev2: kl3_wait_for_noc_idle() done after reset",
    "kunlun-exception": "kl3_dev2: sess[7] closed without exception",
    "ppu-ecc": "[alixpu] ppuid:3 no uncorrected error",
    "ascend-lost": "[ascend] [drv_pcie] fault 80E18005 on device 2",
    "ascend-link": "[ascend] [devdrv] fault 81078604 on device 2",
    "iommu-fault": "DMAR: [Firmware Bug]: No firmware reserved region can cover this RMRR, fault addr 0x0",
    "edac-uncorrected": "EDAC MC1: 4 CE memory read error on CPU_SrcID#1_Ch#0_DIMM#0 (channel:0)",
    "edac-corrected": "EDAC MC1: Giving out device to module skx_edac controller Skylake Socket#0 IMC#1",
    "memory-failure": "Memory failure handling is on",
    "mce-uncorrected": "[Hardware Error]: Corrected error, no action required.",
    "mce-reported": "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 8c00004000010090",
    "mce-deferred": "mce: Deferred errors are handled by this kernel",
    "bert-record": "{7}[Hardware Error]: event severity: corrected",
    "ghes-fatal": "{7}[Hardware Error]: event severity: corrected",
    "ghes-recoverable": "{7}[Hardware Error]: event severity: info",
    "mce-corrected": "mce: CPU supports 32 MCE banks",
    "pcie-fatal": "pcieport 0000:40:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:41:00.0",
    "pcie-nonfatal": "pcieport 0000:40:01.0: AER: Corrected error received: 0000:41:00.0",
    "pcie-corrected": "pcieport 0000:40:01.0: AER: enabled with IRQ 33",
    "pcie-recovery-failed": "pcieport 0000:40:01.0: AER: device recovery successful",
    "pcie-contained": "pcieport 0000:40:01.0: DPC: enabled with IRQ 33",
    "pcie-inaccessible": "nvidia 0000:41:00.0: device is accessible after reset",
    "pcie-slot-down": "pcieport 0000:40:01.0: pciehp: Slot(1-2): Link Up",
    "nic-fatal": "mlx5_core 0000:1a:00.0: health recovery flow succeeded",
    "nic-health-fatal": "mlx5_core 0000:1a:00.0: print_health_info:430:(pid 0): Health issue observed, EQ error, severity(3) ERROR:",
    "nic-health": "mlx5_core 0000:1a:00.0: print_health_info:430:(pid 0): Health issue observed, High temperature, severity(3) ERROR:",
    "nic-command-timeout": "mlx5_core 0000:1a:00.0: wait_func:1000:(pid 7): MODIFY_QP(0x502) finished before the timeout",
    "nic-firmware-dead": "bnxt_en 0000:1a:00.0 ens2f0np0: Firmware reset complete",
    "nic-firmware-reset": "ionic 0000:1a:00.0: FW Up: restarting LIFs after reset",
    "nic-timeout": "mlx5_core 0000:1a:00.0 ens1np0: transmit timeout set to 15 s",
    "nic-power": "mlx5_core 0000:1a:00.0: mlx5_pcie_event:299:(pid 1): PCIe slot advertised sufficient power (75W).",
    "nic-hot": "mlx5_core 0000:1a:00.0: Port module event: module 1, temperature is normal",
    "nic-cable": "mlx5_core 0000:1a:00.0: Port module event: module 1, Cable plugged",
    "nic-command": "mlx5_core 0000:1a:00.0: mlx5_cmd_init: no error",
    "nic-link-down": "mlx5_core 0000:1a:00.0 ens1np0: Link up",
    "nvme-removed": "nvme nvme3: 16/0/0 default/read/poll queues after reset",
    "nvme-down": "nvme nvme3: Shutdown timeout set to 8 seconds",
    "disk-medium": "critical medium error, dev sr0, sector 2048 op 0x0:(READ)",
    "disk-refused": "critical target error, dev sdc, sector 4096 op 0x3:(DISCARD) flags 0x0 phys_seg 1 prio class 2",
    "disk-error": "blk_update_request: I/O error, dev loop4, sector 2048 op 0x0:(READ)",
    "filesystem-error": "EXT4-fs (sda2): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
    "filesystem-stopped": "XFS (nvme1n1): Ending recovery (logdev: internal)",
    "btrfs-stopped": "BTRFS info (device nvme3n1p1): turning on forced compression",
    "btrfs-error": "BTRFS info (device nvme3n1p1): bdev /dev/nvme3n1p1 errs: wr 0, rd 3, flush 0, corrupt 0, gen 0",
    "raid-failed": "md/raid1:md0: active with 2 out of 2 mirrors, no failure",
    "hard-lockup": "traps: train[990] general protection fault ip:402000 sp:7ffd00001000 error:0 in libc.so.6[400000+9000]",
    "kernel-error": "systemd: Internal error: no such unit",
    "soft-lockup": "watchdog: soft lockup detector is on",
    "hung-task": "INFO: task nvidia-smi:99 is no longer blocked for more than it was",
    "oom-manual": "python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
    "oom-cgroup": "Out of memory: Killed process 99 (python) total-vm:1kB, anon-rss:1kB",
    "oom": "Memory cgroup out of memory: Killed process 99 (python) total-vm:1kB, anon-rss:1kB",
    "file-limit": "VFS: file-max is 9223",
    "cpu-throttled": "mce: CPU12: Package temperature/speed normal",
}
SWITCH = "nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): "


def events(*lines):
    return kernel_log.fold("\n".join(lines), 1764400000)[0]


def test_every_message_has_a_near_miss():
    judged = {entry["id"] for _has, _match, entry in catalog().messages if entry["level"] != kernel_catalogue.QUIET}
    assert judged == set(NEAR)


@pytest.mark.parametrize("name", sorted(NEAR))
def test_a_near_miss_is_not_the_message(name):
    found = classify({"sample": NEAR[name]})
    assert found is None or found.code != name


@pytest.mark.parametrize("kind", sorted(LINES))
def test_each_listed_code_is_told_by_its_own_name_and_no_other_number_is_it(kind):
    known = catalog()
    for code, entry in known.codes[kind].items():
        found = classify({"sample": LINES[kind] % code})
        assert (found.kind, found.code) == (kind, code)
        assert found.name == entry.get("names", {}).get(code, entry["name"]) != "UNUSED"
        assert found.source == known.sources[entry["source"]]
        longer = classify({"sample": LINES[kind] % (code + "9")})
        assert longer.code == code + "9"
        assert longer.name == "not in the catalog" or longer.code in known.codes[kind]


def test_names_stand_beside_the_codes_they_name():
    for kind, listed in kernel_catalogue._load("kernel_events.yml").items():
        for entry in listed if kind in LINES else ():
            assert set(entry.get("names", ())) in (set(), set(kernel_catalogue.spread(entry["code"])))


@pytest.mark.parametrize(
    ("text", "code", "level"),
    [
        ("10004, NVSWITCH Temperature 106C | TSENSE WARN Threshold 105C", "10004", "warn"),
        ("10004, Thermal Slowdown Engaged | Links Thermal Mode ON", "10004", "warn"),
        ("10004, PMGR OVERT Threshold reached. Shutting Down", "10004", "fail"),
        ("10005, Thermal slowdown Disengaged", "10005", "info"),
        ("10006, TSENSE OVERT Threshold reached. Shutting Down", "10006", "fail"),
        ("10007, IO failure", "10007", "fail"),
        ("25010, ALI Training failure. Info 0x10002", "25010", "warn"),
        ("26002, SOE init Failed(0)", "26002", "warn"),
        ("27005, Module 3 faulty", "27005", "warn"),
        ("28002, cooled", "28002", "info"),
        ("31001, a message of tomorrow", "31001", "warn"),
        ("26003, Fatal, Failed to post command to SOE. Data {0x00000001}", "26003", "fail"),
    ],
)
def test_what_the_switch_says_without_the_words_fatal_or_non_fatal(text, code, level):
    found = [classify(e) for e in events("[ 900.5] " + SWITCH + text)]
    assert [(e.kind, e.code, e.severity) for e in found] == [("sxid", code, level)]


@pytest.mark.parametrize("text", ["31001, Severity 1 Engine instance 03 Sub-engine instance 00", "10006, Data {0x00000001, 0x00000000}", "31001, "])
def test_the_second_lines_of_a_message_are_no_message(text):
    assert assess(events("[ 900.5] " + SWITCH + text)) == []


def test_a_degraded_mse_is_told_by_its_unit():
    line = "NVRM: Xid (PCI:0000:5b:00): 150, MSE Degraded Fatal XC0 i0 Link -1 (0x00000000 0x00000000 0x00000000 0x00000000)"
    found = classify({"sample": line})
    assert (found.severity, found.action) == ("fail", "reset the GPU")
    assert found.summary.endswith("MSE Degraded; fatal")


def judged(data):
    engine.default_policy()
    section = {"schema": "fleetproof.accelerator/section/v1", "status": "read", "reason": "", "data": data}
    rules, rule = policy.parse({}), "kernel-accelerator-events"
    outcomes = engine.outcomes(RULES[rule], NodeView("n1", {"kernel": section}, rules), rules.params(rule))
    return [outcome for _subject, outcome in outcomes]


@pytest.fixture
def newer(tmp_path, monkeypatch):
    """A catalog in which Xid 987 has a meaning, as a later release may have it."""

    def install():
        for name in ("kernel_events.yml", "kernel_messages.yml"):
            (tmp_path / name).write_text((kernel_catalogue.DATA / name).read_text(encoding="utf-8"), encoding="utf-8")
        listed = yaml.safe_load((tmp_path / "kernel_events.yml").read_text(encoding="utf-8"))
        listed["xid"].append({"code": "987", "name": "OF_TOMORROW", "action": "RESET_GPU", "summary": "known by now", "source": "xid"})
        (tmp_path / "kernel_events.yml").write_text(yaml.safe_dump(listed), encoding="utf-8")
        monkeypatch.setattr(kernel_catalogue, "DATA", tmp_path)
        forget()

    def forget():
        catalog.cache_clear()
        kernel_catalogue._entry.cache_clear()
        kernel._LATEST[0] = None

    yield install
    monkeypatch.undo()
    forget()


def test_an_unknown_code_is_told_with_its_line_and_a_newer_catalog_judges_the_same_run(newer):
    line = "NVRM: Xid (PCI:0000:5e:00): 987, pid=9, name=python, a new kind of trouble"
    data = {
        "timestamp": "2025-11-30T07:06:40Z",
        "source": "journalctl -k",
        "status": "ok",
        "reason": "",
        "boot_time": "2025-11-29T07:06:40Z",
        "since": "boot",
        "covers_from": "2025-11-29T07:06:40.000Z",
        "events": events("[ 900.5] " + line),
        "lines": 1,
        "dropped": 0,
    }
    (told,) = judged(data)
    assert told.level == "warn"
    assert "a code the catalog of this release does not know" in told.summary
    assert told.evidence["messages"] == [line]
    newer()
    (told,) = judged(data)
    assert (told.level, told.evidence["messages"]) == ("fail", [line])
    assert told.summary.startswith("Xid 987 (OF_TOMORROW): known by now")
