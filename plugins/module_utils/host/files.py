# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files as hold.py puts and takes them: whole or not at all, by descriptors, no link followed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
DEEPEST = 32
_BLOCK, _MAX_FILE, _MAX_FILES = 1 << 20, 4 << 30, 10000


def parents(path):
    """Every directory above a path but /."""
    names = path.strip("/").split("/")
    return ["/" + "/".join(names[:count]) for count in range(1, len(names))]


def some(names):
    return ", ".join(names[:3]) + (", and %d more" % (len(names) - 3) if len(names) > 3 else "")


def whole(fd, content):
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]


def pour(fd, read):
    for piece in iter(lambda: read.read(_BLOCK), b""):
        whole(fd, piece)


def put(at, name, fill, mode):
    """A whole file or none: written beside its place, on the disk, then renamed."""
    temporary = ".%s.stage-%d" % (name, os.getpid())
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at)
    try:
        try:
            fill(fd)
            os.fchmod(fd, mode)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=at)
        raise
    os.fsync(at)


def listed(source):
    """[(path below source, mode)] of its regular files; a link that leads to a file is taken as that file."""
    if not os.path.isdir(source):
        raise OSError(errno.ENOENT, "no directory %s with libraries" % source)
    found = []
    for folder, folders, names in os.walk(source):
        folders.sort()
        if folder.count("/") - source.count("/") > DEEPEST or len(found) > _MAX_FILES:
            raise OSError(errno.EFBIG, "%s: more than is staged" % source)
        for name in sorted(names):
            path = os.path.join(folder, name)
            facts = os.stat(path)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_FILE:
                raise OSError(errno.EINVAL, "%s: not a file that is staged" % path)
            found.append((os.path.relpath(path, source), stat.S_IMODE(facts.st_mode) & 0o755))
    if not found:
        raise OSError(errno.ENOENT, "%s: no library in it" % source)
    return found


def digest_of(name, at=None):
    digest = hashlib.sha256()
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if at is not None else 0), dir_fd=at)
    with open(fd, "rb") as read:
        for piece in iter(lambda: read.read(_BLOCK), b""):
            digest.update(piece)
    return digest.hexdigest()


def remove(at, name, deep=0):
    """Takes a file, or a directory with all in it, without following a link. "" or why it stays."""
    try:
        try:
            os.unlink(name, dir_fd=at)
            return ""
        except (IsADirectoryError, PermissionError):
            below = os.open(name, DIRECTORY, dir_fd=at)
        try:
            if deep > DEEPEST:
                return "%s: too deep" % name
            for one in os.listdir(below):
                trouble = remove(below, one, deep + 1)
                if trouble:
                    return trouble
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=at)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return "%s: %s" % (name, error.strerror)
    return ""
