# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command on a real pseudo-terminal, and what a person would then see on it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

LIMIT = 300  # seconds: only to end a command that hangs


def run(argv, environment, folder, columns=100):
    """(exit code, all that was written to the terminal)."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.chdir(folder)
            os.execve(argv[0], argv, environment)
        finally:
            os._exit(127)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    until, written = time.monotonic() + LIMIT, b""
    try:
        while time.monotonic() < until:
            if select.select([terminal], [], [], 1)[0]:
                try:
                    data = os.read(terminal, 1 << 16)
                except OSError:  # the other end is closed
                    break
                if not data:
                    break
                written += data
        else:
            os.kill(child, 9)
    finally:
        os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), written.decode("utf-8", "replace")


def seen(written):
    """The lines that remain: carriage returns and erasures are followed, colors left out."""
    lines, line, place = [], [], 0
    for part in re.findall("\x1b\\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]", written):
        if part == "\r":
            place = 0
        elif part == "\n":
            lines.append("".join(line).rstrip())
            line, place = [], 0
        elif part.endswith("K") and part.startswith("\x1b"):
            del line[place:]
        elif not part.startswith("\x1b"):
            line[place : place + 1] = [part]
            place += 1
    return [*lines, "".join(line).rstrip()]
