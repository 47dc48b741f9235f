# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make demo: the recorded fleet of inventories/demo, held against its manifest of planted faults."""

from __future__ import annotations

import sys

import playbook
import yaml


def main():
    options = playbook.arguments(__doc__, inventory="inventories/demo")
    manifest = yaml.safe_load((playbook.ROOT / "inventories" / "demo" / "manifest.yml").read_text(encoding="utf-8"))
    fleet, report = playbook.run("preflight", options.inventory, options.run_root, options.extra)
    playbook.show("The recorded demo fleet, with planted faults", fleet, report)
    found = {entry["node"]: entry["verdict"] for entry in fleet["verdicts"]}
    planted = {node: entry["verdict"] for node, entry in manifest["nodes"].items()}
    differ = [node for node in sorted(set(found) | set(planted)) if found.get(node) != planted.get(node)]
    wrong = [f"{node}: planted {planted.get(node)}, found {found.get(node)}" for node in differ]
    if wrong:
        sys.exit("demo: the verdicts differ from inventories/demo/manifest.yml: " + "; ".join(wrong))
    print(f"demo: the verdicts of all {len(found)} nodes equal the planted ones")


if __name__ == "__main__":
    main()
