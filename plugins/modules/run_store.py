#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin run_store."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_store
short_description: Store a judgement of a run in the history
version_added: 0.2.0
description:
  - Stores the run, the verdict, record, fingerprint, parts and measurements of each of its nodes, and which machine each node is, whatever it is called.
  - A judgement is stored once, however often and by however many jobs this is asked for.
  - Later runs are held against what nodes were when they were last accepted (M(fleetproof.accelerator.run_fold), option O(history)).
  - Works on the controller only; no node is connected to.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.controller
  - fleetproof.accelerator.history
options:
  run_directory:
    description: Directory of the run. Takes precedence over O(run_root).
    type: path
  run_root:
    description: Directory that holds the runs.
    type: path
  run_id:
    description: Name of the run below O(run_root); the newest one without it.
    type: str
  judgement:
    description: Number of the judgement; the newest one without it.
    type: int
seealso:
  - module: fleetproof.accelerator.run_fold
  - module: fleetproof.accelerator.history
"""

EXAMPLES = r"""
- name: Store the newest judgement of the newest run
  fleetproof.accelerator.run_store:
    run_root: /srv/acceptance/runs
    history: /srv/acceptance/history.sqlite
  delegate_to: localhost
  run_once: true

- name: Store it in a PostgreSQL that other controllers use, too
  fleetproof.accelerator.run_store:
    run_root: /srv/acceptance/runs
    run_id: rack-12-delivery
    history: postgresql://fleetproof@db.example/acceptance
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done in one sentence.
  returned: success
  type: str
  sample: judgement 1 of run rack-12-delivery stored
run_id:
  description: Name of the run.
  returned: success
  type: str
  sample: rack-12-delivery
judgement:
  description: Number of the judgement.
  returned: success
  type: int
  sample: 1
history:
  description: The history, a password in it left out.
  returned: success
  type: str
  sample: /srv/acceptance/history.sqlite
"""
