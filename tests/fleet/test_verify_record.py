# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records listed, signed and verified by the real playbooks."""

from __future__ import annotations

import shutil
import subprocess

import plays
import pytest

if not shutil.which("ssh-keygen"):
    pytest.skip("ssh-keygen is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """(the demo's run, key file, file of allowed signers)."""
    folder = tmp_path_factory.mktemp("keys")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    (folder / "allowed").write_text("site %s" % (folder / "key.pub").read_text())
    run = plays.play("preflight", run_root=folder / "runs", inventory="inventories/demo", variables={"accelerator_signing_key": str(folder / "key")})
    return run, folder / "allowed"


def verify(run_root, **variables):
    return plays.play("verify_record", run_root=run_root, variables=variables)


def test_what_was_signed_is_verified(signed):
    run, allowed = signed
    assert run.code == 2 and (run.path / "judgements/1/evidence.sha256.sig").is_file(), run.output
    done = verify(run.root, accelerator_verify_key=str(allowed), accelerator_verify_signer="site")
    assert done.code == 0 and "is as it was listed" in done.output, done.output


def test_a_changed_section_is_found_for_its_node_alone(signed, tmp_path):
    run, allowed = signed
    shutil.copytree(run.root, tmp_path / "runs", symlinks=True)
    path = next((tmp_path / "runs").glob("*/nodes/gpu-h01/host.1.json"))
    path.write_text(path.read_text().replace('"status":"read"', '"status": "read"'))
    done = verify(tmp_path / "runs", accelerator_verify_key=str(allowed), accelerator_verify_signer="site")
    assert done.code != 0 and "nodes/gpu-h01/host.1.json (changed)" in done.output, done.output
    assert verify(tmp_path / "runs", accelerator_record_nodes="gpu-h02").code == 0


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"accelerator_verify_signer": "someone"}, "signing: ssh-keygen ended with"),
        ({}, "signer: found nothing"),
        ({"accelerator_verify_signer": "site", "accelerator_record_nodes": "gpu-z99"}, "nodes: found gpu-z99"),
        ({"accelerator_verify_signer": "site", "accelerator_judgement": 7}, "no list of evidence"),
    ],
)
def test_each_mistake_is_told(signed, variables, words):
    run, allowed = signed
    done = verify(run.root, accelerator_verify_key=str(allowed), **variables)
    assert done.code != 0 and words in " ".join(done.output.split()), done.output
