#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Tenstorrent accelerators."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tenstorrent_info
short_description: Read the Tenstorrent accelerators of a node
version_added: 0.1.0
description:
  - Reads every Tenstorrent chip with board, temperature, power, PCIe, firmware and whether its memory is trained, and compares their number with PCI.
  - Uses C(tt-smi -s), else C(tt-smi -ls).
  - A chip that is not on PCI, as the right one of an n300, is a die of the chip of its board that is.
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
  - C(tt-smi -s) was seen on hardware (p300c), C(-ls) as well (Galaxy).
  - The snapshot is asked for with C(--snapshot_no_tty). Versions before 3.0.5 write a file instead; they do not know that option and are asked for
    their list only.
  - The number of a board is a serial where the board has one chip on PCI.
  - There is no row about slicing read from the driver. C(tt-smi) does not tell the size of the memory.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Tenstorrent accelerators
  fleetproof.accelerator.tenstorrent_info:
  become: true
  register: accelerators

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ accelerators.sections['accelerators.tenstorrent'].detection.detail }}"

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.tenstorrent_info:
    recording: recordings/node-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.tenstorrent), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Tenstorrent accelerators.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(tenstorrent).
      type: str
      sample: tenstorrent
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
      sample: {state: ok, depth: declared, accelerators: 8, detail: p150b x8, reason: "", host: {not_applicable: no second count}}
    driver:
      description: Versions of the driver, of its kernel module, of the tool and of the runtime.
      type: dict
      sample: {version: 2.4.1, module_version: 2.4.1, runtime: TT-Metalium}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: tt-smi -s --snapshot_no_tty, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The accelerators in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "tenstorrent:0", index: 0, kind: package, parent: null, name: p150b, health: {state: ok, detail: ""}}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import tenstorrent
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(tenstorrent)


if __name__ == "__main__":
    main()
