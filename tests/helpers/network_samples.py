# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of sysfs and procfs of nodes with network adapters: InfiniBand and RoCE of mlx5, ionic, bnxt_re, and none; to be broken by tests."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import bonding, rdma_ports
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import software as reader

ABSENT = {"absent": True}
KINDS = {
    "mlx5": {"driver": "mlx5_core", "pci": ("15b3", "1021"), "type": "MT4129", "board": "MT_0000000838", "firmware": "28.43.2026"},
    "ionic": {"driver": "ionic", "pci": ("1dd8", "1002"), "type": None, "board": "DSC3-400", "firmware": "1.117.1-a-63"},
    "bnxt": {"driver": "bnxt_en", "pci": ("14e4", "1760"), "type": "BCM57608", "board": None, "firmware": "231.2.63.0"},
}
FE80, MAPPED = "fe80:0000:0000:0000:5e25:73ff:fe%02x:%04x", "0000:0000:0000:0000:0000:ffff:0a%02x:%04x"
ROUTE = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"


def host_address(rail, node=7):
    return "0a%02x%04x" % (rail + 1, node)


def _little(word):
    return "".join(word[at : at + 2] for at in (6, 4, 2, 0)).upper()


def adapter(files, rail, kind="mlx5", ethernet=True, node=7, index=2, **changes):
    """One port of one adapter, with its interface; `changes` of KINDS and of mtu, state, gbit, lanes."""
    told = dict(KINDS[kind], mtu=9000 if ethernet else 4092, state="4: ACTIVE", physical="5: LinkUp", rate="400 Gb/sec (4X NDR)", numa=rail // 4)
    told.update(changes)
    address = "0000:%02x:00.0" % (0x1A + 0x10 * rail)
    device, name = "%s_%d" % (kind, rail), told.get("interface", "rdma%d" % rail)
    bus = "/sys/bus/pci/devices/" + address
    link = "../../devices/pci0000:%02x/0000:%02x:01.0/%s" % (0x18 + 0x10 * rail, 0x18 + 0x10 * rail, address)
    rdma, port = "/sys/class/infiniband/" + device, "/sys/class/infiniband/%s/ports/1" % device
    files.update(
        {
            rdma: {"link": "%s/infiniband/%s" % (link, device)},
            rdma + "/hca_type": told["type"] + "\n" if told["type"] else ABSENT,
            rdma + "/fw_ver": told["firmware"] + "\n",
            rdma + "/board_id": told["board"] + "\n" if told["board"] else ABSENT,
            rdma + "/node_type": "1: CA\n",
            rdma + "/ports": {"dir": ["1"]},
            port + "/link_layer": "Ethernet\n" if ethernet else "InfiniBand\n",
            port + "/state": told["state"] + "\n",
            port + "/phys_state": told["physical"] + "\n",
            port + "/rate": told["rate"] + "\n",
            port + "/lid": "0x0\n" if ethernet else "0x%x\n" % (40 + rail),
            port + "/sm_lid": "0x0\n" if ethernet else "0x7\n",
            port + "/counters": {"dir": ["port_rcv_data", *rdma_ports.COUNTERS]},
            **{"%s/counters/%s" % (port, name): "0\n" for name in rdma_ports.COUNTERS},
            bus + "/driver": {"link": "../../../../bus/pci/drivers/" + told["driver"]},
            bus + "/vendor": "0x%s\n" % told["pci"][0],
            bus + "/device": "0x%s\n" % told["pci"][1],
            bus + "/numa_node": "%d\n" % told["numa"],
            bus + "/physfn": {"link": "../0000:1a:00.0"} if told.get("virtual") else ABSENT,
        }
    )
    gids = [FE80 % (rail, node)] * (2 if ethernet else 1)
    if ethernet:
        gids += [""] * (index - 2) + [MAPPED % (rail + 1, node)] * 2
    files[port + "/gids"] = {"dir": [str(n) for n in range(256)]}
    for number in range(32):
        gid = gids[number] if number < len(gids) else ""
        files["%s/gids/%d" % (port, number)] = (gid or ":".join(["0000"] * 8)) + "\n"
        if gid:
            files["%s/gid_attrs/types/%d" % (port, number)] = ("RoCE v2\n" if number % 2 else "IB/RoCE v1\n") if ethernet else "IB/RoCE v1\n"
    files["/sys/class/infiniband"]["dir"].append(device)
    interface(files, name, link, told["mtu"], ethernet, rail)
    route = "%s\t%s\t00000000\t0001\t0\t0\t0\t%s\t0\t0\t0\n" % (name, _little("0a%02x0000" % (rail + 1)), _little("ffffff00"))
    files["/proc/net/route"] += route if ethernet else ""
    return files


def interface(files, name, link, mtu=1500, ethernet=True, index=90):
    base = "/sys/class/net/" + name
    files["/sys/class/net"]["dir"].append(name)
    files.update(
        {
            base: {"link": "%s/net/%s" % (link, name)},
            base + "/master": ABSENT,
            base + "/phys_port_name": "p0\n",
            base + "/type": "1\n" if ethernet else "32\n",
            base + "/mtu": "%d\n" % mtu,
            base + "/operstate": "up\n",
            base + "/speed": "400000\n",
            base + "/ifindex": "%d\n" % (index + 3),
        }
    )


def bond(files, name="bond0", members=("rdma0", "rdma1"), links=("up", "up"), mode="802.3ad 4", mtu=9000):
    """A bond of interfaces that are already there."""
    files.update((directory, ABSENT) for directory, *_rest in bonding.CONFIGURED)
    base = "/sys/class/net/" + name
    files["/sys/class/net/bonding_masters"] = name + "\n"
    files["/sys/class/net"]["dir"] += [name, "bonding_masters"]
    files.update({base: {"link": "../../devices/virtual/net/" + name}, base + "/mtu": "%d\n" % mtu, base + "/bonding/mode": mode + "\n"})
    files.update({base + "/bonding/mii_status": "up\n", base + "/bonding/slaves": " ".join(members) + "\n"})
    for member, link in zip(members, links):
        files["/sys/class/net/%s/bonding_slave/mii_status" % member] = link + "\n"
        files["/sys/class/net/%s/master" % member] = {"link": "../../../../../virtual/net/" + name}
    return files


def bare():
    """A node with one Ethernet port for its management and nothing else."""
    files = {
        "/sys/class/infiniband": {"dir": []},
        "/sys/class/net": {"dir": ["lo"]},
        "/sys/class/net/bonding_masters": ABSENT,
        "/sys/class/net/lo": {"link": "../../devices/virtual/net/lo"},
        "/proc/net/route": ROUTE + "eno1\t00000000\t0114A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n",
        "/proc/net/ipv6_route": "",
        "/proc/net/if_inet6": "fe80000000000000025056fffe8a0001 02 40 20 80     eno1\n",
        "/run/systemd/netif/lldp": ABSENT,
    }
    interface(files, "eno1", "../../devices/pci0000:00/0000:00:1c.0/0000:02:00.0")
    bus = "/sys/bus/pci/devices/0000:02:00.0"
    files.update({bus + "/driver": {"link": "../../../../bus/pci/drivers/igb"}, bus + "/vendor": "0x8086\n", bus + "/device": "0x1533\n"})
    files.update({bus + "/numa_node": "0\n", bus + "/physfn": ABSENT})
    return files


def node(kind="mlx5", ethernet=True, rails=8, **changes):
    """A node with so many rails. changes: of every adapter."""
    files = bare()
    for rail in range(rails):
        adapter(files, rail, kind, ethernet, **changes)
    if not rails:
        files["/sys/class/infiniband"] = ABSENT
    return files


RULES = "0:\tfrom all lookup local\n%s32766:\tfrom all lookup main\n32767:\tfrom all lookup default\n"


def commands(rails=8):
    own = "".join("%d:\tfrom 10.%d.0.7 lookup %d\n" % (32000 + rail, rail + 1, 100 + rail) for rail in range(rails))
    return [{"argv": ["ip", "rule", "show"], "rc": 0, "stdout": RULES % own}]


def tlv(kind, value):
    return ((kind << 9) | len(value)).to_bytes(2, "big") + value


def frame(switch, port):
    """What systemd-networkd keeps of one neighbor."""
    body = b"\x01\x80\xc2\x00\x00\x0e" + b"\x02\x00\x00\x00\x00\x09" + b"\x88\xcc"
    body += tlv(1, b"\x04\x02\x00\x00\x00\x00\x09") + tlv(2, b"\x05" + port) + tlv(3, b"\x00\x78") + tlv(5, switch) + tlv(0, b"")
    return len(body).to_bytes(8, "little") + body


def places():
    """Every path that may be asked about software."""
    for places in reader.RUNTIMES.values():
        yield from (place.format(machine="x86_64") for place, _form in places)
    for name, directories in (*reader.LIBRARIES.values(), *reader.TOOLKITS.values()):
        yield from ("%s/%s" % (directory.format(machine="x86_64"), name) for directory in directories)
    yield from (*reader.INSTALLED.values(), *reader.ENVIRONMENT, *reader.SHARED, reader.DOCKER, reader.STORAGE, reader.CONTAINERD)


def software():
    """Files of a node with CUDA, NCCL and Docker; every other place is empty."""
    library = "/usr/lib/x86_64-linux-gnu/"
    return dict.fromkeys(places(), ABSENT) | {
        "/usr/local/cuda/version.json": '{"cuda" : {"name" : "CUDA SDK", "version" : "12.9.20250603"}, "nccl": {"version": "9"}}',
        library + "libnccl.so.2": {"link": "libnccl.so.2.27.3"},
        library + "libibverbs.so.1": {"link": "libibverbs.so.1.14.50.0"},
        library + "libnvidia-container.so.1": {"link": "libnvidia-container.so.1.17.8"},
        "/etc/nccl.conf": "# fabric\nNCCL_IB_HCA=mlx5\nNCCL_IB_GID_INDEX = 3 # RoCE v2\nNCCL_API_TOKEN=abcdef0123456789\n",
        "/etc/hccn.conf": "address_0=10.1.0.7\nnetmask_0=255.255.255.0\nsend_arp_status_0=1\n",
        "/etc/environment": 'PATH="/usr/bin"\nNCCL_DEBUG=WARN\n',
        "/etc/profile.d": {"dir": ["roce.sh", "lang.sh", "roce.csh"]},
        "/etc/profile.d/roce.sh": "#!/bin/sh\nexport UCX_TLS=rc,sm\nexport FOO=1\n",
        "/etc/profile.d/lang.sh": "export LANG=C\n",
        "/var/lib/docker/image/overlay2/repositories.json": '{"Repositories": {"app": {"app:1": "sha256:%s", "app@sha256:11": "sha256:%s"}}}'
        % ("ab" * 32, "ab" * 32),
    }
