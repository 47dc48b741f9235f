# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay out a new manufacturer: its data, its reader, its module, its role and a unit test, ready to be filled (docs/adding-a-manufacturer.md).

python tools/new_manufacturer.py NAME [--title "As people write it"] [--vendor 1abc] [--tool vendor-smi]

Files that are there are kept as they are. Afterwards `make docs` registers it.
"""

from __future__ import annotations

import argparse
import keyword
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATES = pathlib.Path(__file__).resolve().parent / "manufacturer_template"
LICENSE = (
    "# Copyright (c) 2026 Fleetproof maintainers\n"
    "# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)\n"
    "# SPDX-License-Identifier: GPL-3.0-or-later\n"
)
FILES = {
    "data.yml.in": (LICENSE, "plugins/plugin_utils/data/manufacturers/@NAME@.yml"),
    "reader.py.in": (LICENSE, "plugins/module_utils/manufacturers/@NAME@.py"),
    "module.py.in": ("#!/usr/bin/python\n" + LICENSE, "plugins/modules/@NAME@_info.py"),
    "role_tasks.yml.in": ("", "roles/@NAME@/tasks/main.yml"),
    "role_health.yml.in": ("", "roles/@NAME@/tasks/health.yml"),
    "role_defaults.yml.in": ("", "roles/@NAME@/defaults/main.yml"),
    "role_meta.yml.in": ("", "roles/@NAME@/meta/argument_specs.yml"),
    "test.py.in": (LICENSE, "tests/unit/test_@NAME@.py"),
}


def mistakes(name, title, vendor, tool):
    """What is wrong with these, each with what was found and what is allowed."""
    told = []
    for what, value, pattern, allowed in (
        ("NAME", name, r"[a-z][a-z0-9]{1,19}", "2 to 20 lower-case letters and digits"),
        ("TITLE", title, r"[A-Za-z][A-Za-z0-9 .-]{0,39}", "letters, digits, blanks, dots and dashes"),
        ("VENDOR", vendor, r"(?:[0-9a-f]{4})?", "four lower-case hexadecimal digits, the vendor id on PCI"),
        ("TOOL", tool, r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", "the name of a program"),
    ):
        if not re.fullmatch(pattern, value):
            told.append("%s: found %r, allowed: %s" % (what, value, allowed))
    if keyword.iskeyword(name):
        told.append("NAME: found %r, allowed: no word of Python" % name)
    taken = [place.replace("@NAME@", name) for _head, place in FILES.values() if not told and (ROOT / place.replace("@NAME@", name)).exists()]
    if taken and "plugins/plugin_utils/data/manufacturers/%s.yml" % name not in taken:
        told.append("NAME: found %r, allowed: a name that nothing else has: %s" % (name, taken[0]))
    for path in sorted((ROOT / "plugins" / "plugin_utils" / "data" / "manufacturers").glob("*.yml")):
        vendors = [item["value"] for item in yaml.safe_load(path.read_text(encoding="utf-8"))["vendors"]]
        if vendor and path.stem != name and vendor in vendors:
            told.append("VENDOR: %s is that of %s" % (vendor, path.stem))
    return told


def lay_out(name, title, vendor, tool):
    """Paths that were written, below the root."""
    written = []
    vendors = '{value: "%s", source: ids}' % vendor if vendor else ""
    for template, (head, place) in FILES.items():
        text = head + (TEMPLATES / template).read_text(encoding="utf-8")
        for mark, value in (("@NAME@", name), ("@TITLE@", title), ("@VENDORS@", vendors), ("@TOOL@", tool)):
            text, place = text.replace(mark, value), place.replace(mark, value)
        path = ROOT / place
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(place)
    return written


def main(arguments):
    parser = argparse.ArgumentParser(description="Lay out a new manufacturer.")
    parser.add_argument("name")
    parser.add_argument("--title")
    parser.add_argument("--vendor")
    parser.add_argument("--tool")
    given = parser.parse_args(arguments)
    values = given.name, given.title or given.name.capitalize(), given.vendor or "", given.tool or given.name + "-smi"
    known = ROOT / "plugins" / "plugin_utils" / "data" / "manufacturers" / ("%s.yml" % given.name)
    if not given.title and re.fullmatch(r"[a-z0-9]{2,20}", given.name) and known.exists():
        values = given.name, yaml.safe_load(known.read_text(encoding="utf-8"))["title"], *values[2:]
    wrong = mistakes(*values)
    if wrong:
        sys.exit("\n".join(wrong))
    for place in lay_out(*values):
        sys.stdout.write("%s\n" % place)
    sys.stdout.write("fill these in, then: make docs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
