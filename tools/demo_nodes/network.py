# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adapters of a demo node as files tell them, and the libraries and settings of communication: a plain installation, runtimes are in containers."""

from __future__ import annotations

RDMA = "/sys/class/infiniband"
ABSENT = (
    "/opt/dtk", "/opt/maca", "/opt/mellanox", "/opt/ucx", "/opt/amazon", "/usr/local/cuda", "/usr/local/neuware", "/usr/local/musa", "/usr/local/nvidia",
    "/usr/local/lib", "/usr/src/ofa_kernel", "/usr/lib64", "/etc/nccl.conf", "/etc/rccl.conf", "/etc/hccl.conf", "/etc/hccn.conf", "/etc/ucx",
    "/etc/ucx.conf", "/run/systemd/netif", "/proc/net/ipv6_route", "/proc/net/if_inet6",
)  # fmt: skip
ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "mgmt0\t00000000\t0100140A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    "mgmt0\t0000140A\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0\n"
)


def _adapter(node, number):
    """An InfiniBand adapter of 400 Gbit/s with its link up."""
    base = "%s/mlx5_%d" % (RDMA, number)
    node.lines(base, hca_type="MT4129", fw_ver="28.43.2026", board_id="NL_0000000838", node_type="1: CA")
    node.files[base + "/ports"] = {"dir": ["1"]}
    node.lines(base + "/ports/1", link_layer="InfiniBand", rate="400 Gb/sec (4X NDR)", state="4: ACTIVE", phys_state="5: LinkUp")
    node.lines(base + "/ports/1", lid="0x%x" % (17 + number), sm_lid="0x1")
    node.files[base + "/ports/1/gids"] = {"absent": True}
    node.files[base + "/ports/1/counters"] = {"absent": True}


def add(node):
    for number in range(len(node.files[RDMA]["dir"])):
        _adapter(node, number)
    node.files["/sys/class/net"] = {"dir": ["lo", "mgmt0"]}
    for name in ("lo", "mgmt0"):
        node.files["/sys/class/net/" + name] = {"link": "../../devices/virtual/net/" + name}
    node.files["/sys/class/net/bonding_masters"] = {"absent": True}
    node.files["/proc/net/route"] = ROUTES
    libraries = "/usr/lib/%s-linux-gnu" % node.host["uname"]["machine"]
    node.files[libraries] = {"dir": ["libibverbs.so.1", "libmlx5.so.1"]}
    node.files[libraries + "/libibverbs.so.1"] = {"link": "libibverbs.so.1.14.50.0"}
    node.files[libraries + "/libmlx5.so.1"] = {"link": "libmlx5.so.1.25.50.0"}
    node.files["/etc/profile.d"] = {"dir": []}
    node.files["/etc/environment"] = 'PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"\n'
    for path in ABSENT:
        node.files.setdefault(path, {"absent": True})
    if not any(path.startswith("/usr/local/Ascend/") for path in node.files):
        node.files["/usr/local/Ascend"] = {"absent": True}
    node.files["/usr/local/Ascend/Ascend-Docker-Runtime"] = {"absent": True}
    node.files.setdefault("/opt/rocm/lib" if "/opt/rocm/.info/version" in node.files else "/opt/rocm", {"absent": True})
