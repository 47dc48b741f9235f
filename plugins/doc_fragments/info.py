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
      - Path on the target of a recording in YAML or JSON, optionally compressed with gzip.
      - When given, the machine is not asked anything; only the recording answers.
    type: path
"""
