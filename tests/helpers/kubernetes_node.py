# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded node of a Kubernetes cluster with two NVIDIA accelerators: kubelet, containerd, CDI and pods, all in order. Tests break it."""

from __future__ import annotations

import json

import engine_samples
import nine
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cdi
from cdi_samples import HOOK
from engine_samples import CRICTL, SOCKET, SYSTEMCTL, command, dumped, served

UUID = "GPU-0f1e7000-0000-4000-8000-00000000000%d"
DRIVER = "575.57.08"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so." + DRIVER
TOOLKIT = "/usr/bin/nvidia-container-runtime"
CONFIG, SPEC, KUBELET = "/etc/containerd/config.toml", "/var/run/cdi/nvidia.yaml", "/var/lib/kubelet/config.yaml"
POD = "/sys/fs/cgroup/kubepods.slice/kubepods-pod7f.slice"
LEAF = "cri-containerd-%s.scope" % ("%064x" % 0xC0FFEE)
ROOT = "/proc/5001/root/dev"
NUMBERS = {"nvidia0": (195, 0), "nvidia1": (195, 1), "nvidiactl": (195, 255), "nvidia-uvm": (511, 0)}
CHECKPOINT = '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":{"nvidia.com/gpu":["GPU-0","GPU-1"]}},"Checksum":1}'
SETTINGS = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}
cgroupDriver: systemd
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cpuManagerPolicy: static
evictionHard: {memory.available: 500Mi, nodefs.available: 10%}
kubeReserved: {cpu: 500m, memory: 3Gi}
maxPods: 110
systemReserved: {cpu: 500m, memory: 2Gi}
topologyManagerPolicy: restricted
"""
DUMP = """version = 3
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "registry.example/pause:3.10"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime"]
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  enable_cdi = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "nvidia"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
        BinaryName = "/usr/bin/nvidia-container-runtime"
        SystemdCgroup = true
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        SystemdCgroup = true
"""


def info(default="nvidia", systemd=True, program=TOOLKIT, by_cdi=True, handlers=("nvidia", "runc")):
    """What `crictl info` says of containerd."""
    runtimes = {name: {"runtimeType": "io.containerd.runc.v2", "options": {"SystemdCgroup": systemd}} for name in handlers}
    if "nvidia" in runtimes:
        runtimes["nvidia"]["options"]["BinaryName"] = program
    said = {"containerd": {"defaultRuntimeName": default, "runtimes": runtimes}, "enableCDI": by_cdi, "cdiSpecDirs": ["/etc/cdi", "/var/run/cdi"]}
    return command(CRICTL, json.dumps({"status": {}, "config": said}))


def specification(count=2, driver=DRIVER):
    def device(name, *indexes):
        return {"name": name, "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia%d" % index} for index in indexes]}}

    named = [device(name, index) for index in range(count) for name in (str(index), UUID % index)]
    edits = {
        "deviceNodes": [{"path": "/dev/nvidiactl"}, {"path": "/dev/nvidia-uvm"}],
        "hooks": [{"hookName": "createContainer", "path": HOOK, "args": ["nvidia-cdi-hook", "enable-cuda-compat", "--host-driver-version=" + driver]}],
        "mounts": [{"hostPath": LIBRARY.replace(DRIVER, driver), "containerPath": LIBRARY.replace(DRIVER, driver), "options": ["ro"]}],
    }
    return {"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [*named, device("all", *range(count))], "containerEdits": edits}


def recording():
    """The node. To break it: files is path -> entry, commands a list in which the first of an argv answers, programs name -> path."""
    made = nine.recording(nine.nvidia(2), node="k8s-1")
    files = made["files"]
    for path in list(files):
        if files[path] == {"absent": True} and (
            path == "/var/run/cdi" or path.startswith((SOCKET, CONFIG, "/var/lib/kubelet", "/sys/fs/cgroup/kubepods.slice"))
        ):
            del files[path]
    recorded = made["host"]["boot_time"]
    files.update({
        "/proc": {"dir": ["1", "900", "1200", "5001"]}, "/proc/1/cmdline": "/sbin/init\0",
        "/proc/900/cmdline": "/usr/bin/kubelet\0--config=%s\0--node-ip=10.0.0.9\0" % KUBELET, "/proc/1200/cmdline": "/usr/bin/containerd\0",
        "/proc/5001/cmdline": "python\0serve.py\0", "/proc/self/ns/net": {"link": "net:[4026531840]"}, "/proc/1/ns/net": {"link": "net:[4026531840]"},
        "/proc/devices": "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n511 nvidia-uvm\n\nBlock devices:\n259 blkext\n",
        "/var/lib/kubelet": {"dir": ["config.yaml", "device-plugins"]}, KUBELET: SETTINGS,
        "/var/lib/kubelet/device-plugins": {"dir": ["kubelet_internal_checkpoint", "kubelet.sock"]},
        "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint": CHECKPOINT, "/etc/kubernetes/node-feature-discovery": {"absent": True},
        SOCKET: {"exists": True}, CONFIG: DUMP, "/etc/containerd/certs.d": {"dir": ["registry.example"]},
        "/proc/driver": {"exists": True}, "/run/docker.pid": {"absent": True}, "/usr/local/nvidia": {"absent": True}, TOOLKIT: {"exists": True},
        "/home/kubernetes": {"absent": True}, "/usr/local/Ascend": {"absent": True}, "/usr/local/iluvatar": {"absent": True},
        "/sys/class/infiniband": {"dir": ["mlx5_0", "mlx5_1"]},
        "/sys/class/infiniband/mlx5_0/device/numa_node": "0\n", "/sys/class/infiniband/mlx5_1/device/numa_node": "1\n",
        "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n", "/sys/fs/cgroup": {"dir": ["cgroup.controllers", "kubepods.slice", "system.slice"]},
        "/sys/fs/cgroup/system.slice": {"dir": ["containerd.service", "kubelet.service"]}, "/sys/fs/cgroup/kubepods.slice": {"dir": ["kubepods-pod7f.slice"]},
        POD: {"dir": ["cgroup.procs", LEAF]}, "%s/%s/cgroup.procs" % (POD, LEAF): "5001\n5007\n",
        ROOT: {"dir": sorted([*NUMBERS, "null", "pts", "shm"])}, "/dev/char": {"dir": ["1:3", "195:0", "195:1", "195:255", "511:0"]},
        "/var/run/cdi": {"dir": ["nvidia.yaml"]}, HOOK: {"type": "file", "mode": "0755"}, LIBRARY: {"type": "file", "mode": "0644"},
    })  # fmt: skip
    for name, (major, minor) in NUMBERS.items():
        entry = {"device": "char", "major": major, "minor": minor, "mode": "0666"}
        files.update({"/dev/" + name: dict(entry), "%s/%s" % (ROOT, name): dict(entry)})
    files["/dev"]["dir"] = sorted({*files["/dev"]["dir"], *NUMBERS, "char"})
    for gone in engine_samples.ABSENT:
        if not any(path == gone or path.startswith(gone + "/") for path in files):
            files[gone] = {"absent": True}
    dated(files, SPEC, specification(), recorded + 90)
    idle = "Id=%s.service\nActiveState=inactive\nMainPID=0\n"
    units = "\n".join(["Id=containerd.service\nActiveState=active\nMainPID=1200\n", idle % "docker", idle % "crio"])
    made["commands"] += [command(SYSTEMCTL, units), served("2.1.4"), info(), dumped(DUMP), command(["crictl", "--version"], "crictl version v1.34.0\n")]
    made["commands"].append(command(cdi.SYSTEMCTL, "Id=nvidia-cdi-refresh.service\nLoadState=not-found\n\nId=nvidia-cdi-refresh.path\nLoadState=not-found\n"))
    programs = made["programs"] = {name: {"status": "absent"} for name in engine_samples.PROGRAMS}
    programs.update({name: "/usr/bin/" + name for name in ("containerd", "ctr", "crictl", "runc", "nvidia-container-runtime")})
    return made


def dated(files, path, document, mtime):
    text = document if isinstance(document, str) else json.dumps(document)
    answers = {"read": [{"status": "ok", "value": text}], "stat": [{"status": "ok", "value": {"type": "file", "mode": "0644", "mtime": mtime}}]}
    files[path] = {"asked": answers}
