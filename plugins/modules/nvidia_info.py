#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of NVIDIA accelerators."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_info
short_description: Read the NVIDIA accelerators of a node
version_added: 0.1.0
description:
  - Reads every NVIDIA GPU and every MIG device with identity, memory, firmware, health, temperature, power, ECC, row remapping,
    retired pages, PCIe, NVLink, fabric and throttling, and compares their number with PCI and with the driver's own count.
  - Uses NVML through the Python package C(nvidia-ml-py) when the node has it and it works, else C(nvidia-smi -q -x); both give the same facts.
    NVML is loaded in a process of its own, so a crash or hang of the library is one answer.
  - A driver that is not loaded, that differs in version from its library, that denies access or that does not answer is reported as
    C(unavailable) with the reason. It is never reported as no GPU.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - The first question initializes every GPU that has persistence mode off, which can take seconds for each.
  - Calls to the vendor's tools are made one after the other, each for all GPUs.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the NVIDIA accelerators
  fleetproof.accelerator.nvidia_info:
  become: true
  register: gpus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ gpus.sections['accelerators.nvidia'].detection.detail }}"

- name: Give a node with a slow driver more time, and keep what it said
  fleetproof.accelerator.nvidia_info:
    deadline: 120
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.nvidia_info:
    recording: recordings/gpu-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.nvidia), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The NVIDIA accelerators.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(nvidia).
      type: str
      sample: nvidia
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether accelerators were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
        - C(host) is an independent count by the vendor's own tool.
      type: dict
      sample:
        state: ok
        depth: declared
        accelerators: 8
        detail: NVIDIA H100 80GB HBM3 x8
        reason: ""
        host: {command: nvidia-smi -q -x, accelerators: 8, detail: the devices were read with this tool itself, reason: ""}
    driver:
      description: Versions of driver, kernel module, library and CUDA, and whether the kernel module is the open one.
      type: dict
      sample: {version: 580.95.05, module_version: 580.95.05, library_version: 580.95.05, runtime: cuda, runtime_version: "13.0", flavor: open}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: nvidia-smi -q -x, status: ok, seconds: 0.9, detail: ""}
    devices:
      description: The GPUs (C(package)) in the order of the driver, each followed by its MIG devices (C(partition)).
      type: list
      elements: dict
      sample:
        - {id: "nvidia:0", index: 0, kind: package, parent: null, name: NVIDIA H100 80GB HBM3, memory_mib: 81559}
    checks:
      description: Rows of the preflight document; empty here.
      type: list
      elements: dict
      sample: []
    note:
      description: What a person should know about how this was read.
      type: str
      sample: ""
recording:
  description: Every question and its answer.
  returned: when O(record=true)
  type: dict
  sample: {schema: fleetproof.accelerator/recording/v1}
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(nvidia)


if __name__ == "__main__":
    main()
