# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real engines for probe containers: an image out of programs of this machine, preloaded libraries that gcc makes, a daemon below a directory of the test."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

IMAGE = "fleetproof-probe:1"
PROGRAMS = ("cat", "sleep", "mkdir", "mktemp", "tail", "awk", "mv")
# What a preloaded library of a slice would do, and what can go wrong with one. CAP: what the reader asks the card for.
SHIMS = {
    "caps": """
        #include <stdio.h>
        #include <stdlib.h>
        long card_memory_mib(void) { return atol(getenv("HGGC_DEVICE_MEMORY_LIMIT_0")); }
        __attribute__((constructor)) static void banner(void) {
            const char *level = getenv("LIBHGGC_LOG_LEVEL");
            if (level && atoi(level) > 1) fprintf(stderr, "[quota 4711] memory limit %s MiB\\n", getenv("HGGC_DEVICE_MEMORY_LIMIT_0"));
        }""",
    "idle": "int idle_shim;",
    "banner": """
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        __attribute__((constructor)) static void banner(void) {
            fprintf(stderr, "[quota %d] memory limit %s MiB\\n", (int)getpid(), getenv("HGGC_DEVICE_MEMORY_LIMIT_0"));
        }""",
    "aborts": """
        #include <stdlib.h>
        __attribute__((constructor)) static void end(void) { abort(); }""",
    "dies": """
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        long card_memory_mib(void) { return atol(getenv("HGGC_DEVICE_MEMORY_LIMIT_0")); }
        #include <sys/syscall.h>
        void _exit(int status) { syscall(SYS_exit_group, getpid() == 1 ? 134 : status); __builtin_unreachable(); }
        void exit(int status) { fflush(stdout); _exit(status); }""",
}
READER = """
    #include <stdio.h>
    extern long card_memory_mib(void) __attribute__((weak));
    int main(void) { printf("memory %ld MiB\\n", card_memory_mib ? card_memory_mib() : 98304L); return 3; }
"""


def compiled(code, path, *flags):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", *flags, "-x", "c", "-", "-o", str(path)], input=code, text=True, check=True)
    return path


def needs(program):
    """The libraries of a program, and the loader."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    words = [word for line in told.splitlines() for word in line.split() if word.startswith("/")]
    return list(dict.fromkeys(words))


def image_tree(at, without=()):
    """A root with a shell and what the scripts of probes use, out of this machine's own files."""
    for name in ("sh", *PROGRAMS):
        program = os.path.realpath(shutil.which("dash" if name == "sh" else name) or "/bin/" + name)
        if name in without:
            continue
        for path in needs(program):
            target = at / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(path), target)
        (at / "bin").mkdir(exist_ok=True)
        shutil.copy(program, at / "bin" / name)
    (at / "tmp").mkdir()
    return at


def libraries(at, shim, preload=("/usr/local/vppu/hgml_dlsym_hook.so", "/usr/local/vppu/hggc_quota.so")):
    """The slicing tree of T-Head: what is preloaded, and the reader."""
    folder = at / "thead"
    compiled(SHIMS["idle"].replace("idle_shim", "hook"), folder / "hgml_dlsym_hook.so", "-shared", "-fPIC")
    compiled(SHIMS[shim], folder / "hggc_quota.so", "-shared", "-fPIC")
    compiled(READER, folder / "ppu-monitor", "-fPIE")
    (folder / "ld.so.preload").write_text("".join(path + "\n" for path in preload))
    return str(at)


_alone = []


@contextlib.contextmanager
def alone():
    """One process of tests at a time: device nodes are the machine's."""
    if not _alone:
        lock = open(os.path.join(tempfile.gettempdir(), "fleetproof-device-nodes.lock"), "w")  # noqa: SIM115
        fcntl.flock(lock, fcntl.LOCK_EX)
    else:
        lock = _alone[0]
    _alone.append(lock)
    try:
        yield
    finally:
        _alone.pop()
        if not _alone:
            lock.close()


@contextlib.contextmanager
def nodes(*paths):
    """Device nodes of this machine that were not there: each reads like /dev/null."""
    with alone():
        yield from _nodes(paths)


def _nodes(paths):
    made = []
    try:
        for path in paths:
            if not os.path.exists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                try:
                    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
                except OSError as error:
                    pytest.skip("no device node can be made here: %s" % error)
                made.append(path)
        yield
    finally:
        for path in made:
            os.unlink(path)


class Daemon:
    """An engine of the test's own; ended by its process id."""

    def __init__(self, here, words, ready):
        if os.geteuid() != 0 or shutil.which(words[0]) is None:
            pytest.skip("%s is not installed, or this is not root" % words[0])
        self.log = here / ("%s.log" % words[0])
        with self.log.open("w") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd=here)
        for _attempt in range(200):
            if self.process.poll() is not None or ready():
                break
            time.sleep(0.1)
        if self.process.poll() is not None or not ready():
            self.end()
            pytest.skip("%s does not start here: %s" % (words[0], self.log.read_text()[-300:]))

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def dockerd(here, runtimes=""):
    """(daemon, its socket). No bridge and no rule of a firewall: probes have no network."""
    socket = here / "d.sock"
    (here / "daemon.json").write_text(runtimes or "{}")
    words = ["dockerd", "-H", "unix://%s" % socket, "--config-file", str(here / "daemon.json"), "--data-root", str(here / "root")]
    words += ["--exec-root", str(here / "exec"), "-p", str(here / "pid"), "--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false"]
    asks = ["docker", "-H", "unix://%s" % socket, "version"]
    return Daemon(here, words, lambda: shutil.which("docker") and subprocess.run(asks, capture_output=True, check=False).returncode == 0), str(socket)


def load(words, tree, name=IMAGE):
    """Imports a root tree as an image."""
    packed = subprocess.run(["tar", "-C", str(tree), "-c", "."], capture_output=True, check=True).stdout
    subprocess.run([*words, "import", "-", name], input=packed, capture_output=True, check=True)


def client(at, name, words, extra=""):
    """A program of this name in a directory, that runs other words with its arguments after them."""
    path = Path(at) / name
    path.write_text('#!/bin/sh\n%s\nexec %s "$@"\n' % (extra, " ".join(words)))
    path.chmod(0o755)
    return path
