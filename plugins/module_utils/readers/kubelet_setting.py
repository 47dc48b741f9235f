# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the settings of a kubelet lie, and one of them read line by line, as the operator's preflight does.

A running kubelet: its command line, then --config-dir, then --config, nothing else. None running: kubeadm's flags, kubeadm's file, the
drop-in directories of Rancher's distributions. What cannot be looked at is an outcome of its own and never "not named".
"""

from __future__ import annotations

import posixpath
from collections import namedtuple

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT

VALUE, UNNAMED, CONFLICT, UNREADABLE, UNSEARCHABLE = "value", "unnamed", "conflict", "unreadable", "unsearchable"

COMMAND_LINE = "the kubelet's own command line"
KUBEADM_FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
KUBEADM_CONFIG = "/var/lib/kubelet/config.yaml"
RANCHER_DROP_INS = "/var/lib/rancher/*/agent/etc/kubelet.conf.d"

ENDPOINT = ("--container-runtime-endpoint", "containerRuntimeEndpoint")
TOPOLOGY_POLICY = ("--topology-manager-policy", "topologyManagerPolicy")

_MOUNTS = "where the root of the host is mounted, mount it with its sub-mounts"
_FIRST = 512  # of a command line: enough to tell whose it is
_WHOLE = 1 << 18
_FILE = 1 << 20
_MOST_FILES, _DEEPEST = 200, 8

# outcome: one of the words above; value: text; where: the source that answered; note: why there is none; running: whether a kubelet runs
Reading = namedtuple("Reading", "outcome value where note running")
# kind: flags (words), env, file or directory; configurations: each a list of File; problem: None or (outcome, reason)
Source = namedtuple("Source", "name kind configurations problem")
# linked: a link in a drop-in directory, which the kubelet follows and the operator's preflight does not; text None: it leads nowhere readable
File = namedtuple("File", "path text linked reason")


def strip_scheme(text):
    return text[7:] if text.startswith("unix://") else text


def flag_values(words, flag):
    """Every value of a flag, "--flag=value" and "--flag value", in order; the whole name must match."""
    found = []
    for position, word in enumerate(words):
        if word.startswith(flag + "="):
            found.append(word[len(flag) + 1 :])
        elif word == flag:
            found.append(words[position + 1] if position + 1 < len(words) else "")
    return found


def flag(words, name):
    """The last value of a flag; an empty one counts as none."""
    values = flag_values(words, name)
    return values[-1] or None if values else None


def line_value(text, key):
    """The value as the operator's preflight reads it: by line, whatever the syntax. Last hit wins."""
    last = None
    for line in text.splitlines():
        line = line.strip()
        place = -1 if line.startswith("#") else line.rfind(key)
        words = line[place + len(key) :].split() if place >= 0 else []
        value = strip_scheme(words[0].strip("\"'")) if words else ""
        last = value or last
    return last


def _gone(answer):
    return answer.status == ABSENT or "ESRCH" in answer.detail


class Kubelet:
    """The kubelet of a host: its process, where its settings lie, and the files there, each read once."""

    def __init__(self, host):
        self.host = host
        self.pid, self.words, self.others = None, [], []
        self.embedding = {}  # base name of a program that may have a kubelet inside -> (pid, words), the lowest pid
        self.problem = self._scan()  # why the process table says nothing, None when it was read
        self._sources = None

    @property
    def running(self):
        return self.pid is not None

    # -- the process -----------------------------------------------------------------------------------------------

    def _command(self, pid, limit):
        answer = self.host.read_bytes("/proc/%d/cmdline" % pid, limit)
        words = [w for w in answer.value.decode("utf-8", "surrogateescape").split("\0") if w] if answer.ok else []
        return answer, words

    def _scan(self):
        listed = self.host.listdir("/proc")
        if not listed.ok:
            return "%s; %s" % (listed.reason, _MOUNTS)
        pids = sorted(int(name) for name in listed.value if name.isdigit() and name.isascii() and len(name) < 10)
        if not pids:
            return "/proc lists no process; %s" % _MOUNTS
        if pids[0] != 1:
            return "/proc does not list process 1: processes of others are hidden (hidepid)"
        kubelets = []
        for pid in pids:
            answer, words = self._command(pid, _FIRST)
            name = posixpath.basename(words[0]) if words else ""
            if answer.ok and answer.truncated and (name in ("kubelet", *EMBEDDING) or len(words) < 2):
                answer, words = self._command(pid, _WHOLE)
                name = posixpath.basename(words[0]) if words else ""
            if not answer.ok:
                if _gone(answer):
                    continue
                return "%s; processes of others may be hidden (hidepid)" % answer.reason
            if name == "kubelet":
                if answer.truncated:
                    return "%s: longer than is read" % answer.subject
                kubelets.append((pid, words))
            elif name in EMBEDDING and name not in self.embedding and (EMBEDDING[name] is None or set(words[1:]) & set(EMBEDDING[name])):
                self.embedding[name] = (pid, words)
        if kubelets:
            self.pid, self.words = kubelets[0]
            self.others = [pid for pid, _words in kubelets[1:]]
        return None

    # -- its sources -----------------------------------------------------------------------------------------------

    def sources(self):
        """Where a setting may be named, in the order in which they answer."""
        if self._sources is None:
            self._sources = self._running_sources() if self.running else self._standard_sources()
        return self._sources

    def _running_sources(self):
        found = [Source(COMMAND_LINE, "flags", [], None)]
        directory, config = (flag(self.words, name) for name in ("--config-dir", "--config"))
        if directory:
            path = posixpath.normpath("/" + directory.lstrip("/"))
            files, problem = self.drop_ins(path)
            found.append(Source(path, "directory", [files], problem))
        if config:
            found.append(self.file(posixpath.normpath("/" + config.lstrip("/")), "file", True))
        return found

    def _standard_sources(self):
        return [self.file(KUBEADM_FLAGS, "env", False), self.file(KUBEADM_CONFIG, "file", False), self.directories(RANCHER_DROP_INS)]

    def file(self, path, kind, required):
        """One file as a source; one that is not required may be absent."""
        answer = self.host.read_text(path, _FILE)
        if answer.status == ABSENT and not required:
            return Source(path, kind, [], None)
        problem = (UNREADABLE, answer.reason) if not answer.ok else (UNREADABLE, "%s: longer than is read" % path) if answer.truncated else None
        return Source(path, kind, [[File(path, answer.value, False, "")]] if problem is None else [], problem)

    def directories(self, pattern):
        listed = self.host.glob(pattern)
        if not listed.ok:
            return Source(pattern, "directory", [], None if listed.status == ABSENT else (UNSEARCHABLE, listed.reason))
        found = []
        for path in listed.value:
            files, problem = self.drop_ins(path)
            if problem:
                return Source(pattern, "directory", [], problem)
            found.append(files)
        return Source(pattern, "directory", found, None)

    def drop_ins(self, directory):
        """([File] of its *.conf, below it too, in the order in which they are walked; None or the problem)."""
        files, waiting = [], [(directory, 0)]
        while waiting:
            path, depth = waiting.pop()
            if depth >= 0:
                listed = self.host.listdir(path)
                if not listed.ok:
                    return [], (UNSEARCHABLE, listed.reason)
                if depth > _DEEPEST or len(listed.value) > _MOST_FILES:
                    return [], (UNSEARCHABLE, "%s: more than is walked" % path)
                for name in sorted(listed.value, reverse=True):
                    kind = self._kind(path + "/" + name)
                    if kind is None:
                        return [], (UNSEARCHABLE, self.host.stat(path + "/" + name).reason)
                    if kind == "directory":
                        waiting.append((path + "/" + name, depth + 1))
                    elif kind != "other" and name.endswith(".conf"):
                        waiting.append((path + "/" + name, -1 if kind == "file" else -2))
            elif len(files) >= _MOST_FILES:
                return [], (UNSEARCHABLE, "%s: more than is walked" % directory)
            else:
                source = self.file(path, "file", True)
                if source.problem and depth == -1:
                    return [], source.problem
                text = None if source.problem else source.configurations[0][0].text
                files.append(File(path, text, depth == -2, source.problem[1] if source.problem else ""))
        return files, None

    def _kind(self, path):
        """ "file", "directory", "link" or "other": what the entry itself is. None when it is not known."""
        if self.host.readlink(path).ok:
            return "link"
        answer = self.host.stat(path)
        kind = answer.value.get("type") if answer.ok else None
        return kind if kind in ("file", "directory") or not answer.ok else "other"

    # -- one setting -----------------------------------------------------------------------------------------------

    def setting(self, name, field, what="value"):
        """A setting by its flag and its field, as the operator's preflight reads it. what: its name in the note."""
        if self.problem:
            return Reading(UNSEARCHABLE, None, None, "could not look for a kubelet: %s" % self.problem, None)
        for source in self.sources():
            if source.problem:
                return Reading(source.problem[0], None, source.name, source.problem[1], self.running)
            if source.kind == "flags":
                values = [strip_scheme(flag(self.words, name) or "")]
            else:
                key = name + "=" if source.kind == "env" else field + ":"
                values = [self._last(files, key) for files in source.configurations]
            values = sorted({v for v in values if v})
            if len(values) > 1:
                return Reading(CONFLICT, None, source.name, "%s: configurations disagree: %s" % (source.name, ", ".join(values)), self.running)
            if values:
                return Reading(VALUE, values[0], source.name, "", self.running)
        return Reading(UNNAMED, None, None, self.unnamed(what), self.running)

    def skipped(self):
        """Links among the drop-ins: the operator's preflight takes regular files alone, the kubelet follows them."""
        if self.problem:
            return []
        return [file.path for source in self.sources() for files in source.configurations for file in files if file.linked]

    @staticmethod
    def _last(files, key):
        last = None
        for file in files:
            last = (None if file.linked else line_value(file.text, key)) or last
        return last

    def unnamed(self, what, places=None):
        places = [source.name for source in self.sources()] if places is None else places
        listed = places[0] if len(places) == 1 else "%s or %s" % (", ".join(places[:-1]), places[-1])
        if self.running:
            return "the running kubelet names no %s in %s" % (what, listed)
        return "no kubelet runs, and no %s is named in %s; a later kubelet may still get one on its command line" % (what, listed)


# Programs with a kubelet inside, or that start one, and the words that make them a node: k3s(1) server and agent, MicroK8s' kubelite.
EMBEDDING = {
    "k3s": ("server", "agent"),
    "k3s-server": None,
    "k3s-agent": None,
    "rke2": ("server", "agent"),
    "kubelite": None,
}


def read(host, name, field, what="value"):
    """One setting: ENDPOINT or TOPOLOGY_POLICY."""
    return Kubelet(host).setting(name, field, what)
