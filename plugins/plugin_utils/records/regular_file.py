# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads files that somebody else may have put there: a FIFO, a device or an endless file is an error, never a wait."""

from __future__ import annotations

import errno
import os
import stat

MOST = 256 * 2**20  # bytes


def read(path, most=MOST):
    """The content. OSError when it is no regular file or cannot be read, ValueError when it is larger than most bytes."""
    _hold(path, os.stat(path))  # opening a device can already do something
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        _hold(path, found)  # it may have been another file a moment ago
        if found.st_size > most:
            raise ValueError("larger than %d MiB" % (most >> 20))
        parts, size = [], 0
        while size <= most:
            part = os.read(descriptor, max(found.st_size, 65536) + 1)
            parts.append(part)
            size += len(part)
            if not part or len(part) == found.st_size == size:
                return b"".join(parts)
        raise ValueError("it grows while it is read")
    finally:
        os.close(descriptor)


def text(path, most=MOST):
    """The same as UTF-8."""
    return read(path, most).decode("utf-8")


def _hold(path, found):
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
