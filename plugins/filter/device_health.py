# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter device_health; documented beside this file."""

from __future__ import annotations

import json

from ansible.errors import AnsibleFilterError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import device_health as summary
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.policy import PolicyError


def device_health(sections, policy=None):
    for name, value in (("sections", sections), ("policy", policy or {})):
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise AnsibleFilterError("device_health: %s: found %s, allowed: a dictionary" % (name, type(value).__name__))
    try:
        # Ansible marks texts and dictionaries; rules know plain ones.
        return summary.health(*(json.loads(json.dumps(value)) for value in (sections, policy or {})))
    except (PolicyError, TypeError) as error:
        raise AnsibleFilterError("device_health: %s" % error) from error


class FilterModule:
    def filters(self):
        return {"device_health": device_health}
