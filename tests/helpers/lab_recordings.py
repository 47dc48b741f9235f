# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Made-up recordings of nodes with eight H100: replayed as they are, and laid under lab nodes by tests/lab/lab_profile.py."""

from __future__ import annotations

import json
import zlib

import nvidia_samples as samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA

DEVICES = "/sys/bus/pci/devices"
CHRONY = "C0000201,192.0.2.1,3,1764400000.1,0.000001,0.000002,0.00001,-1.2,0.0,0.01,0.0001,0.0002,16.1,Normal\n"
SECRET = "9vKq2mZr7"
DRIVER = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (builder@host)  Sat May 24 2026\n"


def h100(node, gpus=8, on_bus=8, pending_remap=None, width=None, smi=None):
    """pending_remap, width: index of the card with that fault. smi: another answer of nvidia-smi -q -x, such as {"hang": True}."""
    cards = [
        samples.gpu(index, thermal="Not Active", pending="Yes" if index == pending_remap else "No", width="8x" if index == width else "16x")
        for index in range(gpus)
    ]
    files = _bus(on_bus, width)
    files.update(_machine(node))
    document = {
        "schema": SCHEMA,
        "node": node,
        "recorded": "2026-11-28T17:00:00Z",
        "host": {
            "uname": {"system": "Linux", "node": node, "release": "6.8.0-79-generic", "version": "#79", "machine": "x86_64"},
            "limits": {"memlock": ["unlimited", "unlimited"], "nofile": [1048576, 1048576]},
            "root_user": True,
        },
        "files": files,
        "commands": [
            samples.run("-q", "-x", **(smi or {"stdout": samples.log(*cards)})),
            samples.run("nvlink", "-s", stdout=samples.nvlink(gpus)),
            samples.run("nvlink", "-e", stdout=samples.nvlink_errors(gpus)),
            samples.run("-L", stdout=samples.listing(gpus)),
            {"argv": ["chronyc", "-c", "-n", "tracking"], "stdout": CHRONY},
        ],
        "natives": {"nvml": {"missing": "nvidia-ml-py is not installed"}},
    }
    # No two nodes have the same cards.
    own = zlib.crc32(node.encode())
    return json.loads(json.dumps(document).replace("GPU-0f1e7000-", "GPU-%08x-" % own).replace("165172300", "165%06d" % (own % 1000000)))


def _bus(count, narrow):
    files = {DEVICES: {"dir": []}}
    for index in range(count):
        root, card = "pci0000:%02x" % (0x17 + 0x10 * index), "0000:%02x:00.0" % (0x18 + 0x10 * index)
        port = "/sys/devices/%s/0000:%02x:01.0" % (root, 0x17 + 0x10 * index)
        device = "%s/%s" % (port, card)
        width = 8 if index == narrow else 16
        files[DEVICES]["dir"].append(card)
        files["%s/%s" % (DEVICES, card)] = {"link": "../../..%s" % device.removeprefix("/sys")}
        link = {"current_link_width": width, "max_link_width": 16, "current_link_speed": "32.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe"}
        files.update({"%s/%s" % (port, name): "%s\n" % value for name, value in link.items()})
        identity = {
            "vendor": "0x10de", "device": "0x2330", "subsystem_vendor": "0x10de", "subsystem_device": "0x16c1",
            "class": "0x030200", "revision": "0xa1", "numa_node": index // 4,
        }  # fmt: skip
        files.update({"%s/%s" % (device, name): "%s\n" % value for name, value in {**identity, **link}.items()})
        files["%s/driver" % device] = {"link": "../../../../bus/pci/drivers/nvidia"}
        files["%s/physfn" % device] = {"absent": True}
    return files


def _machine(node):
    firmware = {
        "sys_vendor": "Acme", "product_name": "G8-H100", "product_serial": "S-" + node, "product_sku": "G8", "product_family": "G",
        "board_vendor": "Acme", "board_name": "X13", "board_version": "1.02", "board_serial": "B-" + node,
        "bios_vendor": "AMI", "bios_version": "2.1a", "bios_date": "05/11/2025",
    }  # fmt: skip
    files = {"/sys/class/dmi/id/" + name: value + "\n" for name, value in firmware.items()}
    files["/etc/os-release"] = 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\n'
    files["/sys/module/nvidia/version"] = "575.57.08\n"
    files["/proc/cmdline"] = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt registry_token=%s\n" % SECRET
    files["/proc/driver/nvidia/version"] = DRIVER
    return files
