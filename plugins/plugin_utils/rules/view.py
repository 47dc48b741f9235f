# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node report as rules see it: typed access to facts that a node may have filled with anything."""

from __future__ import annotations

from functools import lru_cache

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, Outcome

LARGEST = 1e15  # a number beyond it is garbage; also refuses NaN and infinity
LONGEST = 300
LONGEST_LINE = 4096  # of a kernel command line


def clean(text, longest=LONGEST):
    """Node text on one line without characters that control, hide or reorder: they and surrogates become spaces."""
    text = text[:longest]
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def show(value, longest=60):
    """Any value, short and printable, for a message."""
    return clean(value, longest) if value.__class__ is str else clean(repr(value), longest)


@lru_cache(maxsize=4096)
def as_word(text):
    return "_".join(text.lower().replace("-", " ").split())


class Facts:
    """A JSON object of a report. Each accessor returns a value of its type or raises NoAnswer with the reason."""

    __slots__ = ("data", "where")

    def __init__(self, data, where=""):
        self.data = data
        self.where = where

    def fact(self, *path):
        """The plain value at path."""
        value = self.data
        for key in path:
            try:
                value = value[key]
            except (KeyError, TypeError, IndexError):
                raise NoAnswer("unknown", "%s: not in the report" % ".".join(map(str, path))) from None
            if value is None:
                raise NoAnswer("unknown", "%s: not read" % ".".join(map(str, path)))
            if value.__class__ is dict and len(value) == 1:
                if "unknown" in value:
                    raise NoAnswer("unknown", show(value["unknown"], LONGEST) or "%s: unknown" % ".".join(map(str, path)))
                if "not_applicable" in value:
                    raise NoAnswer("not_applicable", show(value["not_applicable"], LONGEST) or "%s: not applicable" % ".".join(map(str, path)))
        return value

    def _wrong(self, path, what, value):
        return NoAnswer("unknown", "%s: not %s: %s" % (".".join(map(str, path)), what, show(value)))

    # The accessors below try the plain way first: nearly every fact of a fleet is plain, and there are hundreds of thousands.

    def number(self, *path):
        value = self.data
        try:
            for key in path:
                value = value[key]
        except (KeyError, TypeError, IndexError):
            value = self.fact(*path)
        kind = type(value)
        if (kind is int or kind is float) and -LARGEST < value < LARGEST:
            return value
        raise self._wrong(path, "a number", self.fact(*path))

    def text(self, *path):
        """Text that is not empty, one line, printable."""
        value = self.data
        try:
            for key in path:
                value = value[key]
        except (KeyError, TypeError, IndexError):
            value = self.fact(*path)
        if value.__class__ is str:
            if len(value) > LONGEST or not value.isprintable():
                value = clean(value)
            value = value.strip()
            if value:
                return value
        raise self._wrong(path, "a text", self.fact(*path))

    def words(self, *path):
        """What blanks part in a text that may be long: an argument that stands late counts, too."""
        value = self.fact(*path)
        if value.__class__ is str:
            return clean(value, LONGEST_LINE).split()
        raise self._wrong(path, "a text", value)

    def word(self, *path):
        """A text as a word of a vocabulary: lower case, underscores."""
        return as_word(self.text(*path))

    def flag(self, *path):
        value = self.data
        try:
            for key in path:
                value = value[key]
        except (KeyError, TypeError, IndexError):
            value = self.fact(*path)
        if value is True or value is False:
            return value
        raise self._wrong(path, "true or false", self.fact(*path))

    def list(self, *path):
        value = self.fact(*path)
        if value.__class__ is list:
            return value
        raise self._wrong(path, "a list", value)

    def texts(self, *path):
        """The texts of a list; NoAnswer as with objects."""
        items = self.list(*path)
        found = [clean(v) for v in items if v.__class__ is str]
        if items and not found:
            raise self._wrong(path, "a list of texts", items)
        return found

    def facts(self, *path):
        value = self.fact(*path)
        if value.__class__ is dict:
            return Facts(value, path[-1] if path else self.where)
        raise self._wrong(path, "an object", value)

    def objects(self, *path):
        """The objects of a list; other items are left out. NoAnswer where nothing else is in it: that is not an empty list."""
        items = self.list(*path)
        found = [Facts(v, path[-1]) for v in items if v.__class__ is dict]
        if items and not found:
            raise self._wrong(path, "a list of objects", items)
        return found

    def maybe(self, kind, *path):
        """The value by the accessor named kind, None when there is none."""
        value = self.data
        try:
            for key in path:
                value = value[key]
        except (KeyError, TypeError, IndexError):
            return None
        plain = value.__class__
        if kind == "number":
            return value if (plain is int or plain is float) and -LARGEST < value < LARGEST else None
        if kind == "text" and plain is str and len(value) <= LONGEST and value.isprintable():
            return value.strip() or None
        if plain is dict and kind != "facts":
            return None
        try:
            return getattr(self, kind)(*path)
        except NoAnswer:
            return None


class Device(Facts):
    """One device of an accelerators section."""

    __slots__ = ("group", "id", "kind", "name")

    def __init__(self, data, group):
        super().__init__(data)
        self.group = group
        name, kind, ident = data.get("name"), data.get("kind"), data.get("id")
        self.name = clean(name).strip() if name.__class__ is str else ""
        self.kind = kind if kind in ("package", "die", "partition", "virtual_function") else "package"
        self.id = clean(ident, 100) if ident.__class__ is str and ident else "%s:?" % group.manufacturer

    @property
    def manufacturer(self):
        return self.group.manufacturer

    @property
    def siblings(self):
        """Other packages of the same name on this node."""
        return [d for d in self.group.packages if d is not self and d.name == self.name]

    def identifier(self, name):
        """A uuid, serial, pci or slot that is an identifier; NoAnswer when it is none."""
        value = self.text("identity", name, "value")
        if self.data["identity"][name].get("quality") in ("placeholder", "absent", "unread"):
            raise NoAnswer("unknown", "%s: placeholder" % name)
        return value


class Group(Facts):
    """One accelerators section: a manufacturer's devices on this node."""

    __slots__ = ("devices", "manufacturer", "packages", "view")

    def __init__(self, manufacturer, data, view):
        super().__init__(data, "accelerators.%s" % manufacturer)
        self.manufacturer = manufacturer
        self.view = view
        listed = data.get("devices")
        self.devices = [Device(d, self) for d in listed if d.__class__ is dict] if listed.__class__ is list else []
        self.packages = [d for d in self.devices if d.kind == "package"]

    @property
    def state(self):
        return self.maybe("text", "detection", "state") or "unavailable"

    @property
    def gap(self):
        """Why the list of devices may be incomplete, or comes from a source of last resort; None when it is what the tool counts."""
        if self.state in ("ok", "not-declared") or self.maybe("number", "detection", "accelerators") is not None:
            return None
        return "%s: %s" % (self.manufacturer, self.maybe("text", "detection", "reason") or "no reason given")

    @property
    def reason(self):
        """Why detection is not ok; names the manufacturer where the node was asked for more than one."""
        said = self.maybe("text", "detection", "reason") or "no reason given"
        return said if len(self.view.groups) == 1 else "%s: %s" % (self.manufacturer, said)


def accelerators_on_pci(section):
    """manufacturer -> entries with role accelerator of the section pci. NoAnswer where the bus was not read."""
    if section.text("scan", "status") != "ok":
        raise NoAnswer("unknown", "PCI: %s" % (section.maybe("text", "scan", "detail") or "not read"))
    for count in section.facts("counts").data.values():
        if count.__class__ is not int:
            # One function of which it is not known whether it is an accelerator makes every number a guess.
            raise NoAnswer("unknown", "PCI: %s" % show(count.get("unknown") if count.__class__ is dict else count, LONGEST))
    entries = {}
    for entry in section.objects("devices"):
        if entry.maybe("text", "role") == "accelerator":
            entries.setdefault(entry.maybe("text", "manufacturer") or "unknown", []).append(entry)
    return entries


class NodeView:
    """One node: its sections, its policy. Cheap to make; what is derived is derived once."""

    __slots__ = ("_at", "_missing", "_pci", "_rows", "answered", "baseline", "derived", "device_gaps", "groups", "node", "packages", "policy", "sections")

    def __init__(self, node, sections, policy):
        self.node = node
        self.sections = {name: e for name, e in sections.items() if e.__class__ is dict}
        self.policy = policy
        self.groups = []
        self._pci = self._at = self._rows = None
        self._missing = {}
        self.baseline = None  # records/baseline.py: what is known of the node from earlier runs
        self.derived = {}  # what rules make of the sections once and share
        self.answered = any(e.get("status") == "read" for e in self.sections.values())
        for name in sorted(self.sections):
            if name.startswith("accelerators.") and self.missing(name) is None:
                self.groups.append(Group(name.partition(".")[2], self.sections[name]["data"], self))
        self.packages = [d for group in self.groups for d in group.packages]
        self.device_gaps = self._device_gaps()

    def once(self, derive):
        """derive(self), derived once; where it raised NoAnswer an equal one is raised each time."""
        if derive not in self.derived:
            try:
                self.derived[derive] = (derive(self), None)
            except NoAnswer as no:
                # Not the exception: its traceback holds the frames, and they the whole report.
                self.derived[derive] = (None, (no.outcome, no.reason))
        value, problem = self.derived[derive]
        if problem is not None:
            raise NoAnswer(*problem)
        return value

    def missing(self, name):
        """Why section name was not read, None when it was."""
        if name not in self._missing:
            self._missing[name] = self._why_missing(name)
        return self._missing[name]

    def _why_missing(self, name):
        envelope = self.sections.get(name)
        if envelope is None:
            return "section %s: not filed" % name if self.answered else "no answer: %s" % self.no_answer()
        if envelope.get("status") != "read":
            return "section %s: %s: %s" % (name, show(envelope.get("status")), show(envelope.get("reason"), LONGEST))
        return None if envelope.get("data").__class__ is dict else "section %s: not an object" % name

    def no_answer(self):
        for name in sorted(self.sections):
            envelope = self.sections[name]
            return "%s: %s" % (show(envelope.get("status")), show(envelope.get("reason") or "no reason given", LONGEST))
        return "nothing was filed for this node: it was not asked, or its job did not end"

    def section(self, name):
        problem = self.missing(name)
        if problem:
            raise NoAnswer("unknown", problem)
        return Facts(self.sections[name]["data"], name)

    def group(self, manufacturer):
        return next((g for g in self.groups if g.manufacturer == manufacturer), None)

    def pci(self):
        """manufacturer -> its PCI entries with role accelerator. NoAnswer when the bus was not read."""
        if self._pci is None:
            self._pci = accelerators_on_pci(self.section("pci"))
        return self._pci

    def virtual_functions(self):
        """Whether PCI shows virtual functions of an accelerator: a guest may have nothing else."""
        return any(entry.maybe("text", "role") == "virtual_function" for entry in self.section("pci").objects("devices"))

    def pci_entry(self, address):
        if self._at is None:
            self._at = {e.data.get("address"): e for entries in self.pci().values() for e in entries if e.data.get("address").__class__ is str}
        if address in self._at:
            return self._at[address]
        raise NoAnswer("unknown", "%s: not in the PCI section" % clean(address, 40))

    def rows(self):
        """capability -> [(row, accelerator, mode)]. What was asked (slicing.*) or seen (probes.*) stands for what was only told (allocation.*)."""
        if self._rows is None:
            found = {}
            for part in ("accelerators.", "allocation.", "slicing.", "probes."):
                for name in sorted(self.sections):
                    if not name.startswith(part) or self.missing(name) is not None:
                        continue
                    facts, seen = Facts(self.sections[name]["data"], name), {}
                    for row in facts.objects("checks") if facts.data.get("checks").__class__ is list else ():
                        about = (row.maybe("text", "accelerator") or "", row.maybe("text", "capability") or "", row.maybe("text", "mode") or "")
                        seen[about] = seen.get(about, 0) + 1
                        found[(name[len(part) :], about, seen[about])] = row
            self._rows = {}
            for (_maker, about, _number), row in found.items():
                self._rows.setdefault(about[1], []).append((row, about[0], about[2]))
        return self._rows

    def release(self):
        """Let go of the report at once: view, groups and devices hold each other, and a fold makes thousands."""
        for group in self.groups:
            group.devices, group.packages, group.view = [], [], None
        self.groups, self.packages, self.sections, self.derived = [], [], {}, {}
        self._pci = self._at = self._rows = None

    def _device_gaps(self):
        """Outcomes that every rule about devices has besides those of the devices themselves."""
        gaps = []
        for name in sorted(self.sections):
            if not name.startswith("accelerators."):
                continue
            problem = self.missing(name)
            if problem:
                gaps.append(Outcome("unknown", problem))
                continue
            group = self.group(name.partition(".")[2])
            if group.state == "not-declared" and not group.devices:
                gaps.append(Outcome("not_applicable", "no %s accelerator: %s" % (group.manufacturer, group.maybe("text", "detection", "reason") or "none")))
            elif group.state != "ok":
                gaps.append(Outcome("unknown", group.reason))
            elif not group.packages:
                gaps.append(Outcome("unknown", "%s: detection is ok, yet no device is listed" % group.manufacturer))
        try:
            for manufacturer in sorted(self.pci()):
                if "accelerators.%s" % manufacturer not in self.sections:
                    gaps.append(Outcome("unknown", "%s: %d on PCI, not read" % (manufacturer, len(self.pci()[manufacturer]))))
            if not gaps and not self.groups:
                gaps.append(Outcome("not_applicable", "no accelerator on PCI"))
        except NoAnswer as no:
            if not gaps and not self.groups:
                gaps.append(Outcome("unknown", no.reason))
        return gaps
