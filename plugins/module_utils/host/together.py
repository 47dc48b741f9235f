# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run at the same time, each answered like one of LiveHost.run()."""

from __future__ import annotations

import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Answer, Command
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import STDERR_LIMIT, STDOUT_LIMIT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.process import OVERFLOW, TIME, Process

_SLICE = 0.02


def run_together(live, commands, timeout, limit=STDOUT_LIMIT):
    """[Command] of commands, all started before any is waited for. None is started unless each has its program."""
    commands = [[str(word) for word in argv] for argv in commands]
    found = [Answer(answers.OK, argv[0]) if "/" in argv[0] else live.resolve(argv[0]) for argv in commands]
    for argv, program in zip(commands, found):
        if not program.ok:
            return [Command(one, program.status, detail="%s: no such program" % argv[0]) for one in commands]
    started = time.monotonic()
    until = started + min(timeout, live.remaining())
    running, told = {}, {}
    try:
        for number, (argv, program) in enumerate(zip(commands, found)):
            process = Process(program.value, argv, live._environment(None), None, {1: limit, 2: STDERR_LIMIT}, root=live._root)
            running[number] = process
        while running:
            for number in list(running):
                end = running[number].pump(min(until, time.monotonic() + _SLICE))
                if end != TIME or time.monotonic() >= until:
                    told[number] = _ended(commands[number], running.pop(number), end, started)
    except (OSError, ValueError) as error:
        detail = "could not be started: %s" % error
        told.update((number, Command(argv, answers.IO_ERROR, detail=detail)) for number, argv in enumerate(commands) if number not in told)
    finally:
        for process in running.values():
            process.end()
    return [told[number] for number in range(len(commands))]


def _ended(argv, process, end, started):
    left = process.end() if end in (TIME, OVERFLOW) else process.end(0)
    status, detail = process.outcome(end, left)
    if status == "failed":
        status = answers.ERRNO_STATUS.get(detail, answers.IO_ERROR)
    texts = [bytes(process.kept[number]).decode("utf-8", "replace") for number in (1, 2)]
    rc = process.rc if status == answers.OK else None
    return Command(argv, status, rc, *texts, round(time.monotonic() - started, 3), detail, left[0][0] if left else None)
