# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded healthy node of each product of the catalogue: its tool's output with this product's values, what stands beside it, an ordinary host."""

from __future__ import annotations

import json
import re

import amd_samples
import ascend_samples
import cambricon_samples
import config_space
import demo
import further_samples
import host_samples
import hygon_samples
import nine
import nvidia_samples
import product_values as values
import thead_samples
import xpu_samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import gaudi as gaudi_reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import fabric_manager_log, nvidia_daemons, rdma_ports, services
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES

OPTIONS = {"kv_cache_path": "/data", "directories": ["/data"]}
SPEEDS = {3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}
NONE, ZERO, RACK = "N/A", "00000000-0000-0000-0000-000000000000", "5d1c9b40-77aa-4e0d-b3c2-0f61e5a4d7b8"
NO_ROWS = "<remapped_rows>N/A</remapped_rows>"
NO_LINKS = "Device does not have or support Nvlink"
DRIVER = host_samples.DRIVER


def _set(text, group, **elements):
    """The XML with other values in this group of every card."""

    def inner(match):
        told = match.group()
        for name, value in elements.items():
            told = re.sub("<%s>[^<]*<" % name, "<%s>%s<" % (name, value), told)
        return told

    assert "<%s>" % group in text or group == "row_remapper_histogram", group  # not of a part without spare rows
    return re.sub("(?s)<%s>.*?</%s>" % (group, group), inner, text)


def _nvlink(name, count, links, speed):
    lines = []
    for index in range(count):
        lines.append("GPU %d: %s (UUID: %s)" % (index, name, nvidia_samples.uuid(index)))
        lines += ["\t Link %d: %s" % (n, speed or "<inactive>") for n in range(links)] or [NO_LINKS]
    return "\n".join(lines) + "\n"


def nvidia(product, count, **card):
    """card: changes of every card."""
    name, device, memory, power, (core, hbm), generation, links, speed, _switches = values.NVIDIA[product]
    rack, fabric = product in values.RACKS, product in values.FABRICS
    told = {
        "name": name, "device": device.upper() + "10DE", "memory": "%d MiB" % memory, "cap": "%d.00 W" % power, "clock": "%d MHz" % core,
        "generation": generation, "fabric": "Completed" if fabric else NONE, "status": "Success" if fabric else NONE,
        "clique": 3 if rack else 0 if fabric else NONE, "cluster": RACK if rack else ZERO if fabric else NONE,
    }  # fmt: skip
    if rack:
        told.update(fabric_summary="Healthy", fabric_bandwidth="Full", route_unhealthy="False", slot="%d" % 14)
    if product in values.RETIRING:
        told.update(remapped=NO_ROWS, retired=0)
    if product in values.BARE:
        told.update(ecc=NONE, ecc_pending=NONE, dram=NONE, threshold=NONE, repair=NONE, protected=NONE)
    part = nine.nvidia(count, cards=[dict(told, **card)] * count)
    part.device, part.speed, part.aperture = "0x" + device, SPEEDS[generation], 512 << 30
    for entry in part.commands:
        words = entry["argv"][1:]
        if words == ["-q", "-x"]:
            text = re.sub(r"(?s)<processes>.*?</processes>", "<processes>\n        </processes>", entry["stdout"])
            text = _set(text, "gpu_power_readings", default_power_limit="%d.00 W" % power, max_power_limit="%d.00 W" % power, average_power_draw="41.00 W")
            text = _set(text, "max_clocks", graphics_clock="%d MHz" % core, mem_clock="%d MHz" % hbm)
            text = _set(text, "default_applications_clocks", graphics_clock="%d MHz" % core)
            text = _set(text, "clocks", mem_clock="%d MHz" % hbm)
            text = _set(text, "supported_clocks", value="%d MHz" % hbm)
            text = _set(text, "row_remapper_histogram", row_remapper_histogram_max="%d bank(s)" % (values.BANKS.get(product, 2560) - 1))
            text = text if generation == 5 else _set(text, "pcie_gen", max_link_gen=generation, max_device_link_gen=generation)
            if product in values.RETIRING:
                text = _set(text, "retired_pages", pending_blacklist="No", pending_retirement="No")
            if product in values.BARE:
                text = _set(text, "ecc_errors", **dict.fromkeys(("dram_correctable", "dram_uncorrectable", *_SRAM), NONE))
            entry["stdout"] = text
        elif words == ["nvlink", "-s"]:
            entry["stdout"] = _nvlink(name, count, links, speed)
        elif words == ["nvlink", "-e"]:
            entry["stdout"] = nvidia_samples.nvlink_errors(count, links)
    return part


_SRAM = ("sram_correctable", "sram_uncorrectable_parity", "sram_uncorrectable_secded")


def amd(product, count):
    name, device, memory, power, links, speed, generation, version = values.AMD[product]
    unit, tables = amd_samples.unit, amd_samples.node(range(count))
    pcie = {3: 8, 4: 16, 5: 32}[generation]
    for gpu in range(count):
        static, metric = tables["static"][gpu], tables["metric"][gpu]
        static["asic"].update(market_name=name, device_id="0x" + device, target_graphics_version=version)
        static["board"].update(product_name=name)
        static["vram"]["size"] = metric["mem_usage"]["total_vram"] = unit(memory, "MB")
        static["limit"].update(max_power=unit(power, "W"), socket_power=unit(power, "W"))
        static["bus"].update(max_pcie_speed=unit(pcie, "GT/s"), pcie_interface_version="Gen %d" % generation)
        metric["pcie"]["speed"] = unit(pcie, "GT/s")
        told = tables["xgmi"]["xgmi_metric"][gpu]["link_metrics"]
        told["max_bandwidth"] = unit(speed * 8, "Gb/s") if links else NONE
        if not links:
            told.update(bit_rate=NONE, links=[], link_type="PCIE")
            tables["xgmi"]["link_port_status"][gpu]["link_status"] = ["X"] * count
    part = nine.amd(count, **tables)
    part.device, part.speed, part.aperture = "0x" + device, SPEEDS[generation], 512 << 30
    return part


def _near(mine, peer):
    return "PHB" if int(mine[3:]) % 2 == int(peer[3:]) % 2 else "SYS"


def ascend(product, count):
    name, memory, hbm = values.ASCEND[product]
    usage = {"hbm": "3412 / %d" % memory}
    more = {"info -m": ascend_samples.mapping([(n, 0, n, "Ascend " + name) for n in range(count)])}
    if not hbm:
        more.update({"info -t ecc -i %d" % n: ascend_samples.ecc([(0, {})], npu=n, kinds=("DDR",), waiting=0) for n in range(count)})
        more.update({"info -t ecc-enable -i %d" % n: "\tDDR ECC-Enable Status          : True\n" for n in range(count)})
        more["info -t topo"] = ascend_samples.topo(["NPU%d" % n for n in range(count)], _near, cpus="0-23")
        chips = [{"npu": n, "name": name, "second": n, "bus": "0000:%02X:00.0" % (0xA1 + n), "power": "NA", **usage} for n in range(count)]
        more["info"] = ascend_samples.table("device", chips, processes=range(count))
    for n in range(count):
        told = ascend_samples.chip_board(n, 0, "1A2B3C4%d 5D6E7F80 11223344 55667788 99AABBCC" % n)
        more["info -t board -i %d -c 0" % n] = told.replace("910B3", name)
    part = nine.ascend(count, chips=[dict(usage, name=name)] * count, **more)
    part.device = "0xd802" if hbm else "0xd500"
    return part


def cambricon(product, count):
    name, memory, power = values.CAMBRICON[product]
    said = cambricon_samples.info(range(count)).replace("MLU370-X8", name).replace("20638 MiB", "%d MiB" % memory).replace("250 W", "%d W" % power)
    return nine.cambricon(count, info=said, cards=[{"name": name, "total": "%d MiB" % memory, "cap": "%d W" % power}] * count)


def hygon(product, count):
    name, memory, power = values.HYGON[product]
    told = {"Card Series": name, "vram Total Memory (MiB)": str(memory), "Max Graphics Package Power (W)": "%d.0" % power}
    return nine.hygon(count, **{hygon_samples.ALL: hygon_samples.cards(count, **told)})


def iluvatar(product, count):
    name, memory, power = values.ILUVATAR[product]
    return nine.corex(count, cards=[{"product_name": name, "total": "%d MiB" % memory, "current_gpu_power_limit": "%d W" % power, "pids": 0}] * count)


def metax(product, count):
    name, memory, power = values.METAX[product]
    part = nine.metax(count)
    for entry in part.commands:
        told = entry.get("stdout", "").replace("MetaX C500", name).replace("900/65536 MiB", "900/%d MiB" % memory)
        entry.update({"stdout": told.replace("350W", "%dW" % power).replace("350.000 W", "%d.000 W" % power)} if "stdout" in entry else {})
    return part


def mthreads(product, count):
    name, memory, power = values.MTHREADS[product]
    told = {"Product Name": name, "FB Memory Usage/Total": "%dMiB" % memory, "Power Readings/Current Power Limit": "%d.00W" % power}
    return nine.mthreads(count, **told)


def thead(product, count):
    name, memory, power = values.THEAD[product]
    readings = dict.fromkeys(("Power Limit", "Default Power Limit", "Enforced Power Limit"), "%d.00 W" % power)
    told = {"Product Name": name, "Memory Usage": {"Total": "%d MiB" % memory, "Used": "2 MiB", "Free": "%d MiB" % (memory - 2)}}
    told["Power Readings"] = dict(thead_samples.CARD["Power Readings"], **readings)
    return nine.thead(count, **{"-q": thead_samples.log(range(count), **told), "icn -s": thead_samples.links(range(count), inactive=())})


def _further(maker, count, device, driver, speed, commands, env=None):
    vendor, _device, kind = further_samples.VENDORS[maker]
    part = nine.Part(maker, [further_samples.address(n) for n in range(count)], ("0x" + vendor, "0x" + device, "0x" + kind), driver, speed, "1.4.5")
    part.runs(further_samples.PROGRAMS[maker], commands, env)
    return part


def gaudi(product, count):
    name, memory, power, device = values.GAUDI[product]
    cards = [(name, "27C", "91W", "%dW" % power, "768MiB", "%dMiB" % memory, "0")] * count
    csv = further_samples.hl_csv(count, **{"name": name, "memory.total": "%d MiB" % memory})
    told = {"": further_samples.hl_table(cards), further_samples.HL_QUERY: csv}
    return _further("gaudi", count, device, "habanalabs", SPEEDS[4], told, gaudi_reader.ENVIRONMENT)


def kunlunxin(product, count):
    name, memory, power, generation = values.KUNLUNXIN[product]
    told = further_samples.xpu_query([{"name": name, "total": "%d MiB" % memory, "gen": generation}] * count)
    told = told.replace("400.00 W", "%d.00 W" % power)
    for position in range(count):
        told = told.replace("7AB2000000", "7AB2%06d" % position, 1)
    return _further("kunlunxin", count, "3686", "kunlun", SPEEDS[generation], {"-q": told})


def enflame(product, count):
    name, memory, power = values.ENFLAME[product]
    told = further_samples.ef_query([{"total": "%d MiB" % memory}] * count).replace("S60", name).replace("300 W", "%d W" % power)
    return _further("enflame", count, "c035", "enflame", SPEEDS[5], {"-q": told})


def intel(product, count):
    name, device, memory, power, clock, generation, lanes, tiles, corrected = values.INTEL[product]
    part = _further("intel", count, device, "xe", SPEEDS[generation], {})
    told = {
        "device_name": name, "pci_device_id": "0x" + device, "memory_physical_size_byte": str(memory << 20), "core_clock_rate_mhz": clock,
        "pcie_generation": str(generation), "pcie_max_link_width": str(lanes), "number_of_tiles": str(tiles),
    }  # fmt: skip
    part.runs("xpu-smi", xpu_samples.intel_commands(part.addresses, power=power, highest=clock, corrected=corrected, **told))
    part.drm(1)
    return part


def tpu(product, count):
    kind, device, size = values.TPU[product]
    part = _further("tpu", count, device, "vfio-pci", SPEEDS[4], {"": xpu_samples.tpu_table(count, kind, total=size)})
    part.files.update({"%s/%s/accel" % (nine.DEVICES, address): {"absent": True} for address in part.addresses})
    part.files.update(
        {"%s/%s/iommu_group" % (nine.DEVICES, address): {"link": "../../../../kernel/iommu_groups/%d" % n} for n, address in enumerate(part.addresses)}
    )
    return part


MAKERS = {
    nvidia: values.NVIDIA, amd: values.AMD, ascend: values.ASCEND, cambricon: values.CAMBRICON, hygon: values.HYGON, iluvatar: values.ILUVATAR,
    metax: values.METAX, mthreads: values.MTHREADS, thead: values.THEAD, gaudi: values.GAUDI, kunlunxin: values.KUNLUNXIN, enflame: values.ENFLAME,
    intel: values.INTEL, tpu: values.TPU,
}  # fmt: skip


def part(product):
    """(the cards of a node of this product, how many RDMA adapters and NVSwitches stand beside them). KeyError where no node of it is made."""
    make = {name: function for function, table in MAKERS.items() for name in table}[product]
    count = values.COUNTS.get(product, 8)
    switches = values.NVIDIA[product][-1] if make is nvidia else 0
    return make(product, count), count if product in values.ADAPTERS else 0, switches


def _function(files, address, numa, group, own, **space):
    """One function below a root port of its own, with a link as wide as it can be."""
    root = "0000:%s:01.0" % address[5:7]
    path = ["pci%s" % root[:7], root, address]
    config_space.add(files, path[:2], config_space.space("root_port", acs=["SrcValid"]), numa, iommu=(group, "identity"))
    config_space.add(files, path, config_space.space(**space), numa, iommu=(group + 1, "identity"))
    link = dict.fromkeys(("current_link_width", "max_link_width"), 16)
    link.update(dict.fromkeys(("current_link_speed", "max_link_speed"), SPEEDS[5]))
    below = {"revision": "0x00", "subsystem_vendor": own["vendor"], "subsystem_device": "0x0001", **own, **link}
    port = {"vendor": "0x8086", "device": "0x352a", "class": "0x060400", "subsystem_vendor": "0x8086", "subsystem_device": "0x0001", "revision": "0x04", **link}
    files.update({"/sys/devices/%s/%s" % ("/".join(path), name): "%s\n" % value for name, value in below.items()})
    files.update({"/sys/devices/%s/%s" % ("/".join(path[:2]), name): "%s\n" % value for name, value in port.items()})
    return [root, address]


def _adapter(files, rail):
    address = "0000:%02x:00.0" % (0x1C + 0x10 * rail)
    own = {"vendor": "0x15b3", "device": "0x1021", "class": "0x020700"}
    functions = _function(files, address, rail % 2, 200 + 2 * rail, own, read=4096)
    real = "/sys/devices/pci0000:%s/%s/%s" % (address[5:7], functions[0], address)
    rdma = "%s/infiniband/mlx5_%d" % (real, rail)
    files["/sys/class/infiniband/mlx5_%d" % rail] = {"link": "../../" + rdma.removeprefix("/sys/")}
    files[real + "/driver"] = {"link": "../../../../bus/pci/drivers/mlx5_core"}
    told = {"hca_type": "MT4129", "fw_ver": "28.43.2026", "board_id": "MT_0000000838", "node_type": "1: CA"}
    told.update({"ports/1/" + key: word for key, word in (("link_layer", "InfiniBand"), ("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"))})
    told["ports/1/rate"], told["ports/1/gids/0"] = "400 Gb/sec (4X NDR)", "fe80:0000:0000:0000:5e25:73ff:fe%02x:0007" % rail
    files.update({"%s/%s" % (rdma, name): text + "\n" for name, text in told.items()})
    told = {"gid_attrs/types/0": "IB/RoCE v1", "lid": "0x21", "sm_lid": "0x1", **{"counters/" + name: "0" for name in rdma_ports.COUNTERS}}
    files.update({"%s/ports/1/%s" % (rdma, name): text + "\n" for name, text in told.items()})
    files[rdma + "/ports/1/counters"] = {"dir": list(rdma_ports.COUNTERS)}
    files.update({rdma + "/ports": {"dir": ["1"]}, rdma + "/ports/1/gids": {"dir": ["0"]}})
    return functions


def recording(product, cards=None):
    """The recording of a healthy node. cards: in the place of this product's."""
    made, adapters, switches = part(product)
    recorded = nine.recording(cards or made)
    kept = [entry for entry in recorded["commands"] if entry["argv"][0] == "modinfo"]
    recorded = host_samples.on(recorded)
    recorded["commands"] = [entry for entry in recorded["commands"] if entry["argv"][0] != "modinfo"] + kept
    files, more = recorded["files"], []
    for rail in range(adapters):
        more += _adapter(files, rail)
    for number in range(switches):
        address = "0000:%02x:00.0" % (0xB0 + number)
        own = {"vendor": "0x10de", "device": "0x1af1" if switches == 6 else "0x22a3", "class": "0x068000"}
        more += _function(files, address, number % 2, 300 + 2 * number, own)
        files["/sys/devices/pci0000:%s/0000:%s:01.0/%s/driver" % (address[5:7], address[5:7], address)] = {
            "link": "../../../../bus/pci/drivers/nvidia-nvswitch"
        }
    files[nine.DEVICES] = {"dir": sorted([*files[nine.DEVICES]["dir"], *more])}
    config_space.whole(files)
    if made.manufacturer == "nvidia":
        _services(recorded, product, switches)
    return recorded


def _services(recorded, product, switches):
    """What runs beside the driver: the fabric manager where the node has switches to be run, the memory exchange in racks."""
    managed = bool(switches) or product in ("B200", "B300")
    running = {"nvidia-fabricmanager": managed, "nvidia-imex": product in values.RACKS, "nvidia-persistenced": True, "nvidia-dcgm": False}
    words = {True: ("loaded", "active", "running"), False: ("not-found", "inactive", "dead")}
    blocks = ["Id=%s.service\nLoadState=%s\nActiveState=%s\nSubState=%s\n" % (name, *words[on]) for name, on in running.items()]
    replaced = {
        tuple(services.SYSTEMCTL): {"stdout": "\n".join(blocks)},
        tuple(nvidia_daemons.DAEMONS["fabric_manager"]): {"stdout": "Fabric Manager version is : %s\n" % DRIVER} if managed else {"missing": True},
        tuple(nvidia_daemons.DAEMONS["imex"]): {"stdout": "IMEX version is: %s\n" % DRIVER} if product in values.RACKS else {"missing": True},
    }
    if managed:
        replaced[tuple(fabric_manager_log.JOURNAL)] = {"stdout": "-- No entries --\n"}
    recorded["commands"] = [entry for entry in recorded["commands"] if tuple(entry["argv"]) not in replaced]
    recorded["commands"] += [{"argv": list(argv), **answer} for argv, answer in replaced.items()]


def read(recorded):
    """section -> data of all modules of a preflight."""
    sections = demo.read(recorded)
    sections.update(json.loads(json.dumps(MODULES["host_info"].collect(ReplayHost(recorded), OPTIONS))))
    return sections


def judged(recorded, **variables):
    sections = read(recorded)
    return demo.Judged("node", sections, variables), sections
