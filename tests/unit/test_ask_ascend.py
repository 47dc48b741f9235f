# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""container-share of Ascend, asked for real: an npu-smi that keeps its state in files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import driver_shims
import jsonschema
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend_share, ask
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/slicing.json").read_text())
OK = {"state": "ok"}
ON, OFF = "set -t device-share -i 0 -c 0 -d 1", "set -t device-share -i 0 -c 0 -d 0"
REMEDY = "npu-smi set -t device-share -i 0 -c 0 -d 0"


@pytest.fixture
def one(tmp_path):
    """A card with one chip that is off."""
    return driver_shims.ascend(tmp_path / "driver", {"0.0": "False"})


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


def asked(driver, notes, devices=None, recorded=None, deadline=60, **options):
    host = LiveHost(path=driver.path, deadline=deadline)
    outer = RecordingHost(host) if recorded is not None else host
    options = {"devices": devices or [driver_shims.npu(0)], "detection": OK, "allow_driver_writes": True, **options}
    try:
        section = ask.collect(outer, ascend_share, options, str(notes))
        if recorded is not None:
            recorded.append(outer.recording())
    finally:
        host.close()
    jsonschema.validate(json.loads(json.dumps(section)), SCHEMA)
    for row in section["checks"]:
        assert (row["reason"] == "") == (row["state"] == "ok"), row
        assert (row["capability"], row["mode"], row["depth"]) == ("container-share", "sliced", "declared")
    return section


def only(section):
    (row,) = section["checks"]
    return row


def test_off_is_asked_and_put_back(one, notes):
    section = asked(one, notes)
    row = only(section)
    assert (row["accelerator"], row["state"], row["detail"]) == ("ascend:0", "ok", "was off, the driver accepted on, put back")
    assert section["changed"] is True and section["asked"] == ["ascend:0"] and section["left_on"] == [] == section["would_ask"]
    assert one.calls("set") == [ON, OFF] and one.state("0.0") == "False"
    assert row["command"] == "npu-smi %s && npu-smi %s" % (ON, OFF) and "Set chip device-share successfully" in row["evidence"]
    assert not notes.exists(), "nothing is left on the node"


def test_the_row_is_named_by_the_die(one, notes):
    uuid = "1A2B3C4D 5E6F7081 92A3B4C5 D6E7F809 0A1B2C3D"
    assert only(asked(one, notes, [driver_shims.npu(0, uuid=uuid)]))["accelerator"] == uuid


def test_on_is_not_touched(one, notes):
    one.set("0.0", "True")
    section = asked(one, notes)
    assert only(section)["state"] == "ok" and only(section)["detail"] == "container sharing is on"
    assert section["changed"] is False and one.calls("set") == [] and one.state("0.0") == "True"


def test_not_declared_when_read(one, notes):
    one.behavior("read", "echo 'This device does not support querying device-share.'; exit 0")
    row = only(asked(one, notes))
    assert row["state"] == "not-declared" and row["reason"] == "This device does not support querying device-share."
    assert one.calls("set") == []


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("echo 'This command cannot be executed on a VM or container.'; exit 0", "cannot be executed on a VM"),
        ("""echo 'Failed to query "device-share" result.'; exit 1""", "Failed to query"),
        ("echo 'dcmi module initialize failed. ret is -8005'; exit 1", "driver not usable"),
        ("exit 3", "no output"),
        ("printf '\\tDevice-share Status : Maybe\\n\\tChip ID : 0\\n'; exit 0", "'Maybe'"),
        ("printf '\\tDevice-share Status : True\\n\\tChip ID : 7\\n'; exit 0", "no status of chip 0"),
        ("kill -9 $$", "SIGKILL"),
        ("echo 'Error parameter of -t'; exit 1", "Error parameter"),
    ],
)
def test_never_written_past_a_failed_read(one, notes, shell, words):
    one.behavior("read", shell)
    section = asked(one, notes)
    assert only(section)["state"] == "unavailable" and words in only(section)["reason"]
    assert one.calls("set") == [] and section["changed"] is False


def test_missing_tool(one, notes):
    (one.folder / "bin" / "npu-smi").unlink()
    assert only(asked(one, notes))["reason"].startswith("npu-smi info -t device-share -i 0: absent")


def test_set_is_not_supported(one, notes):
    one.behavior("on", "echo 'This device does not support setting device-share.'; exit 1")
    section = asked(one, notes)
    assert only(section)["state"] == "not-declared" and "does not support setting device-share" in only(section)["reason"]
    assert one.calls("set") == [ON], "a clear no is not followed by an off"
    assert section["left_on"] == [] and not notes.exists()


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("printf '\\tStatus : Fail\\n\\tMessage : Failed to set chip device-share\\n'; exit 7", "exit 7: Failed to set chip device-share"),
        (
            "echo 'Operation not permitted, only root user on physical machine or on physical privilege container can call this api.'; exit 2",
            "Operation not permitted",
        ),
        ("printf '\\tStatus : Fail\\n\\tMessage : The chip 0 is occupied by Docker. Please release the device first.\\n'; exit 13", "occupied by Docker"),
    ],
)
def test_set_fails(one, notes, shell, words):
    one.behavior("on", shell)
    section = asked(one, notes)
    row = only(section)
    assert row["state"] == "unavailable" and words in row["reason"] and row["detail"] == "off; the driver did not accept on"
    assert one.calls("set") == [ON] and section["left_on"] == [] and not notes.exists() and section["changed"] is True


def test_set_fails_with_exit_0(one, notes):
    one.behavior("on", "printf '\\tStatus : Fail\\n\\tMessage : Failed to set chip device-share\\n'; exit 0")
    assert only(asked(one, notes))["state"] == "unavailable"
    assert one.calls("set") == [ON, OFF], "exit 0 may have switched it"


def test_set_dies_after_it_switched(one, notes):
    one.behavior("after_on", "kill -9 $$")
    section = asked(one, notes)
    assert only(section)["state"] == "unavailable" and "SIGKILL" in only(section)["reason"]
    assert one.calls("set") == [ON, OFF] and one.state("0.0") == "False" and section["left_on"] == [] and not notes.exists()


def test_restore_fails(one, notes):
    one.behavior("off", "printf '\\tStatus : Fail\\n\\tMessage : Failed to set chip device-share\\n'; exit 5")
    one.set("1.0", "False")
    section = asked(one, notes, [driver_shims.npu(0), driver_shims.npu(1)])
    row, other = section["checks"]
    assert row["state"] == "unavailable" and "left ON" in row["detail"] and "Failed to set chip device-share" in row["reason"]
    assert row["command"] == REMEDY and row["evidence"]
    (left,) = section["left_on"]
    assert left["command"] == REMEDY and left["accelerator"] == "ascend:0" and "left ON" in left["detail"] and left["path"] == str(notes / "ascend-0-0")
    assert one.state("0.0") == "True" and one.calls("set") == [ON, OFF, OFF], "the restore is tried twice"
    assert other["state"] == "ok" and other["detail"].startswith("off, not asked: container sharing of ascend:0 could not be put back")
    note = json.loads((notes / "ascend-0-0").read_text())
    assert note["off"] == REMEDY and "Failed to set" in note["failed"]
    assert notes.stat().st_mode & 0o777 == 0o700 and (notes / "ascend-0-0").stat().st_mode & 0o777 == 0o600

    # the next run, which may not even ask, finds it
    section = asked(one, notes, allow_driver_writes=False)
    row = only(section)
    assert row["state"] == "unavailable" and "left ON by a run of " in row["detail"] and row["command"] == REMEDY
    assert section["left_on"][0]["since"] == note["asked"] and section["changed"] is False
    section = asked(one, notes)
    assert section["left_on"] and one.state("0.0") == "True", "it may serve a container by now: not switched off"

    # somebody puts it back
    one.set("0.0", "False")
    (one.folder / "off").unlink()
    section = asked(one, notes)
    assert only(section)["state"] == "ok" and section["left_on"] == [] and not notes.exists()


def test_the_second_try_puts_it_back(one, notes):
    one.behavior("off", "[ -f $D/busy ] || { touch $D/busy; printf '\\tStatus : Fail\\n'; exit 12; }")
    section = asked(one, notes)
    assert only(section)["state"] == "ok" and one.calls("set") == [ON, OFF, OFF] and not notes.exists()


def test_restore_says_ok_and_reads_on(one, notes):
    one.behavior("off", "printf '\\tStatus : OK\\n'; exit 0")
    section = asked(one, notes)
    assert "left ON" in only(section)["detail"] and "reads on after it was put back" in only(section)["reason"]
    assert (notes / "ascend-0-0").exists()


def test_restore_fails_and_it_cannot_be_read(one, notes):
    one.behavior("off", "touch $D/gone; exit 5")
    one.behavior("read", "[ -f $D/gone ] && { echo 'Failed to query result.'; exit 1; }")
    section = asked(one, notes)
    assert "left ON" in only(section)["detail"] and "could not be read" in only(section)["reason"]
    section = asked(one, notes)
    assert "may be left ON" in only(section)["detail"] and section["left_on"]


def test_restore_complains_and_it_reads_off(one, notes):
    one.behavior("off", "echo False > $F; printf '\\tStatus : Fail\\n'; exit 5")
    section = asked(one, notes)
    assert only(section)["state"] == "ok" and "it reads off" in only(section)["detail"] and section["left_on"] == [] and not notes.exists()


def test_check_mode_is_the_dry_run(one, notes):
    section = asked(one, notes, check_mode=True)
    row = only(section)
    assert row["state"] == "ok" and row["detail"].startswith("off, not asked: ") and "check mode" in row["detail"]
    assert row["command"] == "npu-smi " + ON and row["evidence"] == ""
    assert section["changed"] is True and section["asked"] == []
    assert section["would_ask"] == [{"on": ["npu-smi", *ON.split()], "off": ["npu-smi", *OFF.split()]}]
    assert one.calls("set") == [] and not notes.exists()


@pytest.mark.parametrize("allow", [False, None])
def test_not_allowed(one, notes, allow):
    section = asked(one, notes, allow_driver_writes=allow)
    row = only(section)
    assert row["state"] == "ok" and row["detail"].startswith("off, not asked") and "accelerator_allow_driver_writes" in row["detail"]
    assert row["command"] == "npu-smi " + ON and section["changed"] is False
    assert one.calls("set") == [] and not notes.exists()
    assert asked(one, notes, allow_driver_writes=allow, check_mode=True)["changed"] is False


def test_replay_answers_only_from_the_recording(one, notes):
    recorded = []
    live = asked(one, notes, recorded=recorded)
    document = json.loads(json.dumps(recorded[0]))
    before = one.calls()
    replayed = ask.collect(ReplayHost(document), ascend_share, {"devices": [driver_shims.npu(0)], "detection": OK}, str(notes))
    assert replayed["checks"] == live["checks"] and replayed["asked"] == live["asked"] and replayed["left_on"] == []
    assert one.calls() == before and not notes.exists()


def test_replay_of_a_restore_that_failed(one, notes):
    one.behavior("off", "printf '\\tStatus : Fail\\n'; exit 5")
    recorded = []
    live = asked(one, notes, recorded=recorded)
    replayed = ask.collect(ReplayHost(json.loads(json.dumps(recorded[0]))), ascend_share, {"devices": [driver_shims.npu(0)], "detection": OK}, str(notes))
    assert replayed["checks"][0]["detail"] == live["checks"][0]["detail"] and replayed["left_on"][0]["command"] == REMEDY


def test_replay_of_a_run_that_did_not_ask(one, notes):
    recorded = []
    asked(one, notes, recorded=recorded, allow_driver_writes=False)
    options = {"devices": [driver_shims.npu(0)], "detection": OK, "allow_driver_writes": True}
    row = only(ask.collect(ReplayHost(recorded[0]), ascend_share, options, str(notes)))
    assert row["state"] == "ok" and row["detail"] == "off, not asked: not in the recording"


def test_a_run_that_asks_keeps_another_from_asking(one, notes):
    notes.mkdir(0o700)
    import fcntl

    held = os.open(notes, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        row = only(asked(one, notes))
        assert row["state"] == "ok" and "another run is asking" in row["detail"] and one.calls("set") == []
        one.set("0.0", "True")
        assert only(asked(one, notes))["state"] == "unavailable", "on for a moment tells nothing"
    finally:
        os.close(held)


@pytest.mark.parametrize("spoil", ["others", "link", "file"])
def test_a_directory_that_is_not_ours_alone(one, notes, tmp_path, spoil):
    if spoil == "others":
        notes.mkdir()
        notes.chmod(0o755)
    elif spoil == "link":
        (tmp_path / "elsewhere").mkdir(0o700)
        notes.symlink_to(tmp_path / "elsewhere")
    else:
        notes.write_text("")
    row = only(asked(one, notes))
    assert row["detail"].startswith("off, not asked: ") and one.calls("set") == []


def test_near_the_deadline_nothing_is_begun(one, notes):
    row = only(asked(one, notes, deadline=15))
    assert row["detail"] == "off, not asked: the deadline is near" and one.calls("set") == [] and not notes.exists()


def test_dies_of_one_card(tmp_path, notes):
    driver = driver_shims.ascend(tmp_path / "driver", {"2.0": "False", "2.1": "False"})
    driver.behavior("a3", "")
    dies = [driver_shims.npu(2, chip, dies=2, family="910C") for chip in (0, 1)]
    package = dict(driver_shims.npu(2), identity={})
    section = asked(driver, notes, [package, *dies])
    assert [(row["accelerator"], row["state"]) for row in section["checks"]] == [("ascend:2.0", "ok"), ("ascend:2.1", "ok")]
    assert driver.calls("info")[:1] == ["info -t device-share -i 2"] and (driver.state("2.0"), driver.state("2.1")) == ("False", "False")
    driver.set("2.1", "True")
    section = asked(driver, notes, [package, *dies])
    assert [row["detail"] for row in section["checks"]] == [
        "off, not asked: ascend:2.1 of the same card is not off, and may have the same switch",
        "container sharing is on",
    ]
    assert driver.state("2.1") == "True"


def test_a_950_has_no_such_flag(one, notes):
    row = only(asked(one, notes, [driver_shims.npu(0, family="950")]))
    assert row["state"] == "not-declared" and "DCMI V2" in row["reason"] and one.calls() == []


def test_detection_is_unavailable(one, notes):
    section = asked(one, notes, detection={"state": "unavailable"})
    assert section["checks"] == [] and "not detected" in section["note"] and one.calls() == []
    host = LiveHost(path=one.path)
    assert ask.collect(host, ascend_share, {}, str(notes))["checks"] == []
    host.close()


@pytest.mark.parametrize("extra", [None, {}, {"npu_id": "0; rm -rf /", "chip_id": 0}, {"npu_id": True, "chip_id": 0}, {"npu_id": -1, "chip_id": 0}])
def test_a_card_without_numbers(one, notes, extra):
    row = only(asked(one, notes, [dict(driver_shims.npu(0), extra=extra)]))
    assert row["state"] == "unavailable" and "not known" in row["reason"] and one.calls() == []


def test_one_read_a_card_and_three_calls_for_each_die(tmp_path, notes):
    states = {"%d.%d" % (card, chip): "False" for card in range(2) for chip in range(2)}
    driver = driver_shims.ascend(tmp_path / "driver", states)
    dies = [driver_shims.npu(card, chip, dies=2) for card in range(2) for chip in range(2)]
    section = asked(driver, notes, dies)
    assert [row["state"] for row in section["checks"]] == ["ok"] * 4
    assert len(driver.calls("info")) == 2 + 4 and len(driver.calls("set")) == 8


@pytest.mark.skipif(os.geteuid() != 0, reason="entering another root needs root")
def test_a_mounted_host(tmp_path):
    """The note lies on the host, also where a link of the host leads to its place, and not here."""
    root = tmp_path / "host"
    for program in ("/bin/sh", "/bin/cat"):
        told = subprocess.run(["ldd", os.path.realpath(program)], capture_output=True, text=True, check=False).stdout
        for path in [program, *(word for word in told.split() if word.startswith("/"))]:
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(path), target)
    for name in ("disk/lib", "etc", "proc"):
        (root / name).mkdir(parents=True)
    (root / "var").symlink_to("/disk")
    driver_shims.ascend(root / "drv", {"0.0": "False"})
    tool = root / "usr/local/bin/npu-smi"
    tool.parent.mkdir(parents=True)
    tool.write_text(driver_shims.NPU_SMI % "/drv")
    tool.chmod(0o755)
    (root / "drv/after_on").write_text("for f in /disk/lib/fleetproof-accelerator/*; do echo $f > /drv/seen; done\n")
    host = LiveHost(root=str(root))
    options = {"devices": [driver_shims.npu(0)], "detection": OK, "allow_driver_writes": True}
    try:
        row = only(ask.answer(host, ascend_share, options)["slicing.ascend"])
    finally:
        host.close()
    assert row["detail"] == "was off, the driver accepted on, put back", row
    assert (root / "drv/seen").read_text() == "/disk/lib/fleetproof-accelerator/ascend-0-0\n"
    assert [str(path.relative_to(root)) for path in (root / "disk/lib").glob("**/*") if path.is_file()] == ["disk/lib/fleetproof/accelerator/lock"]
