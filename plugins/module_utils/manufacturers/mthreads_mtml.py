# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What libmtml tells of a card and mthreads-gmi does not. Runs in a child: standard library and library_calls. Calls: MooreThreads/mthreads-ml-py."""

from __future__ import annotations

import ctypes

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import library_calls

PLACES = ("libmtml.so", "libmtml.so.1", "/usr/lib/x86_64-linux-gnu/libmtml.so", "/usr/local/musa/lib/libmtml.so")
NOT_SUPPORTED = 4
NOT_FOUND = 7
MOST_LINKS = 64
COUNTERS = {"ecc.corrected_volatile": (0, 0), "ecc.uncorrected_volatile": (1, 0), "ecc.corrected_aggregate": (0, 1), "ecc.uncorrected_aggregate": (1, 1)}


class Spec(ctypes.Structure):  # mtmlMtLinkSpec_t
    _fields_ = [("version", ctypes.c_uint), ("bandwidth", ctypes.c_uint), ("links", ctypes.c_uint), ("reserved", ctypes.c_uint * 4)]


class Pages(ctypes.Structure):  # mtmlPageRetirementCount_t
    _fields_ = [("single", ctypes.c_uint), ("double", ctypes.c_uint), ("reserved", ctypes.c_uint * 4)]


class Pci(ctypes.Structure):  # mtmlPciInfo_t; what follows is not read
    _fields_ = [("sbdf", ctypes.c_char * 32), ("segment", ctypes.c_uint), ("bus", ctypes.c_uint), ("device", ctypes.c_uint), ("rest", ctypes.c_uint * 64)]


def _links(library, device):
    """A state for each link: 1 up, 0 down or slower than it could be, None where it is down and has no device at its other end."""
    spec = Spec()
    problem = library.call("mtmlDeviceGetMtLinkSpec", device, ctypes.byref(spec))
    if problem is None and spec.links > MOST_LINKS:
        problem = {"error": spec.links, "said": "mtmlDeviceGetMtLinkSpec: %d links" % spec.links}
    states = []
    for link in range(0 if problem else spec.links):
        state = library.number("mtmlDeviceGetMtLinkState", ctypes.c_uint, device, link)
        if isinstance(state, dict):
            return state
        peer = None
        if state == 0:
            peer = library.call("mtmlDeviceGetMtLinkRemoteDevice", device, link, ctypes.byref(ctypes.c_void_p()))
            if peer is not None and peer.get("error") != NOT_FOUND:
                return peer
        states.append({0: 0 if peer is None else None, 1: 1, 2: 0}.get(state))
    return problem or states


def _memory(library, device):
    memory = ctypes.c_void_p()
    problem = library.call("mtmlDeviceInitMemory", device, ctypes.byref(memory))
    places = ("retired_pages.corrected", "retired_pages.uncorrected", "retired_pages.pending", *COUNTERS)
    if problem:
        return dict.fromkeys(places, problem)
    pages = Pages()
    problem = library.call("mtmlMemoryGetRetiredPagesCount", memory, ctypes.byref(pages))
    told = {"retired_pages.corrected": problem or pages.single, "retired_pages.uncorrected": problem or pages.double}
    told["retired_pages.pending"] = library.number("mtmlMemoryGetRetiredPagesPendingStatus", ctypes.c_uint, memory)
    for place, (error, counter) in COUNTERS.items():  # location 1: DRAM
        told[place] = library.number("mtmlMemoryGetEccErrorCounter", ctypes.c_ulonglong, memory, error, counter, 1)
    return told


def read(arguments):
    """{"cards": {pci: {place: number or error, "links": [1, 0 or None]}}}, or {"missing": …}, or an error."""
    library, answer = library_calls.load(PLACES, NOT_SUPPORTED)
    if library is None:
        return answer
    handle, count = ctypes.c_void_p(), ctypes.c_uint()
    problem = library.call("mtmlLibraryInit", ctypes.byref(handle)) or library.call("mtmlLibraryCountDevice", handle, ctypes.byref(count))
    if problem:
        return problem
    cards = {}
    for index in range(min(count.value, 64)):
        device, pci = ctypes.c_void_p(), Pci()
        problem = library.call("mtmlLibraryInitDeviceByIndex", handle, index, ctypes.byref(device))
        problem = problem or library.call("mtmlDeviceGetPciInfo", device, ctypes.byref(pci))
        if problem:
            return problem
        cards["%04x:%02x:%02x.0" % (pci.segment, pci.bus, pci.device)] = dict(_memory(library, device), links=_links(library, device))
    return {"cards": cards}
