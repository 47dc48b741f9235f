# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machine, board and firmware from /sys/class/dmi/id (SMBIOS), else the device tree; the BMC from the IPMI driver, else ipmitool.

Serial numbers need root.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, unknown

DMI = "/sys/class/dmi/id"
TREE = "/proc/device-tree"

# drivers/char/ipmi/ipmi_msghandler.c: attribute of the bmc device of an interface.
BMC_REVISION = "/sys/class/ipmi/ipmi0/device/bmc/firmware_revision"
BMC_DEVICE = "/dev/ipmi0"
BMC_COMMAND = ["ipmitool", "mc", "info"]
_BMC_VERSION = re.compile(r"\d+\.[0-9A-Fa-f]+\Z")
_BMC_LINE = re.compile(r"Firmware Revision +: *(\S+)\s*\Z")

# What firmware ships where nobody filled in a value.
_PLACEHOLDER = re.compile(
    r"(?:to be filled.*|default( string)?|(not )?(specified|provided|available|applicable|defined|present|set)|none|n/?a|null|unknown|undefined|invalid|empty"
    r"|o\.?e\.?m\.?|(system|chassis|board|base ?board|mb|product)[ -]?(serial( number)?|manufacturer|product name|name|version|sku( number)?|family)"
    r"|sku( number)?|serial( number)?|type\dproductconfigid|asset.*|0?123456789.*|x{3,}|[0x.:\s*?-]*|f{6,})\Z",
    re.IGNORECASE,
)
_FIELDS = {
    "system": {"vendor": "sys_vendor", "product": "product_name", "serial": "product_serial", "sku": "product_sku", "family": "product_family"},
    "board": {"vendor": "board_vendor", "product": "board_name", "version": "board_version", "serial": "board_serial"},
    "bios": {"vendor": "bios_vendor", "version": "bios_version", "date": "bios_date"},
}


def clean(text, where):
    """A firmware text as a fact; placeholders are unknown."""
    words = " ".join(text.replace("\0", " ").split())
    if not words:
        return unknown("%s: empty" % where)
    if _PLACEHOLDER.match(words):
        return unknown("%s: placeholder %r" % (where, words[:60]))
    return words[:200]


def _field(host, path):
    answer = host.read_text(path, 4096)
    return clean(answer.value, path) if answer.ok else unknown(answer.reason)


def read(host):
    """{system, board, bios}."""
    facts = {group: {key: _field(host, "%s/%s" % (DMI, name)) for key, name in fields.items()} for group, fields in _FIELDS.items()}
    if not is_known(facts["system"]["product"]) and host.exists(DMI).value is False:
        # Machines without SMBIOS (POWER, Arm boards): the flattened device tree's root node.
        for key, name in (("product", "model"), ("serial", "serial-number"), ("serial", "system-id")):
            answer = host.read_text("%s/%s" % (TREE, name), 4096)
            if answer.status != ABSENT and not is_known(facts["system"][key]):
                facts["system"][key] = clean(answer.value, "%s/%s" % (TREE, name)) if answer.ok else unknown(answer.reason)
    return facts


def _bmc_parse(text):
    found = next((m.group(1) for m in (_BMC_LINE.match(line) for line in text.splitlines()) if m), "")
    return found if _BMC_VERSION.match(found) else unknown("ipmitool mc info: no firmware revision")


def bmc(host):
    """{version}."""
    answer = host.read_line(BMC_REVISION)
    if answer.ok and _BMC_VERSION.match(answer.value):
        return {"version": answer.value}
    device = host.exists(BMC_DEVICE)
    if not device.ok:
        return {"version": unknown(device.reason)}
    if not device.value:
        return {"version": unknown("no %s: no BMC, or its kernel driver is not loaded" % BMC_DEVICE)}
    info = host.run(BMC_COMMAND, timeout=5)
    if info.succeeded:
        return {"version": _bmc_parse(info.stdout)}
    return {"version": unknown("ipmitool: not installed" if info.status == ABSENT else info.reason)}
