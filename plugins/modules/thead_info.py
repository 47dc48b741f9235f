#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of T-Head PPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: thead_info
short_description: Read the T-Head PPUs of a node
version_added: 0.1.0
description:
  - Reads every T-Head (Alibaba) PPU with identity, memory, firmware, temperature, power, ECC, remapped rows, retired pages, MIG mode, throttle reasons,
    recovery action, fabric, interconnect ports and processes, every MIG device of it as a partition, and compares their number with PCI.
  - Uses the text of C(ppu-smi -q), and the table of C(ppu-smi) where that is refused. The XML of C(ppu-smi) is documented to exist but not in its names,
    and is not used.
  - C(ppu-smi) exits with status 0 also when it fails. Its words decide.
  - A PPU that was drained, or that another driver holds (vfio-pci), is not shown by C(ppu-smi). PCI still shows it, and the detection is C(unavailable)
    with its address. The vendor id on PCI is shared with network adapters and processor ports, which are not counted.
  - A tool that is missing, hangs, is denied, prints nothing, finds no driver or lacks a symbol of its library is reported as C(unavailable) with the reason.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable). C(N/A) of the tool is unknown.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - Three calls are made for all PPUs together, one after the other - C(-q), C(-q -d VERSION) and C(icn -s) - and with MIG on, C(-L) and the table.
  - The tool is looked for on the path and below C(/usr/local/PPU_SDK).
  - Of the interconnect, a port that the product does not use is inactive like one that failed. The number of active ports is reported,
    and all ports in C(extra.icn_ports), to be compared between PPUs and nodes.
  - Several PPUs of one board have the same serial.
  - The maximum of the PCIe link is, as the tool prints it, what PPU and slot can both do.
  - The temperature limit is the maximum operating temperature, where software lowers the clocks. That of the hardware is C(extra.temperature_slowdown_c).
  - Seen on hardware are the table, the sections CLOCK, POWER, TEMPERATURE and VERSION, and C(icn -s). Not seen on hardware and read from the vendor's guide
    are the whole output of C(-q), ECC errors, remapped rows and retired pages that are not zero, recovery actions, fabric states and the table of MIG devices.
  - There is no cross-check with a second tool on the host, because the manufacturer has none.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the T-Head PPUs
  fleetproof.accelerator.thead_info:
  become: true
  register: ppus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ ppus.sections['accelerators.thead'].detection.detail }}"

- name: Give a slow node more time, and keep what it said
  fleetproof.accelerator.thead_info:
    deadline: 120
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.thead_info:
    recording: recordings/thead-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.thead), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The T-Head PPUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(thead).
      type: str
      sample: thead
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether PPUs were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
      type: dict
      sample:
        state: ok
        depth: declared
        accelerators: 8
        detail: PPU-ZW810E x8
        reason: ""
        host: {not_applicable: no second tool counts}
    driver:
      description:
        - C(version) is the kernel driver, C(library_version) that of HGML, C(tool_version) that of C(ppu-smi), C(runtime_version) that of HGGC.
      type: dict
      sample: {version: 2.1.1-rbd225, library_version: "1.0", tool_version: "1.28", runtime: HGGC, runtime_version: "13.0"}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: ppu-smi -q, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The PPUs (C(package)) in the order of the tool, each followed by its MIG devices (C(partition)).
      type: list
      elements: dict
      sample:
        - {id: "thead:0", index: 0, kind: package, parent: null, name: PPU-ZW810E, memory_mib: 98304, extra: {minor_number: 0}}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import thead
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(thead)


if __name__ == "__main__":
    main()
