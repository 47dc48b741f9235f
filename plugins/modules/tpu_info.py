#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Google TPU chips."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tpu_info
short_description: Read the Google TPU chips of a node
version_added: 0.3.0
description:
  - Reads every Google TPU chip with its type, its device node and the process that uses it, and compares their number with PCI.
  - Uses C(tpu-info), else its list C(--process). Memory and duty cycle are told by the framework that uses the chips. Of an idle chip nothing asks for them.
  - Where C(tpu-info) numbers the chips otherwise in its table of usage than in its list, their use is not known, and the note says so.
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
  - The tables of C(tpu-info) were seen on hardware as its documentation shows them (v6e). Tables drawn with lines instead of bars are not seen on hardware.
  - The number of C(/dev/vfio/N) is the IOMMU group of the chip. PCI address and NUMA node are those of the function in that group.
  - There is no health, temperature, power or error counter, for C(tpu-info) has none; and no row about slicing, for a chip is given whole.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Google TPU chips
  fleetproof.accelerator.tpu_info:
  become: true
  register: accelerators

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ accelerators.sections['accelerators.tpu'].detection.detail }}"

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.tpu_info:
    recording: recordings/node-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.tpu), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Google TPU chips.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(tpu).
      type: str
      sample: tpu
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
      sample: {state: ok, depth: declared, accelerators: 8, detail: TPU v6e x8, reason: "", host: {not_applicable: no second count}}
    driver:
      description: Versions of the driver, of its kernel module, of the tool and of the runtime.
      type: dict
      sample: {library_version: 0.0.19, module_version: {not_applicable: vfio-pci comes with the kernel}, runtime: libtpu, runtime_version: 0.0.19}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: tpu-info, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The accelerators in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "tpu:0", index: 0, kind: package, parent: null, name: TPU v6e, memory_mib: 32000}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import tpu
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(tpu)


if __name__ == "__main__":
    main()
