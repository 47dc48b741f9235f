# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site freezes in files: name servers, how logs are rotated, whose certificates are trusted. No key is read, and no file with one."""

from __future__ import annotations

import binascii
import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

# journald.conf(5): the first main file counts, drop-ins of all directories in the order of their names.
JOURNALD = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
JOURNALD_KEYS = str.split("Storage SystemMaxUse SystemKeepFree SystemMaxFileSize SystemMaxFiles RuntimeMaxUse MaxRetentionSec MaxFileSec")
DOCKER = "/etc/docker/daemon.json"
STUB = "127.0.0.53"  # systemd-resolved.service(8), and the file with those that it asks
BEHIND = "/run/systemd/resolve/resolv.conf"
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")  # Go, crypto/x509/root_linux.go
# docs.docker.com, "Verify repository client with certificates"; containerd, docs/hosts.md; containers-certs.d(5)
REGISTRIES = ("/etc/docker/certs.d", "/etc/containerd/certs.d", "/etc/containers/certs.d")
_CERTIFICATE = re.compile(r"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END")
_SECONDS = 5
_KEPT = 32


def name_servers(host):
    """Addresses in the order of resolv.conf(5); behind systemd-resolved those that it asks."""
    answer = host.read_text("/etc/resolv.conf", 65536)
    if answer.status == ABSENT:
        return not_applicable("no /etc/resolv.conf")
    if answer.ok and _servers(answer.value) == [STUB]:
        answer = host.read_text(BEHIND, 65536)
    return _servers(answer.value) if answer.ok else unknown(answer.reason)


def _servers(text):
    return [row[1][:60] for row in map(str.split, text.splitlines()) if len(row) > 1 and row[0] == "nameserver"][:9]


def journald(host):
    """{key: value} of what its files set."""
    booted = host.exists("/run/systemd/system")  # sd_booted(3)
    if not booted.ok or not booted.value:
        return not_applicable("systemd does not run here") if booted.ok or booted.status == ABSENT else unknown(booted.reason)
    drop_ins = {}
    for directory in JOURNALD[::-1]:
        listing = host.listdir(directory + "/journald.conf.d")
        if not listing.ok and listing.status != ABSENT:
            return unknown(listing.reason)
        drop_ins.update((name, "%s/journald.conf.d/%s" % (directory, name)) for name in listing.value or () if name.endswith(".conf"))
    said = {}
    for directory in JOURNALD:
        answer = host.read_text(directory + "/journald.conf", 65536)
        if answer.ok:
            said.update(_journal(answer.value))
        elif answer.status == ABSENT:
            continue
        else:
            return unknown(answer.reason)
        break
    for _name, path in sorted(drop_ins.items())[:_KEPT]:
        said.update(_journal("\n".join(host.read_lines(path))))
    return {key: value for key, value in said.items() if value}


def _journal(text):
    """An empty value takes back what was said before."""
    section, said = "", {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line
        key, equals, value = line.partition("=")
        if equals and section == "[Journal]" and key.strip() in JOURNALD_KEYS:
            said[key.strip()] = value.strip()[:60]
    return said


def docker(host):
    """{log-driver, max-size, max-file} as daemon.json has them; the other options of a driver may be secrets."""
    answer = host.read_text(DOCKER, 1 << 18)
    if answer.status == ABSENT:
        ran = host.exists("/var/lib/docker")
        if not ran.ok:
            return unknown(ran.reason)
        return {} if ran.value else not_applicable("Docker has not run here")
    if not answer.ok:
        return unknown(answer.reason)
    try:
        told = json.loads(answer.value or "{}")
        options = told.get("log-opts") or {}
        said = {"log-driver": told.get("log-driver"), "max-size": options.get("max-size"), "max-file": options.get("max-file")}
    except (ValueError, AttributeError, RecursionError):
        return unknown("%s: not understood" % DOCKER)
    return {key: str(value)[:60] for key, value in said.items() if isinstance(value, (str, int))}


def _of_registries(host):
    """([path], why not complete or None) of what belongs to registries: certificates and containerd's hosts.toml."""
    found, problem = [], None
    for directory in REGISTRIES:
        registries = host.listdir(directory)
        for name in sorted(registries.value or ())[:_KEPT]:
            inside = host.listdir("%s/%s" % (directory, name))
            found += ["%s/%s/%s" % (directory, name, file) for file in sorted(inside.value or ()) if file.endswith((".crt", ".cert")) or file == "hosts.toml"]
            problem = problem or (None if inside.ok or inside.status in (ABSENT, NOT_A_DIRECTORY) else inside.reason)
        problem = problem or (None if registries.ok or registries.status == ABSENT else registries.reason)
    return found[:_KEPT], problem


def digests(host, paths):
    """{path: digest}."""
    command = host.run(["sha256sum", *paths], timeout=_SECONDS)
    rows = [re.match(r"([0-9a-f]{64}) [ *](/.*)\Z", line) for line in command.stdout.splitlines()]
    told = {row.group(2): "sha256:" + row.group(1) for row in rows if row}
    return {path: told.get(path) or unknown(command.reason or "sha256sum: not told") for path in paths}


def _parts(data):
    """[(tag, content)] of one level of DER (X.690, 8.1)."""
    found, at = [], 0
    while at < len(data):
        tag, size, at = data[at], data[at + 1], at + 2
        if size & 0x80:
            start, at = at, at + (size & 0x7F)
            size = int.from_bytes(data[start:at], "big")
        found.append((tag, data[at : at + size]))
        at += size
    return found


def ends(text):
    """The earliest notAfter of the certificates in a text, None where there is none (RFC 5280, 4.1)."""
    told = []
    for body in _CERTIFICATE.findall(text):
        to_be_signed = _parts(_parts(_parts(binascii.a2b_base64(body))[0][1])[0][1])
        validity = to_be_signed[4 if to_be_signed[0][0] == 0xA0 else 3][1]
        tag, at = _parts(validity)[1]
        at = at.decode("ascii")
        at = at if tag == 0x18 else ("20" if at[:2] < "50" else "19") + at  # 4.1.2.5.1
        told.append("%s-%s-%sT%s:%s:%sZ" % re.match(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z\Z", at).groups())
    return min(told) if told else None


def _expiry(host, path):
    answer = host.read_text(path, 1 << 18)
    try:
        return unknown(answer.reason) if not answer.ok else ends(answer.value) or unknown("%s: no certificate in it" % path)
    except (ValueError, IndexError, AttributeError):
        return unknown("%s: not understood" % path)


def certificates(host):
    """{bundle: {path, digest}, registries: {path: digest}, expiry: {path: time}}."""
    bundle, silent = None, None
    for path in BUNDLES:
        there = host.exists(path)
        silent = silent or (None if there.ok else there.reason)
        bundle = bundle or (path if there.ok and there.value else None)
    paths, problem = _of_registries(host)
    told = digests(host, [*([bundle] if bundle else []), *paths]) if bundle or paths else {}
    nothing = unknown(silent) if silent else not_applicable("no bundle in the usual places")
    own = {path: _expiry(host, path) for path in paths if not path.endswith(".toml")}
    return {
        "bundle": {"path": bundle, "digest": told[bundle]} if bundle else nothing,
        "registries": unknown(problem) if problem else {path: told[path] for path in paths},
        "expiry": unknown(problem) if problem else own,
    }


def read(host):
    return {"name_servers": name_servers(host), "log_rotation": {"journald": journald(host), "docker": docker(host)}, "certificates": certificates(host)}
