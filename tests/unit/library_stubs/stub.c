/* Copyright (c) 2026 Fleetproof maintainers
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Libraries of four manufacturers for tests of their readers: prototypes and layouts as in Cambricon/mlu-exporter cndev.h (6), HYGON-AI/hcu-dcgm,
 * MooreThreads/mthreads-ml-py and Deep-Spark/go-ixml; no driver behind them. SICK=1: the second card has every fault. BARE=1: nothing is supported.
 * NO_PEER=1: nothing hangs on the third link. PEER_UNREAD=1: what hangs on a link cannot be told.
 * -DCNDEV_5: the calls that came with driver 6.0.2 are not there.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int on(const char *name) { return getenv(name) != NULL; }
static int sick(int card) { return card == 1 && on("SICK"); }

/* cndev: 10 not supported, 3 version */
typedef struct { int version; uint32_t pending, failure; } pages_t;
typedef struct { int version; uint32_t correct, uncorrect, pending, failed; } rows_t;
typedef struct { int version; bool retire, pending, failure; } repair_t;
typedef struct { int version; uint32_t correct, uncorrect, histogram[5]; } rows2_t;
typedef struct { int version; int active, serdes, cable; } link_t;
#ifdef CNDEV_5
#define VERSION 5
#else
#define VERSION 6
#endif
#define CNDEV(s) do { if ((s)->version != VERSION) return 3; if (on("BARE")) return 10; } while (0)
int cndevInit(int flags) { return flags || on("NO_DRIVER"); }
int cndevGetDeviceHandleByPciBusId(const char *place, int *handle) { *handle = strstr(place, ":5b:") ? 1 : 0; return strchr(place, '.') ? 0 : 6; }
int cndevGetDeviceHandleByIndex(int index, int *handle) { *handle = index; return 0; }
int cndevGetRetiredPagesStatus(pages_t *s, int card) { CNDEV(s); s->pending = sick(card); s->failure = 0; return 0; }
int cndevGetRemappedRows(rows_t *s, int card) { CNDEV(s); s->correct = 2; s->uncorrect = s->pending = s->failed = sick(card); return 0; }
#ifndef CNDEV_5
int cndevGetRemappedRowsV2(rows2_t *s, int card) { CNDEV(s); s->correct = 3; s->uncorrect = sick(card); return 0; }
int cndevGetRepairStatus(repair_t *s, int card) { CNDEV(s); s->retire = 0; s->pending = s->failure = sick(card); return 0; }
#endif
int cndevGetMLULinkPortNumber(int card) { (void)card; return on("BARE") ? 0 : 3; }
int cndevGetMLULinkStatus(link_t *s, int card, int port) {
    CNDEV(s);
    s->active = s->serdes = !(sick(card) && port == 2);
    s->cable = 1;
    return 0;
}

/* rocm_smi64 of HyHAL: 2 not supported */
typedef struct { uint64_t corrected, uncorrected, reserved[2]; } errors_t;
typedef struct { uint64_t address, size; int status; } page_t;
int rsmi_init(uint64_t flags) { return flags ? 1 : on("NO_DRIVER") ? 8 : 0; }
int rsmi_num_monitor_devices(uint32_t *n) { *n = 2; return 0; }
int rsmi_dev_pci_id_get(uint32_t card, uint64_t *place) { *place = ((uint64_t)1 << 32) | (card ? 0x5b00 : 0x1a00); return 0; }
int rsmi_dev_ecc_count_get(uint32_t card, uint64_t block, errors_t *e) {
    if (on("BARE") || block > 4) return 2;
    e->corrected = 1; e->uncorrected = sick(card) && block == 4;
    return 0;
}
int rsmi_dev_memory_reserved_pages_get(uint32_t card, uint32_t *n, page_t *pages) {
    if (on("BARE")) return 2;
    *n = sick(card) ? 3 : 0;
    for (uint32_t i = 0; pages && i < *n; i++) pages[i] = (page_t){0x1000 * i, 0x1000, i == 2};
    return 0;
}
int rsmi_dev_xhcl_link_number_get(uint32_t card, uint32_t *n) { (void)card; *n = 3; return on("BARE") ? 2 : 0; }
int rsmi_dev_xhcl_link_state_get(uint32_t card, uint32_t link, uint32_t *state) { *state = !(sick(card) && link == 1); return 0; }
int rsmi_dev_xhcl_link_remote_bdfid_get(uint32_t card, uint32_t link, uint64_t *place) { (void)link; *place = card ? 0x1a00 : 0x5b00; return 0; }

/* mtml: 4 not supported, 7 not found */
typedef struct unit { int card; } unit;
static unit units[2] = {{0}, {1}};
typedef struct { unsigned version, bandwidth, links, reserved[4]; } spec_t;
typedef struct { unsigned single, dual, reserved[4]; } count_t;
typedef struct { char sbdf[32]; unsigned segment, bus, device, id, width; float most, now; unsigned more[4]; char bus_id[32]; unsigned reserved[6]; } pci_t;
int mtmlLibraryInit(void **handle) { *handle = units; return on("NO_DRIVER"); }
int mtmlLibraryCountDevice(void *handle, unsigned *n) { (void)handle; *n = 2; return 0; }
int mtmlLibraryInitDeviceByIndex(void *handle, unsigned index, unit **device) { (void)handle; *device = &units[index]; return 0; }
int mtmlDeviceGetPciInfo(unit *device, pci_t *pci) {
    memset(pci, 0, sizeof *pci);
    pci->segment = 1; pci->bus = device->card ? 0x5b : 0x1a;
    return 0;
}
int mtmlDeviceInitMemory(unit *device, unit **memory) { *memory = device; return 0; }
int mtmlMemoryGetRetiredPagesCount(unit *m, count_t *n) { n->single = 1; n->dual = sick(m->card); return on("BARE") ? 4 : 0; }
int mtmlMemoryGetRetiredPagesPendingStatus(unit *m, unsigned *pending) { *pending = sick(m->card); return on("BARE") ? 4 : 0; }
int mtmlMemoryGetEccErrorCounter(unit *m, unsigned error, unsigned counter, unsigned place, unsigned long long *n) {
    *n = error == 1 ? sick(m->card) : counter == 1 ? 9 : 4;
    return on("BARE") ? 4 : place == 1 ? 0 : 3;
}
int mtmlDeviceGetMtLinkSpec(unit *device, spec_t *spec) { (void)device; spec->links = 3; return on("BARE") ? 4 : 0; }
int mtmlDeviceGetMtLinkState(unit *device, unsigned link, unsigned *state) { *state = sick(device->card) ? (unsigned)((link + 1) % 3) : 1; return 0; }
int mtmlDeviceGetMtLinkRemoteDevice(unit *device, unsigned link, unit **peer) {
    *peer = &units[!device->card];
    return on("NO_PEER") && link == 2 ? 7 : on("PEER_UNREAD") ? 999 : 0;
}

/* ixml: 3 not supported; a device is passed as a structure of one pointer */
typedef struct { unit *handle; } ix;
int nvmlInit(void) { return on("NO_DRIVER") ? 9 : 0; }
int nvmlDeviceGetCount(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex(unsigned index, ix *device) { device->handle = &units[index]; return 0; }
int ixmlDeviceGetIxLinkInfo(ix one, ix other, unsigned *n, unsigned *ports, unsigned *far) {
    if (on("BARE")) return 3;
    *n = one.handle != other.handle ? 2 : 9;
    ports[0] = far[0] = 0; ports[1] = far[1] = 1;
    return 0;
}
