#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of AWS Neuron accelerators."""

from __future__ import annotations

DOCUMENTATION = r"""
module: neuron_info
short_description: Read the AWS Neuron accelerators of a node
version_added: 0.1.0
description:
  - Reads every AWS Neuron device (Inferentia, Trainium) with identity, memory, cores, NUMA node and ECC, and compares their number with PCI and with
    what an instance of this type has.
  - Uses C(neuron-ls -j), else its table, and the files of the driver in C(/sys/devices/virtual/neuron_device).
  - The driver, else PCI, else the type of the instance names a device.
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
  - The table of C(neuron-ls) was seen on hardware in its layouts of 2019 to 2025. C(-j) is built from its published example; the files of the driver
    from the vendor's guide, both not seen on hardware.
  - ECC errors are counted since the driver was loaded.
  - There is no row about slicing read from the driver, and no temperature, power or health word, for Neuron tells none.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the AWS Neuron accelerators
  fleetproof.accelerator.neuron_info:
  become: true
  register: accelerators

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ accelerators.sections['accelerators.neuron'].detection.detail }}"

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.neuron_info:
    recording: recordings/node-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.neuron), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The AWS Neuron accelerators.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(neuron).
      type: str
      sample: neuron
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether accelerators were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
        - PCI showing more than the tool, or an instance of this type having more, is C(unavailable).
      type: dict
      sample: {state: ok, depth: declared, accelerators: 16, detail: Trainium2 x16, reason: "", host: {command: the type of the instance, accelerators: 16}}
    driver:
      description: Versions of the driver, of its kernel module, of the tool and of the runtime.
      type: dict
      sample: {version: 2.21.37.0, module_version: 2.21.37.0, runtime: Neuron}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: neuron-ls -j, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The accelerators in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "neuron:0", index: 0, kind: package, parent: null, name: Trainium2, memory_mib: 98304}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import neuron
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(neuron)


if __name__ == "__main__":
    main()
