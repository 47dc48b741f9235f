#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin run_evidence."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_evidence
short_description: List, sign and verify the evidence of a judgement
version_added: 0.2.0
description:
  - Writes C(evidence.sha256) into a judgement, a list of digests of everything that the judgement wrote and was made of, in the format of
    C(sha256sum -c) as called in the run directory.
  - Signs the list with the site's own key by a tool that the controller has, or holds the files against the list and the list against its signature.
  - Works on the controller only; no node is connected to.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.controller
options:
  state:
    description: Whether to list the evidence, or to fail when it is not what was listed.
    type: str
    choices: [listed, verified]
    default: listed
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
  nodes:
    description: With O(state=verified), look only at the files of these nodes and of the run as a whole.
    type: list
    elements: str
  tool:
    description: Program that signs and verifies.
    type: str
    choices: [ssh-keygen, gpg, openssl]
    default: ssh-keygen
  key:
    description:
      - The key. Without it nothing is signed, and no signature is asked for.
      - To sign, a private key file, or a public one whose private part an agent holds (V(ssh-keygen)); a key id (V(gpg)); a private key in PEM (V(openssl)).
      - To verify, the file of allowed signers (V(ssh-keygen)); the fingerprint (V(gpg)); the public key in PEM (V(openssl)).
    type: str
  signer:
    description: With O(state=verified) and O(tool=ssh-keygen), the name that the file of allowed signers gives to the key.
    type: str
"""

EXAMPLES = r"""
- name: List and sign what the newest judgement is made of
  fleetproof.accelerator.run_evidence:
    run_root: /srv/acceptance/runs
    key: /etc/fleetproof/sign_ed25519
  delegate_to: localhost
  run_once: true

- name: Verify the record of one node
  fleetproof.accelerator.run_evidence:
    state: verified
    run_root: /srv/acceptance/runs
    run_id: rack-12-delivery
    nodes: [gpu-a03]
    key: /etc/fleetproof/allowed_signers
    signer: acceptance@example.org
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
msg:
  description: The answer in one sentence.
  returned: success
  type: str
  sample: 412 files listed, signed
run_id:
  description: Name of the run.
  returned: success
  type: str
  sample: 20261129T170000Z-4f1c
judgement:
  description: Number of the judgement.
  returned: success
  type: int
  sample: 1
list:
  description: The list of digests.
  returned: success
  type: str
  sample: /srv/acceptance/runs/20261129T170000Z-4f1c/judgements/1/evidence.sha256
files:
  description: How many files it names.
  returned: success
  type: int
  sample: 412
signature:
  description: The detached signature that was written; empty without one.
  returned: success
  type: str
  sample: /srv/acceptance/runs/20261129T170000Z-4f1c/judgements/1/evidence.sha256.sig
"""
