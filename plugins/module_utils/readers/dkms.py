# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that DKMS builds, and for which kernels it did."""

from __future__ import annotations

import re

DKMS = "/var/lib/dkms"
_KERNEL = re.compile(r"\d+\.\d+[\w.+~-]*\Z")


def read(host, names):
    """[{module, version, kernels: [those it was built for]}] from DKMS's own tree (dkms(8), /var/lib/dkms)."""
    found = []
    for name in names[:40]:
        versions = host.listdir("%s/%s" % (DKMS, name))
        for version in sorted(versions.value or ())[:10]:
            if version in ("original_module", "kernel") or version.startswith("kernel-"):
                continue
            built = host.listdir("%s/%s/%s" % (DKMS, name, version))
            if built.ok:
                found.append({"module": name, "version": version, "kernels": sorted(k for k in built.value if _KERNEL.match(k))})
    return found
