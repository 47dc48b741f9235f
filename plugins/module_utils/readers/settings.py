# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `settings`: what the site set on this kernel, and which kernels and modules lie on its disk."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer, none
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, unknown

SYSCTLS = str.split(
    "kernel.pid_max kernel.threads-max kernel.shmmax kernel.shmall kernel.panic kernel.nmi_watchdog kernel.soft_watchdog kernel.hung_task_timeout_secs"
    " kernel.yama.ptrace_scope kernel.tainted fs.file-max fs.nr_open fs.aio-max-nr fs.inotify.max_user_instances fs.inotify.max_user_watches"
    " vm.max_map_count vm.overcommit_memory vm.swappiness vm.zone_reclaim_mode vm.min_free_kbytes net.core.rmem_max net.core.wmem_max net.core.somaxconn"
    " net.core.netdev_max_backlog net.ipv4.conf.all.rp_filter net.ipv4.conf.all.arp_ignore net.ipv4.conf.all.arp_announce user.max_user_namespaces"
)
HUGE = "/sys/kernel/mm/hugepages"
MODULES = "/lib/modules"
CONFIGURATION = ("/etc/modprobe.d", "/run/modprobe.d", "/lib/modprobe.d")
# Modules that explain why an accelerator or its network works or not.
DRIVERS = str.split(
    "nvidia amdgpu drv_pcie drv_davinci_intf_host cambricon_drv hycu hydcu bi_driver iluvatar metax mtgpu alixpu habanalabs neuron kunlun enflame tenstorrent"
    " mlx5_core ionic bnxt_en"
)
OTHERS = str.split(
    "nvidia_uvm nvidia_peermem nv_peer_mem nvidia_fs gdrdrv nouveau nova_core radeon xe i915 cambricon_peermem ib_core ib_uverbs ib_umad rdma_cm rdma_ucm"
    " mlx5_ib bnxt_re ionic_rdma irdma efa ib_peer_mem vfio_pci ipmi_si ipmi_devintf knem xpmem nvme nvme_tcp nvme_rdma"
)
_TABLE = frozenset(DRIVERS + OTHERS)
_KERNEL = re.compile(r"\d+\.\d+[\w.+~-]*\Z")
_RULE = re.compile(r"\s*(?:blacklist\s+(\S+)|install\s+(\S+)\s+/(?:usr/)?bin/(?:false|true)\b)")


def _plain(text):
    return int(text) if re.match(r"-?\d{1,20}\Z", text) else " ".join(text.split())[:120]


def _huge_pages(host):
    listing = host.listdir(HUGE)
    if not listing.ok:
        return none(listing, "kernel without huge pages")
    sizes = sorted(n for n in listing.value if re.match(r"hugepages-[0-9]{1,12}kB\Z", n))
    return {n[10:-2]: {key: fact(host, "%s/%s/%s_hugepages" % (HUGE, n, name), integer) for key, name in (("total", "nr"), ("free", "free"))} for n in sizes}


def _limits(host):
    answer = host.limits()
    told = answer.value if answer.ok and isinstance(answer.value, dict) else {}
    pair = told.get("nproc")
    if not isinstance(pair, list) or len(pair) != 2:
        pair = [unknown("limits: no nproc" if answer.ok else answer.reason)] * 2
    return {"nproc_soft": pair[0], "nproc_hard": pair[1]}


def _swap(host):
    answer = host.read_text("/proc/swaps", 65536)
    if not answer.ok:
        return none(answer, "kernel without swap")
    rows = [line.split() for line in answer.value.splitlines()[1:]]
    return from_answer(answer, lambda _text: sum(integer(row[2]) for row in rows if row) // 1024)


def _security(host):
    lockdown = fact(host, "/sys/kernel/security/lockdown", lambda text: re.findall(r"\[(\w+)\]", text)[0], "kernel without lockdown")
    return {
        "modules": fact(host, "/sys/kernel/security/lsm", lambda text: text.split(",")),
        "lockdown": lockdown,
        "signatures_enforced": fact(host, "/sys/module/module/parameters/sig_enforce", lambda text: text == "Y", "kernel without module signatures"),
    }


def _blacklist(host):
    """{module: file}: what modprobe must not load, or loads as nothing. The last file that names one is told."""
    found = {}
    for directory in CONFIGURATION[::-1]:
        listing = host.listdir(directory)
        if not listing.ok and listing.status != ABSENT:
            return unknown(listing.reason)
        for name in sorted(n for n in listing.value or () if n.endswith(".conf"))[:100]:
            path = "%s/%s" % (directory, name)
            for line in host.read_lines(path):
                rule = _RULE.match(line)
                module = (rule.group(1) or rule.group(2)).replace("-", "_") if rule else ""
                if module in _TABLE:
                    found[module] = path
    return found


def kernels(host):
    """{installed: [release], dkms: [{module, version, kernels}]}."""
    listing = host.listdir(MODULES)
    installed = listing.value if listing.ok else None
    if installed is not None:
        # A directory is left behind when its kernel is removed: one that can be booted has its list of modules.
        installed = sorted(k for k in installed if _KERNEL.match(k) and host.exists("%s/%s/modules.dep" % (MODULES, k)).value)
    nothing = none(listing, "no kernel is installed on the disk")
    found = {"installed": nothing if installed is None else installed}
    names = host.listdir("/var/lib/dkms")
    if names.ok:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import dkms  # only where it is used

        found["dkms"] = dkms.read(host, sorted(n for n in names.value if not n.endswith((".db", ".conf"))))
    else:
        found["dkms"] = none(names, "DKMS is not used")
    return found


def _on_disk(host, loaded):
    """{module: version} that would be loaded next time, of loaded modules that have a version of their own."""
    found = {}
    for name in loaded:
        version = host.read_line("/sys/module/%s/version" % name)
        if version.ok and host.exists("/sys/module/%s/initstate" % name).value:
            command = host.run(["modinfo", "-F", "version", name], timeout=5)
            text = command.stdout.strip()
            found[name] = {"loaded": version.value, "on_disk": text[:60] if command.succeeded and text else unknown(command.reason or "modinfo: no version")}
    return found


def _modules(host):
    listing = host.listdir("/sys/module")
    if not listing.ok:
        return dict.fromkeys(("loaded", "versions"), unknown(listing.reason))
    loaded = sorted(_TABLE & set(listing.value))
    return {"loaded": loaded, "versions": _on_disk(host, [n for n in loaded if n in DRIVERS])}


def collect(host, mounts):
    uname = host.uname()
    release = uname.value.get("release") if uname.ok and isinstance(uname.value, dict) else None
    groups = {m["type"] for m in mounts if m["path"].startswith("/sys/fs/cgroup")} if isinstance(mounts, list) else set()
    v2 = any(m["path"] == "/sys/fs/cgroup" and m["type"] == "cgroup2" for m in mounts) if groups else False
    mode = "v2" if v2 else "hybrid" if "cgroup2" in groups else "v1" if "cgroup" in groups else unknown("no control groups are mounted on /sys/fs/cgroup")
    modules = _modules(host)
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import site_files  # a play that reads the kernel log alone does without

    return {
        **site_files.read(host),
        "sysctls": {name: fact(host, "/proc/sys/" + name.replace(".", "/"), _plain, "kernel without it") for name in SYSCTLS},
        "limits": _limits(host),
        "huge_pages": _huge_pages(host),
        "huge_page_defrag": fact(
            host, "/sys/kernel/mm/transparent_hugepage/defrag", lambda text: re.findall(r"\[([\w+]+)\]", text)[0], "kernel without transparent huge pages"
        ),
        "cgroup": mode,
        "swap_mib": _swap(host),
        "security": _security(host),
        "modules": dict(modules, blacklisted=_blacklist(host)),
        "kernels": dict(kernels(host), running=release if release else unknown(uname.reason)),
    }
