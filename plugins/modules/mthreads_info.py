#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Moore Threads GPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mthreads_info
short_description: Read the Moore Threads GPUs of a node
version_added: 0.1.0
description:
  - Reads every Moore Threads GPU with identity, memory, firmware, temperature, power, ECC, retired pages, PCIe and MTLink, and compares
    their number with PCI, where the audio functions of the cards are not counted.
  - Uses C(mthreads-gmi). One call tells everything (C(-q -j)); a version that does not know it is asked with C(-q), and else by its table.
    A second call tells the links where there are several GPUs.
  - Without an active IOMMU the tool tells a false number of GPUs or a false memory (32 GiB for a card of 48 GiB, more used than there is). Such a memory is
    unknown, and C(note) says when the kernel has no IOMMU.
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
  - Only the table of C(mthreads-gmi) was seen on hardware. C(-q -j) and C(-q) are built from public exporters and the vendor's diagnosis tool,
    C(mtlink -s) from its likeness; all of them are not seen on hardware.
  - C(N/A) is read as unknown, for the tool prints it as well for what it failed to read.
  - The tool prints nothing at all in a container that the vendor's container runtime did not prepare; this is C(unavailable), with that reason.
  - Just after the driver was loaded the tool may fail to initialize MTML; it is asked once more.
  - There is no row about slicing read from the driver, for no driver is asked; and no health word, for C(mthreads-gmi) has none.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Moore Threads GPUs
  fleetproof.accelerator.mthreads_info:
  become: true
  register: gpus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ gpus.sections['accelerators.mthreads'].detection.detail }}"

- name: Keep what the node said
  fleetproof.accelerator.mthreads_info:
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.mthreads_info:
    recording: recordings/gpu-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.mthreads), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Moore Threads GPUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(mthreads).
      type: str
      sample: mthreads
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
      sample: {state: ok, depth: declared, accelerators: 8, detail: MTT S5000 x8, reason: "", host: {not_applicable: no second count}}
    driver:
      description:
        - C(version) is that of the driver the tool talks to, C(module_version) that of the kernel module C(mtgpu), C(runtime_version) that of the
          MUSA toolkit in C(/usr/local/musa).
      type: dict
      sample: {version: 3.3.5-server, module_version: 3.3.5, runtime: MUSA, runtime_version: 4.3.5}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: mthreads-gmi -q -j, status: ok, seconds: 0.8, detail: ""}
    devices:
      description: The GPUs in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "mthreads:0", index: 0, kind: package, parent: null, name: MTT S5000, memory_mib: 81920, firmware: {mtbios: 4.3.41}}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import mthreads
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(mthreads)


if __name__ == "__main__":
    main()
