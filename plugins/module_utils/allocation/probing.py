# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probes of a node's accelerators, one after the other; imported only where there is an accelerator to probe."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command as commands
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import emitted, grants, sweep
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_judge as judge
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_parameters as parameters
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_script as script
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import EXCLUSIVE, SLICED
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.row import DECLARED, OK, SIMULATED, UNAVAILABLE, row
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_engines
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_runtime as runtime
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, not_applicable, why

DEVICE, LOADED, QUOTA, TENANTS = "container-device", "sliced-runtime-loaded", "sliced-quota-in-force", "co-tenancy"
SECONDS = 120
RESERVE, LEAST = 20, 5  # seconds
_SILENT = 2
OUTPUT = 1 << 18  # bytes of a container's output that are judged


def resolve(host, named):
    """(by what containers are started here, as the section container_runtime tells, a warning); podman only where it is named."""
    asked, warning = container_engines.Asked(host), runtime.network_namespace(host)["warning"]
    if named == "podman" and host.resolve("podman").ok:
        nothing = not_applicable("podman has none")
        return {"cli": "podman", "socket": nothing, "namespace": nothing, "nerdctl_absent": False, "by": "option", "reason": ""}, warning
    endpoint = runtime.kubelet_endpoint(host)
    value = endpoint if isinstance(endpoint, str) else ""
    trouble = "" if value or is_not_applicable(endpoint) else why(endpoint)
    return runtime.resolve(asked.program, asked.there, (value, trouble), named), warning


class Probing:
    coming = ""  # where libraries are going to be staged; nowhere for one that only tells
    silent = 0  # in a row of which nothing was heard

    def __init__(self, manufacturer, machine, accelerators, hand, options):
        self.manufacturer, self.machine, self.accelerators, self.hand = manufacturer, machine, accelerators, hand
        self.named, self.pull = options.get("image") or "", options.get("pull") or "missing"
        self.most, self.patience = options.get("probe_seconds") or SECONDS, options.get("wait_for_lock") or 0
        self.seconds = self.most
        self.root, self.host = hand.root, machine.host
        self.mounted = getattr(getattr(self.host, "_inner", self.host), "_root", "/")
        self.resolved, self.warning = resolve(self.host, options.get("runtime") or "")
        self.target, self.replace = (options.get("slicing_library_target") or "").rstrip("/"), bool(options.get("slicing_library_replace"))
        self.rows, self.emitted, self.started, self.forced, self.unstaged = [], [], 0, "", ""

    def image(self, one):
        family = ""
        if self.manufacturer == "ascend":
            from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend

            family = ascend.family(one.device)
        return parameters.image(self.manufacturer, self.machine.driver, family, self.named)

    def touches(self, image):
        """Plain sentences: all that a run of these probes does to the node."""
        sliced = sum(one.kind == grants.SLICED and self.maker_probes(one) for one in self.accelerators)
        cli = self.resolved.get("cli")
        told = [
            "starts %d containers with one accelerator each, %d with half of one, and %d times two that share one" % (len(self.accelerators), sliced, sliced),
            "each by %s, unprivileged, without a network, labeled %s, removed when it ends and after %d s at the latest"
            % (cli if is_known(cli) else "nothing, for there is no container runtime", commands.LABEL, self.seconds),
            "image %s; pull policy %s" % (image or "none", self.pull),
            "removes containers with that label that an earlier run left",
            "writes below %s what a grant mounts, and removes it at the end; the lock file there stays" % self.root,
        ]
        return told if image else ["starts nothing: no image", *told[3:]]

    @staticmethod
    def maker_probes(one):
        return bool(one.maker.PROBE)

    def take(self):
        if self.hand.take(self.patience, clean=False) == hold.TAKEN:
            swept = sweep.sweep(self.hand, self.resolved)
            if not swept["errors"]:  # else a container of an earlier run may be about to start on what that run wrote
                self.hand.clean()
            self.rows += sweep.rows([one.label for one in self.accelerators], swept["errors"])
        else:
            self.forced = self.hand.withheld
        self._stage()

    def _stage(self):
        """Puts the libraries where an engine can mount them: in a pod they lie beside this module, and elsewhere an installed tree may be wanted."""
        source, target = self.machine.library_root, self.target or ("%s/lib" % self.root if self.mounted != "/" else "")
        sliced = any(one.kind == grants.SLICED and self.maker_probes(one) for one in self.accelerators)
        if not source or target in ("", source) or not sliced or not parameters.SLICES[self.manufacturer].reader:
            return
        why = self.hand.stage("%s/%s" % (source, self.manufacturer), "%s/%s" % (target, self.manufacturer), self.replace)
        if why and not self.forced:
            self.unstaged = "the slicing libraries could not be staged: %s" % why
        if self.hand.lock["state"] == hold.WITHHELD:
            self.coming = "%s/%s/" % (target, self.manufacturer)
        self.machine.library_root = target

    def run(self):
        stale, self.rows = self.rows, []
        own = self._nodes()
        for one in self.accelerators:
            self._hurry()
            self._device(one, own)
        halves = [one for one in self.accelerators if one.kind == grants.SLICED and self.maker_probes(one)]
        for one in halves:
            self._hurry()
            self._slice(one)
        for one in halves:
            self._hurry()
            self._tenants(one)
        sweep.settled(self.hand, self.resolved)
        self.rows += stale

    def _hurry(self):
        """What is started must also be ended and taken away before the deadline."""
        left = self.host.remaining() - RESERVE
        self.seconds = min(self.most, left)
        if left < LEAST:
            self.forced = self.forced or "the deadline of the module is near"

    # -- one step

    def _placed(self, grant):
        """The grant with every source where it lies on this node; what is made for it below the root of this run."""
        mounts = []
        for mounted in grant["mounts"]:
            source = mounted["source"]
            if mounted["origin"] == "made":
                source = self.root + (source[len(grants.MADE) :] if source.startswith(grants.MADE + "/") else "/preflight-shared" + source)
            mounts.append(dict(mounted, source=source))
        return dict(grant, mounts=mounts)

    def _make(self, grant):
        """Puts what is made for a grant onto the node. "" or why not."""
        for mounted in grant["mounts"]:
            if mounted["origin"] != "made":
                continue
            content, source = mounted.get("content"), mounted["source"]
            alone = content and list(content) == [source.rpartition("/")[2]]
            trouble = self.hand.directory(source) if not alone else ""
            for name, text in (content or {}).items():
                trouble = trouble or self.hand.write(source if alone else "%s/%s" % (source, name), text)
            if trouble and self.hand.lock["state"] != hold.WITHHELD:
                return "%s: %s" % (source, trouble)
        return ""

    def _step(self, one, pairs):
        """Runs containers together, or tells why not: (printed, [Command] or None, why not, client). pairs: (grant, script, options)."""
        image, why = self.image(one)
        if not image:
            return "", None, why, ""
        placed = [(self._placed(grant), words, options) for grant, words, options in pairs]
        missing = sorted({path for grant, _words, _options in placed for path in grant["missing"] if not self._comes(path)})
        unstaged = self.unstaged if any(m["origin"] == "library" for grant, _words, _options in placed for m in grant["mounts"]) else ""
        forced = (
            self.forced or unstaged or ("" if not missing else "an engine makes an empty directory of what is not on the machine: %s" % ", ".join(missing[:8]))
        )
        steps = self._steps(image, placed, forced)
        problem = next((step.problem for step in steps if step.problem), "")
        if problem:
            return "", None, problem, ""
        if not any(step.reason for step in steps):
            wrong = [self._make(dict(grant, mounts=[*grant["mounts"], *options.mounts])) for grant, _words, options in placed]
            if any(wrong):
                steps = self._steps(image, placed, "what it mounts could not be written: %s" % "; ".join(filter(None, wrong)))
        argvs = [step.argv for step in steps]
        printed = steps[0].command if len(steps) == 1 else commands.together(*argvs, root=self.mounted, warning=self.warning)
        if steps[0].reason:
            if self.hand.lock["state"] == hold.WITHHELD and not (unstaged or missing or emitted.choose(self.resolved, placed[0][0])[1]):
                for grant, _words, options in placed:  # check mode: the journal has what would be written and started
                    self._make(dict(grant, mounts=[*grant["mounts"], *options.mounts]))
                self.hand.start_together(argvs, "container")
                self.emitted.append(printed)
            return printed, None, steps[0].reason, ""
        told = self.hand.start_together(argvs, "container", self.seconds, OUTPUT)
        if all(command.status == judge.answers.NOT_RECORDED for command in told):
            return printed, None, "not in the recording", ""
        self.started += len(argvs)
        self._begun(told)
        if any(command.status != judge.answers.OK for command in told):
            sweep.settled(self.hand, self.resolved)  # a client that was ended leaves its container
        return printed, told, "", emitted.choose(self.resolved, placed[0][0])[0]["cli"]

    def _begun(self, told):
        """An image that does not come, or an engine that hangs, would take the time of every further step; one accelerator may do so by itself."""
        silent = all(command.status == judge.answers.TIMEOUT and not command.stdout.strip() for command in told)
        self.silent = self.silent + 1 if silent else 0
        if self.silent == _SILENT:
            self.forced = self.forced or "the last %d had not begun when their time was over" % _SILENT

    def _comes(self, path):
        """Whether a library is staged before the step in a run that may write."""
        return bool(self.coming) and path.startswith(self.coming)

    def _steps(self, image, placed, forced):
        return [
            emitted.step(self.resolved, grant, image, ["sh", "-c", words], forced, root=self.mounted, options=options, warning=self.warning)
            for grant, words, options in placed
        ]

    def _row(self, one, capability, mode, verdict, command="", evidence=""):
        if self.warning and verdict.detail.startswith(judge.NOT_STARTED):
            verdict = verdict._replace(detail="%s; %s" % (verdict.detail, self.warning))
        self.rows.append(row(one.label, capability, mode, verdict.state, verdict.depth, verdict.detail, verdict.reason, command, evidence))

    def _options(self, tenant, one):
        """Of a slice: the library's own words, and of a tenant the directory in which it meets the other."""
        log = parameters.SLICES[self.manufacturer].log
        barrier = grants.mount("%s/barrier-%016x" % (self.root, _fnv(one.label)), script.BARRIER, False, "made")
        return commands.Options(self.pull, log, (barrier,) if tenant else ())

    # -- the probes

    def _nodes(self):
        """label -> the nodes that are one accelerator's own: their names end in its number."""
        found = {}
        for one in self.accelerators:
            grant = one.grant(EXCLUSIVE)[0] or {"device_nodes": [], "runtime_nodes": []}
            found[one.label] = {path for path in [*(n["path"] for n in grant["device_nodes"]), *grant["runtime_nodes"]] if path[-1:].isdigit()}
        return found

    def _device(self, one, nodes):
        grant, refused = one.grant(EXCLUSIVE)
        if refused:
            return self._row(one, DEVICE, EXCLUSIVE, judge.Verdict(UNAVAILABLE, DECLARED, "", "no grant: %s" % refused))
        own = nodes[one.label]
        starts = {path.rstrip("0123456789") for paths in nodes.values() for path in paths}
        others = set().union(*nodes.values()) - own
        wanted = {n["path"] for n in grant["device_nodes"]} | {path for path in grant["runtime_nodes"] if self.machine.there(path) is not False}
        words = script.of_device(self.manufacturer)
        printed, told, why, cli = self._step(one, [(grant, words, commands.Options(self.pull))])
        if told is None:
            return self._row(one, DEVICE, EXCLUSIVE, judge.Verdict(OK, SIMULATED, "granted, and not started: %s" % why), printed)
        names = grant["cdi"] and [name.rpartition("=")[2] for name in grant["cdi"]] if self.manufacturer in parameters.LISTING else None

        def alien(path):
            return path in others or (path not in own and path[-1:].isdigit() and path.rstrip("0123456789") in starts)

        verdict = judge.device(judge.ran(told[0], cli, script.NODES), wanted, own, alien, names)
        return self._row(one, DEVICE, EXCLUSIVE, verdict, printed, judge.evidence(told[0]))

    def _slice(self, one):
        grant, refused = one.grant(SLICED)
        if refused:
            for name in (LOADED, QUOTA):
                self._row(one, name, SLICED, judge.Verdict(UNAVAILABLE, DECLARED, "", "no grant: %s" % refused))
            return
        printed, told, why, cli = self._step(one, [(grant, script.of_slice(self.manufacturer), self._options(0, one))])
        if told is None:
            for name in (LOADED, QUOTA):
                self._row(one, name, SLICED, judge.Verdict(OK, SIMULATED, "granted, and not started: %s" % why), printed)
            return
        found, record = judge.ran(told[0], cli, script.MAPS), not parameters.SLICES[self.manufacturer].reader
        self._row(one, LOADED, SLICED, judge.loaded(grant, found, record), printed, judge.evidence(told[0]))
        quota = judge.quota(parameters.cap(self.manufacturer, grant), found, record)
        self._row(one, QUOTA, SLICED, quota, printed, judge.evidence(told[0], True))

    def _tenants(self, one):
        made = [one.grant(SLICED), one.grant(SLICED, 1)]
        refused = made[0][1] or made[1][1]
        if refused:
            return self._row(one, TENANTS, SLICED, judge.Verdict(UNAVAILABLE, DECLARED, "", "no two grants: %s" % refused))
        pairs = [(grant, script.of_slice(self.manufacturer, number), self._options(number, one)) for number, (grant, _no) in enumerate(made, 1)]
        printed, told, why, cli = self._step(one, pairs)
        if told is None:
            return self._row(one, TENANTS, SLICED, judge.Verdict(OK, SIMULATED, "granted, and not started together: %s" % why), printed)
        found = [judge.ran(command, cli, script.MAPS) for command in told]
        caps = [parameters.cap(self.manufacturer, grant) for grant, _no in made]
        verdict = judge.together(caps, found, not parameters.SLICES[self.manufacturer].reader)
        shown = "\n".join("tenant %d:\n%s" % (number, judge.evidence(command)) for number, command in enumerate(told, 1))
        return self._row(one, TENANTS, SLICED, verdict, printed, shown)


def _fnv(text):
    """FNV-1a, 64 bits: an id may hold what a path must not."""
    found = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        found = ((found ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return found
