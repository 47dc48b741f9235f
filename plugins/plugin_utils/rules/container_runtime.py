# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the container engine that workloads use on a node."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

# Whose containers need the vendor's runtime, and what its program is called: suite, operator preflight 18.10. Only NVIDIA's devices come by CDI instead.
RUNTIMES = {
    "ascend": "ascend-docker-runtime",
    "iluvatar": "ix-container-runtime",
    "mthreads": "mthreads-container-runtime",
    "nvidia": "nvidia-container-runtime",
}
_PROGRAMS = dict(RUNTIMES, amd="amd-container-runtime", gaudi="habana-container-runtime")
_BY_CDI = ("nvidia",)
_NEEDED = "suite: operator preflight: who needs the vendor container runtime"
_ONE = "suite: five-layer acceptance: one source installs it, never both"


def engines(view):
    """The engines that workloads use: the kubelet's, else the one a probe would use, else those that run. NoAnswer where there is none to judge."""
    section = view.section("container_runtime")
    named = section.data.get("kubelet")
    named = named.get("endpoint") if named.__class__ is dict else None
    if section.data.get("engines") == [] == section.data.get("unsure") and named.__class__ is dict and "not_applicable" in named:
        raise NoAnswer("not_applicable", "no container engine on this node")  # most nodes of many fleets: no further look
    listed, unsure = section.objects("engines"), section.maybe("texts", "unsure") or []
    by_id = {one.maybe("text", "id"): one for one in listed}
    try:
        section.text("kubelet", "endpoint")
    except NoAnswer as no:
        if no.outcome == "unknown":
            raise
    else:
        name = section.text("kubelet", "engine")
        if name not in by_id:
            raise NoAnswer("unknown", "engine %s: not in the report" % name)
        return [by_id[name]]
    if not listed:
        raise NoAnswer("unknown", unsure[0]) if unsure else NoAnswer("not_applicable", "no container engine on this node")
    chosen = section.maybe("text", "resolved", "engine")
    if chosen in by_id and by_id[chosen].maybe("flag", "running") is not False:
        return [by_id[chosen]]
    running = [one for one in listed if one.maybe("flag", "running") is True]
    if not running:
        raise NoAnswer("not_applicable", "no container engine runs, and no kubelet names one")
    return running


def _name(engine):
    return clean(engine.maybe("text", "id") or "engine", 60)


def handlers(engine):
    """{name: Facts} of an engine's handlers. NoAnswer where they are not known."""
    listed = engine.facts("handlers")
    return {name: listed.facts(name) for name in sorted(listed.data) if listed.data[name].__class__ is dict}


def vendor(name, handler):
    """The manufacturer whose handler it is, None where it is nobody's: by its program, else by its name."""
    program = (handler.maybe("text", "binary") or "").rpartition("/")[2]
    for manufacturer, runtime in _PROGRAMS.items():
        if program.startswith(runtime):
            return manufacturer
    if program in ("runc", "crun", "youki", "runsc"):
        return None
    return next((m for m in _PROGRAMS if name == m or name.startswith(m + "-")), None)


def manufacturers(view):
    """Manufacturers of the accelerators of this node. NoAnswer where that is not known."""
    read = {group.manufacturer for group in view.groups if group.packages}
    try:
        read |= {m for m, entries in view.pci().items() if entries}
    except NoAnswer:
        if not read:
            raise
    if not read:
        raise NoAnswer("not_applicable", "no accelerator was found")
    return sorted(read)


def _gap(no, subject):
    return not_applicable(no.reason, subject) if no.outcome == "not_applicable" else unknown(no.reason, subject)


def _by_cdi(manufacturer, engine):
    """Whether this engine injects the manufacturer's devices by CDI: True, False, or None where that is not known."""
    return engine.maybe("flag", "cdi", "enabled") if manufacturer in _BY_CDI else False


@rule(
    id="runtime-handler",
    layer=3,
    level="fail",
    title="The container engine has the vendor's handler, and its program is there",
    reads=("container_runtime",),
    scope="node",
    remedy="Install the vendor's container toolkit and let it configure the engine (NVIDIA: nvidia-ctk runtime configure), then restart the engine.",
)
def runtime_handler(view, p):
    outcomes = []
    # Without a kubelet it is not known that containers are meant to have accelerators here: jobs may come by a scheduler that starts none.
    level = None if view.section("container_runtime").maybe("text", "kubelet", "endpoint") else "warn"
    for engine in engines(view):
        for manufacturer in manufacturers(view):
            subject = ("manufacturer", manufacturer)
            if manufacturer not in RUNTIMES:
                outcomes.append(not_applicable("%s: containers need no runtime of the vendor" % manufacturer, subject))
                continue
            try:
                outcomes.append(_handler(engine, manufacturer, subject, level))
            except NoAnswer as no:
                outcomes.append(unknown(no.reason, subject))
    return outcomes


def _handler(engine, manufacturer, subject, level):
    mine = {name: handler for name, handler in handlers(engine).items() if vendor(name, handler) == manufacturer}
    expected = expectation(RUNTIMES[manufacturer], origin=_NEEDED)
    if not mine:
        by_cdi = _by_cdi(manufacturer, engine)
        if by_cdi is None:
            return unknown("%s has no handler of %s, and whether it injects by CDI is not known" % (_name(engine), manufacturer), subject)
        summary = "%s has no handler of %s" % (_name(engine), manufacturer)
        seen = ", ".join(show(name, 30) for name in handlers(engine))
        if by_cdi:
            return found("%s: containers get devices by CDI only" % summary, seen, expected, level="info", subject=subject)
        return found("%s: containers get no device" % summary, seen, expected, level=level, subject=subject)
    gone = {name: handler.maybe("text", "binary") for name, handler in mine.items() if handler.maybe("flag", "present") is False}
    if gone:
        default = engine.maybe("text", "default_handler")
        words = ", ".join("%s (%s)" % (show(name, 30), show(program, 100)) for name, program in sorted(gone.items()))
        level = level if len(gone) == len(mine) or default in gone else "warn"
        return found("%s: the program of a handler is missing: %s" % (_name(engine), words), words, expected, level=level, subject=subject)
    for handler in mine.values():
        handler.flag("present")
    return passed(subject)


@rule(
    id="runtime-default-handler",
    layer=3,
    level="fail",
    title="The default handler is there, and fits the accelerators",
    reads=("container_runtime",),
    scope="node",
    remedy="Name the right default in the engine's configuration, or give the workloads a RuntimeClass or --runtime.",
    parameters={"handler": Parameter("string", None, "", "site policy: the handler that containers get when they name none")},
    follows=("runtime-handler",),
)
def runtime_default_handler(view, p):
    outcomes = []
    for engine in engines(view):
        subject = ("engine", _name(engine))
        try:
            outcomes.append(_default(view, engine, subject, p))
        except NoAnswer as no:
            outcomes.append(_gap(no, subject))
    return outcomes


def _default(view, engine, subject, p):
    name, listed = engine.text("default_handler"), handlers(engine)
    if name not in listed:
        seen = ", ".join(show(n, 30) for n in listed)
        return found("The default handler %s of %s is not configured" % (name, _name(engine)), name, expectation(seen, origin="this node"), subject=subject)
    if listed[name].maybe("flag", "present") is False:
        program = listed[name].maybe("text", "binary") or ""
        expected = expectation("a program", origin="this node")
        return found("The default handler %s of %s names %s, which is missing" % (name, _name(engine), show(program, 100)), program, expected, subject=subject)
    if p.handler is not None:
        summary = "The default handler of %s is %s" % (_name(engine), name)
        return passed(subject) if name == p.handler else found(summary, name, p.expected("handler"), subject=subject)
    there, whose = manufacturers(view), vendor(name, listed[name])
    if whose is not None and whose not in there:
        expected = expectation(", ".join(there), origin="this node: its accelerators")
        return found("The default handler %s of %s is %s's" % (name, _name(engine), whose), name, expected, level="warn", subject=subject)
    needed = [m for m in there if m in RUNTIMES and m != whose and _by_cdi(m, engine) is not True]
    if needed:
        summary = "The default handler of %s is %s: containers must name the handler of %s" % (_name(engine), name, " and ".join(needed))
        return found(summary, name, expectation(" or ".join(needed), origin=_NEEDED), level="info", subject=subject)
    return passed(subject)


@rule(
    id="runtime-cgroup-driver",
    layer=3,
    level="fail",
    title="Kubelet and engine use one cgroup driver",
    reads=("kubelet", "container_runtime"),
    scope="node",
    remedy="Set one driver for both (systemd where systemd is process 1): cgroupDriver of the kubelet, SystemdCgroup of every handler of containerd.",
)
def runtime_cgroup_driver(view, p):
    kubelet = view.section("kubelet")
    if kubelet.maybe("word", "state") == "absent":
        return not_applicable("no kubelet on this node")
    wanted = kubelet.word("settings", "cgroup_driver", "value")
    if wanted not in ("systemd", "cgroupfs"):
        return unknown("no cgroup driver: %s" % show(wanted))
    outcomes = []
    for engine in engines(view):
        default = engine.maybe("text", "default_handler")
        for name, handler in handlers(engine).items():
            subject = ("handler", "%s/%s" % (_name(engine), clean(name, 60)))
            try:
                driver = handler.word("cgroup_driver")
            except NoAnswer as no:
                outcomes.append(_gap(no, subject))
                continue
            if driver == wanted:
                outcomes.append(passed(subject))
                continue
            # From Kubernetes 1.31 on the kubelet asks an engine that can tell: containerd 2 and CRI-O, and it tells that of the default handler.
            level = None if name == default and not _tells(engine) else "warn"
            summary = "The kubelet uses %s, handler %s of %s uses %s" % (wanted, show(name, 40), _name(engine), show(driver, 20))
            outcomes.append(found(summary, driver, expectation(wanted, origin="this node: the kubelet"), level=level, subject=subject))
    return outcomes


def _tells(engine):
    number = (engine.maybe("text", "version") or "").partition(".")[0]
    return engine.maybe("text", "name") == "cri-o" or (engine.maybe("text", "name") == "containerd" and number.isdecimal() and int(number[:4]) >= 2)


@rule(
    id="runtime-serves-kubelet",
    layer=3,
    level="fail",
    title="The engine that the kubelet names runs and serves it",
    reads=("container_runtime",),
    scope="node",
    remedy="Start the engine; take cri out of disabled_plugins in containerd's configuration (packages of Docker put it there).",
)
def runtime_serves_kubelet(view, p):
    view.section("container_runtime").text("kubelet", "endpoint")
    engine = engines(view)[0]
    if engine.maybe("flag", "cri") is False:
        expected = expectation("CRI plugin enabled", origin="containerd: docs/cri/config.md")
        return found("%s serves no kubelet: its CRI plugin is disabled" % _name(engine), "disabled", expected)
    if not engine.flag("running"):
        return found("%s does not run" % _name(engine), False, expectation(True, origin="this node: the kubelet's endpoint"))
    return PASSED


@rule(
    id="runtime-config-loaded",
    layer=3,
    level="warn",
    title="The engine runs with the configuration that is on disk",
    reads=("container_runtime",),
    scope="node",
    remedy="Drain the node and restart the engine; what is on disk counts only from then on.",
    follows=("runtime-serves-kubelet",),
)
def runtime_config_loaded(view, p):
    outcomes = []
    for engine in engines(view):
        subject = ("engine", _name(engine))
        try:
            disk, now, listed = engine.facts("on_disk"), engine.text("default_handler"), set(handlers(engine))
            default, written = disk.text("default_handler"), set(disk.texts("handlers"))
        except NoAnswer as no:
            outcomes.append(_gap(no, subject))
            continue
        if default != now:
            summary = "%s runs with the default handler %s, on disk it is %s" % (_name(engine), now, default)
            outcomes.append(found(summary, now, expectation(default, origin="this node: its configuration"), subject=subject))
        elif written - listed:
            words = ", ".join(show(name, 30) for name in sorted(written - listed))
            seen = ", ".join(show(name, 30) for name in sorted(listed))
            outcomes.append(
                found("%s runs without %s" % (_name(engine), words), seen, expectation(words, origin="this node: its configuration"), subject=subject)
            )
        else:
            outcomes.append(passed(subject))
    return outcomes


@rule(
    id="runtime-toolkit-authority",
    layer=3,
    level="warn",
    title="One source installs the vendor's container toolkit",
    reads=("container_runtime",),
    scope="node",
    remedy="Keep either the packages of the host or the vendor's operator; remove the other's handlers and programs.",
)
def runtime_toolkit_authority(view, p):
    section, outcomes, found_at = view.section("container_runtime"), [], {}
    for engine in section.objects("engines"):
        listed = engine.maybe("facts", "handlers")
        for name in sorted(listed.data) if listed is not None else ():
            handler = listed.maybe("facts", name)
            program = handler.maybe("text", "binary") if handler is not None and handler.maybe("flag", "present") is not False else None
            if program and "/" in program:
                found_at.setdefault(vendor(name, handler), set()).add(program)
    kits = section.facts("toolkits").data
    for manufacturer in sorted(set(kits) | set(found_at) - {None}):
        subject, places = ("manufacturer", clean(manufacturer, 40)), kits.get(manufacturer, [])
        if places.__class__ is not list:
            outcomes.append(unknown(show(places.get("unknown") if places.__class__ is dict else places, 300), subject))
            continue
        paths = {one["path"] for one in places if one.__class__ is dict and one.get("path").__class__ is str} | found_at.get(manufacturer, set())
        if len({path.rpartition("/")[0] for path in paths}) > 1:
            shown = sorted(show(path, 120) for path in paths)
            summary = "The container toolkit of %s is in two places: %s" % (subject[1], " and ".join(shown[:4]))
            outcomes.append(found(summary, shown, expectation("one place", origin=_ONE), subject=subject))
        else:
            outcomes.append(passed(subject))
    return outcomes or not_applicable("no container toolkit of a vendor")
