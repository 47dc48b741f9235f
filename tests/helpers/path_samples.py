# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy node of accelerators and adapters below switches, as the files of a recording, and its sections as the modules read them."""

from __future__ import annotations

import json

import config_space
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import paths
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost


def places(index):
    """(root port, upstream port, card's port, adapter's port, card, adapter) of one switch."""
    bus = int(synthetic.address(index)[5:7], 16)
    return ["0000:%02x:%s" % pair for pair in ((bus - 3, "01.0"), (bus - 2, "00.0"), (bus - 1, "00.0"), (bus - 1, "01.0"), (bus, "00.0"), (bus + 1, "00.0"))]


class Tree:
    """count cards, each with an adapter below the same switch, half of them on either NUMA node. Changed before it is read."""

    def __init__(self, count=4):
        self.count, self.detection = count, "ok"
        self.spaces, self.more, self.files, self.drop = {}, {}, {}, set()
        for index in range(count):
            root, up, down, beside, card, adapter = places(index)
            self.spaces.update({root: {"kind": "root_port", "acs": ["SrcValid"]}, up: {"kind": "upstream_port"}, card: {}, adapter: {"read": 4096}})
            self.spaces.update({port: {"kind": "downstream_port", "acs": []} for port in (down, beside)})
            for number, address in enumerate((root, up, down, beside, card, adapter)):
                self.more[address] = {"numa": index // ((count + 1) // 2), "iommu": (index * 8 + number + 1, "identity")}
            self.more[adapter]["class_links"] = ("/sys/class/infiniband/mlx5_%d" % index,)

    def change(self, address, **space):
        self.spaces[address].update(space)

    def topology(self, words=None, numa=None, link="NV18"):
        """words: {(row, column): word} of labels, over those of a healthy node; rows and columns are cards, then adapters."""
        labels = ["GPU%d" % n for n in range(self.count)] + ["mlx5_%d" % n for n in range(self.count)]
        half = (self.count + 1) // 2
        lines = ["\t%s\tCPU Affinity\tNUMA Affinity" % "\t".join(labels)]
        for row in range(self.count):
            cells = []
            for column in range(2 * self.count):
                one, other = row, column % self.count
                near = "PIX" if one == other else "NODE" if one // half == other // half else "SYS"
                word = "X" if row == column else link if column < self.count else near
                cells.append((words or {}).get((labels[row], labels[column]), (words or {}).get((labels[column], labels[row]), word)))
            lines.append("%s\t%s\t0-15\t%s" % (labels[row], "\t".join(cells), (numa or {}).get(row, row // half)))
        return "\n".join(lines) + "\n"

    def sections(self, matrix=None, virtualization="none", devices=None, driver="nvidia"):
        files = {}
        for index in range(self.count):
            root, up, down, beside, card, adapter = places(index)
            above = ["pci%s" % root[:7], root, up]
            for path in (above[:2], above, [*above, down], [*above, beside], [*above, down, card], [*above, beside, adapter]):
                if path[-1] not in self.drop:
                    config_space.add(files, path, config_space.space(**self.spaces[path[-1]]), **self.more[path[-1]])
                    vendor = {card: "0x10de", adapter: "0x15b3"}.get(path[-1], "0x8086")
                    told = {"vendor": vendor, "device": "0x2330", "class": "0x030200" if path[-1] == card else "0x060400"}
                    files.update({"/sys/devices/%s/%s" % ("/".join(path), name): value + "\n" for name, value in told.items()})
        files["/sys/bus/pci/devices"] = {"dir": sorted(set(self.spaces) - self.drop)}
        files.update(self.files)
        told = matrix if isinstance(matrix, dict) else {"stdout": self.topology() if matrix is None else matrix}
        document = {
            "schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": config_space.whole(files),
            "commands": [{"argv": ["nvidia-smi", "topo", "-m"], **told}],
        }  # fmt: skip
        made = synthetic.healthy(self.count)
        made["host"]["virtualization"] = virtualization
        made["host"]["cpu"]["numa_nodes"] = 2
        for entry in made["pci"]["devices"]:
            entry["driver"] = driver
        found = made["accelerators.nvidia"]
        found["detection"]["state"] = self.detection
        if devices:
            devices(found["devices"])
        made["paths.nvidia"] = json.loads(json.dumps(paths.collect(ReplayHost(document), "nvidia", found)))
        return made
