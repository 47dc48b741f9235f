# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many IXLinks connect the cards, as libixml tells it. Runs in a child: standard library and library_calls. Calls: Deep-Spark/go-ixml."""

from __future__ import annotations

import ctypes

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import library_calls

PLACES = ("libixml.so", "/usr/local/corex/lib64/libixml.so", "/usr/local/corex/lib/libixml.so")
NOT_SUPPORTED = 3
MOST_LINKS = 64  # room for more than NVML_NVLINK_MAX_LINKS


def read(arguments):
    """{"cards": {index: links to the others, or error}}, or {"missing": …}, or an error."""
    library, answer = library_calls.load(PLACES, NOT_SUPPORTED)
    if library is None:
        return answer
    count, handles, cards = ctypes.c_uint(), [], {}
    problem = library.call("nvmlInit") or library.call("nvmlDeviceGetCount", ctypes.byref(count))
    for index in range(0 if problem else min(count.value, 64)):
        handles.append(ctypes.c_void_p())
        problem = problem or library.call("nvmlDeviceGetHandleByIndex", index, ctypes.byref(handles[-1]))
    if problem:
        return problem
    for index, one in enumerate(handles):
        told = 0
        for other in range(len(handles)):
            links, ports, far = ctypes.c_uint(), (ctypes.c_uint * MOST_LINKS)(), (ctypes.c_uint * MOST_LINKS)()
            problem = other != index and library.call("ixmlDeviceGetIxLinkInfo", one, handles[other], ctypes.byref(links), ports, far)
            told = problem if problem and not isinstance(told, dict) else told if isinstance(told, dict) else told + links.value
        cards[str(index)] = told
    return {"cards": cards}
