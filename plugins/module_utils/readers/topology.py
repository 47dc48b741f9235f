# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a vendor's tool says that its devices are connected: the matrix of its topology command, one call a node.

One form is common to all: a line of labels, then a line for each label. Its words are the vendor's (NV18, XGMI, HCCS, MX, ICN2) or of PCI
(PIX, PXB, PHB, NODE, SYS, from near to far).
"""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

SECONDS = 20
LARGEST = 256  # labels of one matrix
# manufacturer -> (programs, the first that is there is asked, arguments)
QUESTIONS = {
    "amd": ((("amd-smi",), ("topology", "--json")), (("rocm-smi", "/opt/rocm/bin/rocm-smi"), ("--showtopo",))),
    "hygon": ((("hy-smi", "/opt/hyhal/bin/hy-smi", "/usr/local/hyhal/bin/hy-smi", "/opt/dtk/bin/rocm-smi"), ("--showtopo",)),),
    "iluvatar": ((("ixsmi",), ("topo", "-m")),),
    "metax": ((("mx-smi", "ht-smi"), ("topo", "-n")),),
    "mthreads": ((("mthreads-gmi",), ("topo", "-m")),),
    "nvidia": ((("nvidia-smi",), ("topo", "-m")),),
    "thead": ((("ppu-smi", "/usr/local/PPU_SDK/ppu-smi/bin/ppu-smi"), ("topo", "-m")),),
}
ENVIRONMENT = {"iluvatar": {"LD_LIBRARY_PATH": "/usr/local/corex/lib64:/usr/local/corex/lib"}}  # as manufacturers/iluvatar.py asks ixsmi
NOT_ASKED = {
    "ascend": unknown("npu-smi info -t topo: no row of these devices"),
    "cambricon": not_applicable("no document tells what cnmon prints of paths"),
}

_LABEL = re.compile(r"(?:(?:[A-Za-z][A-Za-z_-]*\d?_?)\d{1,4}|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\Z")
_TITLE = re.compile(r"\s*(?:=+ *)?([A-Za-z][A-Za-z ]+?)(?: TABLE:| *=+)\s*\Z")
_SELF = ("X", "0", "SELF")
_CPUS = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*\Z")
_NIC = re.compile(r"\s*(NIC\d{1,4}): *([\w.-]{1,60})\s*\Z")


def _head(line):
    """The labels at the beginning of a line that may be the head of a matrix."""
    labels = []
    for word in line.split():
        if not _LABEL.match(word):
            break
        labels.append(word)
    return labels


def _affinity(line):
    """The order of the columns behind the labels, as keys."""
    found = re.findall(r"(CPU|GPU NUMA|NUMA|Node)\s+(?:Affinity|ID)", line)
    return [{"CPU": "cpus", "GPU NUMA": "own"}.get(word, "numa") for word in found]


def tables(text):
    """{title in lower case, "" without one: {"labels", "rows": {label: {peer: word}}, "numa": {label: node}, "cpus": {label: list}}}, {NIC label: name}."""
    found, nics, title, labels, keys, table = {}, {}, "", [], [], None
    for line in text.splitlines():
        titled, nic, words = _TITLE.match(line), _NIC.match(line), line.split()
        if nic:
            nics[nic.group(1)] = nic.group(2)
        elif titled:
            title, labels, table = titled.group(1).lower(), [], None
        elif table is None or not words:
            more = _head(line)
            at_once = len(words) > 1 and labels and words[0] in labels and not all(map(_LABEL.match, words[: len(labels) + 1]))
            if at_once:
                table = found.setdefault(title, {"labels": labels, "rows": {}, "numa": {}, "cpus": {}})
            elif more and len(labels) + len(more) <= LARGEST:
                labels, keys = (labels + more, _affinity(line)) if more[0] not in labels else (more, _affinity(line))
        if table is not None and words and _LABEL.match(words[0]):
            _row(table, keys, words)
    return found, nics


def _row(table, keys, words):
    label, labels = words[0], table["labels"]
    cells = words[1 : 1 + len(labels)]
    if len(cells) < len(labels) or label in table["rows"]:
        return
    shifted = label in labels and cells[labels.index(label)] not in _SELF and "ENABLED" not in cells
    if shifted or any(re.match(r"\d+[-,]\d", cell) for cell in cells):  # a list of processors where a connection was to be
        return  # no cell of this line can be trusted
    table["rows"][label] = {peer: word[:20] for peer, word in zip(labels, cells) if peer != label}
    for key, said in zip(keys, words[1 + len(labels) :]):
        if key == "numa" and re.match(r"\d{1,4}\Z", said):
            table["numa"][label] = int(said)
        elif key == "cpus" and _CPUS.match(said):
            table["cpus"][label] = said


def matrix(text):
    """(table of the kinds of connection, {label: {peer: weight}}, nics), (None, {}, {}) where there is none."""
    found, nics = tables(text)
    numbers = ("access", "weight", "hops", "numa", "coherent", "bandwidth", "bidirectional", "dma", "atomics")
    kinds = next((found[title] for title in found if "type" in title), next((found[title] for title in found if not title.startswith(numbers)), None))
    if not kinds or not kinds["rows"]:
        return None, {}, {}
    weights = next((found[title]["rows"] for title in found if title.startswith("weight")), {})
    return kinds, weights, nics


def of_json(text):
    """The same of amd-smi topology --json, in its two shapes."""
    try:
        told = json.loads(text[text.index("[") : text.rindex("]") + 1])
    except ValueError:
        return None, {}, {}
    rows, weights = {}, {}
    for gpu in [g for g in told if isinstance(g, dict) and isinstance(g.get("gpu"), int)][:LARGEST]:
        name = "GPU%d" % gpu["gpu"]
        if isinstance(gpu.get("links"), list):
            peers = {"GPU%s" % link.get("gpu"): link for link in gpu["links"] if isinstance(link, dict)}
            kinds, weight = ({peer: link.get(key) for peer, link in peers.items()} for key in ("link_type", "weight"))
        else:
            parts = (gpu[key] if isinstance(gpu.get(key), dict) else {} for key in ("link_type", "weight"))
            kinds, weight = ({peer.upper().replace("_", ""): said for peer, said in part.items()} for part in parts)
        rows[name] = {peer: word[:20] for peer, word in kinds.items() if isinstance(word, str) and peer != name}
        weights[name] = {peer: str(number) for peer, number in weight.items() if peer != name}
    return ({"labels": list(rows), "rows": rows, "numa": {}, "cpus": {}} if rows else None), weights, {}


def _identities(labels, devices, nics):
    """label -> id of the device or name of the adapter."""
    found = {}
    for label in labels:
        number = re.match(r"[A-Za-z_-]+(\d{1,4})\Z", label)
        if label in nics or label.startswith(("NIC", "mlx", "bnxt", "ionic")):
            found[label] = nics.get(label, label)
        elif number:
            found[label] = devices.get(int(number.group(1)), label)
        else:
            found[label] = devices.get(label.lower(), label)
    return found


def read(host, manufacturer, devices, sources):
    """{source, ids, levels, numa, cpus, weights} or why not. devices: {index or PCI address: id}."""
    said = NOT_ASKED.get(manufacturer)
    for programs, arguments in QUESTIONS.get(manufacturer, ()):
        for program in programs:
            answer = host.run([program, *arguments], timeout=SECONDS, env=ENVIRONMENT.get(manufacturer))
            if answer.status != ABSENT:
                break
        name = " ".join((program, *arguments))
        status = answer.status if answer.rc in (None, 0) else "exit %s" % answer.rc
        sources.append({"source": name, "status": status, "seconds": round(answer.seconds, 3), "detail": "" if status == "ok" else answer.reason})
        if answer.status == ABSENT:
            said = said or unknown(answer.reason)
            continue
        if not answer.succeeded:
            return unknown(answer.reason)
        kinds, weights, nics = of_json(answer.stdout) if "--json" in arguments else matrix(answer.stdout)
        if kinds is None:
            return unknown("%s: not understood: %.80r" % (name, answer.stdout.strip()))
        return shown(name, kinds, weights, nics, devices)
    return said


def of_devices(devices):
    """The matrix that npu-smi told with the devices (extra.topology_row); None where it told none."""
    rows, ids = {}, {}
    for device in devices:
        extra = device.get("extra")
        row = extra.get("topology_row") if isinstance(extra, dict) else None
        if isinstance(row, dict) and isinstance(row.get("label"), str) and isinstance(row.get("peers"), dict) and isinstance(device.get("id"), str):
            rows[row["label"]] = {str(peer)[:40]: word for peer, word in row["peers"].items() if isinstance(word, str)}
            ids[row["label"]] = device["id"]
    if not rows or len(rows) > LARGEST:
        return None
    labels = list(rows)
    told = shown("npu-smi info -t topo", {"labels": labels, "rows": rows, "numa": {}, "cpus": {}}, {}, {}, {})
    return dict(told, ids=[ids[label] for label in labels])


def shown(name, kinds, weights, nics, devices):
    labels = kinds["labels"] + [label for label in kinds["rows"] if label not in kinds["labels"]]
    ids = _identities(labels, devices, nics)

    def square(rows, own):
        return [[own if one == other else rows.get(one, {}).get(other) or rows.get(other, {}).get(one) or "?" for other in labels] for one in labels]

    return {
        "source": name,
        "ids": [ids[label] for label in labels],
        "levels": square(kinds["rows"], "X"),
        "weights": square(weights, "0") if weights else not_applicable("%s tells no weights" % name),
        **{key: {ids[label]: value for label, value in kinds[key].items()} for key in ("numa", "cpus")},
    }
