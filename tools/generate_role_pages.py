# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes every role's README.md from its meta/argument_specs.yml. --check only compares."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
_MARKUP = re.compile(r"\b(?:[OVCM]\(([^)]*)\)|P\(([^)#]*)[^)]*\))")


def text(value):
    sentences = value if isinstance(value, list) else [value]
    return _MARKUP.sub(lambda found: "`%s`" % (found.group(1) or found.group(2)), " ".join(str(s) for s in sentences)).replace("|", "\\|")


def table(spec):
    lines = ["| Variable | Type | Default | Meaning |", "|---|---|---|---|"]
    for name, option in spec.get("options", {}).items():
        default = option.get("default", "")
        default = str(default).lower() if isinstance(default, bool) else default
        shown = "required" if option.get("required") else f"`{default}`" if default != "" else ""
        lines.append(f"| `{name}` | {option['type']} | {shown} | {text(option['description'])} |")
    return lines


def page(role):
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    spec = specs.pop("main")
    lines = [f"# Role {role.name}", "", *(text(sentence) for sentence in spec["description"]), "", *table(spec)]
    lines += [
        "", "The playbooks of the collection set these from the `accelerator_*` variables of the inventory (docs/usage.md).", "",
        "```yaml", "- name: An example", "  hosts: accelerator_nodes", "  gather_facts: false", "  tasks:", f"    - name: Use the role {role.name}",
        "      ansible.builtin.import_role:", f"        name: fleetproof.accelerator.{role.name}", "```", "",
    ]  # fmt: skip
    for entry, other in specs.items():
        lines += [f"## Entry point {entry}", "", *(text(sentence) for sentence in other["description"]), "", *table(other), ""]
        lines += [
            "```yaml", "- name: An example without a run directory", "  hosts: accelerator_nodes", "  gather_facts: false", "  tasks:",
            f"    - name: Use the role {role.name}", "      ansible.builtin.import_role:", f"        name: fleetproof.accelerator.{role.name}",
            f"        tasks_from: {entry}", "```", "",
        ]  # fmt: skip
    return "\n".join(lines)


def main():
    stale = []
    for role in sorted(p.parent.parent for p in ROOT.glob("roles/*/meta/argument_specs.yml")):
        target = role / "README.md"
        wanted = page(role)
        if "--check" not in sys.argv:
            target.write_text(wanted, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != wanted:
            stale.append(str(target.relative_to(ROOT)))
    if stale:
        sys.exit("not current, run make docs: " + ", ".join(stale))


if __name__ == "__main__":
    main()
