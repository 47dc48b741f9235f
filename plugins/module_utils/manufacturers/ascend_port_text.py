# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of hccn_tool, /etc/hccn.conf and upgrade-tool. Layouts: the tools' published sources, FaultDiag of mind-cluster, outputs seen in the field."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, number, unknown, whole

_KEYS = {"address": "address", "netmask": "netmask", "gateway": "gateway", "netdetect": "detect_address"}
_LINE = re.compile(r"(IPv6)?(address|netmask|gateway|netdetect)_([0-9]{1,4})\s*=\s*(.*)\Z")  # IPv6address_0: ascend-deployer
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{1,60}\Z")
_V4 = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}"
_COMPONENT = re.compile(r'\{"device_id":([0-9]{1,4}),\s*"component":"?([A-Za-z0-9_]{1,30})"?,\s*"version":"?([^"},\s]{1,60})"?\s*\}')
_MOST = 256  # lines of routes or counters


def configured(text):
    """{physical number: {address, netmask, gateway, detect_address}}, and the first line that sets nothing. Of two addresses the one of IPv4 counts."""
    found, strange = {}, None
    for line in filter(None, map(str.strip, text.splitlines())):
        match = _LINE.match(line)
        if match and match.group(4):
            six, key, number_, value = match.groups()
            told = value if _ADDRESS.match(value) else unknown("/etc/hccn.conf: not understood: %r" % line[:80])
            port = found.setdefault(int(number_), {})
            port[_KEYS[key]] = port.get(_KEYS[key], told) if six else told
        elif "=" not in line and not line.startswith(("#", ";")):
            strange = strange or line[:80]
    return found, strange


def refused(name, said, rc):
    """Why a text is not what was asked for, as a fact."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    words = lines[0][:160] if lines else "no output"
    if any("no ip was preset" in line or "no gateway was preset" in line for line in lines):
        return not_applicable("%s: %s" % (name, words))
    if any("not support" in line.lower() for line in lines):
        return not_applicable("%s: %s" % (name, words))
    return unknown("%s: %s%s" % (name, words, ", exit %s" % rc if rc else ""))


def components(text):
    """{device: {component: version}} of upgrade-tool --version, which is not JSON."""
    found = {}
    for device, name, version in _COMPONENT.findall(text):
        found.setdefault(int(device), {})[name] = version
    return found


def _pairs(text):
    """(key, value) of `key : value` lines."""
    for line in text.splitlines()[:_MOST]:
        key, colon, value = (part.strip() for part in line.partition(":"))
        if key and colon and value:
            yield key, value


def _after(pattern, convert=lambda word: word.lower()[:60]):
    def parse(text):
        found = re.search(pattern, text, re.MULTILINE)
        return convert(found.group(1).strip()) if found else None

    return parse


def _ip(text):
    found = dict(_pairs(text))
    if "ipaddr" in found:
        mask = found["netmask"][:60] if "netmask" in found else unknown("hccn_tool -ip: no netmask")
        return {"address_used": found["ipaddr"][:60], "netmask_used": mask}
    # FaultDiag: a port that prints nothing has no address
    return None if text.strip() else not_applicable("hccn_tool -ip prints nothing: no address is set")


def _gateway(text):
    found = re.search(r"default gateway:\s*(%s)" % _V4, text)
    return {"gateway_used": found.group(1)} if found else None


def _link(text):
    word = _after(r"^link status:\s*(\S+)")(text)
    return word if word in ("up", "down") else unknown("hccn_tool -link: %r" % word) if word else None


def _health(text):
    word = _after(r"^net health status:\s*(.+)")(text)
    return {"socket failed": "socket fail"}.get(word, word)


def _tls(text):
    if "no certificate found" in text.lower():  # HCCL: then it is off
        return False
    return _after(r"tls switch\[([01])\]", lambda word: word == "1")(text)


def _fec(text):
    word = _after(r"^fec mode:\s*(.+)")(text)
    return word and {"no fec mode": "none"}.get(word, word.replace(" fec mode", ""))


def _speed(text):
    return _after(r"^Speed:\s*(.+)", lambda word: number(word, "hccn_tool -speed", "Mb/s"))(text)


def _flag(word):
    """0x0, 0xff; NA where the module does not tell."""
    return int(word, 16) if re.match(r"0x[0-9a-fA-F]{1,8}\Z", word) else unknown("hccn_tool -optical: %r" % word[:40])


def _module(text):
    told = dict(_pairs(text))
    if "present" not in told:
        return None
    module = {"present": {"present": True, "not present": False}.get(told["present"].lower(), unknown("hccn_tool -optical: %r" % told["present"][:40]))}
    for key, name in (("vendor name", "vendor"), ("vendor part number", "part"), ("vendor serial number", "serial")):
        if key in told:
            module[name] = told[key][:60]
    plain = {"temperature": ("temperature_c", "C"), "Vcc": ("supply_mv", "mV")}
    plain.update({"%s Thres" % key: (name, unit) for key, name, unit in (
        ("Vcc High", "supply_high_mv", "mV"), ("Vcc Low", "supply_low_mv", "mV"),
        ("Temp High", "temperature_high_c", "C"), ("Temp Low", "temperature_low_c", "C"),
        ("TxPower High", "tx_high_mw", "mW"), ("TxPower Low", "tx_low_mw", "mW"), ("RxPower High", "rx_high_mw", "mW"), ("RxPower Low", "rx_low_mw", "mW"),
    )})  # fmt: skip
    for key, (name, unit) in plain.items():
        if key in told:
            module[name] = number(told[key], "hccn_tool -optical: %s" % key, unit)
    for side in ("tx", "rx"):
        lanes = [value for key, value in told.items() if re.match(r"%s Power[0-9]{0,2}\Z" % side.capitalize(), key)]
        module[side + "_mw"] = [number(value, "hccn_tool -optical: power", "mW") for value in lanes[:16]]
        for kind in ("Los", "LoL"):
            flag = told.get("%s %s Flag" % (side.capitalize(), kind))
            if flag is not None:
                module["%s_%s" % (side, kind.lower())] = _flag(flag)
    return module


def _neighbor(text):
    if not text.strip():
        return not_applicable("hccn_tool -lldp prints nothing: no neighbor")
    lines = [line.strip() for line in text.splitlines()]
    port = _after(r"^\s*Ifname:\s*(\S.*)", lambda word: word[:60])(text)
    system = next((lines[at + 1][:60] for at, line in enumerate(lines[:-1]) if line == "System Name TLV"), None)
    return {"port": port, "system": system or unknown("hccn_tool -lldp: no name of the switch")} if port else None


def _routes(text):
    lines = [line.split() for line in text.splitlines()[:_MOST]]
    if not any(words[:1] == ["Destination"] for words in lines):
        return None
    rows = [words for words in lines if len(words) == 8 and re.match(_V4 + r"\Z|default\Z", words[0])]
    return [{"destination": row[0], "gateway": row[1], "netmask": row[2], "interface": row[7][:20]} for row in rows]


def _counters(text):
    found = {key[:60]: whole(value) for key, value in _pairs(text) if re.match(r"[a-z0-9_]+\Z", key) and whole(value) is not None}
    return found or None


# name of the fact -> (option of hccn_tool, parser: a fact, or None for a text that is something else)
QUERIES = {
    "link": ("link", _link), "health": ("net_health", _health), "tls": ("tls", _tls),
    "ip": ("ip", _ip), "gateway": ("gateway", _gateway), "speed_mbit_s": ("speed", _speed), "fec": ("fec", _fec), "module": ("optical", _module),
    "neighbor": ("lldp", _neighbor), "routes": ("route", _routes), "counters": ("stat", _counters),
    "link_ups": ("link_stat", _after(r"link up count\s*:\s*([0-9]{1,9})\s*$", int)),
}  # fmt: skip
STATE = ("link", "health", "tls")
