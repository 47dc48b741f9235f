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

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, Outcome
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import Device, Facts, accelerators_on_pci


class Shape(NamedTuple):
    """What of an object is not steady: it differs from node to node or from hour to hour, so a rule that looks there is asked about each."""

    hidden: frozenset  # keys
    within: dict  # of the object at this key: keys that are not steady
    shown: dict  # of the object at this key: only these keys are steady


def _shape(hidden, within=None, shown=None):
    return Shape(frozenset(hidden), {key: frozenset(keys) for key, keys in (within or {}).items()}, shown or {})


DEVICE = _shape(
    ("device_nodes", "id", "identity", "index", "memory_used_mib", "temperature_c", "utilization_percent"),
    {
        "clocks_mhz": ("core", "memory", "sm", "video"),
        "ecc": ("corrected_aggregate", "corrected_volatile"),
        "pcie": ("generation_current", "replay_count"),
        "power_w": ("draw",),
    },
    {
        "extra": (
            "bad_page_threshold", "board_id", "channel_repair_pending", "compatibility", "compute_mode", "confidential", "confidential_memory_mib",
            "confidential_ready", "ecc_deferred", "ecc_pending", "error_code", "firmware_range", "gpu_instances", "mig_changes", "mig_pending", "pci_device",
            "pci_events", "performance_level", "super_pod", "thermal_slowdowns", "tpc_repair_pending", "unrepairable_memory", "virtualization",
        ),
    },
)  # fmt: skip
SECTIONS = {
    "cdi": _shape(("boot_time", "drivers", "refresh", "timestamp")),
    "container_runtime": _shape(("containers", "sources", "timestamp")),
    "hardware": _shape(("event_log", "memory_modules", "sensors", "timestamp")),
    "host": _shape(
        ("time", "timestamp", "uptime_seconds"),
        {"board": ("serial",), "kernel": ("boot_time", "command_line"), "memory": ("available_mib",), "system": ("serial",)},
    ),
    "kubelet": _shape(("lines", "process", "timestamp")),
    "network_devices": _shape(("neighbors", "port_errors", "subnets", "timestamp")),
    "pci": _shape(("timestamp",)),
    "services": _shape(("names", "processes", "reboots", "timestamp")),
    "settings": _shape(("timestamp",)),
    "software": _shape(("images", "timestamp")),
    "storage": _shape(("directories", "disks", "health", "timestamp")),
}
ACCELERATORS = "accelerators"  # as rules say that they read the sections of all manufacturers
MOST = 1024  # kinds of devices or sections kept


class More(Exception):
    """A rule looks at something that is not steady."""


def _more(*_arguments):
    raise More


class _Part(dict):
    """The steady part of an object. It passes for the object; whatever is not in it, and to look at all of it, raises More."""

    __slots__ = ("_length", "_steady")

    __class__ = dict  # rules tell an object by its class

    def __missing__(self, key):
        raise KeyError(key) if self._steady(key) else More()

    def __contains__(self, key):
        return dict.__contains__(self, key) or (not self._steady(key) and _more())

    def get(self, key, default=None):
        if dict.__contains__(self, key):
            return self[key]
        return default if self._steady(key) else _more()

    def __len__(self):
        return self._length

    items = keys = values = copy = __iter__ = __eq__ = __ne__ = __repr__ = _more


def _part(kept, length, steady):
    part = _Part(kept)
    part._length, part._steady = length, steady
    return part


def _kept(data, shape):
    """The steady part of an object as plain objects."""
    kept = {}
    for key, value in data.items():
        if key in shape.hidden:
            continue
        if value.__class__ is dict:
            if key in shape.shown:
                value = {name: value[name] for name in shape.shown[key] if name in value}
            elif key in shape.within:
                hidden = shape.within[key]
                value = {name: one for name, one in value.items() if name not in hidden}
        kept[key] = value
    return kept


def _object(data, kept, shape):
    """The same as an object that passes for the whole one."""
    kept = dict(kept)
    for key, value in kept.items():
        if value.__class__ is not dict:
            continue
        if key in shape.shown:
            kept[key] = _part(value, len(data[key]), shape.shown[key].__contains__)
        elif key in shape.within:
            hidden = shape.within[key]
            kept[key] = _part(value, len(data[key]), lambda name, hidden=hidden: name not in hidden)
    return _part(kept, len(data), lambda key: key not in shape.hidden)


class _Policy:
    """Of a node's view a device has its policy at hand."""

    def __init__(self, policy):
        self.policy = policy

    __getattr__ = _more


class _Group(Facts):
    """The group of a device whose detection is ok: its driver is known, and its packages where they are what is asked about."""

    gap = None
    state = "ok"

    def __init__(self, group):
        driver = group.data.get("driver", ...)
        super().__init__(_part({} if driver is ... else {"driver": driver}, 2, lambda key: key == "driver"))
        self.manufacturer = group.manufacturer
        self.view = _Policy(group.view.policy)

    __getattr__ = _more


class _Device(Device):
    __slots__ = ()

    def __init__(self, device, group):
        self.data, self.where = _object(device.data, _kept(device.data, DEVICE), DEVICE), ""
        self.group, self.name, self.kind = group, device.name, device.kind

    id = property(_more)


class _Package(_Device):
    """One of all packages of a node: it has its name in the report."""

    id = None

    def __init__(self, device, group):
        super().__init__(device, group)
        self.id = device.id


class _View:
    """A node of which only the steady parts of some sections and its policy are known."""

    def __init__(self, view, names):
        self.policy = view.policy
        self._parts = {}
        for name in names:
            if name == ACCELERATORS:
                self._accelerators(view)
            else:
                data = view.sections[name]["data"]
                self._parts[name] = Facts(_object(data, _kept(data, SECTIONS[name]), SECTIONS[name]), name)

    def _accelerators(self, view):
        self.device_gaps, self.groups, self.packages = [], [], []
        for group in view.groups:
            one = _Group(group)
            one.packages = [_Package(device, one) for device in group.packages]
            self.groups.append(one)
            self.packages += one.packages

    def group(self, manufacturer):
        return next((group for group in self.groups if group.manufacturer == manufacturer), None)

    def release(self):
        """Groups and packages hold each other, and a fold runs without the cyclic collector."""
        for group in self.__dict__.get("groups", ()):
            del group.packages

    def section(self, name):
        return self._parts[name] if name in self._parts else _more()

    def missing(self, name):
        return None if name in self._parts else _more()

    def pci(self):
        return accelerators_on_pci(self.section("pci"))

    def once(self, derive):
        return derive(self)

    __getattr__ = _more


class Answers(NamedTuple):
    """What rules answered, by position in the list of rules asked; those that passed are in none of them."""

    plain: tuple  # (position, outcome, reason): about the subject at hand
    odd: tuple  # (position, Outcome or list of them)
    full: tuple  # positions of rules that look beyond the steady part
    values: tuple  # (position, ("value", value) or (outcome, reason)) of rules that compare nodes


class Memory:
    """Answers of a policy's rules. rules: [(rule, parameters)]; names: the sections they are about."""

    def __init__(self, rules, names=()):
        self.rules = rules
        self.names = names
        self.steady = bool(names) and all(name in SECTIONS or name == ACCELERATORS for name in names)
        self._known = {}

    def of_device(self, device):
        """(Answers, key) of the rules about a device, of a node without gaps in detection: every group's detection is ok."""
        key = marshal.dumps((device.manufacturer, device.group.data.get("driver", ...), _kept(device.data, DEVICE)), 0)
        answers = self._known.get(key)
        if answers is None:
            answers = self._learn(key, _Device(device, _Group(device.group)))
        return answers, key

    def of_sections(self, view, keys):
        """Answers of the rules about sections that were read. keys: name -> what key_of() or keys_of_packages() gave."""
        key = tuple([keys[name] for name in self.names])
        answers = self._known.get(key)
        if answers is None:
            part = _View(view, self.names)
            answers = self._learn(key, part)
            part.release()
        return answers

    def _learn(self, key, subject):
        plain, odd, full, values = [], [], [], []
        for position, (rule, params) in enumerate(self.rules):
            try:
                result = self._asked(rule, params, subject)
            except More:
                full.append(position)
                continue
            if rule.scope == "cohort":
                values.append((position, (result.outcome, result.reason) if result.__class__ is Outcome else ("value", result)))
            elif result.__class__ is not Outcome or result.outcome == "found" or result.subject is not None:
                odd.append((position, result))
            elif result.outcome != "passed":
                plain.append((position, result.outcome, result.reason))
        if len(self._known) >= MOST:
            self._known.clear()
        answers = self._known[key] = Answers(tuple(plain), tuple(odd), tuple(full), tuple(values))
        return answers

    def _asked(self, rule, params, subject):
        if rule.scope != "group":
            return ask(rule, subject, params)
        results = []
        for group in subject.groups:
            if group.packages:
                result = ask(rule, group, params)
                for one in [result] if result.__class__ is Outcome else result:
                    results.append(one if one.subject else one._replace(subject=("manufacturer", group.manufacturer)))
        return results


def key_of(view, name):
    """What tells the steady part of a section that was read from that of another node."""
    return marshal.dumps(_kept(view.sections[name]["data"], SECTIONS[name]), 0)


def keys_of_packages(view, keys):
    """The same of all packages, from what of_device() gave for each; None where they cannot be told apart or are not all there is."""
    names = tuple([device.id for device in view.packages])
    if len(set(names)) < len(names) or any(len(group.devices) != len(group.packages) for group in view.groups):
        return None
    return (names, *keys)


def ask(rule, subject, params):
    """What a rule says of a subject."""
    try:
        return rule.check(subject, params)
    except NoAnswer as no:
        return Outcome(no.outcome, no.reason)
