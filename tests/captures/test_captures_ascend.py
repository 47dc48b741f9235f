# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public Ascend capture: what our reader makes of it, exactly; or why nothing of ours asks for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import ascend_port_captures
import ascend_samples as samples
import lspci_captures
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import npu_smi, npu_smi_words
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording

ROOT = Path(os.environ.get("FLEETPROOF_CAPTURES") or Path(__file__).resolve().parents[2].parent / "shared" / "captures")
INDEX = ROOT / "INDEX-vendors.tsv"
pytestmark = pytest.mark.skipif(not INDEX.is_file(), reason="the captures are not here: %s" % ROOT)


OTHER_TOOLS = ("hccn_tool ", "upgrade-tool ")


class Node:
    """A recording that points at captures; commands that are not given are not recorded."""

    def __init__(self, folder):
        self.folder = folder
        self.root = ROOT / "ascend"

    def section(self, *said, **more):
        ports = more.pop("ports", "state")
        return ascend.collect(self.host(*said, **more), ports=ports)

    def host(self, commands, files=None, machine="aarch64"):
        """commands: {"info": path below ROOT, or text with a newline; "hccn_tool -i 0 …": the same}; files: {path: path below ROOT}."""
        every = {"/dev": {"dir": []}, "/sys/bus/pci/devices": {"dir": []}}
        every.update({path: {"text_file": self._relative(name)} for path, name in (files or {}).items()})
        entries = []
        for words, said in commands.items():
            entry = {"argv": words.split() if words.startswith(OTHER_TOOLS) else ["npu-smi", *words.split()]}
            entry.update({"stdout": said} if "\n" in said else {"stdout_file": self._relative(said)})
            entries.append(entry)
        document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z"}
        document.update(host={"uname": {"machine": machine}}, files=every, commands=entries)
        path = self.folder / "capture.json"
        path.write_text(json.dumps(document))
        return ReplayHost(recording.load(path))

    def _relative(self, name):
        return os.path.relpath(ROOT / "ascend" / name, self.folder)


def shown(section, *keys):
    """Per device: id and the values at paths such as "health.state"; unknown as "?"."""
    lines = []
    for device in section["devices"]:
        values = [device["id"]]
        for key in keys:
            value = device
            for part in key.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            values.append("?" if is_unknown(value) else value)
        lines.append(tuple(values))
    return lines


def column(section, key):
    return [line[1] for line in shown(section, key)]


def verdict(section):
    detection = section["detection"]
    return detection["state"], "?" if is_unknown(detection["accelerators"]) else detection["accelerators"]


TEMPERATURE, POWER = "temperature_c.core", "power_w.draw"


def card_310(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("ok", 1)
    assert section["devices"][0]["id"] == "ascend:215"
    dies = section["devices"][1:]
    assert [die["id"] for die in dies] == ["ascend:215.%d" % n for n in range(4)]
    assert column(section, TEMPERATURE) == [57, 56, 57, 57, 55]
    assert column(section, POWER) == [51.2, 12.8, 12.8, 12.8, 12.8]
    assert column(section, "health.state") == ["ok"] * 5
    assert [(die["name"], die["memory_used_mib"], die["memory_mib"], die["extra"]["family"]) for die in dies] == [("310", 2703, 8192, "310")] * 4
    assert [die["identity"]["pci"]["value"] for die in dies] == ["0000:%s:00.0" % bus for bus in ("da", "dc", "dd", "db")]
    assert section["driver"]["tool_version"] == section["driver"]["version"] == "20.2.0"


def mapping_310(node, path):
    section = node.section({"info": "npu-smi-info-310-20.2.0.txt", "info -m": path})
    assert verdict(section) == ("ok", 1)
    assert [die["extra"]["logic_id"] for die in section["devices"][1:]] == [0, 1, 2, 3]
    assert npu_smi.parse_mapping((ROOT / "ascend" / path).read_text())[(215, 3)]["name"] == "MiniD"


def card_310p(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("ok", 2)
    assert shown(section, "name", "health.state", POWER, TEMPERATURE, "memory_used_mib", "memory_mib", "extra.family") == [
        ("ascend:4", "310P3", "ok", "?", 37, 1848, 21525, "310P"),
        ("ascend:5", "310P3", "ok", "?", 40, 1849, 21525, "310P"),
    ]


def slice_310p(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("ok", 1)
    assert shown(section, "name", "health.state", TEMPERATURE, "memory_used_mib", "memory_mib", "partition.enabled") == [
        ("ascend:32768", "310P3", "ok", 38, 0, 8192, True)
    ]
    assert "outside its table: [INFO limiter" in section["note"]


def warning_shifted(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("unavailable", "?")
    assert shown(section, "health.state", TEMPERATURE, POWER, "memory_used_mib", "memory_mib", "extra.ddr_mib", "processes") == [
        ("ascend:0", "degraded", 37, 73.1, 0, 32768, 13553, 0),
        ("ascend:7", "ok", 38, 67.0, 0, 32768, 15567, 0),
    ]


def busy_masked(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("unavailable", 8)  # read, but not one has a name
    assert column(section, TEMPERATURE) == [44, 39, 36, 44, 40, 36, 37, 42]
    assert column(section, "memory_used_mib") == [30710, 30710, 30710, 30709, 30709, 30709, 30710, 30710]
    assert column(section, "memory_mib") == [32768] * 8
    assert column(section, "health.state") == ["ok"] * 8
    assert column(section, "processes") == [1] * 8
    assert column(section, "name") == ["?"] * 8
    assert (section["driver"]["tool_version"], section["driver"]["version"]) == ("23.0.rc3", "23.0.rc2.3")


def elided(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("unavailable", "?")
    assert "left out" in section["detection"]["reason"]
    assert shown(section, "health.state", TEMPERATURE, POWER) == [("ascend:7", "ok", 44, 67.0)]


def two_warnings(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("unavailable", 8)
    assert column(section, "health.state") == ["ok", "ok", "ok", "degraded", "ok", "ok", "ok", "degraded"]
    assert column(section, TEMPERATURE) == [42, 36, 35, 39, 39, 37, 40, 42]
    assert column(section, POWER) == [70.5, 71.2, 69.0, 206.9, 70.2, 64.9, 69.4, 203.2]
    assert column(section, "memory_mib") == [32768] * 8
    assert column(section, "extra.ddr_mib") == [15137, 15137, 15137, 15039, 15137, 15137, 15137, 15039]
    assert all(count > 0 for count in column(section, "processes"))


def first_910_named_910b(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("ok", 8)
    assert column(section, "name") == ["910B"] * 8
    assert column(section, "extra.family") == ["910"] * 8
    assert column(section, "extra.hbm_nominal_mib") == [32768] * 8
    assert column(section, TEMPERATURE) == [34, 34, 34, 33, 33, 34, 34, 33]
    assert column(section, "memory_used_mib") == [1365, 4, 4, 3, 3, 5, 5, 4]
    assert column(section, "processes") == ["?"] * 8


def busy_910b1(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("unavailable", "?")
    assert shown(section, "name", "health.state", POWER, TEMPERATURE, "memory_used_mib", "memory_mib", "extra.family", "extra.ddr_mib", "processes") == [
        ("ascend:0", "910B1", "ok", 327.1, 54, 64293, 65536, "910B", 0, 1),
        ("ascend:7", "910B1", "ok", 451.6, 76, 64114, 65536, "910B", 0, 1),
    ]


def a3_excerpt(node, path):
    section = node.section({"info": path})
    assert verdict(section) == ("unavailable", "?")
    assert "ends inside the table" in section["detection"]["reason"]
    assert shown(section, "kind", "name", "memory_used_mib", "memory_mib", "extra.phy_id", TEMPERATURE) == [
        ("ascend:0", "package", "Ascend910", 6293, 131072, "?", 34),
        ("ascend:0.0", "die", "Ascend910", 3419, 65536, 0, 34),
        ("ascend:0.1", "die", "Ascend910", 2874, 65536, 1, 34),
    ]
    assert section["devices"][0]["power_w"]["draw"] == 162.6
    assert "not_applicable" in section["devices"][2]["power_w"]
    assert section["devices"][2]["identity"]["pci"]["value"] == "0000:9f:00.0"


def mapping_910a(node, path):
    section = node.section({"info": "npu-smi-info-910-23.0.rc3-busy-xxx.txt", "info -m": path})
    assert verdict(section) == ("ok", 8)
    assert column(section, "name") == ["Ascend 910A"] * 8
    assert column(section, "extra.logic_id") == list(range(8))


def init_failed(node, path):
    section = node.section({"info": path, "info -l": path})
    assert verdict(section) == ("unavailable", "?")
    assert "ret is -8005" in section["detection"]["reason"]
    assert "upgraded without a reboot, or no access" in section["detection"]["reason"]
    assert is_unknown(section["detection"]["host"]["accelerators"])
    assert section["devices"] == []


def invalid_card(node, path):
    section = node.section({"info": samples.table("plain", [{"npu": 0}]), "info -t ecc -i 0": path, "info -t board -i 0": path})
    assert section["devices"][0]["ecc"] == {"unknown": "npu-smi info -t ecc -i 0: Invalid card id. (usage text)"}
    assert is_unknown(section["devices"][0]["firmware"]["npu"])
    assert verdict(node.section({"info": path})) == ("unavailable", "?")


def chip_board(node, path):
    section = node.section({"info": samples.table("plain", [{"npu": 0, "name": "910A", "ddr": "9 / 13553"}]), "info -t board -i 0 -c 0": path})
    device = section["devices"][0]
    assert device["identity"]["uuid"] == {"value": "0A1F5007 D39F7336 BD4745CA A243FCFD 19F2E4B0", "quality": "good"}
    assert device["firmware"] == {"npu": "7.1.0.7.220"}
    (block,) = npu_smi_words.parse_blocks((ROOT / "ascend" / path).read_text())
    assert [block[key] for key in ("Chip Type", "Chip Name", "Chip Version", "PCIe Bus Info", "PCB ID")] == ["Ascend", "910A", "V1", "0000:61:00.0", "NA"]


def ecc(node, path):
    section = node.section({"info": samples.table("plain", [{"npu": 1, "ddr": "9 / 15137", "hbm": "1 / 32768"}]), "info -t ecc -i 1": path})
    device = section["devices"][0]
    assert [device["ecc"][key] for key in ("corrected_volatile", "uncorrected_volatile", "corrected_aggregate", "uncorrected_aggregate")] == [0] * 4
    assert (device["retired_pages"]["corrected"], device["retired_pages"]["uncorrected"]) == (0, 0)
    assert "not_applicable" in device["retired_pages"]["pending"]  # a first 910 does not count it
    assert list(device["extra"]["ecc_counters"].values()) == [0] * 12


def health_ok(node, path):
    section = node.section({"info": samples.table("plain", [{"npu": 0, "health": "Warning"}]), "info -t health -i 0 -c 0": path})
    assert section["devices"][0]["health"] == {"state": "degraded", "detail": "Warning"}  # the table's word stands
    assert npu_smi_words.parse_blocks((ROOT / "ascend" / path).read_text()) == [{"Health Status": "OK", "Error Code": "NA", "Error Information": "NA"}]


def super_pod(node, path):
    section = node.section({"info": samples.table("phy", [{"npu": 0, "second": 0, "name": "Ascend910"}]), "info -t spod-info -i 0 -c 0": path})
    assert section["devices"][0]["extra"]["super_pod"] == {"sdid": 16777216, "super_pod_size": 384, "super_pod_id": 0, "server_index": 4}


def full_mesh(node, path):
    section = node.section({"info": samples.table("plain", [{"npu": n} for n in range(8)]), "info -t topo": path})
    assert column(section, "links.total") == column(section, "links.up") == [7] * 8
    assert column(section, "links.down") == [[]] * 8
    assert column(section, "extra.topology") == [{"HCCS": 7}] * 8


def die_links(node, path):
    chips = [{"npu": phy // 2, "chip": phy % 2, "second": phy, "name": "Ascend910"} for phy in (2, 3, 12, 13)]
    section = node.section({"info": samples.table("phy", chips), "info -t topo": path})
    found = samples.by_id(section)
    assert [[found[name]["links"][key] for key in ("kind", "total", "up", "down")] for name in ("ascend:1.0", "ascend:1.1")] == [["hccs", 3, 3, []]] * 2
    assert found["ascend:1.0"]["extra"]["topology"] == {"HCCS_SW": 2, "SIO": 1}
    assert is_unknown(found["ascend:6.0"]["links"])
    assert is_unknown(found["ascend:6"]["links"])


def driver_info(node, path):
    section = node.section({"info": samples.table("plain", [{"npu": 0}], driver="23.0.7")}, {"/usr/local/Ascend/driver/version.info": path})
    assert section["driver"]["library_version"] == "23.0.7"
    assert section["devices"][0]["extra"]["firmware_range"] == "[7.0.0,7.1.99]"
    assert section["note"] == ""


def toolkit(node, path):
    where = "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
    assert node.section({"info": samples.table("plain", [{"npu": 0}])}, {where: path})["driver"]["runtime_version"] == "7.0.T10"


def nnae(node, path):
    where = "/usr/local/Ascend/nnae/latest/x86_64-linux/ascend_nnae_install.info"
    assert node.section({"info": samples.table("plain", [{"npu": 0}])}, {where: path}, "x86_64")["driver"]["runtime_version"] == "8.0.RC3"


def on_the_bus(*buses):
    """The cards that are there, and a reader told of one less by npu-smi."""

    def check(node, path):
        found = lspci_captures.accelerators((ROOT / "ascend" / path).read_text(), "ascend", "19e5", "d801")
        assert [entry["address"] for entry in found] == ["0000:%s:00.0" % bus for bus in buses]
        assert {entry["model"] for entry in found} == {"Ascend 910A / 910 Pro"}
        host = node.host({"info": samples.table("plain", [{"npu": n, "bus": "0000:%s:00.0" % bus.upper()} for n, bus in enumerate(buses[1:])])})
        said = "PCI shows %d, the tool %d: not seen by it: 0000:%s:00.0" % (len(buses), len(buses) - 1, buses[0])
        assert ascend.collect(host, found)["detection"]["reason"] == said

    return check


READ = {
    **ascend_port_captures.READ,
    "ascend-driver-version.info-23.0.7.txt": driver_info,
    "ascend-nnae-install.info.txt": nnae,
    "ascend-toolkit-install.info-7.0.T10.txt": toolkit,
    "lspci-910a-7-of-8.txt": on_the_bus("3d", "3e", "60", "b1", "b2", "da", "db"),
    "lspci-910a-8.txt": on_the_bus("3d", "3e", "60", "61", "b1", "b2", "da", "db"),
    "npu-smi-dcmi-init-failed-user.txt": init_failed,
    "npu-smi-dcmi-init-failed.txt": init_failed,
    "npu-smi-info-310-20.2.0.txt": card_310,
    "npu-smi-info-310p3-25.5.1.txt": card_310p,
    "npu-smi-info-310p3-vnpu-container.txt": slice_310p,
    "npu-smi-info-910-23.0.5-warning-shifted.txt": warning_shifted,
    "npu-smi-info-910-23.0.rc3-busy-xxx.txt": busy_masked,
    "npu-smi-info-910-24.1.rc1-elided.txt": elided,
    "npu-smi-info-910-24.1.rc2-warning.txt": two_warnings,
    "npu-smi-info-910a-printed-910b-24.1.0.txt": first_910_named_910b,
    "npu-smi-info-910b1-elided-busy.txt": busy_910b1,
    "npu-smi-info-a3-26.0.rc2-wide-excerpt.txt": a3_excerpt,
    "npu-smi-info-m-310-20.2.0.txt": mapping_310,
    "npu-smi-info-m-910a.txt": mapping_910a,
    "npu-smi-invalid-card.txt": invalid_card,
    "npu-smi-t-board-c0-910a.txt": chip_board,
    "npu-smi-t-ecc-910.txt": ecc,
    "npu-smi-t-health-ok.txt": health_ok,
    "npu-smi-t-spod-info-a3.txt": super_pod,
    "npu-smi-t-topo-910b3-hccs.txt": full_mesh,
    "npu-smi-t-topo-a3-sio-fragment.txt": die_links,
}
# Why nothing of the reader of a node asks them.
NOT_READ = {
    "containerd-runtime-ascend.txt": "the containerd configuration: read by test_captures_container_r.py",
    "hccn-ping-devices-3-7.txt": "hccn_tool -ping: sends packets to an address of the site's choice, a test of the network and no reading of the node",
    "npu-smi-details-timeseries.csv": "npu_data_collect: samples of a collector beside a job; a preflight sees one moment (temperature-margin)",
    "rank-table-v1-4x8.json": "rank_table_file.json: written by a scheduler for a job; the row hccl-ranktable reads /etc/hccl_rootinfo.json",
}


def test_every_capture_has_an_entry_and_every_entry_a_capture():
    indexed = {line.split("\t")[0] for line in INDEX.read_text(encoding="utf-8").splitlines()[1:] if line.startswith("ascend/")}
    present = {"ascend/" + path.name for path in (ROOT / "ascend").iterdir()}
    assert not set(READ) & set(NOT_READ)
    assert indexed | present == {"ascend/" + name for name in (*READ, *NOT_READ)}


@pytest.mark.parametrize("name", sorted(READ))
def test_capture(name, tmp_path):
    READ[name](Node(tmp_path), name)


@pytest.mark.parametrize("name", sorted(NOT_READ))
def test_a_capture_of_another_command_is_never_a_device(name, tmp_path):
    for words in ("info", "info -l"):
        section = Node(tmp_path).section({"info": name, words: name})
        assert section["devices"] == []
        assert verdict(section) == ("unavailable", "?")
