# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distribution, from os-release (freedesktop.org os-release(5))."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

PATHS = ("/etc/os-release", "/usr/lib/os-release")
_LINE = re.compile(r"\s*([A-Z][A-Z0-9_]*)=(.*)\Z")


def _unquote(text):
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        quote, text = text[0], text[1:-1]
        if quote == '"':
            text = re.sub(r'\\(["$`\\])', r"\1", text)
    return text


def parse(text):
    pairs = (_LINE.match(line) for line in text.splitlines())
    return {found.group(1): _unquote(found.group(2)) for found in pairs if found}


def read(host):
    """{id, version, name}."""
    answer = None
    for path in PATHS:
        answer = host.read_text(path, 65536)
        if answer.status != ABSENT:
            break
    if not answer.ok:
        return {key: unknown(answer.reason) for key in ("id", "version", "name")}
    fields = parse(answer.value)
    if not fields.get("ID"):
        return {key: unknown("%s: no ID" % answer.subject) for key in ("id", "version", "name")}
    return {
        "id": fields["ID"],
        "version": fields.get("VERSION_ID") or not_applicable("no VERSION_ID: a rolling release"),
        "name": fields.get("PRETTY_NAME") or fields.get("NAME") or fields["ID"],
    }
