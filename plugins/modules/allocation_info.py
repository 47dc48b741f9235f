#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether accelerators can be sliced, and managed while sliced, as far as it shows without starting anything."""

from __future__ import annotations

DOCUMENTATION = r"""
module: allocation_info
short_description: Tell what an allocation of each accelerator would grant
version_added: 0.1.0
description:
  - Tells, for each accelerator of one manufacturer that its module found, whether it can be sliced and whether it can be managed while it is sliced,
    as rows of the operator's preflight document.
  - Reads the driver where it has something to tell (MIG, compute units, shared containers, sMLU, sGPU), builds what an allocation in each mode would hand
    to a container, and looks whether every device node, path and slicing library of it is on the machine.
  - Starts no container and writes to no driver, so no row is deeper than C(simulated).
  - Tells how the accelerators are connected with each other, with network adapters and with NVMe drives, from the kernel's files and from the topology
    command of the vendor's tool.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.found
options:
  manufacturer:
    description: The manufacturer.
    type: str
    required: true
    choices: [amd, ascend, cambricon, hygon, iluvatar, metax, mthreads, nvidia, thead]
  slicing_library_root:
    description:
      - Directory on the machine that holds the slicing libraries, one directory per manufacturer. This collection has none of its own.
      - Without it the rows say that the libraries are missing from what is granted.
    type: path
  probe_image:
    description:
      - Image of the container that would show what a slice sees, for the commands in the rows. The default is that of the manufacturer where it has one.
      - A row gets the command on the controller, from the grant and from the section C(container_runtime) of the run in O(run_directory).
    type: str
notes:
  - C(unavailable) is not broken. It says that what is on offer could not be shown to work; C(reason) tells why.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the NVIDIA accelerators
  fleetproof.accelerator.nvidia_info:
  become: true
  register: gpus

- name: Tell what an allocation would grant
  fleetproof.accelerator.allocation_info:
    manufacturer: nvidia
    devices: "{{ gpus.sections['accelerators.nvidia'].devices }}"
    detection: "{{ gpus.sections['accelerators.nvidia'].detection }}"
    driver: "{{ gpus.sections['accelerators.nvidia'].driver }}"
    slicing_library_root: /opt/slicing
  become: true
  register: allocation

- name: Show what could not be shown to work
  ansible.builtin.debug:
    msg: "{{ allocation.sections['allocation.nvidia'].checks | selectattr('state', 'equalto', 'unavailable') }}"
"""

RETURN = r"""
sections:
  description:
    - What was read. Two keys. The value of C(allocation.MANUFACTURER), what an allocation would grant, has the keys below.
    - C(paths.MANUFACTURER) tells how accelerators, network adapters and drives are connected. Its value has the keys C(ends), C(functions), C(matrix),
      C(problems) and C(tool).
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: The manufacturer.
      type: str
      sample: nvidia
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    checks:
      description: Rows of the preflight document.
      type: list
      elements: dict
      sample:
        - accelerator: GPU-11111111-2222-3333-4444-555555555555
          capability: mig-partitioning
          mode: partitioned
          state: not-declared
          depth: declared
          detail: ""
          reason: the card declares no partition profile
          command: ""
          evidence: ""
    grants:
      description: What an allocation would hand to a container, per accelerator and mode.
      type: dict
      sample:
        GPU-11111111-2222-3333-4444-555555555555:
          exclusive:
            device_nodes: []
            mounts: []
            environment: {NVIDIA_VISIBLE_DEVICES: GPU-11111111-2222-3333-4444-555555555555}
            annotations: {}
            cdi: [nvidia.com/gpu=GPU-11111111-2222-3333-4444-555555555555]
            runtime: nvidia
            runtime_nodes: [/dev/nvidiactl, /dev/nvidia0]
            driver_request: {}
            caps: []
            missing: []
            unchecked: []
    left_over:
      description: Notes of modes that a run asked on and did not see put back, as of now. Only for V(ascend) and V(cambricon).
      type: list
      elements: dict
      sample: []
    note:
      description: Why there is no row, or no driver to read.
      type: str
      sample: ""
    missing_mounts:
      description: What access to the accelerators needs and is not there. Only where the vendor's own count is greater than what was detected.
      type: list
      elements: str
      sample: ["/dev/nvidiactl"]
    denied_nodes:
      description: Device nodes that this session may not open, by permissions or the device rules of its cgroup. Only where detection is unavailable.
      type: raw
      sample: ["/dev/nvidia7"]
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample: []
recording:
  description: Every question and its answer.
  returned: when O(record=true)
  type: dict
  sample: {schema: fleetproof.accelerator/recording/v1}
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_found


def main():
    options = {
        "manufacturer": {"type": "str", "required": True, "choices": list(section.MANUFACTURERS)},
        "slicing_library_root": {"type": "path"},
        "probe_image": {"type": "str"},
    }
    run_found(section.answer, options)


if __name__ == "__main__":
    main()
