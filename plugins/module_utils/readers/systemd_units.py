# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of the units that matter on an accelerator node, as systemd keeps it: one question for all of them, one for what failed."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

UNITS = str.split(
    "containerd docker crio kubelet k3s k3s-agent rke2-server rke2-agent slurmd chrony chronyd ntp ntpd ntpsec openntpd systemd-timesyncd ptp4l phc2sys"
    " rasdaemon mcelog irqbalance tuned mdmonitor smartd dkms openibd opensmd nvidia-gridd nvidia-mig-manager nvidia-dcgm nvsm dcgm rdc hymgr"
    " amd-metrics-exporter nvmf-autoconnect kdump kdump-tools auditd ssh sshd firewalld ufw nftables unattended-upgrades"
)
PROPERTIES = "Id,LoadState,ActiveState,SubState,UnitFileState,Result,NRestarts,LimitMEMLOCK,LimitNOFILE"
SHOW = ["systemctl", "show", "--property=" + PROPERTIES, *(name + ".service" for name in UNITS)]
FAILED = ["systemctl", "list-units", "--state=failed", "--plain", "--no-legend", "--no-pager"]
_SECONDS = 5
_KEPT = 20


def _count(text):
    return int(text) if re.match(r"\d{1,12}\Z", text) else unknown("not told")


def _limit(text):
    return "unlimited" if text in ("infinity", "18446744073709551615") else int(text) if re.match(r"\d{1,19}\Z", text) else unknown("not told")


def read(host):
    """({unit: {load, active, sub, enabled, result, restarts, memlock, nofile}} of those that are there, [failed units])."""
    command = host.run(SHOW, timeout=_SECONDS)
    found = {}
    for block in command.stdout.strip().split("\n\n") if command.succeeded else ():
        told = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        name = told.get("Id", "").replace(".service", "")
        if name and told.get("LoadState") not in (None, "not-found"):
            found[name] = {
                "load": told["LoadState"],
                "active": told.get("ActiveState", ""),
                "sub": told.get("SubState", ""),
                "enabled": told.get("UnitFileState", ""),
                "result": told.get("Result", ""),
                "restarts": _count(told.get("NRestarts", "")),
                "memlock": _limit(told.get("LimitMEMLOCK", "")),
                "nofile": _limit(told.get("LimitNOFILE", "")),
            }
    listed = host.run(FAILED, timeout=_SECONDS)
    failed = sorted(line.split()[0][:80] for line in listed.stdout.splitlines() if line.strip())[:_KEPT] if listed.succeeded else unknown(listed.reason)
    return found if command.succeeded and "LoadState=" in command.stdout else unknown(command.reason), failed
