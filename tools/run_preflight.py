# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make preflight: the preflight of this machine, or of INVENTORY."""

from __future__ import annotations

import playbook


def main():
    options = playbook.arguments(__doc__, inventory="inventories/localhost")
    variables = {}
    if options.inventory == "inventories/localhost" and accelerators_here():
        variables["accelerator_expected_count"] = None  # the inventory says 0, for a machine without any
    fleet, report = playbook.run("preflight", options.inventory, options.run_root, options.extra, variables)
    playbook.show("Preflight of " + options.inventory, fleet, report)


def accelerators_here():
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci

    host = LiveHost(deadline=20)
    try:
        return sum(pci.scan(host)["counts"].values())
    finally:
        host.close()


if __name__ == "__main__":
    main()
