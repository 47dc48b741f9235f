# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about accelerators that running containers lost, or would lose with the next reload of systemd."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.container_runtime import engines, handlers
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import PASSED, expectation, found, not_applicable, rule, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import show

_SOURCE = "vendor document: NVIDIA Container Toolkit: containers losing access to GPUs"
_SHOWN = 4


def _some(words):
    return ", ".join(words[:_SHOWN]) + (" and %d more" % (len(words) - _SHOWN) if len(words) > _SHOWN else "")


@rule(
    id="runtime-devices-lost",
    layer=3,
    level="warn",
    title="No running container lost the accelerators it was given",
    reads=("container_runtime",),
    scope="node",
    remedy="Restart the containers: they hold device nodes that no driver serves, or that their cgroup refuses since the driver or systemd was reloaded.",
)
def runtime_devices_lost(view, p):
    containers = view.section("container_runtime").facts("containers")
    lost = containers.objects("lost")
    if lost:
        named = sorted({one.maybe("text", "container") or "?" for one in lost})
        seen = ["%s: %s is %s: %s" % tuple(one.maybe("text", key) or "?" for key in ("container", "device", "numbers", "reason")) for one in lost]
        summary = "%d of %d containers with accelerators lost them: %s" % (len(named), containers.number("with_devices"), _some(named))
        return found(summary, seen[:100], expectation("nodes of the loaded driver", origin=_SOURCE))
    unread = containers.texts("unread")
    return unknown(_some(unread)) if unread else PASSED


@rule(
    id="runtime-reload-cuts-devices",
    layer=3,
    level="info",
    title="A reload of systemd leaves containers their accelerators",
    reads=("container_runtime",),
    scope="node",
    remedy="Make the links at each boot (NVIDIA: nvidia-ctk system create-dev-char-symlinks --create-all by a rule of udev); systemd leaves cgroupfs alone.",
)
def runtime_reload_cuts_devices(view, p):
    containers = view.section("container_runtime").facts("containers")
    nodes = containers.texts("unlinked")
    if not nodes:
        return PASSED
    by_systemd = []
    for engine in engines(view):
        by_systemd += [name for name, handler in handlers(engine).items() if handler.maybe("word", "cgroup_driver") == "systemd"]
    if not by_systemd:
        return not_applicable("no handler leaves its cgroups to systemd")
    summary = "systemctl daemon-reload takes %s from running containers: no link in /dev/char leads to them" % _some([show(node, 80) for node in nodes])
    return found(summary, nodes[:100], expectation("a link for each", origin=_SOURCE))
