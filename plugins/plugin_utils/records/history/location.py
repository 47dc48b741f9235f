# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the history is: a file, or a PostgreSQL by its URL. A file on a network file system is refused."""

from __future__ import annotations

import re
from pathlib import Path

# Locks and the shared memory of the write-ahead log hold on one machine only; on these, writers of two machines lose each other's work.
NETWORK = {
    "9p", "acfs", "afs", "beegfs", "beegfs_nodev", "ceph", "cifs", "coda", "davfs", "fhgfs", "gfs", "gfs2", "glusterfs", "gpfs", "lustre", "mfs",
    "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "wekafs",
}  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")
_URL = re.compile(r"([a-z][a-z0-9+]*)://", re.IGNORECASE)
_SERVER = ("postgresql", "postgres")
_SECRET = re.compile(r"(://[^/@]*:)[^@/]*@|(password=)[^&\s]*", re.IGNORECASE)
ALLOWED = "the path of a file, or postgresql://USER@HOST/DATABASE"


class HistoryError(Exception):
    """The history cannot be used; the message names it, what was found and what is allowed."""


def is_url(text):
    return bool(_URL.match(text))


def problem(text):
    """What is wrong with the form of a location, None when nothing is."""
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        return ALLOWED
    scheme = _URL.match(text)
    if scheme and scheme[1].partition("+")[0].lower() not in _SERVER:
        return ALLOWED
    return None


def shown(text):
    """The location without its password."""
    return _SECRET.sub(lambda found: "%s***%s" % (found[1] or found[2], "@" if found[1] else ""), text)


def check(text):
    """The location, usable as far as can be told without opening it."""
    wrong = problem(text)
    if wrong:
        raise HistoryError("accelerator_history: found %r, allowed: %s" % (shown(str(text)), wrong))
    return text if is_url(text) else local_file(text)


def local_file(text, mounts=None):
    """The path of the file. HistoryError where it lies on a network file system, or is no file."""
    path = Path(text).expanduser()
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            raise HistoryError("accelerator_history: %s is not a file, allowed: %s" % (path, ALLOWED))
    except (OSError, RuntimeError) as error:
        raise HistoryError("accelerator_history: %s: %s" % (text, error)) from None
    kind = file_system(path, _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape") if mounts is None and _MOUNTS.exists() else mounts or "")
    if is_network(kind):
        raise HistoryError(
            "accelerator_history: %s lies on a network file system (%s), where writers of several machines lose what others store;"
            " allowed: a file on a disk of this machine, or a PostgreSQL: postgresql://USER@HOST/DATABASE" % (path, kind)
        )
    return path


def is_network(kind):
    return kind in NETWORK or (kind.startswith("fuse.") and kind.removeprefix("fuse.") not in ("fuse-overlayfs", "portal", "lxcfs", "ntfs", "ext4"))


def file_system(path, mounts):
    """The type of the file system that holds path, by the longest mount point above it; of two mounts on one point the later counts."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, _dash, after = line.partition(" - ")
        words = before.split(" ")
        if len(words) < 5 or not after:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), words[4])
        inside = point == "/" or str(path) == point or str(path).startswith(point + "/")
        if inside and len(point) >= best:
            best, kind = len(point), after.split(" ")[0]
    return kind
