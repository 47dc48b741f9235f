# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SELinux, secure boot, and whether this is a virtual machine."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.cpu import fields
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, known, not_applicable, unknown

# The EFI global variable: four bytes of attributes, then the value (UEFI specification, 3.3 Globally Defined Variables).
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

# DMI texts of hypervisors: systemd src/basic/virt.c, detect_vm_dmi_vendor().
_HYPERVISORS = {
    "kvm": r"kvm|openstack|kubevirt",
    "amazon": "amazon ec2",
    "qemu": "qemu",
    "vmware": "vmware",
    "virtualbox": "innotek gmbh|virtualbox",
    "xen": "xen",
    "bochs": "bochs",
    "parallels": "parallels",
    "bhyve": "bhyve",
    "microsoft": "hyper-v|virtual machine",
    "apple": "apple virtualization",
    "google": "google compute engine",
    "alibaba": "alibaba cloud ecs",
}


def selinux(host):
    answer = host.read_line("/sys/fs/selinux/enforce")
    if answer.status == ABSENT:
        return "disabled"
    return from_answer(answer, {"1": "enforcing", "0": "permissive"}.__getitem__)


def secure_boot(host):
    answer = host.read_bytes(SECURE_BOOT, 16)
    if answer.ok:
        return from_answer(answer, lambda data: {0: "disabled", 1: "enabled"}[data[4]])
    if answer.status != ABSENT:
        return unknown(answer.reason)
    efi = host.exists("/sys/firmware/efi")
    if not efi.ok:
        return unknown(efi.reason)
    if not efi.value:
        return not_applicable("not booted by UEFI")
    variables = host.listdir("/sys/firmware/efi/efivars")
    if variables.ok and variables.value:
        return not_applicable("this firmware has no secure boot")
    return unknown("the EFI variables are not mounted" if variables.ok or variables.status == ABSENT else variables.reason)


def _by_name(system, bios):
    texts = " ".join(str(known(v, "")) for v in (system["vendor"], system["product"], bios["vendor"])).lower()
    if "metal" in str(known(system["product"], "")).lower():  # Amazon's and others' whole machines carry the cloud's name
        return None
    return next((name for name, words in _HYPERVISORS.items() if re.search(r"\b(?:%s)\b" % words, texts)), None)


def virtualization(host, dmi, cpuinfo):
    """ "none", or the hypervisor. x86 guests are told by a processor flag; others, as systemd-detect-virt does, by firmware names."""
    named = _by_name(dmi["system"], dmi["bios"])
    xen = host.read_line("/sys/hypervisor/type")
    if xen.ok and xen.value:
        return xen.value
    tree = host.read_text("/proc/device-tree/hypervisor/compatible", 4096)
    if tree.ok:
        return "kvm" if "kvm" in tree.value else tree.value.replace("\0", " ").split(",")[0].strip() or "hypervisor"
    if not cpuinfo.ok:
        return named or unknown(cpuinfo.reason)
    flags = fields(cpuinfo.value).get("flags")
    if flags is not None:
        return (named or "hypervisor") if "hypervisor" in flags.split() else "none"
    if named or is_known(dmi["system"]["vendor"]):
        return named or "none"
    return unknown("no processor flag and no firmware name tells")
