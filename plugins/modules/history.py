#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin history."""

from __future__ import annotations

DOCUMENTATION = r"""
module: history
short_description: Export, import and prune the history, and hand node reports in and out
version_added: 0.2.0
description:
  - The history holds what judgements of earlier runs said of each machine (M(fleetproof.accelerator.run_store) stores them).
  - Exported it is a file of JSON lines, one for each run, judgement and node; importing it into any history adds what is not there.
  - Collectors that share no disk hand in what they read and whoever folds takes it out into a run directory.
  - Works on the controller only; no node is connected to.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.controller
  - fleetproof.accelerator.history
options:
  state:
    description:
      - V(export) writes everything that is stored to O(path); what was handed in is not part of it.
      - V(import) stores what O(path) has and the history has not.
      - V(prune) lets go of judgements that are older than O(days), but for the last one in which a machine was accepted, and of what was handed in before.
      - V(hand_in) puts the node reports, policies and measurements between nodes of a run directory into the history.
      - V(hand_out) takes those of run O(run_id) out into a run directory below O(run_root), made or joined. Of two readings of a section the later counts.
    type: str
    choices: [export, hand_in, hand_out, import, prune]
    required: true
  path:
    description: The file of JSON lines. It is replaced as a whole when exporting, and readable by its owner only.
    type: path
  days:
    description: With O(state=prune), how many days are kept.
    type: int
  run_directory:
    description: With O(state=hand_in), directory of the run. Takes precedence over O(run_root).
    type: path
  run_root:
    description: Directory that holds the runs.
    type: path
  run_id:
    description: Name of the run; with O(state=hand_in) the newest one without it.
    type: str
seealso:
  - module: fleetproof.accelerator.run_store
"""

EXAMPLES = r"""
- name: Export the history
  fleetproof.accelerator.history:
    history: /srv/acceptance/history.sqlite
    state: export
    path: /srv/backup/history.jsonl
  delegate_to: localhost
  run_once: true

- name: Move it into a PostgreSQL
  fleetproof.accelerator.history:
    history: postgresql://fleetproof@db.example/acceptance
    state: import
    path: /srv/backup/history.jsonl
  delegate_to: localhost
  run_once: true

- name: Hand in what this controller read
  fleetproof.accelerator.history:
    history: postgresql://fleetproof@db.example/acceptance
    state: hand_in
    run_root: /srv/acceptance/runs
    run_id: rack-12-delivery
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done in one sentence.
  returned: success
  type: str
  sample: 12 judgements in /srv/backup/history.jsonl, 3 of them new
count:
  description: Number of judgements exported, new, or let go of; of section files that were new.
  returned: success
  type: int
  sample: 3
run_id:
  description: Name of the run.
  returned: when node reports are handed in or out
  type: str
  sample: rack-12-delivery
run_directory:
  description: Directory of the run.
  returned: when node reports are handed in or out
  type: str
  sample: /srv/acceptance/runs/rack-12-delivery
history:
  description: The history, a password in it left out.
  returned: success
  type: str
  sample: /srv/acceptance/history.sqlite
"""
