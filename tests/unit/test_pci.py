# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCI scan on recorded sysfs trees."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci

BASE = "/sys/bus/pci/devices"
H100 = {"vendor": "10de", "device": "2330", "class": "030200", "driver": "nvidia"}
PORT = {"vendor": "1000", "device": "c030", "class": "060400", "driver": "pcieport"}


def function(files, address, above=("pci0000:15", "0000:15:01.0"), vendor="10de", device="2330", **more):
    """Add one function below a chain of ports; every file a scan may ask for."""
    real = "/sys/devices/%s/%s" % ("/".join(above), address)
    files["%s/%s" % (BASE, address)] = {"link": "../../../devices/%s/%s" % ("/".join(above), address)}
    texts = {"vendor": "0x" + vendor, "device": "0x" + device, "class": "0x" + more.pop("class", "030200"), "revision": "0xa1"}
    texts.update(subsystem_vendor="0x10de", subsystem_device="0x16c1", numa_node=more.pop("numa_node", "0"))
    link = {"current_link_width": "16", "max_link_width": "16", "current_link_speed": "32.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe"}
    texts.update({key: more.pop(key, value) for key, value in link.items()})
    for name in ("driver", "physfn"):
        target = more.pop(name, None)
        files["%s/%s" % (real, name)] = {"link": "../../../bus/pci/drivers/" + target} if target else {"absent": True}
    assert not more
    for name, text in texts.items():
        files["%s/%s" % (real, name)] = text if isinstance(text, dict) else text + "\n"


def host(files, listing=True):
    files = dict(files)
    if listing is True:
        files[BASE] = {"dir": [path.rsplit("/", 1)[1] for path in files if path.startswith(BASE + "/")]}
    elif listing is not None:
        files[BASE] = listing
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files})


def one(vendor, device, pci_class, **more):
    files = {}
    function(files, "0000:18:00.0", vendor=vendor, device=device, **dict(more, **{"class": pci_class}))
    return pci.scan(host(files))


def eight():
    files = {}
    for bus in range(8):
        function(files, "0000:%02x:00.0" % (0x18 + bus), above=("pci0000:15", "0000:15:%02x.0" % bus), driver="nvidia")
    for bus in range(8):
        function(files, "0000:15:%02x.0" % bus, above=("pci0000:15",), **PORT)
    return files


def test_eight_cards():
    section = pci.scan(host(eight()))
    assert section["scan"] == {"status": "ok", "detail": "16 functions"}
    assert section["timestamp"] == "2026-11-29T17:00:00Z"
    assert section["counts"]["nvidia"] == 8
    assert section["counts"]["amd"] == 0
    assert len(pci.accelerators(section, "nvidia")) == 8
    first = section["devices"][0]
    upstream = {"address": "0000:15:00.0", "width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0}
    assert first == {
        "address": "0000:18:00.0",
        "vendor": "10de",
        "device": "2330",
        "subsystem_vendor": "10de",
        "subsystem_device": "16c1",
        "class": "0x030200",
        "revision": "a1",
        "manufacturer": "nvidia",
        "role": "accelerator",
        "model": "H100 SXM5 80GB",
        "driver": "nvidia",
        "numa_node": 0,
        "pcie": {"width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0},
        "upstream": upstream,
    }


def test_only_the_manufacturers_asked_for():
    section = pci.scan(host(eight()), manufacturers=("amd", "no such one"))
    assert section["counts"] == {"amd": 0}
    assert section["devices"] == []
    assert pci.accelerators(section, "nvidia") == {"unknown": "not looked for"}


@pytest.mark.parametrize(
    "vendor, device, pci_class, role",
    [
        ("10de", "2330", "030200", "accelerator"),
        ("10de", "ffff", "030000", "accelerator"),
        ("10de", "1af1", "068000", "bridge"),
        ("10de", "ffff", "068000", "bridge"),
        ("10de", "22ba", "040300", "other"),
        ("1002", "74a1", "120000", "accelerator"),
        ("1002", "66a1", "030000", "accelerator"),
        ("1002", "740f", "038000", "accelerator"),
        ("1002", "164e", "030000", "other"),
        ("1002", "ab38", "040300", "other"),
        ("19e5", "d802", "120000", "accelerator"),
        ("19e5", "1711", "030000", "other"),
        ("19e5", "a250", "120000", "other"),
        ("19e5", "1822", "020000", "other"),
        ("cabc", "0370", "120000", "accelerator"),
        ("1d94", "6210", "068000", "accelerator"),
        ("1d94", "62b7", "0b4000", "accelerator"),
        ("1d94", "9999", "0b4000", "other"),
        ("1e3e", "0002", "120000", "accelerator"),
        ("9999", "0a01", "030000", "accelerator"),
        ("1ed5", "0327", "030000", "accelerator"),
        ("1ed5", "03ff", "040300", "other"),
        ("1ded", "6001", "030200", "accelerator"),
        ("1ded", "107f", "020000", "other"),
        ("1d22", "3685", "078000", "accelerator"),
        ("1d0f", "7364", "088000", "accelerator"),
        ("1d0f", "ec20", "020000", "other"),
        ("1da3", "1020", "120000", "accelerator"),
        ("8086", "0bd5", "038000", "accelerator"),
        ("8086", "4c8a", "030000", "other"),
        ("1ae0", "006f", "ff0000", "accelerator"),
        ("1ae0", "0042", "020000", "other"),
    ],
)
def test_roles(vendor, device, pci_class, role):
    section = one(vendor, device, pci_class)
    (entry,) = section["devices"]
    assert entry["role"] == role
    assert section["counts"][entry["manufacturer"]] == (1 if role == "accelerator" else 0)


def test_a_display_adapter_below_a_switch_of_its_own_maker_is_a_card():
    """A Radeon whose id is not in the table; integrated graphics hang on a port of the processor."""
    files, chain = {}, ["pci0000:00", "0000:00:01.1", "0000:01:00.0", "0000:02:00.0"]
    function(files, "0000:00:01.1", above=chain[:1], vendor="1022", device="14db", **{"class": "060400"})
    function(files, "0000:01:00.0", above=chain[:2], vendor="1002", device="1478", **{"class": "060400"})
    function(files, "0000:02:00.0", above=chain[:3], vendor="1002", device="1479", **{"class": "060400"})
    function(files, "0000:03:00.0", above=chain, vendor="1002", device="ffff", driver="amdgpu", **{"class": "030000"})
    function(files, "0000:03:00.1", above=chain, vendor="1002", device="ab30", driver="snd_hda_intel", **{"class": "040300"})
    function(files, "0000:0d:00.0", above=chain[:2], vendor="1002", device="164e", driver="amdgpu", **{"class": "030000"})
    section = pci.scan(host(files))
    assert {entry["address"]: entry["role"] for entry in section["devices"]} == {
        "0000:03:00.0": "accelerator", "0000:03:00.1": "other", "0000:0d:00.0": "other",
    }  # fmt: skip
    assert section["counts"]["amd"] == 1


def test_intel_cards_hang_on_a_port_and_integrated_graphics_on_none():
    """Their switch has the vendor id of the processor's ports: the link to the slot is the switch's, never the port's."""
    files, chain = {}, ("pci0000:26", "0000:26:01.0", "0000:27:00.0", "0000:28:01.0")
    function(files, "0000:00:02.0", above=("pci0000:00",), vendor="8086", device="4c8a", driver="i915", **{"class": "030000"})
    function(files, "0000:00:1f.3", above=("pci0000:00",), vendor="8086", device="a3f0", **{"class": "040300"})
    for number, address in enumerate(chain[1:]):
        function(files, address, above=chain[: number + 1], vendor="8086", device="4fa0", **{"class": "060400"})
    function(files, "0000:29:00.0", above=chain, vendor="8086", device="fffe", driver="xe", max_link_width="1", **{"class": "030000"})
    function(files, "0000:3a:00.0", above=("pci0000:39", "0000:39:01.0"), vendor="8086", device="0bd5", driver="vfio-pci", **{"class": "038000"})
    section = pci.scan(host(files))
    assert {entry["address"]: entry["role"] for entry in section["devices"]} == {
        "0000:00:02.0": "other", "0000:29:00.0": "accelerator", "0000:3a:00.0": "accelerator",
    }  # fmt: skip
    assert section["counts"]["intel"] == 2
    new, known = section["devices"][1:]
    assert (new["pcie"]["width_max"], new["upstream"]["address"], known["upstream"]["address"]) == (16, "0000:26:01.0", "0000:39:01.0")
    assert list(new["model"]) == ["unknown"] and known["model"] == "Max 1550"


@pytest.mark.parametrize(
    ("driver", "memory", "beside", "role"),
    [
        ("amdgpu", 8 << 30, "1002", "accelerator"),
        ("amdgpu", 8 << 30, None, "accelerator"),  # handed to a guest alone
        ("amdgpu", 2 << 30, "1002", "other"),
        ("amdgpu", 96 << 30, "1022", "other"),  # integrated, with much of the host's memory set aside
        ("amdgpu", "garbage", "1002", "other"),
        ("amdgpu", None, "1002", "other"),
        ("vfio-pci", 8 << 30, "1002", "other"),
        (None, 8 << 30, "1002", "other"),
    ],
)
def test_a_display_adapter_without_a_switch_is_a_card_by_its_driver_and_memory(driver, memory, beside, role):
    """A Radeon RX 580, or a newer one in a guest: the id is not in the table, and no switch of its maker is above it."""
    files, chain = {}, ("pci0000:00", "0000:00:01.1")
    function(files, "0000:00:01.1", above=chain[:1], vendor="1022", device="14db", **{"class": "060400"})
    function(files, "0000:03:00.0", above=chain, vendor="1002", device="fffe", driver=driver, **{"class": "030000"})
    if beside:
        function(files, "0000:03:00.2", above=chain, vendor=beside, device="1649", **{"class": "108000"})
    files["/sys/devices/%s/0000:03:00.0/mem_info_vram_total" % "/".join(chain)] = {"absent": True} if memory is None else "%s\n" % memory
    section = pci.scan(host(files))
    (entry,) = [e for e in section["devices"] if e["address"] == "0000:03:00.0"]
    assert entry["role"] == role and section["counts"]["amd"] == (1 if role == "accelerator" else 0)
    if role == "accelerator":
        assert list(entry["model"]) == ["unknown"] and entry["driver"] == "amdgpu"


@pytest.mark.parametrize(
    ("vendor", "pci_class", "driver", "count"),
    [
        ("1d94", "0b4000", "hycu", 1), ("1d94", "068000", "hydcu", 1), ("1d94", "0b4000", "ccp", 0), ("1d94", "060400", "pcieport", 0),
        ("1ded", "120000", "alixpu", 1), ("1ded", "020000", "erdma", 0), ("1d0f", "088000", "neuron", 1), ("1d0f", "020000", "ena", 0),
    ],
)  # fmt: skip
def test_a_new_card_of_another_class_is_counted_once_its_driver_has_it(vendor, pci_class, driver, count):
    section = one(vendor, "fffe", pci_class, driver=driver)
    assert sum(section["counts"].values()) == count


@pytest.mark.parametrize(
    "vendor, device, pci_class",
    [
        ("1d94", "1453", "060400"),
        ("1d94", "1456", "108000"),
        ("1ded", "8000", "060400"),
        ("1d0f", "8061", "010802"),
        ("1002", "14a0", "060400"),
        ("1a03", "2000", "030000"),
        ("8086", "1593", "020000"),
        ("8086", "4940", "0b4000"),
        ("8086", "0b25", "088000"),
    ],
)
def test_chipset_functions_of_the_same_vendor_are_not_listed(vendor, device, pci_class):
    section = one(vendor, device, pci_class)
    assert section["devices"] == []
    assert set(section["counts"].values()) == {0}


def test_a_new_card_of_a_known_class_is_counted_without_a_model():
    (entry,) = one("10de", "abcd", "030200")["devices"]
    assert entry["role"] == "accelerator"
    assert entry["model"] == {"unknown": "device id abcd is not in the table"}


def test_virtual_functions_are_shown_but_not_counted():
    files = {}
    function(files, "0000:18:00.0", driver="nvidia")
    function(files, "0000:18:00.4", physfn="../0000:18:00.0", driver="nvidia", current_link_width="0", current_link_speed="Unknown")
    section = pci.scan(host(files))
    assert section["counts"]["nvidia"] == 1
    assert [e["role"] for e in section["devices"]] == ["accelerator", "virtual_function"]
    assert section["devices"][1]["pcie"] == {"not_applicable": "a virtual function has no link of its own"}


def test_a_virtual_function_handed_to_a_guest_is_its_accelerator():
    section = one("1002", "74b5", "120000")
    assert section["counts"]["amd"] == 1
    assert section["devices"][0]["model"] == "Instinct MI300X VF"


def test_whether_virtual_could_not_be_read():
    files = eight()
    files["/sys/devices/pci0000:15/0000:15:00.0/0000:18:00.0/physfn"] = {"error": "EIO"}
    section = pci.scan(host(files))
    assert "0000:18:00.0/physfn" in section["counts"]["nvidia"]["unknown"]
    assert pci.accelerators(section, "nvidia") == section["counts"]["nvidia"]
    assert section["counts"]["amd"] == 0


@pytest.mark.parametrize("driver", ["nvidia", "vfio-pci", "nouveau", None])
def test_bound_driver(driver):
    assert one("10de", "2330", "030200", driver=driver)["devices"][0]["driver"] == driver


@pytest.mark.parametrize("text, value", [("1", 1), ("-1", {"unknown": "the firmware names no NUMA node (-1)"})])
def test_numa_node(text, value):
    assert one("10de", "2330", "030200", numa_node=text)["devices"][0]["numa_node"] == value


@pytest.mark.parametrize(
    "name, text, key, value",
    [
        ("current_link_width", "8", "width_current", 8),
        ("current_link_width", "0", "width_current", {"unknown": "no such link width: x0"}),
        ("current_link_width", "63", "width_current", {"unknown": "no such link width: x63"}),
        ("max_link_width", "255", "width_max", {"unknown": "no such link width: x255"}),
        ("current_link_speed", "2.5 GT/s PCIe", "speed_current_gts", 2.5),
        ("current_link_speed", "16 GT/s", "speed_current_gts", 16.0),
        ("max_link_speed", "Unknown", "speed_max_gts", {"unknown": "no link speed: 'Unknown'"}),
        ("max_link_speed", "Unknown speed", "speed_max_gts", {"unknown": "no link speed: 'Unknown speed'"}),
        ("max_link_width", {"absent": True}, "width_max", {"not_applicable": "0000:18:00.0 has no PCI Express link"}),
    ],
)
def test_link_values(name, text, key, value):
    assert one("10de", "2330", "030200", **{name: text})["devices"][0]["pcie"][key] == value


def test_the_weaker_end_is_visible():
    files = {}
    function(files, "0000:18:00.0", current_link_width="8")
    function(files, "0000:15:01.0", above=("pci0000:15",), max_link_width="8", current_link_width="8", max_link_speed="16.0 GT/s PCIe", **PORT)
    (entry,) = pci.scan(host(files))["devices"]
    assert (entry["pcie"]["width_max"], entry["upstream"]["width_max"], entry["upstream"]["speed_max_gts"]) == (16, 8, 16.0)


@pytest.mark.parametrize("above", [("pci0000:00",), ("LNXSYSTM:00", "VMBUS:00", "47505500-0001", "pci0001:00")])
def test_no_port_in_a_guest(above):
    files = {}
    function(files, "0001:00:00.0", above=above)
    assert pci.scan(host(files))["devices"][0]["upstream"] == {"not_applicable": "no port above 0001:00:00.0 (%s)" % above[-1]}


def test_switch_inside_an_amd_card_is_not_its_slot():
    files, chain = {}, ["pci0000:c0", "0000:c0:01.1", "0000:c9:00.0", "0000:ca:03.0"]
    function(files, "0000:ca:03.0", above=chain[:3], vendor="1000", device="c030", **{"class": "060400"})
    function(files, "0000:d3:00.0", above=chain, vendor="1002", device="14a0", current_link_width="8", **{"class": "060400"})
    function(files, "0000:d4:00.0", above=[*chain, "0000:d3:00.0"], vendor="1002", device="14a1", **{"class": "060400"})
    function(files, "0000:d5:00.0", above=[*chain, "0000:d3:00.0", "0000:d4:00.0"], vendor="1002", device="74a1", **{"class": "120000"})
    (entry,) = pci.scan(host(files))["devices"]
    assert entry["pcie"]["width_current"] == 8
    assert entry["upstream"]["address"] == "0000:ca:03.0"


def test_entries_that_are_no_links_leave_the_port_unknown():
    real = eight()
    files = {path.replace("/sys/devices/pci0000:15/0000:15:00.0", BASE): text for path, text in real.items() if "0000:18:00.0/" in path}
    (entry,) = pci.scan(host(files, {"dir": ["0000:18:00.0"]}))["devices"]
    assert entry["pcie"]["width_max"] == 16
    assert "unknown" in entry["upstream"]


@pytest.mark.parametrize(
    "listing, status",
    [({"error": "EACCES"}, "denied"), ({"hang": True}, "timeout"), ({"error": "EIO"}, "io_error"), ({"absent": True}, "absent"), (None, "not_recorded")],
)
def test_a_scan_that_cannot_list_is_unknown(listing, status):
    section = pci.scan(host({}, listing))
    assert section["scan"]["status"] == status
    assert all("unknown" in count for count in section["counts"].values())
    assert section["devices"] == []


def test_a_kernel_without_pci_has_none():
    section = pci.scan(host({"/sys/bus": {"dir": ["cpu", "platform", "virtio"]}}, {"absent": True}))
    assert section["scan"] == {"status": "ok", "detail": "this kernel has no PCI bus"}
    assert section["counts"]["nvidia"] == 0


def test_an_empty_bus_has_none():
    section = pci.scan(host({}, {"dir": []}))
    assert (section["scan"]["status"], section["counts"]["ascend"]) == ("ok", 0)


@pytest.mark.parametrize("entry", [{"error": "EIO"}, {"hang": True}, "garbage\n", "", "0x10"])
def test_a_function_that_cannot_be_read_leaves_every_count_unknown(entry):
    files = eight()
    files["/sys/devices/pci0000:15/0000:15:00.0/0000:18:00.0/vendor"] = entry
    section = pci.scan(host(files))
    assert section["scan"]["status"] == "partial"
    assert all("unknown" in count for count in section["counts"].values())
    assert len(section["devices"]) == 7


def test_a_function_that_went_away_is_named():
    files = eight()
    files["/sys/devices/pci0000:15/0000:15:00.0/0000:18:00.0/vendor"] = {"absent": True}
    section = pci.scan(host(files))
    assert section["counts"]["nvidia"] == 7
    assert section["scan"] == {"status": "ok", "detail": "16 functions; gone while being read: 0000:18:00.0"}


@pytest.mark.parametrize("name", ["device", "class"])
@pytest.mark.parametrize("entry", [{"error": "EACCES"}, "0xzz\n", {"hang": True}])
def test_identity_that_cannot_be_read(name, entry):
    files = eight()
    real = "/sys/devices/pci0000:15/0000:15:00.0/0000:18:00.0/"
    if name == "class":
        files[real + "device"] = "0xabcd\n"  # a device id of the table needs no class
    files[real + name] = entry
    section = pci.scan(host(files))
    assert "unknown" in section["counts"]["nvidia"]
    assert "unknown" in section["devices"][0]["role"]
    assert section["counts"]["amd"] == 0


def test_names_that_are_no_addresses_are_left_alone():
    section = pci.scan(host({}, {"dir": ["..", "hello", "0000:18:00.9", "10000:e1:00.0"]}))
    assert section["scan"]["status"] == "partial"
    assert "1 of 1 functions" in section["scan"]["detail"]
