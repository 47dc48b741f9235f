# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cambricon's sMLU mode as libcndev tells it. Runs in a child: standard library and library_calls. Layouts: cndev.h in Cambricon/mlu-exporter."""

from __future__ import annotations

import ctypes

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import library_calls

PLACES = ("libcndev.so", "/usr/local/neuware/lib64/libcndev.so", "/usr/local/neuware/lib/libcndev.so")
VERSIONS, UNSUPPORTED_VERSION = (6, 5), 3
ABSENT = "no such function"


class Mode(ctypes.Structure):  # cndevSMLUMode_t
    _fields_ = [("version", ctypes.c_int), ("mode", ctypes.c_int)]


def failure(library, code):
    try:
        library.cndevGetErrorString.restype = ctypes.c_char_p
        said = (library.cndevGetErrorString(code) or b"").decode("utf-8", "replace")
    except AttributeError:
        said = ""
    return {"error": code, "said": said[:200]}


def handle(library, card):
    """Of a card {pci, index}: (handle, None) or (None, error). By its PCI address where the library can."""
    found = ctypes.c_int()
    try:
        code = library.cndevGetDeviceHandleByPciBusId(str(card.get("pci")).encode(), ctypes.byref(found))
    except AttributeError:
        try:
            code = library.cndevGetDeviceHandleByIndex(int(card.get("index", -1)), ctypes.byref(found))
        except AttributeError:
            return None, {"error": ABSENT, "said": "cndevGetDeviceHandleByIndex"}
    return (found, None) if code == 0 else (None, failure(library, code))


def get(library, card):
    """0, 1 or {"error": code, "said": …}"""
    found, failed = handle(library, card)
    if failed:
        return failed
    for version in VERSIONS:
        mode = Mode(version, -1)
        try:
            code = library.cndevGetSMLUMode(ctypes.byref(mode), found)
        except AttributeError:
            return {"error": ABSENT, "said": "cndevGetSMLUMode"}
        if code != UNSUPPORTED_VERSION:
            break
    return mode.mode if code == 0 else failure(library, code)


def read(arguments):
    """{"cards": {pci: 0, 1 or {"error", "said"}}} of arguments["cards"], a list of {pci, index}; or {"missing": …}, {"error", "said"}."""
    loaded, answer = library_calls.load(PLACES, None)
    if loaded is None:
        return answer
    library = loaded.library
    try:
        code = library.cndevInit(0)
    except AttributeError:
        return {"error": ABSENT, "said": "cndevInit"}
    if code:
        return failure(library, code)
    return {"cards": {str(card.get("pci")): get(library, card) for card in arguments.get("cards", [])}}
