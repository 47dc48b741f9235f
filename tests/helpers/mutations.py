# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to break a recording. Those of LOSSES only take information away: a node must not look better for any of them."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, RULES

ACCEPTED = ("accepted", "accepted_with_warnings")
GARBAGE = "\x00\ufffd#\x1b[?~\u202e<&\ud800"
LOG = "journalctl"


def _cut(text, where):
    return text[: int(len(text) * where)]


def _garbled(text, where):
    """A quarter of the text replaced by what no tool prints."""
    start = int(len(text) * where * 0.75)
    size = max(1, len(text) // 4)
    return text[:start] + (GARBAGE * (size // len(GARBAGE) + 1))[:size] + text[start + size :]


def _file_losses(entry):
    """name -> function of the place in the text; the new entry, or None to drop it."""
    failures = {"denied": {"error": "EACCES"}, "broken": {"error": "EIO"}, "hangs": {"hang": True}}
    ways = {name: lambda where, failure=failure: dict(failure) for name, failure in failures.items()}
    ways["dropped"] = lambda where: None
    if isinstance(entry, str):
        ways["empty"] = lambda where: ""
        ways["garbage"] = lambda where: GARBAGE
        # a short value that is cut is another value
        if len(entry) > 200:
            ways["cut"] = lambda where: _cut(entry, where)
            ways["garbled"] = lambda where: _garbled(entry, where)
    return ways


def _command_losses(entry):
    said, argv = entry.get("stdout") or "", {"argv": entry["argv"]}
    ways = {
        "dropped": lambda where: None,
        "missing": lambda where: dict(argv, missing=True),
        "denied": lambda where: dict(argv, denied=True),
        "hangs": lambda where: dict(argv, hang=True, stdout=_cut(said, where)),
        "too much": lambda where: dict(argv, overflow=True, stdout=_cut(said, where)),
        "killed": lambda where: dict(argv, signal="SIGSEGV", stdout=_cut(said, where)),
        "fails": lambda where: dict(argv, rc=1, stdout="", stderr="error"),
        "fails late": lambda where: dict(argv, rc=255, stdout=_cut(said, where), stderr="error"),
    }
    if entry["argv"][0] != LOG:  # lines that are simply not in a log leave no trace
        ways["empty"] = lambda where: dict(argv, rc=0, stdout="")
        ways["cut"] = lambda where: dict(entry, stdout=_cut(said, where))
        ways["garbled"] = lambda where: dict(entry, stdout=_garbled(said, where))
        ways["garbage"] = lambda where: dict(argv, rc=0, stdout=GARBAGE)
    return ways


def _native_losses(entry):
    ways = {
        "dropped": lambda where: None, "missing": lambda where: {"missing": "no library"}, "hangs": lambda where: {"hang": True},
        "killed": lambda where: {"signal": "SIGSEGV"}, "broken": lambda where: {"error": "garbage from the child"}, "empty": lambda where: {"answer": {}},
    }  # fmt: skip

    def lost_card(where):
        cards = dict(entry["answer"]["cards"])
        del cards[sorted(cards)[int(len(cards) * where * 0.999)]]
        return {"answer": dict(entry["answer"], cards=cards)}

    def lost_key(where):
        gpus = [dict(gpu) for gpu in entry["answer"]["gpus"]]
        names = [(number, name) for number, gpu in enumerate(gpus) for name in gpu]
        number, name = names[int(len(names) * where * 0.999)]
        del gpus[number][name]
        return {"answer": dict(entry["answer"], gpus=gpus)}

    if "gpus" in entry.get("answer", ()):
        ways["a key lost"] = lost_key
    if "cards" in entry.get("answer", ()):
        ways["a card lost"] = lost_card
    return ways


def targets(document):
    return [
        *(("files", path) for path in document["files"]),
        *(("commands", number) for number in range(len(document["commands"]))),
        *(("natives", name) for name in document.get("natives") or {}),
        *(("host", key) for key in document["host"]),
    ]


def lose(document, pick, way, where, known=None):
    """Take something away, in place. pick and way are any numbers; known: the targets to pick from. Returns what was done, in words."""
    known = [(kind, key) for kind, key in known or targets(document) if kind == "commands" or key in document[kind]]
    if not known:
        return "nothing"
    kind, key = known[pick % len(known)]
    place = document[kind]
    losses = {"files": _file_losses, "commands": _command_losses, "natives": _native_losses, "host": lambda entry: {"dropped": lambda where: None}}[kind]
    ways = losses(place[key])
    name = sorted(ways)[way % len(ways)]
    new = ways[name](where)
    said = " ".join(place[key]["argv"]) if kind == "commands" else key
    if new is not None:
        place[key] = new
    elif kind == "commands":
        place[key] = {"argv": ["nobody-asks-this"], "missing": True}
    else:
        del place[key]
    return "%s %s" % (said, name)


def swap(document, pick, where, digits):
    """Other digits for a number in a text: may make a fault or hide one."""
    known = [("commands", n) for n, entry in enumerate(document["commands"]) if entry.get("stdout")] * 8
    known += [("files", path) for path, entry in document["files"].items() if isinstance(entry, str)]
    kind, key = known[pick % len(known)]
    text = document[kind][key]["stdout"] if kind == "commands" else document[kind][key]
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return "nothing"
    found = numbers[int(len(numbers) * where * 0.999)]
    changed = text[: found.start()] + digits + text[found.end() :]
    if kind == "commands":
        document[kind][key] = dict(document[kind][key], stdout=changed)
    else:
        document[kind][key] = changed
    return "%s: %s for %s" % (key, digits, found.group())


def never_better(before, judged, words):
    """What holds for a node of which less is known than before. before, judged: demo.Judged. words: what was taken away."""
    logless = [word for word in words if word.startswith(LOG)]
    for rule in before.profile.asked:
        assert RULES[rule].scope in COMPARED or sum(judged.counts[rule]), "%s: %s does not answer" % (words, rule)
        if RULES[rule].scope in COMPARED:
            assert rule in judged.prints, "%s: %s does not answer" % (words, rule)
            continue
        if before.outcome(rule) == "found" and not (logless and rule.startswith("kernel-")):
            assert judged.outcome(rule) in ("found", "unknown", "not_run"), "%s: %s was found, now %s" % (words, rule, judged.outcome(rule))
        if before.outcome(rule) == "passed" and rule in before.profile.required:
            passed, lost = judged.counts[rule][0], judged.outcome(rule) in ("found", "unknown", "not_run")
            assert lost or passed >= before.counts[rule][0], "%s: %s passed for fewer" % (words, rule)
    if before.verdict in ("rejected", "incomplete"):
        assert judged.verdict not in ACCEPTED, words
    if judged.verdict in ACCEPTED:
        required = [rule for rule in before.profile.required if before.outcome(rule) == "passed"]
        assert [rule for rule in required if judged.outcome(rule) != "passed"] == [], words
