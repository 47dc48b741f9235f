#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containers see that are given an accelerator, or half of one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_probe
short_description: Start probe containers on the accelerators of a node
version_added: 0.2.0
description:
  - For each accelerator that the manufacturer's module found, starts one container with that accelerator, and looks whether it sees that one and no other.
  - Where an accelerator can be sliced and its manufacturer has a reader, starts one container with half of it, and looks whether the slicing libraries
    are loaded and the memory quota is in force. Then starts two containers that share it, each with a half, which wait for each other before they look.
  - A container is unprivileged, has no network, gets exactly the device nodes, mounts and variables of the grant, is labeled
    C(fleetproof.accelerator/preflight=true), and is removed when it ends. In containerd it lies in the namespace C(fleetproof-preflight).
  - A container that cannot be started is never a fault of the accelerator. Its row is C(ok) and C(simulated), with the command.
  - One run at a time works on a node. What a killed run left is removed first.
author:
  - Fleetproof maintainers (@fleetproof)
extends_documentation_fragment:
  - fleetproof.accelerator.info
  - fleetproof.accelerator.found
options:
  manufacturer:
    description: The manufacturer.
    type: str
    required: true
    choices: [amd, ascend, cambricon, hygon, iluvatar, metax, mthreads, nvidia, thead]
  image:
    description:
      - Image of every container. It needs a shell, C(cat) and what reads the cap. It wins over the default of the manufacturer.
      - NVIDIA, Ascend and AMD have a default. Without one and without this option nothing is started.
    type: str
  pull:
    description:
      - When the image is fetched from its registry. With V(never) it must be on the node, as on a node without a way out.
    type: str
    choices: [missing, never, always]
    default: missing
  runtime:
    description:
      - The program that starts containers, whatever the kubelet uses. C(podman) is used only where it is named here.
      - C(ctr) starts none. The commands are written for C(nerdctl) then.
    type: str
    choices: [docker, nerdctl, ctr, podman]
  probe_seconds:
    description: Seconds one container may take, fetching its image included. Then it is removed.
    type: int
    default: 120
  wait_for_lock:
    description: Seconds to wait for another run that works on this node, as the one for a second manufacturer does.
    type: int
    default: 300
  slicing_library_root:
    description:
      - Directory that holds the slicing libraries, one directory per manufacturer, as this module sees it. Without it no slice is started.
      - On the machine itself containers mount them from there. With O(host_root) they are put onto the machine first.
    type: path
  slicing_library_target:
    description:
      - Directory on the machine where libraries are put for the time of the probes, and are mounted from. What was there before stays.
      - The default is none, and with O(host_root) C(/var/lib/fleetproof/accelerator/lib).
    type: path
  slicing_library_replace:
    description: Replace libraries of another version in O(slicing_library_target), for good. Otherwise no slice is started.
    type: bool
    default: false
  deadline:
    description:
      - Seconds the whole module may take.
      - A container that would start later is not started.
    type: int
    default: 900
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - Nothing is started or written. Each command is returned in C(would_start) and each file in C(writes).
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: none
  platform:
    description: Target OS or families that can be operated against.
    platforms: posix
    support: full
notes:
  - It needs root.
  - Seen with Docker and Podman, and device nodes, libraries and readers of our tests. Not seen on hardware.
seealso:
  - module: fleetproof.accelerator.allocation_info
  - module: fleetproof.accelerator.container_runtime_info
"""

EXAMPLES = r"""
- name: Read the NVIDIA accelerators
  fleetproof.accelerator.nvidia_info:
  become: true
  register: gpus

- name: Show what would be started
  fleetproof.accelerator.container_probe:
    manufacturer: nvidia
    devices: "{{ gpus.sections['accelerators.nvidia'].devices }}"
    detection: "{{ gpus.sections['accelerators.nvidia'].detection }}"
    driver: "{{ gpus.sections['accelerators.nvidia'].driver }}"
  become: true
  check_mode: true
  register: intended

- name: Start the containers, with an image of the node
  fleetproof.accelerator.container_probe:
    manufacturer: nvidia
    devices: "{{ gpus.sections['accelerators.nvidia'].devices }}"
    detection: "{{ gpus.sections['accelerators.nvidia'].detection }}"
    driver: "{{ gpus.sections['accelerators.nvidia'].driver }}"
    image: registry.example/cuda:12
    pull: never
    slicing_library_root: /opt/slicing
  become: true
  register: probed

- name: Show what was not as it should be
  ansible.builtin.debug:
    msg: "{{ probed.sections['probes.nvidia'].checks | selectattr('state', 'equalto', 'unavailable') }}"
"""

RETURN = r"""
sections:
  description:
    - What was seen. One key, C(probes.MANUFACTURER), whose value has the keys below.
  returned: success, without O(run_directory)
  type: dict
  contains:
    manufacturer:
      description: The manufacturer.
      type: str
      sample: nvidia
    timestamp:
      description: The node's clock when it began, UTC.
      type: str
      sample: "2026-11-29T17:00:00Z"
    engine:
      description: By what the containers are started, and how that was decided.
      type: dict
      sample:
        cli: nerdctl
        socket: /run/containerd/containerd.sock
        namespace: fleetproof-preflight
        by: kubelet
        reason: ""
    image:
      description: The image, or why there is none.
      type: raw
      sample: nvidia/cuda:12.9.2-cudnn-devel-ubi8
    touches:
      description: What a run does to the node, in sentences.
      type: list
      elements: str
      sample: ["starts 8 containers with one accelerator each, 8 with half of one, and 8 times two that share one"]
    checks:
      description:
        - Rows C(container-device), C(sliced-runtime-loaded), C(sliced-quota-in-force) and C(co-tenancy) of the preflight document. They stand for those of
          M(fleetproof.accelerator.allocation_info). Depth is C(measured) only where a process ran under the grant.
      type: list
      elements: dict
      sample:
        - accelerator: GPU-11111111-2222-3333-4444-555555555555
          capability: container-device
          mode: exclusive
          state: ok
          depth: measured
          detail: sees /dev/nvidia0, GPU-11111111-2222-3333-4444-555555555555 and no other accelerator
          reason: ""
          command: "docker run --rm ..."
          evidence: "fleetproof-nodes-begin ..."
    would_start:
      description: What a run would start and check mode withheld, each as it can be pasted. Of a step that is only told the command is in its row.
      type: list
      elements: str
      sample: []
    started:
      description: How many containers were started.
      type: int
      sample: 32
    lock:
      description: Whether this run held the node, and why not.
      type: dict
      sample: {state: taken, path: /var/lib/fleetproof/accelerator/lock, reason: ""}
    writes:
      description: All that was started, written and removed, each with C(kind), C(what), C(outcome) and C(detail).
      type: list
      elements: dict
      sample:
        - kind: lock
          what: /var/lib/fleetproof/accelerator/lock
          outcome: kept
          detail: an empty file; the kernel lets go of it with the process
    changed:
      description: Whether a container was started, or would have been in check mode.
      type: bool
      sample: true
    note:
      description: Why there is no row.
      type: str
      sample: ""
recording:
  description: Every question and its answer.
  returned: when O(record=true)
  type: dict
  sample: {schema: fleetproof.accelerator/recording/v1}
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe
from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_found


def main():
    run_found(
        probe.answer,
        {
            "manufacturer": {
                "type": "str",
                "required": True,
                "choices": ["amd", "ascend", "cambricon", "hygon", "iluvatar", "metax", "mthreads", "nvidia", "thead"],
            },
            "image": {"type": "str"},
            "pull": {"type": "str", "default": "missing", "choices": ["missing", "never", "always"]},
            "runtime": {"type": "str", "choices": ["docker", "nerdctl", "ctr", "podman"]},
            "probe_seconds": {"type": "int", "default": 120},
            "wait_for_lock": {"type": "int", "default": 300},
            "slicing_library_root": {"type": "path"},
            "slicing_library_target": {"type": "path"},
            "slicing_library_replace": {"type": "bool", "default": False},
            "deadline": {"type": "int", "default": 900},
        },
    )


if __name__ == "__main__":
    main()
