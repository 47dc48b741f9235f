# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/kernel-events.md from the event catalogs; a test proves it current.

python tools/generate_kernel_events.py            # write
python tools/generate_kernel_events.py --check    # exit 1 when it is not current
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "plugins" / "plugin_utils" / "data"
PAGE = ROOT / "docs" / "kernel-events.md"

HEAD = """# Kernel events

What the rules `kernel-*` make of the kernel log. Made from `plugins/plugin_utils/data/kernel_events.yml` and
`kernel_messages.yml` by `tools/generate_kernel_events.py`; change those files, not this page.

The node ships folded lines, the controller classifies them, so `judge.yml` can judge an old run by a newer catalog.

A time is the boot's plus the seconds the kernel printed: a clock that is set later, another time zone or a new year do not move it. The kernel's own
clock is not corrected and may be some seconds a day off. What ended before this boot is left out; what was said of a PCI function before another part
was attached there (five minutes after the boot or later) is info and condemns nothing. A reading from a cursor on (`kernel_events`, option `since`)
speaks of what came after it; `_whole_boot` makes that unknown.

The preflight hands no cursor on from run to run: it judges the whole boot. A fault that an earlier run saw is one as long as nobody restarted the node
or replaced the part, and a run gives the same verdict whether or not one came before it. What ages sets `_max_age_hours`.

| Level | Meaning |
|---|---|
| fail | the manufacturer asks for a reset, a reboot or a replacement before work is put on the device |
| warn | the manufacturer asks to be contacted, or something is to be checked; also every code that is not listed here |
| info | an application's own error, or nothing to do |
| counted | a finding from a number on: parameter `corrected_errors` of the rules about PCIe and memory, `link_downs` of the one about network adapters |

A site changes single levels with `accelerator_policy_kernel_accelerator_events_info_codes`, `_warn_codes` and `_fail_codes`: lists of entries such as
`xid 94`, `ppu 642` or the name of a message below. Each rule about the kernel log has its own: `sxid 12028` stands in
`accelerator_policy_kernel_nvswitch_errors_…`. `_max_age_hours` leaves out what is older by more than the times may be off (`time_error_seconds`).

The journal tells the time of day at which it took a line; where a clock was set since, what was said before has no time. dmesg, which is read where there
is no journal, tells seconds of the log's own clock since the start, which nothing corrects: they are taken to be off by up to 500 ppm of the time since
then, the most that NTP corrects a clock by, 43 seconds a day. A suspended machine is off by the time it slept, too.

The log is folded as it is read, and no line of it is kept on the node: of 800,000 equal lines the count, the first and the last time are exact. Only where
it took longer than 20 seconds or is more than 256 MiB its end, the newest 40,000 lines, is read apart; where lines between are missing, the section is
`partial` and says from when to when. A recording keeps the first MiB and the last three of a log, and its replay then says `partial`.
"""


def _row(*cells):
    return "| %s |" % " | ".join(str(c).replace("|", "\\|") for c in cells)


def _codes(code):
    return ", ".join(code) if isinstance(code, list) else str(code).replace(",", ", ")


def _name(entry):
    names = entry.get("names", {})
    return ", ".join("%s (%s)" % (name, code) for code, name in names.items()) or entry["name"]


def _numbered(title, entries, listed):
    lines = ["## %s" % title, "", _row("Code", "Name", "Level", "Asked for", "Meaning", "Source"), _row(*["---"] * 6)]
    for entry in entries:
        action = listed["actions"][entry["action"]]
        level = entry.get("level", action["level"])
        meaning = entry["summary"] + (" (%s)" % entry["why"] if "why" in entry else "")
        lines.append(_row(_codes(entry["code"]), _name(entry), level, action["words"], meaning, entry["source"]))
    return [*lines, ""]


def _bits(values):
    return ", ".join("0x%x" % value for value in values) or "-"


def _registers(units):
    """The NVLink 5 units by what their error status asks for, then the reasons of a lost link."""
    lines = [_row("Unit of 144 to 150", "Reset the GPU", "See Xid 154", "Watch, then ask", "Nothing"), _row(*["---"] * 5)]
    for unit, entry in units.items():
        by = {name: list(entry.get(name, ())) for name in ("reset", "evaluate", "ask", "ignore")}
        for status, name in entry.get("equal", {}).items():
            by[name].append(status)
        always = entry.get("always")
        lines.append(_row(unit, *("always" if name == always else _bits(values) for name, values in by.items())))
    link = units["NETIR_LINK_EVT"]
    lines += ["", _row("Reason of a lost link (bits 20 to 25)", "Where to look", "Level"), _row(*["---"] * 3)]
    lines += [_row(reason, words, "warn" if reason in link["ignored"] else "fail") for reason, words in link["reasons"].items()]
    return [*lines, ""]


def page():
    listed = yaml.safe_load((DATA / "kernel_events.yml").read_text(encoding="utf-8"))
    worded = yaml.safe_load((DATA / "kernel_messages.yml").read_text(encoding="utf-8"))
    lines = [HEAD]
    lines += _numbered("NVIDIA Xid", listed["xid"], listed)
    lines += [
        "Source *ours*: the manufacturer lists the code without an action, so no text of his confirms the level; judged by what the message says.",
        "",
        "An NVLink 5 code (144 to 150) is a fail when the driver calls it Fatal, else a warn, unless its registers say more. Xid 74: fatal is a fail.",
        "",
        *_registers(listed["nvlink5"]),
        "",
        "Xid 154 carries what the GPU needs:",
        "",
        _row("Action", "Name", "Level"),
        _row(*["---"] * 3),
    ]
    lines += [_row(code, entry["name"], entry["level"]) for code, entry in listed["recovery_actions"].items()]
    lines += ["", *_numbered("NVSwitch SXid", listed["sxid"], listed)]
    lines += ["The driver's own word comes first: Fatal is always a fail, Non-fatal never is, except where a reset of all is asked for. A message with neither"]
    lines += ["word goes by this list; a code that is not here is then a warn, and one that shuts the switch down is a fail.", ""]
    lines += _numbered("T-Head PPU XID", listed["ppu"], listed)
    lines += ["## Messages without a number", "", _row("Message", "Maker", "Rule about", "Level", "Meaning", "What to do", "Source"), _row(*["---"] * 7)]
    for entry in worded["messages"]:
        if entry["level"] != "quiet":
            cells = (entry["id"], entry["manufacturer"] or "any", entry["domain"], entry["level"], entry["summary"], entry["action"], entry["source"])
            lines.append(_row(*cells))
    lines += ["", "Drivers whose makers publish no list are shown as info (`driver-message`).", "", "## Sources", ""]
    for name, text in sorted(dict(listed["sources"], **worded["sources"]).items()):
        lines.append("- **%s**: %s" % (name, text))
    return "\n".join(lines) + "\n"


def main():
    text = page()
    if "--check" in sys.argv[1:]:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print("docs/kernel-events.md is %s" % ("current" if current else "not current: run tools/generate_kernel_events.py"))
        return 0 if current else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
