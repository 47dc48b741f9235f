# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators of each manufacturer as its module reports them, and the node that an allocation would look at."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import device, identity
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable

NODE = "/dev/"
LIB = "/opt/slicing/"
OK = {"state": "ok", "detail": "", "reason": ""}
UUID = {
    "nvidia": "GPU-11111111-2222-3333-4444-555555555555", "thead": "PPU-22222222-2222-3333-4444-555555555555", "amd": "GPU-1a2b3c4d5e6f7081",
    "ascend": "1A2B3C4D 5E6F7081 92A3B4C5 D6E7F809 0A1B2C3D", "cambricon": "MLU-33333333-2222-3333-4444-555555555555",
    "metax": "GPU-44444444-2222-3333-4444-555555555555", "hygon": "0x5e6f70811a2b3c4d", "iluvatar": "GPU-66666666-2222-3333-4444-555555555555",
    "mthreads": "77777777-2222-3333-4444-555555555555",
}  # fmt: skip
ADDRESS = "0000:03:00.0"
NODES = {
    "nvidia": ["/dev/nvidia0"], "thead": ["/dev/alixpu", "/dev/alixpu_ctl", "/dev/alixpu_ppu0"], "amd": ["/dev/kfd", "/dev/dri/card0", "/dev/dri/renderD128"],
    "ascend": ["/dev/davinci0"], "cambricon": ["/dev/cambricon_dev0"], "metax": ["/dev/mxcd", "/dev/dri/card1", "/dev/dri/renderD129"],
    "hygon": ["/dev/kfd", "/dev/mkfd", "/dev/dri/card0", "/dev/dri/renderD128"], "iluvatar": ["/dev/iluvatar3"], "mthreads": [],
}  # fmt: skip
MEMORY = {
    "nvidia": 24564, "thead": 98304, "amd": 16368, "ascend": 65536, "cambricon": 98304, "metax": 65536, "hygon": 65520, "iluvatar": 32768, "mthreads": 49152,
}  # fmt: skip
EXTRA = {
    "nvidia": {"minor": 0}, "thead": {"minor_number": 0}, "ascend": {"npu_id": 0, "chip_id": 0, "logic_id": 0, "phy_id": 0, "family": "910B"},
}  # fmt: skip
DRIVER = {"nvidia": "12.4", "ascend": "8.5.0"}
ON_HOST = {
    "nvidia": ["/dev/nvidiactl", "/dev/nvidia0"], "thead": ["/dev/alixpu", "/dev/alixpu_ctl", "/dev/alixpu_ppu0"],
    "amd": ["/dev/kfd", "/dev/dri/card0", "/dev/dri/renderD128"],
    "ascend": ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/davinci0"],
    "cambricon": ["/dev/cambricon_dev0", "/dev/cambricon_ctl", "/dev/cambricon_ipcm0"],
    "metax": ["/dev/mxcd", "/dev/dri/card1", "/dev/dri/renderD129"], "hygon": ["/dev/kfd", "/dev/mkfd", "/dev/dri/card0", "/dev/dri/renderD128"],
    "iluvatar": ["/dev/iluvatar3"], "mthreads": [],
}  # fmt: skip
LIBRARIES = {
    "nvidia": ["nvidia/ld.so.preload", "nvidia/cuda-12/libvgpu.so"],
    "thead": ["thead/" + n for n in ("ld.so.preload", "hgml_dlsym_hook.so", "hggc_quota.so", "ppu-monitor")],
    "amd": ["amd/" + n for n in ("ld.so.preload", "libvrocm.so", "rocm-monitor", "rocm-cumask-check")],
    "ascend": ["ascend/ld.so.preload", "ascend/cann-8-910b/libvruntime.so", "ascend/cann-8-910b/enpu-monitor"],
    "iluvatar": ["iluvatar/ld.so.preload", "iluvatar/libvgpu.so"],
}  # fmt: skip


def accelerator(manufacturer, index=0, **facts):
    given = {
        "identity": identity(uuid=UUID[manufacturer], serial="1", pci=ADDRESS), "memory_mib": MEMORY[manufacturer], "device_nodes": NODES[manufacturer],
        "partition": not_applicable("none"), "extra": dict(EXTRA.get(manufacturer, {})),
    }  # fmt: skip
    given.update(facts)
    kind, parent = given.pop("kind", "package"), given.pop("parent", None)
    return device("%s:%s" % (manufacturer, given.pop("id", index)), index, "a card", kind, parent, **given)


def files(manufacturer, nodes=None, libraries=True, **more):
    """Of a node: which paths are there. Listings of /dev and the library folders make all others absent."""
    paths = list(ON_HOST[manufacturer] if nodes is None else nodes) + [LIB + n for n in LIBRARIES.get(manufacturer, ()) if libraries]
    paths += ["/dev/shm"] + (["/opt/hyhal", "/opt/dtk"] if manufacturer == "hygon" else [])
    found = {path: {"device": "char"} if path.startswith("/dev/") and path != "/dev/shm" else "" for path in paths}
    for directory in ("/dev", "/dev/dri", "/opt", "/opt/slicing", *("/opt/slicing/" + n.rpartition("/")[0] for n in LIBRARIES.get(manufacturer, ()))):
        names = {path[len(directory) + 1 :].split("/")[0] for path in found if path.startswith(directory + "/")}
        found[directory] = {"dir": sorted(names)}
    return dict(found, **more)


def kfd(simd=120, per_cu=2, arrays=6, per_engine=2, xcc=1, target=110001, location=0x300, node=1, **more):
    """A node of the KFD topology; defaults: RX 7800 XT."""
    values = dict(
        {"simd_count": simd, "simd_per_cu": per_cu, "array_count": arrays, "simd_arrays_per_engine": per_engine, "num_xcc": xcc,
         "gfx_target_version": target, "location_id": location, "domain": 0, "unique_id": 0}, **more)  # fmt: skip
    base = "/sys/class/kfd/kfd/topology/nodes"
    return {
        base: {"dir": ["0", str(node)]}, base + "/0/properties": "cpu_cores_count 64\nsimd_count 0\n",
        "%s/%d/properties" % (base, node): "".join("%s %d\n" % item for item in values.items()),
    }  # fmt: skip


def node(paths, commands=(), natives=None):
    head = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z"}
    return ReplayHost(dict(head, files=paths, commands=list(commands), natives=natives or {}))


def run(manufacturer, devices=None, paths=None, commands=(), natives=None, root=LIB, driver=None, detection=None):
    host = node(files(manufacturer) if paths is None else paths, commands, natives)
    devices = [accelerator(manufacturer)] if devices is None else devices
    options = {
        "manufacturer": manufacturer, "devices": devices, "detection": detection or OK, "slicing_library_root": root,
        "driver": {"runtime_version": driver or DRIVER.get(manufacturer, "1.0")},
    }  # fmt: skip
    answer = section.answer(host, json.loads(json.dumps(options)))
    return json.loads(json.dumps(answer["allocation." + manufacturer]))


def short(found):
    return [(r["capability"], r["mode"], r["state"], r["depth"]) for r in found["checks"]]
