# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section probes.<manufacturer>: what containers see that are given one accelerator, half of one, and the two halves of one."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable

CHECK = "this is check mode"
ROOT, OPERATOR_LOCK = "/var/lib/fleetproof/accelerator", "/var/lib/gpustack/operator/preflight/lock"  # host/hold.py


def answer(host, options):
    return {"probes.%s" % options.get("manufacturer"): collect(host, options)}


def collect(host, options, root=ROOT, operator_lock=OPERATOR_LOCK):
    """options of the module: manufacturer, what <manufacturer>_info found, image, pull, runtime, probe_seconds, slicing_library_root, check_mode."""
    manufacturer = options.get("manufacturer")
    section = {
        "manufacturer": manufacturer, "timestamp": utc(host.now()), "engine": not_applicable("no container was needed"), "image": not_applicable("none needed"),
        "checks": [], "touches": [], "would_start": [], "started": 0, "lock": {}, "writes": [], "changed": False, "note": "",
    }  # fmt: skip
    maker, devices, section["note"] = _detected(manufacturer, options)
    if section["note"]:
        return section
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.probing import Probing
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.rows import Simulated
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold

    machine = grants.Machine(host, devices, options.get("driver"), options.get("slicing_library_root"))
    accelerators = [Simulated(maker, machine, device) for device in maker.accelerators(devices)]
    if not accelerators:
        section["note"] = "none of this manufacturer was detected"
        return section
    hand = hold.hold(host, CHECK if options.get("check_mode") else "", root, operator_lock)
    probing = Probing(manufacturer, machine, accelerators, hand, options)
    section["engine"] = {key: probing.resolved.get(key) for key in ("cli", "socket", "namespace", "by", "reason")}
    image, why = probing.image(accelerators[0])
    section["image"] = image or not_applicable(why)
    section["touches"] = probing.touches(image)
    probing.take()
    try:
        probing.run()
    finally:
        hand.end()
    changed = bool(probing.started or (options.get("check_mode") and probing.emitted))
    withheld = probing.emitted if options.get("check_mode") else []  # else the rows have them
    section.update(checks=probing.rows, would_start=withheld, started=probing.started, changed=changed)
    section.update(hand.footprint())
    for entry in section["writes"]:
        entry["what"] = entry["what"].partition(" sh -c {")[0]  # the row has the whole of it
    return section


def statement(options):
    """What is about to be done, before anything is known of the node."""
    manufacturer, image = options.get("manufacturer"), options.get("image")
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.container_command import LABEL

    if options.get("recording"):
        return "probes of %s: a recording answers, nothing is started" % manufacturer
    if options.get("check_mode"):
        return "probes of %s: check mode, nothing is started or written; what would be is in the section probes.%s" % (manufacturer, manufacturer)
    return (
        "probes of %s: starts containers labeled %s, one with each accelerator and, where it can be sliced, one with half of it and two that share it; "
        "image %s, pull policy %s; each is unprivileged, has no network and is removed when it ends; files below %s go with the run; "
        "containers of that label that a killed run left are removed"
        % (manufacturer, LABEL, image or "the manufacturer's default", options.get("pull") or "missing", ROOT)
    )


def _detected(manufacturer, options):
    """(maker, devices, why nothing is probed, or "")."""
    devices, detection = options.get("devices"), options.get("detection")
    if not isinstance(devices, list):
        return None, [], "its accelerators could not be read, so nothing was started"
    if isinstance(detection, dict) and detection.get("state") == "unavailable":
        return None, [], "detection is unavailable, so nothing was started: %s" % (detection.get("reason") or "no reason given")
    # Here, because only a node with an accelerator needs it.
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section as allocation

    maker = allocation.maker_of(manufacturer)
    if maker is None:
        return None, [], "nothing is probed for this manufacturer"
    return maker, [allocation._tidy(device) for device in devices if isinstance(device, dict)], ""
