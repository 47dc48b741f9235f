#!/usr/bin/python
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_info
short_description: Read the kubelet settings of a node that matter to accelerators
version_added: 0.1.0
description:
  - Finds the kubelet by its process and reads its settings as it does, first from its command line, then from the drop-ins of C(--config-dir), then
    from the file of C(--config). Without a running kubelet the files of kubeadm and the drop-ins of k3s and RKE2 are read.
  - Reads the endpoint of the container runtime, the policies of the topology, CPU and memory managers, what is reserved, the eviction thresholds, the
    number of pods, the cgroup driver, and the feature gates of devices.
  - A kubelet inside of k3s, RKE2 or MicroK8s is reported as such, with the settings that its distribution names.
  - A setting that nothing names is unknown, with the places that were searched. No default of the kubelet is filled in.
notes:
  - Reading the process table and the files of a kubelet may need root. Where it is not permitted the settings are unknown, never absent.
extends_documentation_fragment:
  - fleetproof.accelerator.attributes
  - fleetproof.accelerator.info
author:
  - Fleetproof maintainers (@fleetproof)
seealso:
  - module: fleetproof.accelerator.container_runtime_info
"""

EXAMPLES = r"""
- name: Read the kubelet settings
  fleetproof.accelerator.kubelet_info:
  become: true
  register: kubelet

- name: Show the topology policy, or why it is not known
  ansible.builtin.debug:
    var: kubelet.sections.kubelet.settings.topology_manager_policy
"""

RETURN = r"""
sections:
  description: The section that was read, by its name.
  returned: when O(run_directory) is not given
  type: dict
  contains:
    kubelet:
      description: The kubelet, as described in docs/node-report.md.
      type: dict
      returned: always
      sample:
        timestamp: "2026-11-29T17:00:00Z"
        state: running
        problem: ""
        process:
          name: kubelet
          pid: 2211
          command: /usr/bin/kubelet
          other_pids: []
          data_directories: [/var/lib/kubelet]
        searched: ["the kubelet's own command line", /var/lib/kubelet/config.yaml]
        settings:
          topology_manager_policy: {outcome: value, value: restricted, source: /var/lib/kubelet/config.yaml}
          kube_reserved: {outcome: value, value: {cpu: "1", memory: 4Gi}, source: /var/lib/kubelet/config.yaml}
        lines:
          topology_manager_policy: {outcome: value, value: restricted, source: /var/lib/kubelet/config.yaml}
recording:
  description: Every question asked to the machine with its answer.
  returned: when O(record) is true
  type: dict
"""

from ansible_collections.fleetproof.accelerator.plugins.module_utils.module import run_info
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet


def main():
    run_info(lambda host: {"kubelet": kubelet.collect(host)})


if __name__ == "__main__":
    main()
