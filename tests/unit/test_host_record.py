# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording answers what was answered when it was made, and does not tell what it should not."""

from __future__ import annotations

import json
import os
import random
import re

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers, privacy
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Answer, Command
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.base import Host
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.identifiers import Identifiers, replace_identifiers, shaped
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.recording import load
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.tidy import tidy


class Scripted(Host):
    """Answers whatever the test says, in order."""

    def __init__(self, said):
        self._said = list(said)

    def _next(self, *_arguments, **_more):
        return self._said.pop(0)

    read_bytes = exists = stat = listdir = readlink = statvfs = run = native = resolve = _next
    uname = limits = boot_time = is_root = python = _next

    def now(self):
        return 1764522000.7

    def monotonic(self):
        return 5.0

    def remaining(self):
        return 7.0


def replayed(recorder):
    return ReplayHost(json.loads(json.dumps(recorder.recording())))


def documents(recorder, folder):
    """As the node gives it, as the controller files it, and as it is loaded."""
    document = recorder.recording()
    (folder / "recording.json").write_text(json.dumps(tidy(document)))
    return json.loads(json.dumps(document)), tidy(document), load(folder / "recording.json")


def told(answer):
    kept = (answer.status, answer.value, answer.detail, answer.truncated, answer.subject)
    return (*kept, answer.argv, answer.rc, answer.stdout, answer.stderr, answer.stuck_pid) if isinstance(answer, Command) else kept


FACTS = [
    Answer("absent"),
    Answer("denied", detail="EACCES"),
    Answer("denied", detail="EPERM"),
    Answer("not_a_file", detail="fifo"),
    Answer("is_a_directory"),
    Answer("not_a_directory", detail="ENOTDIR"),
    Answer("loop", detail="ELOOP"),
    Answer("outside_root"),
    Answer("io_error", detail="EIO"),
    Answer("io_error", detail="no helper process: x"),
    Answer("timeout", detail="no answer in time"),
    Answer("timeout", detail="no answer in time; process 5 stuck"),
    Answer("timeout", detail="the deadline of the module had passed"),
    Answer("signaled", detail="SIGSEGV"),
    Answer("not_recorded"),
]
GOOD = {
    "read_bytes": [b"", b"text\n", b"caf\xc3\xa9\r\n\x00", b"\xff\xfe", b"123", b"true"],
    "exists": [True, False],
    "listdir": [[], ["a"], ["a", "b"]],
    "readlink": ["a", "../b", "/r/a", "/elsewhere"],
    "stat": [
        {"type": "file", "mode": "0644", "size": 3},
        {"type": "directory", "mode": "0755"},
        {"type": "char", "major": 1, "minor": 3, "mode": "0666"},
        {"type": "fifo", "mode": "0600"},
    ],
}


@pytest.mark.parametrize("seed", range(300))
def test_any_answers_to_any_questions_come_back(seed, tmp_path):
    """Also contradictory ones: a machine changes while it is read."""
    rng = random.Random(seed)
    questions, said = [], []
    for _unused in range(rng.randrange(1, 14)):
        operation = rng.choice(sorted(GOOD))
        path = rng.choice(["/r", "/r/a", "/r/b", "/r/a/deep"])
        answer = Answer("ok", rng.choice(GOOD[operation])) if rng.random() < 0.6 else rng.choice(FACTS)
        if operation == "exists" and answer.status == "absent":
            answer = Answer("ok", False)  # how the door says it
        answer = Answer(answer.status, answer.value, answer.detail, path, operation == "read_bytes" and answer.ok and rng.random() < 0.2)
        questions.append((operation, path))
        said.append(answer)
    expected = [told(a) for a in said]
    recorder = RecordingHost(Scripted(said))
    assert [told(getattr(recorder, o)(p)) for o, p in questions] == expected
    for document in documents(recorder, tmp_path):
        replay = ReplayHost(document)
        assert [told(getattr(replay, o)(p)) for o, p in questions] == expected


@pytest.mark.parametrize("seed", range(60))
def test_any_ends_of_commands_and_libraries_come_back(seed, tmp_path):
    rng = random.Random(seed)
    argvs = [["tool"], ["/usr/bin/tool"], ["tool", "-q"], ["other"]]
    ends = [
        {"status": "ok", "rc": 0, "stdout": "a\n"},
        {"status": "ok", "rc": 9, "stderr": "b", "detail": "it left processes"},
        {"status": "absent", "detail": "no such program"},
        {"status": "denied", "detail": "EACCES"},
        {"status": "timeout", "stdout": "x", "detail": "no answer in time"},
        {"status": "timeout", "detail": "stuck", "stuck_pid": 7},
        {"status": "overflow", "stdout": "x" * 50, "detail": "stopped"},
        {"status": "signaled", "detail": "SIGSEGV"},
        {"status": "io_error", "detail": "ENOEXEC"},
        {"status": "loop", "detail": "ELOOP"},
        {"status": "not_recorded"},
        {"status": "not_a_directory", "detail": "ENOTDIR"},
    ]
    natives = [Answer("ok", {"x": [1]}), Answer("ok", {}), *FACTS, Answer("overflow", detail="answered more"), Answer("io_error", detail="ValueError: x")]
    questions, said = [], []
    for _unused in range(rng.randrange(1, 12)):
        if rng.random() < 0.6:
            argv, more = rng.choice(argvs), rng.choice([{}, {}, {"env": {"A": "1"}}, {"stdin": "in"}])
            questions.append(("run", (argv,), more))
            said.append(Command(argv, seconds=rng.random(), **rng.choice(ends)))
        elif rng.random() < 0.5:
            questions.append(("native", ("lib",), {}))
            answer = rng.choice(natives)
            said.append(Answer(answer.status, answer.value, answer.detail, "lib"))
        else:
            program = rng.choice("pq")
            questions.append(("resolve", (program,), {}))
            said.append(Answer("ok", "/usr/bin/p", subject=program) if program == "p" else Answer("absent", subject=program))
    expected = [told(a) for a in said]
    recorder = RecordingHost(Scripted(said))
    assert [told(getattr(recorder, o)(*a, **m)) for o, a, m in questions] == expected
    for document in documents(recorder, tmp_path):
        replay = ReplayHost(document)
        assert [told(getattr(replay, o)(*a, **m)) for o, a, m in questions] == expected


def test_a_live_machine_comes_back(tmp_path):
    (tmp_path / "file").write_text("one")
    (tmp_path / "directory/below").mkdir(parents=True)
    os.symlink("file", tmp_path / "link")
    os.symlink("directory", tmp_path / "way")
    os.symlink("loop", tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "bytes").write_bytes(b"\xff\x00")
    paths = [str(tmp_path / n) for n in ("file", "link", "directory", "way", "way/below", "loop", "fifo", "bytes", "none", "none/x", "file/x")]
    paths += ["/dev/null", "/proc/version", "/proc/self/mem"]
    live = LiveHost()
    recorder = RecordingHost(live)
    asked = [(name, (path,)) for path in paths for name in ("readlink", "read_text", "listdir", "exists", "stat", "read_bytes", "read_line", "statvfs")]
    asked += [("glob", (str(tmp_path / "*"),)), ("glob", (str(tmp_path / "*/below"),)), ("run", (["uname", "-s"],)), ("run", (["no-such-program-at-all"],))]
    asked += [(name, ()) for name in ("uname", "limits", "boot_time", "is_root", "python")]
    random.Random(1).shuffle(asked)
    first = [told(getattr(recorder, name)(*arguments)) for name, arguments in asked]
    live.close()
    for document in documents(recorder, tmp_path):
        replay = ReplayHost(document)
        assert [told(getattr(replay, name)(*arguments)) for name, arguments in asked] == first
    assert abs(replay.now() - recorder.now()) < 60


def test_files_that_were_simply_read_have_the_simple_form():
    said = [Answer("ok", b"one\n"), Answer("ok", b"one\n"), Answer("ok", b"12"), Answer("ok", b"13"), Answer("ok", ["p", "q"]), Answer("ok", "../x")]
    said += [Answer("absent"), Answer("denied", detail="EACCES"), Answer("timeout", detail="no answer in time"), Answer("ok", False), Answer("ok", b"\xff")]
    recorder = RecordingHost(Scripted(said))
    recorder.read_text("/a")
    recorder.read_text("//a")
    recorder.read_text("/uptime")
    recorder.read_text("/uptime")
    recorder.listdir("/d")
    recorder.readlink("/l")
    for path in ("/none", "/shut", "/dead"):
        recorder.read_text(path)
    recorder.exists("/no")
    recorder.read_bytes("/bytes")
    assert tidy(recorder.recording())["files"] == {
        "/a": "one\n",
        "/uptime": {"answers": ["12", "13"]},
        "/d": {"dir": ["p", "q"]},
        "/l": {"link": "../x"},
        "/none": {"absent": True},
        "/shut": {"error": "EACCES"},
        "/dead": {"hang": True},
        "/no": {"absent": True},
        "/bytes": {"base64": "/w=="},
    }
    assert recorder.recording()["recorded"] == "2025-11-30T17:00:00Z"
    assert (recorder.now(), recorder.monotonic(), recorder.remaining()) == (1764522000.7, 5.0, 7.0)


def test_what_could_not_be_asked_of_the_machine_comes_back():
    denied = [Answer("denied", detail="EACCES", subject=name) for name in ("uname", "limits", "boot_time", "root_user", "python")]
    recorder = RecordingHost(Scripted([*denied, Answer("io_error", detail="EIO", subject="statvfs /x")]))
    ask = [lambda h: h.uname(), lambda h: h.limits(), lambda h: h.boot_time(), lambda h: h.is_root(), lambda h: h.python(), lambda h: h.statvfs("/x")]
    first = [told(a(recorder)) for a in ask]
    assert [told(a(replayed(recorder))) for a in ask] == first


def test_a_reader_may_change_what_it_got():
    recorder = RecordingHost(Scripted([Answer("ok", ["a"]), Answer("ok", {"x": [1]})]))
    recorder.listdir("/d").value.append("b")
    recorder.native("lib").value["x"].append(2)
    assert tidy(recorder.recording())["files"] == {"/d": {"dir": ["a"]}}
    assert tidy(recorder.recording())["natives"] == {"lib": {"answer": {"x": [1]}}}


SECRET = "s3cr3tValue0123456789"


@pytest.mark.parametrize(
    "text",
    [
        "BOOT_IMAGE=/vmlinuz ro token=%s quiet",
        "agent.join_token=%s",
        "rd.luks.key=%s",
        "AWS_SECRET_ACCESS_KEY=%s",
        "export HF_TOKEN=%s",
        "A=1\0NGC_API_KEY=%s\0B=2",
        "password: %s",
        "  password: '%s'",
        'auth = "%s"',
        '"auth": "%s"',
        '"identitytoken":"%s"',
        r"{\"password\": \"%s\"}",
        "Authorization: Bearer %s",
        "authorization=Basic %s",
        "curl -H bearer %s",
        "https://user:%s@registry.example/v2",
        "tool --token %s --x",
        "tool --password=%s",
        "client-secret: %s",
        "api-key: %s",
        "passphrase = %s more",
        "password=&%s",
        "password: '[%s'",
        '{"Secret": "{%s"}',
        'password = "two words %s"',
        "-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n%s",
        "tool\0--token\0%s\0x",
        "SNMP Community String   : %s",
    ],
)
def test_secrets_are_redacted_as_they_are_written(text):
    text = "before\n" + text % SECRET + "\nafter"
    said = [
        Answer("ok", text.encode()),
        Answer("ok", text.encode() + b"\xff"),
        Command(["t"], "ok", 0, text, text),
        Answer("ok", {"a": [text]}),
        Answer("ok", text),
    ]
    recorder = RecordingHost(Scripted(said))
    assert SECRET in recorder.read_text("/f").value  # the reader sees the machine as it is
    recorder.read_bytes("/g")
    recorder.run(["t"])
    recorder.native("lib")
    recorder.readlink("/l")
    kept = json.dumps(recorder._files, default=repr) + json.dumps(recorder.recording()) + replayed(recorder).read_bytes("/g").value.decode("latin-1")
    assert SECRET not in kept
    replay = replayed(recorder).read_text("/f").value
    assert replay.startswith("before\n") and (replay.endswith("\nafter") or "BEGIN PRIVATE" in text) and "[redacted]" in replay


def test_secrets_in_arguments_environment_and_keys_are_redacted():
    recorder = RecordingHost(
        Scripted([Command(["t", "--token", SECRET, "--password=" + SECRET], "ok", 0), Answer("ok", {"token": SECRET, "deep": {"Password": [SECRET]}})])
    )
    recorder.run(["t", "--token", SECRET, "--password=" + SECRET], env={"MY_TOKEN": SECRET, "A": "1"}, stdin="secret=" + SECRET)
    recorder.native("lib")
    entry = recorder.recording()["commands"][0]
    assert SECRET not in json.dumps(recorder.recording())
    assert entry["argv"] == ["t", "--token", "[redacted]", "--password=[redacted]"] and entry["env"] == {"MY_TOKEN": "[redacted]", "A": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "authentication:\n  anonymous:\n    enabled: false\nauthorization:\n  mode: Webhook\n",
        "tokenFile: /run/token",
        "max_tokens=4096",
        "serializeImagePulls: true",
        "keyboard: us",
        "auth: null",
        "password: ''",
        'token: ""',
        "Key: value",
        "passwd:         files systemd",
        "rotateCertificates: true",
        "tls-private-key-file=/etc/k.pem",
        "0000:18:00.0 basic information about tokens",
        "secret: {a: 1}",
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
        "author: someone",
        "authoritative: yes",
        "ecc key fault=3",
        "SNMP Community String   : public\nIP Header",
    ],
)
def test_what_is_no_secret_stays(text):
    found = privacy.redact(text)
    assert found == text or text.startswith("passwd:")
    assert privacy.redact(found) == found


def test_redacting_can_be_switched_off():
    recorder = RecordingHost(Scripted([Answer("ok", b"token=abc")]), redact=False)
    recorder.read_text("/f")
    assert recorder.recording()["files"]["/f"] == "token=abc"


def test_large_outputs_are_redacted_in_reasonable_time():
    for text in ("a" * 3000000, "key" * 500000, "--" * 500000, "token" * 300000, '"' * 1000000, "0a:" * 500000, "serial " * 200000, "://" + "a:" * 400000):
        assert isinstance(privacy.redact(text), str)
        identifiers = Identifiers()
        identifiers.collect(text)


UUID = "GPU-1c2d3e4f-aaaa-bbbb-cccc-0123456789ab"


def identified():
    said = [
        Answer("ok", {"node": "gpu-a01.site.example", "release": "6.8.0"}),
        Answer("ok", b"SN12345678\n"),
        Answer("ok", b"9c:6b:00:12:34:56\n"),
        Command(
            ["nvidia-smi", "-q"], "ok", 0, "Serial Number : 1320222012345\nGPU UUID : %s\nBus Id : 00000000:18:00.0\nHost gpu-a01 said SN12345678\n" % UUID
        ),
        Answer("ok", {"serial": 1320222012345, "uuid": UUID, "mac": "9C:6B:00:12:34:56", "memory": 81559, "temperature": 45}),
        Answer("ok", b"0123456789\n"),
        Answer("ok", b"fe80:0000:0000:0000:9c6b:0003:0012:3456"),
    ]
    recorder = RecordingHost(Scripted(said))
    recorder.uname()
    recorder.read_text("/sys/class/dmi/id/product_serial")
    recorder.read_text("/sys/class/net/eth0/address")
    recorder.run(["nvidia-smi", "-q"])
    recorder.native("nvml")
    recorder.read_text("/sys/class/dmi/id/board_serial")
    recorder.read_text("/sys/class/infiniband/mlx5_0/ports/1/gids/0")
    return recorder.recording()


def test_identifiers_are_replaced_on_request_the_same_everywhere():
    document = replace_identifiers(tidy(identified()), ["release"])
    text = json.dumps(document)
    for word in ("1320222012345", "1c2d3e4f", "9c:6b", "9C:6B", "gpu-a01", "SN12345678", "9c6b:0003", "release"):
        assert word not in text
    native, output = document["natives"]["nvml"]["answer"], document["commands"][0]["stdout"]
    assert re.search(r"Serial Number : (\d{13})\n", output).group(1) == str(native["serial"])
    assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", native["uuid"]) and "GPU UUID : " + native["uuid"] in output
    assert native["mac"].lower() == document["files"]["/sys/class/net/eth0/address"].strip()
    serial = document["files"]["/sys/class/dmi/id/product_serial"].strip()
    assert re.fullmatch(r"[A-Z]{2}\d{8}", serial) and "said " + serial in output
    assert "Host %s said" % document["node"].split(".")[0] in output
    assert "Bus Id : 00000000:18:00.0" in output and (native["memory"], native["temperature"]) == (81559, 45)
    assert document["files"]["/sys/class/dmi/id/board_serial"] == "0123456789\n"  # a placeholder says something
    assert document["files"]["/sys/class/infiniband/mlx5_0/ports/1/gids/0"].startswith("fe80:0000:0000:0000:")
    assert document == replace_identifiers(tidy(identified()), ["release"])
    ReplayHost(document)


def test_different_identifiers_stay_different():
    words = ["SN%08d" % n for n in range(300)]
    identifiers = Identifiers(words)
    replaced = identifiers.replace(words)
    assert len(set(replaced)) == 300 and not set(replaced) - {w for w in replaced if re.fullmatch(r"[A-Z]{2}\d{8}", w)}
    assert shaped("0x0c42a1030065bb4c", 27).startswith("0x0") and len(shaped("0x0c42a1030065bb4c", 27)) == 18


def test_statuses_of_the_door_are_all_known_here():
    words = {v for k, v in vars(answers).items() if k.isupper() and isinstance(v, str)}
    assert {a.status for a in FACTS} | {"ok", "overflow"} == words


def test_the_filter_refuses_what_is_no_recording():
    errors = pytest.importorskip("ansible.errors", reason="needs ansible-core")
    from ansible_collections.fleetproof.accelerator.plugins.filter.neutral_recording import FilterModule

    neutral = FilterModule().filters()["neutral_recording"]
    assert UUID not in json.dumps(neutral(identified(), ["release"]))
    for wrong in ("text", {}, {"schema": "other"}):
        with pytest.raises(errors.AnsibleFilterError, match="allowed: a mapping with schema"):
            neutral(wrong)
