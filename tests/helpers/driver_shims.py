# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""npu-smi, cnmon and libcndev that keep the state of a driver in files, for tests that switch it. Words as in npu-smi's published source."""

from __future__ import annotations

import shutil
import subprocess
import time

NPU_SMI = """#!/bin/sh
D=%s
echo "$*" >> $D/calls
if [ "$1" = info ]; then
  [ -f $D/read ] && . $D/read
  [ -n "$7" ] && { printf '\\tDevice-share Status            : %%s\\n' "$(cat $D/state.$5.$7)"; exit 0; }
  printf '\\tNPU ID                         : %%s\\n\\tChip Count                     : 1\\n\\n' "$5"
  for f in $D/state.$5.*; do
    printf '\\tDevice-share Status            : %%s\\n\\tChip ID                        : %%s\\n\\n' "$(cat $f)" "${f##*.}"
  done
  exit 0
fi
F=$D/state.$5.$7
echo $PPID > $D/hand
if [ "$9" = 1 ] || [ -f $D/a3 ]; then
  echo 'There are security risks when opening device sharing, Please ensure that only a single user uses the chip.'
  echo 'Are you sure you want to continue setting?(Y/N)'
  read answer
  [ "$answer" = Y ] || exit 200
fi
[ -f $D/a3 ] && F=$(echo $D/state.$5.*)
if [ "$9" = 1 ]; then
  [ -f $D/on ] && . $D/on
  for f in $F; do echo True > $f; done
  [ -f $D/after_on ] && . $D/after_on
else
  [ -f $D/off ] && . $D/off
  for f in $F; do echo False > $f; done
fi
printf '\\tStatus                         : OK\\n\\tMessage                        : Set chip device-share successfully\\n'
"""

CNMON = """#!/bin/sh
D=%s
echo "$*" >> $D/calls
echo $PPID > $D/hand
case "$5" in
  on) [ -f $D/on ] && . $D/on; echo 1 > $D/state.$3; [ -f $D/after_on ] && . $D/after_on;;
  off) [ -f $D/off ] && . $D/off; echo 0 > $D/state.$3;;
esac
exit 0
"""

LIBCNDEV = r"""
#include <stdio.h>
#include <stdlib.h>
typedef struct { int version; int mode; } mode_t_;
static const char *folder = "%s";
static int number(const char *name, int otherwise) {
    char path[4096]; int value = otherwise;
    snprintf(path, sizeof path, "%%s/%%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file) { if (fscanf(file, "%%d", &value) != 1) value = otherwise; fclose(file); }
    return value;
}
int cndevInit(int reserved) { (void)reserved; return number("init_error", 0); }
int cndevRelease(void) { return 0; }
const char *cndevGetErrorString(int code) { return code == 10 ? "not supported" : code == 17 ? "timeout" : "an error"; }
int cndevGetDeviceHandleByPciBusId(const char *bus, int *handle) {
    unsigned domain, number_;
    if (sscanf(bus, "%%x:%%x:", &domain, &number_) != 2) return 14;
    *handle = (int)number_;
    return 0;
}
#ifndef NO_SMLU
int cndevGetSMLUMode(mode_t_ *mode, int handle) {
    char name[64];
    int error = number("read_error", 0);
    if (error) return error;
    if (mode->version != 6) return 3;
    snprintf(name, sizeof name, "state.%%d", handle);
    mode->mode = number(name, 0);
    return 0;
}
#endif
"""


class Driver:
    """state, calls and behavior of a driver below a folder. behavior(name, shell) is sourced: read, on, off, after_on."""

    def __init__(self, folder, program, source):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        tool = folder / "bin" / program
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(source % folder)
        tool.chmod(0o755)
        self.path = f"{tool.parent}:/usr/bin:/bin"

    def behavior(self, name, shell):
        (self.folder / name).write_text(shell + "\n")

    def set(self, where, word):
        (self.folder / f"state.{where}").write_text(f"{word}\n")

    def state(self, where):
        return (self.folder / f"state.{where}").read_text().strip()

    def calls(self, *beginning):
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if not beginning or line.startswith(beginning)]

    def hand(self):
        """The process that ran the tool last."""
        return int((self.folder / "hand").read_text())


def ascend(folder, states):
    """states: {"0.0": "False"} by card and chip."""
    driver = Driver(folder, "npu-smi", NPU_SMI)
    for where, word in states.items():
        driver.set(where, word)
    return driver


def cambricon(folder, states, *flags):
    """states: {3: 0} by card, which the library knows by bus number 3. None without a compiler."""
    compiler = shutil.which("gcc")
    if not compiler:
        return None
    driver = Driver(folder, "cnmon", CNMON)
    for where, word in states.items():
        driver.set(where, word)
    (folder / "cndev.c").write_text(LIBCNDEV % folder)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *flags, "-o", str(folder / "libcndev.so"), str(folder / "cndev.c")], check=True)
    return driver


def npu(card, chip=0, dies=1, family="910B", uuid=None):
    """What ascend_info tells of a die, as far as it matters here."""
    alone = dies == 1
    item = {"value": uuid, "quality": "good"} if uuid else {"value": {"unknown": "not read"}, "quality": "unread"}
    return {
        "id": "ascend:%d" % card if alone else "ascend:%d.%d" % (card, chip), "index": card if alone else chip, "kind": "package" if alone else "die",
        "parent": None if alone else "ascend:%d" % card, "identity": {"uuid": item}, "extra": {"npu_id": card, "chip_id": chip, "family": family},
    }  # fmt: skip


def mlu(card, address=None, **more):
    pci = {"value": address or "0000:%02x:00.0" % card, "quality": "good"}
    return dict({"id": "cambricon:%d" % card, "index": card, "kind": "package", "parent": None, "identity": {"pci": pci}, "extra": {}}, **more)


def until(condition, seconds=30):
    """Waits for what another process does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False
