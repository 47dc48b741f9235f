#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin run_fold."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_fold
short_description: Judge a run from its files
version_added: 0.1.0
description:
  - Reads what a run filed about its nodes, judges it, and writes verdicts, acceptance records and reports into a new judgement of the run.
  - The result depends on the files alone. Judging again never overwrites an earlier judgement.
  - Never fails because of a verdict; RV(not_accepted_count) tells.
  - Works on the controller only; no node is connected to.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.controller
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
  profile:
    description: Profile to judge under; the profile of the run without it.
    type: str
  policy:
    description: Judge under the policy filed with the run, or under the one that the inventory and extra variables give now.
    type: str
    choices: [filed, inventory]
    default: filed
  nodes:
    description: Nodes counted in RV(not_accepted); the whole roster without it.
    type: list
    elements: str
  quorum_percent:
    description:
      - Percent of the expected nodes that have to answer, from 0 to 100; none is asked for without it.
      - The fleet document, the reports and the summary say whether they did, and so does RV(quorum_met).
    type: str
    version_added: 0.2.0
  exit_rule:
    description:
      - What the run is held against, for whoever ends a job by it; nothing else changes.
      - V(verdict) counts nodes that are rejected or incomplete in RV(not_accepted_count).
      - V(allocation) is the rule of C(gpustack-operator device-manager preflight). It also counts detections and rows that are unavailable
        in RV(failure_count).
    type: str
    choices: [verdict, allocation]
    default: verdict
  history:
    description:
      - The history, a file or the URL of a PostgreSQL database (M(fleetproof.accelerator.run_store)).
      - The first time that a run is judged with it, C(baseline.json) of the run keeps what nodes were when they were last accepted. That file alone is read
        from then on.
    type: str
    version_added: 0.2.0
  summary:
    description: Whether to print the summary for a terminal of 80 columns.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Judge the newest run
  fleetproof.accelerator.run_fold:
    run_root: /srv/acceptance/runs
  delegate_to: localhost
  run_once: true
  register: judgement

- name: Judge an old run under a stricter profile
  fleetproof.accelerator.run_fold:
    run_root: /srv/acceptance/runs
    run_id: rack-12-delivery
    profile: acceptance
    policy: inventory
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
msg:
  description: The answer in one sentence.
  returned: success
  type: str
  sample: 3 of 12 nodes rejected, 1 incomplete
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
judgement:
  description: Directory of this judgement.
  returned: success
  type: str
  sample: /srv/acceptance/runs/20261129T170000Z-4f1c/judgements/1
report:
  description: The report for people.
  returned: success
  type: str
  sample: /srv/acceptance/runs/20261129T170000Z-4f1c/judgements/1/report.html
counts:
  description: Number of nodes by verdict.
  returned: success
  type: dict
  sample: {"accepted": 8, "accepted_with_warnings": 0, "rejected": 3, "incomplete": 1}
not_accepted:
  description: Nodes rejected or incomplete, at most 50 of them.
  returned: success
  type: list
  elements: str
  sample: ["gpu-a03", "gpu-b01"]
not_accepted_count:
  description: How many nodes are rejected or incomplete.
  returned: success
  type: int
  sample: 4
quorum_met:
  description: Whether as many of the expected nodes answered as O(quorum_percent) asks for; true without it.
  returned: success
  type: bool
  sample: true
roster:
  description: How many nodes were expected and answered.
  returned: success
  type: str
  sample: "12 expected, 9 answered, quorum not met with 75 % answered where 90 % is asked"
exit_rule:
  description: The O(exit_rule).
  returned: success
  type: str
  sample: verdict
failure_count:
  description: How many detections and rows are unavailable; 0 with O(exit_rule=verdict).
  returned: success
  type: int
  sample: 1
failure:
  description: The last line of the operator's command; empty when RV(failure_count) is 0.
  returned: success
  type: str
  sample: "preflight failed: nvidia: detection: nvidia-smi is not installed; PCI shows 8"
"""
