# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an acceptance record says of the software around the accelerators: container runtime, kubelet, adapters."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

_SETTINGS = (("cgroup_driver", "cgroup driver"), ("cpu_manager_policy", "CPU manager"), ("topology_manager_policy", "topology manager"))
_MOST = 16


def _told(make):
    """make(view) or the fact that says why there is nothing to say."""

    def fact(view):
        try:
            return make(view)
        except NoAnswer as no:
            return {no.outcome: no.reason}

    return fact


@_told
def container_runtime(view):
    section = view.section("container_runtime")
    shown = []
    for engine in section.objects("engines"):
        if engine.maybe("flag", "running"):
            words = [engine.maybe("text", "id") or "?", engine.maybe("text", "version") or "of a version that is not known"]
            handler, driver = engine.maybe("text", "default_handler"), engine.maybe("text", "cgroup_driver")
            words += ["handler %s" % handler] if handler else []
            words += ["cgroup driver %s" % driver] if driver else []
            shown.append(", ".join([" ".join(words[:2]), *words[2:]]))
    if shown:
        return clean("; ".join(shown[:_MOST]))
    unsure = section.texts("unsure") if section.data.get("unsure") else []
    if unsure:
        raise NoAnswer("unknown", unsure[0])
    raise NoAnswer("not_applicable", "no container engine runs")


@_told
def kubelet(view):
    section = view.section("kubelet")
    state = section.text("state")
    if state == "absent":
        raise NoAnswer("not_applicable", "no kubelet on this node")
    if state == "unknown":
        raise NoAnswer("unknown", section.maybe("text", "problem") or "whether a kubelet runs was not read")
    words = [state.replace("_", " ")]
    for key, name in _SETTINGS:
        value = section.maybe("text", "settings", key, "value")
        words += ["%s %s" % (name, value)] if value else []
    return clean(", ".join(words))


def _rails(view):
    rails = view.section("network_devices").facts("rails").data
    return [rails[name] for name in sorted(rails)[:64] if rails[name].__class__ is dict]


@_told
def nic_firmware(view):
    """{kind of adapter: its firmware}."""
    versions = {}
    for rail in _rails(view):
        kind = " ".join(text for text in (rail.get("driver"), rail.get("type")) if text.__class__ is str)
        said = rail.get("firmware")
        versions.setdefault(clean(kind or "adapter", 60), set()).add(clean(said, 60) if said.__class__ is str else "unknown")
    if not versions:
        raise NoAnswer("not_applicable", "no RDMA device")
    return {kind: ", ".join(sorted(found)) for kind, found in sorted(versions.items())}


@_told
def nic_driver(view):
    drivers = sorted({rail["driver"] for rail in _rails(view) if rail.get("driver").__class__ is str})
    if not drivers:
        raise NoAnswer("not_applicable", "no RDMA device")
    host = view.section("host")
    return clean(", ".join("%s %s" % (name, host.maybe("text", "modules", name, "version") or "of the kernel") for name in drivers[:_MOST]))
