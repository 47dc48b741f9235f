# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One vendor's tool, asked one call after the other, and what the files of the node add to its answers."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

RESERVE_SECONDS = 4
GENERATION = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
_BUSY = re.compile(r"\b(?:busy|in use|try again|temporarily unavailable)\b", re.IGNORECASE)
_BROKEN = re.compile(r"undefined symbol:? *[\w@.]+|symbol lookup error[^\n]*|[\w+.-]+\.so[\w.]*: cannot open shared object[^\n]*", re.IGNORECASE)
_NO_QUESTION = re.compile(r"invalid (?:combination of input )?argument", re.IGNORECASE)
_REFUSED = re.compile(r"^usage:|unrecognized argument|unknown (?:option|argument|command)|invalid (?:option|choice)", re.IGNORECASE | re.MULTILINE)


def words(text):
    """The line that says most: of a Python traceback the last, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1 if lines[0].startswith("Traceback") else 0])[:200] if lines else ""


def not_asked(tool, said):
    """Why a question has no answer: that this version of the tool does not know it is marked at the end, for better() of a library."""
    return "%s: N/A" % said if tool.refused or _NO_QUESTION.search(said) else said


class Tool:
    """places: the program, then paths that are tried while it cannot be found. A tool that hung or is denied is not asked again."""

    def __init__(self, host, *places):
        self.host, self.places, self.name = host, list(places), places[0]
        self.sources = []
        self.env = None  # what the program needs beside the usual environment
        self.final = ""  # why nothing is asked any more
        self.missing = False
        self.refused = False  # the last call: this version does not know the question
        self.exited = []  # the last call: what it printed may not be all, for it failed

    def _run(self, place, arguments, seconds):
        for _attempt in (1, 2):
            answer = self.host.run([place, *arguments], timeout=seconds, env=self.env)
            self.sources.append(build.source(answer, " ".join((place, *arguments))))
            busy = answer.status == answers.OK and answer.rc != 0 and _BUSY.search(answer.stdout + answer.stderr)
            if not busy or self.host.remaining() < RESERVE_SECONDS:
                break
        return answer, busy

    def ask(self, *arguments, **options):
        """(text, "") or (None, why not); (text, what is wrong with it) when it printed and failed all the same."""
        name, self.refused, self.exited = " ".join((self.name, *arguments)), False, []
        if self.final:
            return None, "%s: not asked: %s" % (name, self.final)
        if self.host.remaining() < RESERVE_SECONDS:
            return None, "%s: not asked: the deadline is near" % name
        answer = busy = told = None
        for place in self.places:
            answer, busy = self._run(place, arguments, options.get("seconds", 15))
            if answer.status == answers.ABSENT or (answer.status == answers.OK and answer.rc == 127):
                told = told or (None if answer.status == answers.ABSENT else answer)  # 127: a program it needs itself, or a shell's answer
                continue
            self.places, told = [place], answer
            break
        said = (told or answer).stdout + "\n" + (told or answer).stderr
        broken = _BROKEN.search(said)
        if told is None:
            self.missing, self.final = True, "%s: no such program" % self.name
            return None, self.final
        answer = told
        if answer.status != answers.OK:
            reason = "%s: %s%s" % (name, answer.status.replace("_", " "), " (%s)" % answer.detail if answer.detail else "")
            if answer.status in (answers.TIMEOUT, answers.DENIED):
                self.final = "%s %s before" % (self.name, "hung" if answer.status == answers.TIMEOUT else "was denied")
            return None, reason
        if answer.rc in (126, 127):
            self.final = "%s: exit %d: %s" % (self.name, answer.rc, broken.group() if broken else words(answer.stderr or answer.stdout))
            return None, self.final
        trouble = broken.group() if broken else "still busy: %s" % words(answer.stderr or answer.stdout) if busy else words(answer.stderr) if answer.rc else ""
        if answer.rc:
            trouble = "exit %s: %s" % (answer.rc, trouble or words(answer.stdout))
            self.refused, self.exited = bool(_REFUSED.search(said)), ["%s: %s" % (name, trouble)]
        if not answer.stdout.strip():
            return None, "%s: printed nothing%s" % (name, " (%s)" % trouble if trouble else "")
        if busy or self.refused:
            return None, "%s: %s" % (name, trouble)
        return answer.stdout, "%s: %s" % (name, trouble) if trouble else ""


def within(value, low, high, what):
    """A fact that is a number in these bounds, else unknown."""
    if not is_known(value):
        return value
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
    return value if good else unknown("%s: out of bounds: %r" % (what, value))


def pcie(entry, absent, replay):
    """The PCIe group from an entry of the section pci; the most is what device and slot can both do. absent: without an entry."""
    if not entry:
        return absent
    link, port = (entry.get(key) if isinstance(entry.get(key), dict) else {} for key in ("pcie", "upstream"))

    def both(key):
        numbers = [side[key] for side in (link, port) if isinstance(side.get(key), (int, float))]
        return min(numbers) if is_known(link.get(key)) and numbers else link.get(key)

    def generation(speed):
        return GENERATION.get(speed, unknown("PCIe: %s GT/s" % speed)) if isinstance(speed, (int, float)) else speed

    return {
        "generation_current": generation(link.get("speed_current_gts")), "generation_max": generation(both("speed_max_gts")),
        "generation_device_max": generation(link.get("speed_max_gts")), "width_current": link.get("width_current"), "width_max": both("width_max"),
        "replay_count": not_applicable(replay),
    }  # fmt: skip


def module_version(host, *names):
    """(version of the first of these that is loaded, its name or None)."""
    for name in names:
        answer = host.read_line("/sys/module/%s/version" % name)
        if answer.ok:
            return build.fact(answer.value, answer.subject), name
        loaded = host.exists("/sys/module/%s" % name)
        if answer.status != answers.ABSENT:
            return unknown(answer.reason), name if loaded.ok and loaded.value else None
        if loaded.ok and loaded.value:
            return unknown("%s is loaded and tells no version" % name), name
    return unknown("not loaded: %s" % ", ".join(names)), None


def file_version(host, path, absent):
    """First text like a version in a file; absent: the reason when there is no such file."""
    answer = host.read_text(path)
    if answer.status in (answers.ABSENT, answers.NOT_A_DIRECTORY):
        return not_applicable(absent)
    if not answer.ok:
        return unknown(answer.reason)
    found = re.search(r"\d{1,6}(?:\.\w+)+(?:-[\w.]+)?", answer.value)
    return found.group()[:60] if found else unknown("%s: no version" % path)
