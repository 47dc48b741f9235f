# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `hardware`: memory modules, processors' settings, error counters, TPM. The BMC is asked in bmc.py."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, not_applicable, unknown

CPU = "/sys/devices/system/cpu"
EDAC = "/sys/devices/system/edac/mc"
SMBIOS = "/sys/firmware/dmi/tables/DMI"
TPM = "/sys/class/tpm"
RAS = "/var/lib/rasdaemon/ras-mc_event.db"
MEASURED = "/sys/kernel/security/tpm0/binary_bios_measurements"


def none(answer, why):
    """What an answer without a value is as a fact: it does not arise where nothing is there."""
    return not_applicable(why) if answer.status == ABSENT else unknown(answer.reason)


def fact(host, path, convert=None, absent=None):
    """A one-line file as a fact; absent: why the question does not arise where there is no such file."""
    answer = host.read_line(path)
    if answer.status == ABSENT and absent is not None:
        return not_applicable(absent)
    return from_answer(answer, convert)


def integer(text):
    """int() takes a number of any length, which is garbage."""
    if not re.match(r"-?[0-9]{1,20}\Z", text):
        raise ValueError(text)
    return int(text)


def modules(host):
    answer = host.read_bytes(SMBIOS)
    if not answer.ok:
        return none(answer, "no SMBIOS table")
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import smbios  # only where there is a table

    return smbios.memory(answer.value)


def _idle(host):
    listing = host.listdir(CPU + "/cpu0/cpuidle")
    if not listing.ok:
        return none(listing, "no idle states")
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cpu_idle  # only where a processor idles

    return cpu_idle.read(host, listing.value)


def _throttles(host):
    first = host.read_line(CPU + "/cpu0/thermal_throttle/package_throttle_count")
    if not first.ok:
        return none(first, "not counted on this processor")
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cpu_throttles  # only where they are counted

    return cpu_throttles.read(host)


def processors(host):
    """{governors: {name: number}, driver, boost, preference, idle_states, vulnerable: [name], package_throttles}."""
    listing = host.listdir(CPU + "/cpufreq")
    policies = sorted(n for n in listing.value if n.startswith("policy")) if listing.ok else []
    names = ("governors", "driver", "preference", "boost")
    if policies:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cpu_frequency  # only where it is scaled

        facts = cpu_frequency.read(host, policies)
    elif listing.ok or listing.status == ABSENT:
        facts = dict.fromkeys(names, not_applicable("no frequency scaling: the firmware or the hypervisor keeps it"))
    else:
        facts = dict.fromkeys(names, unknown(listing.reason))
    facts["idle_driver"] = fact(host, CPU + "/cpuidle/current_driver", None, "no idle driver")
    facts["idle_states"] = _idle(host)
    names = host.listdir(CPU + "/vulnerabilities")
    if names.ok:
        told = {name: host.read_line("%s/vulnerabilities/%s" % (CPU, name)) for name in sorted(names.value)}
        facts["vulnerable"] = [name for name, answer in told.items() if answer.ok and answer.value.startswith("Vulnerable")]
    else:
        facts["vulnerable"] = none(names, "kernel without mitigations")
    facts["package_throttles"] = _throttles(host)
    return facts


def microcode(host):
    """{version: number of processors}."""
    answer = host.read_text("/proc/cpuinfo")
    told = re.findall(r"^microcode\s*: *(\S+)", answer.value, re.M) if answer.ok else []
    none = not_applicable("this processor tells none") if answer.ok else unknown(answer.reason)
    return {version: told.count(version) for version in sorted(set(told))[:9]} or none


def corrupted(host):
    """Memory that the kernel took out of use after an error, KiB."""
    answer = host.read_text("/proc/meminfo")
    found = re.search(r"^HardwareCorrupted: +(\d{1,15}) kB$", answer.value, re.M) if answer.ok else None
    return int(found.group(1)) if found else not_applicable("kernel without memory failure handling") if answer.ok else unknown(answer.reason)


def memory_errors(host):
    """As edac_places.py tells it; unknown where no controller does."""
    listing = host.listdir(EDAC)
    if not listing.ok and listing.status != ABSENT:
        return unknown(listing.reason)
    names = sorted(n for n in listing.value or () if re.match(r"mc\d+\Z", n))
    if not names:
        return unknown("no memory controller in %s: its driver is not loaded, or the firmware keeps the counters" % EDAC)
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import edac_places  # only where there are controllers

    return edac_places.totals(host, names)


def tpm(host):
    listing = host.listdir(TPM)
    names = sorted(n for n in listing.value or () if n.startswith("tpm")) if listing.ok else []
    if not names:
        return not_applicable("no TPM") if listing.ok or listing.status == ABSENT else unknown(listing.reason)
    measured = host.exists(MEASURED)
    version = fact(host, "%s/%s/tpm_version_major" % (TPM, names[0]), integer)
    return {"version": version, "measured_boot": measured.value if measured.ok else unknown(measured.reason)}


def recorded(host):
    kept = host.exists(RAS)
    if not kept.ok or not kept.value:
        return not_applicable("rasdaemon has kept nothing") if kept.ok else unknown(kept.reason)
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import rasdaemon  # only where it ran

    return rasdaemon.read(host)


def machine_checks(host):
    uname = host.uname()
    if uname.ok and not re.match(r"x86_64|i\d86", str(uname.value.get("machine"))):
        return not_applicable("only x86 counts machine checks")
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import machine_checks as counted  # only on x86

    return counted.read(host)


def collect(host, ask_bmc):
    section = {
        "memory_modules": modules(host),
        "processors": processors(host),
        "memory_errors": memory_errors(host),
        "corrupted_kib": corrupted(host),
        "microcode": microcode(host),
        "recorded_errors": recorded(host),
        "machine_checks": machine_checks(host),
        "tpm": tpm(host),
    }
    reason, device = not_applicable("the BMC is not to be asked"), host.exists("/dev/ipmi0") if ask_bmc else None
    if device and not (device.ok and device.value):
        reason = unknown("no /dev/ipmi0: no BMC, or its kernel driver is not loaded" if device.ok else device.reason)
    elif device:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import bmc  # only where there is one

        return dict(section, **bmc.read(host))
    return dict(section, **dict.fromkeys(("sensors", "event_log", "bmc_network"), reason))
