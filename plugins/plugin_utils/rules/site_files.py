# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about files that a site freezes: how logs are rotated, and when the certificates of registries end."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.when import epoch


@rule(
    id="log-rotation",
    layer=1,
    level="info",
    title="Docker rotates the logs of containers",
    reads=("settings",),
    scope="node",
    remedy="Set max-size and max-file in log-opts of /etc/docker/daemon.json, or another log-driver, and start the containers anew.",
)
def log_rotation(view, p):
    # The journal and the kubelet bound their logs by default; Docker's own driver does not.
    said = view.section("settings").facts("log_rotation").facts("docker")
    if (said.maybe("text", "log-driver") or "json-file") == "json-file" and said.maybe("text", "max-size") in (None, "-1"):
        origin = "vendor document: Docker, JSON File logging driver: max-size is unlimited by default"
        return found("Docker keeps the logs of containers without a limit", "no max-size", expectation("max-size", origin=origin))
    return PASSED


@rule(
    id="registry-certificates",
    layer=1,
    level="warn",
    title="No certificate of a registry has ended",
    reads=("settings",),
    scope="node",
    remedy="Put the registry's new certificate in its place: images cannot be pulled with the old one.",
    parameters={"within_days": Parameter("number", 14, "days", "our choice: one that is about to end is told, as info")},
)
def registry_certificates(view, p):
    section = view.section("settings")
    expiry, now = section.facts("certificates").facts("expiry"), epoch(section.text("timestamp"))
    if not expiry.data:
        return not_applicable("no certificate of a registry in the directories of the container engines")
    ended, soon, silent = [], [], None
    for path in sorted(expiry.data):
        try:
            at = epoch(expiry.text(path))
        except NoAnswer as no:
            silent = silent or no.reason
            continue
        if at is None or now is None:
            silent = silent or "%s: no time: %s" % (path, expiry.maybe("text", path))
        elif at <= now:
            ended.append("%s (%s)" % (path, expiry.text(path)))
        elif at <= now + p.within_days * 86400:
            soon.append("%s (%s)" % (path, expiry.text(path)))
    if ended:
        text = "%d certificates of registries have ended: %s" % (len(ended), ", ".join(ended[:4]))
        return found(text, len(ended), expectation(0, "certificates", "vendor document: RFC 5280, 4.1.2.5"))
    if soon:
        text = "%d certificates of registries end within %g days: %s" % (len(soon), p.within_days, ", ".join(soon[:4]))
        return found(text, len(soon), p.expected("within_days"), level="info")
    return unknown(silent) if silent else PASSED
