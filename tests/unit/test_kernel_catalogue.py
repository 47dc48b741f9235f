# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogs of kernel events: complete, each with its source, and every message with an example that it and no other matches."""

from __future__ import annotations

import subprocess
import sys

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import kernel_catalogue
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.kernel_catalogue import assess, catalog, classify, spread

EXAMPLES = {
    "nvidia-fallen-off-bus": "NVRM: The NVIDIA GPU 0000:5e:00.0 NVRM: (PCI ID: 10de:2330) installed in this system has NVRM: fallen off the bus and",
    "nvidia-not-supported": "NVRM: The NVIDIA GPU 0000:5e:00.0 (PCI ID: 10de:2330) NVRM: installed in this system is not supported by the",
    "nvidia-init-failed": "NVRM: GPU 0000:5e:00.0: RmInitAdapter failed! (0x62:0x40:2400)",
    "nvidia-no-firmware": "NVRM: RmFetchGspRmImages: No firmware image found",
    "nvidia-probe-failed": "NVRM: The NVIDIA probe routine failed for 1 device(s).",
    "nvidia-none-initialized": "NVRM: None of the NVIDIA devices were initialized.",
    "nvidia-version-mismatch": "NVRM: API mismatch: the client has the version 570.1, but this kernel module has the version 550.2.",
    "nvidia-memory-fatal": "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.",
    "nvidia-watchdog": "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
    "nvidia-gsp": "NVRM: GPU2 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
    "nvidia-peermem": "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping",
    "nccl-crash": "python3[99]: segfault at 0 ip 00007f01 sp 00007f02 error 4 in libnccl.so.2[7f00+d0]",
    "nvidia-quiet": "NVRM: GPU at PCI:0000:5e:00: GPU-00000000-1111-2222-3333-444444444444",
    "amd-uncorrectable": "amdgpu 0000:05:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
    "amd-ras-uncorrectable": "amdgpu 0000:05:00.0: amdgpu: socket: 0, die: 0, 2 uncorrectable hardware errors detected in total in gfx block",
    "amd-ras-correctable": "amdgpu 0000:05:00.0: amdgpu: 7 correctable hardware errors detected in umc block, no user action is needed.",
    "amd-ras-new-uncorrectable": "amdgpu 0000:05:00.0: amdgpu: socket: 0, die: 0, 2 new uncorrectable hardware errors detected in gfx block",
    "amd-ras-deferred": "amdgpu 0000:05:00.0: amdgpu: {3} socket: 0, die: 0, 1 new deferred hardware errors detected in umc block",
    "amd-bad-page-threshold": "amdgpu 0000:05:00.0: amdgpu: RAS records:257 exceed threshold:256",
    "amd-poison": "amdgpu 0000:05:00.0: amdgpu: Poison is consumed by client 12, kick off gpu reset flow",
    "amd-lost": "amdgpu 0000:05:00.0: amdgpu: device lost from bus!",
    "amd-reset-attempt-failed": "amdgpu 0000:05:00.0: amdgpu: GPU mode1 reset failed",
    "amd-reset-failed": "amdgpu 0000:05:00.0: amdgpu: GPU reset(3) failed",
    "amd-reset-done": "amdgpu 0000:05:00.0: amdgpu: GPU reset(3) succeeded!",
    "amd-reset": "amdgpu 0000:05:00.0: amdgpu: GPU reset begin!",
    "amd-mes-unrecoverable": "amdgpu 0000:05:00.0: amdgpu: MES might be in unrecoverable state, issue a GPU reset",
    "amd-mes": "[drm:mes_v11_0_submit_pkt_and_poll_completion [amdgpu]] *ERROR* MES failed to response msg=14",
    "amd-init-failed": "amdgpu 0000:05:00.0: amdgpu: Fatal error during GPU init",
    "amd-mailbox": "amdgpu 0000:05:00.0: amdgpu: trn=1 ACK should not assert! wait again !",
    "amd-smu": "amdgpu 0000:05:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x1E",
    "amd-ring-recovered": "amdgpu 0000:05:00.0: amdgpu: ring sdma0 timeout, but soft recovered",
    "amd-ring-reset-failed": "amdgpu 0000:05:00.0: amdgpu: Ring comp_1.0.0 reset failed",
    "amd-wedged": "amdgpu 0000:05:00.0: [drm] device wedged, needs recovery",
    "amd-ring-timeout": "amdgpu 0000:05:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3",
    "amd-page-fault": "amdgpu 0000:05:00.0: amdgpu: [gfxhub0] page fault (src_id:0 ring:24 vmid:3 pasid:32)",
    "amd-aca": "amdgpu 0000:05:00.0: {1}[Hardware Error]: Accelerator Check Architecture events logged",
    "amd-probe-failed": "amdgpu 0000:05:00.0: probe with driver amdgpu failed with error -22",
    "amd-quiet": "amdgpu 0000:05:00.0: {1}[Hardware Error]: aca entry[00].STATUS=0x9800000000000000",
    "nvidia-driver-probe-failed": "nvidia: probe of 0000:5e:00.0 failed with error -1",
    "habana-heartbeat": "habanalabs hl3: Device heartbeat failed!",
    "habana-reset": "accel accel3: Going to reset device",
    "habana-quiet": "habanalabs: module verification failed: signature and/or required key missing - tainting kernel",
    "neuron-hardware-error": "NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR nd-id=3 nc-id=1 action=TERMINATE_INSTANCE",
    "xe-wedged": "xe 0000:4d:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:4d:00.0 as wedged.",
    "kunlun-noc": "kl3_dev2: kl3_wait_for_noc_idle() timeout",
    "kunlun-exception": "Xid (PCI:0000:35:00): KL_XID_KERNEL_EXCEPTION",
    "ppu-ecc": "[alixpu] ppuid:3 uncorrected ECC error detected",
    "ppu-busy": "[alixpu] total 8 devices in ICN topo!",
    "ascend-lost": "[ascend] [drv_pcie] fault 40F84E00 on device 2",
    "ascend-link": "[ascend] [devdrv] fault 81078603 on device 2",
    "edac-uncorrected": "EDAC MC1: 1 UE memory read error on CPU_SrcID#1_Ch#0_DIMM#0 (channel:0)",
    "edac-corrected": "EDAC MC1: 4 CE memory read error on CPU_SrcID#1_Ch#0_DIMM#0 (channel:0)",
    "memory-failure": "Memory failure: 0x1234ab: recovery action for dirty LRU page: Recovered",
    "mce-uncorrected": "mce: Uncorrected hardware memory error in user-access at 1234ab000",
    "mce-reported": "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 5: bea0000000000108",
    "mce-deferred": "[Hardware Error]: Deferred error, no action required.",
    "bert-record": "[Hardware Error]: event severity: fatal",
    "ghes-fatal": "{1}[Hardware Error]: event severity: fatal",
    "ghes-recoverable": "{1}[Hardware Error]: event severity: recoverable",
    "mce-corrected": "mce: [Hardware Error]: Machine check events logged",
    "pcie-fatal": "pcieport 0000:40:01.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
    "pcie-nonfatal": "pcieport 0000:40:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:41:00.0",
    "pcie-corrected": "pcieport 0000:40:01.0: AER: Multiple Corrected error received: 0000:41:00.0",
    "pcie-recovery-failed": "pcieport 0000:40:01.0: AER: device recovery failed",
    "pcie-contained": "pcieport 0000:40:01.0: DPC: containment event, status:0x1f01 source:0x0000",
    "pcie-detail": "nvidia 0000:41:00.0:    [14] CmpltTO                (First)",
    "iommu-fault": "nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0021 address=0x7f00a000 flags=0x0030]",
    "pcie-inaccessible": "nvidia 0000:41:00.0: Unable to change power state from D3cold to D0, device inaccessible",
    "pcie-slot-down": "pcieport 0000:40:01.0: pciehp: Slot(1-2): Link Down",
    "nic-fatal": "mlx5_core 0000:1a:00.0: poll_health:999: device's health compromised - reached miss count",
    "nic-health-fatal": "mlx5_core 0000:1a:00.0: print_health_info:430:(pid 0): Health issue observed, HW fatal error",
    "nic-health": "mlx5_core 0000:1a:00.0: print_health_info:430:(pid 0): Health issue observed, EQ error, severity(3) ERROR:",
    "nic-command-timeout": "mlx5_core 0000:1a:00.0: wait_func:1000:(pid 7): MODIFY_QP(0x502) timeout. Will cause a leak of a command resource",
    "nic-firmware-dead": "bnxt_en 0000:1a:00.0 ens2f0np0: Firmware not responding, status: 0x8000",
    "nic-firmware-reset": "ionic 0000:1a:00.0: FW heartbeat stalled at 1846798",
    "nic-timeout": "mlx5_core 0000:1a:00.0 ens1np0: TX timeout detected",
    "nic-power": "mlx5_core 0000:1a:00.0: mlx5_pcie_event:299:(pid 1): Detected insufficient power on the PCIe slot (25W).",
    "nic-hot": "mlx5_core 0000:1a:00.0: Port module event[error]: module 1, Cable error, High Temperature",
    "nic-cable": "mlx5_core 0000:1a:00.0: Port module event: module 1, Cable unplugged",
    "nic-command": "mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:800:(pid 9): ACCESS_REG(0x805) op_mod(0x1) failed",
    "nic-link-down": "mlx5_core 0000:1a:00.0 ens1np0: Link down",
    "nic-link-up": "mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link ACTIVE",
    "nic-bond": "bond1: (slave ens1np0): link status definitely down, disabling slave",
    "pcie-limited": "pci 0000:1a:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at 0000:16:02.0 (capable of 252 Gb/s)",
    "pci-attached": "pci 0000:5d:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint",
    "nvme-removed": "nvme nvme3: Disabling device after reset failure: -19",
    "nvme-down": "nvme nvme3: I/O tag 12 (100c) opcode 0x1 (I/O Cmd) QID 4 timeout, reset controller",
    "disk-medium": "critical medium error, dev nvme3n1, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
    "disk-refused": "critical target error, dev sdc, sector 4096 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2",
    "disk-error": "blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ)",
    "filesystem-error": "EXT4-fs error (device sda2): ext4_lookup:1785: inode #2: comm ls: deleted inode referenced",
    "filesystem-stopped": "XFS (nvme1n1): Corruption of in-memory data detected.  Shutting down filesystem",
    "btrfs-stopped": "BTRFS info (device nvme3n1p1 state E): forced readonly",
    "btrfs-error": "BTRFS error (device nvme3n1p1): bdev /dev/nvme3n1p1 errs: wr 0, rd 3, flush 0, corrupt 0, gen 0",
    "raid-failed": "md/raid1:md0: Disk failure on sdb1, disabling device.",
    "hard-lockup": "BUG: unable to handle kernel NULL pointer dereference at 0000000000000008".replace("unable", "Unable"),
    "program-fault": "traps: train[990] general protection fault ip:402000 sp:7ffd00001000 error:0 in train[400000+9000]",
    "kernel-error": "SError Interrupt on CPU31, code 0x00000000be000000 -- SError",
    "soft-lockup": "watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python:99]",
    "hung-task": "INFO: task nvidia-smi:99 blocked for more than 120 seconds.",
    "oom-manual": "kworker/1:0 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0",
    "oom-cgroup": "Memory cgroup out of memory: Killed process 99 (python) total-vm:1kB, anon-rss:1kB",
    "oom": "Out of memory: Killed process 99 (python) total-vm:1kB, anon-rss:1kB",
    "oom-detail": "python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
    "file-limit": "VFS: file-max limit 9223 reached",
    "cpu-throttled": "mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 1)",
}


def events(*lines):
    return kernel_log.fold("\n".join(lines), 1764400000)[0]


def one(line, manufacturers=None):
    found = [classify(e, manufacturers) for e in events(line)]
    assert len(found) == 1, found
    return found[0]


def test_every_message_has_an_example():
    assert {entry["id"] for _has, _match, entry in catalog().messages} == set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_reader_keeps_and_the_catalog_knows_each_example(name):
    line = EXAMPLES[name]
    first = next(entry["id"] for has, match, entry in catalog().messages if any(text in line for text in has) and match(line))
    assert first == name
    slow = next(entry["id"] for _has, match, entry in catalog().messages if match(line))
    assert slow == name, "a text of has is not in every message that match takes"
    entry = next(e for _has, _match, e in catalog().messages if e["id"] == name)
    kept = events("[ 9000.500000] " + line)
    if entry["level"] != kernel_catalogue.QUIET or entry.get("role"):
        assert len(kept) == 1, "the reader drops it"
        assert classify(kept[0]).code == name


@pytest.mark.parametrize(
    "line",
    [
        "pciehp 0000:40:01.0:pcie004: Slot(6): Link Down",  # before Linux 5.0
        "pciehp 0000:40:01.0:pcie004: slot(6): Link Down event",
        "pcieport 0000:40:01.0: pciehp: Slot(6-1): Card not present",
    ],
)
def test_a_slot_that_lost_its_link_in_the_words_of_each_kernel(line):
    found = one("[ 9000.500000] " + line)
    assert (found.code, list(found.places)) == ("pcie-slot-down", ["0000:40:01.0"])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ionic 0000:c4:00.0 enp196s0: Link down", "nic-link-down"),
        ("hns3 0000:bd:00.1 eno2: link down", "nic-link-down"),
        ("mlx4_en: ens3: Link Down", "nic-link-down"),
        ("ice 0000:c4:00.0 ens9f1: NIC Link is Down", "nic-link-down"),
        ("mlx5_core 0000:1a:00.0: temp_warn:200:(pid 0): High temperature on sensors with bit set 0 2", "nic-hot"),
        ("mlx5_core 0000:1a:00.0: poll_health:800:(pid 0): Fatal error 3 detected", "nic-fatal"),
        ("mlx5_core 0000:1a:00.0: print_health_info:500:(pid 0): synd 0x1: firmware internal error", "nic-command-timeout"),
        ("mlx5_core 0000:1a:00.0: mlx5_health_try_recover:300:(pid 9): health recovery flow aborted, PCI reads still not working", "nic-fatal"),
        ("amdgpu 0000:05:00.0: amdgpu: MES(0) failed to respond to msg=REMOVE_QUEUE", "amd-mes"),
        ("amdgpu: qcm fence wait loop timeout expired", "amd-mes"),
        ("amdgpu 0000:05:00.0: The cp might be in an unrecoverable state due to an unsuccessful queues preemption", "amd-mes-unrecoverable"),
        ("amdgpu 0000:05:00.0: amdgpu: ASIC reset failed with error, -62 for drm dev, 0000:05:00.0", "amd-reset-attempt-failed"),
        ("amdgpu 0000:05:00.0: amdgpu: failed to reset legacy queue", "amd-ring-reset-failed"),
        ("amdgpu 0000:05:00.0: amdgpu: {12} socket: 0, die: 1, 2 new poison consumption detected in gfx block", "amd-poison"),
        ("amdgpu 0000:05:00.0: amdgpu: GPU reset begin!. Source:  3", "amd-reset"),
        ("xe 0000:4d:00.0: [drm] device wedged, needs recovery", "xe-wedged"),
        ("mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: be00000000000000", "mce-uncorrected"),
        ("mlx5_core 0000:1a:00.0: print_health_info:430:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:", "nic-health"),
        ("mlx5_core 0000:1a:00.0: print_health_info:430:(pid 0): Health issue observed, irisc not responding, severity(2) CRITICAL:", "nic-health-fatal"),
        ("mlx5_core 0000:1a:00.0: print_health_info:430:(pid 0): Health issue observed, High temprature, severity(3) ERROR:", "nic-hot"),
        ("ionic 0000:c4:00.0: DEVCMD IONIC_CMD_LIF_INIT (22) timeout after 10 secs", "nic-command-timeout"),
        ("XFS (nvme3n1): log I/O error -5", "filesystem-stopped"),
        ("XFS (dm-4): Metadata CRC error detected at xfs_agf_read_verify+0x9d/0x110 [xfs], xfs_agf block 0x8", "filesystem-stopped"),
        ("BTRFS: error (device dm-2) in btrfs_commit_transaction:2200: errno=-5 IO failure", "btrfs-stopped"),
        ("BTRFS critical (device sdc1): corrupt leaf: root=5 block=4096 slot=3", "btrfs-stopped"),
        ("BTRFS warning (device sdc1): checksum error at logical 8192 on dev /dev/sdc1", "btrfs-error"),
        ("Internal error: synchronous external abort: 0000000096000010 [#1] SMP", "kernel-error"),
        ("BUG: kernel NULL pointer dereference, address: 0000000000000018", "kernel-error"),
        ("BUG: unable to handle page fault for address: ffffa00000001000", "hard-lockup"),
        ("general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] SMP NOPTI", "hard-lockup"),
        ("rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 9-.... }", "soft-lockup"),
    ],
)
def test_one_fault_in_the_words_of_each_driver_and_kernel(line, code):
    assert one("[ 9000.500000] " + line).code == code


@pytest.mark.parametrize(
    "line",
    [
        # A program that crashed, a request that the drive does not know, and what concerns no drive of the node.
        "traps: pt main thread[990] general protection fault ip:402000 sp:7ffd00001000 error:0 in python3.12[400000+9000]",
        "critical target error, dev nvme3n1, sector 0 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 0",
        "blk_update_request: critical target error, dev sdc, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
        "BTRFS info (device sdc1): bdev /dev/sdc1 errs: wr 4, rd 0, flush 0, corrupt 0, gen 0",
        "BTRFS error (device loop4): bdev /dev/loop4 errs: wr 0, rd 3, flush 0, corrupt 0, gen 0",
        "XFS (sdc1): Internal error: none",
        "ionic 0000:c4:00.0 enp196s0: Link up - 400 Gbps",
    ],
)
def test_what_ordinary_nodes_say_is_no_error(line):
    assert [e.code for e in assess(events(line)) if e.severity != kernel_catalogue.QUIET] == []


def test_an_error_that_the_firmware_kept_from_before_the_start_condemns_nothing():
    said = [classify(e) for e in events("[ 2.5] [Hardware Error]: event severity: fatal", "[ 2.5] [Hardware Error]:  Error 0, type: fatal")]
    assert {(e.code, e.severity) for e in said} == {("bert-record", "info")}
    assert one("[ 900.5] {4}[Hardware Error]:  Error 0, type: fatal").severity == "fail"


def test_catalogs_are_whole():
    known = catalog()
    levels = ("info", "warn", "fail")
    for kind, codes in known.codes.items():
        for code, entry in codes.items():
            assert entry["source"] in known.sources, (kind, code)
            assert entry["action"] in known.actions, (kind, code)
            assert entry["summary"] and entry["name"], (kind, code)
            assert ("level" in entry) == ("why" in entry) and entry.get("level", "info") in levels, (kind, code)
    for action in known.actions.values():
        assert action["level"] in levels and action["words"]
    ids = [entry["id"] for _has, _match, entry in known.messages]
    assert len(ids) == len(set(ids))
    for _has, _match, entry in known.messages:
        assert entry["level"] in (*levels, "quiet", "counted")
        assert entry["domain"] in kernel_catalogue.DOMAINS
        assert entry["source"] in known.sources
        assert entry["level"] == "quiet" or (entry["summary"] and entry["action"])


def test_every_xid_of_the_catalog_once():
    entries = kernel_catalogue._load("kernel_events.yml")
    for kind in ("xid", "sxid", "ppu"):
        codes = [code for entry in entries[kind] for code in spread(entry["code"])]
        assert len(codes) == len(set(codes)), kind
    assert set(catalog().codes["xid"]) == {str(n) for n in range(1, 173)}


@pytest.mark.parametrize(
    ("code", "level", "action"),
    [
        (13, "info", "restart the application"),
        (31, "info", "restart the application"),
        (43, "info", "no action"),
        (45, "info", "follow the error before it; alone, restart Fabric Manager"),
        (48, "fail", "reset the GPU; replace it when memory cannot be remapped or the SRAM threshold is exceeded"),
        (62, "fail", "reset the GPU"),
        (63, "info", "no action"),
        (64, "fail", "reset the GPU"),
        (68, "info", "restart the application"),
        (74, "warn", "find the failing link"),
        (79, "fail", "restart the machine"),
        (92, "warn", "no action"),
        (94, "info", "restart the application"),
        (95, "fail", "reset the GPU"),
        (109, "fail", "reset the GPU"),
        (119, "fail", "reset the GPU"),
        (142, "warn", "contact the manufacturer"),
        (158, "fail", "reset the GPU"),
        (999, "warn", "find out what this code means"),
    ],
)
def test_xid(code, level, action):
    found = one("[12.5] NVRM: Xid (PCI:0000:5e:00): %d, pid=9, name=python, text" % code)
    assert (found.kind, found.code, found.severity, found.action) == ("xid", str(code), level, action)
    assert (found.address, found.places) == ("0000:5e:00.0", {"0000:5e:00.0": 1})
    assert (found.manufacturer, found.domain) == ("nvidia", "accelerator")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("74, pid=9, name=p, NVLink: fatal error detected on link 2(0x0)", "fail"),
        ("149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 02 (0x004545c6 0x00000000)", "fail"),
        ("145, RLW_RXPIPE Nonfatal XC0 i0 Link 02 (0x004545c6 0x00000000)", "warn"),
        ("150, something else", "warn"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "fail"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "fail"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", "fail"),
        ("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "info"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x9 (Something New)", "warn"),
        ("154 (", "warn"),
    ],
)
def test_the_text_of_an_xid_decides(text, level):
    assert one("NVRM: Xid (PCI:0008:01:00): " + text).severity == level


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: GPU at PCI:0000:66:00: GPU-00000000-1111-2222-3333-444444444444",
        "NVRM: Xid : 79, pid=9",
        "NVRM: Xid (PCI:0000:66:00): abc, pid=9",
        "NVRM: Xid (PCI:0000:66:00): 7999999, pid=9",
        "systemd[1]: message about NVRM: Xid (PCI:0000:66:00): 79, pid=9",
        "nvidia-nvswitch0: SXid (invalid): 20034, Fatal, error",
        "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): xyz, Fatal error",
        "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {0x50610002, 0x10100030}",
        "amdgpu 0000:05:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
    ],
)
def test_look_alikes_mean_nothing(line):
    assert assess(events(line)) == []


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("20034, Fatal, Link 30 LTSSM Fault Up", "fail"),
        ("20034, Non-fatal, Link 30 LTSSM Fault Up", "warn"),
        ("12028, Non-fatal, Link 32 egress non-posted PRIV error", "warn"),
        ("11012, Non-fatal, Link 1 single bit", "info"),
        ("19084, Non-fatal, Link 29 AN1 Heartbeat Timeout Error (First)", "fail"),
        ("23006, Fatal, Link 1 sticky", "fail"),
        ("99999, Fatal, Link 1 new", "fail"),
        ("99999, Non-fatal, Link 1 new", "warn"),
    ],
)
def test_sxid(text, level):
    found = one("nvidia-nvswitch2: SXid (PCI:0000:c4:00.0): " + text)
    assert (found.kind, found.severity, found.places) == ("sxid", level, {"0000:c4:00.0": 1})


@pytest.mark.parametrize(("code", "level"), [(384, "fail"), (16257, "fail"), (4480, "fail"), (642, "warn"), (16258, "info"), (2688, "info"), (77777, "warn")])
def test_ppu_xid(code, level):
    found = one("[alixpu] ppuid:3 XID (PCI:0000:0a:00): %d, text" % code)
    assert (found.kind, found.manufacturer, found.code, found.severity) == ("ppu", "thead", str(code), level)


def test_a_reset_that_succeeded_is_a_warning_and_one_that_did_not_is_a_failure():
    begin = "[%d.5] amdgpu 0000:05:00.0: amdgpu: GPU reset begin!"
    done = "[%d.5] amdgpu 0000:%s:00.0: amdgpu: GPU reset(1) succeeded!"
    hang = "[%d.5] amdgpu 0000:05:00.0: amdgpu: MES might be in unrecoverable state, issue a GPU reset"
    said = [(e.code, e.severity) for e in assess(events(hang % 9, begin % 10, done % (12, "05")))]
    assert said == [("amd-mes-unrecoverable", "warn"), ("amd-reset", "warn")]
    small = "[%d.5] amdgpu 0000:05:00.0: amdgpu: GPU mode2 reset failed"
    assert [e.severity for e in assess(events(small % 10, done % (12, "05")))] == ["warn"]
    assert [e.severity for e in assess(events(small % 10, done % (8, "05")))] == ["fail"]
    assert [e.severity for e in assess(events(begin % 10))] == ["fail"]
    assert [e.severity for e in assess(events(begin % 10, done % (12, "15")))] == ["fail"]
    assert [e.severity for e in assess(events(begin % 10, done % (12, "05"), begin % 20))] == ["fail"]


def test_a_recovery_action_that_was_taken_back():
    asked = "[%d.5] NVRM: Xid (PCI:0000:5e:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    back = "[%d.5] NVRM: Xid (PCI:0000:5e:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    assert [e.severity for e in assess(events(asked % 10, back % 20))] == ["info", "info"]
    assert sorted(e.severity for e in assess(events(back % 10, asked % 20))) == ["fail", "info"]


def test_a_sleeping_gpu_that_answers_its_usual_number_is_suspicious():
    found = one("amdgpu 0000:05:00.0: 2097120 uncorrectable hardware errors detected in umc block")
    assert (found.severity, found.role) == ("warn", "suspicious")
    assert one("amdgpu 0000:05:00.0: 2097121 uncorrectable hardware errors detected in umc block").severity == "fail"


def test_a_link_that_flaps():
    down, up, port = ("[%%d.%%d] mlx5_core 0000:1a:00.0 %s" % t for t in ("ens1np0: Link down", "ens1np0: Link up", "mlx5_0: Port: 1 Link DOWN"))
    found = assess(events(down % (10, 1), up % (20, 1), down % (30, 1), port % (30, 2), up % (40, 1), down % (40, 9)))
    assert [(e.code, e.count, e.severity) for e in found] == [("nic-link-down", 3, "counted")]
    assert found[0].summary.endswith("it is down now")
    assert assess(events(down % (10, 1), up % (20, 1)))[0].summary.endswith("it is up now")


def test_an_error_of_a_manufacturer_without_accelerators_never_rejects():
    line = "NVRM: Xid (PCI:0000:5e:00): 79, pid=9, name=python, GPU has fallen off the bus."
    assert one(line, {"nvidia"}).severity == "fail"
    assert one(line, None).severity == "fail"
    assert one(line, {"amd"}).severity == "warn"


def test_what_was_before_this_boot_is_left_out():
    line = "2025-11-%02dT12:00:00+00:00 node01 kernel: NVRM: Xid (PCI:0000:5e:00): 79, pid=9"
    old, new = events(line % 20)[0], events(line % 29)[0]
    assert assess([old], boot_time="2025-11-29T07:06:40Z") == []
    assert len(assess([new], boot_time="2025-11-29T07:06:40Z")) == 1
    assert len(assess([old])) == 1
    assert len(assess([old], boot_time={"unknown": "x"})) == 1


def test_a_maker_without_a_list_is_shown_and_never_judged():
    found = one("[mtgpu] device 0: firmware error 5")
    assert (found.manufacturer, found.severity, found.kind) == ("mthreads", "info", "unlisted")


@pytest.mark.parametrize(
    "event",
    [
        None,
        5,
        {},
        {"sample": 5},
        {"sample": "NVRM: Xid (PCI:0000:5e:00): 79", "count": "many", "places": [], "addresses": 3, "first": [], "last": {}},
        {"sample": "EDAC MC0: 1 UE x", "amount": {"sum": "x", "largest": None}, "count": -5, "places": {"a": "b"}},
        {"sample": "xid alixpu " * 5000},
        {"template": "amdgpu" * 5000 + "timeout"},
    ],
)
def test_garbage_never_raises(event):
    classify(event)
    assess([event, event], {"nvidia"}, "x")
    assess(event)


def test_the_page_is_current(root):
    done = subprocess.run([sys.executable, str(root / "tools" / "generate_kernel_events.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
