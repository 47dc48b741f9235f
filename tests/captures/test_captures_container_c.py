# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specifications as generators write them. Each capture has its entry here; a new one without an entry fails."""

from __future__ import annotations

import re

import cdi_samples
import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cdi, yaml_subset

FOLDERS = ("container/cdi*", "container/systemctl*")
DRIVER = "999.88.77"
HEALTHY = ["/dev/nvidia0", "/dev/nvidiactl", "/usr/bin/nvidia-cdi-hook"]

# What a correct reader concludes: kind, devices, generator, driver versions, counts.
SPECS = {
    "container/cdi-nvidia-imex-channels.yaml": (
        "nvidia.com/imex-channel",
        ["0", "1", "2047"],
        {"unknown": "the file does not tell"},
        [],
        {"device_nodes": 3, "mounts": 0, "hooks": 0},
    ),
    "container/cdi-nvidia-nvml-1gpu.yaml": ("example.com/device", ["0", "all"], "nvidia-ctk", [DRIVER], {"device_nodes": 3, "mounts": 2, "hooks": 5}),
}
REFRESH = "container/systemctl-status-nvidia-cdi-refresh.txt"


def test_every_capture_has_an_entry(captures):
    found = {str(p.relative_to(captures)) for folder in FOLDERS for p in captures.glob(folder) if p.is_file()}
    assert found == {*SPECS, REFRESH}


def read(captures, path, machine):
    text = (captures / path).read_text(encoding="utf-8")
    return cdi.collect(cdi_samples.host({"/etc/cdi": {"absent": True}, "/var/run/cdi": {"dir": ["a.yaml"]}, "/var/run/cdi/a.yaml": text, **machine}))["specs"][
        0
    ]


@pytest.mark.parametrize("path", sorted(SPECS))
def test_specification(captures, path):
    spec = read(captures, path, {})
    assert (spec["state"], spec["version"], spec["problems"]) == ("valid", "0.5.0", [])
    assert (spec["kind"], [d["name"] for d in spec["devices"]], spec["generator"], spec["driver_versions"], spec["counts"]) == SPECS[path]
    assert spec["unchecked"] and not spec["missing"]  # nothing of that machine is known here


@pytest.mark.parametrize("path", sorted(SPECS))
def test_the_subset_reads_what_yaml_reads(captures, path):
    text = (captures / path).read_text(encoding="utf-8")
    assert yaml_subset.parse(text) == yaml.safe_load(text)


def test_one_gpu_on_its_machine(captures):
    libraries = ["/lib/x86_64-linux-gnu/%s.so.%s" % (name, DRIVER) for name in ("libcuda", "vdpau/libvdpau_nvidia")]
    machine = {
        path: {"device": "char", "major": 195, "minor": 0} if path.startswith("/dev") else {"type": "file", "mode": "0755"} for path in HEALTHY + libraries
    }
    spec = read(captures, "container/cdi-nvidia-nvml-1gpu.yaml", machine)
    assert spec["missing"] == spec["mismatched"] == spec["unchecked"] == []
    del machine[libraries[0]]
    spec = read(captures, "container/cdi-nvidia-nvml-1gpu.yaml", {**machine, libraries[0]: {"absent": True}})
    assert [one["path"] for one in spec["missing"]] == libraries[:1]


def test_the_unit_that_renews_it_is_healthy_when_it_is_done(captures):
    """The capture is what systemctl status shows; the same state as systemctl show has it."""
    text = (captures / REFRESH).read_text(encoding="utf-8")
    enabled = re.search(r"Loaded: loaded \([^;]+; (\w+);", text).group(1)
    active = re.search(r"Active: (\w+) ", text).group(1)
    status, result = re.search(r"code=exited, status=(\d+)/(\w+)", text).groups()
    shown = "Id=nvidia-cdi-refresh.service\nLoadState=loaded\nUnitFileState=%s\nActiveState=%s\nResult=%s\nExecMainStatus=%s\n"
    answer = {"argv": cdi.SYSTEMCTL, "rc": 0, "stdout": shown % (enabled, active, result.lower(), status)}
    told = cdi.collect(cdi_samples.host(cdi_samples.files({}), commands=[answer]))["refresh"]
    assert told == {"service": {"enabled": "enabled", "active": "inactive", "result": "success", "exit_status": 0}}
