# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of comparable tools report, on whole recorded nodes through the readers and all rules: each kind made impossible."""

from __future__ import annotations

import json

import amd_samples
import demo
import fault_nodes as f
import host_samples
import hygon_samples
import nine
import product_nodes
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES

H100, GB300 = "H100 SXM 80 GB", "GB300"


def node(product, change=None, cards=None):
    """The recording of a node. cards: changes its cards; change: the whole of it."""
    made, _adapters, _switches = product_nodes.part(product)
    if cards:
        cards(made)
    recorded = product_nodes.recording(product, made)
    if change:
        change(recorded)
    return recorded


def judge(recorded, **variables):
    return product_nodes.judged(recorded, **variables)[0]


def roots(recorded, **variables):
    """(rule, level, id) above info of what nothing else explains."""
    told = judge(recorded, **variables).findings
    return {(one["rule"], one["level"], one["subject"]["id"]) for one in told if one["level"] != "info" and not one["caused_by"]}


def answers(recorded, *words):
    """The recorded answer of a command that begins so."""
    return next(entry for entry in recorded["commands"] if entry["argv"][: len(words)] == list(words))


def kernel(*lines):
    def change(recorded):
        log = answers(recorded, "journalctl", "-k")
        log["stdout"] += "".join("[  %d.500000] node kernel: %s\n" % (4000 + number, line) for number, line in enumerate(lines))

    return change


def service(name, active, sub):
    def change(recorded):
        entry = answers(recorded, "systemctl", "show", "--property=Id,LoadState,ActiveState,SubState")
        blocks = entry["stdout"].split("\n\n")
        state = "Id=%s.service\nLoadState=loaded\nActiveState=%s\nSubState=%s" % (name, active, sub)
        entry["stdout"] = "\n\n".join(state if name + ".service" in block else block for block in blocks)

    return change


def files(**changes):
    return lambda recorded: recorded["files"].update(changes)


# Healthy nodes that were called bad


@pytest.mark.parametrize("product", [H100, "H200 SXM", "B200", "A100 SXM 80 GB", "H100 PCIe"])
def test_a_memory_exchange_that_is_down_on_purpose_is_no_link_fault(product):
    """1 (NVS#1471), 2 (aicr#2641), 12 (gpu-op#610): needed only where a memory domain spans nodes."""
    assert roots(node(product, service("nvidia-imex", "inactive", "dead"))) == set()


@pytest.mark.parametrize("present", [True, False])
def test_the_optional_device_of_a_subnet_manager_is_not_asked_for(present):
    """6 (NVS#1663, #1716): GB300 nodes were bad without /dev/infiniband/issm0."""
    names = ["uverbs%d" % n for n in range(4)] + ["umad%d" % n for n in range(4)] + (["issm%d" % n for n in range(4)] if present else [])

    def change(recorded):
        recorded["files"]["/dev"]["dir"].append("infiniband")
        recorded["files"]["/dev/infiniband"] = {"dir": names}

    assert roots(node(GB300, change)) == set()


def second_ports(recorded, state="1: DOWN", physical="2: Polling"):
    """Every adapter has a second port, on which there is no cable."""
    for path, said in list(recorded["files"].items()):
        if path.endswith("/ports") and "/infiniband/" in path:
            recorded["files"][path] = {"dir": ["1", "2"]}
        if "/ports/1/" in path or path.endswith("/ports/1"):
            recorded["files"][path.replace("/ports/1", "/ports/2")] = said
    for path in list(recorded["files"]):
        if path.endswith("/ports/2/state"):
            recorded["files"][path] = state + "\n"
        if path.endswith("/ports/2/phys_state"):
            recorded["files"][path] = physical + "\n"


def test_second_ports_without_a_cable_are_no_fault():
    """7 (NVS#1361): the second port of dual-port adapters was called fatal."""
    assert roots(node(H100, second_ports)) == set()
    # unless the site says that they are cabled
    declared = {"accelerator_policy_rdma_port_state_expected": ["mlx5_*"]}
    assert {rule for rule, _level, _id in roots(node(H100, second_ports), **declared)} == {"rdma-port-state"}


def test_one_card_alone_has_no_fabric_to_join():
    """9 (gpud#1140, #1147): "not supported" of a single card was unhealthy."""
    part = product_nodes.nvidia("H100 PCIe", 1, fabric="Not Supported", status="N/A")
    assert roots(product_nodes.recording("H100 PCIe", part)) == set()


def test_an_event_and_the_remap_that_it_told_of_are_one():
    """14 (gpud#987): the kernel's line and the row remap that waits were counted as two faults."""
    event = "NVRM: Xid (PCI:0000:28:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate."
    recorded = node(H100, kernel(event), f.xml(remapped_row_pending="Yes"))
    assert roots(recorded) == {("row-remap-pending", "fail", "nvidia:1")}


BUSY = {"rc": 1, "stdout": "", "stderr": "Error: the requested resource is in use by another client, try again later\n"}


@pytest.mark.parametrize("maker", f.PRODUCTS)
def test_a_tool_that_is_busy_is_no_broken_card(maker):
    """17 (NVS#1363, #1364): "resource in use" was fatal hardware. It is not read, so the node is neither condemned nor accepted."""

    def cards(part):
        part.commands = [dict({key: entry[key] for key in ("argv", "env") if key in entry}, **BUSY) for entry in part.commands]
        part.natives = {key: {"missing": "no library"} for key in part.natives}

    judged = judge(node(f.PRODUCTS[maker], None, cards))
    named = [one for one in judged.findings if one["level"] == "fail" and one["subject"]["kind"] in ("package", "die")]
    assert named == [] and judged.verdict != "accepted"


def test_a_slot_with_fewer_lanes_by_design_is_no_fault():
    """20 (aws-k8s-tester#806): a platform whose slots have eight lanes failed for every card."""
    made = product_nodes.nvidia("L4", 4, width="8x")
    speed = {"now": (8, 16), "most": (8, 16)}

    def change(recorded):
        for number in range(4):
            address = made.addresses[number]
            port, real = "0000:%s:01.0" % address[5:7], "/sys/devices/pci%s/0000:%s:01.0" % (address[:7], address[5:7])
            for name in ("current_link_width", "max_link_width"):
                recorded["files"]["%s/%s" % (real, name)] = "8\n"
            recorded["files"]["%s/%s/current_link_width" % (real, address)] = "8\n"
            path, space = ["pci%s" % address[:7], port], f.config_space.space
            group = 2 * number + 1
            f.config_space.add(recorded["files"], path, space("root_port", acs=["SrcValid"], **speed), number % 2, iommu=(group, "identity"))
            slow = space(now=(8, 16), most=(16, 16))
            f.config_space.add(recorded["files"], [*path, address], slow, number % 2, iommu=(group + 1, "identity"), resource=made.aperture)

    recorded = product_nodes.recording("L4", made)
    change(recorded)
    assert roots(recorded) == set()


@pytest.mark.parametrize("name", ["rocep%ds0", "ibp%ds0f0", "rail-%d", "bnxt_re%d"])
def test_no_name_of_an_adapter_is_expected(name):
    """23 (soperator#1711): a check looked for mlx5_0 to mlx5_7."""
    text = json.dumps(node(H100))
    for rail in range(8):
        text = text.replace("mlx5_%d" % rail, name % rail)
    renamed, usual = judge(json.loads(text)), judge(node(H100))
    assert renamed.told() == usual.told() and renamed.outcome("product-adapters") == renamed.outcome("rdma-port-state") == "passed"


@pytest.mark.parametrize("product", [H100, "MI300X"])
def test_idle_links_at_their_lowest_speed_are_healthy(product):
    """30 (hwloc#653, nvtop#6), 68 (nvtop#138): idle cards lower the speed of their link, and never its width."""

    def change(recorded):
        for path in list(recorded["files"]):
            if path.startswith("/sys/devices/pci0000:") and path.endswith("/current_link_speed"):
                recorded["files"][path] = "2.5 GT/s PCIe\n"

    cards = f.xml(current_link_gen=1) if product == H100 else f.table("metric", pcie={"speed": amd_samples.unit(2.5, "GT/s")})
    assert roots(node(product, change, cards)) == set()


@pytest.mark.parametrize(("speed", "generation"), [("2.5", 1), ("5.0", 2), ("8.0", 3), ("16.0", 4), ("32.0", 5), ("64.0", 6)])
def test_the_generation_of_a_link_comes_from_a_table(speed, generation):
    """68 (nvtop#138): it was computed from the rate, and came out wrong."""
    made, _adapters, _switches = product_nodes.part("MLU590-M9")
    made.speed = speed + " GT/s PCIe"
    sections = product_nodes.read(product_nodes.recording("MLU590-M9", made))
    assert {card["pcie"]["generation_max"] for card in sections["accelerators.cambricon"]["devices"]} == {generation}


def test_a_node_without_an_adapter_is_no_fault():
    """32a (gpud#140): no InfiniBand on the host was unhealthy."""
    recorded = node("H100 PCIe")
    assert recorded["files"]["/sys/class/infiniband"] == {"dir": []} and roots(recorded) == set()


# Bad nodes that passed


@pytest.mark.parametrize("said", ["NVML: Unable to retrieve NvLink information as all links are inActive", None])
def test_every_link_down_does_not_pass(said):
    """33 (DCGM#198), 138 (gpud#1085): told as a sentence in place of the links, or link by link."""

    def silent(text):
        cards = [line for line in text.splitlines() if line.startswith("GPU ")]
        return "".join("%s\n%s\n" % (card, said or "\n".join("\t Link %d: <inactive>" % n for n in range(18))) for card in cards)

    found = roots(node(H100, None, lambda part: f.tell(part, "nvlink -s", silent)))
    assert found == {("links-up", "fail", "nvidia:%d" % n) for n in range(8)}


@pytest.mark.parametrize(("loaded", "level"), [(True, "warn"), (False, "info")])
def test_the_device_node_that_cuda_needs_is_looked_for(loaded, level):
    """35 (gpu-op#2685): the node was ready without /dev/nvidia-uvm. A node that never ran CUDA has not made it yet."""

    def change(recorded):
        recorded["files"]["/sys/module"]["dir"] += ["nvidia_uvm"] if loaded else []

    judged = judge(node(H100, change, lambda part: nine.lose(part, "/dev/nvidia-uvm")))
    assert [(one["rule"], one["level"]) for one in judged.findings if one["rule"] == "unified-memory"] == [("unified-memory", level)]
    assert judge(node(H100)).outcome("unified-memory") == "passed"


def test_cards_that_are_hidden_from_the_session_are_not_gone():
    """111 (deepops): device rules of the session's cgroup hid cards, and the node was called broken."""

    def hide(recorded, denied="/dev/nvidia7\n"):
        paths = ["/dev/nvidia%d" % n for n in range(8)] + ["/dev/nvidiactl"]
        recorded["commands"].append({"argv": ["find", *paths, "-maxdepth", "0", "!", "-writable"], "stdout": denied})

    judged = judge(node(H100, hide, f.lose), accelerator_expected_count=8)
    assert [(one["rule"], one["level"]) for one in judged.findings if one["level"] != "info"] == [("device-access", "warn")]
    assert judged.verdict == "incomplete" and judged.outcome("detection-agrees") == judged.outcome("accelerator-count") == "unknown"
    # a session that may open all of them sees a card that is gone
    assert roots(node(H100, lambda recorded: hide(recorded, ""), f.lose)) == {("detection-agrees", "fail", "nvidia")}


def port(rail, **words):
    """The port of one adapter tells this in place of what it told."""

    def change(recorded):
        for name, word in words.items():
            (path,) = [path for path in recorded["files"] if path.endswith("/mlx5_%d/ports/1/%s" % (rail, name))]
            recorded["files"][path] = word + "\n"

    return change


@pytest.mark.parametrize(("state", "physical"), [("1: DOWN", "2: Polling"), ("1: DOWN", "3: Disabled"), ("2: INIT", "5: LinkUp"), ("1: DOWN", "7: <unknown>")])
def test_a_port_that_only_polls_is_seen(state, physical):
    """37 (gpud#482): the state "Polling" was not known, and the port passed."""
    assert roots(node(H100, port(3, state=state, phys_state=physical))) == {("rdma-port-state", "fail", "0000:4c:00.0")}


def test_a_hung_card_with_clean_memory_does_not_pass():
    """54 (sglang#31068), 87 (NVS#1576): its memory is free, and who asks it waits for ever."""
    hung = "INFO: task python3:4242 blocked for more than 122 seconds."
    judged = judge(node(H100, kernel("NVRM: Xid (PCI:0000:28:00): 119, pid=4242, name=python3, Timeout after 45s of waiting for RPC response", hung)))
    assert "nvidia:1" in {one["subject"]["id"] for one in judged.findings if one["level"] == "fail"}

    def silent(part):
        part.commands = [{"argv": entry["argv"], "hang": True} for entry in part.commands]

    assert judge(node(H100, None, silent)).verdict in ("incomplete", "rejected")


@pytest.mark.parametrize("maker", ["nvidia", "amd", "ascend", "hygon"])
def test_telemetry_that_is_lost_is_no_health(maker):
    """40 (NVS#1748), 46 (kdp#2037), 142: a card that stalls its tool is never accepted."""

    def silent(part):
        part.commands = [dict({key: entry[key] for key in ("argv", "env") if key in entry}, hang=True) for entry in part.commands]

    judged = judge(node(f.PRODUCTS[maker], None, silent))
    assert judged.verdict != "accepted" and judged.outcome("ecc-uncorrected") != "passed"


def test_a_chip_of_the_number_three_is_no_atlas_a3():
    """57b (awesome-ascend-skills#18): 910B3 was taken for an Atlas A3, whose packages have two dies."""
    devices = product_nodes.read(node("Ascend 910B3"))["accelerators.ascend"]["devices"]
    assert [(device["kind"], device["extra"]["family"]) for device in devices] == [("package", "910B")] * 8


# What changes between two looks


def upgraded(version, loaded):
    """The driver's package is of one version, its module in the kernel of another."""

    def change(recorded):
        answers(recorded, "modinfo", "-F", "version", "nvidia")["stdout"] = version + "\n"
        if loaded:
            text = json.dumps(recorded).replace(host_samples.DRIVER, version)
            recorded.update(json.loads(text))

    return change


def test_no_version_is_remembered_while_a_driver_is_upgraded():
    """73 (NVS#1362): the version of the driver was cached, and an upgrade made it false."""

    def told(recorded):
        sections = product_nodes.read(recorded)
        driver, host = sections["accelerators.nvidia"]["driver"], sections["host"]["modules"]["nvidia"]
        return driver["version"], driver["module_version"], host["version"]

    before, between, after = node(H100), node(H100, upgraded("580.95.05", False)), node(H100, upgraded("580.95.05", True))
    assert told(before) == told(between) == (host_samples.DRIVER,) * 3  # what is loaded counts, not what lies on the disk
    assert told(after) == ("580.95.05",) * 3
    assert roots(before) == roots(after) == set()
    assert roots(between) == {("driver-on-disk", "warn", "node")}


def test_old_adapters_without_files_of_their_link_are_no_fault():
    """76 (mej/nhc#90): older adapters have no files of their PCIe link."""

    def change(recorded):
        for path in list(recorded["files"]):
            if "/0000:1c:01.0/0000:1c:00.0/" in path and path.endswith(("_link_width", "_link_speed")):
                recorded["files"][path] = {"absent": True}

    assert roots(node(H100, change)) == set()


def test_a_cache_on_a_volume_of_local_drives_is_local():
    """69 (gpud#1107): with LVM no block device was found."""
    volume = "41 27 253:0 / /data rw,relatime shared:20 - xfs /dev/mapper/data-cache rw"
    mounts = host_samples.MOUNTS.replace("41 27 259:3 / /data rw,relatime shared:20 - xfs /dev/nvme0n1p1 rw,attr2", volume)
    changes = {
        "/proc/1/mountinfo": mounts, "/sys/dev/block/253:0": {"link": "../../devices/virtual/block/dm-0"},
        "/sys/block/dm-0/slaves": {"dir": ["nvme0n1p1"]}, "/sys/block/nvme0n1/slaves": {"dir": []},
    }  # fmt: skip
    recorded = host_samples.on(node("H100 PCIe"), changes)
    section = MODULES["host_info"].collect(ReplayHost(recorded), product_nodes.OPTIONS)["storage"]
    assert [disk["name"] for disk in section["kv_cache"]["disks"]] == ["nvme0n1"]


@pytest.mark.parametrize("unit", ["DCU", "HCU"])
def test_a_maker_that_renames_its_parts_is_read_by_both_names(unit):
    """79 (HAMi-WebUI#302, HAMi#2969): Hygon calls its DCU a HCU now."""
    part = nine.hygon(8, **{hygon_samples.ALL: hygon_samples.cards(8, unit=unit), "": hygon_samples.table(8, unit)})
    sections = product_nodes.read(product_nodes.recording("K100_AI", part))["accelerators.hygon"]
    assert sections["detection"]["state"] == "ok" and {card["utilization_percent"] for card in sections["devices"]} == {0}


@pytest.mark.parametrize("maker", f.PRODUCTS)
def test_a_tool_that_prints_nothing_is_told(maker):
    """81 (torch_musa#79, #73), 120 (gpustack#1432): zero bytes and exit 0, in a container without the vendor's runtime."""

    def cards(part):
        part.commands = [dict({key: entry[key] for key in ("argv", "env") if key in entry}, rc=0, stdout="") for entry in part.commands]
        part.natives = {key: {"missing": "no library"} for key in part.natives}

    if maker == "amd":
        pytest.skip("its driver's files tell the cards all the same")
    detection = product_nodes.read(node(f.PRODUCTS[maker], None, cards))["accelerators." + maker]["detection"]
    assert detection["state"] == "unavailable" and detection["reason"]


def test_a_symbol_that_is_missing_is_named_and_no_card_is():
    """77 (mlu-exporter#3): library and tool of two versions looked like a node without cards."""
    said = "cnmon: symbol lookup error: libcndev.so: undefined symbol: cndevGetMemEccCounter\n"

    def cards(part):
        part.commands = [{"argv": entry["argv"], "rc": 127, "stderr": said} for entry in part.commands]

    detection = product_nodes.read(node("MLU370-X8", None, cards))["accelerators.cambricon"]["detection"]
    assert detection["state"] == "unavailable" and "cndevGetMemEccCounter" in detection["reason"]


def test_errors_of_a_file_system_before_this_start_condemn_nobody():
    """137 (gpud#1020): a failure of a disk from before the last start."""
    changes = {"/sys/fs/ext4/md0/errors_count": "4\n", "/sys/fs/ext4/md0/last_error_time": "%d\n" % host_samples.seconds("2026-11-01T09:00:00Z")}
    assert roots(node("H100 PCIe", files(**changes))) == set()
    later = changes | {"/sys/fs/ext4/md0/last_error_time": "%d\n" % host_samples.seconds("2026-11-29T09:00:00Z")}
    assert {rule for rule, _level, _id in roots(node("H100 PCIe", files(**later)))} == {"file-system-errors"}


def test_a_reason_says_which_card_and_what_is_to_be_done():
    """138 (gpud#604, #1133): "unhealthy" did not say that a card is lost or asks for a reset."""
    asked = judge(node(H100, None, f.xml(gpu_recovery_action="Reset")))
    (one,) = [one for one in asked.findings if one["rule"] == "recovery-action"]
    assert one["subject"]["id"] == "nvidia:1" and "reset" in one["summary"].lower() and one["remedy"]
    lost = judge(node(H100, None, f.lost))
    (one,) = [one for one in lost.findings if one["rule"] == "device-lost"]
    assert "lost" in (one["summary"] + one["remedy"]).lower()


def test_judging_the_same_files_again_says_the_same():
    """129 (SB#626), 16 (kdp#234): repeated diagnosis of one file flipped nodes."""
    sections = product_nodes.read(node(H100, None, f.xml(remapped_row_pending="Yes")))
    first, again = (demo.Judged("node", sections, {}) for _twice in range(2))
    assert first.told() == again.told() and first.verdict == again.verdict == "rejected"


# What a preflight that was read line by line does wrong


def test_a_card_of_another_generation_makes_a_mixed_node():
    """Infera W11: the last card stood for the node, so one of another generation was never seen."""

    other = f.table("static", asic={"market_name": "AMD Instinct MI300A", "device_id": "0x74a0", "target_graphics_version": "gfx942"})
    assert ("mixed-models", "fail", "amd") in roots(node("MI300X", None, other))


def test_firmware_of_one_card_is_seen_whichever_way_it_differs():
    """Infera W39: the lowest version of all cards was shown, which hides one that is newer."""

    def newer(part):
        f.tell(part, "firmware --json", lambda text: text.replace('"fw_version": "184"', '"fw_version": "190"', 1), "amd-smi")

    assert roots(node("MI300X", None, newer)) == {("firmware-mixed", "warn", "amd:0")}


@pytest.mark.parametrize("kind", ["tcp", "rdma", "fc"])
def test_a_drive_over_a_fabric_is_no_local_drive(kind):
    """Infera W32: its name begins with nvme as well."""
    changes = {"/sys/class/nvme/nvme0/transport": kind + "\n"}
    recorded = host_samples.on(node("H100 PCIe"), changes)
    sections = dict(product_nodes.read(recorded))
    told = demo.Judged("node", sections, {})
    assert {one["level"] for one in told.findings if one["rule"] == "kv-cache-path"} == {"fail"}


def test_every_node_of_a_kind_alike_and_low_is_found_without_a_neighbor():
    """Infera W16: a power cap on all cards of all nodes is seen by no comparison."""
    part = product_nodes.nvidia(H100, 8, cap="450.00 W")
    found = roots(product_nodes.recording(H100, part))
    assert found == {("power-limit", "warn", "nvidia:%d" % n) for n in range(8)}


def test_a_slow_driver_is_no_node_without_cards():
    """Infera W38: a tool that took longer than five seconds looked like missing cards."""

    def slow(part):
        part.commands = [{"argv": entry["argv"], "hang": True} for entry in part.commands]
        part.driver = None

    judged = judge(node("MI300X", None, slow))
    assert judged.outcome("no-accelerator") == "passed" and judged.verdict in ("incomplete", "rejected")
