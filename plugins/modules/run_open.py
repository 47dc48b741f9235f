#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin run_open."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_open
short_description: Open or join a run on the controller
version_added: 0.1.0
description:
  - Creates the run directory, and writes down the expected nodes and the policy of each before anything is read.
  - With O(run_id) of an existing run it joins that run, when its roster, policy and collection version agree.
  - Works on the controller only; no node is connected to.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.controller
options:
  run_root:
    description: Directory that holds the runs; created when missing. It may lie on shared storage.
    type: path
    required: true
  run_id:
    description:
      - Name of the run; letters, digits, V(.), V(_) and V(-), at most 100.
      - Without it a new name is made from the time.
    type: str
  profile:
    description: Profile under which the run is judged unless told otherwise.
    type: str
    default: preflight
  roster:
    description:
      - The expected nodes, where the inventory holds only a part of them, as in a job slice of AWX.
      - Without it they are the hosts of O(group), or every host but localhost when there is no such group.
    type: list
    elements: str
  group:
    description: Inventory group that holds the expected nodes.
    type: str
    default: accelerator_nodes
  replay:
    description: Whether the nodes are recordings.
    type: bool
    default: false
  history:
    description: The history that the run will be judged with, a file or a URL (M(fleetproof.accelerator.run_store)). One that cannot be used fails at once.
    type: str
    version_added: 0.2.0
"""

EXAMPLES = r"""
- name: Open a run
  fleetproof.accelerator.run_open:
    run_root: /srv/acceptance/runs
  delegate_to: localhost
  run_once: true
  register: accelerator_run

- name: Join the run of another job
  fleetproof.accelerator.run_open:
    run_root: /srv/acceptance/runs
    run_id: rack-12-delivery
    roster: ["gpu-a01", "gpu-a02", "gpu-a03"]
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
run_id:
  description: Name of the run.
  returned: success
  type: str
  sample: 20261129T170000Z-4f1c
run_directory:
  description: Directory of the run.
  returned: success
  type: str
  sample: /srv/acceptance/runs/20261129T170000Z-4f1c
msg:
  description: The run and how many of its nodes this call covers.
  returned: success
  type: str
  sample: run 20261129T170000Z-4f1c, 12 nodes
"""
