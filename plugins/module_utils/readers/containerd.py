# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""containerd: what the running one says by CRI, else its configuration as it dumps it, else its files."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.container_engines import (
    CDI_DIRECTORIES,
    FILES,
    document,
    engine,
    first_object,
    flag,
    handlers,
    nothing,
    registry,
    table,
    text,
    texts,
    version,
)
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown, whole

CONFIG = "/etc/containerd/config.toml"
_CRI = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")  # config version 1, 2, 3
_NAMES = {  # of config.toml (containerd docs/cri/config.md), of crictl info
    "default": ("default_runtime_name", "defaultRuntimeName"), "snapshotter": ("snapshotter", "snapshotter"),
    "cdi": ("enable_cdi", "enableCDI"), "directories": ("cdi_spec_dirs", "cdiSpecDirs"), "sandbox": ("sandbox_image", "sandboxImage"),
    "path": ("config_path", "configPath"), "type": ("runtime_type", "runtimeType"),
}  # fmt: skip


def _cri(section, style):
    """What one CRI section says, under our names; only what it says. style: 0 of config.toml, 1 of crictl info."""
    name = {key: names[style] for key, names in _NAMES.items()}
    inner, listed = table(section, "containerd"), table(section, "registry")
    said = {
        "default": text(inner.get(name["default"])),
        "snapshotter": text(inner.get(name["snapshotter"])) or text(section.get(name["snapshotter"])),
        "cdi": flag(section.get(name["cdi"])),
        "directories": texts(section.get(name["directories"])),
        "sandbox": text(section.get(name["sandbox"])) or text(table(section, "pinned_images").get("sandbox")),
        "config_path": text(listed.get(name["path"])),
    }
    said = {key: value for key, value in said.items() if value is not None}
    found = {}
    for handler, entry in table(inner, "runtimes").items():
        entry, options = table(entry), table(entry, "options")
        one = {"type": text(entry.get(name["type"])), "binary": text(options.get("BinaryName")), "systemd": flag(options.get("SystemdCgroup"))}
        found[handler] = {key: value for key, value in one.items() if value is not None}
    if found:
        said["handlers"] = found
    mirrors = {host: table(entry).get("endpoint") for host, entry in table(listed, "mirrors").items()}
    if mirrors:
        said["mirrors"] = mirrors
    if table(listed, "configs") or table(listed, "auths"):
        said["credentials"] = any("auth" in table(entry) for entry in table(listed, "configs").values()) or bool(table(listed, "auths"))
    return said


def _merge(old, new):
    """Two levels are enough for what _cri makes: handlers by name and key."""
    merged = dict(old)
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            value = {name: dict(old[key].get(name) or {}, **one) if isinstance(one, dict) else one for name, one in dict(old[key], **value).items()}
        merged[key] = value
    return merged


def sections(doc):
    """{plugin: what it says} of one file."""
    plugins = table(doc, "plugins")
    return {name: _cri(plugins[name], 0) for name in _CRI if isinstance(plugins.get(name), dict)}


def merged(documents, major=None):
    """(what files say together, "") or (None, why not). documents: [(path, document)], the main one first; major: of containerd.

    containerd 1 takes a plugin's section whole from the last file that has one; containerd 2 adds to it (containerd pull 9982).
    """
    level = max([n for n in (table(doc).get("version") for _path, doc in documents) if isinstance(n, int)] or [1])
    if major is None and level >= 3:
        major = 2
    together, replaced, disabled, plain = {}, {}, [], {}
    for _path, doc in documents:
        disabled += texts(doc.get("disabled_plugins")) or []
        for key in ("root", "state"):
            plain[key] = text(doc.get(key)) or plain.get(key)
        plain["address"] = text(table(doc, "grpc").get("address")) or plain.get("address")
        for name, said in sections(doc).items():
            together = _merge(together, said)
            replaced[name] = said
    whole = {}
    for name in _CRI:
        whole = _merge(whole, replaced.get(name, {}))
    if major is None and whole != together:
        return None, "drop-ins repeat the CRI section: containerd 1 replaces it, containerd 2 adds to it, and the version is not known"
    said = dict(whole if major == 1 else together, level=level, **plain)
    said["cri"] = not any(name in _CRI for name in disabled)
    return said, ""


def documents_of(asked, path):
    """([(path, document)], why it is not complete or ""): a configuration and what it imports."""
    waiting, seen, documents = [path], [], []
    while waiting and len(seen) < FILES:
        where = waiting.pop(0)
        if where in seen:
            continue
        seen.append(where)
        doc, why = asked.toml(where)
        if doc is None:
            if where == path or why:
                return documents, why
            continue
        documents.append((where, doc))
        for pattern in texts(doc.get("imports")) or []:
            if not pattern.startswith("/"):
                pattern = where.rpartition("/")[0] + "/" + pattern
            matched = asked.host.glob(pattern)
            if not matched.ok and matched.status not in (ABSENT, NOT_A_DIRECTORY):
                return documents, matched.reason
            waiting += matched.value or []
    return documents, "" if not waiting else "more than %d files" % FILES


def _facts(asked, said, major, defaults):
    """Facts of what a configuration and a daemon say; defaults: whether a key that is left out has the documented default."""
    modern = major >= 2 if major is not None else True if said.get("level", 0) >= 3 else None
    silent = unknown("not told, and the configuration could not be read")
    default = said.get("default") or ("runc" if defaults else silent)
    found = handlers(asked, said.get("handlers", {"runc": {"type": "io.containerd.runc.v2"}} if defaults else {}))
    chosen = found.get(default) if isinstance(default, str) else None
    enabled = said.get("cdi", silent)
    if enabled is silent and defaults:  # on since containerd 2.0, off in 1.7, not there before
        enabled = modern if modern is not None else unknown("left to the default, and the version of containerd is not known")
    return {
        "default_handler": default,
        "handlers": found or silent,
        "cgroup_driver": chosen["cgroup_driver"] if chosen else unknown("the default handler is not configured"),
        "cdi": {"enabled": enabled, "directories": said.get("directories") or (CDI_DIRECTORIES if defaults else silent)},
        "snapshotter": said.get("snapshotter") or ("overlayfs" if defaults else silent),
        "sandbox_image": said.get("sandbox") or unknown("left to the default of this version"),
        "registry": registry(asked, said.get("config_path"), said.get("mirrors"), None, said.get("credentials", False)) if defaults else silent,
        "root": said.get("root") or ("/var/lib/containerd" if defaults else silent),
        "cri": said.get("cri", silent),
    }


def _served(asked, socket):
    """(whether it runs, its version or None, what crictl says or None)."""
    answer = asked.run("ctr", "--address", socket, "--connect-timeout", "3s", "version")
    server = answer.stdout.partition("Server:")[2]
    running, served = (True, version(server, "ctr version")) if server.strip() else (unknown(answer.reason), None)
    answer = asked.run("crictl", "--runtime-endpoint", "unix://" + socket, "info")
    said = first_object(answer.stdout) if answer.succeeded else None
    if said is None:
        return running, served, None
    return True, served, dict(_cri(table(said, "config"), 1), cri=True)


def _on_disk(asked, config, configured, major):
    """(what the configuration says or None, its files, where that was read, why it could not). configured: whether there is a file, None not to dump it."""
    if configured is not None:
        words = ["config", "dump"] if configured else ["config", "default"]  # without a file the first fails
        answer = asked.run("containerd", *([] if config == CONFIG or not configured else ["--config", config]), *words)
        doc = document(answer.stdout, "containerd config")[0] if answer.succeeded else None
        if doc:
            said, _why = merged([("", doc)], major)
            return said, (texts(doc.get("imports")) or [config]) if configured else [], ["containerd %s" % " ".join(words)], ""
    documents, why = documents_of(asked, config)
    said, why = (None, why) if why else merged(documents, major)
    return said, [path for path, _doc in documents], ["files"], why


def read(asked, instance="", socket="/run/containerd/containerd.sock", config=CONFIG):
    """An engine; None where there is none, a fact where that is not known. instance: k3s, rke2, … that brings its own."""
    program = asked.program("containerd")
    exists, configured = asked.there(socket), asked.there(config) if config else False
    if exists is not True and configured is not True and (instance or not is_known(program)):
        return nothing(exists, configured, False if instance else program)
    running, served, live = _served(asked, socket) if exists is True else (exists, None, None)
    own = is_known(program) and not instance
    if not is_known(served) and own:
        answer = asked.run("containerd", "--version")
        served = version(answer.stdout, "containerd --version") if answer.succeeded else unknown(answer.reason)
    number = served.partition(".")[0] if isinstance(served, str) else ""
    major = whole(number)
    disk, files, where, why = (
        _on_disk(asked, config, configured if own and isinstance(configured, bool) else None, major)
        if config
        else (None, [], [], "where its configuration lies is not known")
    )
    facts = _facts(asked, dict(disk or {}, **(live or {})), major, disk is not None)
    if disk is None and live is None:
        facts = {key: unknown(why) for key in facts}
    on_disk = not_applicable("nothing to compare")
    if disk is not None and live is not None:
        on_disk = {"default_handler": disk.get("default", "runc"), "handlers": sorted(disk.get("handlers", {"runc": {}}))}
    read_from = (["crictl info"] if live is not None else []) + (where if disk is not None else [])
    facts["version"] = served if served is not None else unknown("no ctr to ask, and no containerd")
    return engine("containerd", instance, installed=program, running=running, socket=socket, files=files, read_from=read_from, on_disk=on_disk, **facts)
