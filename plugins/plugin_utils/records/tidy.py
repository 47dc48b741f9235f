# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a recording as a node gives it short enough to be read and edited by people."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers

_LATE = "no answer in time"


def _short(operation, said):
    """The short form of a path's only answer; None when there is none that says the same."""
    status, value = said["status"], said.get("value")
    if operation in ("read", "listdir") and said == {"status": answers.TIMEOUT, "detail": _LATE}:
        return {"hang": True}
    if said == {"status": answers.ABSENT} or (operation == "exists" and said == {"status": answers.OK, "value": False}):
        return {"absent": True}
    if status == answers.DENIED and said["detail"] == "EACCES" and operation != "stat":
        return {"error": "EACCES"}
    if status != answers.OK or "truncated" in said:
        return None
    if operation == "read":
        return {"base64": said["base64"]} if "base64" in said else value
    if operation == "stat":
        return {"device" if k == "type" and v not in ("file", "directory") else k: v for k, v in value.items()}
    return {{"listdir": "dir", "readlink": "link", "exists": "exists"}[operation]: value}


def _entry(asked):
    """The short form of what was asked of a path, where there is one that says the same."""
    others = [operation for operation in asked if operation != "exists"]
    if len(others) > 1:
        return {"asked": asked}
    operation = others[0] if others else "exists"
    short = [_short(operation, said) for said in asked[operation]]
    if None in short or (len(short) > 1 and operation != "read"):
        return {"asked": asked}
    if others and "exists" in asked:
        status = asked[operation][0]["status"]
        present = {answers.OK: True, answers.ABSENT: False}.get(status)
        if len(short) > 1 or operation == "readlink" or asked["exists"] != [{"status": answers.OK, "value": present}]:
            return {"asked": asked}
    return short[0] if len(short) == 1 else {"answers": short}


def _command(entry):
    status, detail = entry.get("status"), entry.get("detail")
    short = {(answers.ABSENT, "no such program"): {"missing": True}, (answers.TIMEOUT, _LATE): {"hang": True}, (answers.SIGNALED, detail): {"signal": detail}}
    if (status, detail) not in short:
        return entry
    rest = {key: value for key, value in entry.items() if key not in ("argv", "status", "detail")}
    return {"argv": entry["argv"], **short[status, detail], **rest}


def _native(said):
    keys = {answers.OK: "answer", answers.ABSENT: "missing", answers.SIGNALED: "signal", answers.IO_ERROR: "error"}
    if said == {"status": answers.TIMEOUT, "detail": _LATE}:
        return {"hang": True}
    if said.get("status") not in keys or "truncated" in said:
        return said
    return {keys[said["status"]]: said.get("value") if said["status"] == answers.OK else said.get("detail", "")}


def tidy(document):
    """The same recording with the short forms of docs/recording.md where they say the same; sections that hold nothing are left out."""
    files = {path: _entry(entry["asked"]) if isinstance(entry, dict) and "asked" in entry else entry for path, entry in (document.get("files") or {}).items()}
    commands = [_command(entry) for entry in document.get("commands") or []]
    natives = {}
    for name, said in (document.get("natives") or {}).items():
        short = [_native(one) for one in (said if isinstance(said, list) else [said])]
        natives[name] = short[0] if len(short) == 1 else short
    return {key: value for key, value in dict(document, files=files, commands=commands, natives=natives).items() if value not in ({}, [])}
