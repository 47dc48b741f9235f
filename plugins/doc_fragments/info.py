# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options common to every module that reads a node."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  deadline:
    description:
      - Seconds the whole module may take.
      - A question that is not answered by then is reported as unknown with its reason; the module itself does not fail.
    type: int
    default: 60
  host_root:
    description:
      - Directory where the root of the machine is mounted, for use in a privileged pod.
      - Files are read below it, and programs of the machine are run inside it.
    type: path
    default: /
  record:
    description:
      - Also return every question asked to the machine with its answer, as a recording.
      - Values that look like secrets are redacted.
    type: bool
    default: false
  recording:
    description:
      - Path on the controller of a recording in YAML or JSON, optionally compressed with gzip.
      - When given, the node is not connected to; only the recording answers.
    type: path
  run_directory:
    description:
      - Directory of a run on the controller, as made by M(fleetproof.accelerator.run_open).
      - When given, the sections are filed there and only a summary is returned.
        Without it the sections themselves are returned in RV(ignore:sections).
    type: path
"""
