# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Version of the baseboard management controller: from the kernel's IPMI driver, else ipmitool."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

# drivers/char/ipmi/ipmi_msghandler.c: attribute of the bmc device of an interface.
REVISION = "/sys/class/ipmi/ipmi0/device/bmc/firmware_revision"
DEVICE = "/dev/ipmi0"
COMMAND = ["ipmitool", "mc", "info"]
_VERSION = re.compile(r"\d+\.[0-9A-Fa-f]+\Z")
_LINE = re.compile(r"Firmware Revision +: *(\S+)\s*\Z")


def parse(text):
    found = next((m.group(1) for m in (_LINE.match(line) for line in text.splitlines()) if m), "")
    return found if _VERSION.match(found) else unknown("ipmitool mc info: no firmware revision")


def read(host):
    """{version}."""
    answer = host.read_line(REVISION)
    if answer.ok and _VERSION.match(answer.value):
        return {"version": answer.value}
    device = host.exists(DEVICE)
    if not device.ok:
        return {"version": unknown(device.reason)}
    if not device.value:
        return {"version": unknown("no %s: no BMC, or its kernel driver is not loaded" % DEVICE)}
    info = host.run(COMMAND, timeout=5)
    if info.succeeded:
        return {"version": parse(info.stdout)}
    return {"version": unknown("ipmitool: not installed" if info.status == ABSENT else info.reason)}
