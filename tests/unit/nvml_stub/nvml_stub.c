/* Copyright (c) 2026 Fleetproof maintainers
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A libnvidia-ml.so.1 for tests of nvidia_nvml.py: prototypes as in the public NVML API reference, no driver behind them.
 * Environment: STUB_GPUS, STUB_LOST (index), STUB_NO_HANDLE (index), STUB_INIT_ERROR (nvmlReturn_t), STUB_MIG (index), STUB_HANG,
 * STUB_CRASH (the name of a function). -DOLD_LIBRARY leaves out what branch 450 did not have.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, LOST = 15 };
typedef unsigned long long u64;
typedef struct unit { unsigned index; int part; } *device;

static struct unit gpus[32], parts[2];

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}
static int enter(const char *function, device d) {
    const char *crash = getenv("STUB_CRASH"), *hang = getenv("STUB_HANG");
    if (crash && !strcmp(crash, function)) raise(SIGSEGV);
    if (hang && !strcmp(hang, function)) for (;;) pause();
    return d && number("STUB_LOST", -1) == (int)d->index ? LOST : OK;
}
static int mig(device d) { return number("STUB_MIG", -1) == (int)d->index; }
#define ENTER(d) do { int said = enter(__func__, d); if (said) return said; } while (0)
#define TEXT(name, format, value) \
    int name(device d, char *out, unsigned size) { ENTER(d); snprintf(out, size, format, value); return OK; }
#define ONE(name, type, value) \
    int name(device d, type *out) { ENTER(d); *out = value; return OK; }
#define TWO(name, type, first, second) \
    int name(device d, type *a, type *b) { ENTER(d); *a = first; *b = second; return OK; }

const char *nvmlErrorString(int code) {
    switch (code) {
    case 3: return "Not Supported";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    case 999: return "Unknown Error";
    default: return "an error";
    }
}
int nvmlInit_v2(void) {
    ENTER(NULL);
    for (unsigned i = 0; i < 32; i++) gpus[i].index = i;
    return number("STUB_INIT_ERROR", OK);
}
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size) { (void)pid; snprintf(out, size, "/usr/bin/python3 -m serve"); return OK; }
int nvmlShutdown(void) { return OK; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { snprintf(out, size, "%d.57.08", number("STUB_BRANCH", 575)); return OK; }
int nvmlSystemGetNVMLVersion(char *out, unsigned size) { snprintf(out, size, "12.575.57.08"); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12090; return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { ENTER(NULL); *out = number("STUB_GPUS", 2); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *out) {
    if (number("STUB_NO_HANDLE", -1) == (int)index) return 999;
    *out = &gpus[index];
    return OK;
}
int nvmlDeviceGetName(device d, char *out, unsigned size) {
    ENTER(d);
    snprintf(out, size, d->part ? "NVIDIA H100 80GB HBM3 MIG 3g.40gb" : "NVIDIA H100 80GB HBM3");
    return OK;
}
int nvmlDeviceGetUUID(device d, char *out, unsigned size) {
    ENTER(d);
    snprintf(out, size, "%s-0f1e7000-0000-4000-8000-%012x", d->part ? "MIG" : "GPU", d->index + (unsigned)d->part * 256);
    return OK;
}
TEXT(nvmlDeviceGetSerial, "16517230000%02u", d->index + 11)
TEXT(nvmlDeviceGetVbiosVersion, "%s", "96.00.AF.00.01")
TEXT(nvmlDeviceGetInforomImageVersion, "%s", "G520.0200.00.05")
int nvmlDeviceGetGspFirmwareVersion(device d, char *out) { ENTER(d); strcpy(out, "575.57.08"); return OK; }
ONE(nvmlDeviceGetMinorNumber, unsigned, d->index)
ONE(nvmlDeviceGetPersistenceMode, unsigned, 1)
ONE(nvmlDeviceGetArchitecture, unsigned, 9)
ONE(nvmlDeviceGetComputeMode, unsigned, 0)
ONE(nvmlDeviceGetVirtualizationMode, unsigned, 0)
ONE(nvmlDeviceGetPerformanceState, unsigned, 0)
ONE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, 5)
ONE(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, 5)
ONE(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned, 5)
ONE(nvmlDeviceGetCurrPcieLinkWidth, unsigned, 16)
ONE(nvmlDeviceGetMaxPcieLinkWidth, unsigned, 16)
ONE(nvmlDeviceGetPcieReplayCounter, unsigned, 3)
ONE(nvmlDeviceGetPowerUsage, unsigned, 71250 + d->index * 1000)
ONE(nvmlDeviceGetPowerManagementLimit, unsigned, 700000)
ONE(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, 700000)
TWO(nvmlDeviceGetPowerManagementLimitConstraints, unsigned, 200000, 700000)
int nvmlDeviceGetInforomVersion(device d, int object, char *out, unsigned size) {
    ENTER(d);
    if (object > 1) return NOT_SUPPORTED;
    snprintf(out, size, object ? "7.16" : "2.1");
    return OK;
}
#define CLOCK(name, core, memory) \
    int name(device d, int which, unsigned *out) { ENTER(d); *out = which == 2 ? memory : core; return OK; }
CLOCK(nvmlDeviceGetClockInfo, 345, 2619)
CLOCK(nvmlDeviceGetMaxClockInfo, 1980, 2619)
CLOCK(nvmlDeviceGetApplicationsClock, 1980, 2619)
CLOCK(nvmlDeviceGetDefaultApplicationsClock, 1980, 2619)
int nvmlDeviceValidateInforom(device d) { ENTER(d); return number("STUB_INFOROM", -1) == (int)d->index ? 14 : OK; }
ONE(nvmlDeviceGetModuleId, unsigned, d->index + 1)
TWO(nvmlDeviceGetEccMode, unsigned, 1, 1)
TWO(nvmlDeviceGetMigMode, unsigned, (unsigned)mig(d), (unsigned)mig(d))
int nvmlDeviceGetTemperature(device d, int sensor, unsigned *out) { (void)sensor; ENTER(d); *out = 31 + d->index; return OK; }
int nvmlDeviceGetTemperatureThreshold(device d, int which, unsigned *out) { ENTER(d); *out = which == 1 ? 92 : 95; return OK; }
int nvmlDeviceGetUtilizationRates(device d, unsigned *out) { ENTER(d); out[0] = 0; out[1] = 1; return OK; }
int nvmlDeviceGetTotalEccErrors(device d, int kind, int counter, u64 *out) { (void)kind; (void)counter; ENTER(d); *out = 7; return OK; }
int nvmlDeviceGetMemoryErrorCounter(device d, int kind, int counter, int where, u64 *out) {
    ENTER(d);
    if (where != 2 && where != 7) return NOT_SUPPORTED;
    *out = where == 2 && !kind ? 4 + (u64)counter : 0;
    return OK;
}
int nvmlDeviceGetRetiredPages(device d, int cause, unsigned *count, u64 *pages) {
    (void)cause; (void)count; (void)pages;
    ENTER(d);
    return NOT_SUPPORTED;
}
int nvmlDeviceGetRetiredPagesPendingStatus(device d, unsigned *out) { (void)out; ENTER(d); return NOT_SUPPORTED; }
int nvmlDeviceGetRemappedRows(device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    ENTER(d);
    if (mig(d)) return NOT_SUPPORTED;
    *corrected = 1; *uncorrected = *failed = 0; *pending = d->index == 1;
    return OK;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(device d, u64 *out) { ENTER(d); *out = 0x41; return OK; }
int nvmlDeviceGetNvLinkState(device d, unsigned link, unsigned *active) {
    ENTER(d);
    if (mig(d)) return NOT_SUPPORTED;
    if (link >= 18) return INVALID;
    *active = !(d->index == 1 && link == 5);
    return OK;
}
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(device d, struct pci *out) {
    ENTER(d);
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 0x18 + 0x10 * d->index);
    out->id = 0x233010DE;
    return OK;
}
struct memory { u64 total, free, used; };
int nvmlDeviceGetMemoryInfo(device d, struct memory *out) {
    ENTER(d);
    out->total = (u64)(d->part ? 40448 : 81559) << 20;
    out->used = (u64)(d->part ? 26 : 2) << 20;
    return OK;
}
struct process { unsigned pid; u64 used; unsigned instance, compute; };
static int processes(device d, unsigned *count, struct process *out) {
    ENTER(d);
    unsigned room = *count;
    *count = 1;
    if (room < 1) return 7;
    out[0].pid = 4242;
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v2(device d, unsigned *n, struct process *out) { return processes(d, n, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(device d, unsigned *n, struct process *out) { (void)out; ENTER(d); *n = 0; return OK; }
int nvmlDeviceGetMaxMigDeviceCount(device d, unsigned *out) { ENTER(d); *out = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(device d, unsigned index, device *out) {
    ENTER(d);
    if (index != 0 && index != 2) return NOT_FOUND;
    parts[index / 2].index = index;
    parts[index / 2].part = 1;
    *out = &parts[index / 2];
    return OK;
}
ONE(nvmlDeviceGetGpuInstanceId, unsigned, 1 + d->index)
ONE(nvmlDeviceGetComputeInstanceId, unsigned, 0)

#ifndef OLD_LIBRARY
ONE(nvmlDeviceGetCurrentClocksEventReasons, u64, 0x41)
struct memory2 { unsigned version; u64 total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(device d, struct memory2 *out) {
    ENTER(d);
    out->total = (u64)(d->part ? 40448 : 81559) << 20;
    out->reserved = (u64)(d->part ? 0 : 480) << 20;
    out->used = (u64)(d->part ? 26 : 2) << 20;
    return OK;
}
struct banks { unsigned max, high, partial, low, none; };
int nvmlDeviceGetRowRemapperHistogram(device d, struct banks *out) {
    ENTER(d);
    if (mig(d)) return NOT_SUPPORTED;
    *out = (struct banks){2559, 1, 0, 0, 0};
    return OK;
}
int nvmlDeviceGetConfComputeProtectedMemoryUsage(device d, struct memory *out) { ENTER(d); out->total = 0; return OK; }
struct margin { unsigned version; int margin; };
int nvmlDeviceGetMarginTemperature(device d, struct margin *out) { ENTER(d); out->margin = 56 - (int)d->index; return OK; }
struct repair { unsigned version, channel, tpc; };
int nvmlDeviceGetRepairStatus(device d, struct repair *out) { ENTER(d); out->channel = out->tpc = 0; return OK; }
struct sram { unsigned version; u64 count[11]; unsigned exceeded; };
int nvmlDeviceGetSramEccErrorStatus(device d, struct sram *out) {
    ENTER(d);
    memset(out->count, 0, sizeof out->count);
    out->count[0] = 2; /* aggregate, parity */
    out->exceeded = 0;
    return OK;
}
struct fabric { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state; unsigned health; unsigned char summary; };
int nvmlDeviceGetGpuFabricInfoV(device d, struct fabric *out) {
    ENTER(d);
    memset(out->cluster, 0, sizeof out->cluster);
    out->status = 0; out->clique = 0; out->state = d->index == 1 ? 2 : 3;
    out->health = (unsigned)number("STUB_FABRIC_HEALTH", 0);
    out->summary = out->health ? 2 : 0;
    return OK;
}
struct value { unsigned field, scope; long long stamp, latency; unsigned type, said; union { double d; unsigned i; u64 l; } value; };
int nvmlDeviceGetFieldValues(device d, int count, struct value *out) {
    ENTER(d);
    for (int i = 0; i < count; i++) {
        out[i].type = 1;
        out[i].said = OK;
        out[i].value.i = out[i].field == 82 ? 40 : out[i].field == 91 ? 18 : out[i].field == 90 ? 26562 : out[i].field == 52 ? number("STUB_REPLAYS", 0) : 0;
        if (out[i].field == 74) { out[i].type = 3; out[i].value.l = 4200000000ull; }
        if (out[i].field == 91 && mig(d)) out[i].said = NOT_SUPPORTED;
        unsigned old = out[i].field >= 251 && out[i].field <= 253, moved = out[i].field >= 269 && out[i].field <= 271;
        if (old || moved) {
            int seconds = number(old ? "STUB_OLD_COUNTERS" : "STUB_MOVED_COUNTERS", 0);
            if (seconds < 0) out[i].said = NOT_SUPPORTED;
            else { out[i].type = 3; out[i].value.l = seconds * 1000000000ull; }
        }
        if (out[i].field == 230 || out[i].field == 226) {
            int answer = number(out[i].field == 230 ? "STUB_ACTION" : "STUB_RESET", 0);
            if (answer < 0) out[i].said = NOT_SUPPORTED;
            else out[i].value.i = answer;
        }
    }
    return OK;
}
#else
int nvmlDeviceGetGraphicsRunningProcesses(device d, unsigned *n, struct process *out) { (void)out; ENTER(d); *n = 0; return OK; }
#endif
