# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that nodes share: a rule is asked once about what does not differ from node to node.

Rules are pure, so equal facts give equal answers. A rule is first asked about the steady part of a device or section alone;
where it looks beyond that part, it is asked about every such device or node in full. So an answer from memory is always the one
that the rule would give; which facts are called steady decides only how often memory serves.
"""

from __future__ import annotations

import marshal
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import PASSED, NoAnswer, Outcome
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import Device, Facts

DEVICE = (
    "compute_mode", "confidential_computing", "ecc", "fabric", "firmware", "health", "kind", "links", "memory_mib", "name", "partition",
    "pcie", "persistence", "processes", "recovery_action", "retired_pages", "row_remap", "throttle",
)  # fmt: skip
SECTIONS = {
    "host": ("bios", "bmc", "cpu", "huge_pages", "limits", "modules", "numa_balancing", "os", "python", "security", "services", "virtualization"),
    "settings": ("cgroup", "command_line", "driver_builds", "huge_pages", "kernels", "limits", "modules", "numa_balancing", "security", "sysctl", "thp"),
    "hardware": ("cpu", "dimms", "firmware", "memory", "mitigations", "tpm"),
}
MOST = 1024  # kinds of devices or sections kept
_DEVICE, _SECTIONS = frozenset(DEVICE), {name: frozenset(keys) for name, keys in SECTIONS.items()}


class More(Exception):
    """A rule looks at something that is not steady."""


def _more(*_arguments):
    raise More


class _Part(dict):
    """The steady part of an object: whatever is not in it raises More."""

    __slots__ = ("steady",)

    def __missing__(self, key):
        raise KeyError(key) if key in self.steady else More()

    get = items = keys = values = __contains__ = __iter__ = __len__ = _more


def _part(data, steady):
    part = _Part((key, dict.__getitem__(data, key)) for key in steady if key in data)
    part.steady = steady
    return part


class _Group:
    def __init__(self, manufacturer):
        self.manufacturer = manufacturer

    __getattr__ = _more


class _Device(Device):
    __slots__ = ()

    def __init__(self, device):
        Facts.__init__(self, _part(device.data, _DEVICE))
        self.group, self.name, self.kind = _Group(device.manufacturer), device.name, device.kind

    id = property(_more)


class _View:
    """A node of which only the steady parts of some sections and its policy are known."""

    def __init__(self, view, names):
        self.policy = view.policy
        self._parts = {name: Facts(_part(view.sections[name]["data"], _SECTIONS[name]), name) for name in names}

    def section(self, name):
        return self._parts[name] if name in self._parts else _more()

    def missing(self, name):
        return None if name in self._parts else _more()

    __getattr__ = _more


class Answers(NamedTuple):
    """What rules answered, by position in the list of rules asked; those that passed are in none of them."""

    plain: tuple  # (position, outcome, reason): about the subject at hand
    odd: tuple  # (position, Outcome or list of them)
    full: tuple  # positions of rules that look beyond the steady part
    values: tuple  # (position, ("value", value) or (outcome, reason)) of rules that compare nodes


class Memory:
    """Answers of a policy's rules. rules: [(rule, parameters)]; all about devices, or all about the sections named."""

    def __init__(self, rules, names=()):
        self.rules = rules
        self.names = names
        self._known = {}

    def of_device(self, device):
        data = device.data
        key = marshal.dumps((device.manufacturer, [data.get(name, ...) for name in DEVICE]), 0)
        return self._known.get(key) or self._learn(key, _Device(device))

    def of_sections(self, view):
        """None where one of the sections was not read."""
        for name in self.names:
            if view.missing(name) is not None:
                return None
        sections = view.sections
        key = marshal.dumps([[sections[name]["data"].get(fact, ...) for fact in SECTIONS[name]] for name in self.names], 0)
        return self._known.get(key) or self._learn(key, _View(view, self.names))

    def _learn(self, key, subject):
        plain, odd, full, values = [], [], [], []
        for position, (rule, params) in enumerate(self.rules):
            try:
                result = rule.check(subject, params)
            except More:
                full.append(position)
                continue
            except NoAnswer as no:
                result = Outcome(no.outcome, no.reason)
            if rule.scope == "cohort":
                values.append((position, (result.outcome, result.reason) if result.__class__ is Outcome else ("value", result)))
            elif result.__class__ is Outcome:
                if result.outcome == "found" or result.subject is not None:
                    odd.append((position, result))
                elif result is not PASSED and result.outcome != "passed":
                    plain.append((position, result.outcome, result.reason))
            else:
                odd.append((position, result))
        if len(self._known) >= MOST:
            self._known.clear()
        answers = self._known[key] = Answers(tuple(plain), tuple(odd), tuple(full), tuple(values))
        return answers
