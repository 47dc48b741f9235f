# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the kubelet that matter to accelerators, as the kubelet itself reads them.

Flags over drop-ins over the file (kubernetes.io: "Set Kubelet Parameters Via A Configuration File"): maps are merged between drop-ins and
file, a flag replaces them, feature gates are merged. k3s, RKE2 and MicroK8s keep a kubelet inside: their own arguments and directories are
read instead. No default of the kubelet is ever filled in.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import namedtuple

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet_setting as where
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kubelet_setting import CONFLICT, UNNAMED, UNREADABLE, UNSEARCHABLE, VALUE
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.yaml_subset import YamlError, parse
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

# name, flag, field of KubeletConfiguration (kubelet.config.k8s.io/v1beta1), kind
SETTINGS = (
    ("container_runtime_endpoint", "--container-runtime-endpoint", "containerRuntimeEndpoint", "text"),
    ("cgroup_driver", "--cgroup-driver", "cgroupDriver", "text"),
    ("topology_manager_policy", "--topology-manager-policy", "topologyManagerPolicy", "text"),
    ("topology_manager_scope", "--topology-manager-scope", "topologyManagerScope", "text"),
    ("topology_manager_options", "--topology-manager-policy-options", "topologyManagerPolicyOptions", "map"),
    ("cpu_manager_policy", "--cpu-manager-policy", "cpuManagerPolicy", "text"),
    ("memory_manager_policy", "--memory-manager-policy", "memoryManagerPolicy", "text"),
    ("reserved_memory", "--reserved-memory", "reservedMemory", "per_node"),
    ("reserved_cpus", "--reserved-cpus", "reservedSystemCPUs", "text"),
    ("kube_reserved", "--kube-reserved", "kubeReserved", "map"),
    ("system_reserved", "--system-reserved", "systemReserved", "map"),
    ("enforce_node_allocatable", "--enforce-node-allocatable", "enforceNodeAllocatable", "list"),
    ("eviction_hard", "--eviction-hard", "evictionHard", "limits"),
    ("eviction_soft", "--eviction-soft", "evictionSoft", "limits"),
    ("eviction_defaults_kept", "", "mergeDefaultEvictionSettings", "flag"),
    ("max_pods", "--max-pods", "maxPods", "count"),
    ("container_log_max_size", "--container-log-max-size", "containerLogMaxSize", "text"),
    ("container_log_max_files", "--container-log-max-files", "containerLogMaxFiles", "count"),
    ("feature_gates", "--feature-gates", "featureGates", "gates"),
)
_MAPS = ("map", "limits", "gates")
# Gates of managers, device plugins, DRA, CDI and pod resources: kubernetes.io, "Feature Gates".
_GATES = re.compile(r"All(?:Alpha|Beta)\Z|(?:CPU|Topology|Memory)Manager|Device|DynamicResource|DRA|KubeletPodResources|ResourceHealth|KubeletCgroupDriver")
_ENV_LINE = re.compile(r"\s*(?:export\s+)?[A-Za-z_]\w*=(.*)\Z")
_LONGEST, _MOST = 300, 100

_RANCHER = {"k3s": "k3s", "k3s-server": "k3s", "k3s-agent": "k3s", "rke2": "rke2"}
_MICROK8S_ARGS = "/var/snap/microk8s/current/args/kubelet"
_SNAP = (("SNAP_COMMON", "/var/snap/microk8s/common"), ("SNAP_DATA", "/var/snap/microk8s/current"), ("SNAP", "/snap/microk8s/current"))
_DIRECTORIES = (
    ("rke2", "/var/lib/rancher/rke2/agent"),
    ("k3s", "/var/lib/rancher/k3s/agent"),
    ("microk8s", "/var/snap/microk8s/current"),
    ("kubelet", "/var/lib/kubelet"),
)

# words: flags, or None; documents: one for each configuration; problem: None or (outcome, reason)
Layer = namedtuple("Layer", "name words documents problem")


# -- what a file says --------------------------------------------------------------------------------------------------


def document(file):
    """The mapping in a configuration file, YAML or JSON. ValueError names the file."""
    if file.text is None:
        raise ValueError(file.reason)
    try:
        found = json.loads(file.text) if file.text.lstrip().startswith("{") else parse(file.text)
    except (YamlError, ValueError, RecursionError) as first:
        try:
            found = parse(file.text)  # a flow mapping begins like JSON
        except YamlError:
            raise ValueError("%s: %s" % (file.path, str(first)[:200] or "nested too deep")) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError("%s: a mapping is expected" % file.path)
    return found


def merge(under, over):
    """Mappings merged key by key, anything else replaced."""
    result = dict(under)
    for key, value in over.items():
        result[key] = merge(result[key], value) if isinstance(value, dict) and isinstance(result.get(key), dict) else value
    return result


def env_words(text):
    """Words of the values in an environment file of systemd, and of MicroK8s' files of bare flags."""
    words = []
    for line in text.splitlines():
        line = line.strip()
        found = _ENV_LINE.match(line)
        if line and not line.startswith(("#", ";")) and (found or line.startswith("-")):
            said = found.group(1).strip() if found else line
            if said[:1] in "\"'" and said[-1:] == said[:1]:
                said = said[1:-1]
            words += [word.strip("\"'") for word in said.split()]
    return words


def _documents(source):
    """Layer of a source."""
    if source.problem:
        return Layer(source.name, None, [], source.problem)
    if source.kind == "env":
        return Layer(source.name, [word for files in source.configurations for file in files for word in env_words(file.text)], [], None)
    try:
        found = []
        for files in source.configurations:
            merged = {}
            for file in files:
                merged = merge(merged, document(file))
            found.append(merged)
    except ValueError as error:
        return Layer(source.name, None, [], (UNREADABLE, str(error)))
    return Layer(source.name, None, found, None)


# -- where it is said --------------------------------------------------------------------------------------------------


def _rooted(path):
    return posixpath.normpath("/" + path.lstrip("/"))


def _rancher(kubelet, name, words):
    """k3s and RKE2: docs.k3s.io, "Advanced options": kubelet-arg on the command line and in the file, and the drop-ins of the kubelet."""
    layers = [Layer("the command line of %s" % name, ["--" + said for said in where.flag_values(words, "--kubelet-arg")], [], None)]
    base = "/etc/rancher/%s/config.yaml" % name
    more = kubelet.host.glob(base + ".d/*.yaml")
    for path in [base, *(more.value if more.ok else [])]:
        layer = _documents(kubelet.file(path, "file", False))
        said = []
        for found in layer.documents:
            for key in ("kubelet-arg", "kubelet-arg+"):
                value = found.get(key)
                said += value if isinstance(value, list) else [value] if value else []
        if layer.problem or layer.documents:
            layers.insert(1, Layer(path, ["--%s" % word for word in said], [], layer.problem))
    return [*layers, _documents(kubelet.directories("/var/lib/rancher/%s/agent/etc/kubelet.conf.d" % name))]


def _microk8s(kubelet, words):
    """MicroK8s: its kubelite reads the flags of each part from a file (microk8s.io, "Configuring MicroK8s services")."""
    source = kubelet.file(_rooted(where.flag(words, "--kubelet-args-file") or _MICROK8S_ARGS), "env", True)
    layer = _documents(source)
    if layer.problem:
        return [layer]
    said = list(layer.words)
    for name, path in _SNAP:
        said = [word.replace("${%s}" % name, path).replace("$%s/" % name, path + "/") for word in said]
    config = where.flag(said, "--config")
    return [layer._replace(words=said), *([_documents(kubelet.file(_rooted(config), "file", True))] if config else [])]


def layers_of(kubelet):
    """(Layers in the order in which they answer, whether maps of files are merged)."""
    if not kubelet.running:
        for program in sorted(kubelet.embedding):
            _pid, words = kubelet.embedding[program]
            return (_rancher(kubelet, _RANCHER[program], words) if program in _RANCHER else _microk8s(kubelet, words)), True
    flags = [Layer(where.COMMAND_LINE, kubelet.words, [], None)] if kubelet.running else []
    return flags + [_documents(source) for source in kubelet.sources() if source.kind != "flags"], kubelet.running


# -- one setting -------------------------------------------------------------------------------------------------------


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise ValueError(value)
    return str(value)[:_LONGEST]


def _pairs(text, mark):
    pairs = [part.partition(mark) for part in text.split(",") if part.strip()]
    if not all(found and name.strip() for name, found, _value in pairs):
        raise ValueError(text)
    return {name.strip(): value.strip() for name, _found, value in pairs[:_MOST]}


def _per_node(value):
    if isinstance(value, str):
        parts = [part.partition(":") for part in value.split(";") if part.strip()]
        value = [{"numaNode": int(node), "limits": _pairs(limits, "=")} for node, _colon, limits in parts]
    return [{"numa_node": int(entry["numaNode"]), "limits": {str(k): _text(v) for k, v in entry["limits"].items()}} for entry in value[:_MOST]]


def convert(kind, value):
    """A setting from a file or, as text, from a flag. ValueError, KeyError, TypeError or AttributeError when it is no such thing."""
    if kind == "count":
        if isinstance(value, (bool, float)):
            raise ValueError(value)
        return int(str(value)[:20])
    if kind == "flag":
        return {"true": True, "false": False}[_text(value)]
    if kind == "list":
        return [_text(item).strip() for item in (value.split(",") if isinstance(value, str) else value[:_MOST])]
    if kind == "per_node":
        return _per_node(value)
    if kind in _MAPS:
        pairs = _pairs(value, "<" if kind == "limits" else "=") if isinstance(value, str) else value
        pairs = {str(name)[:_LONGEST]: _text(pairs[name]) for name in list(pairs)[:_MOST]}
        return {name: {"true": True, "false": False}[said.lower()] for name, said in pairs.items() if _GATES.match(name)} if kind == "gates" else pairs
    return where.strip_scheme(_text(value))


def _said(layer, flag, field, kind):
    """Every different value that a layer names."""
    if layer.words is not None:
        values = [v for v in where.flag_values(layer.words, flag) if v or kind not in _MAPS] if flag else []
        raw = [",".join(values)] if kind in _MAPS else values[-1:]
    else:
        raw = [found.get(field) for found in layer.documents]
    found = []
    for value in raw:
        if value is None or value == "" or value == {} or value == []:
            continue
        try:
            value = convert(kind, value)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            raise ValueError("%s: %s: not understood: %s" % (layer.name, flag if layer.words is not None else field, str(value)[:60])) from None
        if value not in found and not (kind == "count" and value == 0):
            found.append(value)
    return found


def lookup(layers, merged, flag, field, kind):
    """(outcome, value, source, reason)."""
    whole, sources = {}, []
    for layer in layers:
        if layer.problem:
            return layer.problem[0], None, layer.name, layer.problem[1]
        try:
            found = _said(layer, flag, field, kind)
        except ValueError as error:
            return UNREADABLE, None, layer.name, str(error)
        if len(found) > 1:
            return CONFLICT, None, layer.name, "%s: configurations disagree: %s" % (layer.name, ", ".join(str(v) for v in found)[:200])
        if not found:
            continue
        if kind not in _MAPS or not merged or (layer.words is not None and kind != "gates" and not sources):
            return VALUE, found[0], layer.name, ""
        whole, sources = merge(found[0], whole), [*sources, layer.name]
    if sources:
        return VALUE, whole, " over ".join(sources), ""
    return UNNAMED, None, "", ""


# -- the section -------------------------------------------------------------------------------------------------------


def _distribution(kubelet):
    """Whose kubelet it is, by its process, else by the directories it left."""
    directories, asked = [], True
    for name, path in _DIRECTORIES:
        answer = kubelet.host.exists(path)
        asked = asked and answer.ok
        if answer.ok and answer.value:
            directories.append((name, path))
    pid, words, name = kubelet.pid, kubelet.words, "kubelet"
    program = min(kubelet.embedding) if kubelet.embedding else None
    if program and not kubelet.running:
        pid, words = kubelet.embedding[program]
    said = " ".join(words)
    if program:
        name = _RANCHER.get(program, "microk8s")
    elif "/var/lib/rancher/rke2" in said or "/var/lib/rancher/k3s" in said:
        name = "rke2" if "/var/lib/rancher/rke2" in said else "k3s"
    elif said.startswith("/snap/microk8s/"):
        name = "microk8s"
    elif not words:
        name = directories[0][0] if directories else unknown("a directory could not be looked for") if not asked else not_applicable("no kubelet")
    nothing = unknown(kubelet.problem) if kubelet.problem else not_applicable("no kubelet runs")
    facts = {
        "name": name,
        "pid": nothing if pid is None else pid,
        "command": words[0][:_LONGEST] if words else nothing,
        "other_pids": kubelet.others[:_MOST],
        "data_directories": [path for _name, path in directories],
    }
    return facts, bool(directories) or not asked


def _state(kubelet, left):
    if kubelet.problem:
        return "unknown"
    if kubelet.running:
        return "running"
    return "embedded" if kubelet.embedding else "not_running" if left else "absent"


def _line(kubelet, setting, what):
    """As the operator's preflight reads it: for its document, and to be held against what the file really says."""
    found = kubelet.setting(*setting, what=what)
    value = unknown(found.note) if found.value is None else found.value[:_LONGEST]
    return {"outcome": found.outcome, "value": value, "source": found.where or "", "skipped": kubelet.skipped()[:_MOST]}


def nic_numa_nodes(host):
    """NUMA nodes of the RDMA devices: what a pod asks for beside accelerators, and the TopologyManager aligns with them."""
    listed = host.listdir("/sys/class/infiniband")
    if listed.status == ABSENT:
        return not_applicable("no RDMA device")
    if not listed.ok:
        return unknown(listed.reason)
    nodes = set()
    for name in listed.value[:_MOST]:
        answer = host.read_line("/sys/class/infiniband/%s/device/numa_node" % name)
        if not answer.ok and answer.status != ABSENT:
            return unknown(answer.reason)
        if answer.ok and answer.value.isdecimal():  # -1: the firmware does not tell; a virtual one has no device
            nodes.add(int(answer.value[:6]))
    return sorted(nodes)


def _plugins(kubelet, state, name):
    """What the kubelet knows of devices; its directory is that of --root-dir, of MicroK8s its own."""
    if state == "absent":
        return dict.fromkeys(("resources", "labels"), not_applicable("no kubelet on this node"))
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import device_plugins  # only where there is a kubelet

    root = where.flag(kubelet.words, "--root-dir") or ("/var/snap/microk8s/common" if name == "microk8s" else "") + "/var/lib/kubelet"
    return device_plugins.read(kubelet.host, posixpath.normpath(root))


def collect(host):
    """The section `kubelet` of docs/node-report.md."""
    kubelet = where.Kubelet(host)
    process, left = _distribution(kubelet)
    state = _state(kubelet, left)
    layers, merged = ([], False) if kubelet.problem else layers_of(kubelet)
    places = [layer.name for layer in layers]
    settings = {}
    for name, flag, field, kind in SETTINGS:
        if kubelet.problem:
            found = UNSEARCHABLE, None, "", "could not look for a kubelet: %s" % kubelet.problem
        else:
            found = lookup(layers, merged, flag, field, kind)
        outcome, value, source, reason = found
        if outcome == UNNAMED:
            reason = kubelet.unnamed(field, places)
            if state == "embedded":
                reason = "%s has its kubelet inside and shows no command line of it; no %s is named in %s" % (process["name"], field, ", ".join(places))
            elif state == "absent":
                value = not_applicable("no kubelet on this node")
        settings[name] = {"outcome": outcome, "value": unknown(reason) if value is None else value, "source": source}
    return {
        "timestamp": utc(host.now()),
        "state": state,
        "problem": kubelet.problem or "",
        "process": process,
        "searched": places,
        "settings": settings,
        "nic_numa_nodes": nic_numa_nodes(host) if state != "absent" else not_applicable("no kubelet on this node"),
        **_plugins(kubelet, state, process["name"]),
        "lines": {
            "container_runtime_endpoint": _line(kubelet, where.ENDPOINT, "endpoint"),
            "topology_manager_policy": _line(kubelet, where.TOPOLOGY_POLICY, "policy"),
        },
    }
