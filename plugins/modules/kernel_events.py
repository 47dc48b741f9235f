#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_events
short_description: Read the kernel log of a node, folded
version_added: 0.1.0
description:
  - Reads the kernel log of the current boot once, from C(journalctl -k), else from C(dmesg).
  - Keeps only lines that could matter for an accelerator node, such as errors of accelerators, PCI Express, memory, network adapters, drives and the
    kernel itself, and folds equal ones into one event with a count. The log is folded as it is read, so its length costs no memory.
  - The answer has a cursor. Handed back as O(since), it leaves out what was told before, on the same boot of the machine.
  - Nothing is judged on the node. The rules of a run classify the events on the controller, so that an old run can be judged by a newer catalog.
notes:
  - Reading the kernel log needs root, CAP_SYSLOG, or membership in a group that may read the journal. Where it is not permitted the section says so,
    and its rules are unknown, never passed.
options:
  since:
    description:
      - The cursor of an earlier answer, C(sections.kernel.cursor). Only what the kernel said after it is read.
      - A machine that was started since, or whose log no longer has that line, is read from its boot; C(sections.kernel.since) says which it was.
    type: str
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
author:
  - Fleetproof maintainers (@fleetproof)
"""

EXAMPLES = r"""
- name: Read the kernel log
  fleetproof.accelerator.kernel_events:
  register: log

- name: Read what the kernel said since
  fleetproof.accelerator.kernel_events:
    since: "{{ log.sections.kernel.cursor }}"

- name: Show what was folded
  ansible.builtin.debug:
    msg: "{{ log.sections.kernel.events | map(attribute='template') | list }}"
"""

RETURN = r"""
sections:
  description: The section that was read, by its name.
  returned: when O(run_directory) is not given
  type: dict
  contains:
    kernel:
      description: The kernel log, as described in docs/node-report.md.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        source: journalctl -k
        status: ok
        reason: ""
        boot_time: "2026-11-20T08:00:00Z"
        since: boot
        time_error_seconds: 0.0
        cursor: "1764435129.512000/9d5c0a1b"
        covers_from: "2026-11-20T08:00:00.000Z"
        events:
          - template: "NVRM: Xid (PCI:<pci>): 79, pid=*, name=*, GPU has fallen off the bus."
            count: 1
            first: "2026-11-29T16:12:09.512Z"
            last: "2026-11-29T16:12:09.512Z"
            priority: {"unknown": "not told by this log"}
            sample: "NVRM: Xid (PCI:0000:9b:00): 79, pid=4711, name=python, GPU has fallen off the bus."
            addresses: ["0000:9b:00.0"]
            codes: ["79"]
            places: {"0000:9b:00.0": 1}
        lines: 4211
        dropped: 0
recording:
  description: Every question asked to the machine with its answer.
  returned: when O(record) is true
  type: dict
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_info
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log


def main():
    run_info(lambda host, options: {"kernel": kernel_log.collect(host, since=options["since"])}, {"since": {"type": "str"}})


if __name__ == "__main__":
    main()
