#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the driver of Cambricon cards can be switched to sMLU mode."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cambricon_slicing
short_description: Ask the driver of Cambricon cards whether it can be switched to sMLU mode
version_added: 0.1.0
description:
  - For each accelerator that M(fleetproof.accelerator.cambricon_info) found, tells whether sMLU mode is on, and where it is off
    whether the driver accepts it, for which it is switched on and off again at once.
  - A mode that is on is not touched, and nothing is written where it could not be read.
  - A process of its own does the switching, in a session of its own, so that the mode is put back also when the module is ended between the two.
    While it asks, a note lies in C(/var/lib/fleetproof-accelerator), which belongs to the user alone and goes away with it.
    A note that a later run finds is a mode left on. It is reported, and it is not switched off then, for it may serve a container by now.
  - A mode that could not be put back is a row C(unavailable), an entry of C(left_on) with the command that puts it back, and a finding of level fail.
    No further accelerator is asked then.
  - Two runs never ask at the same time, and none while probe containers run. The lock in C(/var/lib/fleetproof/accelerator) is held meanwhile.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.asking
  - fleetproof.accelerator.info
  - fleetproof.accelerator.found
notes:
  - It needs root.
  - The mode is read through C(libcndev.so), by PCI address, and switched through C(cnmon), by the card's number in C(cnmon).
  - A question that C(cnmon) might ask is not answered, and the driver then not asked.
  - Not seen on hardware. C(cnmon set -smlu off) is inferred from C(cnmon set -smlu on).
seealso:
  - module: fleetproof.accelerator.cambricon_info
  - module: fleetproof.accelerator.allocation_info
"""

EXAMPLES = r"""
- name: Read the Cambricon cards
  fleetproof.accelerator.cambricon_info:
  become: true
  register: read

- name: Ask the driver, on a node without work
  fleetproof.accelerator.cambricon_slicing:
    devices: "{{ read.sections['accelerators.cambricon'].devices }}"
    detection: "{{ read.sections['accelerators.cambricon'].detection }}"
    allow_driver_writes: true
  become: true
  register: asked

- name: Say what is left on
  ansible.builtin.debug:
    msg: "{{ asked.sections['slicing.cambricon'].left_on }}"
"""

RETURN = r"""
sections:
  description:
    - What was asked. One key, C(slicing.cambricon), whose value has the keys below.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: Always V(cambricon).
      type: str
      sample: cambricon
    timestamp:
      description: The node's clock when it was asked, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    checks:
      description: Rows C(smlu-mode) of the preflight document. Depth is C(declared), also where the driver was asked.
      type: list
      elements: dict
      sample:
        - accelerator: "cambricon:0"
          capability: smlu-mode
          mode: sliced
          state: ok
          depth: declared
          detail: was off, the driver accepted on, put back
          reason: ""
          command: cnmon set -c 0 -smlu on && cnmon set -c 0 -smlu off
          evidence: "exit 0"
    asked:
      description: The accelerators whose driver was asked.
      type: list
      elements: str
      sample: ["cambricon:0"]
    would_ask:
      description: The commands that were withheld, C(on) and C(off) of each.
      type: list
      elements: dict
      sample: []
    left_on:
      description:
        - Modes that are on and should not be, each with C(accelerator), C(reason), C(since), the C(command) that puts it back and the C(path) of its note.
      type: list
      elements: dict
      sample: []
    left_over:
      description: Notes of modes that a run asked on and did not see put back, as of now.
      type: list
      elements: dict
      sample: []
    changed:
      description: Whether a driver was asked, or would have been in check mode.
      type: bool
      sample: true
    note:
      description: Why nothing was asked.
      type: str
      sample: ""
    sources:
      description: Every question that was put to the tool or library, in order, with its outcome and duration.
      type: list
      elements: dict
      sample: []
recording:
  description: Every question and its answer.
  returned: when O(record=true)
  type: dict
  sample: {schema: fleetproof.accelerator/recording/v1}
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ask, cambricon_smlu
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_found


def main():
    run_found(lambda host, options: ask.answer(host, cambricon_smlu, options), {"allow_driver_writes": {"type": "bool", "default": False}})


if __name__ == "__main__":
    main()
