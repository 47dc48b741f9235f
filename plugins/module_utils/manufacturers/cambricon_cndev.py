# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What libcndev tells of a card and cnmon does not. Runs in a child: standard library and library_calls. Layouts: cndev.h 5 and 6 in Cambricon/mlu-exporter."""

from __future__ import annotations

import ctypes

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import library_calls

PLACES = ("libcndev.so", "/usr/local/neuware/lib64/libcndev.so", "/usr/local/neuware/lib/libcndev.so")
VERSIONS, UNSUPPORTED_VERSION, NOT_SUPPORTED = (6, 5), 3, 10
UNTOLD = 0xA5  # what no function writes: a field that keeps it was not filled in
MOST_PORTS = 64


def _words(library, function, handle, *more):
    """The 32-bit words that a function fills in, the version before them; or an error. Room for layouts that grow."""
    room, problem = (ctypes.c_uint8 * 1024)(), None
    for version in VERSIONS:
        ctypes.memset(room, UNTOLD, 1024)
        ctypes.memmove(room, ctypes.byref(ctypes.c_int(version)), 4)
        problem = library.call(function, room, handle, *more)
        if problem is None or problem["error"] != UNSUPPORTED_VERSION:
            break
    if problem:
        return problem
    return [int.from_bytes(bytes(room[4 * n : 4 * n + 4]), "little") for n in range(1, 16)], bytes(room[4:16])


def _named(told, names):
    """{place: word or error}"""
    if isinstance(told, dict):
        return dict.fromkeys(names, told)
    return {name: told[0][position] for position, name in enumerate(names)}


def _rows(library, handle):
    """cndevRepairStatus_t (three of bool) and cndevRemappedRowV2_t since driver 6.0.2, cndevRemappedRow_t before."""
    repair = _words(library, "cndevGetRepairStatus", handle)
    if isinstance(repair, dict) and repair["error"] == "no function":
        told = _named(_words(library, "cndevGetRemappedRows", handle), ("corrected", "uncorrected", "pending", "failed"))
    else:
        told = _named(_words(library, "cndevGetRemappedRowsV2", handle), ("corrected", "uncorrected"))
        flags = dict.fromkeys(("pending", "failed"), repair) if isinstance(repair, dict) else {"pending": repair[1][1], "failed": repair[1][2]}
        told.update(flags)
    return {"row_remap.%s" % key: value for key, value in told.items()}


def _port(library, handle, port):
    """1 up, 0 down, None where it is down and nothing tells whether it should be up; or an error. isActive or macState, serdesState, cable or presence."""
    told = _words(library, "cndevGetMLULinkStatus", handle, port)
    if isinstance(told, dict) and told["error"] == "no function":
        room = (ctypes.c_int * 64)(*[-1] * 64)  # cndevMLULinkStatusV2_t begins without a version
        problem = library.call("cndevGetMLULinkStatusV2", room, handle, port)
        if problem:
            return told if problem["error"] == "no function" else problem
        active, cable = room[0], room[2]
    elif isinstance(told, dict):
        return told
    else:
        active, cable = told[0][0], told[0][2]
    return 1 if active == 1 else 0 if active == 0 and cable == 1 else None


def _links(library, handle):
    try:
        ports = library.library.cndevGetMLULinkPortNumber(handle)
    except AttributeError:
        return {"error": "no function", "said": "cndevGetMLULinkPortNumber"}
    if not 0 <= ports <= MOST_PORTS:
        return {"error": ports, "said": "cndevGetMLULinkPortNumber: %d" % ports}
    states = [_port(library, handle, port) for port in range(ports)]
    return next((state for state in states if isinstance(state, dict)), states)


def _card(library, card):
    handle = ctypes.c_int()
    function, key = ("cndevGetDeviceHandleByPciBusId", card.encode()) if ":" in card else ("cndevGetDeviceHandleByIndex", int(card))
    problem = library.call(function, key, ctypes.byref(handle))
    if problem:
        return dict(problem, unsupported=False)  # the part has it; the library does not find the part
    told = _named(_words(library, "cndevGetRetiredPagesStatus", handle), ("retired_pages.pending",))
    told.update(_rows(library, handle), links=_links(library, handle))
    return told


def read(arguments):
    """{"cards": {pci: {place: number or error, "links": [1, 0 or None]} or error}}, or {"missing": …}, or an error."""
    library, answer = library_calls.load(PLACES, NOT_SUPPORTED)
    if library is None:
        return answer
    problem = library.call("cndevInit", 0)
    return problem or {"cards": {card: _card(library, card) for card in arguments["cards"]}}
