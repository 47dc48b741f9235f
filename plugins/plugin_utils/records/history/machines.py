# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines: what a node is, whatever it is called. By the system serial, and by the accelerators where that is not enough.

A system serial may be that of a chassis with several equal nodes, and a card moves: a machine is known again by its serial
together with its name or one of its cards, and without a serial by most of its cards.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b


def tokens(parts):
    """(kind, value) of each identifier of accelerators."""
    found = set()
    for part in parts:
        if part.kind == "accelerator":
            found.update((kind, value.casefold()) for kind, value in (("uuid", part.uuid), ("serial", part.serial)) if value)
    return sorted(found)


def find(session, node, serial, parts, roster=()):
    """id of the machine, None when it was never stored. roster: names in use, which no other machine was renamed from."""
    given = tokens(parts)
    held = _holders(session, given)
    if serial:
        listed = session.rows("SELECT id, name FROM history_machines WHERE system_serial = :serial", serial=serial)
        known = [one for one in listed if held[one[0]]]
        if known:
            return max(sorted(known), key=lambda one: (held[one[0]], one[1] == node))[0]
        for ident, name in sorted(listed):
            if name == node:
                return ident  # every card was replaced, or none can be told
        for ident, name in sorted(listed):
            if name not in roster and (not given or not _has_cards(session, ident)):
                return ident
    for ident, number in sorted(held.items(), key=lambda item: (-item[1], item[0])):
        row = session.row("SELECT system_serial FROM history_machines WHERE id = :id", id=ident)
        if number * 2 > len(given) and (not row[0] or not serial):
            return ident
    ident = named(session, node)
    # Of a machine that was silent so far nothing but its name is known.
    return ident if ident and ((not serial and not given) or _nothing_known(session, ident)) else None


def named(session, node):
    """id of the machine that had this name last."""
    row = session.row("SELECT id FROM history_machines WHERE name = :name ORDER BY last_seen DESC, id LIMIT 1", name=node)
    return row and row[0]


def _holders(session, given):
    """machine -> number of these identifiers that were seen in it last."""
    if not given:
        return Counter()
    names = {"v%d" % i: value for i, (_kind, value) in enumerate(given)}
    rows = session.rows(
        "SELECT kind, value, machine_id, last_seen FROM history_identifiers WHERE value IN (%s)" % ", ".join(":" + n for n in names),
        **names,
    )
    newest = {}
    for kind, value, machine, _seen in sorted(rows, key=lambda row: (row[3], row[2])):
        newest[kind, value] = machine
    return Counter(newest[key] for key in given if key in newest)


def _has_cards(session, ident):
    return session.row("SELECT 1 FROM history_identifiers WHERE machine_id = :id LIMIT 1", id=ident) is not None


def _nothing_known(session, ident):
    return session.row("SELECT system_serial FROM history_machines WHERE id = :id", id=ident)[0] is None and not _has_cards(session, ident)


def keep(session, node, serial, parts, seen_at, roster=()):
    """id of the machine, made or brought up to date."""
    ident = find(session, node, serial, parts, roster)
    if ident is None:
        given = tokens(parts)
        words = [node, serial or "", *("%s %s" % one for one in given)]
        ident = blake2b("\0".join(words).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
        session.insert("history_machines", [{"id": ident, "system_serial": serial, "name": node, "first_seen": seen_at, "last_seen": seen_at}])
    session.run(
        "UPDATE history_machines SET system_serial = COALESCE(:serial, system_serial), name = :name, last_seen = :seen WHERE id = :id AND last_seen <= :seen",
        serial=serial,
        name=node,
        seen=seen_at,
        id=ident,
    )
    session.run("UPDATE history_machines SET first_seen = :seen WHERE id = :id AND first_seen > :seen", seen=seen_at, id=ident)
    given = tokens(parts)
    session.insert("history_identifiers", [{"kind": kind, "value": value, "machine_id": ident, "last_seen": seen_at} for kind, value in given])
    for kind, value in given:
        session.run(
            "UPDATE history_identifiers SET last_seen = :seen WHERE kind = :kind AND value = :value AND machine_id = :id AND last_seen < :seen",
            seen=seen_at,
            kind=kind,
            value=value,
            id=ident,
        )
    return ident
