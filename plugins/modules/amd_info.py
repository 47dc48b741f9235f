#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of AMD accelerators."""

from __future__ import annotations

DOCUMENTATION = r"""
module: amd_info
short_description: Read the AMD accelerators of a node
version_added: 0.1.0
description:
  - Reads every AMD GPU and every partition of one with identity, memory, firmware, temperature, power, ECC, retired pages, PCIe, xGMI links,
    partition modes, throttling and processes, and compares their number with PCI.
  - Uses C(amd-smi) with JSON output when the node has it and it works, else C(rocm-smi -a --json), else the files of the driver amdgpu and of KFD.
    They give the same facts as far as each tells them; C(sources) lists what was asked.
  - Partitions (CPX and others) belong to the package they are cut from. Counts and health speak of packages.
  - A tool that does not answer, that may not open the devices, that fails or that prints what cannot be understood is reported as
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
  - Without root privileges the tools leave out retired pages and more, and need the groups C(video) and C(render).
  - Counts of ECC errors are those since the driver was loaded. Earlier ones show as retired pages.
  - Calls to the vendor's tools are made one after the other, each for all GPUs. When one hangs, no further one is made.
  - A node without an AMD accelerator on PCI is not asked with a vendor tool.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the AMD accelerators
  fleetproof.accelerator.amd_info:
  become: true
  register: gpus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ gpus.sections['accelerators.amd'].detection.detail }}"

- name: Give a node with many partitions more time, and keep what it said
  fleetproof.accelerator.amd_info:
    deadline: 120
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.amd_info:
    recording: recordings/gpu-m01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.amd), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The AMD accelerators.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(amd).
      type: str
      sample: amd
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether accelerators were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
        - C(host) is the count of C(rocm-smi --showuniqueid), which is asked when C(amd-smi) lists fewer than PCI.
      type: dict
      sample:
        state: ok
        depth: declared
        accelerators: 8
        detail: AMD Instinct MI300X x8
        reason: ""
        host: {command: rocm-smi --showuniqueid, accelerators: {unknown: not run}, detail: "", reason: "not run: it would tell nothing more"}
    driver:
      description: Versions of the driver amdgpu, of the AMD SMI library and tool, and of ROCm. A driver of the kernel's own tree has none.
      type: dict
      sample: {version: 6.12.12, module_version: 6.12.12, library_version: 25.3.0, tool_version: 25.3.0+ede62f2, runtime: rocm, runtime_version: 6.4.0}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: amd-smi static --json, status: ok, seconds: 0.9, detail: ""}
    devices:
      description: The GPUs (C(package)) in the order of the tool, each followed by its partitions (C(partition)) when it has several.
      type: list
      elements: dict
      sample:
        - {id: "amd:0", index: 0, kind: package, parent: null, name: AMD Instinct MI300X, memory_mib: 196592}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(amd)


if __name__ == "__main__":
    main()
