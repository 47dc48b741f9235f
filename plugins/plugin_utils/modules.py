# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reading modules as the controller knows them: what each collects, and which sections it always answers with."""

from __future__ import annotations

from typing import Callable, NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend_share, ask, cambricon_smlu, probe
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section as allocation
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cdi, container_runtime, kernel_log, kubelet, node, surroundings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.manufacturer_readers import READERS


class Reader(NamedTuple):
    collect: Callable[..., dict]  # host, options of the module -> {section name: section}
    sections: tuple[str, ...]  # {manufacturer} stands for the option of that name
    manufacturer: str | None = None
    takes: str | None = None  # what the action plugin hands over out of the run: "pci" or "found" (what <manufacturer>_info found)
    says: Callable[[dict], str] | None = None  # options of the module -> what it is about to do to the node, told before it runs

    def names(self, options):
        return tuple(name.format(manufacturer=options.get("manufacturer")) for name in self.sections)


def _manufacturer(reader):
    name, own = "accelerators." + reader.MANUFACTURER, getattr(reader, "OPTIONS", {})

    def collect(host, options=None):
        options = options or {}
        return {name: reader.collect(host, options.get("pci"), **{key: options[key] for key in own if options.get(key) is not None})}

    return Reader(collect, (name,), reader.MANUFACTURER, "pci")


def _slicing(driver):
    sections = ("slicing." + driver.MANUFACTURER,)
    return Reader(lambda host, options: ask.answer(host, driver, options), sections, driver.MANUFACTURER, "found")


MODULES = {
    "accelerator_info": Reader(node.collect, ("host", "pci", "kubelet", "container_runtime", "cdi")),
    "allocation_info": Reader(allocation.answer, ("allocation.{manufacturer}", "paths.{manufacturer}"), takes="found"),
    "cdi_info": Reader(lambda host, options=None: {"cdi": cdi.collect(host, (options or {}).get("directories"))}, ("cdi",)),
    "container_probe": Reader(probe.answer, ("probes.{manufacturer}",), takes="found", says=probe.statement),
    "container_runtime_info": Reader(container_runtime.collect, ("container_runtime",)),
    "host_info": Reader(surroundings.collect, ("hardware", "kernel", "network_devices", "services", "settings", "software", "storage")),
    "kernel_events": Reader(lambda host, options=None: {"kernel": kernel_log.collect(host, since=(options or {}).get("since"))}, ("kernel",)),
    "kubelet_info": Reader(lambda host, _options=None: {"kubelet": kubelet.collect(host)}, ("kubelet",)),
    **{driver.MANUFACTURER + "_slicing": _slicing(driver) for driver in (ascend_share, cambricon_smlu)},
    **{reader.MANUFACTURER + "_info": _manufacturer(reader) for reader in READERS},
}
