#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Intel GPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: intel_info
short_description: Read the Intel GPUs of a node
version_added: 0.3.0
description:
  - Reads every Intel GPU (Data Center GPU Max and Flex, Arc) with identity, memory, temperature, power, clocks, ECC, firmware, health and processes,
    and compares their number with PCI. Graphics in processors are none. Intel Gaudi has its own module.
  - Uses C(xpu-smi). C(discovery -j) lists the cards, C(dump -d -1) tells the readings of all of them at once,
    C(health -l) their health and limits, C(ps) what uses them, C(topology -m) how their tiles are connected, C(vgpu --precheck) whether the machine is
    ready for virtual GPUs; C(discovery -d) and C(config -d) are asked of each card, C(stats -d) of those whose errors the dump does not tell.
  - Uncorrected errors are those of memory and caches together. A tile is a part of its card and no device of its own.
  - Ports of Xe Link are told in C(extra), for which of them are cabled differs by system. A card is healthy only where temperature, power and memory are.
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
  - The tables of C(discovery), C(discovery -d), C(config), C(stats) and C(topology -m), the CSV of C(dump) and the JSON of C(discovery) are known from the
    vendor's guide, C(discovery -d) also as C(xpu-smi) 2.0 printed it of an Arc B580. The JSON of the other commands is built from the source of the tool. All
    of it is not seen on hardware but that of the Arc B580.
  - The drivers of the kernel have no version of their own. The version of the driver is what the tool tells.
  - There is no row about slicing, for no driver is asked.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Intel GPUs
  fleetproof.accelerator.intel_info:
  become: true
  register: accelerators

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ accelerators.sections['accelerators.intel'].detection.detail }}"

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.intel_info:
    recording: recordings/node-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.intel), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Intel GPUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(intel).
      type: str
      sample: intel
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
      sample: {state: ok, depth: declared, accelerators: 8, detail: Intel(R) Data Center GPU Max 1550 x8, reason: "", host: {not_applicable: no second count}}
    driver:
      description: Versions of the driver, of its kernel module, of the tool and of the runtime.
      type: dict
      sample: {version: 1.3.29735, module_version: {not_applicable: xe comes with the kernel}, tool_version: 1.2.39, library_version: 1.17.6}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: xpu-smi discovery -j, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The accelerators in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "intel:0", index: 0, kind: package, parent: null, name: Intel(R) Data Center GPU Max 1550, memory_mib: 131072}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import intel
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(intel)


if __name__ == "__main__":
    main()
