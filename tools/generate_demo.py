# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes inventories/demo/recordings: the recorded nodes of the demo fleet. Run it again after a change; a test holds the files against it."""

from __future__ import annotations

from pathlib import Path

from demo_nodes import amd, ascend, nvidia

RECORDINGS = Path(__file__).resolve().parent.parent / "inventories" / "demo" / "recordings"
HEAD = """# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Made by tools/generate_demo.py: do not edit. The machine is invented.
---
"""


def scalar(value):
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"%s"' % escaped


def emit(value, indent=""):
    """Text behind "key:" or "-": several lines of text as a literal block, small values on one line."""
    if isinstance(value, str) and value.count("\n") > 1 and value.endswith("\n") and not value.endswith("\n\n"):
        lines = value[:-1].split("\n")
        mark = "|2" if lines[0][:1] in (" ", "\t", "") else "|"
        return " %s\n%s" % (mark, "".join("%s%s\n" % (indent + "  " if line else "", line) for line in lines))
    if isinstance(value, dict) and value:
        if len(value) == 1 and not isinstance(next(iter(value.values())), (dict, list)):
            key, item = next(iter(value.items()))
            return " {%s: %s}\n" % (key, scalar(item))
        inner = indent + "  "
        return "\n" + "".join("%s%s:%s" % (inner, k if str(k).replace("_", "").isalnum() else scalar(k), emit(v, inner)) for k, v in value.items())
    if isinstance(value, list) and value:
        if not any(isinstance(item, (dict, list)) for item in value):
            return " [%s]\n" % ", ".join(scalar(item) for item in value)
        return "\n" + "".join("%s- %s" % (indent + "  ", emit(item, indent + "  ").lstrip()) for item in value)
    return " %s\n" % ({} if value == {} else [] if value == [] else scalar(value))


def shared(files):
    """The files as YAML: what is long and stands several times is written once."""
    seen, text = {}, ""
    for path, entry in files.items():
        content = entry.get("base64") if isinstance(entry, dict) else None
        if content is None or len(content) < 80:
            text += "  %s:%s" % (scalar(path), emit(entry, "  "))
        elif content in seen:
            text += "  %s: *%s\n" % (scalar(path), seen[content])
        else:
            seen[content] = "b%d" % len(seen)
            text += "  %s: &%s%s" % (scalar(path), seen[content], emit(entry, "  "))
    return "\n" + text


def texts():
    """File name -> text."""
    documents = [*nvidia.nodes(), *amd.nodes(), *ascend.nodes()]
    write = {"files": shared}
    return {"%s.yml" % d["node"]: HEAD + "".join("%s:%s" % (key, write.get(key, emit)(value)) for key, value in d.items()) for d in documents}


def main():
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    wanted = texts()
    for old in RECORDINGS.iterdir():
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (RECORDINGS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
