#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Kunlunxin accelerators."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kunlunxin_info
short_description: Read the Kunlunxin accelerators of a node
version_added: 0.1.0
description:
  - Reads every Kunlunxin accelerator with identity, memory, firmware, temperature, power, PCIe and ECC, and compares their number with PCI.
  - Uses C(xpu-smi -q), else its table, else C(xpu_smi) of older cards.
  - Intel's tool is called C(xpu-smi) too. It is known by what it prints and its cards are never taken for Kunlunxin's.
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
  - C(xpu-smi -q) and its table were seen on hardware (P800). C(xpu_smi) is built from its likeness and not seen on hardware.
  - The index of C(xpu-smi) is not the number of the device node, which is the minor number that C(-q) tells.
  - The table and C(-q) number the runtime differently for the same driver.
  - There is no row about slicing read from the driver; and no health word, for C(xpu-smi) has none. A card that hung in a kernel looks well in it, see
    M(fleetproof.accelerator.kernel_events).
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Kunlunxin accelerators
  fleetproof.accelerator.kunlunxin_info:
  become: true
  register: accelerators

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ accelerators.sections['accelerators.kunlunxin'].detection.detail }}"

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.kunlunxin_info:
    recording: recordings/node-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.kunlunxin), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Kunlunxin accelerators.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(kunlunxin).
      type: str
      sample: kunlunxin
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
      sample: {state: ok, depth: declared, accelerators: 8, detail: P800 OAM x8, reason: "", host: {not_applicable: no second count}}
    driver:
      description: Versions of the driver, of its kernel module, of the tool and of the runtime.
      type: dict
      sample: {version: 5.0.21.26, module_version: 5.0.21.26, runtime: XPU-RT, runtime_version: "10.2"}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: xpu-smi -q, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The accelerators in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "kunlunxin:0", index: 0, kind: package, parent: null, name: P800 OAM, memory_mib: 98304}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import kunlunxin
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(kunlunxin)


if __name__ == "__main__":
    main()
