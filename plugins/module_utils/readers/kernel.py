# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running kernel: release, command line without secrets, boot time, uptime, NUMA balancing."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, not_applicable, unknown

REDACTED = "(redacted)"
_SECRET = re.compile(r"token|passw|passphrase|secret|credential|api[-_.]?key|private[-_.]?key|auth[-_.]?key", re.IGNORECASE)
_USERINFO = re.compile(r"(\w+://)[^/\s@]+@")
_UPTIME = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')


def redact(command_line):
    """The command line with the values of secret-looking keys, and user names and passwords of URLs, taken out."""
    words = []
    for word in _WORD.findall(command_line):
        key, equals, _value = word.partition("=")
        if equals and _SECRET.search(key):
            word = "%s=%s%s" % (key, REDACTED, '"' if key.startswith('"') else "")
        elif equals:
            # ds=nocloud;token=x and key=a,password=b: options inside a value
            word = re.sub(r"([^=;,&?]*(?:%s)[^=;,&]*=)[^;,&\s\"]+" % _SECRET.pattern, r"\g<1>" + REDACTED, word, flags=re.IGNORECASE)
        words.append(_USERINFO.sub(r"\1%s@" % REDACTED, word))
    return " ".join(words)


def numa_balancing(host):
    answer = host.read_line("/proc/sys/kernel/numa_balancing")
    if answer.status == ABSENT:
        return not_applicable("kernel without NUMA balancing")
    return from_answer(answer, lambda text: int(text) != 0)


def uptime(host):
    answer = host.read_line("/proc/uptime")
    if not answer.ok:
        return unknown(answer.reason)
    found = _UPTIME.match(answer.value)
    return float(found.group()) if found else unknown("/proc/uptime: not understood: %r" % answer.value[:40])


def read(host):
    """{release, version, command_line, architecture, boot_time}."""
    uname = host.uname()
    told = uname.value if uname.ok and isinstance(uname.value, dict) else {}
    facts = {
        key: str(told[name]) if told.get(name) else unknown("uname: no %s" % name if uname.ok else uname.reason)
        for key, name in (("release", "release"), ("version", "version"), ("architecture", "machine"))
    }
    facts["command_line"] = from_answer(host.read_text("/proc/cmdline", 65536), redact)
    boot = host.boot_time()
    facts["boot_time"] = utc(boot.value) if boot.ok else unknown(boot.reason)
    return facts
