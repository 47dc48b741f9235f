# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a driver whether it would share or slice a device: switched on where it is off, and off again at once. The section slicing.<manufacturer>.

What was read on stays on and is not touched. Nothing is written past a read that failed: what follows is always off, and that could switch off a mode
that serves a container.
"""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.row import NOT_DECLARED, OK, UNAVAILABLE, row
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.switches import ABSENT, FAILED, OFF, ON, left_on
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.effects import ASKED, NOT_ASKED, effects
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.notes import DIRECTORY, left_over, notes
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc

STATE = {ABSENT: NOT_DECLARED, FAILED: UNAVAILABLE}
WITHHELD = "asking is a write, and accelerator_allow_driver_writes is not set"
CHECK = "asking is a write, and this is check mode"
ROOT, OPERATOR_LOCK = "/var/lib/fleetproof/accelerator", "/var/lib/gpustack/operator/preflight/lock"  # host/hold.py


class _Asking:
    def __init__(self, host, driver, hand, directory):
        self.host, self.driver, self.hand, self.directory = host, driver, hand, directory
        self.rows, self.left_on, self.asked, self.sources = [], [], [], []
        self.halt = ""  # why no further one is asked

    def row(self, unit, state, detail="", reason="", command="", evidence=""):
        self.rows.append(row(unit.accelerator, self.driver.CAPABILITY, SLICED, state, detail=detail, reason=reason, command=command, evidence=evidence))

    def command(self, unit, on):
        return " ".join(self.driver.argv(unit, on))

    def left(self, unit, detail, reason, since, evidence=""):
        """A mode that is on and should not be: as loud as it gets."""
        remedy, path = self.command(unit, False), "%s/%s" % (self.directory, unit.key)
        self.row(unit, UNAVAILABLE, detail, reason, remedy, evidence or reason)
        self.left_on.append(
            {
                "accelerator": unit.accelerator, "capability": self.driver.CAPABILITY, "name": self.driver.NAME, "since": since, "detail": detail,
                "reason": reason, "command": remedy, "path": path,
            }
        )  # fmt: skip

    def found(self, unit, reading, note, contended):
        """The row of a unit that is not asked, True when it is off and can be."""
        state, reason = reading
        name = self.driver.NAME
        told = left_on(self.driver, state, reason, note)
        if told:
            self.left(unit, *told, note["asked"])
        elif state == ON and contended:
            self.row(unit, UNAVAILABLE, "", "%s is on while %s: it may be off again in a moment" % (name, contended))
        elif state == ON:
            self.row(unit, OK, "%s is on" % name, evidence=reason)
        elif state in STATE:
            self.row(unit, STATE[state], "", reason)
        return state == OFF

    def not_asked(self, unit, why):
        self.row(unit, OK, "off, not asked: %s" % why, command=self.command(unit, True))

    def ask(self, unit):
        driver, now = self.driver, utc(self.host.now())
        on, off = driver.argv(unit, True), driver.argv(unit, False)
        note = {"accelerator": unit.accelerator, "capability": driver.CAPABILITY, "asked": str(now), "off": " ".join(off)}
        said = self.hand.switch(unit.key, note, on, off, lambda command: (driver.refused(command) or ("", ""))[1], driver.STDIN)
        if said.status == NOT_ASKED:
            return self.not_asked(unit, said.reason)
        self.asked.append(unit.accelerator)
        first = driver.refused(said.on) if said.status == ASKED else (FAILED, said.reason)
        last = driver.refused(said.off[-1]) if said.off else None
        state, reason = driver.read(self.host, [unit], self.sources, True)[unit.key]
        told = " | ".join(" ".join((command.stdout + " " + command.stderr).split())[:200] for command in (said.on, *said.off) if command is not None)
        if state == ON or (state != OFF and (last or said.status != ASKED)):
            why = last[1] if last else first[1] if first else "%s reads on after it was put back" % driver.NAME
            if state != ON:
                why = "%s; whether it is on could not be read: %s" % (why, reason)
            self.halt = "%s of %s could not be put back" % (driver.NAME, unit.accelerator)
            self.left(unit, "the driver accepted on but could not be put back: the card is left ON", why, str(now), told)
            self.hand.keep(unit.key, dict(note, failed=why[:300]))
        elif said.status != ASKED:
            self.halt = said.reason
            self.row(unit, UNAVAILABLE, "it reads off", said.reason, evidence=reason)
        elif first:
            self.hand.forget(unit.key)
            self.row(unit, STATE[first[0]], "off; the driver did not accept on", first[1], evidence=told)
        else:
            self.hand.forget(unit.key)
            again = "; putting it back said: %s, and it reads off" % last[1] if last else ""
            both = "%s && %s" % (" ".join(on), " ".join(off))
            self.row(unit, OK, "was off, the driver accepted on, put back%s" % again, command=both, evidence=told or "exit 0")
        return None


def answer(host, driver, options):
    return {"slicing.%s" % driver.MANUFACTURER: collect(host, driver, options, root=ROOT, operator_lock=OPERATOR_LOCK)}


def collect(host, driver, options, directory=DIRECTORY, root="", operator_lock=""):
    """options of the module: devices and detection as <manufacturer>_info found them, allow_driver_writes, check_mode."""
    section = {
        "manufacturer": driver.MANUFACTURER, "timestamp": utc(host.now()), "checks": [], "asked": [], "would_ask": [], "left_on": [], "changed": False,
        "note": "", "sources": [],
    }  # fmt: skip
    left, trouble = notes(host, driver.MANUFACTURER, directory)
    devices = [d for d in options.get("devices") or () if isinstance(d, dict)]
    detection = options.get("detection")
    state = detection.get("state") if isinstance(detection, dict) else "unavailable" if not devices else "ok"
    units = driver.units(devices)
    told = [trouble] if trouble else []
    if state == "unavailable" or not units:
        told.append("no driver was asked: %s" % ("the accelerators were not detected" if state == "unavailable" else "there is no accelerator"))
        units = []
    withheld = CHECK if options.get("check_mode") else "" if options.get("allow_driver_writes") else WITHHELD
    hand = effects(host, withheld, directory, root, operator_lock)
    asking = _Asking(host, driver, hand, directory)
    _ask_all(asking, units, left, hand.withheld)
    told += ["note without its card: %s" % note["path"] for key, note in left.items() if key not in {unit.key for unit in units}]
    section.update(checks=asking.rows, asked=asking.asked, would_ask=hand.intended, left_on=asking.left_on, note="; ".join(told), sources=asking.sources)
    section["left_over"] = left_over(host, driver.MANUFACTURER, directory)
    section["changed"] = bool(asking.asked or (hand.intended and withheld == CHECK and options.get("allow_driver_writes")))
    return section


def _ask_all(asking, units, left, withheld):
    driver, hand = asking.driver, asking.hand
    contended = "" if withheld or not units else hand.begin()
    try:
        able = [unit for unit in units if not unit.problem]
        readings = driver.read(asking.host, able, asking.sources) if able else {}
        for unit in units:
            if unit.problem:
                asking.row(unit, UNAVAILABLE, "", unit.problem)
                continue
            note = left.get(unit.key)
            if not asking.found(unit, readings[unit.key], note, contended):
                continue
            others = [other for other in able if other.card == unit.card and readings[other.key][0] != OFF]
            if contended or asking.halt or others:
                asking.not_asked(unit, contended or asking.halt or "%s of the same card is not off, and may have the same switch" % others[0].accelerator)
                continue
            if note and not withheld:
                hand.forget(unit.key)  # somebody put it back
            asking.ask(unit)
    finally:
        hand.end()
