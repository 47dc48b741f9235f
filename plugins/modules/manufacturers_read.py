#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin manufacturers_read."""

from __future__ import annotations

DOCUMENTATION = r"""
module: manufacturers_read
short_description: Run the roles of manufacturers on one node at once
version_added: 0.2.0
description:
  - Takes the tasks of each manufacturer's role in their order, while the other roles take theirs, so that a node takes as long as the
    longest of them and not their sum.
  - The roles say what is asked. Their tasks, defaults, conditions, time limits and argument specifications are read from their files,
    and their variables are set as ever, such as C(nvidia_deadline). The same modules run, each in a process of its own on the node,
    and the same sections are filed in the same run.
  - Each role runs in a process of its own on the controller, at most ten at a time, over the connection that the node has already. One
    that crashes or does not end by its time is killed, its section is filed with the reason, and no other waits for it.
  - The playbooks use it for everything they read of a node but what finds the manufacturers.
author:
  - Fleetproof maintainers (@fleetproof)
options:
  manufacturers:
    description: The manufacturers whose roles are run.
    type: list
    elements: str
    required: true
  host:
    description: Whether the steps of the role C(host) that follow the one that reads the node are taken at the same time.
    type: bool
    default: false
attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - As the modules that the roles run. The run directory on the controller is written in check mode too.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: none
  platform:
    description: Target OS or families that can be operated against.
    platforms: posix
    support: full
notes:
  - Of the tags, those that C(--skip-tags) leaves out are left out. Under C(--tags) and C(module_defaults) all roles are named in RV(left).
"""

EXAMPLES = r"""
- name: Read what every node has
  ansible.builtin.import_role:
    name: fleetproof.accelerator.host

- name: Read the accelerators of the manufacturers found, at once
  fleetproof.accelerator.manufacturers_read:
    manufacturers: "{{ host_read.manufacturers }}"
  register: at_once

- name: Read one after the other what cannot be read at once
  ansible.builtin.include_role:
    name: "fleetproof.accelerator.{{ item }}"
  loop: "{{ at_once.left }}"
"""

RETURN = r"""
read:
  description: For each role that was run, the status of what it read, and the reason where the status is not V(read).
  returned: success
  type: dict
  sample:
    ascend: {status: read, reason: ""}
    nvidia: {status: timeout, reason: no answer within 90 seconds; the connection or the module hangs}
left:
  description: Roles that were not run, since they do more than run modules of this collection or have no run to file sections in. They are to be included.
  returned: success
  type: list
  elements: str
  sample: []
msg:
  description: The status of each in one line, or why a role could not be run.
  returned: always
  type: str
  sample: ascend read; nvidia timeout
"""
