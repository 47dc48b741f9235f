#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Huawei Ascend NPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ascend_info
short_description: Read the Huawei Ascend NPUs of a node
version_added: 0.1.0
description:
  - Reads every Ascend NPU and, where an NPU holds several chips (Atlas A3, Atlas 300I with 310), every chip as a die of it, with identity, memory,
    firmware, health, temperature, power, ECC, isolated pages, HCCS links, network ports and super pod, and compares their number with PCI and with
    C(npu-smi info -l).
  - Uses the text of C(npu-smi) in all its layouts (910, 910B, 910C, 310, 310P and 950). The library C(libdcmi.so) is not used,
    because its two generations refuse each other's chips and the tool knows both.
  - The product family is told by the layout and the memory, which the tool chooses by chip type, and never by a digit in the printed name.
    It is in C(extra.family) of a device.
  - A tool that is missing, hangs, is denied, prints nothing or cannot open the driver is reported as C(unavailable) with the reason.
    A table with rows left out or cut off has an unknown number of NPUs, not a smaller one.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
options:
  ports:
    description:
      - What is asked of the network port of each NPU, and whether the versions of the parts of its firmware are asked for.
      - With V(state), C(hccn_tool) tells link, health and TLS switch of each port, but only where C(/etc/hccn.conf) sets an address or could not be read.
      - With V(full), it is always asked, and for address, gateway, speed, FEC, optical module, LLDP neighbor, routes and counters, too.
        That is a dozen calls for each port.
      - With V(none), neither C(hccn_tool) nor C(upgrade-tool) is called.
    type: str
    choices: [none, state, full]
    default: state
    version_added: 0.3.0
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - Without root, or without access to C(/dev/davinci_manager), the tool cannot open the driver.
  - C(npu-smi) is called one call after the other, first for the whole node, then for each NPU, the most telling questions first. An NPU that hung is not
    asked again, after a second one nothing is asked; near the deadline the remaining questions are reported as not asked.
  - An NPU with several dies carries the sums of its dies and the worst of their states. Its PCI address is that of its first die.
  - C(npu-smi info -t health) turns a warning without an error code into C(OK); the worse of it and the table is reported.
    C(UNKNOWN) says that the device does not exist or was not started, so its state is V(lost).
  - Of a chip that did not answer C(npu-smi) prints zeros, and its health as C(OK); such a line has no values and an unknown health.
  - C(hccn_tool) is called one call after the other, as it refuses a second one while it runs. A port that hung is not asked again.
  - Nothing is sent over the network of the NPUs. The ports of a 950, rank tables and the Ascend container runtime are not read by this module.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Ascend NPUs
  fleetproof.accelerator.ascend_info:
  become: true
  register: npus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ npus.sections['accelerators.ascend'].detection.detail }}"

- name: Give a node with many dies more time, and keep what it said
  fleetproof.accelerator.ascend_info:
    deadline: 120
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.ascend_info:
    recording: recordings/npu-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.ascend), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Ascend NPUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(ascend).
      type: str
      sample: ascend
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether NPUs were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason. NPUs are counted, not their dies.
        - C(host) is the count of the lines C(NPU ID) of C(npu-smi info -l).
      type: dict
      sample:
        state: ok
        depth: declared
        accelerators: 8
        detail: 910B3 x8
        reason: ""
        host: {command: npu-smi info -l, accelerators: 8, detail: "NPU ID                         : 0", reason: ""}
    driver:
      description:
        - C(version) is the driver the tool talks to, C(library_version) the one that is installed, C(tool_version) that of C(npu-smi),
          C(runtime_version) that of CANN.
      type: dict
      sample: {version: 25.2.0, library_version: 25.2.0, tool_version: 25.2.0, runtime: CANN, runtime_version: 8.3.RC1}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: npu-smi info, status: ok, seconds: 1.4, detail: ""}
    devices:
      description: The NPUs (C(package)) in the order of the tool, each followed by its chips (C(die)) when it has several.
      type: list
      elements: dict
      sample:
        - {id: "ascend:0", index: 0, kind: package, parent: null, name: 910B3, memory_mib: 65536, extra: {family: 910B, hbm_nominal_mib: 65536}}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_info


def main():
    options = dict(ascend.OPTIONS, pci={"type": "raw"})
    run_info(lambda host, given: {"accelerators.ascend": ascend.collect(host, given["pci"], given["ports"])}, options)


if __name__ == "__main__":
    main()
