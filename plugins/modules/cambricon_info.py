#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Cambricon MLUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cambricon_info
short_description: Read the Cambricon MLUs of a node
version_added: 0.1.0
description:
  - Reads every MLU with identity, memory, firmware, health, temperature, power, ECC, compute mode and processes,
    and compares their number with PCI.
  - Uses the text of C(cnmon info), which says most of a card, and the table of C(cnmon), which has an end and so tells a whole list from a cut one.
    Both layouts of the table are read. In the old one (up to 4.x) the second pair of memory figures is virtual memory and is not a fact of the card.
  - C(No MLU devices found) is what the tool prints with exit status 0 when it sees none. Where PCI shows a card, that is C(unavailable)
    and not C(not-declared).
  - A tool that is missing, hangs, is denied, prints nothing or lacks a symbol of its library is reported as C(unavailable) with the reason.
    A table with rows left out, and two lists that differ, give an unknown number of MLUs, not a smaller one.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - C(cnmon info -j) is not used, because it writes a file into the current directory.
  - Two calls are made for all cards together, one after the other. When the first one hangs, the second is not made.
  - Seen on hardware are the tables of C(cnmon) 1.16 to 5.10 and C(cnmon info) 4.20. Not seen on hardware, read from documented names - the section of
    C(cnmon info) for health, its counters of ECC errors and remapped rows, and its PCI numbers, which count only where such a card is on PCI.
  - C(N/A) in the column Ecc-Error of an MLU370 means that ECC is off. For other parts it says nothing.
  - The state C(failed) of health is any word for the device other than C(Good), and any for its driver other than C(Running) that is not a stage of
    starting or resetting, which is C(degraded).
  - There is no cross-check with a second tool, because C(cnmon) is the only one and is read itself.
  - MLU-Link, sMLU instances and throttle reasons are not read by this module.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Cambricon MLUs
  fleetproof.accelerator.cambricon_info:
  become: true
  register: mlus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ mlus.sections['accelerators.cambricon'].detection.detail }}"

- name: Give a slow node more time, and keep what it said
  fleetproof.accelerator.cambricon_info:
    deadline: 120
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.cambricon_info:
    recording: recordings/cambricon-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.cambricon), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Cambricon MLUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(cambricon).
      type: str
      sample: cambricon
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether MLUs were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
        - C(host) says why there is no cross-check with a second tool of the vendor.
      type: dict
      sample:
        state: ok
        depth: declared
        accelerators: 8
        detail: MLU370-X8 x8
        reason: ""
        host: {not_applicable: no cross-check with a host tool}
    driver:
      description:
        - C(version) is the driver as C(cnmon) tells it, C(module_version) that of the kernel module C(cambricon_drv), C(tool_version) that of C(cnmon),
          which may be newer, C(runtime_version) that of Neuware.
      type: dict
      sample: {version: v5.10.22, module_version: 5.10.22, tool_version: v5.10.22, runtime: Neuware, runtime_version: 3.15.0}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: cnmon info, status: ok, seconds: 1.4, detail: ""}
    devices:
      description: The MLUs (C(package)) in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "cambricon:0", index: 0, kind: package, parent: null, name: MLU370-X8, memory_mib: 23374, extra: {compute_mode: Default}}
    checks:
      description: Rows of the preflight document; empty here.
      type: list
      elements: dict
      sample: []
    note:
      description: What a person should know about how this was read.
      type: str
      sample: no cross-check with a host tool
recording:
  description: Every question and its answer.
  returned: when O(record=true)
  type: dict
  sample: {schema: fleetproof.accelerator/recording/v1}
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import cambricon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(cambricon)


if __name__ == "__main__":
    main()
