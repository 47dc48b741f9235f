# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What amd-smi prints without --json, in the shape of its JSON: the same words, in capitals and indented. Asked only where its JSON is none."""

from __future__ import annotations

import re

_LINE = re.compile(r"( *)([A-Za-z][\w. ()/-]*?):(?: (.*))?\Z")
# What whoever copied the text leaves where lines were.
_LEFT_OUT = re.compile(r"\[?\.\.\.|\[output truncated")
_VERSION = {"amdsmi tool": "version", "amdsmi library version": "amdsmi_library_version", "rocm version": "rocm_version"}
_ROW = re.compile(r"GPU\d+ +([0-9a-fA-F:.]+) +.*?([A-Z]+)\s*\Z")
_READ = re.compile(r"N/A|\d+(?:\.\d+)? [KMGT]?B")


def parse(word, text):
    """(values as of the JSON of `amd-smi <word>`, what says that something was left out or "")."""
    lines = [line[:400] for line in text.expandtabs(4).splitlines()]
    cut = next(("a line %r in it" % line.strip()[:40] for line in lines if _LEFT_OUT.match(line.strip())), "")
    if word == "version":
        parts = [part.partition(":") for line in lines for part in line.split("|")]
        told = {_VERSION[name.strip().lower()]: said.strip() for name, _colon, said in parts if name.strip().lower() in _VERSION}
        return ([[told]] if told else []), cut
    found = _links(lines) if word == "xgmi" else [_gpu(index, pairs) for index, pairs in _blocks(lines)]
    return ([found] if found else []), cut


def _blocks(lines):
    """(number, what is indented below it as pairs) of each GPU; CPU sockets have blocks of their own."""
    blocks, stack = [], []
    for line in lines:
        found = _LINE.match(line.rstrip())
        if not found:
            continue
        indent, key, said = len(found.group(1)), re.sub(r"\W+", "_", found.group(2).strip().lower()), (found.group(3) or "").strip()
        while stack and stack[-1][0] >= indent:
            stack.pop()
        children = []
        if not stack and key == "gpu" and re.match(r"\d{1,5}\Z", said):
            blocks.append((int(said), children))
        elif stack:
            stack[-1][1].append((key, said.replace("\u00b0C", "C") or children))
        stack.append((indent, children))
    return blocks


def _tree(pairs):
    tree = {}
    for key, said in pairs:
        tree.setdefault(key, _tree(said) if isinstance(said, list) else said)
    return tree


def _gpu(index, pairs):
    tree = dict(_tree(pairs), gpu=index)
    running = [said for key, said in pairs if key == "process_info"]
    if running:
        tree["process_list"] = [{"process_info": _tree(said) if isinstance(said, list) else said} for said in running]
    if isinstance(tree.get("fw_list"), dict):
        tree["fw_list"] = list(tree["fw_list"].values())
    state = tree["ras"].get("ecc_block_state") if isinstance(tree.get("ras"), dict) else None
    if isinstance(state, dict):
        tree["ras"]["ecc_block_state"] = {key.upper(): said for key, said in state.items()}
    for key, said in pairs:
        if key in ("retired", "pending", "un_res") and isinstance(said, list):
            # one address for each page
            tree[key] = [page for page in said if page[0] == "page_address"] or "N/A"
    return tree


def _links(lines):
    """The link metric table: the read counters of the peers follow the row of a GPU."""
    found = []
    for line in lines:
        row = _ROW.match(line)
        if row:
            speed = re.findall(r"\d{1,6} Gb/s", line)
            found.append({"bdf": row.group(1), "link_metrics": {"link_type": row.group(2), "max_bandwidth": speed[-1] if speed else None, "links": []}})
        elif found and line.strip().startswith("Read "):
            found[-1]["link_metrics"]["links"] = [{"read": said} for said in _READ.findall(line)]
    return found
