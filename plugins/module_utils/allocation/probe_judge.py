# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the output of probe containers shows. Pure; only what was seen is called measured."""

from __future__ import annotations

import re
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_script as script
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.container_command import REFUSED
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.row import MEASURED, OK, SIMULATED, UNAVAILABLE
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers

KEPT = 4000  # characters of a container's output that a row keeps
NOT_STARTED = "it could not be started"  # plugin_utils/rules/rows.py knows these words
RECORD = "Vgpu device:"
_NUMBER = re.compile(r"[0-9]+")
# Of a container that could not be made a client may also tell by 126 or 127, which a dying process may end with as well: then its own words decide.
_WORDS = {"docker": "docker: Error response from daemon:", "podman": "Error: "}
_NEVER = (answers.ABSENT, answers.DENIED, answers.IO_ERROR, answers.NOT_RECORDED)


class Ran(NamedTuple):
    """started: whether a process ran under the grant. trouble: why it did not start, or how it ended when not well."""

    started: bool
    trouble: str
    output: str


class Verdict(NamedTuple):
    state: str
    depth: str
    detail: str
    reason: str = ""


def ran(command, cli, begins):
    """begins: the line that its script prints first; an engine's refusal is known by the exit status of its client."""
    text = _apart(command.stdout)
    began = begins in text.splitlines()
    if command.status == answers.TIMEOUT:
        return Ran(began, "it had not ended after %d s and was ended" % round(command.seconds), text)
    if command.status == answers.OVERFLOW:
        return Ran(True, "it printed more than is kept and was ended", text)
    if command.status in _NEVER or (not began and command.status == answers.OK and _refused(command, cli)):
        return Ran(False, _said(command), text)
    if command.status != answers.OK:
        return Ran(began, _said(command), text)
    return Ran(True, "exit %s" % command.rc if command.rc else "", text)


def _apart(text):
    """Each mark on a line of its own, whatever a library printed before it without ending its line."""
    for mark in script.MARKS:
        text = text.replace(mark, "\n%s" % mark) if mark in text else text
    return text


def _refused(command, cli):
    if command.rc in (126, 127):
        return any(line.startswith(_WORDS.get(cli, "\0")) for line in command.stderr.splitlines())
    return command.rc == REFUSED.get(cli)


def _said(command):
    """The client's own word for why, without the command itself, which is long."""
    if command.status != answers.OK:
        return "%s%s" % (command.status, command.detail and " (%s)" % command.detail[:200])
    lines = [line.strip() for line in command.stderr.splitlines() if line.strip() and not line.startswith(("See '", "Run '"))]
    return "exit %s%s" % (command.rc, ": %s" % lines[-1][:300] if lines else "")


def _shorter(lines, reader):
    """The maps with one line for each file; with reader, what comes after the maps."""
    if script.MAPS not in lines or script.MAPPED not in lines[lines.index(script.MAPS) :]:
        return lines
    first = lines.index(script.MAPS)
    last = lines.index(script.MAPPED, first)
    if reader:
        return lines[last:]
    kept = {}
    for line in lines[first + 1 : last]:
        fields = line.split(None, 5)
        if len(fields) != 6 or not fields[5].startswith("["):
            kept.setdefault(fields[5] if len(fields) == 6 else line if len(fields) != 5 else "", line)
    kept.pop("", None)
    return [*lines[: first + 1], *kept.values(), *lines[last:]]


def evidence(command, reader=False):
    """What a container printed and what its client said, bounded: its beginning and its end. reader: what its reader saw is enough."""
    told = "\n".join(_shorter(_apart(command.stdout).strip("\n").splitlines(), reader))
    said = command.stderr.strip()
    text = "%s%s%s" % (told, "\n" if told and said else "", said and "stderr: " + said)
    text = text or ("no output, exit %s" % command.rc if command.rc is not None else "no output, %s" % command.status)
    if len(text) <= KEPT:
        return text
    return "%s\n… %d characters left out …\n%s" % (text[: KEPT // 2], len(text) - KEPT // 2 * 2, text[-(KEPT // 2) :])


def sections(output):
    """(lines of the maps, lines of the reader): both empty unless both marks are there."""
    lines = output.splitlines()
    if script.MAPS not in lines or script.MAPPED not in lines[lines.index(script.MAPS) :]:
        return [], []
    first = lines.index(script.MAPS)
    last = lines.index(script.MAPPED, first)
    # What a preloaded library says whenever it is loaded it said before the reader began: that is not the reader's word.
    noise = {_shape(line) for line in lines[:last] if _shape(line).strip("# ")}
    return lines[first + 1 : last], [line for line in lines[last + 1 :] if _shape(line) not in noise]


def _shape(line):
    """A line without its numbers: times and process ids differ from one start to the next."""
    return _NUMBER.sub("#", line)


def _holds(lines, number):
    """Whether a whole number stands in one of these lines."""
    for line in lines:
        at = line.find(number)
        while at >= 0:
            around = line[at - 1 : at] + line[at + len(number) : at + len(number) + 1]
            if not any(c.isdigit() for c in around):
                return True
            at = line.find(number, at + 1)
    return False


def libraries(grant):
    return [mounted["target"] for mounted in grant["mounts"] if mounted["target"].rpartition("/")[2].endswith(".so")]


def loaded(grant, found, record=False):
    """sliced-runtime-loaded. record: the evidence is the driver's record of a slice, for no library is preloaded."""
    if not found.started:
        return _unstarted(found)
    maps, reader = sections(found.output)
    if record:
        return _recorded(found, reader)
    wanted = libraries(grant)
    if not wanted:
        return Verdict(UNAVAILABLE, MEASURED, "", "the grant mounts no library that a process could load")
    mapped = {fields[5].rstrip() for fields in (line.split(None, 5) for line in maps) if len(fields) == 6}
    missing = [path for path in wanted if path not in mapped]
    if missing:
        return Verdict(UNAVAILABLE, MEASURED, "", "not mapped in the container: %s%s" % (", ".join(missing), found.trouble and "; " + found.trouble))
    if found.trouble:
        return Verdict(UNAVAILABLE, MEASURED, "", "loaded, then the container died under it: %s" % found.trouble)
    return Verdict(OK, MEASURED, "mapped in the container: %s" % ", ".join(wanted))


def _recorded(found, reader):
    if any(RECORD in line for line in reader):
        if found.trouble:
            return Verdict(UNAVAILABLE, MEASURED, "", "the driver recorded a slice, then the container died: %s" % found.trouble)
        return Verdict(OK, MEASURED, "the driver recorded a slice for the process in the container")
    client = [line for line in reader if line.startswith(script.CLIENT_EXIT) and line != script.CLIENT_EXIT + "0"]
    if found.trouble:
        return Verdict(UNAVAILABLE, MEASURED, "", "the driver recorded no slice, and the container ended badly: %s" % found.trouble)
    if client:
        return Verdict(
            UNAVAILABLE,
            MEASURED,
            "",
            "the vendor's client did not run in this image (exit %s), so the driver had no slice to record" % client[0][len(script.CLIENT_EXIT) :],
        )
    return Verdict(UNAVAILABLE, MEASURED, "", "the driver recorded no slice for the process in the container")


def quota(cap, found, record=False):
    """sliced-quota-in-force. cap: (number as text, what carries none)."""
    if not found.started:
        return _unstarted(found)
    if found.trouble:
        return Verdict(UNAVAILABLE, MEASURED, "", "the container did not end well: %s" % found.trouble)
    reader = sections(found.output)[1]
    if record and not any(RECORD in line for line in reader):
        return Verdict(OK, SIMULATED, "applied, not observed: the driver recorded no slice")
    number, why = cap
    if not number:
        return Verdict(UNAVAILABLE, MEASURED, "", "no cap in the grant: %s" % why)
    if not _holds(reader, number):
        return Verdict(OK, SIMULATED, "applied, not observed: the reader in the container does not report %s" % number)
    return Verdict(OK, MEASURED, "the reader in the container reports %s, the cap of the grant" % number)


def _unstarted(found):
    return Verdict(OK, SIMULATED, "%s: %s" % (NOT_STARTED, found.trouble))


def together(caps, pair, record=False):
    """co-tenancy. caps and pair: of the first and the second tenant."""
    idle = ["tenant %d: %s" % (number, one.trouble) for number, one in enumerate(pair, 1) if not one.started]
    if idle:
        return Verdict(OK, SIMULATED, "%s together: %s" % (NOT_STARTED, "; ".join(idle)))
    died = ["tenant %d: %s" % (number, one.trouble) for number, one in enumerate(pair, 1) if one.trouble]
    if died:
        return Verdict(UNAVAILABLE, MEASURED, "", "; ".join(died))
    if not all(script.MET in one.output.splitlines() for one in pair):
        return Verdict(OK, SIMULATED, "both ran, and did not meet: whether they share the card at one time was not seen")
    readers = [sections(one.output)[1] for one in pair]
    if record:
        records = [[line for line in reader if line.strip()] for reader in readers]
        if not all(any(RECORD in line for line in lines) for lines in records):
            return Verdict(OK, SIMULATED, "both ran together, and the driver did not record a slice for each")
        if records[0] == records[1]:
            return Verdict(OK, SIMULATED, "both tell of the same record of the driver: one slice seen twice")
    for number, (cap, why) in enumerate(caps, 1):
        if not cap:
            return Verdict(UNAVAILABLE, MEASURED, "", "tenant %d has no cap in its grant: %s" % (number, why))
    unseen = [number for number, ((cap, _why), reader) in enumerate(zip(caps, readers), 1) if not _holds(reader, cap)]
    if unseen:
        told = " and ".join("tenant %d" % number for number in unseen)
        return Verdict(OK, SIMULATED, "both ran together; applied, not observed: %s did not report the cap" % told)
    return Verdict(OK, MEASURED, "two slices ran together, reporting %s and %s" % (caps[0][0], caps[1][0]))


def device(found, wanted, own, alien, names=None):
    """container-device. wanted: nodes that must be there; own: of those, what is the accelerator's alone.

    alien(node): whether it is another accelerator's. names: the ids that the vendor's tool must list, None where it lists none.
    """
    if not found.started:
        return _unstarted(found)
    lines = found.output.splitlines()
    if not all(mark in lines for mark in (script.NODES, script.LISTED, script.ENDED)):
        return Verdict(UNAVAILABLE, MEASURED, "", "the container did not tell what is in it: %s" % (found.trouble or "its output is cut off"))
    first, last, end = (lines.index(mark) for mark in (script.NODES, script.LISTED, script.ENDED))
    nodes = {line for line in lines[first + 1 : last] if line.startswith("/dev/")}
    listed = lines[last + 1 : end]
    wrong = ["%s is not in it" % node for node in sorted(wanted) if node not in nodes]
    wrong += ["%s of another accelerator is in it" % node for node in sorted(nodes) if alien(node)]
    note = ""
    if names is not None:
        seen = [line.split("(UUID: ")[1].split(")")[0] for line in listed if "(UUID: GPU-" in line]
        failed = next((line[len(script.READER_EXIT) :] for line in listed if line.startswith(script.READER_EXIT)), "")
        told = next((line.strip()[:120] for line in listed if line.strip() and not line.startswith(script.READER_EXIT)), "nothing")
        if failed in ("126", "127"):  # it is not in this image, or not for it: the nodes are left
            names, note = None, "; the vendor's tool did not run in it (exit %s: %s)" % (failed, told)
        elif failed and not seen:
            wrong.append("the vendor's tool lists nothing (exit %s: %s)" % (failed, told))
        elif sorted(seen) != sorted(names):
            wrong.append("the vendor's tool lists %s, granted is %s" % (", ".join(seen) or "nothing", ", ".join(names)))
    if found.trouble:
        wrong.append(found.trouble)
    if wrong:
        return Verdict(UNAVAILABLE, MEASURED, "", "; ".join(wrong))
    if not own and not names:
        return Verdict(OK, SIMULATED, "it ran, and nothing in it tells which accelerator is its own" + note)
    return Verdict(OK, MEASURED, "sees %s and no other accelerator%s" % (", ".join([*sorted(own), *(names or [])]), note))
