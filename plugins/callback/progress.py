# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live line about the nodes of a play on a terminal, and at the end the findings of the run by cause."""

from __future__ import annotations

DOCUMENTATION = r"""
name: progress
type: aggregate
short_description: Show how many nodes are done while a play runs, and the findings by cause at its end
version_added: 0.2.0
author:
  - Fleetproof maintainers (@fleetproof)
description:
  - While a play reads several nodes, the last line of the terminal tells how many are done, are being read and wait, and names the slowest.
  - The line is taken away before anything else is printed, so it stands beside any stdout callback and leaves nothing behind.
  - At the end the findings that M(fleetproof.accelerator.run_fold) made are listed by cause in at most 80 columns.
  - It is quiet where nobody watches, in a pipe, in continuous integration and in AWX, and with C(TERM=dumb).
options:
  table:
    description:
      - When to print the table of findings at the end of a playbook that judged a run.
    type: str
    choices:
      terminal: Where the live line is shown.
      always: Also into pipes and logs.
      never: Not at all.
    default: terminal
    env:
      - name: FLEETPROOF_PROGRESS_TABLE
    ini:
      - section: callback_fleetproof_progress
        key: table
requirements:
  - to be named in C(callbacks_enabled) of C(ansible.cfg) or in the environment variable C(ANSIBLE_CALLBACKS_ENABLED)
"""

EXAMPLES = r"""
# ansible.cfg
# [defaults]
# callbacks_enabled = fleetproof.accelerator.progress
"""

import atexit
import json
import os
import sys
import threading
import time

from ansible.plugins.callback import CallbackBase
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import text

# What says that a machine reads the output.
UNWATCHED = ("CI", "JOB_ID", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "BUILDKITE", "TEAMCITY_VERSION")
UNWATCHED_PREFIXES = ("AWX_", "TOWER_", "JENKINS_", "RUNNER_")  # the last of ansible-runner, which gives ansible-playbook a terminal
EVERY = 0.5  # seconds between two looks at the clock
CLEAR = "\r\x1b[K"
FOLD = "run_fold"


def watched(stream, environment):
    """Whether a person looks at the stream through a terminal that understands us."""
    if environment.get("TERM", "dumb") in ("", "dumb") or any(environment.get(name) for name in UNWATCHED):
        return False
    if any(name.startswith(UNWATCHED_PREFIXES) for name in environment):
        return False
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def flat(tasks):
    """The tasks of blocks within blocks, in order."""
    for task in tasks:
        if isinstance(task, (list, tuple)):
            yield from flat(task)
        elif getattr(task, "block", None) is not None:
            yield from flat([*task.block, *task.rescue, *task.always])
        else:
            yield task


class Nodes:
    """Which nodes of a play are done, being worked on, and waiting."""

    def __init__(self, hosts, last):
        self.hosts, self.last = hosts, last
        self.steps = {}  # node -> tasks it has finished
        self.active = {}  # node -> (task, since)
        self.done = set()

    def start(self, host, task, now):
        self.active[host] = (task, now)
        self.steps.setdefault(host, 0)
        self.done.discard(host)

    def finish(self, host, task, lost):
        self.active.pop(host, None)
        self.steps[host] = self.steps.get(host, 0) + 1
        if lost or task == self.last:
            self.done.add(host)

    def line(self, now, width):
        """`9 of 12 nodes done, 2 running, 1 waiting; slowest: gpu-h03, 42 s in NAME`, in at most width columns."""
        total = len(self.hosts)
        waiting = sum(1 for host in self.hosts if host not in self.steps)
        shown = "%d of %d nodes done, %d running, %d waiting" % (len(self.done), total, total - waiting - len(self.done), waiting)
        if self.active:
            host = min(self.active, key=lambda name: (self.steps[name], self.active[name][1], name))
            task, since = self.active[host]
            shown += "; slowest: %s, %d s in %s" % (text.safe(host, 60), now - since, text.safe(getattr(task, "name", "") or "a task", 100))
        return text.wrap(shown, max(width, 20))[0] if text.columns(shown) > width else shown


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "fleetproof.accelerator.progress"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.watched = watched(sys.stdout, os.environ)
        self._owner, self._descriptor = os.getpid(), sys.stdout.fileno() if self.watched else 1
        self._lock = threading.RLock()
        self._drawn, self._held = False, False
        self._nodes = self._thread = self._print = None
        self._stop = threading.Event()
        self._judgement = None

    # -- the line ----------------------------------------------------------------------------------------------------------

    def _begin(self):
        """What else is printed goes through us, so that the line is never in its way; a clock draws it when nothing happens."""
        if self._print is None:
            self._print = self._display.display
            self._display.display = self._beside
            atexit.register(self._end)
        if self._thread is None or not self._thread.is_alive():
            self._stop.clear()
            self._thread = threading.Thread(target=self._tick, name="fleetproof-progress", daemon=True)
            self._thread.start()

    def _beside(self, *args, **kwargs):
        if os.getpid() != self._owner:  # a worker: it hands on to the process that owns the terminal
            return self._print(*args, **kwargs)
        with self._lock:
            self._clear()
            self._print(*args, **kwargs)
            sys.stdout.flush()
            self._draw()
        return None

    def _tick(self):
        while not self._stop.wait(EVERY):
            with self._lock:
                self._draw()

    def _draw(self):
        if self._nodes is None or self._held or self._stop.is_set():
            return
        try:
            width = os.get_terminal_size(self._descriptor).columns
        except OSError:
            width = 0
        line = self._nodes.line(time.monotonic(), (width or 80) - 1)
        self._write(CLEAR + line)
        self._drawn = True

    def _clear(self):
        if self._drawn:
            self._write(CLEAR)
            self._drawn = False

    def _write(self, shown):
        # Not through sys.stdout: a worker that is forked meanwhile would inherit its lock.
        try:
            os.write(self._descriptor, shown.encode(sys.stdout.encoding or "utf-8", "replace"))
        except (OSError, ValueError):
            self._stop.set()  # the terminal went away

    def _end(self):
        """Leave the terminal as it would be without us."""
        if os.getpid() != self._owner:
            return
        self._stop.set()
        with self._lock:
            self._nodes = None
            self._clear()
        if self._print is not None:
            self._display.__dict__.pop("display", None)
            self._print = None

    # -- events ------------------------------------------------------------------------------------------------------------

    def v2_playbook_on_play_start(self, play):
        if not self.watched:
            return
        with self._lock:
            self._clear()
            self._nodes = None
        hosts = list(play.get_variable_manager().get_vars(play=play).get("ansible_play_hosts_all") or [])
        tasks = list(flat(play.get_tasks()))
        if len(hosts) < 2 or (tasks and all(task.run_once for task in tasks)):
            return
        with self._lock:
            self._nodes = Nodes(hosts, tasks[-1]._uuid if tasks else None)
        self._begin()

    def v2_playbook_on_task_start(self, task, is_conditional):
        with self._lock:
            self._held = str(task.action).rpartition(".")[2] == "pause"  # it asks on the line where we would draw
            if self._held:
                self._clear()

    def v2_playbook_on_vars_prompt(self, *args, **kwargs):
        with self._lock:
            self._clear()

    def v2_runner_on_start(self, host, task):
        with self._lock:
            if self._nodes is not None:
                self._nodes.start(host.get_name(), task, time.monotonic())

    def v2_runner_on_ok(self, result):
        self._finished(result, False)
        if str(result.task.action).rpartition(".")[2] == FOLD:
            told = result.result.get("judgement")
            self._judgement = told if isinstance(told, str) else None

    def v2_runner_on_skipped(self, result):
        self._finished(result, False)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._finished(result, not ignore_errors)

    def v2_runner_on_unreachable(self, result):
        self._finished(result, not result.task.ignore_unreachable)

    def _finished(self, result, lost):
        with self._lock:
            if self._nodes is not None:
                self._nodes.finish(result.host.get_name(), result.task._uuid, lost)
                self._draw()

    def v2_playbook_on_stats(self, stats):
        self._end()
        when = self.get_option("table")
        if self._judgement and (when == "always" or (when == "terminal" and self.watched)):
            shown = causes(os.path.join(self._judgement, "fleet.json"))
            if shown:
                self._display.display(shown)


def causes(path):
    """The table of a fleet document; empty without one that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return text.causes(json.load(file))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return ""
