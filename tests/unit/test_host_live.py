# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine can do to a read, and what the live host then says."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers, live, process
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost

ROOT = os.geteuid() == 0
GENEROUS = 60  # seconds a whole child test may take; the limits under test are a second or two


@pytest.fixture
def host():
    made = LiveHost(deadline=30)
    yield made
    made.close()


def gone(pid):
    """Whether a process is dead (a zombie nobody has collected counts); given some time, since signals are asynchronous."""
    for _unused in range(500):
        try:
            with open("/proc/%d/stat" % pid) as stat:
                if stat.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_files_directories_and_links(host, tmp_path):
    (tmp_path / "file").write_bytes(b"one\ntwo \xff\n")
    (tmp_path / "empty").mkdir()
    os.symlink("file", tmp_path / "link")
    os.symlink("nowhere", tmp_path / "dangling")
    os.chmod(tmp_path / "file", 0o640)
    here = str(tmp_path)
    assert host.read_bytes(here + "/link").value == b"one\ntwo \xff\n"
    assert host.read_text(here + "/file").value == "one\ntwo �\n"
    assert host.read_lines(here + "/file") == ["one", "two �"]
    cut = host.read_bytes(here + "/file", 3)
    assert (cut.value, cut.truncated) == (b"one", True)
    assert not host.read_bytes(here + "/file", 10).truncated
    assert sorted(host.listdir(here).value) == ["dangling", "empty", "file", "link"]
    assert host.listdir(here + "/empty").value == []
    assert host.listdir(here + "/file").status == answers.NOT_A_DIRECTORY
    assert (host.readlink(here + "/link").value, host.readlink(here + "/file").detail) == ("file", "EINVAL")
    assert [host.exists(here + "/" + n).value for n in ("file", "link", "dangling", "none", "file/x")] == [True, True, False, False, False]
    facts = host.stat(here + "/link").value
    assert (facts["type"], facts["mode"], facts["size"], facts["uid"]) == ("file", "0640", 10, os.getuid())
    assert host.stat("/dev/null").value["major"] == 1
    assert set(host.statvfs(here).value) == {"size", "free", "inodes", "inodes_free"}
    assert host.read_text(here + "/none").status == answers.ABSENT
    assert host.read_text(here).status == answers.IS_A_DIRECTORY
    assert host.read_text(here + "/file/x").status == answers.NOT_A_DIRECTORY
    assert host.read_text(here + "/" + "x" * 300).detail == "ENAMETOOLONG"
    assert host.read_text(here + "/a\0b").detail == host.read_text(here + "/\ud800").detail == "EINVAL"
    assert host.glob(here + "/*").value == [here + "/" + n for n in ("dangling", "empty", "file", "link")]
    assert int(host.read_text("/proc/self/stat").value.split()[0]) != os.getpid()


def test_a_fifo_a_device_and_a_socket_are_no_files(host, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    for path, kind in ((tmp_path / "fifo", "fifo"), ("/dev/zero", "char"), (tmp_path / "socket", "socket")):
        answer = host.read_text(str(path))
        assert (answer.status, answer.detail) == (answers.NOT_A_FILE, kind)
        assert host.stat(str(path)).value["type"] == kind
    listener.close()


def test_a_loop_of_links_is_a_loop(host, tmp_path):
    os.symlink("b", tmp_path / "a")
    os.symlink("a", tmp_path / "b")
    for root, path in (("/", str(tmp_path / "a")), (str(tmp_path), "/a")):
        looped = LiveHost(root=root)
        for answer in (looped.read_text(path), looped.exists(path), looped.stat(path), looped.listdir(path)):
            assert answer.status == answers.LOOP
        looped.close()


def test_an_unreadable_file_is_denied(tmp_path):
    os.chmod(tmp_path, 0o755)
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    (tmp_path / "shut").mkdir(mode=0)
    if ROOT:
        pid = os.fork()
        if pid == 0:
            try:
                for directory in [tmp_path, *tmp_path.parents]:
                    if directory.stat().st_uid == 0 and directory.stat().st_mode & 0o001 == 0:
                        os.chmod(directory, directory.stat().st_mode | 0o011)
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                denied(tmp_path)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
    else:
        denied(tmp_path)


def denied(directory):
    # the interpreter of this test may lie where only root may go
    interpreter = sys.executable if os.access(sys.executable, os.X_OK) else "/usr/bin/python3"
    sys.executable = interpreter
    host = LiveHost()
    assert host.is_root().value is False
    answer = host.read_text(str(directory / "secret"))
    assert (answer.status, answer.detail) == (answers.DENIED, "EACCES"), answer
    assert host.exists(str(directory / "secret")).value is True
    assert host.stat(str(directory / "secret")).value["mode"] == "0000"
    assert host.listdir(str(directory / "shut")).status == answers.DENIED
    assert host.exists(str(directory / "shut" / "x")).status == answers.DENIED
    assert host.run([str(directory / "secret")]).status == answers.DENIED
    host.close()


def test_a_read_that_blocks_is_given_up_and_the_next_one_answered(host, monkeypatch):
    """A stopped helper is what a helper in a blocking read looks like from outside."""
    monkeypatch.setattr(live, "READ_SECONDS", 2.0)
    assert host.exists("/").value is True
    stopped = host._helper.pid
    os.kill(stopped, signal.SIGSTOP)
    answer = host.read_text("/etc/passwd")
    assert (answer.status, answer.detail) == (answers.TIMEOUT, "no answer in time")
    assert gone(stopped)
    assert host.read_text("/proc/version").ok
    assert host._helper.pid != stopped


def fuse(directory):
    """A file system whose server never answers: every access blocks in the kernel, as with a dead NFS server."""
    fd = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
    if libc.mount(b"dead", str(directory).encode(), b"fuse", 0, options.encode()) != 0:
        os.close(fd)
        pytest.skip("no FUSE mount here: %s" % os.strerror(ctypes.get_errno()))
    return fd, libc


@pytest.mark.skipif(not ROOT or not os.path.exists("/dev/fuse"), reason="needs root and /dev/fuse")
def test_a_dead_file_system_costs_one_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "READ_SECONDS", 2.0)
    mount = tmp_path / "dead"
    mount.mkdir()
    fd, libc = fuse(mount)
    host = LiveHost(deadline=30)
    try:
        for ask in (host.read_text, host.listdir, host.stat, host.statvfs, host.readlink):
            answer = ask(str(mount / "file"))
            assert answer.status == answers.TIMEOUT and "no answer in time" in answer.detail
            assert host.read_text("/proc/version").ok
        said = host.run([str(mount / "tool")], timeout=0.5)  # exec itself blocks
        assert said.status == answers.TIMEOUT and "no answer in time" in said.detail
        looking = LiveHost(path="%s:/usr/bin:/bin" % mount)
        assert looking.run(["true"]).rc == 0
        assert looking.run(["no-such-program-at-all"]).status == answers.ABSENT
        looking.close()
        mounted = LiveHost(root=str(tmp_path))
        assert mounted.read_text("/dead/x").status == answers.TIMEOUT
        mounted.close()
    finally:
        host.close()
        os.close(fd)
        libc.umount2(str(mount).encode(), 2)


def test_a_helper_killed_by_sigsegv_is_replaced(host):
    """Once, by something else: the question is asked again. Whenever the question is asked: that is the answer."""
    assert host.exists("/").ok
    os.kill(host._helper.pid, signal.SIGSEGV)
    gone(host._helper.pid)
    assert host.read_text("/proc/version").ok
    host._source = host._source.replace(b'b"readlink": readlink', b'b"readlink": lambda *_: os.kill(os.getpid(), 11)')
    host.close()
    assert host.exists("/").ok
    answer = host.readlink("/proc/self/exe")
    assert (answer.status, answer.detail) == (answers.SIGNALED, "SIGSEGV")
    assert host.exists("/").ok


def test_no_helper_can_be_started(monkeypatch):
    host = LiveHost()
    monkeypatch.setattr(live.sys, "executable", "/no/such/python")
    answer = host.read_text("/proc/version")
    assert answer.status == answers.IO_ERROR and "no helper process" in answer.detail
    monkeypatch.undo()
    assert host.read_text("/proc/version").ok

    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    host.close()
    monkeypatch.setattr(process.os, "fork", refuse)
    before = len(os.listdir("/proc/self/fd"))
    assert "Resource temporarily unavailable" in host.read_text("/proc/version").reason
    assert host.run(["/bin/true"]).status == answers.IO_ERROR
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_machine_itself(host):
    assert set(host.uname().value) == {"system", "node", "release", "version", "machine"}
    assert host.boot_time().value < host.now()
    assert set(host.limits().value) >= {"memlock", "nofile"}
    assert host.python().value == {"version": "%d.%d.%d" % sys.version_info[:3], "executable": sys.executable}
    assert 0 < host.remaining() <= 30 and host.is_root().value is ROOT


@pytest.fixture
def mounted(tmp_path):
    (tmp_path / "outside").write_text("outside")
    root = tmp_path / "root"
    (root / "etc/deep").mkdir(parents=True)
    (root / "usr/bin").mkdir(parents=True)
    (root / "etc/name").write_text("inside")
    os.symlink("/etc/name", root / "absolute")
    os.symlink("etc", root / "directory")
    os.symlink("../../../outside", root / "etc/deep/up")
    os.symlink("/../outside", root / "rooted")
    os.symlink("../name", root / "etc/deep/near")
    os.symlink(str(tmp_path / "outside"), root / "named")
    os.symlink("etc/deep/up", root / "twice")
    made = LiveHost(root=str(root))
    yield made
    made.close()


def test_links_are_followed_inside_the_root(mounted):
    assert mounted.read_text("/absolute").value == "inside"
    assert mounted.read_text("/directory/name").value == "inside"
    assert mounted.read_text("/etc/deep/near").value == "inside"
    assert mounted.read_text("/etc/deep/../name").value == "inside"
    assert mounted.readlink("/absolute").value == "/etc/name"
    assert mounted.readlink("/etc/name").detail == "EINVAL"
    assert mounted.listdir("/directory").value == ["deep", "name"]
    assert (mounted.stat("/absolute").value["type"], mounted.stat("/").value["type"]) == ("file", "directory")
    assert mounted.statvfs("/directory").ok
    assert mounted.glob("/dir*/name").value == ["/directory/name"]


def test_links_out_of_the_root_lead_nowhere(mounted):
    for path in ("/etc/deep/up", "/rooted", "/twice", "/../outside", "/etc/../../outside"):
        for answer in (mounted.read_text(path), mounted.exists(path), mounted.stat(path), mounted.listdir(path), mounted.statvfs(path)):
            assert (answer.status, answer.value) == (answers.OUTSIDE, None)
    assert mounted.readlink("/twice").value == "etc/deep/up"
    # the target's name is looked up below the root, where it does not exist
    assert mounted.read_text("/named").status == answers.ABSENT


def test_programs_of_a_mounted_root_are_its_own(mounted, tmp_path):
    assert mounted.run(["sh", "-c", "true"]).status == answers.ABSENT
    os.symlink("/../../bin/sh", tmp_path / "root/usr/bin/escape")
    assert mounted.resolve("escape").status == answers.ABSENT
    assert mounted.native("nvml", None).status == answers.ABSENT


@pytest.mark.skipif(not ROOT, reason="chroot needs root")
def test_a_program_is_entered_by_chroot(mounted, tmp_path):
    compiled = tmp_path / "root/usr/bin/where"
    source = tmp_path / "where.c"
    source.write_text('#include <stdio.h>\n#include <unistd.h>\nint main(){char b[99];puts(getcwd(b,99));return access("/etc/name",0)||!access("/proc/1",0);}')
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler or subprocess.run([compiler, "-static", "-o", compiled, source], timeout=GENEROUS, check=False).returncode:
        pytest.skip("no C compiler that links statically")
    said = mounted.run(["where"])
    assert (said.status, said.rc, said.stdout) == (answers.OK, 0, "/\n")


def test_without_the_right_to_chroot_it_is_denied(mounted, tmp_path, monkeypatch):
    tool = tmp_path / "root/usr/bin/tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)

    def refuse(path):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(process.os, "chroot", refuse)
    assert (mounted.run(["tool"]).status, mounted.run(["tool"]).detail) == (answers.DENIED, "EPERM")
