# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing where the vendor's own count is greater than what was detected: access, not hardware. Lists: gpustack-operator's cross-check."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT

# A plain path is looked for; a sentence cannot be, and always stays.
REMEDIES = {
    "nvidia": ("/dev/nvidiactl", "/dev/nvidia<N> for each accelerator", "the NVIDIA container runtime, or the toolkit libraries it injects"),
    "ascend": ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/davinci<N> for each accelerator", "/usr/local/Ascend/driver"),
    "amd": ("/dev/kfd", "/dev/dri", "the ROCm user-space libraries of /opt/rocm, which nothing injects"),
}
ROCM = "/opt/rocm/lib"


def counts_more(detection, devices):
    """Whether the vendor's own count is greater than what was detected."""
    host = detection.get("host")
    counted, found = host.get("accelerators") if isinstance(host, dict) else None, detection.get("accelerators")
    if not isinstance(found, int):
        found = len([device for device in devices if isinstance(device, dict) and device.get("kind") == "package"])
    return isinstance(counted, int) and not isinstance(counted, bool) and counted > found


def missing(host, manufacturer):
    told = []
    for entry in REMEDIES.get(manufacturer, ()):
        answer = host.exists(entry) if entry.startswith("/") and " " not in entry else None
        if answer is None or answer.status == ABSENT or (answer.ok and not answer.value):
            told.append(entry)
        elif not answer.ok:
            told.append("%s, of which it is not known whether it is there (%s)" % (entry, answer.reason))
    if manufacturer == "amd":
        link, there = host.readlink(ROCM), host.exists(ROCM)
        if link.ok and there.ok and not there.value:
            told.append("%s is a link to %s, which is not here: mount %s itself" % (ROCM, link.value, ROCM))
    return told
