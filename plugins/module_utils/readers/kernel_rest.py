# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What few logs need: what came after a cursor, a journal that is too much or of an old release, and a clock that was set back."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kernel_line import Line
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kernel_log import JOURNAL, LIMIT, SECONDS, cursor, parsed

NEWEST = 40000  # lines read of the end of a log that is longer than what is read
LAST = [*JOURNAL, "-n", str(NEWEST)]
EARLIER = ["journalctl", "-k", "-b", "0", "-o", "short-monotonic", "--no-pager", "-n", str(NEWEST)]  # systemd 219, and recordings of before


class Rest:
    """Hands a stream what came later than the last line it has read."""

    def __init__(self, stream, newest):
        self.stream, self.newest = stream, newest
        self.gap = "what came later than %s was not read" % self._shown(newest)
        self.carry, self.begun = b"", False

    def take(self, piece):
        if self.begun:
            self.stream.take(piece)
            return
        text = self.carry + piece
        at = 0
        while True:
            end = text.find(b"\n", at) + 1
            if not end:
                break
            line = parsed(text[at:end])
            later = _time(line) > _time(self.newest)
            if later:
                if self.gap:
                    self.gap = "what came from %s to %s was not read" % (self._shown(self.newest), self._shown(line))
                self.begun = True
                self.stream.take(text[at:])
                return
            if _time(line):
                self.gap = ""  # it goes back to what was read
            at = end
        self.carry = text[at:][: 1 << 16]

    def _shown(self, line):
        told = self.stream.folder.time(line)
        return told if isinstance(told, str) else "%.0f seconds" % _time(line)


def _time(line):
    return line.wall or line.since or 0


def behind(stream, block):
    """What stands behind the line of the stream's cursor; all when that line is not in it."""
    seconds = stream.since.partition("/")[0].encode()
    at = block.find(seconds)
    while at >= 0:
        begin, end = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at) + 1 or len(block)
        line = parsed(block[begin:end])
        if cursor(line) == stream.since:
            stream.begin()
            stream.reached, stream.end, stream.told, stream.held = line, block[begin:end], True, block[begin:end].rstrip()
            return block[end:]
        at = block.find(seconds, end)
    return block


def forget_times(folder):
    """What the clock told so far is not the time of day."""
    line = Line()
    line.when = "the clock was set back since"
    for event in folder.events.values():
        event["first"] = line
        event["last_at"] = {place: (number, line) for place, (number, _line) in event["last_at"].items()}


def journal(host, stream, command):
    """(the command that answered, why it is not all of the log). command: the one that failed."""
    if stream.lines:
        return command, _end(host, stream, command)
    if command.status in (answers.OK, answers.NOT_RECORDED):
        earlier = host.run(EARLIER, timeout=SECONDS, limit=LIMIT, taker=stream.take)
        stream.done()
        command = command if earlier.status == answers.NOT_RECORDED else earlier
        if command.succeeded and stream.lines >= NEWEST and not stream.reached:
            return command, ["only the newest %d lines were read" % NEWEST]
    return command, [] if command.succeeded else [command.reason]


def _end(host, stream, command):
    """Why the log is still not all read, in a list. command: what was cut."""
    stream.carry = b""  # half a line
    stream.done()
    newest = stream.newest()
    if newest is None:
        return [command.reason]
    rest, reached = Rest(stream, newest), stream.reached
    last = host.run(LAST, timeout=SECONDS / 2, limit=LIMIT, taker=rest.take)
    stream.done()
    if stream.reached and not reached:
        rest.gap = ""  # what was asked for begins in what was read now
    return [reason for reason in (rest.gap and command.reason, rest.gap, "" if last.succeeded else last.reason) if reason]
