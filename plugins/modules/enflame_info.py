#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Enflame accelerators."""

from __future__ import annotations

DOCUMENTATION = r"""
module: enflame_info
short_description: Read the Enflame accelerators of a node
version_added: 0.1.0
description:
  - Reads every Enflame accelerator with identity, memory, temperature, power, PCIe, ECC and health, and compares their number with PCI.
  - Uses C(efsmi -q), else its table.
  - A card is C(failed) when the tool does not call it healthy or its RMA flag is set, C(degraded) when its power cable is not normal.
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
  - C(efsmi -q) (drivers 1.2 and 1.4) and the table (1.4 and 1.20, with asterisks) were seen on hardware. Its JSON has no public description and is not
    asked for.
  - C(efsmi -q) does not say how many cards there are. PCI does, and fewer cards than there is C(unavailable).
  - In a container temperature and power are C(-), which is unknown.
  - There is no row about slicing read from the driver. The name of the kernel module is not published.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Enflame accelerators
  fleetproof.accelerator.enflame_info:
  become: true
  register: accelerators

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ accelerators.sections['accelerators.enflame'].detection.detail }}"

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.enflame_info:
    recording: recordings/node-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.enflame), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Enflame accelerators.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(enflame).
      type: str
      sample: enflame
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
      sample: {state: ok, depth: declared, accelerators: 8, detail: S60 x8, reason: "", host: {not_applicable: no second count}}
    driver:
      description: Versions of the driver, of its kernel module, of the tool and of the runtime.
      type: dict
      sample: {version: 1.4.5.2, runtime: TopsRider}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: efsmi -q, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The accelerators in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "enflame:0", index: 0, kind: package, parent: null, name: S60, memory_mib: 42976}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import enflame
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(enflame)


if __name__ == "__main__":
    main()
