# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The accelerators that lspci names without their ids, as the scan of PCI finds them in the tree that lspci read."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci


def accelerators(text, manufacturer, vendor, device):
    """Entries of the scan; vendor and device: the ids behind the names in the text. With -PP the last address of a path is the function's own."""
    files, names, base = {}, [], ""
    for line in text.splitlines():
        found = re.match(r"(?:\S+/)?((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) Processing accelerators: ", line)
        driver = re.match(r"\s+Kernel driver in use: (\S+)", line)
        if found:
            names.append(found.group(1) if found.group(1).count(":") == 2 else "0000:" + found.group(1))
            base = "%s/%s" % (pci.DEVICES, names[-1])
            files.update({base + "/" + key: {"absent": True} for key in ("driver", "physfn", "subsystem_vendor", "subsystem_device")})
            files.update({base: {"dir": ["vendor", "device", "class", "driver"]}, base + "/class": "0x120000", base + "/revision": "0x00"})
            files.update({base + "/vendor": "0x" + vendor, base + "/device": "0x" + device})
        elif driver:
            files[base + "/driver"] = {"link": "../../../bus/pci/drivers/" + driver.group(1)}
    files[pci.DEVICES] = {"dir": names}
    document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": []}
    section = pci.scan(ReplayHost(document), manufacturers=(manufacturer,))
    assert section["scan"]["status"] == "ok"
    return pci.accelerators(section, manufacturer)
