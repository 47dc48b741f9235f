# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about products that no node reports about itself, from data/products.yml."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer

DATA = Path(__file__).parent.parent / "data" / "products.yml"


@lru_cache(maxsize=1)
def _document():
    return data_file.load(DATA)


@lru_cache(maxsize=8)
def _table(name, told):
    """[(manufacturer, pattern of the name, what is told)]"""
    entries = _document()[name]
    return [(e["manufacturer"], re.compile(e["name"], re.IGNORECASE), e[told]) for e in entries]


def _first(table, manufacturer, name):
    return next((told for maker, pattern, told in table if maker == manufacturer and pattern.search(name)), None)


@lru_cache(maxsize=1024)
def has_links(manufacturer, name):
    """Whether the product has links between devices without an added bridge; None when the catalogue does not say."""
    return _first(_table("links", "built_in"), manufacturer, name)


@lru_cache(maxsize=1024)
def has_hidden_switches(manufacturer, name):
    """Whether the product comes on a baseboard whose switches are no functions of the maker on the node's PCI, yet are run by the node."""
    return _first(_table("hidden_switches", "here"), manufacturer, name) is True


class Product:
    """A line of the catalogue: its name, and each fact with where it comes from."""

    __slots__ = ("facts", "name", "sources")

    def __init__(self, name, facts, sources):
        self.name = name
        self.facts = {key: value for key, (value, _source) in facts.items()}
        self.sources = {key: "product catalogue, %s: %s" % (name, sources[source]) for key, (_value, source) in facts.items()}


@lru_cache(maxsize=1)
def catalogue():
    """[(manufacturer, pattern of the name, PCI device ids, memory from and to, Product)]"""
    document = _document()
    return [
        (
            entry["manufacturer"],
            re.compile(entry["name"], re.IGNORECASE),
            tuple(entry.get("devices", ())),
            tuple(entry.get("memory_mib", ())),
            Product(entry["product"], entry["facts"], document["sources"]),
        )
        for entry in document["products"]
    ]


@lru_cache(maxsize=1024)
def find(manufacturer, name, device="", memory_mib=None):
    """The Product, None when the catalogue does not know it. device: PCI device id, empty when unknown."""
    for maker, pattern, devices, sizes, product in catalogue():
        if maker != manufacturer or not pattern.search(name) or (devices and device and device not in devices):
            continue
        if sizes and (memory_mib is None or not sizes[0] <= memory_mib <= sizes[1]):
            continue
        return product
    return None


_ID = re.compile(r"(?:0x)?([0-9a-f]{4})(?:10de)?\Z")


def _device_id(text):
    """Tools print 0x74a1, 233010DE or 0x233010DE; 000010DE and the like is none."""
    told = _ID.match(text.lower())
    return told.group(1) if told and told.group(1) != "0000" else ""


def of(device):
    """The Product of a device, by what its tool prints; None when it is not known."""
    extra, memory = device.data.get("extra"), device.data.get("memory_mib")
    said = extra.get("pci_device") if extra.__class__ is dict else None
    return _of(device.manufacturer, device.name, said[:20] if said.__class__ is str else "", memory if memory.__class__ in (int, float) else None)


@lru_cache(maxsize=4096)
def _of(manufacturer, name, said, memory):
    return find(manufacturer, name, _device_id(said), memory)


def expected(device, fact):
    """(value, source) of a fact of the device's product. NoAnswer where the catalogue does not know it."""
    product = of(device)
    if product is None:
        raise NoAnswer("unknown", "%s is not in the product catalogue" % (device.name or "a device without a name"))
    if fact not in product.facts:
        raise NoAnswer("not_applicable", "the product catalogue does not say it of %s" % product.name)
    return product.facts[fact], product.sources[fact]
