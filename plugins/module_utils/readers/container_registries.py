# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registries by which CRI-O pulls."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.container_engines import FILES, flag, table, text


def read(asked):
    """({registry: mirrors}, [registry without TLS], why not complete or "") of containers-registries.conf(5)."""
    names = asked.host.listdir("/etc/containers/registries.conf.d")
    mirrors, insecure, problem = {}, [], "" if names.ok or names.status in (ABSENT, NOT_A_DIRECTORY) else names.reason
    more = sorted(name for name in names.value or [] if name.endswith(".conf"))[:FILES]
    for path in ["/etc/containers/registries.conf", *("/etc/containers/registries.conf.d/" + name for name in more)]:
        doc, why = asked.toml(path)
        problem = problem or why
        entries = table(doc).get("registry")
        for entry in entries if isinstance(entries, list) else ():
            entry = table(entry)
            name, others = text(entry.get("prefix")) or text(entry.get("location")), entry.get("mirror")
            if name:
                mirrors[name] = [text(table(one).get("location")) or "" for one in others] if isinstance(others, list) else []
                insecure += [name] if flag(entry.get("insecure")) else []
    return mirrors, insecure, problem
