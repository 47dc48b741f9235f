# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of a judgement: a list of sha256 digests as `sha256sum -c` reads it, and a detached signature by the site's own tool.

The list covers what the judgement wrote, and what it was made of: run.json, policies, section files, recordings, pairs, the baseline.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import subprocess
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import regular_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunError, encode

LIST, SIGNATURE = "evidence.sha256", "evidence.sha256.sig"
PURPOSE = "fleetproof-evidence"  # the namespace of OpenSSH signatures: one made for something else is none
TIMEOUT = 60  # seconds; a key in a hardware token that nobody touches is an error
_INPUTS = ("run.json", "baseline.json", "policies", "nodes", "recordings", "pairs")
_LINE = re.compile(r"(\\?)([0-9a-f]{64}) [ *](.+)")
_SHOWN = 8


def _files(run_path, judgement):
    """Names of all files, relative to the run, sorted."""
    found = []
    for top in [*_INPUTS, "judgements/%s" % judgement]:
        path = run_path / top
        if path.is_symlink():
            continue
        if path.is_file():
            found.append(top)
        for folder, folders, names in os.walk(path):
            folders.sort()
            found += [os.path.relpath(os.path.join(folder, name), run_path) for name in names if not os.path.islink(os.path.join(folder, name))]
    own = {"judgements/%s/%s" % (judgement, name) for name in (LIST, SIGNATURE)}
    return sorted(name for name in found if name not in own and ".tmp" not in name.split("/")[-1] and not name.split("/")[-1].startswith("."))


def _digest(path):
    hashed = hashlib.sha256()
    hashed.update(regular_file.read(path))
    return hashed.hexdigest()


def _named(name):
    """A name as sha256sum writes it: with a line break in it, escaped and marked."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return ("\\" if escaped != name else "", escaped)


def write(run_path, judgement):
    """Write the list of a judgement; (path, number of files). RunError where a file cannot be read or written."""
    target = run_path / "judgements" / str(judgement) / LIST
    lines = []
    try:
        names = _files(run_path, judgement)
        for name in names:
            mark, shown = _named(name)
            lines.append("%s%s  %s\n" % (mark, _digest(run_path / name), shown))
        partial = target.with_name(".%s.%s" % (LIST, secrets.token_hex(4)))
        partial.write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
        partial.replace(target)
    except (OSError, ValueError) as error:
        raise RunError("%s: the evidence cannot be listed: %s" % (target, error)) from None
    with contextlib.suppress(FileNotFoundError):
        (target.parent / SIGNATURE).unlink()  # it was of another list
    return target, len(names)


def read(run_path, judgement):
    """name -> digest of the list. RunError when there is none or it is damaged."""
    path = run_path / "judgements" / str(judgement) / LIST
    try:
        text = regular_file.read(path).decode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:
        raise RunError("%s: no list of evidence: %s" % (path, getattr(error, "strerror", None) or error)) from None
    listed = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        name = match and (re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), match[3]) if match[1] else match[3])
        if not name or name.startswith("/") or ".." in name.split("/"):
            raise RunError("%s: line %d: found %.80r, allowed: a sha256 digest and a name below the run directory" % (path, number, line))
        listed[name] = match[2]
    return listed


def problems(run_path, judgement, nodes=None):
    """[(name, what is wrong)]: changed, missing, or slipped into the judgement. nodes: only what concerns these nodes and the whole run."""
    listed = read(run_path, judgement)
    own = None if nodes is None else {encode(node) for node in nodes}
    found = []
    for name, digest in sorted(listed.items()):
        if own is not None and not _concerns(name, own):
            continue
        path = run_path / name
        try:
            if path.is_symlink() or _digest(path) != digest:
                found.append((name, "changed"))
        except FileNotFoundError:
            found.append((name, "missing"))
        except (OSError, ValueError) as error:
            found.append((name, "cannot be read: %s" % (getattr(error, "strerror", None) or error)))
    # Section files that came later were no part of this judgement; a record or report that was slipped into it is found.
    slipped = [name for name in _files(run_path, judgement) if name.startswith("judgements/") and name not in listed]
    return found + [(name, "not in the list") for name in slipped if own is None or _concerns(name, own)]


def _concerns(name, own):
    """Whether a file belongs to one of these nodes or to no single node."""
    parts = name.split("/")
    if parts[0] in ("nodes", "recordings"):
        return any(part in own or part.split(".y")[0] in own for part in parts[1:])
    if "records" in parts:
        return parts[-1].removesuffix(".yml") in own
    return True


def told(found):
    """Problems in one line."""
    shown = ["%s (%s)" % one for one in found[:_SHOWN]]
    return ", ".join(shown) + (" and %d more" % (len(found) - _SHOWN) if len(found) > _SHOWN else "")


# -- the signature, by a tool that the site has -----------------------------------------------------------------------------

SIGN = {
    "ssh-keygen": lambda key, path, sig, _who: ["ssh-keygen", "-Y", "sign", "-f", key, "-n", PURPOSE, path],
    "gpg": lambda key, path, sig, _who: ["gpg", "--batch", "--yes", "--armor", "--local-user", key, "--output", sig, "--detach-sign", path],
    "openssl": lambda key, path, sig, _who: ["openssl", "dgst", "-sha256", "-sign", key, "-out", sig, path],
}
VERIFY = {
    "ssh-keygen": lambda key, path, sig, who: ["ssh-keygen", "-Y", "verify", "-f", key, "-I", who, "-n", PURPOSE, "-s", sig],
    "gpg": lambda key, path, sig, _who: ["gpg", "--batch", "--status-fd", "1", "--verify", sig, path],
    "openssl": lambda key, path, sig, _who: ["openssl", "dgst", "-sha256", "-verify", key, "-signature", sig, path],
}
TOOLS = tuple(SIGN)


def _run(argv, content=None):
    """What the tool printed. RunError where it is missing, fails or does not end."""
    try:
        done = subprocess.run(argv, input=content or b"", capture_output=True, timeout=TIMEOUT, check=False)
    except FileNotFoundError:
        raise RunError("signing: %s is not installed on the controller" % argv[0]) from None
    except subprocess.TimeoutExpired:
        raise RunError("signing: %s did not end within %d seconds" % (argv[0], TIMEOUT)) from None
    said = b" ".join((done.stderr, done.stdout)).decode("utf-8", "replace")
    if done.returncode:
        raise RunError("signing: %s ended with %d: %s" % (argv[0], done.returncode, " ".join(said.split())[-300:]))
    return done.stdout.decode("utf-8", "replace")


def sign(run_path, judgement, tool, key):
    """Sign the list with the site's key; the path of the signature."""
    path = run_path / "judgements" / str(judgement) / LIST
    target = path.with_name(SIGNATURE)
    with contextlib.suppress(FileNotFoundError):
        target.unlink()  # ssh-keygen asks before it overwrites
    _run(SIGN[tool](str(key), str(path), str(target), None))
    if not target.is_file():
        raise RunError("signing: %s wrote no %s" % (tool, target))
    return target


def verify(run_path, judgement, tool, key, signer):
    """Whether the list is signed by the key; RunError says why not. key: allowed signers (ssh-keygen), fingerprint (gpg) or public key (openssl)."""
    path = run_path / "judgements" / str(judgement) / LIST
    signature = path.with_name(SIGNATURE)
    if not signature.is_file():
        raise RunError("%s: the list is not signed" % signature)
    said = _run(VERIFY[tool](str(key), str(path), str(signature), signer), Path(path).read_bytes())
    if tool == "gpg":
        wanted = re.sub(r"\s|^0x", "", str(key)).upper()
        valid = [line.split() for line in said.splitlines() if line.startswith("[GNUPG:] VALIDSIG ")]
        if len(wanted) < 16 or not any(wanted in (words[2][-len(wanted) :], words[-1][-len(wanted) :]) for words in valid):
            raise RunError("%s: not signed by %s" % (signature, key))
