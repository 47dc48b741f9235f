#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Hygon DCUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hygon_info
short_description: Read the Hygon DCUs of a node
version_added: 0.1.0
description:
  - Reads every DCU (newer name HCU) with identity, memory, firmware, health, temperature, power, utilization, NUMA node and performance level,
    and compares their number with PCI.
  - Uses C(hy-smi -a --showmeminfo vram --showtoponuma --json), the table of C(hy-smi) for the mode, and C(hy-smi --healthcheck) for health.
    The keys differ from those of AMD and between versions (DCU or HCU, MiB or bytes), and other lines may stand before and after the JSON.
  - The tool is looked for in C(PATH), C(/opt/hyhal/bin), C(/usr/local/hyhal/bin) and, as C(rocm-smi), in C(/opt/dtk/bin).
    The kernel module is C(hycu), or C(hydcu) up to 6.2; both are known.
  - A card is found on PCI by its device id whatever its class, for a K100_AI may show class 06. The chipset of Hygon processors carries the same vendor id
    and is never a DCU.
  - A tool that is missing, hangs, is denied, prints nothing or lacks a symbol of its library is reported as C(unavailable) with the reason.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
  - fleetproof.accelerator.manufacturer
notes:
  - Three calls are made for all cards together, one after the other. When one hangs, no further one is made.
  - Seen on hardware are the tables of C(hy-smi) and a line of C(--healthcheck). Not seen on hardware is the JSON, read from documented keys.
  - The table prints no model. Without JSON the DCUs have no name and are reported as C(unavailable), with their number.
  - The state C(failed) of health is any word of C(--healthcheck) other than C(Healthy); C(degraded) is a mode other than C(Normal).
    Where this version has no C(--healthcheck), the mode C(Normal) is C(ok); a check that hung or failed leaves health unknown.
  - On PCI all cards may have NUMA node 0, so what C(hy-smi) says comes first.
  - Inside a slice C(hy-smi) still shows the memory of the whole card.
  - Counters of ECC and link errors, retired pages and reasons for lower clocks have no documented output and are unknown.
  - There is no cross-check with a second tool, because C(hy-smi) is the only one and is read itself. There is no row that asks the driver whether a
    card can be sliced, because budgets come from the container's request and the kernel module enforces them.
seealso:
  - module: fleetproof.accelerator.accelerator_info
"""

EXAMPLES = r"""
- name: Read the Hygon DCUs
  fleetproof.accelerator.hygon_info:
  become: true
  register: dcus

- name: Show their number
  ansible.builtin.debug:
    msg: "{{ dcus.sections['accelerators.hygon'].detection.detail }}"

- name: Give a slow node more time, and keep what it said
  fleetproof.accelerator.hygon_info:
    deadline: 120
    record: true

- name: Read a recorded node instead of the real one
  fleetproof.accelerator.hygon_info:
    recording: recordings/hygon-a01.yml
"""

RETURN = r"""
sections:
  description:
    - What was read. One key, C(accelerators.hygon), whose value has the keys below.
    - Every value may instead say why it is not known.
    - The Hygon DCUs.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(hygon).
      type: str
      sample: hygon
    timestamp:
      description: The node's clock when it was read, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    detection:
      description:
        - Whether DCUs were found and named (C(ok)), are not there (C(not-declared)), or are or may be there and could not be read
          (C(unavailable)), with their number and the reason.
        - C(host) says why there is no cross-check with a second tool of the vendor.
      type: dict
      sample:
        state: ok
        depth: declared
        accelerators: 8
        detail: K100_AI x8
        reason: ""
        host: {not_applicable: no cross-check with a host tool}
    driver:
      description:
        - C(version) is the driver as C(hy-smi) tells it, else C(module_version), that of the kernel module C(hycu) or C(hydcu);
          C(runtime_version) is that of DTK. C(hy-smi) prints no version of its own.
      type: dict
      sample: {version: 6.3.8-V1.9.2, module_version: 6.3.8-V1.9.2, runtime: DTK, runtime_version: 25.04.1}
    sources:
      description: Every call that was made, in order, with its outcome and duration.
      type: list
      elements: dict
      sample:
        - {source: hy-smi, status: ok, seconds: 1.4, detail: ""}
    devices:
      description: The DCUs (C(package)) in the order of the tool.
      type: list
      elements: dict
      sample:
        - {id: "hygon:0", index: 0, kind: package, parent: null, name: K100_AI, memory_mib: 65520, extra: {mode: Normal, performance_level: auto}}
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

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import hygon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_manufacturer


def main():
    run_manufacturer(hygon)


if __name__ == "__main__":
    main()
