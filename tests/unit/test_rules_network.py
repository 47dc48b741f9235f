# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about ports of network adapters, asked about nodes that were read from recorded files."""

from __future__ import annotations

import network_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import network_devices
from health_nodes import UNREAD, ask

PORT = "/sys/class/infiniband/mlx5_3/ports/1/"
PLACE = "0000:4a:00.0"  # of the adapter with that port
RULES = (
    "rdma-port-state", "rdma-port-speed", "rdma-port-errors", "roce-address", "bond-members", "interface-state", "interface-speed", "interface-mtu",
)  # fmt: skip


def section(files):
    recorded = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": samples.commands(), "host": {}}
    return network_devices.collect(ReplayHost(recorded))


def told(rule, files, **policy):
    """{(subject, outcome, level)}."""
    policy = {"accelerator_policy_%s_%s" % (rule.replace("-", "_"), key): value for key, value in policy.items()}
    return set(ask(rule, {"network_devices": section(files)}, **policy))


def words(rule, files, **policy):
    return {outcome for _subject, outcome, _level in told(rule, files, **policy)}


@pytest.mark.parametrize("ethernet", [True, False])
def test_a_healthy_node(ethernet):
    files = samples.bond(samples.node(ethernet=ethernet))
    for rule in RULES:
        expected = {"not_applicable"} if rule == "roce-address" and not ethernet else {"passed"}
        expected = {"not_applicable"} if rule == "interface-speed" and not ethernet else expected
        assert words(rule, files) <= expected | {"not_applicable"}, rule


def test_nothing_read_is_unknown():
    for rule in RULES:
        assert words(rule, {}) == {"unknown"}, rule


def test_a_node_without_rdma_and_bonds():
    files = samples.node(rails=0)
    for rule in ("rdma-port-state", "rdma-port-speed", "rdma-port-errors", "roce-address", "bond-members", "interface-speed", "interface-mtu"):
        assert words(rule, files) == {"not_applicable"}, rule
    assert words("rdma-port-state", files, expected="mlx5_*") == {"found"}


def port(state, physical, **more):
    files = samples.node()
    files.update({PORT + "state": state + "\n", PORT + "phys_state": physical + "\n"}, **more)
    return files


def test_one_port_of_eight_is_down():
    down = port("1: DOWN", "2: Polling")
    assert told("rdma-port-state", down) == {(PLACE, "found", None)}
    # what the site expects stands over what the node's ports have in common
    assert words("rdma-port-state", down, expected="mlx5_0,mlx5_1") == {"passed"}
    assert told("rdma-port-state", down, expected="mlx5_*") == {(PLACE, "found", None)}
    assert told("rdma-port-state", down, expected="mlx5_3/1") == {(PLACE, "found", None)}
    assert ("n1", "found", None) in told("rdma-port-state", down, expected="mlx5_0,ionic_*")


def test_half_of_the_ports_are_down():
    files = samples.node(rails=4)
    for number in (1, 3):
        files["/sys/class/infiniband/mlx5_%d/ports/1/state" % number] = "1: DOWN\n"
        files["/sys/class/infiniband/mlx5_%d/ports/1/phys_state" % number] = "3: Disabled\n"
    assert words("rdma-port-state", files) == {"passed"}
    for number in (0, 2):
        files["/sys/class/infiniband/mlx5_%d/ports/1/state" % number] = "1: DOWN\n"
        files["/sys/class/infiniband/mlx5_%d/ports/1/phys_state" % number] = "3: Disabled\n"
    assert told("rdma-port-state", files) == {("n1", "found", "warn")}


@pytest.mark.parametrize("state", ["1: DOWN", "2: INIT", "3: ARMED"])
def test_a_link_that_is_up_with_a_port_that_is_not(state):
    files = samples.node(rails=1, ethernet=False, state=state)
    files["/sys/class/infiniband/mlx5_0/ports/1/sm_lid"] = "0x0\n"
    assert told("rdma-port-state", files) == {("0000:1a:00.0", "found", None)}


def test_a_state_that_is_not_told_is_unknown():
    assert told("rdma-port-state", port("garbage", "5: LinkUp")) == {(PLACE, "unknown", None)}
    files = samples.node()
    files["/sys/class/infiniband/mlx5_3/ports"] = {"error": "EIO"}
    for rule in ("rdma-port-state", "rdma-port-speed", "rdma-port-errors", "roce-address"):
        assert (PLACE, "unknown", None) in told(rule, files), rule
    # a port that was not read may be the one that is expected
    assert words("rdma-port-state", files, expected="mlx5_3") == {"unknown"}


def test_one_port_is_slower_than_its_like():
    files = samples.node()
    files[PORT + "rate"] = "200 Gb/sec (4X HDR)\n"
    assert told("rdma-port-speed", files) == {(PLACE, "found", None)}
    assert words("rdma-port-speed", files, expected="mlx5_3=200, mlx5_*=400") == {"passed"}
    files[PORT + "rate"] = "fast\n"
    assert told("rdma-port-speed", files) == {(PLACE, "unknown", None)}


def test_all_ports_are_slower_than_the_site_says():
    files = samples.node(rails=2, rate="100 Gb/sec (4X EDR)")
    assert words("rdma-port-speed", files) == {"passed"}
    assert len(told("rdma-port-speed", files, expected=["mlx5_*=200"])) == 2
    assert words("rdma-port-speed", files, expected=["mlx5_*"]) == words("rdma-port-speed", files, expected=["mlx5_*=nan"]) == {"unknown"}
    assert words("rdma-port-speed", samples.node(rails=1)) == {"not_applicable"}
    assert words("rdma-port-speed", samples.node(rails=1, state="1: DOWN")) == {"not_applicable"}


@pytest.mark.parametrize(
    "counter, value, outcomes",
    [
        ("link_downed", "255", {"found"}),
        ("link_downed", "254", {"passed"}),
        ("symbol_error", "65535", {"found"}),
        ("symbol_error", "255", {"passed"}),
        ("port_rcv_errors", "255", {"passed"}),
        ("symbol_error", "N/A (no PMA)", {"unknown"}),
    ],
)
def test_error_counters(counter, value, outcomes):
    files = samples.node()
    files[PORT + "counters/" + counter] = value + "\n"
    assert words("rdma-port-errors", files) == outcomes


def test_how_often_a_link_may_go_down_is_the_sites():
    files = samples.node()
    files[PORT + "counters/link_downed"] = "12\n"
    assert words("rdma-port-errors", files) == {"passed"}
    assert told("rdma-port-errors", files, link_downed=10) == {(PLACE, "found", None)}
    uncounted = samples.node(rails=1)
    uncounted["/sys/class/infiniband/mlx5_0/ports/1/counters"] = samples.ABSENT
    assert words("rdma-port-errors", uncounted) == {"not_applicable"}


def without_address(files, rail):
    for index in (2, 3):
        files["/sys/class/infiniband/mlx5_%d/ports/1/gids/%d" % (rail, index)] = ":".join(["0000"] * 8)
    return files


def test_a_roce_port_without_an_address():
    assert told("roce-address", without_address(samples.node(), 3)) == {(PLACE, "found", None)}
    # of two, the other may be for something else
    assert told("roce-address", without_address(samples.node(rails=2), 1)) == {("0000:2a:00.0", "found", "info")}
    assert told("roce-address", without_address(samples.node(rails=1), 0)) == {("n1", "found", None)}
    files = samples.node()
    files[PORT + "gids"] = {"error": "EIO"}
    assert told("roce-address", files) == {(PLACE, "unknown", None)}


@pytest.mark.parametrize("path, content", [("gids/0", "zz\n"), ("gid_attrs/types/1", {"error": "EINVAL"}), ("gid_attrs/types/1", samples.ABSENT)])
def test_a_gid_that_is_not_understood_is_no_missing_address(path, content):
    files = without_address(samples.node(), 3)
    files[PORT + path] = content
    assert told("roce-address", files) == {(PLACE, "unknown", None)}


def test_roce_ports_whose_address_is_elsewhere():
    # What pods and guests get has the addresses, or what the interface belongs to: a virtual switch, the interface of a guest's hypervisor.
    functions = samples.adapter(without_address(samples.node(rails=1), 0), 1, virtual=True)
    assert told("roce-address", functions) == {("n1", "found", "info")}
    below = without_address(without_address(samples.node(rails=2), 0), 1)
    below["/sys/class/net/rdma0/master"] = {"link": "../../../virtual/net/switch0"}
    assert told("roce-address", below) == {("n1", "found", None)}
    below["/sys/class/net/rdma1/master"] = {"link": "../../../virtual/net/switch0"}
    assert told("roce-address", below) == {("n1", "found", "info")}


@pytest.mark.parametrize("links, outcomes", [(("up", "up"), {"passed"}), (("up", "down"), {"found"}), (("going back", "up"), {"found"})])
def test_members_of_a_bond(links, outcomes):
    assert words("bond-members", samples.bond(samples.node(rails=2), links=links)) == outcomes


def test_a_bond_that_does_not_look_at_links():
    files = samples.bond(samples.node(rails=2))
    files["/sys/class/net/rdma1/operstate"] = "down\n"
    assert told("bond-members", files) == {("0000:2a:00.0", "found", None)}


def test_bonds_that_are_not_whole():
    one = samples.bond(samples.node(rails=2), members=("rdma0",), links=("up",))
    assert told("bond-members", one) == {("n1", "found", "warn")}
    assert told("bond-members", one, expected=2) == {("n1", "found", None)}
    assert words("bond-members", one, expected=1) == {"passed"}
    assert words("bond-members", samples.bond(samples.node(rails=2), members=(), links=())) == {"not_applicable"}
    directory = "/etc/sysconfig/network-scripts"
    one.update({directory: {"dir": ["ifcfg-x"]}, directory + "/ifcfg-x": "DEVICE=rdma1\nMASTER=bond0\n"})
    assert told("bond-members", one) == {("0000:2a:00.0", "found", None)}
    for path, content in (("bond0/bonding/slaves", {"error": "EIO"}), ("rdma1/bonding_slave/mii_status", {"error": "EIO"})):
        unread = samples.bond(samples.node(rails=2))
        unread["/sys/class/net/" + path] = content
        assert words("bond-members", unread) == {"unknown"}


def plain(count=4, **changes):
    """Equal interfaces that no RDMA device is at."""
    files = samples.bare()
    for number in range(count):
        address = "0000:%02x:00.0" % (0x41 + number)
        bus, name = "/sys/bus/pci/devices/" + address, "data%d" % number
        samples.interface(files, name, "../../devices/pci0000:40/" + address, index=number)
        files.update({bus + "/driver": {"link": "../../../../bus/pci/drivers/ice"}, bus + "/vendor": "0x8086\n", bus + "/device": "0x1592\n"})
        files.update({bus + "/numa_node": "0\n", bus + "/physfn": samples.ABSENT})
    files.update({"/sys/class/net/" + path.replace("__", "/"): value for path, value in changes.items()})
    files["/sys/class/infiniband"] = samples.ABSENT
    return files


def test_interfaces_that_are_down():
    assert told("interface-state", plain(data2__operstate="down\n")) == {("0000:43:00.0", "found", None)}
    assert words("interface-state", plain(2, data1__operstate="down\n")) == {"passed"}
    assert words("interface-state", plain(2, data1__operstate="down\n"), expected="data*") == {"found"}
    assert words("interface-state", plain(2), expected="data*") == {"passed"}
    assert told("interface-state", plain(2), expected="data9") == {("n1", "found", None)}
    assert words("interface-state", plain(data2__operstate={"error": "EIO"})) == {"unknown"}


def test_an_interface_whose_driver_tells_no_state():
    files = plain(data2__operstate="unknown\n")
    assert words("interface-state", files) == {"passed"}
    assert told("interface-state", files, expected="data*") == {("0000:43:00.0", "unknown", None)}
    assert words("interface-state", plain(data2__operstate="lowerlayerdown\n"), expected="data*") == {"found"}


def test_interfaces_that_are_slow():
    slow = plain(data2__speed="100000\n")
    assert told("interface-speed", slow) == {("0000:43:00.0", "found", None)}
    assert words("interface-speed", slow, expected="data*=100") == {"passed"}
    assert words("interface-speed", plain(2), expected="data*=800") == {"found"}
    assert words("interface-speed", plain(data2__speed={"error": "EIO"})) == {"unknown"}
    assert words("interface-speed", plain(data2__speed={"error": "EINVAL"})) == {"passed"}  # no link is another rule's


def test_adapters_of_another_network_are_alike():
    files = samples.node(rails=10)
    for rail in (8, 9):
        files["/sys/class/infiniband/mlx5_%d/ports/1/rate" % rail] = "100 Gb/sec (4X EDR)\n"
        files["/sys/class/net/rdma%d/mtu" % rail] = "1500\n"
    assert {level for _subject, _outcome, level in told("rdma-port-speed", files)} == {"warn"}
    assert {level for _subject, _outcome, level in told("interface-mtu", files)} == {"info"}
    expected = "mlx5_8=100,mlx5_9=100,mlx5_*=400"
    assert words("rdma-port-speed", files, expected=expected) == {"passed"}
    files["/sys/class/infiniband/mlx5_9/ports/1/rate"] = "50 Gb/sec (1X HDR)\n"
    assert told("rdma-port-speed", files) == {("0000:9a:00.0", "found", None), ("0000:aa:00.0", "found", None)}
    assert told("rdma-port-speed", files, expected=expected) == {("0000:aa:00.0", "found", None)}


def test_the_mtu_of_rails_and_bonds():
    files = samples.bond(samples.node())
    files["/sys/class/net/rdma3/mtu"] = "1500\n"
    assert told("interface-mtu", files) == {(PLACE, "found", None)}
    assert words("interface-mtu", samples.bond(samples.node(), mtu=1500), expected="bond0=9000") == {"found"}
    files["/sys/class/net/rdma3/mtu"] = "large\n"
    assert told("interface-mtu", files) == {(PLACE, "unknown", None)}
    assert words("interface-mtu", samples.node(rails=1)) == {"not_applicable"}


@pytest.mark.parametrize(
    "path", [("rails",), ("rails", "3"), ("rails", "3", "ports"), ("rails", "3", "ports", "1"), ("interfaces",), ("bonding",), ("port_errors", "3")]
)
@pytest.mark.parametrize("garbage", [None, 7, "text", [], {}, {"1": 3}, UNREAD])
def test_garbage_is_never_healthy_and_never_stops_a_rule(path, garbage):
    made = section(samples.bond(samples.node()))
    *keys, last = path
    place = made
    for key in keys:
        place = place[key]
    place[last] = garbage
    outcomes = {rule: {outcome for _subject, outcome, _level in ask(rule, {"network_devices": made})} for rule in RULES}
    assert all(outcomes.values())
    if path[0] == "rails":
        assert "unknown" in outcomes["rdma-port-state"]
