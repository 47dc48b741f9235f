# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""container-share of Huawei Ascend, through npu-smi.

Words and questions are those of the tool's published source (show_ascend_chip_device_share_info, set_chip_share, set_card_share, print_result): it asks
Y or N on standard input before it switches on, on an Atlas A3 also before it switches off; "not supported" ends with exit 0 when read. On an Atlas A3 the
switch is the card's. Outputs that others recorded agree; not seen on hardware by us.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.devices import label
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.switches import ABSENT, FAILED, OFF, ON, Unit
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import npu_smi_words
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import known

MANUFACTURER, CAPABILITY, NAME, STDIN = "ascend", "container-share", "container sharing", "Y\n"
NONE_ON_950 = "this generation (DCMI V2) has no such flag"
_SECONDS = 10
_SET = re.compile(r"^\s*Status\s*:\s*(\S+)", re.MULTILINE)
_MESSAGE = re.compile(r"^Operation not permitted.*|^\s*Message\s*:\s*\S.*", re.MULTILINE)
_SHARE = "Device-share Status"


def units(devices):
    """One per die; a card with one chip is its own die."""
    parents = {str(device.get("parent")) for device in devices}
    found = []
    for device in devices:
        if device.get("kind") not in ("package", "die") or str(device.get("id")) in parents:
            continue
        extra = device.get("extra") if isinstance(device.get("extra"), dict) else {}
        npu, chip = (extra.get(key) for key in ("npu_id", "chip_id"))
        good = all(isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 10**7 for number in (npu, chip))
        problem = "" if good else "the card and chip number that npu-smi is asked by are not known"
        place = {"npu": npu, "chip": chip, "family": known(extra.get("family"))}
        found.append(Unit(label(device), "%s-%s-%s" % (MANUFACTURER, npu, chip) if good else "", str(npu), place, problem))
    return found


def argv(unit, on):
    return ["npu-smi", "set", "-t", "device-share", "-i", str(unit.place["npu"]), "-c", str(unit.place["chip"]), "-d", "1" if on else "0"]


def _refusal(text):
    """What the tool says instead of what it was asked for."""
    words, no_such_thing = npu_smi_words.trouble(text)
    if no_such_thing and not words.startswith(("In the vNPU scenario", "The vnpu")):
        return ABSENT, words
    return FAILED, words


def read(host, wanted, sources, again=False):
    """One call a card, which prints every chip of it; again, for what was asked: of each chip, so that a recording tells the two apart."""
    found = {unit.key: (ABSENT, NONE_ON_950) for unit in wanted if unit.place["family"] == "950"}
    asked = {}
    for unit in wanted:
        if unit.key in found:
            continue
        chip = ("-c", str(unit.place["chip"])) if again else ()
        question = ("npu-smi", "info", "-t", "device-share", "-i", str(unit.place["npu"]), *chip)
        answer = asked[question] = asked[question] if question in asked else _ask(host, question, sources)
        found[unit.key] = _reading(answer, unit.place["chip"], again)
    return found


def _ask(host, question, sources):
    for _attempt in (1, 2):
        answer = host.run(question, timeout=_SECONDS)
        sources.append(build.source(answer, " ".join(question)))
        if npu_smi_words.code_of(answer.stdout + answer.stderr) not in (-8012, -8020):
            break
    return answer


def _reading(answer, chip, alone):
    if answer.status != answers.OK:
        return FAILED, answer.reason
    blocks = [block for block in npu_smi_words.parse_blocks(answer.stdout) if _SHARE in block]
    own = [block for block in blocks if npu_smi_words.identifier(block.get("Chip ID")) == chip]
    own = own or (blocks if len(blocks) == 1 and (alone or "Chip ID" not in blocks[0]) else [])
    if len(own) != 1:
        return (FAILED, "npu-smi info -t device-share: no status of chip %s" % chip) if blocks else _refusal(answer.stdout + "\n" + answer.stderr)
    word = own[0][_SHARE]
    return {"true": (ON, ""), "false": (OFF, "")}.get(word.lower(), (FAILED, "%s: %r" % (_SHARE, word[:40])))


def refused(command):
    """None when it was accepted: exit 0 and `Status : OK`."""
    if command.status != answers.OK:
        return FAILED, command.reason
    said = _SET.findall(command.stdout)
    if command.rc == 0 and said and said[-1].upper() == "OK":
        return None
    text = command.stdout + "\n" + command.stderr
    message = _MESSAGE.search(text)
    state, words = _refusal(text)
    if state != ABSENT and message:
        words = message.group().split(":", 1)[-1].strip()[:200]
    return state, "%s: exit %s: %s" % (command.subject, command.rc, words)
