# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of evidence and its signature: what was changed, lost or slipped in is found, and sha256sum reads the list."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import evidence, fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunDirectory, RunError

ODD = "gpu/b\n02"


@pytest.fixture
def run(tmp_path):
    nodes = {name: synthetic.envelopes(synthetic.healthy(serial="S%d" % i)) for i, name in enumerate(("gpu-a01", ODD))}
    path = synthetic.write_run(tmp_path / "runs", nodes)
    fold.fold(path)
    return path


def test_the_list_is_what_sha256sum_reads(run):
    path, number = evidence.write(run, 1)
    assert number == len(path.read_text().splitlines()) >= 15
    done = subprocess.run(["sha256sum", "-c", "--strict", str(path)], cwd=run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert evidence.problems(run, 1) == []


def test_the_same_files_give_the_same_list(run):
    first = evidence.write(run, 1)[0].read_bytes()
    assert evidence.write(run, 1)[0].read_bytes() == first


def _linked(run):
    (run / "run.json").rename(run / "elsewhere.json")
    (run / "run.json").symlink_to("elsewhere.json")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda run: (run / "nodes/gpu-a01/host.1.json").write_text("{}"), ("nodes/gpu-a01/host.1.json", "changed")),
        (lambda run: (run / "judgements/1/records/gpu-a01.yml").unlink(), ("judgements/1/records/gpu-a01.yml", "missing")),
        (lambda run: (run / "judgements/1/records/gpu-a09.yml").write_text("x"), ("judgements/1/records/gpu-a09.yml", "not in the list")),
        (lambda run: (run / "judgements/1/fleet.json").write_text("{}"), ("judgements/1/fleet.json", "changed")),
        (_linked, ("run.json", "changed")),
    ],
)
def test_a_change_is_found(run, change, expected):
    evidence.write(run, 1)
    change(run)
    assert evidence.problems(run, 1) == [expected]


def test_a_later_reading_is_no_change(run):
    evidence.write(run, 1)
    RunDirectory(run).file_section("gpu-a01", "host", "accelerator_info", synthetic.STAMP, "read", {})
    assert evidence.problems(run, 1) == []


def test_one_record_is_verified_by_itself(run):
    evidence.write(run, 1)
    (run / "nodes" / "gpu-a01" / "host.1.json").write_text("{}")
    assert evidence.problems(run, 1, ["gpu-a01"]) and not evidence.problems(run, 1, [ODD])
    (run / "judgements/1/fleet.json").write_text("{}")
    assert [name for name, _why in evidence.problems(run, 1, [ODD])] == ["judgements/1/fleet.json"]


@pytest.mark.parametrize("line", ["x", "0" * 64 + "  /etc/passwd", "0" * 64 + "  a/../../b", "0" * 63 + "  run.json"])
def test_a_damaged_list_is_refused(run, line):
    path, _number = evidence.write(run, 1)
    path.write_text(line + "\n")
    with pytest.raises(RunError, match="line 1"):
        evidence.problems(run, 1)


def test_without_a_list_there_is_nothing_to_verify(run):
    with pytest.raises(RunError, match="no list of evidence"):
        evidence.problems(run, 1)


def _quiet(*argv, **more):
    subprocess.run(argv, check=True, capture_output=True, **more)


def _ssh(folder):
    _quiet("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key"))
    (folder / "allowed").write_text("site@example.org %s" % (folder / "key.pub").read_text())
    return folder / "key", folder / "allowed"


def _openssl(folder):
    _quiet("openssl", "genrsa", "-out", str(folder / "key.pem"), "2048")
    _quiet("openssl", "rsa", "-in", str(folder / "key.pem"), "-pubout", "-out", str(folder / "pub.pem"))
    return folder / "key.pem", folder / "pub.pem"


def _gpg(folder, monkeypatch):
    home = folder / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    _quiet("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "site@example.org", "ed25519", "sign", "never")
    told = subprocess.run(["gpg", "--batch", "--with-colons", "--list-keys"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "site@example.org", next(line.split(":")[9] for line in told.splitlines() if line.startswith("fpr"))


@pytest.fixture(params=evidence.TOOLS)
def keys(request, tmp_path, monkeypatch):
    """(tool, key to sign, key to verify, another key to verify)."""
    if not shutil.which(request.param):
        pytest.skip("%s is not installed" % request.param)
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir(), other.mkdir()
    if request.param == "gpg":
        private, public = _gpg(own, monkeypatch)
        return "gpg", private, public, "0" * 40
    make = _ssh if request.param == "ssh-keygen" else _openssl
    private, public = make(own)
    return request.param, private, public, make(other)[1]


def test_signed_and_verified(run, keys):
    tool, private, public, other = keys
    evidence.write(run, 1)
    evidence.sign(run, 1, tool, private)
    evidence.sign(run, 1, tool, private)
    evidence.verify(run, 1, tool, public, "site@example.org")
    with pytest.raises(RunError):
        evidence.verify(run, 1, tool, other, "site@example.org")
    path = run / "judgements" / "1" / evidence.LIST
    path.write_text(path.read_text() + "\n")
    with pytest.raises(RunError):
        evidence.verify(run, 1, tool, public, "site@example.org")


def test_a_new_list_has_no_old_signature(run, keys):
    tool, private, public, _other = keys
    evidence.write(run, 1)
    evidence.sign(run, 1, tool, private)
    evidence.write(run, 1)
    with pytest.raises(RunError, match="not signed"):
        evidence.verify(run, 1, tool, public, "site@example.org")


def test_a_key_that_is_none_is_told(run, keys, tmp_path):
    tool, _private, _public, _other = keys
    evidence.write(run, 1)
    with pytest.raises(RunError, match="signing: %s ended with" % tool):
        evidence.sign(run, 1, tool, str(tmp_path / "no-such-key"))


def test_a_tool_that_is_missing_is_told(run, monkeypatch):
    evidence.write(run, 1)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RunError, match="not installed"):
        evidence.sign(run, 1, "gpg", "x")
