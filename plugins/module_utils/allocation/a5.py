# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the node of an Ascend 950 (A5) must have for each mode: read once, repeated for each accelerator and mode."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import rows
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import EXCLUSIVE, SHARED, SLICED, VISIBILITY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import whole

MODES = (EXCLUSIVE, SHARED, SLICED, VISIBILITY)
INSTALL = "/usr/local/Ascend/Ascend-Docker-Runtime/ascend_docker_runtime_install.info"
RANK_TABLE = "/etc/hccl_rootinfo.json"
ROOT = ("/etc", "/proc", "/usr")  # an empty directory made by mistake may have one of them
MAJOR = 26  # MindCluster 26.0.0; its tags go 5, 6, 7, then 26
VERSION = "2.0"
GENERATIONS = {"1.0": "A2", "1.2": "A3"}


def runtime(host):
    """(state, detail, reason). The wrapper's own --version is not asked: it prints that of runc."""
    answer = host.read_text(INSTALL)
    if not answer.ok:
        return rows.UNAVAILABLE, "", answer.reason
    pairs = [line.partition("=") for line in answer.value.splitlines()]
    version = next((value.strip() for key, equals, value in pairs if equals and key.strip() == "version"), "")
    if not version:
        return rows.UNAVAILABLE, "", "%s: no version" % INSTALL
    first = whole((version[1:] if version.startswith("v") else version).split(".")[0])
    if first is None:
        return rows.UNAVAILABLE, "", "%s: version %.40r is not a number" % (INSTALL, version)
    if first < MAJOR:
        lacks = "it does not know this chip and asks for /dev/devmm_svm, which such a node lacks"
        return rows.UNAVAILABLE, "", "%.40s is older than MindCluster %d.0.0: %s" % (version, MAJOR, lacks)
    return rows.OK, "Ascend Docker Runtime %.40s" % version, ""


def rank_table(host):
    """(state, detail, reason). The vendor's runtime mounts the file wherever it exists."""
    for directory in ROOT:
        there = host.exists(directory)
        if not there.ok or not there.value:
            why = "%s is not there" % directory if there.ok else there.reason
            return rows.UNAVAILABLE, "", "not looked at: the root of the node is not to be seen here (%s)" % why
    link = host.readlink(RANK_TABLE)
    if link.ok:
        return rows.UNAVAILABLE, "", "%s is a link to %.200s: read it on the node" % (RANK_TABLE, link.value)
    answer = host.read_text(RANK_TABLE)
    if answer.status == answers.ABSENT:
        parent = host.stat("/etc")
        if not parent.ok or parent.value.get("type") != "directory":
            return rows.UNAVAILABLE, "", "/etc of the node is not to be seen: %s" % (parent.reason if not parent.ok else "not a directory")
        return rows.OK, "no rank table: the runtime mounts none, and HCCL negotiates by rootInfo", ""
    if not answer.ok:
        return rows.UNAVAILABLE, "", answer.reason
    try:
        document = json.loads(answer.value)
    except (ValueError, RecursionError):
        return rows.UNAVAILABLE, "", "%s: not JSON" % RANK_TABLE
    version = document.get("version") if isinstance(document, dict) else None
    if version is not None and not isinstance(version, str):
        return rows.UNAVAILABLE, "", "%s: version is no text: %.40r" % (RANK_TABLE, version)
    if not version:
        return rows.UNAVAILABLE, "", "%s: no version" % RANK_TABLE
    if version != VERSION:
        made = " (of %s)" % GENERATIONS[version] if version in GENERATIONS else ""
        fails = "work on several cards fails with EI0014, one card is not affected; remove or replace the file"
        return rows.UNAVAILABLE, "", "%s has version %.40s%s, needed is %s: %s" % (RANK_TABLE, version, made, VERSION, fails)
    return rows.OK, "%s has version %s" % (RANK_TABLE, VERSION), ""


def of(label, read):
    """The eight rows of an accelerator. read: ((state, detail, reason) of the runtime, and of the rank table)."""
    found = []
    for mode in MODES:
        for capability, (state, detail, reason) in zip(("ascend-docker-runtime", "hccl-ranktable"), read):
            found.append(rows.row(label, capability, mode, state, detail=detail, reason=reason))
    return found
