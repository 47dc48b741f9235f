# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker, CRI-O and Podman: what each says of itself, else what its files say. An engine that does not run is not started by being asked."""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, IS_A_DIRECTORY, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import toml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

SECONDS = 8
LIMIT = 1 << 20
FILES = 64
CDI_DIRECTORIES = ["/etc/cdi", "/var/run/cdi"]  # the default of containerd, Docker, CRI-O and Podman
_VERSION = re.compile(r"\d{1,5}(?:\.\d{1,9}){1,3}[\w.+~-]{0,60}")
_KEYS = ("installed", "running", "version", "socket", "cri", "cgroup_driver", "default_handler", "handlers", "cdi", "snapshotter")
_KEYS += ("sandbox_image", "registry", "root", "on_disk")


class Asked:
    """A host, and every call made of it in order."""

    def __init__(self, host):
        self.host, self.sources = host, []

    def note(self, answer, name=None):
        status, detail = answer.status, answer.detail
        if getattr(answer, "rc", None):
            status, detail = "exit %d" % answer.rc, ""
        self.sources.append({"source": name or answer.subject, "status": status, "seconds": round(getattr(answer, "seconds", 0.0), 3), "detail": detail[:200]})
        return answer

    def run(self, *argv):
        return self.note(self.host.run(list(argv), timeout=SECONDS))

    def file(self, path):
        """(text, "") or (None, why not; "" where there is none)."""
        answer = self.host.read_text(path, LIMIT)
        if answer.status in (ABSENT, NOT_A_DIRECTORY):
            return None, ""
        self.note(answer)
        if answer.truncated:
            return None, "%s: longer than is read" % path
        return (answer.value, "") if answer.ok else (None, answer.reason)

    def toml(self, path):
        text, why = self.file(path)
        return (None, why) if text is None else document(text, path)

    def json(self, path):
        text, why = self.file(path)
        if text is None:
            return None, why
        found = first_object(text)
        return (found, "") if found is not None else (None, "%s: not JSON" % path)

    def there(self, path):
        """True, False or a fact that says why it is not known."""
        answer = self.host.exists(path)
        return bool(answer.value) if answer.ok else unknown(answer.reason)

    def program(self, name):
        """Its path, or a fact that says why there is none."""
        answer = self.host.resolve(name)
        if answer.ok:
            return str(answer.value)
        return not_applicable("%s is not installed" % name) if answer.status == ABSENT else unknown(answer.reason)


def nothing(*found):
    """None where nothing of an engine is there; a fact where that is not known."""
    return next((one for one in found if isinstance(one, dict) and "unknown" in one), None)


def document(text, where):
    """(TOML as a dict, "") or (None, why not)."""
    try:
        return toml.loads(text), ""
    except toml.TomlError as error:
        return None, "%s: %s" % (where, error)


def first_object(text):
    """The JSON object that begins at the first brace (a prompt or a warning may come first), or None."""
    try:
        found = json.JSONDecoder().raw_decode(text[text.index("{") :])[0]
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def table(value, *path):
    """The dict at path, {} where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text(value):
    return value if isinstance(value, str) and value else None


def texts(value):
    return [str(item)[:300] for item in value if isinstance(item, str)][:FILES] if isinstance(value, list) else None


def flag(value):
    return value if isinstance(value, bool) else None


def path_of(address):
    """A socket's path: unix:///run/x.sock and unix:/run/x.sock are /run/x.sock, and /var/run is /run."""
    for scheme in ("unix://", "unix:"):
        address = address[len(scheme) :] if address.startswith(scheme) else address
    return address[4:] if address.startswith("/var/run/") else address


def version(said, name):
    found = _VERSION.search(said)
    return found.group() if found else unknown("%s: no version" % name)


def engine(name, instance="", **facts):
    """An entry of `engines` with every key."""
    filled = {key: unknown("not read") if facts.get(key) is None else facts[key] for key in _KEYS}
    ident = "%s:%s" % (name, instance) if instance else name
    return dict({"id": ident, "name": name, "instance": instance, "files": facts.get("files", []), "read_from": facts.get("read_from", [])}, **filled)


def handlers(asked, found, driver=None):
    """{name: {type, binary, present, cgroup_driver}} of {name: {type, binary, systemd}}. driver: one of the whole engine."""
    shown = {}
    for name in sorted(found)[:FILES]:
        entry = found[name] if isinstance(found[name], dict) else {}
        kind, binary = text(entry.get("type")), text(entry.get("binary"))
        if binary is None:
            present = not_applicable("its type names the program")
        elif "/" in binary:
            present = asked.there(binary)
        else:
            where = asked.program(binary)
            present = True if is_known(where) else False if "not_applicable" in where else where
        if driver is None and kind is not None and not kind.startswith("io.containerd.runc."):
            own = not_applicable("%s keeps its own cgroups" % kind[:80])
        elif driver is None:
            # left out it is false, in containerd 2 too (containerd issue 12101)
            own = "systemd" if flag(entry.get("systemd")) else "cgroupfs"
        else:
            own = driver
        shown[str(name)[:100]] = {
            "type": kind or unknown("not told"),
            "binary": binary or not_applicable("named by its type"),
            "present": present,
            "cgroup_driver": own,
        }
    return shown


def registry(asked, config_path=None, mirrors=None, insecure=None, credentials=False):
    """credentials: whether any are configured; what they are stays on the node."""
    hosts = []
    for directory in (config_path or "").split(":")[:4]:
        names = asked.host.listdir(directory) if directory.startswith("/") else None
        hosts += sorted(names.value)[:FILES] if names is not None and names.ok else []
    shown = {str(name)[:200]: texts(ends) or [] for name, ends in sorted((mirrors or {}).items())[:FILES]}
    return {"config_path": config_path or not_applicable("none"), "hosts": hosts, "mirrors": shown, "insecure": insecure or [], "credentials": credentials}


def option(arguments, *names):
    """The value of the last of these flags on a command line, None where there is none."""
    value = None
    for at, word in enumerate(arguments):
        for name in names:
            if word.startswith(name + "="):
                value = word[len(name) + 1 :]
            elif word == name and at + 1 < len(arguments):
                value = arguments[at + 1]
    return value or None


def _runtimes(said):
    """Docker's runtimes, as it shows them and as its file names them."""
    return {name: {"type": text(table(entry).get("runtimeType")) or "path", "binary": text(table(entry).get("path"))} for name, entry in said.items()}


def docker_info(said):
    """What `docker info --format '{{json .}}'` says; {} where no daemon answered."""
    if not text(said.get("ServerVersion")):
        return {}
    facts = {"version": said["ServerVersion"], "cgroup_driver": text(said.get("CgroupDriver"))}
    facts.update(default=text(said.get("DefaultRuntime")), snapshotter=text(said.get("Driver")), root=text(said.get("DockerRootDir")))
    if isinstance(said.get("Runtimes"), dict):
        facts["handlers"] = _runtimes(said["Runtimes"])
    facts["directories"] = texts(said.get("CDISpecDirs")) or []  # Docker 25; empty where CDI is off
    listed = table(said, "RegistryConfig")
    facts["mirrors"] = {"docker.io": texts(listed.get("Mirrors")) or []} if listed.get("Mirrors") else {}
    indexes = [name for name, entry in table(listed, "IndexConfigs").items() if table(entry).get("Secure") is False]
    facts["insecure"] = (texts(listed.get("InsecureRegistryCIDRs")) or []) + indexes
    return {key: value for key, value in facts.items() if value is not None}


def docker_file(doc):
    """What daemon.json says, under the same names; only what it says."""
    facts = {"default": text(doc.get("default-runtime")), "snapshotter": text(doc.get("storage-driver")), "root": text(doc.get("data-root"))}
    for option in texts(doc.get("exec-opts")) or []:
        if option.startswith("native.cgroupdriver="):
            facts["cgroup_driver"] = option.partition("=")[2]
    facts["handlers"] = _runtimes(table(doc, "runtimes")) or None
    enabled = flag(table(doc, "features").get("cdi"))
    if enabled is not None:
        facts["directories"] = (texts(doc.get("cdi-spec-dirs")) or CDI_DIRECTORIES) if enabled else []
    facts["mirrors"] = {"docker.io": texts(doc.get("registry-mirrors")) or []} if doc.get("registry-mirrors") else None
    facts["insecure"] = texts(doc.get("insecure-registries"))
    facts["hosts"] = texts(doc.get("hosts"))
    return {key: value for key, value in facts.items() if value is not None}


def docker(asked, unit):
    """unit: {active, arguments} of the service. Asking may start it by its socket, so it is asked only where it runs."""
    program, daemon = asked.program("docker"), asked.program("dockerd")
    path = option(unit["arguments"], "--config-file") or "/etc/docker/daemon.json"
    number = asked.host.read_line("/run/docker.pid")
    pid = asked.there("/proc/%s" % number.value) if number.ok and number.value.isdecimal() else False if number.status == ABSENT else unknown(number.reason)
    if not is_known(program) and not is_known(daemon) and pid is not True and unit["active"] is not True and asked.there(path) is not True:
        return nothing(program, daemon, pid)
    running = True if unit["active"] is True or pid is True else unit["active"] if unit["active"] is False else pid
    doc, why = asked.json(path)
    disk = docker_file(doc) if doc is not None else {}
    socket = next((path_of(h) for h in [option(unit["arguments"], "-H", "--host") or "", *disk.pop("hosts", [])] if h.startswith("unix:")), "/run/docker.sock")
    live, read_from = {}, []
    if running is True:
        answer = asked.run("docker", "-H", "unix://" + socket, "info", "--format", "{{json .}}")
        said = first_object(answer.stdout) if answer.succeeded else None
        live = docker_info(said) if said is not None else {}
        if "host" in (said or {}):
            return None  # podman under docker's name
        if live:
            read_from = ["docker info"]
        else:
            running = unknown("the process runs, and docker info got no answer: %s" % (answer.reason if not answer.succeeded else "no server"))
    if doc is not None:
        read_from.append(path)
    silent = unknown(why or "docker info did not answer")
    driver = live.get("cgroup_driver") or disk.get("cgroup_driver") or silent
    found = live.get("handlers")
    if found is None:
        found = dict(disk.get("handlers", {}), **({} if why else {"runc": {"type": "path"}}))
    default = live.get("default") or disk.get("default") or (silent if live or why else "runc")
    directories = live.get("directories", disk.get("directories"))
    named = (option(unit["arguments"], "--default-runtime"), option(unit["arguments"], "--add-runtime"))
    on_disk = not_applicable("nothing to compare")
    if live and doc is not None and not any(named) and ("default" in disk or "handlers" in disk):
        on_disk = {"default_handler": disk.get("default", "runc"), "handlers": sorted(disk.get("handlers", {}))}
    return engine(
        "docker", installed=program, running=running, version=live.get("version") or silent, socket=socket,
        cri=not_applicable("cri-dockerd speaks CRI for it"), cgroup_driver=driver,
        default_handler=default, handlers=handlers(asked, found, driver) if found else silent,
        snapshotter=live.get("snapshotter") or disk.get("snapshotter") or silent,
        cdi={"enabled": bool(directories), "directories": directories} if directories is not None else silent,
        sandbox_image=not_applicable("cri-dockerd names it"), root=live.get("root") or disk.get("root") or "/var/lib/docker", on_disk=on_disk,
        registry=registry(asked, None, live.get("mirrors", disk.get("mirrors")), live.get("insecure", disk.get("insecure"))),
        files=[path] if doc is not None else [], read_from=read_from,
    )  # fmt: skip


def crio_config(documents):
    """What CRI-O's files say together: each option of the last that has it, each handler whole (crio.conf.d(5))."""
    said = {"handlers": {}}
    for doc in documents:
        base, run, image = table(doc, "crio"), table(doc, "crio", "runtime"), table(doc, "crio", "image")
        new = {
            "default": text(run.get("default_runtime")), "cgroup_driver": text(run.get("cgroup_manager")), "directories": texts(run.get("cdi_spec_dirs")),
            "sandbox": text(image.get("pause_image")), "insecure": texts(image.get("insecure_registries")), "snapshotter": text(base.get("storage_driver")),
            "root": text(base.get("root")), "socket": text(table(base, "api").get("listen")), "credentials": bool(image.get("global_auth_file")) or None,
        }  # fmt: skip
        said.update((key, value) for key, value in new.items() if value is not None)
        for name, entry in table(run, "runtimes").items():
            said["handlers"][name] = {"type": text(table(entry).get("runtime_type")) or "oci", "binary": text(table(entry).get("runtime_path"))}
    return said


def crio_documents(asked, path, directory):
    """([document], [path], why it is not complete or "")."""
    names = asked.host.listdir(directory)
    if not names.ok and names.status not in (ABSENT, NOT_A_DIRECTORY):
        return [], [], names.reason
    documents, files = [], []
    for where in [path, *("%s/%s" % (directory, name) for name in sorted(names.value or [])[:FILES])]:
        answer, why = asked.toml(where)
        if answer is not None:
            documents.append(answer)
            files.append(where)
        elif why and IS_A_DIRECTORY.replace("_", " ") not in why:
            return documents, files, why
    return documents, files, ""


def crio(asked, unit):
    program = asked.program("crio")
    path = option(unit["arguments"], "--config", "-c") or "/etc/crio/crio.conf"
    directory = option(unit["arguments"], "--config-dir", "-d") or "/etc/crio/crio.conf.d"
    documents, files, why = crio_documents(asked, path, directory)
    disk = crio_config(documents)
    socket = path_of(disk.get("socket") or "/run/crio/crio.sock")
    exists = asked.there(socket)
    if not is_known(program) and exists is not True and not files:
        return nothing(program, exists)
    live, number = None, unknown("no crio to ask")
    if is_known(program):
        answer = asked.run("crio", "--version")
        number = version(answer.stdout, "crio --version") if answer.succeeded else unknown(answer.reason)
        answer = asked.run("crio", "status", "--socket", socket, "config") if exists is True else None
        doc = document(answer.stdout, "crio status config")[0] if answer is not None and answer.succeeded else None
        live = crio_config([doc]) if doc else None
    said = live or ({"handlers": {}} if why else disk)
    silent = unknown(why or "left to the default of this version")
    driver = said.get("cgroup_driver") or (silent if why and not live else "systemd")  # the default: crio.conf(5)
    found = handlers(asked, said["handlers"], driver)
    on_disk = not_applicable("nothing to compare")
    if live and not why and "default" in disk:
        on_disk = {"default_handler": disk["default"], "handlers": sorted(disk["handlers"])}
    # Here, because few nodes run CRI-O.
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_registries

    mirrors, insecure, unread = container_registries.read(asked)
    # CRI-O 1.23 and newer cannot turn CDI off
    return engine(
        "cri-o", installed=program, running=True if live else exists if exists is not True else unknown("crio status config did not answer"), version=number,
        socket=socket, cri=True, cgroup_driver=driver, default_handler=said.get("default") or silent, handlers=found or silent,
        cdi={"enabled": True, "directories": said.get("directories") or CDI_DIRECTORIES} if live or not why else silent,
        snapshotter=said.get("snapshotter") or silent, sandbox_image=said.get("sandbox") or silent, root=said.get("root") or silent, on_disk=on_disk,
        registry=unknown(unread) if unread else registry(asked, None, mirrors, (said.get("insecure") or []) + insecure, said.get("credentials", False)),
        files=files, read_from=(["crio status config"] if live else []) + (["files"] if files else []),
    )  # fmt: skip


def podman(asked):
    """It has no daemon. Its info makes directories where it never ran since the boot, so it is asked only where it did."""
    program = asked.program("podman")
    if not is_known(program):
        return nothing(program)
    facts = {"version": unknown("not asked: it has not run since the boot, and asking would make its directories")}
    if asked.there("/run/libpod/alive") is True:
        answer = asked.run("podman", "info", "--format", "json")
        said = first_object(answer.stdout) if answer.succeeded else None
        if said is None:
            facts = {"version": unknown(answer.reason if not answer.succeeded else "podman info: not JSON")}
        else:
            host, runtime = table(said, "host"), table(said, "host", "ociRuntime")
            driver = text(host.get("cgroupManager")) or unknown("not told")
            name = text(runtime.get("name")) or "unknown"
            facts = {"version": text(table(said, "version").get("Version")), "cgroup_driver": driver}
            facts.update(default_handler=name, handlers=handlers(asked, {name: {"type": "oci", "binary": text(runtime.get("path"))}}, driver))
            facts.update(snapshotter=text(table(said, "store").get("graphDriverName")), root=text(table(said, "store").get("graphRoot")))
            facts["cdi"] = {"enabled": True, "directories": CDI_DIRECTORIES}
            facts["read_from"] = ["podman info"]
    none = not_applicable("podman has no daemon")
    facts = dict({"cri": none, "socket": none, "running": none, "sandbox_image": none, "on_disk": none}, **facts)
    return engine("podman", installed=program, **facts)
