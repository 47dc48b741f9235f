# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With what the running kernel was built that moves data between devices without the host's memory."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

# Linux drivers/gpu/drm/amd/amdkfd/Kconfig, HSA_AMD_P2P: both; ROCm, hipFile, "kernel P2PDMA support": the first, and where a kernel's options lie.
OPTIONS = {"p2pdma": "CONFIG_PCI_P2PDMA", "dmabuf_move_notify": "CONFIG_DMABUF_MOVE_NOTIFY"}
PLACES = ("/boot/config-%s", "/lib/modules/%s/config", "/lib/modules/%s/build/.config")
PACKED = "/proc/config.gz"
_SECONDS = 5


def asked(path):
    """The question: a whole configuration is long, and two lines of it are wanted."""
    return ["zgrep" if path == PACKED else "grep", "-E", "^(%s)=" % "|".join(OPTIONS.values()), path]


def read(host, release):
    """{option: bool}, asked only where a driver of AMD is loaded."""
    driver = host.exists("/sys/module/amdgpu")
    if not driver.ok:
        return unknown(driver.reason)
    if not driver.value:
        return not_applicable("no driver that asks for it is loaded")
    if not release:
        return unknown("the running kernel is not known")
    for path in [place % release for place in PLACES] + [PACKED]:
        there = host.exists(path)
        if not there.ok:
            return unknown(there.reason)
        if there.value:
            command = host.run(asked(path), timeout=_SECONDS)
            if not command.ok or command.rc not in (0, 1):  # 1: no such line
                return unknown(command.reason or "%s: could not be read" % path)
            words = {line.partition("=")[0] for line in command.stdout.splitlines() if line.endswith(("=y", "=m"))}
            return {name: option in words for name, option in OPTIONS.items()}
    return unknown("the options of kernel %s are in none of the usual places" % release)
