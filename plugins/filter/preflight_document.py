# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter preflight_document; documented beside this file."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document as records


def preflight_document(sections, manufacturers=None, sweep_errors=()):
    if not isinstance(sections, dict):
        raise AnsibleFilterError("preflight_document: found %s, allowed: a dictionary of sections" % type(sections).__name__)
    for name, value in (("manufacturers", manufacturers), ("sweep_errors", sweep_errors)):
        if value is not None and (isinstance(value, str) or not all(isinstance(item, str) for item in value)):
            raise AnsibleFilterError("preflight_document: %s: found %r, allowed: a list of texts" % (name, value))
    return records.dump(records.document(sections, manufacturers, list(sweep_errors or ())))


class FilterModule:
    def filters(self):
        return {"preflight_document": preflight_document}
