#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Intel Gaudi accelerators."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gaudi_info
short_description: Read the Intel Gaudi accelerators of a node
version_added: 0.1.0
description:
  - Reads every Intel Gaudi accelerator with identity, slot, memory, temperature, power and ECC, and compares their number with PCI.
  - Uses C(hl-smi). Its table tells the cards, one query as CSV (C(-Q)) what the table lacks; two calls, whatever the number of cards.
  - The last column of the table counts ECC errors only where its head says so. Since C(hl-smi) 1.21 it counts events, which are no errors.
  - A tool that is missing, hangs, is denied, prints nothing, lacks a library or a symbol of it is reported as C(unavailable) with the reason.
    An output that ends early or does not fit has an unknown number of accelerators, not a smaller one.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - The table of C(hl-smi) was seen on hardware (1.4, 1.18, 1.21), also with the prefix of its logger on every line. The query is built from the
    vendor's documentation and not seen on hardware.
  - The number of a device node follows the order in which the driver came to the cards, not that of C(hl-smi) or of the bus. It is read from sysfs.
  - There is no row about slicing read from the driver, for no driver is asked; and no health word, for C(hl-smi) has none.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Intel Gaudi accelerators
  fleetproof.accelerator.gaudi_info:
  become: true
  register: accelerators

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ accelerators.sections['accelerators.gaudi'].detection.detail }}"

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.gaudi_info:
    recording: recordings/node-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.gaudi), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Intel Gaudi accelerators.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(gaudi).
      type: str
      sample: gaudi
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether accelerators were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
        - PCI showing more than the tool is C(unavailable).
      type: dict
      sample: {state: ok, depth: declared, accelerators: 8, detail: HL-225 x8, reason: "", host: {not_applicable: no second count}}
    driver:
      description: Versions of the driver, of its kernel module, of the tool and of the runtime.
      type: dict
      sample: {version: 1.21.2-0a1b2c3, module_version: 1.21.2-0a1b2c3, tool_version: hl-1.21.2-fw-59.2.3.0}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: hl-smi, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The accelerators in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "gaudi:0", index: 0, kind: package, parent: null, name: HL-225, memory_mib: 98304}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import gaudi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(gaudi)


if __name__ == "__main__":
    main()
