# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter neutral_recording; documented beside this file."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.identifiers import replace_identifiers


def neutral_recording(document, words=()):
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise AnsibleFilterError("neutral_recording: found no recording, allowed: a mapping with schema: %s" % SCHEMA)
    return replace_identifiers(document, [str(word) for word in words])


class FilterModule:
    def filters(self):
        return {"neutral_recording": neutral_recording}
