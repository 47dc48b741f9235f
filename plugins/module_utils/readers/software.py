# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `software`: runtimes, libraries, container toolkits, settings of communication libraries and images, as files on the disk tell them."""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.privacy import redact
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_options
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

_GONE = (ABSENT, NOT_A_DIRECTORY)
_PLAIN = r"\s*(?:\w+[ :=]+)*?v?(\d[\w.+-]{0,59})"
_INSTALLED = r"(?mi)^version=\"?(\d[\w.+-]{0,59})"
_CANN = "/usr/local/Ascend/"
RUNTIMES = {
    "cuda": (
        ("/usr/local/cuda/version.json", r'"cuda"\s*:\s*\{[^{}]*"version"\s*:\s*"([\w.+-]{1,60})"'),
        ("/usr/local/cuda/version.txt", r"CUDA Version ([\d.]{1,30})"),
    ),
    "rocm": (("/opt/rocm/.info/version", _PLAIN),),
    "cann": tuple(
        (_CANN + place, _INSTALLED)
        for place in (
            "cann/version.info", "cann/share/info/runtime/version.info", "ascend-toolkit/latest/runtime/version.info",
            "cann/{machine}-linux/ascend_toolkit_install.info", "ascend-toolkit/latest/{machine}-linux/ascend_toolkit_install.info",
        )
    ),
    "dtk": (("/opt/dtk/.info/version", _PLAIN),),
    "maca": (("/opt/maca/Version.txt", _PLAIN),),
    "neuware": (("/usr/local/neuware/version.txt", _PLAIN),),
    "musa": (("/usr/local/musa/version.json", r'"musa_toolkits"\s*:\s*\{[^{}]*"version"\s*:\s*"([\w.+-]{1,60})"'),),
    "doca": (("/opt/mellanox/doca/applications/VERSION", _PLAIN),),
}  # fmt: skip
SYSTEM = ("/usr/lib/{machine}-linux-gnu", "/usr/lib64", "/usr/local/lib")
# The dynamic linker's name of a library is a link to the file that has its whole version in its name.
LIBRARIES = {
    "nccl": ("libnccl.so.2", (*SYSTEM, "/usr/local/cuda/lib64")),
    "nccl_network_plugin": ("libnccl-net.so", (*SYSTEM, "/opt/rocm/lib", "/opt/amazon/ofi-nccl/lib")),
    "rccl": ("librccl.so.1", ("/opt/rocm/lib", *SYSTEM)),
    "ucx": ("libucp.so.0", (*SYSTEM, "/opt/ucx/lib")),
    "libfabric": ("libfabric.so.1", (*SYSTEM, "/opt/amazon/efa/lib64", "/opt/amazon/efa/lib")),
    "ibverbs": ("libibverbs.so.1", SYSTEM),
    "mlx5": ("libmlx5.so.1", SYSTEM),
}
TOOLKITS = {"nvidia": ("libnvidia-container.so.1", (*SYSTEM, "/usr/local/nvidia/toolkit"))}
INSTALLED = {"ascend": "/usr/local/Ascend/Ascend-Docker-Runtime/ascend_docker_runtime_install.info"}
ENVIRONMENT = ("/etc/nccl.conf", "/etc/rccl.conf", "/etc/hccl.conf", "/etc/hccn.conf", "/etc/ucx/ucx.conf", "/etc/ucx.conf")
SHARED = ("/etc/environment", "/etc/profile.d")  # of everything, what is about these libraries
_NAMES = re.compile(r"(?:NCCL|RCCL|HCCL|UCX|UCC|RDMAV|FI|HSA|CUDA|ASCEND|GLOO)_[A-Z0-9_]{1,60}\Z")
_SETTING = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w{0,79})\s*=\s*(.*?)\s*\Z")
_OWN = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}")
DOCKER = "/var/lib/docker/image/overlay2/repositories.json"
STORAGE = "/var/lib/containers/storage/overlay-images/images.json"
CONTAINERD = "/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db"
MOST_IMAGES = 512


def _runtime(host, machine, places):
    """The version in the first file that is there; why there is none."""
    for place, form in places:
        answer = host.read_text(place.format(machine=machine), 65536)
        if answer.ok:
            found = re.match(form, answer.value[:400]) if form is _PLAIN else re.search(form, answer.value)
            return found.group(1) if found else unknown("%s: no version: %.60r" % (answer.subject, answer.value))
        if answer.status not in _GONE:
            return unknown(answer.reason)
    return not_applicable("not installed")


def _library(host, machine, name, directories):
    """The versions of a library in all places, one text; `present` where its file has no version in its name."""
    found = set()
    for directory in directories:
        answer = host.readlink("%s/%s" % (directory.format(machine=machine), name))
        if answer.ok:
            file = answer.value.rsplit("/", 1)[-1]
            version = re.search(r"\.so\.(\d[\w.+-]{0,40})\Z", file)
            found.add(version.group(1) if version else "present")
        elif "EINVAL" in answer.detail:
            found.add("present")
        elif answer.status not in _GONE:
            return unknown(answer.reason)
    return ", ".join(sorted(found)) or not_applicable("not installed")


def settings(text, wanted=None):
    """{name: value} of lines NAME=value; an address in a value is the node's own, and is not told."""
    found = {}
    for line in text.splitlines()[:2000]:
        told = _SETTING.match(line.partition("#")[0])
        if told and (wanted is None or wanted.match(told.group(1))) and len(found) < 200:
            name, value = told.groups()
            found[name] = _OWN.sub("(address)", redact(value.strip("\"'"), name))[:200]
    return found


def _environment(host):
    """{file: {name: value}} of the files that are there."""
    found, wanted = {}, dict.fromkeys(ENVIRONMENT)
    listing = host.listdir(SHARED[1])
    if not listing.ok and listing.status not in _GONE:
        return unknown(listing.reason)
    wanted.update(dict.fromkeys([SHARED[0], *("%s/%s" % (SHARED[1], n) for n in sorted(listing.value or ())[:100] if n.endswith(".sh"))], _NAMES))
    for path, names in wanted.items():
        answer = host.read_text(path, 1 << 18)
        if answer.ok:
            told = settings(answer.value, names)
            if told or names is None:
                found[path] = told
        elif answer.status not in _GONE:
            found[path] = unknown(answer.reason)
    return found


def _docker(content):
    names = {}
    for tags in content["Repositories"].values():
        names.update((tag, digest[:71]) for tag, digest in tags.items() if "@" not in tag)
    return names


def _storage(content):
    return {name: "sha256:" + image["id"][:64] for image in content for name in image.get("names") or () if "@" not in name}


def _images(host):
    """{engine: {name: digest of its configuration}} where the engine's own files tell."""
    found = {}
    for engine, path, read in (("docker", DOCKER, _docker), ("containers_storage", STORAGE, _storage)):
        answer = host.read_text(path)
        if answer.status in _GONE:
            found[engine] = not_applicable("keeps no list of images here")
            continue
        try:
            found[engine] = dict(sorted(read(json.loads(answer.value)).items())[:MOST_IMAGES]) if answer.ok else unknown(answer.reason)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found[engine] = unknown("%s: not understood" % path)
    database = host.exists(CONTAINERD)
    found["containerd"] = not_applicable("it keeps names in a database" if database.ok and database.value else "keeps no images here")
    if not database.ok:
        found["containerd"] = unknown(database.reason)
    return found


def collect(host):
    uname = host.uname()
    told = uname.value if uname.ok and isinstance(uname.value, dict) else {}
    machine = told.get("machine", "x86_64")
    toolkits = {name: _library(host, machine, *places) for name, places in TOOLKITS.items()}
    toolkits.update((name, _runtime(host, machine, ((path, _INSTALLED),))) for name, path in INSTALLED.items())
    return {
        "runtimes": {name: _runtime(host, machine, places) for name, places in RUNTIMES.items()},
        "libraries": {name: _library(host, machine, *places) for name, places in LIBRARIES.items()},
        "toolkits": toolkits,
        "environment": _environment(host),
        "images": _images(host),
        "kernel_options": kernel_options.read(host, told.get("release")),
    }
