#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host around the accelerators: kernel log, hardware, settings, services, storage, network devices, software."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Read the host around the accelerators, with its kernel log, hardware, settings, services, storage and network devices
version_added: 0.2.0
description:
  - Reads the kernel log as M(fleetproof.accelerator.kernel_events) does.
  - Reads memory modules, memory errors, microcode, frequency and idle states of the processors, TPM, and what the BMC says of its sensors and events.
  - Reads kernel settings, limits, huge pages, control groups, security modules, kernels that are installed and modules that DKMS built for them.
  - Reads units that matter, versions of daemons, the node's own name and addresses, earlier boots, and processes that hang.
  - Reads disks, their health, RAID, mounts, room and inodes, and what lies below the path of a key-value cache.
  - Reads RDMA devices and Ethernet ports with driver, firmware, link and GIDs, routes, and the subnets and neighbors of RDMA devices.
  - Reads versions of runtimes, communication libraries and container toolkits, their settings in files, and lists of images that engines keep in files.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
options:
  bmc:
    description:
      - Whether the BMC is asked for its event log and its sensors, through C(ipmitool) and where C(/dev/ipmi0) is there. A BMC is slow. Each of the two
        questions may take 15 seconds.
    type: bool
    default: true
  directories:
    description:
      - Directories whose room is read besides those of the system and of the container engines, such as those of models.
      - One on a network file system is not touched. That it is on one is told.
    type: list
    elements: path
  kv_cache_path:
    description:
      - Directory where an inference server would keep its key-value cache. Without it no such path is judged.
    type: path
  since:
    description:
      - The cursor of an earlier answer, C(sections.kernel.cursor). Only what the kernel said after it is read.
    type: str
seealso:
  - module: fleetproof.accelerator.accelerator_info
  - module: fleetproof.accelerator.kernel_events
notes:
  - The kernel log, memory modules, the BMC and the health of drives can be read by root only. Where it is not permitted a value says so.
  - Nothing is started, and nothing is written. Programs that are asked, where the node has them, are C(journalctl) or C(dmesg), C(ps), C(systemctl),
    C(getent), C(modinfo), C(ip), C(ipmitool), C(tail), C(dcgmi), NVIDIA's daemons for their versions, and C(nvme) or C(smartctl). Each has a deadline.
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
author:
  - Fleetproof maintainers (@fleetproof)
"""

EXAMPLES = r"""
- name: Read the hosts
  fleetproof.accelerator.host_info:
    directories: [/data/models]
    kv_cache_path: /data/kv
  become: true
  register: node

- name: Show how full its directories are
  ansible.builtin.debug:
    msg: "{{ node.sections.storage.directories }}"

- name: Leave the BMC alone
  fleetproof.accelerator.host_info:
    bmc: false
"""

RETURN = r"""
sections:
  description: What was read, one dictionary per section, as described in docs/node-report.md. Every value may instead say why it is not known.
  returned: when O(run_directory) is not given
  type: dict
  contains:
    hardware:
      description: Memory modules, error counters, processors, TPM and BMC.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        memory_errors: {controllers: 8, corrected: 0, uncorrected: 0, seconds: 86400, places: []}
        corrupted_kib: 0
        machine_checks: {exceptions: 0, thresholds: 0, thermal: 0, deferred: 0}
        microcode: {"0x2b000590": 224}
        tpm: {version: 2, measured_boot: true}
        sensors: {count: 142, bad: []}
    settings:
      description: Kernel settings, limits, modules and kernels.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        cgroup: v2
        swap_mib: 0
        sysctls: {"kernel.pid_max": 4194304, "vm.zone_reclaim_mode": 0}
    services:
      description: Units, daemons, names, boots and processes.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        failed: []
        versions: {fabric_manager: 580.95.05, imex: {"not_applicable": "not installed"}}
    storage:
      description: Disks, mounts and room.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        arrays: []
        kv_cache: {"not_applicable": "no path of a key-value cache is named (host_kv_cache_path)"}
    network_devices:
      description: RDMA devices in the order of their PCI addresses, Ethernet ports, routes.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        counts: {rails: 8, virtual_functions: 0, interfaces: 10}
        policy_rules: {"not_applicable": "no RDMA over Ethernet"}
        default_routes: [{family: ipv4, interface: eno1, metric: 100}]
    software:
      description: Runtimes, libraries, container toolkits, settings of communication libraries, images.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        runtimes: {cuda: 12.9.1, rocm: {"not_applicable": "not installed"}}
        environment: {/etc/nccl.conf: {NCCL_IB_HCA: mlx5}}
    kernel:
      description: The kernel log, as described in docs/node-report.md.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        source: journalctl -k
        status: ok
        reason: ""
        boot_time: "2026-11-20T08:00:00Z"
        since: boot
        time_error_seconds: 0.0
        cursor: "1764435129.512000/9d5c0a1b"
        covers_from: "2026-11-20T08:00:00.000Z"
        events:
          - template: "NVRM: Xid (PCI:<pci>): 79, pid=*, name=*, GPU has fallen off the bus."
            count: 1
            first: "2026-11-29T16:12:09.512Z"
            last: "2026-11-29T16:12:09.512Z"
            priority: {"unknown": "not told by this log"}
            sample: "NVRM: Xid (PCI:0000:9b:00): 79, pid=4711, name=python, GPU has fallen off the bus."
            addresses: ["0000:9b:00.0"]
            codes: ["79"]
            places: {"0000:9b:00.0": 1}
        lines: 4211
        dropped: 0
recording:
  description: Every question asked to the machine with its answer.
  returned: when O(record) is true
  type: dict
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_info
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import surroundings


def main():
    run_info(surroundings.collect, surroundings.OPTIONS)


if __name__ == "__main__":
    main()
