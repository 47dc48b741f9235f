# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main() of every reading module: build the door, read, answer."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost

OPTIONS = {
    "deadline": {"type": "int", "default": 60},
    "host_root": {"type": "path", "default": "/"},
    "record": {"type": "bool", "default": False},
    "recording": {"type": "path"},
    "run_directory": {"type": "path"},
}


def run_manufacturer(reader):
    """main() of a manufacturer's module. reader: the manufacturer's file."""
    _run(lambda host, params: {"accelerators." + reader.MANUFACTURER: reader.collect(host, params["pci"])}, dict(OPTIONS, pci={"type": "raw"}))


def run_info(collect, options=None):
    """main() of the other reading modules. collect(host), with options collect(host, its options) -> {section name: section}."""
    if options is None:
        _run(lambda host, _params: collect(host), OPTIONS)
    else:
        _run(collect, dict(OPTIONS, **options))


def run_found(collect, options):
    """main() of a module that goes on from what <manufacturer>_info found. collect(host, its options)."""
    _run(collect, dict(OPTIONS, **{key: {"type": "raw"} for key in ("devices", "detection", "driver")}, **options))


def _run(collect, options):
    """Fails only when the module itself cannot work."""
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    if module.params["recording"] or module.params["run_directory"]:
        module.fail_json(msg="recording and run_directory are read on the controller: call the module by its full name, fleetproof.accelerator.NAME")
    if module.params["deadline"] < 1:
        module.fail_json(msg="deadline: found %d, allowed: at least 1 second" % module.params["deadline"])
    host = LiveHost(root=module.params["host_root"], deadline=module.params["deadline"])
    if module.params["record"]:
        # Here, because every import costs the node, and few runs record.
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost

        host = RecordingHost(host)
    try:
        sections = collect(host, dict(module.params, check_mode=module.check_mode))
        result = {"changed": any(s.get("changed") for s in sections.values()), "sections": sections}
        if module.params["record"]:
            result["recording"] = host.recording()
    finally:
        host.close()
    module.exit_json(**result)
