# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `container_runtime` of docs/node-report.md: engines, and which of them a probe would use (spec of the operator's preflight, section 4)."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.privacy import redact
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_engines as engines
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import containerd
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, not_applicable, unknown, why

RUNTIMES = ("docker", "nerdctl", "ctr")
NAMESPACE = "fleetproof-preflight"
SOCKETS = ("/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/var/run/containerd/containerd.sock")
_RANCHER = "/var/lib/rancher/%s/agent/etc/containerd/config.toml"
_SHARED = "/run/k3s/containerd/containerd.sock"  # RKE2 uses the path of k3s
INSTANCES = (
    ("microk8s", "/var/snap/microk8s/common/run/containerd.sock", "/var/snap/microk8s/current/args/containerd.toml"),
    ("k0s", "/run/k0s/containerd.sock", "/etc/k0s/containerd.toml"),
)
# Runtimes that vendors put before runc: by the packages of the host, or by the vendor's operator at a place of its own.
TOOLKITS = (
    (
        "nvidia",
        "nvidia-container-runtime",
        ("/usr/local/nvidia/toolkit/nvidia-container-runtime", "/home/kubernetes/bin/nvidia/toolkit/nvidia-container-runtime"),
    ),
    ("ascend", "ascend-docker-runtime", ("/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime",)),
    ("iluvatar", "ix-container-runtime", ("/usr/local/iluvatar/toolkit/ix-container-runtime",)),
    ("mthreads", "mthreads-container-runtime", ()),
    ("amd", "amd-container-runtime", ()),
)
_UNITS = {"containerd": "containerd.service", "docker": "docker.service", "crio": "crio.service"}
_WARNING = "this container does not share the network namespace of the host: names are resolved in its own, so images cannot be pulled; use the host's network"


def _units(asked):
    """{engine: {active: bool or a fact, arguments: [word]}} as systemd knows them: what runs, with which flags."""
    answer = asked.run("systemctl", "show", "--property=Id,ActiveState,MainPID", *_UNITS.values())
    told = {}
    for block in answer.stdout.split("\n\n") if answer.succeeded else ():
        fields = dict(line.partition("=")[::2] for line in block.splitlines())
        told[fields.get("Id")] = fields
    found = {}
    for name, unit in _UNITS.items():
        fields = told.get(unit, {})
        state, pid = fields.get("ActiveState"), fields.get("MainPID", "0")
        active = {"active": True, "reloading": True, "activating": True, "inactive": False, "failed": False}.get(state, unknown(answer.reason))
        line = asked.host.read_text("/proc/%s/cmdline" % pid, 1 << 16) if active is True and pid.isdecimal() and int(pid) else None
        found[name] = {"active": active, "arguments": line.value.split("\0") if line is not None and line.ok else []}
    return found


def _engines(asked, endpoint):
    """([engine], [why it is not known whether there is another])."""
    units = _units(asked)
    flags = units["containerd"]["arguments"]
    socket = engines.path_of(engines.option(flags, "--address", "-a") or SOCKETS[0])
    asks = [lambda: containerd.read(asked, "", socket, engines.option(flags, "--config", "-c") or containerd.CONFIG)]
    trees = [name for name in ("k3s", "rke2") if asked.there(_RANCHER % name) is True] or ["k3s"]
    known = [(name, _SHARED, _RANCHER % name) for name in trees] + list(INSTANCES)
    if "containerd" in endpoint and "docker" not in endpoint and endpoint not in [socket, *(s for _name, s, _config in known)]:
        known.append(("kubelet", endpoint, ""))
    asks += [lambda one=one: containerd.read(asked, *one) for one in known]
    asks += [lambda: engines.docker(asked, units["docker"]), lambda: engines.crio(asked, units["crio"]), lambda: engines.podman(asked)]
    found, unsure = [], []
    for ask in asks:
        one = ask()
        if one is not None and "unknown" in one:
            unsure.append(one["unknown"])
        elif one is not None:
            found.append(one)
    return found, unsure


def _none(reason):
    return {"cli": not_applicable(reason), "socket": not_applicable(reason), "reason": reason}


def resolve(program, there, endpoint, option=""):
    """Which of docker, nerdctl and ctr a probe would use: {cli, socket, namespace, nerdctl_absent, by, reason}.

    program(name) -> path or fact; there(path) -> bool or fact; endpoint: (value or "", why it could not be read or ""); option: the operator's word.
    """
    value, trouble = endpoint
    present = {name: program(name) for name in RUNTIMES}
    unsure = {name: why(fact) for name, fact in present.items() if not is_known(fact) and not is_not_applicable(fact)}

    def chosen(cli, by, absent=False):
        facts = {
            "cli": cli,
            "socket": not_applicable("docker knows its own"),
            "namespace": not_applicable("docker has none"),
            "nerdctl_absent": absent,
            "by": by,
        }
        if cli != "docker":
            facts.update(namespace=NAMESPACE, socket=_socket(there, value if "containerd" in value and "docker" not in value else ""))
        return dict(facts, reason="")

    def refused(by, reason, missing=()):
        for name in missing:
            if name in unsure:
                return dict(chosen("docker", by), cli=unknown(unsure[name]), socket=unknown(unsure[name]), namespace=unknown(unsure[name]), reason=unsure[name])
        return dict(chosen("docker", by), namespace=not_applicable(reason), **_none(reason))

    if option and option not in RUNTIMES:
        return refused("option", "runtime: found %s, allowed: %s" % (option[:40], ", ".join(RUNTIMES)))
    if option:
        if is_known(present[option]):
            return chosen(option, "option", option == "ctr" and is_not_applicable(present["nerdctl"]))
        return refused("option", "%s was asked for, and is not on the host" % option, [option])
    if trouble:
        return refused("kubelet", "the endpoint of the kubelet could not be read: %s; name a runtime to go past it" % trouble)
    if value:
        cli = "docker" if "docker" in value else "nerdctl" if "containerd" in value else ""
        if not cli:
            return refused("kubelet", "the kubelet uses %s; only docker and containerd are driven" % value)
        if is_known(present[cli]):
            return chosen(cli, "kubelet")
        if cli == "nerdctl" and is_not_applicable(present[cli]) and is_known(present["ctr"]):
            return chosen("ctr", "kubelet", True)
        return refused("kubelet", "the kubelet uses %s, and %s is not on the host" % (value, cli), [cli, "ctr"] if cli == "nerdctl" else [cli])
    for cli in RUNTIMES:
        if is_known(present[cli]):
            return chosen(cli, "probe", cli == "ctr")
        if cli in unsure:
            return refused("probe", "", [cli])
    return refused("probe", "no kubelet names an endpoint, and none of docker, nerdctl, ctr is on the host")


def _socket(there, named):
    if named:
        return named
    for path in SOCKETS:
        found = there(path)
        if found is True:
            return path
        if found is not False:
            return found
    return not_applicable("none of %s exists" % ", ".join(SOCKETS))


def network_namespace(host):
    """Whether this process is in the network namespace of the host's first process."""
    own, first = host.readlink("/proc/self/ns/net"), host.readlink("/proc/1/ns/net")
    for answer in (own, first):
        if not answer.ok:
            return {"shared": unknown(answer.reason), "warning": ""}
    return {"shared": own.value == first.value, "warning": "" if own.value == first.value else _WARNING}


def toolkits(asked):
    """{manufacturer: [{path, owner}]}: every place where a vendor's runtime lies; only manufacturers that have one, or where it is not known."""
    found = {}
    for manufacturer, name, places in TOOLKITS:
        path = asked.program(name)
        here = [{"path": path, "owner": "host"}] if is_known(path) else []
        here += [{"path": place, "owner": "vendor"} for place in places if place != path and asked.there(place) is True]
        if here:
            found[manufacturer] = here
        elif not is_not_applicable(path):
            found[manufacturer] = path
    return found


def clients(asked):
    """What drives an engine from a shell: {name: {path, version}}."""
    shown = {}
    for name in ("docker", "nerdctl", "ctr", "crictl", "podman"):
        path = asked.program(name)
        shown[name] = {"path": path}
        if is_known(path) and name in ("nerdctl", "crictl"):
            answer = asked.run(name, "--version")
            shown[name]["version"] = engines.version(answer.stdout, name) if answer.succeeded else unknown(answer.reason)
    if is_known(shown["crictl"]["path"]):
        said, trouble = asked.file("/etc/crictl.yaml")
        named = re.findall(r"(?m)^runtime-endpoint:[ \t]*[\"']?([^\s\"'#]+)", said or "")
        shown["crictl"]["socket"] = unknown(trouble) if trouble else engines.path_of(named[-1]) if named else not_applicable("left to the default")
    if is_known(shown["nerdctl"]["path"]):
        doc, trouble = asked.toml("/etc/nerdctl/nerdctl.toml")
        for key in ("address", "namespace", "snapshotter", "cgroup_manager"):
            shown["nerdctl"][key] = unknown(trouble) if trouble else engines.text(engines.table(doc).get(key)) or not_applicable("left to the default")
    return shown


def _engine_of(endpoint, found):
    """Id of the engine behind an endpoint of the kubelet."""
    for one in found:
        if one["socket"] == endpoint:
            return one["id"]
    for word, name in (("docker", "docker"), ("crio", "cri-o")):
        if word in endpoint:
            same = [one["id"] for one in found if one["name"] == name]
            return same[0] if same else unknown("%s is not among the engines" % endpoint)
    return unknown("%s is not among the engines" % endpoint)


def kubelet_endpoint(host):
    """The endpoint that a kubelet names, or a fact: not_applicable where none does, unknown where that could not be read."""
    # Here, because it is large, and a caller may have it.
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet_setting as setting

    reading = setting.read(host, *setting.ENDPOINT)
    if reading.outcome == setting.VALUE:
        return reading.value
    return not_applicable(reading.note) if reading.outcome == setting.UNNAMED else unknown(reading.note)


def collect(host, options=None, endpoint=None):
    """{section name: section}. options: runtime, the operator's word. endpoint: the kubelet's as a fact, where the process table was read already."""
    asked = engines.Asked(host)
    endpoint = kubelet_endpoint(host) if endpoint is None else endpoint
    value = endpoint if isinstance(endpoint, str) else ""
    trouble = "" if value or is_not_applicable(endpoint) else why(endpoint)
    found, unsure = _engines(asked, engines.path_of(value))
    unified = asked.there("/sys/fs/cgroup/cgroup.controllers")
    section = {
        "timestamp": utc(host.now()),
        "kubelet": {"endpoint": endpoint, "engine": _engine_of(engines.path_of(value), found) if value else endpoint},
        "resolved": resolve(asked.program, asked.there, (value, trouble), str((options or {}).get("runtime") or "")),
        "network_namespace": network_namespace(host),
        "cgroup_version": unified if isinstance(unified, dict) else 2 if unified else 1,
        "clients": clients(asked),
        "engines": found,
        "unsure": unsure,
        "toolkits": toolkits(asked),
        "containers": _containers(host, found, unified),
    }
    section["resolved"]["engine"] = _resolved_engine(section["resolved"], found)
    section["sources"] = asked.sources
    return {"container_runtime": redact(section)}


def _containers(host, found, unified):
    if isinstance(unified, dict):
        return unified
    if all(one["running"] is False or (is_not_applicable(one["running"]) and one["name"] != "podman") for one in found):
        return not_applicable("no container engine runs")
    # Here, because only a node with containers needs it.
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_devices

    return container_devices.read(host, 2 if unified else 1)


def _resolved_engine(resolved, found):
    cli, socket = resolved["cli"], resolved["socket"]
    if not is_known(cli):
        return cli
    same = [one["id"] for one in found if (one["name"] == "docker" if cli == "docker" else one["socket"] == engines.path_of(str(socket)))]
    return same[0] if same else unknown("%s is there, and no engine of it" % cli)
