#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of MetaX GPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: metax_info
short_description: Read the MetaX GPUs of a node
version_added: 0.1.0
description:
  - Reads every MetaX GPU with identity, memory, firmware, state, temperature, power, ECC, retired pages, throttle reasons, peers and processes,
    every sGPU of it as a partition, and compares their number with PCI.
  - Uses C(mx-smi), and C(ht-smi) of the sister brand where there is no C(mx-smi). The table is read by the names in its head,
    because its columns differ between versions.
  - A GPU that C(mx-smi -L) lists as C(Not Available) is there and cannot be used. It counts, its health is C(failed), and the detection is
    C(unavailable) with the reason of the tool.
  - A C(mx-smi) that calls itself C(MOFFETT-SMI) belongs to another manufacturer and is not read.
  - A tool that is missing, hangs, is denied, prints nothing or lacks a symbol of its library is reported as C(unavailable) with the reason.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable). C(N/A) of the tool is unknown.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - Five calls are made for all GPUs together, one after the other - the table, C(-L), C(-j), one with all C(--show) options, and C(topo -m).
    Where a version refuses several options in one call, each is asked alone.
  - The PCIe link is read from the system, not from the tool.
  - C(ras_status) of C(-j) holds registers, not counts, and is not read. C(ras_count) counts the errors of every unit of the chip;
    the larger of it and of C(--count-ecc) is reported.
  - Without root, or in a container without C(/sys), GPUs may be listed as C(Not Available).
  - C(extra.sgpu_registry) is the directory C(sgpu) of the kernel module below the PCI device. Its layout is not seen on hardware.
    Not seen on hardware either are a C(ras_count) or C(pci_event_info) with entries, tables with sGPUs, dual-chip boards, and more than one option in a call.
  - MetaXLink states are not read, because the format of C(mx-smi mxlk) is not known. The peers of a GPU are in C(extra.topology).
  - There is no cross-check with a second tool on the host, because the manufacturer has none.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the MetaX GPUs
  fleetproof.accelerator.metax_info:
  become: true
  register: gpus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ gpus.sections['accelerators.metax'].detection.detail }}"

- name: Give a slow node more time, and keep what it said
  fleetproof.accelerator.metax_info:
    deadline: 120
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.metax_info:
    recording: recordings/metax-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.metax), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The MetaX GPUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(metax).
      type: str
      sample: metax
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether GPUs were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
      type: dict
      sample:
        state: ok
        depth: declared
        accelerators: 8
        detail: MetaX C500 x8
        reason: ""
        host: {not_applicable: no second tool counts}
    driver:
      description:
        - C(version) is the kernel mode driver, C(tool_version) that of C(mx-smi), C(runtime) is C(MACA), or C(HPCC) of the sister brand.
      type: dict
      sample: {version: 3.8.30, module_version: 3.8.30, tool_version: 2.3.1, runtime: MACA, runtime_version: 3.7.1.5}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: mx-smi -L, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The GPUs (C(package)) in the order of the tool, each followed by its sGPUs (C(partition)).
      type: list
      elements: dict
      sample:
        - {id: "metax:0", index: 0, kind: package, parent: null, name: MetaX C500, memory_mib: 65536, extra: {sgpu_count: 0}}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import metax
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(metax)


if __name__ == "__main__":
    main()
