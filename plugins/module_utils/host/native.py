# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reader of a vendor library, in a child of its own: its hang or crash is an answer."""

from __future__ import annotations

import json
import os
import sys
import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers, child
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Answer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import complete, frame, source_of, text_of
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.process import OVERFLOW, TIME

LIMIT = 16 << 20  # bytes of an answer


def ask(start, name, reader, arguments, seconds):
    """start: makes the child, of a request and the bytes its answer may have."""
    request = {"path": [p for p in sys.path if os.path.isabs(p)], "name": reader.__name__, "file": reader.__file__}
    request.update(source=source_of(reader), arguments=arguments)
    try:
        process = start(frame(b"native", b"", b"", json.dumps(request).encode()), LIMIT)
    except OSError as error:
        return Answer(answers.IO_ERROR, detail="no child process: %s" % error.strerror, subject=name)
    end = process.pump(time.monotonic() + seconds)
    status, detail = process.outcome(end, process.end(0))
    if complete(process.kept):  # also when the library then died or hung
        return _read(name, process.kept[child.ANSWERS][4:])
    if end == OVERFLOW:
        detail = "answered more than is kept"
    elif end != TIME:
        last = text_of(process.kept[2]).strip().rpartition("\n")[2][:200]
        detail = (detail or "ended without an answer, exit %s" % process.rc) + (" (%s)" % last if last else "")
    return Answer(answers.IO_ERROR if status in (answers.OK, "failed") else status, detail=detail, subject=name)


def _read(name, text):
    """The answer of a native child."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Answer(answers.IO_ERROR, detail="answer not understood: %s" % error, subject=name)
    for key, status in (("missing", answers.ABSENT), ("error", answers.IO_ERROR)):
        if key in answer:
            return Answer(status, detail=str(answer[key]), subject=name)
    return Answer(answers.OK, answer.get("answer"), subject=name)
