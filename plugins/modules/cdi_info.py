#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cdi_info
short_description: Read the CDI specifications of a node
version_added: 0.1.0
description:
  - Reads the files of the Container Device Interface (CDI) that container runtimes load, in YAML or JSON.
  - Tells of each whether a runtime takes it, which devices it names, who wrote it and when, and whether every device node, mount and hook that it names is
    on the machine with the type and numbers that it gives.
  - Tells which devices two files name, and which of the files wins.
  - Judges nothing. Whether every accelerator is named, and whether a file is stale, are rules of a run.
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
options:
  directories:
    description:
      - Directories that the container runtime is configured to load, the one that wins last.
      - The default is what runtimes load unless they are told otherwise.
    type: list
    elements: path
    default: [/etc/cdi, /var/run/cdi]
author:
  - Fleetproof maintainers (@fleetproof)
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the CDI specifications
  fleetproof.accelerator.cdi_info:
  become: true
  register: cdi

- name: Show what is named and not there
  ansible.builtin.debug:
    msg: "{{ cdi.sections.cdi.specs | selectattr('state', 'equalto', 'valid') | map(attribute='missing') | flatten }}"
"""

RETURN = r"""
sections:
  description: The section that was read, by its name.
  returned: success, without O(run_directory)
  type: dict
  contains:
    cdi:
      description: The CDI specifications, as described in docs/node-report.md.
      type: dict
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        directories:
          - {path: /etc/cdi, state: absent, detail: "", ignored: []}
          - {path: /var/run/cdi, state: read, detail: "", ignored: []}
        specs:
          - path: /var/run/cdi/nvidia.yaml
            priority: 1
            state: valid
            reason: ""
            problems: []
            modified: "2026-11-20T08:01:12Z"
            version: 0.5.0
            kind: nvidia.com/gpu
            generator: nvidia-ctk
            driver_versions: ["580.95.05"]
            devices:
              - {name: "0", nodes: [/dev/nvidia0]}
              - {name: all, nodes: [/dev/nvidia0]}
            devices_left_out: 0
            counts: {device_nodes: 5, mounts: 21, hooks: 5}
            missing: []
            mismatched: []
            unchecked: []
        conflicts: []
        boot_time: "2026-11-20T08:00:00Z"
        drivers: {nvidia: {dated: "2026-11-20T08:00:31Z"}}
        refresh:
          service: {enabled: enabled, active: inactive, result: success, exit_status: 0}
          path: {enabled: enabled, active: active, result: success, exit_status: {not_applicable: no program}}
recording:
  description: Every question asked to the machine with its answer.
  returned: when O(record) is true
  type: dict
  sample: {schema: fleetproof.accelerator/recording/v1}
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_info
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cdi

OPTIONS = {"directories": {"type": "list", "elements": "path", "default": list(cdi.DIRECTORIES)}}


def main():
    run_info(lambda host, params: {"cdi": cdi.collect(host, params["directories"])}, OPTIONS)


if __name__ == "__main__":
    main()
