# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the way to the accelerators: what the session that reads the node may open, and the node of the driver that CUDA needs beside the cards'."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.detection import denied
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)


@rule(
    id="device-access",
    layer=1,
    level="warn",
    title="The session that reads the node may open the accelerators' device nodes",
    reads=(),
    scope="node",
    remedy="Read it as root in a session without device rules (cgroup, pam_slurm_adopt, DevicePolicy of the user's slice): the cards are hidden, not gone.",
)
def device_access(view, p):
    outcomes = []
    for group in view.groups:
        subject, name = ("manufacturer", group.manufacturer), "allocation.%s" % group.manufacturer
        if group.state != "unavailable":
            outcomes.append(passed(subject) if group.packages else not_applicable("no accelerator was read", subject))
        elif view.missing(name):
            outcomes.append(unknown(view.missing(name), subject))
        elif "denied_nodes" not in view.section(name).data:
            outcomes.append(not_applicable("%s: its device nodes are not looked at" % group.manufacturer, subject))
        else:
            view.section(name).fact("denied_nodes")  # NoAnswer where it is not known
            paths = denied(group)
            text = "This session may not open %s" % ", ".join(paths[:8])
            outcomes.append(found(text, len(paths), expectation(0, "device nodes", "this node"), subject=subject) if paths else passed(subject))
    return outcomes or not_applicable("no accelerator was read")


@rule(
    id="unified-memory",
    layer=1,
    level="warn",
    title="The device node that CUDA needs beside those of the cards is there",
    reads=("accelerators",),
    scope="group",
    remedy="Make it (nvidia-modprobe -u -c 0), or start nvidia-persistenced and the container toolkit at boot so that it is: no CUDA program starts without.",
)
def unified_memory(group, p):
    if group.manufacturer != "nvidia":
        return not_applicable("only NVIDIA's driver has it")
    said = group.text("driver", "unified_memory")
    if said == "ready":
        return PASSED
    settings = group.view.section("settings")
    loaded = "nvidia_uvm" in settings.texts("modules", "loaded")
    # The first CUDA program of root loads the module and makes the node; once it is loaded nothing but nvidia-modprobe makes it.
    text = "nvidia_uvm is loaded, and there is %s" % said if loaded else "nvidia_uvm is not loaded yet: %s" % said
    return found(text, said, expectation("/dev/nvidia-uvm", origin="vendor document: NVIDIA driver README, nvidia-modprobe"), level=None if loaded else "info")
