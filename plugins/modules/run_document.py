#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin run_document."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_document
short_description: The preflight document of each node of a run
version_added: 0.1.0
description:
  - Makes the YAML document that C(gpustack-operator device-manager preflight) prints, of every node of a run, from what the run filed.
  - Prints the documents, or writes each to a file of O(directory).
  - Never fails because of what a document says; RV(failure_count) tells.
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
  nodes:
    description: Nodes to make the document of; the whole roster without it.
    type: list
    elements: str
  limited_to:
    description:
      - Hosts of the play under C(--limit). Of them, the nodes of the run get a document; that there is none is an error.
      - Not used with O(nodes).
    type: list
    elements: str
  manufacturers:
    description:
      - Manufacturers asked about. Each has a group in the document, also when there is nothing of it.
      - Without it they are those of the variable C(accelerator_manufacturers) that was filed with the run, or all nine.
    type: list
    elements: str
  directory:
    description: Directory to write the documents into, one file a node, created when missing. Without it they are printed.
    type: path
seealso:
  - plugin: fleetproof.accelerator.preflight_document
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Print the document of one node of the newest run
  fleetproof.accelerator.run_document:
    run_root: /srv/acceptance/runs
    nodes: [gpu-a01]
  delegate_to: localhost
  run_once: true

- name: Write the documents of a run
  fleetproof.accelerator.run_document:
    run_root: /srv/acceptance/runs
    run_id: rack-12-delivery
    directory: /srv/acceptance/documents
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
msg:
  description: The last line of the operator's command, or that nothing is unavailable.
  returned: success
  type: str
  sample: "preflight failed: nvidia: mig-partitioning on GPU-aaaaaaaa-0000-0000-0000-000000000001: the driver did not answer"
run_directory:
  description: Directory of the run.
  returned: success
  type: str
  sample: /srv/acceptance/runs/20261129T170000Z-4f1c
files:
  description: The documents written.
  returned: success
  type: list
  elements: str
  sample: ["/srv/acceptance/documents/gpu-a01.yml"]
document:
  description: The document, where there is one node; empty where there are several.
  returned: success
  type: str
  sample: "accelerators: []"
failures:
  description: Detections and rows that are unavailable, at most 50 of them.
  returned: success
  type: list
  elements: str
  sample: ["nvidia: mig-partitioning on GPU-aaaaaaaa-0000-0000-0000-000000000001: the driver did not answer"]
failure_count:
  description: How many detections and rows are unavailable.
  returned: success
  type: int
  sample: 1
"""
