# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of every reading module: run it on the node or on a recording, file what it says, return little.

A node that does not answer is a filed section with the reason, not a failed task.
"""

from __future__ import annotations

import json
import os

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import MalformedRecording, ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import emitted_rows
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import merged_recording, recording
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunDirectory, RunError, dumps, utc
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.settings import readable_manufacturers

READ, UNREACHABLE, TIMEOUT, NO_PYTHON, FAILED = "read", "unreachable", "timeout", "no_python", "failed"
_CONNECT_TRIES = 2  # at 2,000 nodes some connections fail for no lasting reason
_MAX_REASON = 400
TIMEOUTS = ("TaskTimeoutError", "AnsibleTimeoutError", "StepTimeoutError")
NO_ANSWER = "no answer within %s seconds; the connection or the module hangs"
PREFIX = "fleetproof.accelerator."
_OF_DEVICE = ("id", "index", "kind", "parent", "name", "identity", "memory_mib", "partition", "device_nodes", "extra")


class CollectAction(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        name = (self._task.resolved_action or self._task.action).rpartition(".")[2]
        result.update(self.read(name, dict(self._task.args), task_vars, self._task.timeout))
        return result

    def read(self, name, arguments, task_vars, timeout):
        """Run the reading module of this name, file its sections if there is a run; the task's result. timeout: seconds after which it is given up."""
        run_path = arguments.pop("run_directory", None)
        recording_path = arguments.pop("recording", None)
        reader = MODULES[name]
        record = boolean(arguments.get("record", False))
        try:
            run = RunDirectory(run_path) if run_path else None
        except RunError as error:
            raise AnsibleError(str(error)) from None
        started = utc()
        node = task_vars["inventory_hostname"]
        if run and reader.takes == "pci" and arguments.get("pci") is None:
            arguments["pci"] = on_pci(run, node, reader.manufacturer)
        elif run and reader.takes == "found" and arguments.get("devices") is None:
            arguments.update(found(run, node, reader.manufacturer or arguments.get("manufacturer")))
        if reader.says:
            Display().display("%s: %s" % (node, reader.says(dict(arguments, recording=recording_path, check_mode=self._task.check_mode))))
        if recording_path:
            status, answer, reason = replay(reader, recording_path, record, arguments)
        else:
            status, answer, reason = self._read_node(name, arguments, task_vars, timeout)
        sections = answer.get("sections", {}) if status == READ else {}
        if name == "allocation_info":
            told(sections, run, node, arguments)
        recorded = answer.get("recording")
        changed = answer.get("changed") is True
        if run is None:
            if status != READ:
                return {"failed": True, "msg": reason, "status": status}
            # As in a run: the steps of a role after this one ask whether it answered.
            return {"changed": changed, "status": status, "answered": True, "sections": sections, **({} if recorded is None else {"recording": recorded})}
        for section in sorted(set(reader.names(arguments)) | set(sections)):
            data = sections.get(section)
            if status == READ and data is None:
                continue
            run.file_section(node, section, name, started, status, data or {}, reason, recorded=bool(recording_path))
        if status != READ and record and reader.sections[0] == "host":
            recorded = merged_recording.unanswered(started, reason)
        if recorded is not None:
            merged_recording.file_part(run, node, "_".join(filter(None, (name, arguments.get("manufacturer")))), recorded)
        return {"changed": changed, "status": status, "reason": reason, "answered": status == READ, "manufacturers": manufacturers(sections)}

    def _read_node(self, name, arguments, task_vars, timeout):
        """(status, module result, reason)."""
        reason = ""
        for attempt in range(_CONNECT_TRIES):
            try:
                if attempt:
                    self._connection.reset()
                answer = self._execute_module(module_name=PREFIX + name, module_args=arguments, task_vars=task_vars)
            except AnsibleConnectionFailure as error:
                reason = one_line(error)
                continue
            except AnsibleError as error:
                return FAILED, {}, one_line(error)
            except BaseException as error:  # the task's own timeout is no Exception
                if error.__class__.__name__ not in TIMEOUTS:
                    raise
                return TIMEOUT, {}, NO_ANSWER % timeout
            if answer.get("unreachable"):
                reason = one_line(answer.get("msg", "unreachable"))
                continue
            return judged(answer)
        return UNREACHABLE, {}, reason


def judged(answer):
    if "sections" in answer and not answer.get("failed"):
        return READ, answer, ""
    said = _said(answer)
    if answer.get("rc") == 127 or ("interpreter" in said and ("not found" in said or "No such file" in said or "discover" in said)):
        return NO_PYTHON, {}, one_line("no usable Python on the node: %s" % said)
    return FAILED, {}, one_line(said or "the module returned nothing")


def _said(answer):
    """What a module that failed left behind: its message and what it printed, else the last line of its traceback."""
    told = [str(answer[key]) for key in ("msg", "module_stderr", "module_stdout") if answer.get(key)]
    if told:
        return " ".join([*told, "(exit %s)" % answer["rc"]] if answer.get("rc") else told)
    error = answer.get("exception")
    event = getattr(error, "event", None)  # newer than ansible-core 2.18; there it is the traceback's text
    trace = getattr(event, "formatted_traceback", None) or getattr(event, "msg", None) or error
    return "the module failed: %s" % trace.strip().rpartition("\n")[2] if isinstance(trace, str) and trace.strip() else ""


def on_pci(run, node, manufacturer):
    """The manufacturer's accelerators as the section pci of this run has them; None where it was not read."""
    envelope = run.load(node, ("pci",)).get("pci") or {}
    return pci.accelerators(envelope["data"], manufacturer) if envelope.get("status") == READ else None


def found(run, node, manufacturer):
    """What <manufacturer>_info found, as far as an allocation asks for it; nothing where that section was not read."""
    envelope = run.load(node, ("accelerators.%s" % manufacturer,)).get("accelerators.%s" % manufacturer) or {}
    if envelope.get("status") != READ:
        return {}
    return of_section(envelope["data"])


def told(sections, run, node, arguments):
    """Rows of allocation_info carry the command that a probe would start."""
    envelope = (run.load(node, ("container_runtime",)).get("container_runtime") or {}) if run else {}
    runtime = envelope["data"] if envelope.get("status") == READ else {}
    for name, section in sections.items():
        if name.startswith("allocation."):
            emitted_rows.complete(
                section, arguments.get("devices"), arguments.get("driver"), runtime, arguments.get("probe_image") or "", arguments.get("host_root") or "/"
            )


def of_section(section):
    """The options of a module that goes on from a section accelerators.<manufacturer>."""
    listed = section.get("devices")
    devices = [{key: device[key] for key in _OF_DEVICE if key in device} for device in listed if isinstance(device, dict)] if isinstance(listed, list) else []
    return {"devices": devices, "detection": section.get("detection"), "driver": section.get("driver")}


def replay(reader, path, record=False, options=None):
    """Run a module's reader on a recording, here: it has no side and asks no machine."""
    try:
        document = recording.load(path)
        host = ReplayHost(document)
    except MalformedRecording as error:
        return FAILED, {}, "malformed recording: %s" % error
    if document.get("unreachable"):
        return UNREACHABLE, {}, one_line(document["unreachable"])
    if record:
        host = RecordingHost(host)
    answer = {"sections": json.loads(dumps(reader.collect(host, options or {})))}
    if record:
        answer["recording"] = host.recording()
    return READ, answer, ""


def manufacturers(sections):
    """Manufacturers to ask on this node: those whose accelerators PCI shows; all of them where PCI could not tell."""
    section = sections.get("pci") or {}
    counts = section.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    told = section.get("scan", {}).get("status") == "ok"
    return [m for m in readable_manufacturers() if not told or counts.get(m) != 0]


def one_line(error):
    return " ".join(str(error).replace(os.sep * 2, os.sep).split())[:_MAX_REASON]
