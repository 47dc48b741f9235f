# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a container runtime refuse a CDI specification.

Source: the Container Device Interface, SPEC.md and the validation of its Go packages specs-go, pkg/parser and pkg/cdi 1.1.0, by which containerd,
CRI-O, docker and podman load a file: they refuse it whole, unknown fields included.
"""

from __future__ import annotations

import re

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
HOOKS = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
MOST = 20
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})\Z")
_LABEL = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?\Z")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?\Z")
_UINT32 = (1 << 32) - 1

# Fields of each object; a star: it must be there.
_NODE = {
    "path": "text*",
    "hostPath": "text",
    "type": "text",
    "major": "number",
    "minor": "number",
    "fileMode": "uint32",
    "permissions": "text",
    "uid": "uint32",
    "gid": "uint32",
}
_MOUNT = {"hostPath": "text*", "containerPath": "text*", "options": "texts", "type": "text"}
_HOOK = {"hookName": "text*", "path": "text*", "args": "texts", "env": "texts", "timeout": "number"}
_INTERFACE = {"hostInterfaceName": "text*", "name": "text*"}
_RDT = {"closID": "text", "l3CacheSchema": "text", "memBwSchema": "text", "schemata": "texts"}
_RDT.update(dict.fromkeys(("enableCMT", "enableMBM", "enableMonitoring"), "flag"))
_EDITS = {
    "env": "texts",
    "deviceNodes": "objects",
    "netDevices": "objects",
    "hooks": "objects",
    "mounts": "objects",
    "intelRdt": "object",
    "additionalGids": "numbers",
}
_DEVICE = {"name": "text*", "annotations": "object", "containerEdits": "object"}
_SPECIFICATION = {"cdiVersion": "text*", "kind": "text*", "annotations": "object", "devices": "objects*", "containerEdits": "object"}


def text(value):
    """A scalar as the text it stands for: YAML numbers are texts where a text is asked for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _scalar(value):
    return isinstance(value, (str, int, float))


def _number(value):
    return isinstance(value, int) and not isinstance(value, bool)


_KINDS = {
    "text": _scalar,
    "texts": lambda value: isinstance(value, list) and all(_scalar(one) for one in value),
    "number": lambda value: _number(value) and abs(value) < 1 << 63,
    "uint32": lambda value: _number(value) and 0 <= value <= _UINT32,
    "numbers": lambda value: isinstance(value, list) and all(_number(one) and 0 <= one <= _UINT32 for one in value),
    "flag": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "objects": lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
}


class _Check:
    def __init__(self):
        self.problems = []

    def say(self, where, what):
        if len(self.problems) < MOST:
            self.problems.append("%s: %s" % (where, what) if where else what)

    def fields(self, value, known, where):
        """The members of value that are what they must be; null is as good as absent."""
        good = {}
        for key, member in value.items():
            if key not in known:
                self.say(where, "unknown field %s" % _short(key))
            elif member is not None:
                kind = known[key].rstrip("*")
                if _KINDS[kind](member):
                    good[key] = text(member) if kind == "text" else member
                else:
                    self.say(where, "%s is not %s: %s" % (key, _WORDS[kind], _short(member)))
                    good[key] = None
        for key, kind in known.items():
            if kind.endswith("*") and value.get(key) in (None, "", []):
                self.say(where, "no %s" % key)
        return good

    def environment(self, variables, where):
        for variable in variables or ():
            if text(variable).find("=") <= 0:
                self.say(where, "env: not NAME=value: %s" % _short(variable))

    def node(self, value, where):
        node = self.fields(value, _NODE, where)
        if node.get("type") not in (None, "", "b", "c", "u", "p"):
            self.say(where, "type %s is none of b, c, u, p" % _short(node["type"]))
        if any((node.get(key) or 0) < 0 for key in ("major", "minor")):
            self.say(where, "a negative device number")
        permissions = node.get("permissions") or ""
        if permissions != "none" and permissions.strip("rwm"):
            self.say(where, "permissions %s" % _short(permissions))

    def hook(self, value, where):
        hook = self.fields(value, _HOOK, where)
        if hook.get("hookName") and hook["hookName"] not in HOOKS:
            self.say(where, "no such hook: %s" % _short(hook["hookName"]))
        self.environment(hook.get("env"), where)

    def interfaces(self, listed, where):
        seen = set()
        for position, value in enumerate(listed):
            interface = self.fields(value, _INTERFACE, "%s.netDevices[%d]" % (where, position))
            for pair in interface.items():
                if pair in seen:
                    self.say(where, "netDevices: %s %s is given twice" % (pair[0], _short(pair[1])))
                seen.add(pair)

    def edits(self, value, where):
        edits = self.fields(value, _EDITS, where)
        self.environment(edits.get("env"), where)
        for key, check in (("deviceNodes", self.node), ("hooks", self.hook), ("mounts", lambda one, at: self.fields(one, _MOUNT, at))):
            for position, one in enumerate(edits.get(key) or ()):
                check(one, "%s.%s[%d]" % (where, key, position))
        self.interfaces(edits.get("netDevices") or (), where)
        rdt = self.fields(edits.get("intelRdt") or {}, _RDT, where + ".intelRdt")
        group = rdt.get("closID") or ""
        if group != "/" and (len(group) >= 4096 or group in (".", "..") or "/" in group or "\n" in group):
            self.say(where, "intelRdt: closID %s" % _short(group))

    def annotations(self, value, where):
        if not all(isinstance(key, str) and _scalar(one) for key, one in (value or {}).items()):
            self.say(where, "annotations are texts by name")

    def devices(self, listed):
        seen = set()
        for position, value in enumerate(listed):
            where = "devices[%d]" % position
            device = self.fields(value, _DEVICE, where)
            name = device.get("name") or ""
            if name and not _NAME.match(name):
                self.say(where, "not a device name: %s" % _short(name))
            if name in seen and name:
                self.say(where, "device %s is given twice" % _short(name))
            seen.add(name)
            self.annotations(device.get("annotations"), where)
            edits = device.get("containerEdits") or {}
            self.edits(edits, where)
            if not any(edits.values()) and edits.get("intelRdt") is None:
                self.say(where, "changes nothing: containerEdits is empty")


_WORDS = {"text": "a text", "texts": "a list of texts", "number": "a whole number", "uint32": "a whole number from 0 to 4294967295"}
_WORDS.update({"numbers": "a list of whole numbers", "flag": "true or false", "object": "an object", "objects": "a list of objects"})


def _short(value):
    shown = value if isinstance(value, str) else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def all_edits(document):
    """(device name or "", edits) of a document that has no problems: what every device gets, then what each gets."""
    found = [("", document.get("containerEdits") or {})]
    return found + [(text(device["name"]), device.get("containerEdits") or {}) for device in document["devices"]]


def least_version(document):
    """The first version that has what a document without problems uses."""
    least = "0.3.0"
    everything = [edits for _device, edits in all_edits(document)]
    names = [text(device["name"]) for device in document["devices"]]
    if any(one.get("type") for edits in everything for one in edits.get("mounts") or ()):
        least = "0.4.0"
    if any(one.get("hostPath") for edits in everything for one in edits.get("deviceNodes") or ()) or any(not name[:1].isalpha() for name in names):
        least = "0.5.0"
    if document.get("annotations") or any(one.get("annotations") for one in document["devices"]) or "." in document["kind"].partition("/")[2]:
        least = "0.6.0"
    if any(edits.get("intelRdt") is not None or edits.get("additionalGids") for edits in everything):
        least = "0.7.0"
    for edits in everything:
        rdt = edits.get("intelRdt") or {}
        if edits.get("netDevices") or rdt.get("enableMonitoring") or rdt.get("schemata") is not None:
            least = "1.1.0"
    return least


def newer(version):
    """Whether a version is one that came after those known here."""
    found = _VERSION.match(version)
    return bool(found) and tuple(map(int, found.groups())) > tuple(map(int, VERSIONS[-1].split(".")))


def problems(document):
    """Everything that makes the file unusable, up to MOST of them; [] when a runtime takes it."""
    if not isinstance(document, dict):
        return ["empty" if document is None else "not an object"]
    check = _Check()
    top = check.fields(document, _SPECIFICATION, "")
    version, kind = top.get("cdiVersion") or "", top.get("kind") or ""
    if version and version[version.startswith("v") :] not in VERSIONS:
        check.say("", "cdiVersion %s is none of %s" % (_short(version), ", ".join(VERSIONS)))
    vendor, slash, cls = kind.partition("/")
    if kind and not (slash and _LABEL.match(vendor) and _LABEL.match(cls)):
        check.say("", "kind is not vendor/class: %s" % _short(kind))
    check.annotations(top.get("annotations"), "")
    check.edits(top.get("containerEdits") or {}, "containerEdits")
    check.devices(top.get("devices") or ())
    if not check.problems:
        least = least_version(document)
        if VERSIONS.index(version[version.startswith("v") :]) < VERSIONS.index(least):
            check.say("", "cdiVersion %s is too low for what is used: at least %s" % (version, least))
    return check.problems
