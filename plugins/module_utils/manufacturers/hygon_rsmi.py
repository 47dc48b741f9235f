# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What librocm_smi64 of HyHAL tells of a card and hy-smi does not. Runs in a child: standard library and library_calls. Calls: HYGON-AI/hcu-dcgm."""

from __future__ import annotations

import ctypes

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import library_calls

PLACES = ("/opt/hyhal/lib/librocm_smi64.so", "/opt/hyhal/lib/librocm_smi64.so.2", "/usr/local/hyhal/lib/librocm_smi64.so")
NOT_SUPPORTED = 2  # rsmi_status_t
BLOCKS = tuple(1 << n for n in range(14))  # rsmi_gpu_block_t: UMC to fuses
MOST = 4096


class Errors(ctypes.Structure):  # rsmi_error_count_t
    _fields_ = [("corrected", ctypes.c_uint64), ("uncorrected", ctypes.c_uint64), ("reserved", ctypes.c_uint64 * 2)]


class Page(ctypes.Structure):  # rsmi_retired_page_record_t: status 0 retired, 1 pending, 2 could not be retired
    _fields_ = [("address", ctypes.c_uint64), ("size", ctypes.c_uint64), ("status", ctypes.c_int)]


def _ecc(library, card):
    """The sum of the blocks that count; a block that does not is none of this part."""
    sums, none = None, None
    for block in BLOCKS:
        errors = Errors()
        problem = library.call("rsmi_dev_ecc_count_get", card, ctypes.c_uint64(block), ctypes.byref(errors))
        if problem is None:
            sums = (errors.corrected + (sums or (0, 0))[0], errors.uncorrected + (sums or (0, 0))[1])
        elif problem.get("unsupported"):
            none = none or problem
        else:
            sums = (problem, problem)
            break
    return dict(zip(("ecc.corrected_volatile", "ecc.uncorrected_volatile"), sums or (none, none)))


def _pages(library, card):
    count = ctypes.c_uint32()
    problem = library.call("rsmi_dev_memory_reserved_pages_get", card, ctypes.byref(count), None)
    if problem is None and count.value > MOST:
        problem = {"error": count.value, "said": "rsmi_dev_memory_reserved_pages_get: %d pages" % count.value}
    pages = (Page * max(count.value, 1))()
    if problem is None and count.value:
        problem = library.call("rsmi_dev_memory_reserved_pages_get", card, ctypes.byref(count), pages)
    return problem or int(any(page.status == 1 for page in pages[: count.value]))


def _links(library, card):
    """A state for each XHCL link: 1 up, 0 down, None where it is down and has no device at its other end."""
    ports = library.number("rsmi_dev_xhcl_link_number_get", ctypes.c_uint32, card)
    if isinstance(ports, dict):
        return ports
    if ports > 64:
        return {"error": ports, "said": "rsmi_dev_xhcl_link_number_get: %d links" % ports}
    states = []
    for port in range(ports):
        state = library.number("rsmi_dev_xhcl_link_state_get", ctypes.c_uint32, card, port)
        if isinstance(state, dict):
            return state
        peer = 1 if state == 1 else library.number("rsmi_dev_xhcl_link_remote_bdfid_get", ctypes.c_uint64, card, port)
        states.append(1 if state == 1 else 0 if isinstance(peer, int) and peer else None)
    return states


def read(arguments):
    """{"cards": {pci: {place: number or error, "links": [1, 0 or None]}}}, or {"missing": …}, or an error."""
    library, answer = library_calls.load(PLACES, NOT_SUPPORTED)
    if library is None:
        return answer
    problem = library.call("rsmi_init", ctypes.c_uint64(0))
    count = problem or library.number("rsmi_num_monitor_devices", ctypes.c_uint32)
    if isinstance(count, dict):
        return count
    cards = {}
    for card in range(min(count, 64)):
        place = library.number("rsmi_dev_pci_id_get", ctypes.c_uint64, card)
        if isinstance(place, dict):
            return place
        address = "%04x:%02x:%02x.%x" % (place >> 32, place >> 8 & 0xFF, place >> 3 & 0x1F, place & 7)
        told = _ecc(library, card)
        told.update({"retired_pages.pending": _pages(library, card), "links": _links(library, card)})
        cards[address] = told
    return {"cards": cards}
