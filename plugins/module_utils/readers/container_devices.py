# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators that running containers hold and can no longer use.

Two ways to lose one (NVIDIA Container Toolkit, "Containers losing access to GPUs"): the driver was loaded again and its nodes have other numbers now,
or systemd wrote the device cgroup anew from its own list, on which they are not. Containers are found by their cgroups, the nodes by /proc/<pid>/root.
The rules of cgroup 2 are a program in the kernel that no file shows: there only what would be lost is known, by the links of /dev/char.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown, whole

_CONTAINER = re.compile(r"(?:(?:cri-containerd|docker|crio|libpod|nerdctl)-)?([0-9a-f]{64})(?:\.scope)?\Z")
_ABOVE = re.compile(r"(?:kubepods.*|burstable|besteffort|pod.*|system\.slice|machine\.slice|docker|cri-containerd|libpod_parent)\Z")
_BELOW_SYSTEM = re.compile(r"docker-|cri-containerd-|nerdctl-|libpod-")
# Nodes of drivers that choose their numbers as they are loaded, by the names that the makers' device plugins hand out; NVIDIA's cards always have 195.
_NODES = re.compile(r"(?:nvidia|m?kfd|davinci|devmm_svm|hisi_hdc|cambricon_|iluvatar|mx[cgn]d|mtgpu|alixpu|neuron)[\w-]*\Z")
_MOST, _SHOWN = 2000, 100
_GONE = (ABSENT, NOT_A_DIRECTORY)


def _cgroups(host, base):
    """([(path, id)] of the containers' cgroups below base, why not all are known or "")."""
    found, waiting, asked = [], [base], 0
    while waiting:
        path = waiting.pop()
        asked += 1
        if asked > _MOST:
            return found, "more than %d cgroups" % _MOST
        listed = host.listdir(path)
        if not listed.ok:
            if path == base or listed.status not in _GONE:
                return found, listed.reason
            continue
        for name in listed.value:
            container = _CONTAINER.match(name)
            if container:
                found.append(("%s/%s" % (path, name), container.group(1)))
            elif _ABOVE.match(name) and (path == base or not path.endswith("system.slice") or _BELOW_SYSTEM.match(name)):
                waiting.append("%s/%s" % (path, name))
    return sorted(found, key=lambda one: one[1]), ""


def _numbers(answer):
    facts = answer.value if answer.ok else {}
    return (facts["major"], facts["minor"]) if facts.get("type") == "char" and "major" in facts and "minor" in facts else None


def _allowed(rules, numbers):
    """Whether a list of cgroup 1 lets a container open a node."""
    for rule in rules.splitlines():
        words = rule.split()
        if words == ["a", "*:*", "rwm"]:
            return True
        if len(words) == 3 and words[0] == "c" and "r" in words[2] and all(s in ("*", str(n)) for s, n in zip(words[1].split(":"), numbers)):
            return True
    return False


class _Look:
    def __init__(self, host, majors):
        self.host, self.majors, self._own = host, majors, {}
        self.lost, self.unread, self.with_devices = [], [], 0

    def own(self, name):
        """The numbers of the host's node of that name, None where it has none."""
        if name not in self._own:
            self._own[name] = _numbers(self.host.stat("/dev/" + name))
        return self._own[name]

    def _why(self, name, numbers, rules):
        if numbers[0] not in self.majors:
            return "no driver has this number"
        if self.own(name) not in (None, numbers):
            return "%d:%d on the host" % self.own(name)
        return "refused by its device cgroup" if rules is not None and not _allowed(rules, numbers) else ""

    def container(self, ident, pid, names, cgroup):
        """cgroup: where cgroup 1 keeps its devices, None with cgroup 2."""
        names = [name for name in names if _NODES.match(name)]
        rules = None
        for name in names[:_SHOWN]:
            answer = self.host.stat("/proc/%d/root/dev/%s" % (pid, name))
            numbers = _numbers(answer)
            if numbers is None:
                if not answer.ok and answer.status not in _GONE:
                    self.unread.append(answer.reason)
                continue
            if cgroup and rules is None:
                listed = self.host.read_text(cgroup + "/devices.list", 1 << 16)
                rules = listed.value if listed.ok else None
            why = self._why(name, numbers, rules)
            if why and len(self.lost) < _SHOWN:
                self.lost.append({"container": ident[:12], "pid": pid, "device": "/dev/" + name, "numbers": "%d:%d" % numbers, "reason": why})
        self.with_devices += bool(names)


def _majors(text):
    """Numbers of the character devices in /proc/devices."""
    part = text.partition("Block devices:")[0]
    return {whole(line.split()[0]) for line in part.splitlines() if line.split()}


def _unlinked(host, names):
    """Of the host's nodes those without a link in /dev/char, by which systemd finds what runc asks it to allow."""
    linked, missing = host.listdir("/dev/char"), []
    if not linked.ok and linked.status != ABSENT:
        return unknown(linked.reason)
    for name in names:
        numbers = _numbers(host.stat("/dev/" + name))
        if numbers and "%d:%d" % numbers not in (linked.value or ()):
            missing.append("/dev/" + name)
    return missing[:_SHOWN]


def read(host, version):
    """The group `containers` of the section container_runtime. version: of the cgroups, 1 or 2."""
    own = host.listdir("/dev")
    table = host.read_text("/proc/devices", 1 << 16)
    if not own.ok or not table.ok:
        return unknown(own.reason if not own.ok else table.reason)
    names = sorted(name for name in own.value if _NODES.match(name))
    cgroups, trouble = _cgroups(host, "/sys/fs/cgroup" if version == 2 else "/sys/fs/cgroup/devices")
    if trouble and not cgroups:
        return unknown(trouble)
    look, checked, mounted = _Look(host, _majors(table.value)), 0, 0
    for path, ident in cgroups:
        listed = host.read_text(path + "/cgroup.procs", 1 << 16)
        pids = [word for word in listed.value.split() if whole(word) is not None] if listed.ok else []
        if not pids:
            continue  # it ended, or has groups of its own
        pid = int(pids[0])
        dev = host.listdir("/proc/%d/root/dev" % pid)
        if not dev.ok:
            if dev.status not in _GONE:
                look.unread.append(dev.reason)
            continue
        checked += 1
        if dev.value == own.value:
            mounted += 1  # it has the host's own /dev; where the host is mounted elsewhere, each seems to
        else:
            look.container(ident, pid, dev.value, path if version == 1 else None)
    if checked and checked == mounted:
        return unknown("each container shows the host's own /dev: read it on the node itself")
    return {
        "checked": checked,
        "with_devices": look.with_devices,
        "lost": look.lost,
        "unread": sorted(set(look.unread + ([trouble] if trouble else [])))[:20],
        "cgroup_rules": "read" if version == 1 else not_applicable("cgroup 2 shows them in no file"),
        "unlinked": _unlinked(host, names),
    }
