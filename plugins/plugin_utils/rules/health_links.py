# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the links between devices beyond up and down: number, speed, errors, and what the fabric says of a device."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import nvidia_daemons, products, told
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)

_DEVICES = ("accelerators",)
# Counted by design on healthy links of NVLink 5: forward error correction repairs them.
_CORRECTED = ("symbol_errors", "effective_errors")


@rule(
    id="link-errors",
    layer=1,
    level="warn",
    title="No errors are counted on the links between devices",
    reads=_DEVICES,
    scope="device",
    remedy="Clear the counters and run traffic; where they grow, check the cable, the switch tray or the baseboard on that side.",
    parameters={
        "most": Parameter("int", 10, "errors", "suite: gcm of Meta: more than 10 CRC errors"),
        "most_recoveries": Parameter("int", 0, "recoveries", "our choice: a link that recovered was down"),
    },
    follows=("links-up", "device-lost", "fabric-health", "kernel-nvswitch-errors"),
)
def link_errors(device, p):
    links = device.data.get("links")
    if links.__class__ is dict and links.get("up") == 0:
        return not_applicable("no link is up")
    errors = told.numbers(device, "links", "errors")
    for name, count in sorted(errors.items()):
        if name in _CORRECTED:
            continue
        recovery = "recovery" in name or name == "xgmi_errors"
        if count > (p.most_recoveries if recovery else p.most):
            limit = p.expected("most_recoveries" if recovery else "most")
            return found("%d %s on its links" % (count, name.replace("_", " ")[:40]), count, limit)
    return PASSED


@rule(
    id="product-links",
    layer=1,
    level="fail",
    title="The device has the links of its product",
    reads=_DEVICES,
    scope="device",
    remedy="A link that the device does not even count was switched off in firmware or failed at its training: reset all devices, then have it replaced.",
    parameters={"least": Parameter("int", None, "links", "the product catalogue of this collection")},
    follows=("links-up", "device-lost", "fabric-state", "nvlink-switched-off", "kernel-nvswitch-errors"),
)
def product_links(device, p):
    total = device.number("links", "total")
    least, source = (p.least, None) if p.least is not None else products.expected(device, "links")
    if total >= least:
        return PASSED
    if source is not None and device.maybe("text", "links", "kind") in ("xgmi", "hccs", "ub") and total == len(device.group.packages) - 1:
        # The tool counts neighbors, and a node with fewer cards has fewer of them.
        return PASSED
    return found("The device counts %d links" % total, total, p.expected("least") if source is None else expectation(least, "links", source))


@rule(
    id="link-speed",
    layer=1,
    level="warn",
    title="The links between devices run at the product's speed",
    reads=_DEVICES,
    scope="device",
    remedy="Reset all devices of the node together; a link that trains slow again has a bad lane: check baseboard, cable or switch tray.",
    parameters={
        "lowest_gb_s": Parameter("number", None, "GB/s", "the product catalogue of this collection, else the fastest of equal neighbors"),
        "tolerance_percent": Parameter("number", 2, "%", "our choice: tools round differently"),
    },
    follows=("links-up", "device-lost", "hccs-health"),
)
def link_speed(device, p):
    speed = told.part(device, "links", "speed_gb_s")
    if speed.__class__ not in (int, float):
        speed = device.number("links", "speed_gb_s")
    source, lowest = None, p.lowest_gb_s
    if lowest is None:
        try:
            lowest, source = products.expected(device, "link_gb_s")
        except NoAnswer:
            others = [d.data["links"].get("speed_gb_s") for d in device.siblings if d.data.get("links").__class__ is dict]
            others = [v for v in others if v.__class__ in (int, float)]
            if not others:
                raise
            lowest, source = max(others), "this node: equal devices"
    if speed >= lowest * (1 - p.tolerance_percent / 100.0):
        return PASSED
    limit = p.expected("lowest_gb_s") if source is None else expectation(lowest, "GB/s", source)
    return found("The slowest link runs at %g GB/s" % speed, speed, limit)


@rule(
    id="fabric-health",
    layer=1,
    level="fail",
    title="The fabric calls its connection to the device healthy",
    reads=_DEVICES,
    scope="device",
    remedy="Look at the fabric manager's view of this device (switch trays, partition, routes); reset the device when a recovery does not end by itself.",
    follows=("fabric-state", "fabric-manager", "links-up", "device-lost", "kernel-nvswitch-errors"),
)
def fabric_health(device, p):
    health = told.part(device, "fabric", "health")
    if health.__class__ is not dict:
        raise NoAnswer("unknown", "fabric.health: not an object")
    bad = []
    if health.get("bandwidth") == "degraded":
        bad.append("bandwidth degraded")
    bad += [key.replace("_", " ") for key in ("route_unhealthy", "route_recovery", "access_timeout_recovery") if health.get(key) is True]
    wrong = health.get("incorrect_configuration")
    if wrong.__class__ is str and wrong not in ("none", ""):
        bad.append("configuration: %s" % wrong.replace("_", " ")[:60])
    summary = health.get("summary")
    if not bad and summary.__class__ is str and summary != "healthy":
        bad.append(summary.replace("_", " ")[:60])
    if bad:
        # A recovery that is under way ends by itself or becomes an unhealthy route.
        level = "warn" if bad in (["route recovery"], ["access timeout recovery"]) else None
        return found(
            "The fabric says: %s" % ", ".join(bad), ", ".join(bad), expectation("healthy", origin="vendor document: NVML GPU fabric health"), level=level
        )
    if not any(value.__class__ in (str, bool) for value in health.values()):
        raise NoAnswer("unknown", "fabric.health: nothing understood")
    return PASSED


@rule(
    id="nvlink-switched-off",
    layer=1,
    level="fail",
    title="No module parameter switches the links off",
    reads=_DEVICES,
    scope="group",
    remedy="Take NVreg_NvLinkDisable out of the module's options (modprobe.d, kernel command line), rebuild the initramfs and reboot.",
)
def nvlink_switched_off(group, p):
    driver = group.data.get("driver")
    if driver.__class__ is not dict or "nvlink" not in driver:
        return not_applicable("no such parameter of the driver of %s" % group.manufacturer)
    said = group.text("driver", "nvlink")
    if said == "on":
        return PASSED
    if not any(products.has_links(d.manufacturer, d.name) for d in group.packages):
        return not_applicable("no device of the node is known to have links: %s" % said)
    return found("The driver was told to leave the links off: %s" % said[:80], said[:80], expectation("on", origin="vendor document: NVIDIA driver README"))


def _domain(device):
    """(cluster, clique) of a device in a fabric of several nodes; NoAnswer where it is in none."""
    cluster = device.text("fabric", "cluster_uuid")
    if not cluster.strip("0-"):
        raise NoAnswer("not_applicable", "not in a fabric of several nodes")
    clique = device.fact("fabric", "clique_id")
    return cluster, str(clique)[:20]


@rule(
    id="fabric-clique",
    layer=1,
    level="fail",
    title="The devices of a node are in one clique of one fabric",
    reads=_DEVICES,
    scope="group",
    remedy="Compare switch trays and fabric partitions: devices in different cliques do not reach each other's memory, though each calls its fabric complete.",
    follows=("fabric-state", "fabric-manager", "device-lost"),
)
def fabric_clique(group, p):
    read, reason = [], None
    for device in group.packages:
        try:
            read.append((device, _domain(device)))
        except NoAnswer as no:
            reason = told.graver(reason, no)
    if not read:
        raise reason or NoAnswer("not_applicable", "no device")
    usual = max({place for _d, place in read}, key=lambda place: (sum(1 for _d, other in read if other == place), place))
    odd = [
        found(
            "Its clique is %s of fabric %s" % (clique, cluster), clique, expectation("%s of %s" % (usual[1], usual[0]), "", "this node"), subject=(d.kind, d.id)
        )
        for d, (cluster, clique) in read
        if (cluster, clique) != usual
    ]
    if odd:
        return odd
    if reason is not None and reason.outcome == "unknown":
        raise reason
    return PASSED


@rule(
    id="imex-service",
    layer=1,
    level="info",
    title="The memory exchange service runs, where the memory domain spans nodes",
    reads=("host", "accelerators"),
    scope="node",
    remedy="Start nvidia-imex in the driver's version on all nodes of the domain, unless an operator starts it in pods: without it no node shares memory.",
    follows=("service-versions",),
)
def imex_service(view, p):
    group = view.group("nvidia")
    if group is None or not group.packages:
        return not_applicable("no NVIDIA device")
    reason = None
    for device in group.packages:
        product = products.of(device)
        if product is not None and product.facts.get("imex") == "none":
            continue
        try:
            _domain(device)
            break
        except NoAnswer as no:
            # A part that is only built into racks of one domain is in one, also when the driver does not tell which.
            if no.outcome == "unknown" and product is not None and (product.facts.get("imex"), product.facts.get("fabric_manager")) == ("domain", "trays"):
                break
            reason = told.graver(reason, no)
    else:
        # One node of switches is no domain: the service is down there on purpose.
        if reason is not None and reason.outcome == "unknown":
            raise reason
        return not_applicable("no device is in a memory domain of several nodes")
    seen = nvidia_daemons.running(view, "nvidia-imex")
    if seen:
        return PASSED  # as a unit or in a container, as of a compute domain
    service = view.section("host").facts("services", "nvidia-imex")
    active = service.word("active")
    if active in ("active", "reloading", "activating") and not nvidia_daemons.ended(service):
        return PASSED
    if seen is None:
        return unknown("no unit of nvidia-imex is active, and whether a container runs it is not known")
    state = "not installed" if service.maybe("word", "load") == "not_found" else active
    # Operators start it in pods when a job spans nodes; a service that failed was meant to run here.
    level = "warn" if active == "failed" else None
    return found("nvidia-imex is %s" % state, state, expectation("active", origin="vendor document: NVIDIA IMEX Service User Guide"), level=level)


@rule(
    id="cohort-fabric",
    layer=1,
    level="info",
    title="Same fabric and clique",
    reads=_DEVICES,
    scope="cohort",
    remedy="Expected where a cohort spans racks. Within one: compare switch trays and partitions; across cliques the network is used instead of NVLink.",
    follows=("fabric-clique", "fabric-state", "fabric-manager", "device-lost"),
)
def cohort_fabric(view, p):
    places = set()
    reason = None
    for device in view.packages:
        try:
            places.add("%s clique %s" % _domain(device))
        except NoAnswer as no:
            reason = no
    if not places:
        raise reason or NoAnswer("not_applicable", "no device")
    return ", ".join(sorted(places))
