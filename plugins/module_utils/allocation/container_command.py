# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of a probe container: what is run and what is printed are the same words. Pure.

Never privileged, no network, removed by itself, and nothing in it but what the grant hands over. An engine is {"cli", "socket", "namespace"}, as
readers/container_runtime.py resolves it; facts that say why there is no socket count as none.
"""

from __future__ import annotations

from typing import NamedTuple

LABEL = "fleetproof.accelerator/preflight=true"
CONTAINERD = ("nerdctl", "ctr")
CLIENTS = ("docker", "nerdctl", "podman")  # ctr has no flag for a vendor's runtime and never starts a probe
PULL = ("missing", "never", "always")
REFUSED = {"docker": 125, "podman": 125, "nerdctl": 1}  # how a client ends that started nothing
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@")
_CDI = "nvidia.com/gpu=%s"


class Inexpressible(Exception):
    """This client has no words for this grant; the text says why."""


class Options(NamedTuple):
    """environment and mounts: beside the grant's, the environment in place of it. pull: the default asks a registry only for an image that is not there."""

    pull: str = "missing"
    environment: dict = {}
    mounts: tuple = ()
    label: str = LABEL


def quoted(words, root="/"):
    """One line for a POSIX shell. root: where the node's root is mounted."""
    words = [str(word) for word in words]
    if root != "/":
        words = ["/usr/sbin/chroot", root, *words]
    return " ".join(word if word and _PLAIN.issuperset(word) else "'%s'" % word.replace("'", "'\\''") for word in words)


def together(first, second, root="/", warning=""):
    """Two that run at the same time, for a shell."""
    return "%s%s &\n%s &\nwait" % (remark(warning), quoted(first, root), quoted(second, root))


def remark(text):
    """A line above a command that a shell leaves alone: one line, whatever a node sent."""
    return "# %s\n" % " ".join(text.split()) if text else ""


def client(engine):
    """The engine's client and how it is addressed: the first words of every command."""
    words = [engine["cli"]]
    if engine["cli"] in CONTAINERD:
        for flag in ("socket", "namespace"):
            value = engine.get(flag)
            words += ["--address" if flag == "socket" else "--namespace", value] if isinstance(value, str) and value else []
    elif engine["cli"] == "docker" and isinstance(engine.get("socket"), str) and engine["socket"]:
        words += ["-H", engine["socket"] if "://" in engine["socket"] else "unix://" + engine["socket"]]
    return words


def vendor(cli, grant):
    """The words by which this client hands a grant to the vendor's runtime; None where it has none."""
    runtime = grant.get("runtime")
    if not runtime:
        return []
    if cli == "docker":
        return ["--runtime", runtime]
    ids = [one.rpartition("=")[2] for one in grant.get("cdi") or ()]
    if runtime == "nvidia" and cli == "nerdctl":
        # all of them would be more than is granted
        return ["--gpus", "all" if not ids else "device=%s" % ids[0] if len(ids) == 1 else '"device=%s"' % ",".join(ids)]
    if runtime == "nvidia" and cli == "podman" and ids:
        return [word for one in ids for word in ("--device", _CDI % one)]
    return None


def _joined(*parts):
    if any(":" in part for part in parts[:2]):
        raise Inexpressible("a path with a colon cannot be handed over: %s" % next(part for part in parts if ":" in part))
    return ":".join(parts)


def argv(engine, grant, image, words, options=None):
    """The command that runs words in a container of this grant and nothing else."""
    options = options or Options()
    cli = engine["cli"]
    if cli not in CLIENTS:
        raise Inexpressible("%s has no flag that passes a device node or a vendor's runtime" % cli)
    runtime = vendor(cli, grant)
    if runtime is None:
        raise Inexpressible("%s has no flag that hands over the runtime %s" % (cli, grant["runtime"]))
    if not image or image.startswith("-"):
        raise Inexpressible("no image" if not image else "an image is not named %s" % image)
    if options.pull not in PULL:
        raise Inexpressible("pull: found %s, allowed: %s" % (options.pull, ", ".join(PULL)))
    found = [*client(engine), "run", "--rm", "--network", "none", *(["--pull", options.pull] if options.pull != "missing" else []), *runtime]
    found += ["--label", options.label]
    for key, value in sorted(dict(grant["environment"], **options.environment).items()):
        found += ["-e", "%s=%s" % (key, value)]
    for mounted in sorted([*grant["mounts"], *options.mounts], key=lambda one: one["target"]):
        found += ["-v", _joined(mounted["source"], mounted["target"], *(["ro"] if mounted["read_only"] else []))]
    for node in sorted(grant["device_nodes"], key=lambda one: one["path"]):
        found += ["--device", _joined(node["path"], node["path"], node["permissions"])]
    for key, value in sorted(grant["annotations"].items()):
        found += ["--annotation", "%s=%s" % (key, value)]
    return _handed([*found, image, *words])


def _handed(words):
    """A word is what a process can be given: no zero byte, and nothing that is no character."""
    for word in words:
        if "\0" in word or not _encodes(word):
            raise Inexpressible("no program can be given %s" % ascii(word[:60]))
    return words


def _encodes(word):
    try:
        return word.isascii() or bool(word.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False


def listing(engine, label=LABEL):
    """The ids of every container with the label, also of one that has ended."""
    return [*client(engine), "ps", "-aq", "--filter", "label=" + label]


def removal(engine, ids):
    return [*client(engine), "rm", "-f", *ids]
