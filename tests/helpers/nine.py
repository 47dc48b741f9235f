# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of all nine manufacturers as recordings, made of the samples of each tool and of a demo node's machine; several may be on one node."""

from __future__ import annotations

import copy
import json

import amd_samples
import ascend_samples
import cambricon_samples
import config_space
import demo
import gmi_samples
import host_samples
import hygon_samples
import metax_samples
import nvidia_samples
import thead_samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import iluvatar
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import fabric_manager_log, topology
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import collect
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES

DEVICES = "/sys/bus/pci/devices"
ROOT = "/srv/slicing"
KFD = "/sys/class/kfd/kfd/topology/nodes"
GEN4, GEN5 = "16.0 GT/s PCIe", "32.0 GT/s PCIe"
OF_DRIVER = ("modinfo", "nv-fabricmanager", "nvidia-imex")
VENDORS = ("/usr/local/Ascend", "/usr/local/cuda", "/usr/local/neuware", "/usr/local/musa", "/opt/rocm", "/opt/dtk", "/opt/maca")
MOVED = 0xC0  # Moore Threads' sample buses are those of Iluvatar


class Part:
    """What a manufacturer's cards add to a node."""

    def __init__(self, manufacturer, addresses, ids, driver, speed=GEN4, version="1.0"):
        self.manufacturer, self.addresses, self.driver = manufacturer, list(addresses), driver
        self.vendor, self.device, self.kind = ids
        self.shift = 0  # of its first card from NUMA node 0
        self.aperture = 256 << 30
        self.speed, self.files, self.commands, self.natives, self.dev, self.modules = speed, {}, [], {}, [], {driver: version} if driver else {}

    def run(self, *argv, **answer):
        self.commands.append({"argv": list(argv), **answer})

    def runs(self, program, commands, env=None):
        """commands: {"info -l": text or an entry of the recording}"""
        for words, said in commands.items():
            self.run(program, *words.split(), **({"env": env} if env else {}), **(said if isinstance(said, dict) else {"stdout": said}))

    def bus(self):
        files = {}
        for number, address in enumerate(self.addresses):
            port = "/sys/devices/pci%s/%s:01.0" % (address[:7], address[:7])
            link = {"current_link_width": 16, "max_link_width": 16, "current_link_speed": self.speed, "max_link_speed": self.speed}
            own = {
                "vendor": self.vendor, "device": self.device, "class": self.kind, "subsystem_vendor": self.vendor, "subsystem_device": "0x0001",
                "revision": "0x01", "numa_node": (number + self.shift) % 2,
            }  # fmt: skip
            files["%s/%s" % (DEVICES, address)] = {"link": "../../..%s/%s" % (port.removeprefix("/sys"), address)}
            files.update({"%s/%s" % (port, name): "%s\n" % value for name, value in link.items()})
            files.update({"%s/%s/%s" % (port, address, name): "%s\n" % value for name, value in {**own, **link}.items()})
            files["%s/%s/driver" % (port, address)] = {"link": "../../../../bus/pci/drivers/" + self.driver} if self.driver else {"absent": True}
            files["%s/%s/physfn" % (port, address)] = {"absent": True}
            files.update(_path(port, address, number + self.shift, float(self.speed.split()[0]), self.aperture))
        return files

    def matrix(self):
        """What the tool's topology command prints: cards of one NUMA node and of the other, without links."""
        count = len(self.addresses)
        words = [["X" if a == b else "NODE" if a % 2 == b % 2 else "SYS" for b in range(count)] for a in range(count)]
        if self.manufacturer == "amd":
            links = [[{"gpu": b, "weight": 15, "link_type": "XGMI"} for b in range(count) if a != b] for a in range(count)]
            return json.dumps([{"gpu": number, "links": peers} for number, peers in enumerate(links)])
        name = {"thead": "PPU"}.get(self.manufacturer, "GPU")
        heads, title = "".join("\t%s%d" % (name, n) for n in range(count)), "=== Link Type between two GPUs ===\n" if self.manufacturer == "hygon" else ""
        lines = ["%s%d\t%s\t0-31\t%d" % (name, n, "\t".join(row), (n + self.shift) % 2) for n, row in enumerate(words)]
        return "%s%s\tCPU Affinity\tNUMA Affinity\n%s\n" % (title, heads, "\n".join(lines))

    def drm(self, first):
        """Nodes of the kernel's graphics: card N and renderD 128 + N."""
        for number, address in enumerate(self.addresses):
            names = ["card%d" % (first + number), "renderD%d" % (128 + first + number)]
            self.files["%s/%s/drm" % (DEVICES, address)] = {"dir": names}
            self.dev += ["dri/" + name for name in names]


def _path(port, address, number, speed, aperture):
    """What a path asks of a card and of the port above it."""
    files, above = {}, [part for part in port.split("/")[3:] if part]
    link = {"now": (16, speed), "most": (16, speed)}
    config_space.add(files, above, config_space.space("root_port", acs=["SrcValid"], **link), number % 2, iommu=(2 * number + 1, "identity"))
    files["/sys/devices/%s/vendor" % "/".join(above)] = "0x8086\n"
    config_space.add(files, [*above, address], config_space.space(**link), number % 2, iommu=(2 * number + 2, "identity"), resource=aperture)
    return files


def nvidia(count=2, cards=None, mig=None):
    """cards: changes of the cards in order. mig: what `nvidia-smi mig -lgip` prints."""
    part = Part("nvidia", ["0000:%02x:00.0" % (0x18 + 0x10 * n) for n in range(count)], ("0x10de", "0x2330", "0x030200"), "nvidia", GEN5, "575.57.08")
    given = [*(cards or []), *[{}] * count][:count]
    gpus = [nvidia_samples.gpu(n, **dict({"thermal": "Not Active"}, **changes)) for n, changes in enumerate(given)]
    part.files["/proc/driver/nvidia/version"] = nvidia_samples.files(0)["/proc/driver/nvidia/version"]
    part.files["/proc/driver/nvidia/gpus"] = {"dir": []}
    part.files["/proc/driver/nvidia/params"] = nvidia_samples.files(0)["/proc/driver/nvidia/params"]
    part.natives["nvml"] = {"missing": "nvidia-ml-py is not installed"}
    answers = {
        "-q -x": nvidia_samples.log(*gpus),
        "nvlink -s": nvidia_samples.nvlink(count),
        "nvlink -e": nvidia_samples.nvlink_errors(count),
        "-L": nvidia_samples.listing(count),
    }
    part.runs("nvidia-smi", dict(answers, **({"mig -lgip": mig} if mig is not None else {})))
    part.dev += ["nvidiactl", "nvidia-uvm", *("nvidia%d" % n for n in range(count))]
    return part


def _kfd(part, **changes):
    """KFD's nodes: a processor, then the cards."""
    names = ["0"]
    part.files["%s/0/properties" % KFD] = "cpu_cores_count 96\nsimd_count 0\n"
    for number, address in enumerate(part.addresses):
        names.append(str(number + 1))
        _domain, bus, _rest = address.split(":")
        told = {
            "simd_count": 1216, "simd_per_cu": 4, "array_count": 32, "simd_arrays_per_engine": 1, "num_xcc": 8, "gfx_target_version": 90402,
            "location_id": int(bus, 16) << 8, "domain": 0, "unique_id": 0x0A00000000000001 + number,
        }  # fmt: skip
        part.files["%s/%d/properties" % (KFD, number + 1)] = "".join("%s %d\n" % pair for pair in dict(told, **changes).items())
    part.files[KFD] = {"dir": names}


def amd(count=2, kfd=None, **tables):
    part = Part("amd", ["0000:%s:00.0" % amd_samples.BUSES[n] for n in range(count)], ("0x1002", "0x74a1", "0x120000"), "amdgpu", GEN5, "6.12.12")
    part.files["/opt/rocm/.info/version"] = "6.4.0\n"
    said = dict(amd_samples.node(range(count)), **tables)
    part.commands += [amd_samples.command(["amd-smi", word, "--json"], said[word]) for word in amd_samples.WORDS]
    part.run("rocm-smi", "-a", "--json", missing=True)
    part.run("rocm-smi", "--showuniqueid", missing=True)
    part.dev.append("kfd")
    part.drm(0)
    _kfd(part, **(kfd or {}))
    return part


def ascend(count=2, chips=None, share="false", hccn=None, conf=None, parts=None, **commands):
    """hccn: changes of what hccn_tool says, {"-i 0 -link -g": text}; conf: /etc/hccn.conf; parts: the firmware's, {0: {"nve": "7.5.0.5.220"}}."""
    npus = range(count)
    addresses = ["0000:%02x:00.0" % (0xA1 + n) for n in npus]
    part = Part("ascend", addresses, ("0x19e5", "0xd802", "0x120000"), "drv_pcie", version="25.2.0")
    given = [*(chips or []), *[{}] * count][:count]
    said = {
        "info": ascend_samples.table("plain", [dict({"npu": n, "bus": addresses[n].upper()}, **changes) for n, changes in zip(npus, given)], processes=npus),
        "info -l": ascend_samples.listing(npus),
        "info -m": ascend_samples.mapping([(n, 0, n, "Ascend 910B3") for n in npus]),
        "info -t topo": ascend_samples.topo(["NPU%d" % n for n in npus], cpus="0-23"),
    }
    for n in npus:
        said["info -t ecc -i %d" % n] = ascend_samples.ecc([(0, {})], npu=n, kinds=("HBM",), waiting=0)
        said["info -t board -i %d" % n] = ascend_samples.board(n)
        said["info -t ecc-enable -i %d" % n] = "\tHBM ECC-Enable Status          : True\n"
        said["info -t board -i %d -c 0" % n] = ascend_samples.chip_board(n, 0, "1A2B3C4%d 5D6E7F80 11223344 55667788 99AABBCC" % n)
        said["info -t hccs -i %d -c 0" % n] = ascend_samples.hccs()
        said["info -t device-share -i %d" % n] = "\tDevice-share Status            : %s\n\tChip ID                        : 0\n" % share.capitalize()
    part.runs("npu-smi", dict(said, **commands))
    part.runs("hccn_tool", dict(ascend_samples.ports(npus), **(hccn or {})))
    versions = {n: dict(dict.fromkeys(("nve", "uefi", "imu", "imp"), "7.5.0.5.220"), **(parts or {}).get(n, {})) for n in npus}
    part.run(*ascend_samples.PARTS, stdout=ascend_samples.parts(versions))
    part.files["/etc/hccn.conf"] = ascend_samples.hccn_conf(npus, detect="10.44.6.1") if conf is None else conf
    prefix = "/usr/local/Ascend"
    part.files.update({"/etc/ascend_install.info": "Driver_Install_Path_Param=%s\n" % prefix, prefix + "/cann": {"absent": True}})
    part.files["/var/lib/fleetproof-accelerator"] = {"absent": True}
    part.files[prefix + "/driver/version.info"] = "Version=25.2.0\nascendhal_version=7.35.23\ncompatible_version_fw=[7.5.0,8.9.9]\n"
    part.files[prefix + "/firmware/version.info"] = "Version=7.5.0.5.220\n"
    part.files[prefix + "/ascend-toolkit/latest/runtime/version.info"] = "Version=8.2.0\n"
    part.dev += ["davinci_manager", "devmm_svm", "hisi_hdc", *("davinci%d" % n for n in npus)]
    return part


def ascend_950(install="v26.0.0", table=None):
    """An A5 node. install: version of the vendor's container runtime; table: the rank table of HCCL, a text or an entry; there is none without it."""
    part = ascend(1, conf={"absent": True})
    part.commands = []
    said = {
        "info": ascend_samples.table("950", [{"npu": 0, "hbm": "5239  / 131072", "bus": part.addresses[0].upper()}]),
        "info -l": ascend_samples.listing([0]),
    }
    heads = ("NPU ID", "Slot ID", "Chip ID", "Chip Phy-ID", "Chip Logic ID", "Chip Name")
    said["info -m"] = ascend_samples.mapping([(0, 4, 0, 0, 0, "Ascend950PR")], heads)
    said["info -t ecc -i 0"] = ascend_samples.ecc([(0, {})], kinds=("HBM",), waiting=0)
    said["info -t ecc-enable -i 0"] = "\tHBM ECC-Enable Status          : True\n"
    said["info -t board -i 0"] = ascend_samples.board(0, **{"PCI Device ID": "0xD806", "DDie ID": "0000001A 2B000000 00000003 00000004 00000005"})
    part.runs("npu-smi", said)
    part.files["/usr/local/Ascend/ascend-toolkit/latest/runtime/version.info"] = "Version=9.1.0\n"
    part.files["/usr/local/Ascend/Ascend-Docker-Runtime/ascend_docker_runtime_install.info"] = "type=docker\nversion=%s\n" % install
    part.files["/etc/hccl_rootinfo.json"] = {"absent": True} if table is None else table
    return part


# What the libraries of the manufacturers say of a healthy card.
NOT_SUPPORTED = {"error": 10, "unsupported": True, "said": "not supported"}
CNDEV = {"row_remap.%s" % key: 0 for key in ("corrected", "uncorrected", "pending", "failed")}
CNDEV.update({"retired_pages.pending": 0, "links": [1] * 6})
RSMI = {"ecc.corrected_volatile": 2, "ecc.uncorrected_volatile": 0, "retired_pages.pending": 0, "links": NOT_SUPPORTED}
MTML = {"retired_pages.%s" % key: 0 for key in ("corrected", "uncorrected", "pending")}
MTML.update({"ecc.%s" % key: 0 for key in ("corrected_volatile", "uncorrected_volatile", "corrected_aggregate", "uncorrected_aggregate")}, links=[1] * 14)


def cambricon(count=2, smlu=0, info=None, cards=None):
    """smlu: the mode of every card, or what the library says in its place."""
    addresses = cambricon_samples.ADDRESSES[:count]
    part = Part("cambricon", addresses, ("0xcabc", "0x0370", "0x120000"), "cambricon_drv", version="5.10.22")
    given = [*(cards or []), *[{}] * count][:count]
    part.runs("cnmon", {"info": info or cambricon_samples.info(range(count)), "": cambricon_samples.table([dict(c, index=n) for n, c in enumerate(given)])})
    part.natives["libcndev"] = {"answer": {"cards": {address: dict(CNDEV) for address in addresses}}}
    part.natives["cndev"] = {"answer": {"cards": dict.fromkeys(addresses, smlu)}} if isinstance(smlu, int) else smlu
    part.files.update({"/usr/local/neuware/version.txt": "Neuware Version 3.15.0\n", "/var/lib/fleetproof-accelerator": {"absent": True}})
    part.dev += ["cambricon_ctl", *("cambricon_%s%d" % (kind, n) for kind in ("dev", "ipcm") for n in range(count))]
    return part


def hygon(count=2, kfd=None, **commands):
    part = Part("hygon", hygon_samples.ADDRESSES[:count], ("0x1d94", "0x6210", "0x038000"), "hycu", version="6.3.11-V1.10.1")
    part.runs("hy-smi", dict(hygon_samples.good(count), **commands))
    part.natives["librocm_smi64"] = {"answer": {"cards": {address: dict(RSMI) for address in part.addresses}}}
    part.files["/opt/dtk/.info/version"] = "25.04.2-b12\n"
    part.files.update({path: {"dir": []} for path in ("/opt/hyhal", "/opt/dtk")})
    part.dev += ["kfd", "mkfd"]
    part.drm(16)
    _kfd(part, **dict({"simd_count": 480, "array_count": 8, "num_xcc": 1, "gfx_target_version": 90208}, **(kfd or {})))
    return part


def corex(count=2, cards=None):
    part = Part("iluvatar", [gmi_samples.address(n) for n in range(count)], ("0x1e3e", "0x0002", "0x120000"), "iluvatar", version="4.4.1")
    said = gmi_samples.ixsmi_xml([*(cards or []), *[{}] * count][:count])
    part.runs("ixsmi", {"-q -x": said, "ixlink -s": {"rc": 255, "stderr": "Invalid combination of input arguments\n"}}, iluvatar.ENVIRONMENT)
    part.natives["libixml"] = {"answer": {"cards": {str(n): 0 for n in range(count)}}}
    part.files["/usr/local/corex"] = {"absent": True}
    part.dev += ["itrctl", *("iluvatar%d" % (n + 3) for n in range(count))]
    return part


def metax(count=2, registry=None, **commands):
    """registry: what the directory of sGPUs lists on each card; there is none without it."""
    part = Part("metax", metax_samples.ADDRESSES[:count], ("0x9999", "0x0a01", "0x038000"), "metax", GEN5, "3.9.4")
    part.runs("mx-smi", dict(metax_samples.commands_of(range(count)), **commands))
    part.run("ht-smi", missing=True)
    part.files["/opt/maca/Version.txt"] = "Version:3.8.0.9\n"
    for address in part.addresses:
        part.files["%s/%s/sgpu" % (DEVICES, address)] = {"absent": True} if registry is None else registry
    part.dev += ["mxcd", "mxnd", "mxgd"]
    part.drm(32)
    return part


def mthreads(count=1, **changes):
    places = {gmi_samples.address(n): "0000:%02x:00.0" % (MOVED + 4 * n) for n in range(count)}
    text = gmi_samples.gmi_json([gmi_samples.gmi_card(n, **changes) for n in range(count)])
    for old, new in places.items():
        text = text.replace(old, new).replace('"Bus": "0x%s"' % old[5:7].upper(), '"Bus": "0x%s"' % new[5:7].upper())
    part = Part("mthreads", places.values(), ("0x1ed5", "0x0323", "0x030200"), "mtgpu", GEN5, "3.3.1")
    part.runs("mthreads-gmi", {"-q -j": text, "mtlink -s": {"rc": 255, "stderr": "invalid argument\n"}})
    part.natives["libmtml"] = {"answer": {"cards": {address: dict(MTML) for address in part.addresses}}}
    part.files["/usr/local/musa/version.json"] = '{"musa_toolkits": {"version": "4.2.0"}}'
    part.dev += ["mtgpu.%d" % n for n in range(count)]
    part.drm(48)
    return part


def thead(count=1, mig=None, **commands):
    part = Part("thead", thead_samples.ADDRESSES[:count], ("0x1ded", "0x6001", "0x030200"), "alixpu", GEN5, "2.1.4")
    part.shift = 1
    part.runs("ppu-smi", dict(thead_samples.commands_of(range(count)), **({"mig -lgip": mig} if mig is not None else {}), **commands))
    part.dev += ["alixpu", "alixpu_ctl", *("alixpu_ppu%d" % n for n in range(count))]
    return part


PARTS = {
    "amd": amd, "ascend": ascend, "cambricon": cambricon, "hygon": hygon, "iluvatar": corex, "metax": metax, "mthreads": mthreads, "nvidia": nvidia,
    "thead": thead,
}  # fmt: skip


def _machine(node):
    """The recording of a demo node without its accelerators."""
    base = demo.document("gpu-h01")
    mine = ("/sys/bus/pci", "/sys/devices/pci", "/sys/module", "/sys/class/infiniband", "/dev", "/proc/driver")
    base["files"] = {path: entry for path, entry in base["files"].items() if not path.startswith((*mine, *VENDORS))}
    base["commands"] = [entry for entry in base["commands"] if entry["argv"][0] not in (*OF_DRIVER, "nvidia-smi", "journalctl")]
    log = next(entry for entry in demo.document("gpu-h02")["commands"] if entry["argv"][:2] == ["journalctl", "-k"])
    base["commands"].append(dict(log, stdout="[    1.000000] gpu-h02 kernel: Linux version 6.8.0-88-generic\n"))
    base.update(node=node, natives={})
    return base


def recording(*parts, node="nine"):
    """The node with these cards."""
    made = copy.deepcopy(_machine(node))
    files, dev, modules, functions, agents = made["files"], {"null"}, ["acpi", "ext4"], [], {}
    for part in parts:
        files.update(part.bus())
        for path, entry in part.files.items():
            if path.startswith(KFD):  # AMD and Hygon cards are agents of one topology
                agents.setdefault(part.manufacturer, {})[path] = entry
            else:
                files[path] = entry
        made["commands"] += part.commands
        for programs, arguments in topology.QUESTIONS.get(part.manufacturer, ())[:1]:
            env = topology.ENVIRONMENT.get(part.manufacturer)
            made["commands"].append({"argv": [programs[0], *arguments], "stdout": part.matrix(), **({"env": env} if env else {})})
        made["natives"].update(part.natives)
        if part.manufacturer == "nvidia":
            made["commands"].append({"argv": ["nv-fabricmanager", "--version"], "stdout": "Fabric Manager version is : %s\n" % part.modules["nvidia"]})
            made["commands"] += [{"argv": ["nvidia-imex", "--version"], "missing": True}, {"argv": ["dcgmi", "-v"], "missing": True}]
            made["commands"].append({"argv": fabric_manager_log.TAIL, "stdout": host_samples.FABRIC_LOG})
            files[fabric_manager_log.LOG] = {"type": "file", "size": len(host_samples.FABRIC_LOG), "mtime": host_samples.seconds("2026-11-28T20:06:31Z")}
        dev |= set(part.dev)
        functions += [*part.addresses, *("%s:01.0" % address[:7] for address in part.addresses)]
        for name, version in part.modules.items():
            modules.append(name)
            made["commands"].append({"argv": ["modinfo", "-F", "version", name], "stdout": version + "\n"})
            files.update({"/sys/module/%s" % name: {"dir": ["version", "initstate"]}, "/sys/module/%s/version" % name: version + "\n"})
            files["/sys/module/%s/initstate" % name] = "live\n"
    _topology(files, agents)
    files[DEVICES] = {"dir": sorted(functions)}
    files["/sys/module"] = {"dir": sorted(modules)}
    files["/dev"] = {"dir": sorted({name.partition("/")[0] for name in dev})}
    files["/dev/dri"] = {"dir": sorted(name.partition("/")[2] for name in dev if name.startswith("dri/"))}
    files["/dev/shm"] = {"dir": []}
    config_space.whole(files)
    for place in VENDORS:
        if not any(path.startswith(place + "/") for path in files):
            files[place] = {"absent": True}
    for place in ("/usr", "/etc", "/proc", "/opt", "/usr/local", ROOT):
        files.setdefault(place, {"exists": True, "type": "directory"})
    files.update({"/dev/" + name: {"device": "char", "major": 195, "minor": 0, "mode": "0666"} for name in dev})
    return made


def lose(part, *paths):
    """The part without these device nodes and files: they are looked for and not there."""
    part.dev = [name for name in part.dev if "/dev/" + name not in paths]
    for path in list(part.files):
        if path.startswith(paths):
            part.files[path] = {"absent": True}
    return part


def _topology(files, agents):
    number = 0
    for entries in agents.values():
        for entry in entries.values():
            if entry == {"absent": True}:
                files[KFD] = entry
                return
            if isinstance(entry, str) and (number == 0 or "simd_count 0" not in entry):
                files["%s/%d/properties" % (KFD, number)] = entry
                number += 1
    if number:
        files[KFD] = {"dir": [str(n) for n in range(number)]}


def all_nine(**changed):
    """Sixteen cards of nine manufacturers on one node. changed: parts that take the place of healthy ones."""
    return [changed.get(name) or make() for name, make in PARTS.items()]


def read(recorded, library_root=None, asked=None):
    """section -> data, as the preflight reads a node: also what an allocation would get."""
    found = dict(MODULES["accelerator_info"].collect(ReplayHost(recorded)))
    for name in asked or collect.manufacturers(found):
        section = MODULES[name + "_info"].collect(ReplayHost(recorded))["accelerators." + name]
        section = found["accelerators." + name] = json.loads(json.dumps(section))
        options = {"manufacturer": name, "slicing_library_root": library_root, **{key: section[key] for key in ("detection", "devices", "driver")}}
        found.update(MODULES["allocation_info"].collect(ReplayHost(recorded), options))
    found["kernel"] = MODULES["kernel_events"].collect(ReplayHost(recorded))["kernel"]
    return json.loads(json.dumps(found))


class Counting(ReplayHost):
    """Every call of a vendor's tool or library, in order."""

    def __init__(self, document):
        super().__init__(document)
        self.made = []

    def run(self, argv, **options):
        self.made.append(" ".join(argv))
        return super().run(argv, **options)

    def native(self, name, reader, **options):
        self.made.append("lib" + name)
        return super().native(name, reader, **options)


def calls(name, count):
    """(calls of <manufacturer>_info, calls of allocation_info) on a healthy node."""
    recorded = recording(PARTS[name](count))
    host, other = Counting(recorded), Counting(recorded)
    section = MODULES[name + "_info"].collect(host)["accelerators." + name]
    MODULES["allocation_info"].collect(other, {"manufacturer": name, **{key: section[key] for key in ("detection", "devices", "driver")}})
    return host.made, other.made
