#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Iluvatar CoreX GPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: iluvatar_info
short_description: Read the Iluvatar CoreX GPUs of a node
version_added: 0.1.0
description:
  - Reads every Iluvatar GPU with identity, memory, firmware, temperature, power, ECC, PCIe and IXLink, and compares their number with PCI.
  - Uses C(ixsmi) of CoreX. One call tells everything (C(-q -x)); a version that does not know it is asked with C(--query-gpu), without
    the fields that it refuses, and else by its table. A second call tells the links where there are several GPUs.
  - The two chips of a dual-chip board (MR-V100 DUO, BI-V150) are two GPUs, for C(ixsmi) and for PCI. Their power is told once for the board; the
    chip that prints none says so as C(not_applicable), and C(extra.board_of) names the other.
  - A tool that is missing, hangs, is denied, prints nothing, lacks a library or a symbol of it is reported as C(unavailable) with the reason.
    An output that ends early or does not fit has an unknown number of GPUs, not a smaller one.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - Only the table of C(ixsmi) was seen on hardware. C(-q -x) and C(--query-gpu) are built from public exporters and the tool's own help,
    C(ixlink -s) from its likeness; all of them are not seen on hardware.
  - C(N/A) is read as unknown, for the tool prints it as well for what it failed to read.
  - C(ixsmi) is run with C(LD_LIBRARY_PATH) set to the libraries in C(/usr/local/corex), without which it does not start.
  - The device node is told by the minor number of the log, which is not the index. Without a log it is told only for a single GPU with a single node.
  - There is no row about slicing read from the driver, for no driver is asked; and no health word, for C(ixsmi) has none.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Iluvatar CoreX GPUs
  fleetproof.accelerator.iluvatar_info:
  become: true
  register: gpus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ gpus.sections['accelerators.iluvatar'].detection.detail }}"

- name: Keep what the node said
  fleetproof.accelerator.iluvatar_info:
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.iluvatar_info:
    recording: recordings/gpu-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.iluvatar), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Iluvatar CoreX GPUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(iluvatar).
      type: str
      sample: iluvatar
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether GPUs were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
        - C(host) is not applicable, the vendor has no count of its own to compare with. PCI showing more than the tool is C(unavailable).
      type: dict
      sample: {state: ok, depth: declared, accelerators: 2, detail: Iluvatar MR-V100 x2, reason: "", host: {not_applicable: no second count}}
    driver:
      description:
        - C(version) is that of the driver the tool talks to, C(library_version) that of IX-ML where the table tells it,
          C(runtime_version) that of CoreX in C(/usr/local/corex).
      type: dict
      sample: {version: 4.4.0, module_version: 4.4.0, runtime: CoreX, runtime_version: 4.4.0}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: ixsmi -q -x, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The GPUs in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "iluvatar:0", index: 0, kind: package, parent: null, name: Iluvatar MR-V100, memory_mib: 32768, device_nodes: [/dev/iluvatar3]}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import iluvatar
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(iluvatar)


if __name__ == "__main__":
    main()
