# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command can do to us, and what the live host then says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers, live, process
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost

GENEROUS = 60  # seconds a whole child test may take; the limits under test are a second or two


@pytest.fixture
def host():
    made = LiveHost(deadline=30)
    yield made
    made.close()


@pytest.fixture
def script(tmp_path):
    def write(text, name="tool", interpreter=sys.executable):
        path = tmp_path / name
        path.write_text("#!%s\n%s" % (interpreter, textwrap.dedent(text)))
        path.chmod(0o755)
        return str(path)

    return write


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


def eventually(path):
    for _unused in range(1000):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.01)
    raise AssertionError("%s did not appear" % path)


def test_a_command_says_what_it_said(host, script):
    tool = script("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    said = host.run([tool, "-x"])
    assert (said.status, said.rc, said.stdout, said.stderr, said.detail) == ("ok", 3, "out\n", "err\n", "")
    assert said.argv == [tool, "-x"] and not said.succeeded and said.reason.endswith("exit 3 (err)")


def test_no_shell_and_a_fixed_environment(monkeypatch):
    for name, value in {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LC_TIME": "de_DE", "PYTHONPATH": "/x", "PATH": "/x", "KEPT": "1"}.items():
        monkeypatch.setenv(name, value)
    host = LiveHost()
    env = dict(line.split("=", 1) for line in host.run(["env"], env={"MORE": "2"}).stdout.splitlines())
    assert (env["LC_ALL"], env["LANG"], env["PATH"], env["KEPT"], env["MORE"]) == ("C", "C", live.PATH, "1", "2")
    assert not {"LANGUAGE", "LC_TIME", "PYTHONPATH"} & set(env)
    assert host.run(["echo", "$HOME; ls | cat"]).stdout == "$HOME; ls | cat\n"
    host.close()


def test_stdin_is_given_or_empty(host):
    assert host.run(["cat"]).stdout == ""
    assert len(host.run(["cat"], stdin="x" * 300000).stdout) == 300000
    assert host.run(["true"], stdin="x" * 300000).rc == 0


def test_a_program_is_found_missing_or_refused(host, script, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert host.run(["no-such-program-at-all"]).status == answers.ABSENT
    assert host.run([str(tmp_path / "none")]).status == answers.ABSENT
    assert host.run([str(plain)]).status == answers.DENIED
    plain.chmod(0o755)
    assert (host.run([str(plain)]).status, host.run([str(plain)]).detail) == (answers.IO_ERROR, "ENOEXEC")
    assert host.run([str(tmp_path)]).status == answers.DENIED
    assert host.run(["echo", "a\0b"]).detail == "EINVAL"
    assert host.resolve("sh").value.endswith("/sh")
    assert host.resolve("no-such-program-at-all").status == answers.ABSENT


def test_a_command_that_ignores_sigterm_is_killed(host, script, tmp_path):
    tool = script(
        """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("begun", flush=True)
        open(%r, "w").write(str(os.getpid()))
        time.sleep(600)
        """
        % str(tmp_path / "pid")
    )
    said = host.run([tool], timeout=3)
    assert (said.status, said.rc, said.stdout, said.stuck_pid) == (answers.TIMEOUT, None, "begun\n", None)
    assert "no answer in time" in said.reason
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_command_may_use_sigterm_to_go(host, script):
    tool = script("import signal, sys, time; signal.signal(15, lambda *_: (print('bye'), sys.exit(0))); print('hi', flush=True); time.sleep(600)")
    said = host.run([tool], timeout=3)
    assert (said.status, said.stdout) == (answers.TIMEOUT, "hi\nbye\n")


@pytest.mark.parametrize("moved", ["", "os.setpgid(0, 0)"])
def test_children_that_hold_the_pipes_do_not_hold_us(host, script, tmp_path, moved):
    tool = script(
        """
        import os, signal, time
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            %s
            with open(%r, "w") as file: file.write(str(os.getpid()))
            os.rename(file.name, %r)
            time.sleep(600)
        while not os.path.exists(%r): time.sleep(0.01)
        print("done")
        """
        % (moved, str(tmp_path / "pid.new"), str(tmp_path / "pid"), str(tmp_path / "pid"))
    )
    said = host.run([tool], timeout=20)
    assert (said.status, said.rc, said.stdout) == (answers.OK, 0, "done\n")
    assert "held its output" in said.detail
    assert gone(int(eventually(tmp_path / "pid")))


def test_a_daemon_that_left_the_session_is_left_alone_and_not_waited_for(host, script, tmp_path):
    tool = script(
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            open(%r, "w").write(str(os.getpid()))
            time.sleep(600)
        while not os.path.exists(%r): time.sleep(0.01)
        """
        % (str(tmp_path / "pid"), str(tmp_path / "pid"))
    )
    said = host.run([tool], timeout=20)
    assert (said.status, said.rc) == (answers.OK, 0)
    os.kill(int(eventually(tmp_path / "pid")), signal.SIGKILL)


def test_the_whole_group_dies_at_the_deadline(host, script, tmp_path):
    tool = script(
        """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.fork()
        open(%r + str(os.getpid()), "w").write(str(os.getpid()))
        time.sleep(600)
        """
        % str(tmp_path / "pid-")
    )
    assert host.run([tool], timeout=3).status == answers.TIMEOUT
    pids = [int(p.read_text()) for p in tmp_path.glob("pid-*")]
    assert len(pids) == 2 and all(gone(pid) for pid in pids)


def test_a_hundred_megabytes_are_stopped(host, script):
    tool = script("import sys\nfor _ in range(1600): sys.stdout.write('x' * 65536)")
    said = host.run([tool])
    assert (said.status, len(said.stdout), said.rc) == (answers.OVERFLOW, 8 << 20, None)
    said = host.run([script("import sys\nfor _ in range(1600): sys.stderr.write('x' * 65536)", "loud")])
    assert (said.status, len(said.stderr)) == (answers.OVERFLOW, 1 << 18)
    assert host.run(["echo", "12345678"], limit=4).stdout == "1234"


def test_bytes_that_are_not_utf8_are_replaced(host, script):
    said = host.run([script(r"import os; os.write(1, b'a\xff\xfeb'); os.write(2, b'\xc3')")])
    assert (said.status, said.stdout, said.stderr) == (answers.OK, "a��b", "�")


def test_colors_are_no_part_of_what_is_said(host, script):
    assert host.run([script("print('\\033[1;31mGPU 0\\033[0m ok')")]).stdout == "GPU 0 ok\n"


def test_death_by_signal_is_named(host, script):
    said = host.run([script("import os; print('x', flush=True); os.kill(os.getpid(), 11)")])
    assert (said.status, said.detail, said.stdout, said.rc) == (answers.SIGNALED, "SIGSEGV", "x\n", None)


def test_a_process_that_cannot_be_killed_is_named_and_left_behind(host, script, monkeypatch):
    """State D cannot be made to order; a process that no signal reaches is the same to us."""
    spared = []
    monkeypatch.setattr(process.os, "killpg", lambda pid, number: spared.append(pid))
    monkeypatch.setattr(process.os, "kill", lambda pid, number: spared.append(pid))
    said = host.run([script("import time; time.sleep(600)")], timeout=3)
    monkeypatch.undo()
    assert said.status == answers.TIMEOUT and said.stuck_pid == spared[0]
    assert "process %d (state S) could not be killed and was left behind" % said.stuck_pid in said.detail
    os.kill(said.stuck_pid, signal.SIGKILL)
    assert gone(said.stuck_pid)


def test_nothing_is_asked_after_the_deadline_of_the_module():
    host = LiveHost(deadline=0)
    for answer in (host.run(["true"]), host.read_text("/etc/passwd"), host.exists("/"), host.statvfs("/"), host.native("x", None)):
        assert answer.status == answers.TIMEOUT and "deadline" in answer.reason
    assert host.remaining() == 0


def test_a_command_gets_the_smaller_of_its_own_limit_and_what_remains(script):
    host = LiveHost(deadline=1.5)
    assert host.run([script("import time; time.sleep(600)")], timeout=600).status == answers.TIMEOUT


def test_children_hold_nothing_of_the_module(script, tmp_path):
    """A reader of the module's output sees its end while abandoned children live."""
    daemon = script(
        """
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            open(%r, "w").write(str(os.getpid()))
            time.sleep(600)
        while not os.path.exists(%r): time.sleep(0.01)
        """
        % (str(tmp_path / "pid"), str(tmp_path / "pid"))
    )
    module = """
import os, sys
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
os.dup2(1, 9, True)
host = LiveHost()
host.read_text("/proc/self/stat")
print(host.run([%r], timeout=10).status)
""" % (daemon,)
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run([sys.executable, "-c", module], capture_output=True, text=True, timeout=GENEROUS, env=env, check=False)
    assert (done.stdout, done.stderr) == ("ok\n", "")
    pid = int(eventually(tmp_path / "pid"))
    links = {os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in ("0", "1", "2")}
    assert "/dev/null" in links and not os.path.exists("/proc/%d/fd/9" % pid)
    os.kill(pid, signal.SIGKILL)


def test_many_commands_leave_no_descriptor_and_no_zombie(host):
    host.run(["true"])
    before = len(os.listdir("/proc/self/fd"))
    for _unused in range(20):
        host.run(["true"])
        host.run(["no-such-program-at-all"])
        host.run(["/etc"])
    assert len(os.listdir("/proc/self/fd")) == before
    children = subprocess.run(["ps", "-o", "stat=", "--ppid", str(os.getpid())], capture_output=True, text=True, timeout=GENEROUS, check=False).stdout
    assert "Z" not in children


def test_what_a_command_says_is_handed_on_in_pieces(host, script):
    tool = script("import sys; sys.stdout.write('line\\n' * 200000); sys.stderr.write('err')")
    pieces = []
    said = host.run([tool], limit=1 << 20, taker=pieces.append)
    assert (said.status, said.rc, said.stdout, said.stderr) == ("ok", 0, "", "err")
    assert len(pieces) > 1 and b"".join(pieces) == b"line\n" * 200000


def test_what_is_handed_on_has_a_limit_and_a_deadline(host, script):
    pieces = []
    said = host.run([script("while True: print('line')")], limit=100000, taker=pieces.append)
    assert (said.status, said.stdout) == ("overflow", "") and len(b"".join(pieces)) > 100000
    slow = script("import sys, time; print('begun', flush=True); time.sleep(%d)" % GENEROUS)
    said = host.run([slow], timeout=1, taker=pieces.append)
    assert (said.status, pieces[-1]) == ("timeout", b"begun\n")
