# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sections network_devices and software on recorded files."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import jsonschema
import network_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import network_devices, network_wiring, software
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def replayed(files, commands=()):
    host = {"uname": {"system": "Linux", "node": "n", "release": "6.8", "version": "1", "machine": "x86_64"}}
    return ReplayHost(
        {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": list(commands), "host": host}
    )


def checked(name, section):
    jsonschema.validate(dict(section, timestamp="2026-11-29T17:00:00Z"), json.loads((SCHEMAS / (name + ".json")).read_text(encoding="utf-8")))
    return section


def read(files, commands=()):
    return checked("network_devices", network_devices.collect(replayed(files, commands)))


def test_a_node_of_eight_rails_over_ethernet():
    section = read(samples.node(), samples.commands())
    assert section["counts"] == {"rails": 8, "virtual_functions": 0, "interfaces": 9}
    assert section["rails"]["5"] == {
        "device": "mlx5_5", "address": "0000:6a:00.0", "pci": "15b3:1021", "driver": "mlx5_core", "numa_node": 1,
        "type": "MT4129", "firmware": "28.43.2026", "board": "MT_0000000838", "kind": "ca",
        "ports": {
            "1": {
                "link_layer": "Ethernet", "state": "active", "physical_state": "linkup", "gbit_s": 400.0, "lanes": "4X", "speed": "NDR",
                "gids": {"roce v1 link_local": 0, "roce v2 link_local": 1, "roce v1 ipv4": 2, "roce v2 ipv4": 3},
                "subnet_manager": {"not_applicable": "no InfiniBand"},
            }
        },
        "interfaces": ["rdma5"], "mtu": 9000,
    }  # fmt: skip
    assert section["policy_rules"] == 8
    assert section["subnets"]["5"] == ["10.6.0.0/24"] and section["subnet_sizes"]["5"] == ["/24"]
    assert section["default_routes"] == [{"family": "ipv4", "interface": "eno1", "metric": 100}]
    assert section["interfaces"]["eno1"]["driver"] == "igb"
    assert section["neighbors"] == {"not_applicable": "no daemon keeps neighbors in a file"}


def test_no_address_of_the_node_is_in_what_nodes_have_in_common():
    one, other = (read(samples.node(node=number), samples.commands()) for number in (7, 8))
    assert one == other


def test_infiniband_asks_no_program():
    section = read(samples.node(ethernet=False))
    assert section["policy_rules"] == {"not_applicable": "no RDMA over Ethernet"}
    assert section["rails"]["0"]["ports"]["1"]["gids"] == {"roce v1 link_local": 0}
    assert section["rails"]["0"]["mtu"] == 4092 and section["subnets"]["0"] == []


@pytest.mark.parametrize("kind", ["ionic", "bnxt"])
def test_what_a_driver_does_not_tell_is_not_unknown(kind):
    rail = read(samples.node(kind), samples.commands())["rails"]["3"]
    assert rail["driver"] == samples.KINDS[kind]["driver"] and rail["firmware"] == samples.KINDS[kind]["firmware"]
    missing = rail["type"] if kind == "ionic" else rail["board"]
    assert missing == {"not_applicable": "not told by this driver"}


def test_a_node_without_adapters():
    section = read(samples.node(rails=0))
    assert section["rails"] == {"not_applicable": "no RDMA device"} and section["counts"]["rails"] == 0
    assert list(section["interfaces"]) == ["eno1"]


def test_nothing_recorded_is_unknown_and_never_healthy():
    section = read({})
    assert all(is_unknown(section[key]) for key in ("rails", "port_errors", "interfaces", "bonding", "counts", "default_routes", "subnets"))
    told = checked("software", software.collect(replayed({})))
    assert all(is_unknown(v) for key in ("runtimes", "libraries", "toolkits", "images") for v in told[key].values()) and is_unknown(told["environment"])


def test_virtual_functions_are_counted_only():
    files = samples.node(rails=2)
    samples.adapter(files, 2, virtual=True)
    section = read(files, samples.commands())
    assert list(section["rails"]) == ["0", "1"] and section["counts"] == {"rails": 2, "virtual_functions": 1, "interfaces": 3}


@pytest.mark.parametrize("word", ["²", "9" * 5000, "zz", "-1", ""])
def test_tables_of_routes_that_hold_garbage(word):
    files = samples.node(rails=1)
    files["/proc/net/route"] += "rdma0\t00000000\t0114A8C0\t0003\t0\t0\t%s\t00000000\t0\t0\t0\n" % word
    zero = "0" * 32
    files["/proc/net/ipv6_route"] = "%s 00 %s 00 fe80%s %s 00000001 00000000 00000003 rdma0\n" % (zero, zero, "1" * 28, word)
    files["/proc/net/if_inet6"] = "20010db8000000010000000000000007 03 %s 00 80 rdma0\n" % word
    section = read(files, samples.commands(1))
    assert [route["interface"] for route in section["default_routes"]] == ["eno1"]
    assert section["subnets"]["0"] == ["10.1.0.0/24"]


def test_what_is_above_an_interface_and_no_bond():
    files = samples.node(rails=2)
    files["/sys/class/net/rdma0/master"] = {"link": "../../../virtual/net/br-storage"}
    section = read(files, samples.commands())
    assert section["interfaces"]["rdma0"]["bond"] == "br-storage" and section["bonds"] == {"not_applicable": "no bond"}
    section = read(samples.bond(files, members=("rdma1",), links=("up",)), samples.commands())
    assert section["bonds"] == ["bond0"]


@pytest.mark.parametrize(
    "path, content, of",
    [
        ("state", "no state\n", "state"),
        ("rate", "very fast\n", "gbit_s"),
        ("gids/0", {"error": "EIO"}, "gids"),
        ("link_layer", {"error": "EACCES"}, "link_layer"),
    ],
)
def test_garbage_and_errors_of_a_port_are_unknown(path, content, of):
    files = samples.node(rails=1)
    files["/sys/class/infiniband/mlx5_0/ports/1/" + path] = content
    assert is_unknown(read(files, samples.commands())["rails"]["0"]["ports"]["1"][of])


def test_a_port_whose_link_is_down():
    files = samples.node(rails=1, state="1: DOWN", physical="3: Disabled", rate="40 Gb/sec (4X QDR)")
    files["/sys/class/net/rdma0/speed"] = {"error": "EINVAL"}
    section = read(files, samples.commands())
    port = section["rails"]["0"]["ports"]["1"]
    assert (port["state"], port["physical_state"], port["gbit_s"]) == ("down", "disabled", 40.0)
    assert section["interfaces"]["rdma0"]["speed_mbit_s"] == {"not_applicable": network_devices._NO_SPEED}
    files["/sys/class/net/rdma0/speed"] = "-1\n"  # of a virtual adapter that is up
    assert read(files, samples.commands(1))["interfaces"]["rdma0"]["speed_mbit_s"] == {"not_applicable": network_devices._NO_SPEED}


PORT = "/sys/class/infiniband/mlx5_0/ports/1"


@pytest.mark.parametrize(
    "own, manager, told",
    [
        ("0x28\n", "0x7\n", "elsewhere"),
        ("0x28\n", "0x28\n", "this port"),
        ("0x28\n", {"error": "EIO"}, None),
        ("0xffff\n", "0x0\n", "none"),
        ("0x28\n", "seven\n", None),
    ],
)
def test_who_manages_the_subnet(own, manager, told):
    files = samples.node(rails=1, ethernet=False)
    files.update({PORT + "/lid": own, PORT + "/sm_lid": manager})
    found = read(files)["rails"]["0"]["ports"]["1"]["subnet_manager"]
    assert found == told if told else is_unknown(found)


def test_error_counters_of_ports():
    files = samples.node(rails=2)
    files[PORT + "/counters/link_downed"] = "255"
    files[PORT + "/counters/symbol_error"] = "N/A (no PMA)\n"
    files["/sys/class/infiniband/mlx5_1/ports/1/counters"] = samples.ABSENT
    errors = read(files, samples.commands())["port_errors"]
    assert errors["0"]["1"]["link_downed"] == 255 and errors["0"]["1"]["port_rcv_errors"] == 0
    assert is_unknown(errors["0"]["1"]["symbol_error"])
    assert errors["1"] == {"1": {"not_applicable": "not counted by this driver"}}


def test_what_a_gid_of_iwarp_is():
    files = samples.node(rails=1)
    files["/sys/class/infiniband/mlx5_0/node_type"] = "4: RNIC\n"
    files[PORT + "/gids/0"] = "0250:5600:0009:0000:0000:0000:0000:0000\n"
    files[PORT + "/link_layer"] = "InfiniBand\n"  # as i40iw says
    port = read(files)["rails"]["0"]["ports"]["1"]
    assert (port["gids"], port["subnet_manager"]) == ({"iwarp": 0}, {"not_applicable": "no InfiniBand"})


def test_a_device_of_no_known_type_and_without_firmware():
    files = samples.node(rails=1)
    files.update({"/sys/class/infiniband/mlx5_0/node_type": "7: <unknown>\n", "/sys/class/infiniband/mlx5_0/fw_ver": "\n"})
    device = read(files, samples.commands())["rails"]["0"]
    assert (device["kind"], device["firmware"]) == ("unknown", {"not_applicable": "not told by this driver"})


def test_bonds_and_their_members():
    files = samples.bond(samples.node(rails=2), links=("up", "down"))
    section = read(files, samples.commands())
    assert section["bonds"] == ["bond0"]
    assert section["bonding"] == {
        "bond0": {"mode": "802.3ad", "link": "up", "mtu": 9000, "members": {"rdma0": {"link": "up"}, "rdma1": {"link": "down"}}, "missing": []},
    }


@pytest.mark.parametrize(
    "path, content, missing",
    [
        ("/etc/sysconfig/network-scripts/ifcfg-rdma1", 'DEVICE="rdma1"\nMASTER=bond0\nSLAVE=yes\n', ["rdma1"]),
        ("/etc/sysconfig/network-scripts/ifcfg-rdma1", "DEVICE=rdma1\nMASTER=bond0\nONBOOT=no\n", []),
        ("/etc/sysconfig/network-scripts/ifcfg-rdma0", "DEVICE=rdma0\nMASTER=bond0\n", []),
        ("/run/systemd/network/10-netplan-rdma1.network", "[Match]\nName=rdma1\n\n[Network]\nBond=bond0\n", ["rdma1"]),
        ("/etc/systemd/network/rails.network", "[Match]\nName=rdma*\n[Network]\nBond=bond0\n", []),
        ("/etc/systemd/network/rails.network", "[Match]\nName=rdma1\n[Network]\nBond=bond7\n", []),
        # What several kinds of machine may have: an interface that is not there is none of this one's.
        ("/etc/systemd/network/rails.network", "[Match]\nName=rdma0 rdma1 eth7\n[Network]\nBond=bond0\n", ["rdma1"]),
        ("/etc/systemd/network/rails.network", "[Match]\nName=eth7\n[Network]\nBond=bond0\n", ["eth7"]),
        ("/etc/systemd/network/rails.network", {"error": "EACCES"}, None),
    ],
)
def test_members_that_are_configured_and_missing(path, content, missing):
    files = samples.bond(samples.node(rails=2), members=("rdma0",), links=("up",))
    directory, name = path.rsplit("/", 1)
    files.update({directory: {"dir": [name]}, path: content})
    found = read(files, samples.commands())["bonding"]["bond0"]["missing"]
    assert found == missing if missing is not None else is_unknown(found)


@pytest.mark.parametrize("content, found", [("\n", {"not_applicable": "no bond"}), ({"error": "EACCES"}, None), ("../etc a/b .. \n", {})])
def test_hostile_names_of_bonds(content, found):
    told = read(dict(samples.node(rails=0), **{"/sys/class/net/bonding_masters": content}))["bonding"]
    assert told == found if found is not None else is_unknown(told)


def test_a_bond_whose_members_are_not_told():
    files = samples.bond(samples.node(rails=2))
    files["/sys/class/net/bond0/bonding/slaves"] = {"error": "EIO"}
    assert is_unknown(read(files, samples.commands())["bonding"]["bond0"]["members"])


def test_a_device_that_is_not_on_pci():
    files = samples.bare()
    files["/sys/class/infiniband"]["dir"].append("rxe0")
    base = "/sys/class/infiniband/rxe0"
    files.update(
        {base: {"link": "../../devices/virtual/infiniband/rxe0"}, base + "/node_type": "1: CA\n", base + "/fw_ver": "0.0\n", base + "/ports": {"dir": []}}
    )
    files.update({base + "/hca_type": samples.ABSENT, base + "/board_id": samples.ABSENT})
    assert read(files)["rails"]["0"]["driver"] == {"not_applicable": "not on PCI"}


def test_neighbors_that_a_daemon_kept():
    files = samples.node(rails=2)
    files["/run/systemd/netif/lldp"] = {"dir": ["3"]}
    files["/run/systemd/netif/lldp/3"] = {"base64": base64.b64encode(samples.frame(b"leaf-1", b"Ethernet7")).decode()}
    assert read(files, samples.commands())["neighbors"] == {"0": [{"switch": "leaf-1", "port": "Ethernet7"}], "1": []}


@pytest.mark.parametrize("content", [b"", b"\x00" * 7, b"\xff" * 40, samples.frame(b"leaf", b"p")[:-9], b"\x10" + b"\x00" * 30])
def test_cut_or_foreign_frames_are_no_neighbors(content):
    assert network_wiring.frames(content) == []


def test_hostile_routes_are_left_out():
    files = samples.node(rails=1)
    files["/proc/net/route"] += "x\n\t\t\t\nrdma0\tZZ\t00000000\t1\t0\t0\tno\tFF\t0\t0\t0\n"
    files["/proc/net/if_inet6"] += "20010db8000000010000000000000007 03 40 00 80 rdma0\nnothing\n"
    assert read(files, samples.commands())["subnets"]["0"] == ["10.1.0.0/24", "2001:db8:0:1:0:0:0:0/64"]


def test_software_on_the_disk():
    told = software.collect(replayed(samples.software()))
    checked("software", told)
    assert told["runtimes"]["cuda"] == "12.9.20250603" and told["runtimes"]["rocm"] == {"not_applicable": "not installed"}
    assert told["libraries"]["nccl"] == "2.27.3" and told["libraries"]["ibverbs"] == "1.14.50.0"
    assert told["toolkits"] == {"nvidia": "1.17.8", "ascend": {"not_applicable": "not installed"}}
    assert told["environment"] == {
        "/etc/nccl.conf": {"NCCL_IB_HCA": "mlx5", "NCCL_IB_GID_INDEX": "3", "NCCL_API_TOKEN": "[redacted]"},
        "/etc/hccn.conf": {"address_0": "(address)", "netmask_0": "(address)", "send_arp_status_0": "1"},
        "/etc/environment": {"NCCL_DEBUG": "WARN"},
        "/etc/profile.d/roce.sh": {"UCX_TLS": "rc,sm"},
    }
    assert told["images"]["docker"] == {"app:1": "sha256:" + "ab" * 32}
    assert told["images"]["containerd"] == {"not_applicable": "keeps no images here"}


@pytest.mark.parametrize("content", ["", "[]", "{", '{"Repositories": 3}', '{"Repositories": {"a": {"b": 1}}}', "[[[[[" * 5000])
def test_garbage_in_lists_of_images_is_unknown(content):
    told = software.collect(replayed({software.DOCKER: content, software.STORAGE: content}))
    assert is_unknown(told["images"]["docker"])
