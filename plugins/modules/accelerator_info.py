#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is, without any vendor tool."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accelerator_info
short_description: Read what a node is, which accelerators sit on its PCI bus, and what starts containers on it
version_added: 0.1.0
description:
  - Reads the machine (product, serial number, firmware, BMC), operating system, kernel, processors, NUMA nodes, memory, huge pages, limits,
    clock and kernel modules, and every accelerator, virtual function and fabric bridge on PCI of all manufacturers the collection knows.
  - Reads the settings of the kubelet, the container engines and the CDI specifications, where there are any. Their parts are those of
    M(fleetproof.accelerator.kubelet_info), M(fleetproof.accelerator.container_runtime_info) and M(fleetproof.accelerator.cdi_info).
    A node without them says so. Nothing is started.
  - Uses files of the kernel, and only for the clock, the BMC, the state of NVIDIA's services and the container engines a program that the node already has.
    No vendor tool and no vendor library is needed, so a card that its driver does not see is seen here.
  - It reads and never judges. A value that could not be read is a dictionary with the key C(unknown) and the reason;
    a question that does not arise is one with the key C(not_applicable).
author:
  - Fleetproof maintainers (@fleetproof)
options:
  runtime:
    description:
      - The program that starts containers, whatever the kubelet uses.
    type: str
    choices: [docker, nerdctl, ctr]
  cdi_directories:
    description:
      - Directories of CDI specifications that the runtime is configured to load, the one that wins last. Without it the usual ones and those that an
        engine names.
    type: list
    elements: path
seealso:
  - module: fleetproof.accelerator.kubelet_info
  - module: fleetproof.accelerator.container_runtime_info
  - module: fleetproof.accelerator.cdi_info
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
notes:
  - Serial numbers, secure boot and the BMC can be read by root only.
  - Limits are those of the module's own process, which is what a program started the same way gets.
  - Secrets on the kernel command line (values of keys such as token or password, and passwords in URLs) are replaced by V([redacted]).
"""

EXAMPLES = r"""
- name: Read what the nodes are
  fleetproof.accelerator.accelerator_info:
  become: true
  register: node

- name: Show how many NVIDIA accelerators sit on PCI
  ansible.builtin.debug:
    msg: "{{ node.sections.pci.counts.nvidia }}"

- name: Read a machine whose root is mounted in a privileged pod
  fleetproof.accelerator.accelerator_info:
    host_root: /host
    deadline: 30

- name: Read a recorded machine instead of the real one
  fleetproof.accelerator.accelerator_info:
    recording: recordings/gpu-a01.yml
"""

RETURN = r"""
sections:
  description: What was read, one dictionary per section. Every value may instead say why it is not known.
  returned: success, without O(run_directory)
  type: dict
  contains:
    host:
      description: The machine.
      type: dict
      contains:
        timestamp:
          description: The node's clock when it was read, UTC.
          type: str
          sample: "2026-11-29T17:00:00Z"
        system:
          description: Vendor, product, serial number, SKU and family of the machine.
          type: dict
          sample: {vendor: Example, product: X-8000, serial: S1234, sku: X8, family: AI}
        board:
          description: Vendor, product, version and serial number of the main board.
          type: dict
          sample: {vendor: Example, product: B-8000, version: "1.0", serial: B1234}
        bios:
          description: Vendor, version and date of the firmware.
          type: dict
          sample: {vendor: Example, version: "2.4", date: 01/02/2026}
        bmc:
          description: Version of the baseboard management controller.
          type: dict
          sample: {version: "1.74"}
        os:
          description: Identifier, version and name of the distribution.
          type: dict
          sample: {id: ubuntu, version: "24.04", name: Ubuntu 24.04.2 LTS}
        kernel:
          description: Release, version, architecture, boot time and command line of the running kernel.
          type: dict
          sample: {release: 6.8.0-79-generic, version: "#79-Ubuntu SMP", architecture: x86_64, boot_time: "2026-11-29T07:06:40Z", command_line: ro iommu=pt}
        cpu:
          description: Model, sockets, cores, threads, NUMA nodes that have processors, and whether SMT is active.
          type: dict
          sample: {model: AMD EPYC 9654 96-Core Processor, sockets: 2, cores: 192, threads: 384, numa_nodes: 2, smt: true}
        memory:
          description: Total and available memory, and total memory of each NUMA node that has processors.
          type: dict
          sample: {total_mib: 2063880, available_mib: 2009602, per_numa_mib: {"0": 1031250, "1": 1032630}}
        huge_pages:
          description: Default size and number of huge pages, and the mode of transparent ones.
          type: dict
          sample: {size_kib: 2048, total: 0, free: 0, transparent: madvise}
        limits:
          description: Soft and hard limits of locked memory in bytes and of open files.
          type: dict
          sample: {memlock_soft: unlimited, memlock_hard: unlimited, nofile_soft: 1024, nofile_hard: 1048576}
        python:
          description: Version and path of the Python that ran the module.
          type: dict
          sample: {version: 3.12.3, executable: /usr/bin/python3}
        time:
          description: Whether the clock is kept by somebody, by whom, the magnitude of its offset, and which program told.
          type: dict
          sample: {synchronized: true, source: 192.168.0.1, offset_seconds: 0.000012, method: chronyc}
        numa_balancing:
          description: Whether the kernel balances memory between NUMA nodes by itself.
          type: bool
          sample: false
        security:
          description: SELinux (C(enforcing), C(permissive) or C(disabled)) and secure boot (C(enabled) or C(disabled)).
          type: dict
          sample: {selinux: disabled, secure_boot: enabled}
        virtualization:
          description: C(none), or the hypervisor.
          type: str
          sample: none
        modules:
          description: Version and state of the kernel modules of all known manufacturers.
          type: dict
          sample: {nvidia: {version: 570.133.20, loaded: true}}
        uptime_seconds:
          description: Time since boot.
          type: float
          sample: 3600.25
        services:
          description: >-
            What systemd says of the services nvidia-fabricmanager, nvidia-imex, nvidia-persistenced and nvidia-dcgm (C(LoadState), C(ActiveState),
            C(SubState)), where PCI shows a device of NVIDIA. C(driver_container) tells whether the driver is that of a container, whose services
            are no units of the node.
          type: dict
          sample: {nvidia-fabricmanager: {load: loaded, active: active, sub: running}, driver_container: false}
    pci:
      description: What sits on PCI.
      type: dict
      contains:
        timestamp:
          description: The node's clock when it was read, UTC.
          type: str
          sample: "2026-11-29T17:00:00Z"
        scan:
          description: Status C(ok), C(partial) when a function could not be read, or why the bus could not be listed; with details.
          type: dict
          sample: {status: ok, detail: 212 functions}
        counts:
          description: Number of accelerators per manufacturer. Virtual functions are not counted on the machine that offers them.
          type: dict
          sample: {nvidia: 8, amd: 0}
        devices:
          description: Accelerators, virtual functions, fabric bridges, and what else carries the vendor id of a manufacturer and could be taken for one.
          type: list
          elements: dict
          contains:
            address:
              description: PCI address.
              type: str
              sample: "0000:18:00.0"
            vendor:
              description: Vendor id.
              type: str
              sample: 10de
            device:
              description: Device id.
              type: str
              sample: "2330"
            subsystem_vendor:
              description: Vendor id of the board.
              type: str
              sample: 10de
            subsystem_device:
              description: Device id of the board.
              type: str
              sample: 16c1
            class:
              description: Class code.
              type: str
              sample: "0x030200"
            revision:
              description: Revision.
              type: str
              sample: a1
            manufacturer:
              description: Name of the manufacturer in this collection.
              type: str
              sample: nvidia
            role:
              description: C(accelerator), C(virtual_function), C(bridge) or C(other).
              type: str
              sample: accelerator
            model:
              description: Model by the device id.
              type: str
              sample: H100 SXM5 80GB
            driver:
              description: Kernel driver bound to the function, V(none) when there is none.
              type: str
              sample: nvidia
            numa_node:
              description: NUMA node.
              type: int
              sample: 0
            pcie:
              description: Width and speed of the card's end of its link, now and at most.
              type: dict
              sample: {width_current: 16, width_max: 16, speed_current_gts: 32.0, speed_max_gts: 32.0}
            upstream:
              description: Address, width and speed of the port at the other end of that link.
              type: dict
              sample: {address: "0000:17:00.0", width_current: 16, width_max: 16, speed_current_gts: 32.0, speed_max_gts: 32.0}
    kubelet:
      description: The kubelet's settings, as M(fleetproof.accelerator.kubelet_info) returns them; C(state) is V(absent) where there is none.
      type: dict
      sample: {state: running, settings: {topology_manager_policy: {outcome: value, value: restricted, source: /var/lib/kubelet/config.yaml}}}
    container_runtime:
      description: The container engines, as M(fleetproof.accelerator.container_runtime_info) returns them; C(engines) is empty where there is none.
      type: dict
      sample: {engines: [{id: containerd, running: true, version: 2.1.4, default_handler: runc}]}
    cdi:
      description: The CDI specifications, as M(fleetproof.accelerator.cdi_info) returns them; C(specs) is empty where there is none.
      type: dict
      sample: {specs: [{path: /etc/cdi/nvidia.yaml, kind: nvidia.com/gpu, state: valid}]}
recording:
  description: Every question asked to the machine with its answer.
  returned: when O(record=true)
  type: dict
  sample: {schema: fleetproof.accelerator/recording/v1}
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_info
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import node

OPTIONS = {"runtime": {"type": "str", "choices": ["docker", "nerdctl", "ctr"]}, "cdi_directories": {"type": "list", "elements": "path"}}


def main():
    run_info(node.collect, OPTIONS)


if __name__ == "__main__":
    main()
