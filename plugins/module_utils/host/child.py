# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that touches files and vendor libraries, so that a hang or a crash costs only itself.

It is sent as text to a bare interpreter (no site; json only for libraries: start-up counts) and imports nothing of the
collection. Requests come on descriptor 0, answers leave on 3: 4 bytes length, then fields separated by NUL.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

NAME = "fleetproof_child"
ANSWERS = 3
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}


class Outside(Exception):
    """A link leads out of the mounted root."""


def take(size):
    got = b""
    while len(got) < size:
        piece = os.read(0, size - len(got))
        if not piece:
            os._exit(0)  # the module is gone
        got += piece
    return got


def send(*fields):
    body = b"\0".join(fields)
    body = len(body).to_bytes(4, "big") + body
    while body:
        body = body[os.write(ANSWERS, body) :]


def locate(root, path, follow):
    """Descriptor of path that opens nothing (O_PATH). Below a mounted root it goes by descriptors, so a link swapped meanwhile leads nowhere."""
    if root == b"/":
        return os.open(path, os.O_PATH | (0 if follow else os.O_NOFOLLOW))
    stack = [os.open(root, os.O_PATH | os.O_DIRECTORY)]
    todo = path.split(b"/")[::-1]
    links = 0
    try:
        while todo:
            name = todo.pop()
            if name in (b"", b"."):
                continue
            if name == b"..":
                if len(stack) == 1:
                    raise Outside()
                os.close(stack.pop())
                continue
            stack.append(os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=stack[-1]))
            if stat.S_ISLNK(os.fstat(stack[-1]).st_mode) and (follow or any(n not in (b"", b".") for n in todo)):
                links += 1
                if links > 40:
                    raise OSError(errno.ELOOP, "")
                target = os.readlink(b"", dir_fd=stack[-1])
                os.close(stack.pop())
                while target.startswith(b"/") and len(stack) > 1:
                    os.close(stack.pop())
                todo += target.split(b"/")[::-1]
        return stack.pop()
    finally:
        for fd in stack:
            os.close(fd)


def kind(found):
    return _KINDS.get(stat.S_IFMT(found.st_mode), "other").encode()


def read(fd, found, again, limit):
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, "")
    if not stat.S_ISREG(found.st_mode):
        return b"kind", kind(found), b""
    # O_NONBLOCK: a FIFO put in the file's place since must not hold us
    source = os.open(again, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    got = []
    left = limit + 1
    while left:
        got.append(os.read(source, min(1 << 18, left)))
        left -= len(got[-1])
        if not got[-1]:
            break
    os.close(source)
    return b"ok" if left else b"truncated", b"", b"".join(got)[:limit]


def listdir(fd, found, again, limit):
    directory = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
    names = os.listdir(directory)
    os.close(directory)
    return b"ok", b"", b"\0".join(sorted(map(os.fsencode, names)))


def exists(fd, found, again, limit):
    return b"ok", b"", b"1"


def facts(*pairs):
    return b"ok", b"", b"\0".join(b"%s\0%s" % (name, value if isinstance(value, bytes) else b"%d" % value) for name, value in pairs)


def status(fd, found, again, limit):
    pairs = [(b"type", kind(found)), (b"mode", b"%04o" % stat.S_IMODE(found.st_mode)), (b"uid", found.st_uid), (b"gid", found.st_gid)]
    pairs += [(b"size", found.st_size), (b"mtime", int(found.st_mtime))]
    if kind(found) in (b"char", b"block"):
        pairs += [(b"major", os.major(found.st_rdev)), (b"minor", os.minor(found.st_rdev))]
    return facts(*pairs)


def readlink(fd, found, again, limit):
    if not stat.S_ISLNK(found.st_mode):
        raise OSError(errno.EINVAL, "")
    return b"ok", b"", os.readlink(b"", dir_fd=fd)


def statvfs(fd, found, again, limit):
    found = os.fstatvfs(fd)
    size, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
    return facts((b"size", size), (b"free", free), (b"inodes", found.f_files), (b"inodes_free", found.f_favail))


_OPERATIONS = {b"read": read, b"listdir": listdir, b"exists": exists, b"stat": status, b"readlink": readlink, b"statvfs": statvfs}


def ask(operation, limit, root, path):
    fd = locate(root, path, operation != b"readlink")
    try:
        return _OPERATIONS[operation](fd, os.fstat(fd), path if root == b"/" else b"/proc/self/fd/%d" % fd, limit)
    finally:
        os.close(fd)


def which(root, names):
    """names: the program and the directories to look in."""
    refused = OSError(errno.ENOENT, "")
    for directory in names[1:]:
        path = directory + b"/" + names[0]
        try:
            fd = locate(root, path, True)
        except PermissionError as error:
            refused = error
            continue
        except (OSError, Outside):
            continue
        mode = os.fstat(fd).st_mode
        os.close(fd)
        if stat.S_ISREG(mode):
            if mode & 0o111 and (root != b"/" or os.access(path, os.X_OK)):
                return b"ok", b"", path
            refused = OSError(errno.EACCES, "")
    raise refused


def native(request):
    """Runs a vendor library's reader. Whatever it raises is an answer; it may also take the process with it."""
    import json

    request = json.loads(request)
    sys.path[:] = request["path"]
    module = type(sys)(request["name"])
    module.__file__ = request["file"]
    sys.modules[request["name"]] = module

    def raised(kind, error, traceback):
        missing = isinstance(error, (ImportError, getattr(module, "Missing", ())))
        send(json.dumps({"missing": str(error)} if missing else {"error": "%s: %s" % (kind.__name__, error)}).encode())
        os._exit(0)

    sys.excepthook = raised
    exec(compile(request["source"], request["file"], "exec"), module.__dict__)
    answer = module.read(request["arguments"])
    if not isinstance(answer, dict):
        raise TypeError("read() of %s returned %s, not a dict" % (request["name"], type(answer).__name__))
    send(json.dumps(answer if set(answer) == {"missing"} else {"answer": answer}).encode())
    os._exit(0)  # not by way of vendor code that runs at exit


def main():
    os.set_inheritable(ANSWERS, False)
    while True:
        operation, limit, root, path = take(int.from_bytes(take(4), "big")).split(b"\0", 3)
        if operation == b"native":
            native(path)
        try:
            answer = which(root, path.split(b":")) if operation == b"which" else ask(operation, int(limit), root, path)
        except OSError as error:
            answer = b"errno", errno.errorcode.get(error.errno, str(error.errno)).encode(), b""
            if operation == b"exists" and error.errno in (errno.ENOENT, errno.ENOTDIR):
                answer = b"ok", b"", b""
        except Outside:
            answer = b"outside", b"", b""
        send(*answer)


if __name__ == NAME:
    main()
