# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work shared out to forked children that only compute. No multiprocessing: Ansible's own workers may not have children of it.

Each child answers every k-th item through a pipe; the parent takes the answers in order, so the result does not depend
on how many children there are. What a child did not deliver, the parent computes itself.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import struct

_HEAD = struct.Struct(">I")


def ordered(items, compute, processes):
    """compute(item) for each item, in order. compute must return what marshal can write: plain lists, dicts, texts, numbers."""
    items = list(items)
    children = _start(items, compute, min(processes, len(items))) if processes > 1 and len(items) > 1 else []
    try:
        for position, item in enumerate(items):
            answer = _receive(children[position % len(children)]) if children else None
            yield compute(item) if answer is None else answer
    finally:
        for child in children:
            _end(child)


class _Child:
    def __init__(self, pid, stream):
        self.pid = pid
        self.stream = stream
        self.broken = False


def _start(items, compute, number):
    children = []
    for index in range(number):
        try:
            reading, writing = os.pipe()
            pid = os.fork()
        except OSError:
            for child in children:
                _end(child)
            return []
        if not pid:
            _serve(items[index::number], compute, writing, [reading] + [c.stream.fileno() for c in children])
        os.close(writing)
        children.append(_Child(pid, os.fdopen(reading, "rb")))
    return children


def _serve(items, compute, writing, inherited):
    """The child: ends without running anything that its parent registered for its own end."""
    status = 1
    try:
        for descriptor in inherited:
            os.close(descriptor)
        with os.fdopen(writing, "wb") as stream:
            for item in items:
                answer = marshal.dumps(compute(item))
                stream.write(_HEAD.pack(len(answer)))
                stream.write(answer)
        status = 0
    except OSError:
        status = 2  # the parent is gone, or a file could not be written: the parent meets the same error and tells it
    finally:
        os._exit(status)


def _receive(child):
    """The next answer, None when the child ended early."""
    if child.broken:
        return None
    head = child.stream.read(_HEAD.size)
    if len(head) == _HEAD.size:
        size = _HEAD.unpack(head)[0]
        answer = child.stream.read(size)
        if len(answer) == size:
            return marshal.loads(answer)
    child.broken = True
    return None


def _end(child):
    child.stream.close()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child.pid, 0)


def together(tasks, processes):
    """Run functions that only write files, in as many children. What a child did not finish, the parent does itself: it meets the same error."""
    running = []
    for task in tasks:
        if processes > 1:
            try:
                pid = os.fork()
            except OSError:
                pid = None
            if pid == 0:
                _alone(task)
            if pid:
                running.append((pid, task))
                continue
        running.append((None, task))
    for pid, task in running:
        if pid is None:
            task()
    for pid, task in running:
        if pid is not None and os.waitpid(pid, 0)[1] != 0:
            task()


def _alone(task):
    status = 1
    try:
        task()
        status = 0
    finally:
        os._exit(status)
