# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site freezes in files: as it is read, and what is judged of it."""

from __future__ import annotations

import base64

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import site_files
from host_judged import changed

ABSENT = {"absent": True}
REGISTRY = "/etc/docker/certs.d/registry.example:5000"


def host(files, commands=()):
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": list(commands)})


def der(tag, content):
    size = len(content)
    return bytes([tag]) + (bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")) + content


def certificate(ends, version=True):
    """The shape of RFC 5280, 4.1: as much of it as tells when it ends. ends: text of a UTCTime, or of a GeneralizedTime where it is longer."""
    validity = der(0x30, der(0x17, b"250101000000Z") + der(0x17 if len(ends) == 13 else 0x18, ends.encode()))
    first = der(0xA0, der(0x02, b"\x02")) if version else b""
    signed = der(0x30, first + der(0x02, b"\x11") + der(0x30, b"") + der(0x30, bytes(200)) + validity + der(0x30, b""))
    body = base64.encodebytes(der(0x30, signed + der(0x30, b"") + der(0x03, b"\x00"))).decode()
    return "-----BEGIN CERTIFICATE-----\n%s-----END CERTIFICATE-----\n" % body


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"/etc/resolv.conf": "# ours\nnameserver 10.0.0.2\noptions edns0\nnameserver 10.0.0.1\n"}, ["10.0.0.2", "10.0.0.1"]),
        ({"/etc/resolv.conf": "nameserver 127.0.0.53\n", site_files.BEHIND: "nameserver 10.0.0.9\n"}, ["10.0.0.9"]),
        ({"/etc/resolv.conf": "search example.org\n"}, []),
    ],
)
def test_name_servers(files, wanted):
    assert site_files.name_servers(host(files)) == wanted


def test_name_servers_that_are_not_known():
    assert "not_applicable" in site_files.name_servers(host({"/etc/resolv.conf": ABSENT}))
    for files in ({"/etc/resolv.conf": {"error": "EACCES"}}, {"/etc/resolv.conf": "nameserver 127.0.0.53\n", site_files.BEHIND: ABSENT}):
        assert "unknown" in site_files.name_servers(host(files))


JOURNAL = {"/run/systemd/system": {"dir": []}, **{directory + "/journald.conf.d": ABSENT for directory in site_files.JOURNALD}}


def test_the_journal_as_its_files_set_it():
    files = {
        **JOURNAL,
        "/etc/systemd/journald.conf": "SystemMaxUse=1G\n[Journal]\n#Storage=auto\nSystemMaxUse=2G\n"
        "MaxRetentionSec = 30day\nMaxFileSec=1week\n[Other]\nStorage=none\n",
        "/usr/lib/systemd/journald.conf.d": {"dir": ["10-a.conf", "20-b.conf", "README"]},
        "/usr/lib/systemd/journald.conf.d/10-a.conf": "[Journal]\nSystemMaxUse=9G\n",
        "/usr/lib/systemd/journald.conf.d/20-b.conf": "[Journal]\nMaxRetentionSec=1day\n",
        "/etc/systemd/journald.conf.d": {"dir": ["20-b.conf"]},
        "/etc/systemd/journald.conf.d/20-b.conf": "[Journal]\nMaxFileSec=\n",
    }
    assert site_files.journald(host(files)) == {"SystemMaxUse": "9G", "MaxRetentionSec": "30day"}
    nothing = {**JOURNAL, **{directory + "/journald.conf": ABSENT for directory in site_files.JOURNALD}}
    assert site_files.journald(host(nothing)) == {}
    assert "not_applicable" in site_files.journald(host({"/run/systemd/system": ABSENT}))
    assert "unknown" in site_files.journald(host({**nothing, "/etc/systemd/journald.conf": {"error": "EACCES"}}))
    assert "unknown" in site_files.journald(host({**nothing, "/run/systemd/journald.conf.d": {"error": "EIO"}}))


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({site_files.DOCKER: '{"log-opts": {"max-size": "50m", "max-file": "3", "splunk-token": "s"}}'}, {"max-size": "50m", "max-file": "3"}),
        ({site_files.DOCKER: '{"log-driver": "journald"}'}, {"log-driver": "journald"}),
        ({site_files.DOCKER: "{}"}, {}),
        ({site_files.DOCKER: ABSENT, "/var/lib/docker": {"exists": True}}, {}),
        ({site_files.DOCKER: ABSENT, "/var/lib/docker": ABSENT}, "not_applicable"),
        ({site_files.DOCKER: "["}, "unknown"),
        ({site_files.DOCKER: '["log-driver"]'}, "unknown"),
        ({site_files.DOCKER: '{"log-opts": ["a"]}'}, "unknown"),
        ({site_files.DOCKER: {"error": "EACCES"}}, "unknown"),
    ],
)
def test_the_logs_of_docker(files, wanted):
    told = site_files.docker(host(files))
    assert told == wanted or wanted in told


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (certificate("261213120000Z"), "2026-12-13T12:00:00Z"),
        (certificate("261213120000Z", version=False), "2026-12-13T12:00:00Z"),
        (certificate("20650401000000Z"), "2065-04-01T00:00:00Z"),
        (certificate("990401000000Z"), "1999-04-01T00:00:00Z"),
        (certificate("20650401000000Z") + certificate("261213120000Z"), "2026-12-13T12:00:00Z"),
        ("no certificate", None),
    ],
)
def test_when_a_certificate_ends(text, wanted):
    assert site_files.ends(text) == wanted


def registries(crt):
    files = {
        **dict.fromkeys((*site_files.BUNDLES, *site_files.REGISTRIES), ABSENT),
        site_files.BUNDLES[1]: {"exists": True},
        "/etc/docker/certs.d": {"dir": ["registry.example:5000"]},
        REGISTRY: {"dir": ["ca.crt", "client.key", "notes"]},
        REGISTRY + "/ca.crt": crt,
        "/etc/containerd/certs.d": {"dir": ["docker.io", "stray"]},
        "/etc/containerd/certs.d/docker.io": {"dir": ["hosts.toml"]},
        "/etc/containerd/certs.d/stray": {"error": "ENOTDIR"},
    }
    paths = [site_files.BUNDLES[1], REGISTRY + "/ca.crt", "/etc/containerd/certs.d/docker.io/hosts.toml"]
    lines = ["%064x  %s" % (n, path) for n, path in enumerate(paths)]
    return files, [{"argv": ["sha256sum", *paths], "rc": 1, "stdout": "\n".join(lines[:2]) + "\n", "stderr": "sha256sum: denied"}]


def test_certificates_of_registries_and_no_key():
    told = site_files.certificates(host(*registries(certificate("261213120000Z"))))
    assert told["bundle"] == {"path": site_files.BUNDLES[1], "digest": "sha256:%064x" % 0}
    assert told["registries"][REGISTRY + "/ca.crt"] == "sha256:%064x" % 1
    assert "unknown" in told["registries"]["/etc/containerd/certs.d/docker.io/hosts.toml"], "it could not be read"
    assert told["expiry"] == {REGISTRY + "/ca.crt": "2026-12-13T12:00:00Z"}
    assert "key" not in repr(told)


@pytest.mark.parametrize(
    "crt",
    ["", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----", certificate("2612131200Z"), certificate("é61213120000Z"[:13]), {"error": "EACCES"}],
)
def test_what_is_no_certificate_is_unknown(crt):
    told = site_files.certificates(host(*registries(crt)))
    assert list(told["expiry"][REGISTRY + "/ca.crt"]) == ["unknown"]


def test_a_directory_of_registries_that_could_not_be_listed():
    files, commands = registries(certificate("261213120000Z"))
    told = site_files.certificates(host({**files, REGISTRY: {"error": "EACCES"}}, commands))
    assert list(told["registries"]) == list(told["expiry"]) == ["unknown"]


NOTHING = {"not_applicable": "Docker has not run here"}


@pytest.mark.parametrize(
    ("docker", "wanted"),
    [
        ({}, ("found", "info")),
        ({"log-driver": "json-file", "max-file": "3"}, ("found", "info")),
        ({"max-size": "-1"}, ("found", "info")),
        ({"max-size": "50m"}, ("passed", None)),
        ({"log-driver": "local"}, ("passed", None)),
        (NOTHING, ("not_applicable", None)),
        ({"unknown": "denied"}, ("unknown", None)),
    ],
)
def test_the_rotation_of_dockers_logs(docker, wanted):
    told = changed(("settings log_rotation docker", docker))
    assert (told.outcome("log-rotation"), next((f["level"] for f in told.findings if f["rule"] == "log-rotation"), None)) == wanted


@pytest.mark.parametrize(
    ("expiry", "wanted"),
    [
        ({"/a.crt": "2026-11-29T16:59:59Z", "/b.crt": "2030-01-01T00:00:00Z"}, ("found", "warn")),
        ({"/a.crt": "2026-12-05T00:00:00Z"}, ("found", "info")),
        ({"/a.crt": "2027-12-05T00:00:00Z"}, ("passed", None)),
        ({"/a.crt": {"unknown": "denied"}, "/b.crt": "2027-12-05T00:00:00Z"}, ("unknown", None)),
        ({"/a.crt": {"unknown": "denied"}, "/b.crt": "2026-01-05T00:00:00Z"}, ("found", "warn")),
        ({"/a.crt": "soon"}, ("unknown", None)),
        ({"unknown": "denied"}, ("unknown", None)),
        ({}, ("not_applicable", None)),
    ],
)
def test_certificates_that_have_ended(expiry, wanted):
    told = changed(("settings certificates expiry", expiry))
    found = next((f["level"] for f in told.findings if f["rule"] == "registry-certificates"), None)
    assert (told.outcome("registry-certificates"), found) == wanted


def test_a_report_of_an_older_run_tells_neither():
    told = changed(("settings log_rotation", {}), ("settings certificates", {}))
    assert [told.outcome(rule) for rule in ("log-rotation", "registry-certificates")] == ["unknown", "unknown"]
