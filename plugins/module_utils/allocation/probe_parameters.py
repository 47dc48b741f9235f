# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a probe container of each manufacturer runs in and reads. Images, readers and carriers: gpustack-operator's preflight (probe images, measure)."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, whole


class Parameters(NamedTuple):
    """reader: what prints the cap; log: the variables by which the preloaded library tells it too; carrier: (variable, "") or (file, key) of the cap."""

    reader: str
    log: dict
    carrier: tuple


SLICES = {
    "nvidia": Parameters("nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits", {"LIBCUDA_LOG_LEVEL": "3"}, ("CUDA_DEVICE_MEMORY_LIMIT_0", "")),
    "ascend": Parameters("/opt/enpu/vcann-rt/tools/enpu-monitor", {"ENPU_LOG_LEVEL": "3"}, ("npu_info.config", "memory-quota")),
    "amd": Parameters("/usr/local/vrocm/rocm-monitor", {"LIBVROCM_LOG_LEVEL": "2"}, ("VROCM_DEVICE_MEMORY_LIMIT_0", "")),
    "thead": Parameters("/usr/local/vppu/ppu-monitor", {"LIBHGGC_LOG_LEVEL": "2"}, ("HGGC_DEVICE_MEMORY_LIMIT_0", "")),
    "hygon": Parameters("", {}, ("vdev0.conf", "mem")),
}
IMAGES = {
    "cann-8-910b": "quay.io/ascend/cann:8.5.0-910b-ubuntu22.04-py3.11",
    "cann-8-910c": "quay.io/ascend/cann:8.5.0-a3-ubuntu22.04-py3.11",
    "cann-9-910b": "quay.io/ascend/cann:9.1.0-910b-ubuntu22.04-py3.12",
    "cann-9-910c": "quay.io/ascend/cann:9.1.0-a3-ubuntu22.04-py3.12",
    "cann-9-950": "quay.io/ascend/cann:9.1.0-950-ubuntu22.04-py3.12",
    "cann-9-310p": "quay.io/ascend/cann:9.1.0-310p-ubuntu22.04-py3.12",
    "cuda-12": "nvidia/cuda:12.9.2-cudnn-devel-ubi8",
    "cuda-13": "nvidia/cuda:13.0.3-cudnn-devel-ubi8",
    "amd": "ubuntu:24.04",
}
RUNTIME = {"nvidia": ("cuda", 12), "ascend": ("cann", 8)}  # the version that is taken where none was detected
# What the vendor's tool in the container lists, one line for each device: NVIDIA's names it, of the others the device nodes tell.
LISTING = {"nvidia": "nvidia-smi -L"}


def image(manufacturer, driver, family, named):
    """(image, "") or ("", why there is none). named: the operator's word, which wins."""
    if named:
        return named, ""
    key = manufacturer
    if manufacturer in RUNTIME:
        name, major = RUNTIME[manufacturer]
        version = driver.get("runtime_version")
        first = whole(str(version).split(".", 1)[0]) if is_known(version) else None
        key = "-".join(filter(None, (name, str(major if first is None else first), family.lower() if manufacturer == "ascend" else "")))
    found = IMAGES.get(key, "")
    return found, "" if found else "no default image for %s: name one with accelerator_probe_image" % key


def cap(manufacturer, grant):
    """(the memory cap of a grant in MiB as text, "") or ("", what carries none)."""
    name, key = SLICES[manufacturer].carrier
    if not key:
        value = grant["environment"].get(name, "").rstrip("mMbBiI")
        return (value, "") if value.isdecimal() else ("", "the variable %s carries no cap" % name)
    for text in (mounted.get("content", {}).get(name, "") for mounted in grant["mounts"]):
        for line in text.splitlines():
            at = min((place for place in (line.find("="), line.find(":")) if place >= 0), default=-1)
            if line[: max(at, 0)].strip() == key and line[at + 1 :].split():
                value = line[at + 1 :].split()[0]
                return (value, "") if value.isdecimal() else ("", "%s of %s is %s" % (key, name, value))
    return "", "no file %s with a line %s is mounted" % (name, key)
