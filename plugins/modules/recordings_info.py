#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin recordings_info."""

from __future__ import annotations

DOCUMENTATION = r"""
module: recordings_info
short_description: List the recordings of a directory
version_added: 0.1.0
description:
  - Finds the recordings in a directory on the controller, one node each.
  - A malformed recording is listed under the name of its file; reading it says what is wrong.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.controller
options:
  directory:
    description: Directory with recordings named C(NAME.yml), C(NAME.json) or C(NAME/recording.yml), optionally compressed with gzip.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: List the recordings
  fleetproof.accelerator.recordings_info:
    directory: /srv/recordings
  delegate_to: localhost
  run_once: true
  register: recorded
"""

RETURN = r"""
recordings:
  description: The recordings, sorted by node.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: Name of the recorded node.
      type: str
    path:
      description: Path of the recording.
      type: str
  sample:
    - node: gpu-a01
      path: /srv/recordings/gpu-a01.yml
"""
