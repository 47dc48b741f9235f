# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about CDI specifications: what a container would get by them."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.registry import MANUFACTURERS
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    NoAnswer,
    Outcome,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

# The vendor of a kind is its maker's domain, or below it (k8s.device-plugin.nvidia.com). Sources: the makers' device plugins and CDI generators.
_VENDORS = {
    "alibabacloud.com": "thead",
    "amd.com": "amd",
    "birentech.com": "biren",
    "cambricon.com": "cambricon",
    "enflame.com": "enflame",
    "habana.ai": "gaudi",
    "huawei.com": "ascend",
    "hygon.com": "hygon",
    "iluvatar.ai": "iluvatar",
    "iluvatar.com": "iluvatar",
    "kunlunxin.com": "kunlunxin",
    "metax-tech.com": "metax",
    "mthreads.com": "mthreads",
    "nvidia.com": "nvidia",
    "tenstorrent.com": "tenstorrent",
}
_SCHEMA = "CDI specification: what runtimes take"
_ACCEPTANCE = "suite: five-layer acceptance: a stale specification hands out wrong device paths"
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
_MIG = re.compile(r"(?:mig)?(\d{1,4}):(\d{1,4})\Z")
_EMPTIED = ("/run/", "/var/run/")  # a file system in memory: a boot empties it
_SHOWN = 4
# What the usual directories are where there is no specification: most nodes need no further look.
_EMPTY = [
    [{"path": path, "state": state, "detail": "", "ignored": []} for path, state in zip(("/etc/cdi", "/var/run/cdi"), states)]
    for states in (("absent", "absent"), ("read", "absent"), ("absent", "read"), ("read", "read"))
]


def _subject(spec):
    return ("cdi", clean(spec.maybe("text", "path") or "?", 200))


def _some(words, number=None):
    words = [show(word, 120) for word in words]
    number = len(words) if number is None else number
    return ", ".join(words[:_SHOWN]) + (" and %d more" % (number - _SHOWN) if number > _SHOWN else "")


def _unread(section):
    """What is not known of the directories, as outcomes."""
    outcomes = []
    for directory in section.objects("directories"):
        detail = directory.maybe("text", "detail")
        if directory.maybe("text", "state") == "unknown" or detail:
            outcomes.append(unknown(detail or "not read", _subject(directory)))
    return outcomes


def _specs(view):
    """(the specifications, outcomes for what is not known). NoAnswer where there is nothing to judge."""
    section = view.section("cdi")
    if section.data.get("specs") == [] and section.data.get("directories") in _EMPTY and not any(_engines(view)):
        raise NoAnswer("not_applicable", "no CDI specification in /etc/cdi, /var/run/cdi")
    specs, gaps = section.objects("specs"), _unread(section) + _other_directories(view, section)
    if not specs and not gaps:
        raise NoAnswer("not_applicable", "no CDI specification in %s" % _some([d.maybe("text", "path") or "?" for d in section.objects("directories")]))
    return specs, gaps


def _engines(view):
    """Engines of the section container_runtime that resolve CDI, each with its name; () where it was not read."""
    if view.missing("container_runtime"):
        return
    listed = view.section("container_runtime").maybe("list", "engines") or ()
    for engine in listed:
        if isinstance(engine, dict) and isinstance(engine.get("cdi"), dict) and engine["cdi"].get("enabled") is True:
            yield show(engine.get("id") or "an engine", 40), engine["cdi"].get("directories")


def _other_directories(view, section):
    """Directories that an engine loads and that were not read: what is in them is not known."""
    read = {directory.maybe("text", "path") for directory in section.objects("directories")}
    read |= {path.replace("/var/run/", "/run/", 1) for path in read if path}
    outcomes = []
    for name, directories in _engines(view):
        for path in directories if isinstance(directories, list) else ():
            if isinstance(path, str) and path not in read and path.rstrip("/") not in read:
                outcomes.append(unknown("%s loads it, and it was not read: option directories of cdi_info" % name, ("cdi", clean(path, 200))))
    return outcomes


def _valid(view):
    """(specifications that runtimes take, outcomes for those of which that is not known)."""
    specs, gaps = _specs(view)
    taken = []
    for spec in specs:
        state = spec.maybe("text", "state")
        if state == "valid":
            taken.append(spec)
        elif state != "invalid":
            gaps.append(unknown(spec.maybe("text", "reason") or "not understood", _subject(spec)))
    if not taken and not gaps:
        raise NoAnswer("not_applicable", "no CDI specification that a runtime takes: cdi-invalid")
    return taken, gaps


def _about(spec, view):
    """The manufacturer that a specification is about; None where it is about something else."""
    vendor = (spec.maybe("text", "kind") or "").partition("/")[0]
    for domain, manufacturer in _VENDORS.items():
        if vendor == domain or vendor.endswith("." + domain):
            return manufacturer
    nodes = {node for device in _devices(spec) for node in device[1]}
    for package in view.packages:
        if nodes & set(package.maybe("texts", "device_nodes") or ()):
            return package.manufacturer
    return None


def _devices(spec):
    """[(name, device nodes)]."""
    listed = spec.maybe("list", "devices") or ()
    return [(d.get("name"), [n for n in d.get("nodes") or () if isinstance(n, str)]) for d in listed if isinstance(d, dict) and isinstance(d.get("name"), str)]


def _overruled(view):
    """Paths of files none of whose devices reaches a container, for a file of a later directory names them all."""
    lost = {}
    for conflict in view.section("cdi").objects("conflicts"):
        winner = conflict.maybe("text", "winner")
        for path in conflict.texts("paths") if winner else ():
            if path != winner:
                lost.setdefault(path, set()).update(conflict.texts("devices"))
    gone = set()
    for spec in view.section("cdi").objects("specs"):
        path, kind = spec.maybe("text", "path"), spec.maybe("text", "kind")
        if path in lost and not spec.maybe("number", "devices_left_out") and {"%s=%s" % (kind, name) for name, _nodes in _devices(spec)} <= lost[path]:
            gone.add(path)
    return gone


def _each(view, judge):
    """Outcomes of judge(spec) for every specification from which a container gets a device."""
    taken, outcomes = _valid(view)
    overruled = _overruled(view)
    for spec in taken:
        subject = _subject(spec)
        if spec.maybe("text", "path") in overruled:
            outcomes.append(not_applicable("another file names all its devices and wins", subject))
            continue
        try:
            said = judge(spec, subject)
        except NoAnswer as no:
            said = Outcome(no.outcome, no.reason, subject)
        outcomes += said if isinstance(said, list) else [said]
    return outcomes


@rule(
    id="cdi-invalid",
    layer=3,
    level="fail",
    title="Container runtimes take every CDI specification",
    reads=("cdi",),
    scope="node",
    remedy="Generate the file again with its vendor's tool (NVIDIA: nvidia-ctk cdi generate), or remove it.",
)
def cdi_invalid(view, p):
    specs, outcomes = _specs(view)
    for spec in specs:
        state, subject = spec.maybe("text", "state"), _subject(spec)
        if state == "invalid":
            said = spec.maybe("texts", "problems") or []
            summary = "No runtime takes %s: %s" % (subject[1], _some(said) or "no reason given")
            outcomes.append(found(summary, said[:_SHOWN], expectation("valid", origin=_SCHEMA), subject=subject))
        else:
            outcomes.append(passed(subject) if state == "valid" else unknown(spec.maybe("text", "reason") or "not understood", subject))
    for directory in view.section("cdi").objects("directories"):
        passed_over = [name for name in directory.maybe("texts", "ignored") or () if name.endswith(".yml")]
        if passed_over:
            summary = "Not loaded, for runtimes load .yaml and .json: %s in %s" % (_some(passed_over), _subject(directory)[1])
            expected = expectation(".yaml or .json", origin=_SCHEMA)
            outcomes.append(found(summary, passed_over[:_SHOWN], expected, level="warn", subject=_subject(directory), remedy="Rename or remove the file."))
    return outcomes


@rule(
    id="cdi-conflict",
    layer=3,
    level="fail",
    title="No two CDI specifications name one device",
    reads=("cdi",),
    scope="node",
    remedy="Remove all but one of the files, and turn off what writes the others.",
    follows=("cdi-invalid",),
)
def cdi_conflict(view, p):
    _taken, outcomes = _valid(view)
    together = {}
    for conflict in view.section("cdi").objects("conflicts"):
        paths, winner = tuple(conflict.texts("paths")), conflict.maybe("text", "winner")
        if winner is None or conflict.maybe("flag", "same") is not True:
            together.setdefault((paths, winner), []).extend(conflict.texts("devices"))
    for (paths, winner), names in sorted(together.items(), key=repr):
        subject, words = ("cdi", winner or (paths[0] if paths else "?")), _some(sorted(names))
        expected = expectation("one file", origin="CDI specification: of two files in one directory neither counts, else the later directory wins")
        if winner is None:
            outcomes.append(found("%s: named by %s, so no runtime resolves it" % (words, " and ".join(paths)), sorted(names)[:100], expected, subject=subject))
        else:
            others = " and ".join(path for path in paths if path != winner)
            summary = "%s: %s says other than %s, and wins" % (words, winner, others)
            outcomes.append(found(summary, sorted(names)[:100], expected, level="warn", subject=subject))
    return outcomes or passed()


@rule(
    id="cdi-device-missing",
    layer=3,
    level="fail",
    title="What CDI specifications name is on the machine",
    reads=("cdi",),
    scope="node",
    remedy="Generate the specification again, after the driver is loaded and its device nodes are made; a missing hook is installed with its toolkit.",
    follows=("cdi-stale", "device-vanished", "detection-agrees", "accelerators-detected"),
)
def cdi_device_missing(view, p):
    def judge(spec, subject):
        level = None if _about(spec, view) else "warn"
        outcomes = []
        gone, other = spec.objects("missing"), spec.objects("mismatched")
        if gone:
            words = ["%s %s" % ((one.maybe("text", "what") or "?").replace("_", " "), one.maybe("text", "path") or "?") for one in gone]
            expected = expectation("on the machine", origin=_ACCEPTANCE)
            outcomes.append(found("%s names what is not there: %s" % (subject[1], _some(words)), words[:100], expected, level=level, subject=subject))
        if other:
            words = ["%s is %s, not %s" % tuple(one.maybe("text", key) or "?" for key in ("path", "found", "said")) for one in other]
            expected = expectation("as on the machine", origin=_ACCEPTANCE)
            outcomes.append(found("%s does not fit the machine: %s" % (subject[1], _some(words)), words[:100], expected, level=level, subject=subject))
        unchecked = spec.texts("unchecked")
        return outcomes or (unknown(_some(unchecked), subject) if unchecked else passed(subject))

    return _each(view, judge)


def _date(facts, *path):
    said = facts.text(*path)
    if not _DATE.match(said):
        raise NoAnswer("unknown", "%s: not a date: %s" % (path[-1], show(said)))
    return said


def _not_here(spec, group):
    """Names of the file that no accelerator here has: of GPUs and MIG devices that are gone."""
    if group.manufacturer != "nvidia" or group.state != "ok" or spec.text("kind").endswith("/claim"):
        return []
    uuids, parts = set(), set()
    for device in group.devices:
        uuid = device.maybe("text", "identity", "uuid", "value")
        if uuid is None:
            return []
        uuids.add(uuid)
        if device.kind == "partition":
            parts.add(_mig(device, group))
    gone = []
    for name, _nodes in _devices(spec):
        by_index = _MIG.match(name) if "/gpu" in spec.text("kind") and None not in parts else None
        if (by_index and tuple(map(int, by_index.groups())) not in parts) or (name.startswith(("GPU-", "MIG-")) and name not in uuids):
            gone.append(name)
    return gone


def _mig(device, group):
    """(index of its card, its own) of a partition, None where one is not known."""
    card = next((d for d in group.packages if d.id == device.maybe("text", "parent")), None)
    pair = (card.maybe("number", "index") if card else None, device.maybe("number", "index"))
    return None if None in pair else pair


@rule(
    id="cdi-stale",
    layer=3,
    level="fail",
    title="CDI specifications fit the loaded driver and its partitions",
    reads=("cdi", "accelerators"),
    scope="node",
    remedy="Generate the specification again, at each boot and after each change of partitions (NVIDIA: the unit nvidia-cdi-refresh does).",
    follows=("cdi-conflict",),
)
def cdi_stale(view, p):
    section = view.section("cdi")

    def judge(spec, subject):
        manufacturer = _about(spec, view)
        if manufacturer is None:
            return not_applicable("about no accelerator", subject)
        group = view.group(manufacturer)
        if group is not None:
            gone = _not_here(spec, group)
            if gone:
                expected = expectation("devices of this node", origin=_ACCEPTANCE)
                return found("%s names devices that are not on this node: %s" % (subject[1], _some(gone)), gone[:100], expected, subject=subject)
        versions = spec.maybe("texts", "driver_versions") or []
        running = group.maybe("text", "driver", "version") if group is not None else None
        if versions and running and running.split("-")[0] not in versions:
            expected = expectation(running, origin="this node: the loaded driver")
            return found("%s is of driver %s, %s is loaded" % (subject[1], _some(versions), running), _some(versions), expected, subject=subject)
        made, booted = _date(spec, "modified"), _date(section, "boot_time")
        if made < booted:
            if subject[1].startswith(_EMPTIED):
                return unknown("dated before the boot that emptied its directory: the clock was set since", subject)
            # Age alone: what it names is judged by other rules, and may well be right.
            expected = expectation("made after the driver was loaded", origin=_ACCEPTANCE)
            summary = "%s was made before this boot, and so before the driver was loaded" % subject[1]
            return found(summary, made, expected, level="warn", subject=subject)
        if versions and running:
            return passed(subject)
        dates = [_date(section, "drivers", name, "dated") for name in MANUFACTURERS[manufacturer]["modules"] if section.maybe("facts", "drivers", name)]
        if dates and made >= min(dates):
            return passed(subject)
        since = "by %s at the latest" % min(dates) if dates else "at a time that is not known"
        return unknown("made at %s, the driver was loaded %s, and the file names no version of it" % (made, since), subject)

    outcomes = _each(view, judge)
    service = section.maybe("facts", "refresh", "service")
    if service is not None and (service.maybe("text", "active") == "failed" or service.maybe("number", "exit_status")):
        status = service.maybe("number", "exit_status")
        summary = "The unit that renews the specification failed%s" % (" with exit status %d" % status if status else "")
        expected = expectation("success", origin="vendor document: NVIDIA Container Toolkit: CDI support")
        outcomes.append(found(summary, service.maybe("text", "result"), expected, level="warn", remedy="journalctl -u nvidia-cdi-refresh tells why."))
    return outcomes


@rule(
    id="cdi-names-every-accelerator",
    layer=3,
    level="fail",
    title="CDI specifications name every accelerator",
    reads=("cdi", "accelerators"),
    scope="node",
    remedy="Generate the specification again once all accelerators are there: what is not named cannot be given to a container.",
    follows=("cdi-invalid", "cdi-conflict", "cdi-stale"),
)
def cdi_names_every_accelerator(view, p):
    try:
        taken, gaps = _valid(view)
    except NoAnswer as no:
        engines = sorted({name for name, _directories in _engines(view)})
        if no.outcome != "not_applicable" or not engines or not view.packages:
            raise
        summary = "%s resolves CDI, and there is no specification: what is asked for by CDI is not found" % _some(engines)
        return found(summary, no.reason, expectation("a specification", origin="this node: its container runtime"), level="info")
    outcomes = gaps + list(view.device_gaps)
    lost = {name for conflict in view.section("cdi").objects("conflicts") if not conflict.maybe("text", "winner") for name in conflict.texts("devices")}
    for group in view.groups:
        if group.packages:
            outcomes.append(_named(group, [spec for spec in taken if _about(spec, view) == group.manufacturer], lost, bool(gaps)))
    return outcomes or not_applicable("no accelerator was read")


def _named(group, specs, lost, more):
    """lost: devices that no runtime resolves. more: whether there are files of which nothing is known."""
    subject = ("manufacturer", group.manufacturer)
    entries = [(name, nodes) for spec in specs for name, nodes in _devices(spec) if "%s=%s" % (spec.maybe("text", "kind"), name) not in lost]
    if not entries and not any(_devices(spec) for spec in specs):
        return (
            unknown("a file that could not be read may name them", subject)
            if more
            else not_applicable("no specification is about %s" % group.manufacturer, subject)
        )
    if group.gap:
        return unknown(group.gap, subject)
    cut = any(spec.maybe("number", "devices_left_out") for spec in specs)
    owners = {}
    for package in group.packages:
        for node in package.maybe("texts", "device_nodes") or ():
            owners.setdefault(node, set()).add(package.id)
    names = {name for name, _nodes in entries}
    reached = set()
    for _name, nodes in entries:
        of = {next(iter(owners[node])) for node in nodes if len(owners.get(node, ())) == 1}
        if len(of) == 1:
            reached |= of
    absent, doubtful = [], []
    for device in _to_name(group):
        if device.id in reached or names & _names_of(device, group):
            continue
        known = device.maybe("text", "identity", "uuid", "value") and (device.kind == "partition" or device.maybe("texts", "device_nodes"))
        (absent if known and not more and not cut else doubtful).append(device.id)
    if absent:
        summary = "%d of %d %s accelerators are in no CDI specification: %s" % (len(absent), len(_to_name(group)), group.manufacturer, _some(absent))
        return found(summary, absent[:100], expectation("every accelerator", origin=_ACCEPTANCE), subject=subject)
    if doubtful:
        return unknown("not found in the specifications, by what is known of them: %s" % _some(doubtful), subject)
    return passed(subject)


def _to_name(group):
    """Cards, and of a card that is partitioned by MIG its partitions: NVIDIA's generator names those alone."""
    wanted = []
    for package in group.packages:
        if group.manufacturer == "nvidia" and package.maybe("flag", "partition", "enabled"):
            wanted += [device for device in group.devices if device.kind == "partition" and device.maybe("text", "parent") == package.id]
        else:
            wanted.append(package)
    return wanted


def _names_of(device, group):
    """What a generator may call a device: its UUID, its index (NVIDIA: 0, gpu0; a MIG device 0:1, mig0:1)."""
    names = {device.maybe("text", "identity", key, "value") for key in ("uuid", "pci")}
    index = device.maybe("number", "index")
    if device.kind == "partition":
        pair = _mig(device, group)
        names |= {"%s:%s" % pair, "mig%s:%s" % pair} if pair else set()
    elif index is not None:
        names |= {"%s" % index, "gpu%s" % index, "%s%s" % (group.manufacturer, index)}
    return names - {None}
