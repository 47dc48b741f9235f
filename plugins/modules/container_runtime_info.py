#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: container_runtime_info
short_description: Read the container engines of a node
version_added: 0.1.0
description:
  - Reads containerd (configuration version 1 to 3 with its drop-ins), Docker, CRI-O and Podman, also a containerd that k3s, RKE2, MicroK8s or k0s brings.
    Of each it tells version, socket, cgroup driver, the default handler, every handler and whether its program is there, CDI, snapshotter, sandbox image
    and registries.
  - Tells which of C(docker), C(nerdctl) and C(ctr) would start a container on this node, as the kubelet's endpoint decides it, and why none of them would.
  - Asks the running engine first (C(crictl info), C(docker info), C(crio status config)), then its configuration.
notes:
  - Nothing is started. An engine that does not run is not asked, because asking could start it by its socket.
  - Credentials of registries stay on the node. Only whether there are any is told.
options:
  runtime:
    description:
      - The program that starts containers, whatever the kubelet uses.
    type: str
    choices: [docker, nerdctl, ctr]
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
author:
  - Fleetproof maintainers (@fleetproof)
"""

EXAMPLES = r"""
- name: Read the container engines
  fleetproof.accelerator.container_runtime_info:
  register: runtime

- name: Show the default handler of each
  ansible.builtin.debug:
    msg: "{{ item.id }} {{ item.default_handler }}"
  loop: "{{ runtime.sections.container_runtime.engines }}"
  loop_control:
    label: "{{ item.id }}"
"""

RETURN = r"""
sections:
  description: The section that was read, by its name.
  returned: when O(run_directory) is not given
  type: dict
  contains:
    container_runtime:
      description: The container engines, as described in docs/node-report.md.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        kubelet: {endpoint: /run/containerd/containerd.sock, engine: containerd}
        resolved:
          cli: nerdctl
          socket: /run/containerd/containerd.sock
          namespace: fleetproof-preflight
          nerdctl_absent: false
          by: kubelet
          reason: ""
          engine: containerd
        network_namespace: {shared: true, warning: ""}
        cgroup_version: 2
        clients: {nerdctl: {path: /usr/local/bin/nerdctl, version: 2.0.3}}
        engines:
          - id: containerd
            name: containerd
            instance: ""
            installed: /usr/bin/containerd
            running: true
            version: 2.0.5
            socket: /run/containerd/containerd.sock
            files: [/etc/containerd/config.toml, /etc/containerd/conf.d/99-nvidia.toml]
            read_from: [crictl info, containerd config dump]
            cri: true
            cgroup_driver: systemd
            default_handler: nvidia
            handlers:
              nvidia: {type: io.containerd.runc.v2, binary: /usr/bin/nvidia-container-runtime, present: true, cgroup_driver: systemd}
            cdi: {enabled: true, directories: [/etc/cdi, /var/run/cdi]}
            snapshotter: overlayfs
            sandbox_image: registry.k8s.io/pause:3.10
            registry: {config_path: /etc/containerd/certs.d, hosts: [docker.io], mirrors: {}, insecure: [], credentials: false}
            root: /var/lib/containerd
            on_disk: {default_handler: nvidia, handlers: [nvidia]}
        unsure: []
        toolkits: {nvidia: [{path: /usr/bin/nvidia-container-runtime, owner: host}]}
        sources:
          - {source: containerd config dump, status: ok, seconds: 0.04, detail: ""}
recording:
  description: Every question asked to the machine with its answer.
  returned: when O(record) is true
  type: dict
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_info
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_runtime


def main():
    run_info(container_runtime.collect, {"runtime": {"type": "str", "choices": list(container_runtime.RUNTIMES)}})


if __name__ == "__main__":
    main()
