# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets in text that is malformed, or that goes over several lines."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import privacy
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet
from kubelet_machine import CONFIG, KUBELET, machine

SECRET = "hunter2-0123456789"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('token: "%s', 'token: "[redacted]'),
        ("token: '%s", "token: '[redacted]"),
        ('token: "%s # why', 'token: "[redacted]'),
        ('password = "two words %s', 'password = "[redacted]'),
        ('{"auth": "%s', '{"auth": "[redacted]'),
        ('clientSecret: "first\n  %s', 'clientSecret: "[redacted]'),
        ('clientSecret: "first\n  %s\n  last"', 'clientSecret: "[redacted]"'),
        ("password: |\n  %s\n  more\n", "password: |\n  [redacted]\n"),
        ("  apiKey: >-\n    %s\n\n    more\n", "  apiKey: >-\n    [redacted]\n"),
    ],
)
@pytest.mark.parametrize("following", ["kind: KubeletConfiguration\n", "", "[table]\nroot = 1\n", "# comment\n- item\n"])
def test_what_is_not_closed_is_redacted_and_what_follows_stays(text, left, following):
    told = privacy.redact("maxPods: 110\n" + text % SECRET + ("" if text.endswith("\n") else "\n") + following)
    assert SECRET not in told and "more" not in told and "last" not in told
    assert told.rstrip("\n") == ("maxPods: 110\n" + left + ("" if left.endswith("\n") else "\n") + following).rstrip("\n")
    assert privacy.redact(told) == told


@pytest.mark.parametrize(
    "text", ['token: ""\nmaxPods: 1\n', "password: ''\nx: 1\n", "tokens:\n  a: 1\n", 'note: "open\nmaxPods: 1\n', "script: |\n  run\nmaxPods: 1\n"]
)
def test_what_is_no_secret_stays(text):
    assert privacy.redact(text) == text


def test_a_malformed_file_of_the_kubelet_is_recorded_without_its_secret_and_says_the_same_again():
    text = 'maxPods: 110\nbearerToken: "%s\ntopologyManagerPolicy: restricted\n' % SECRET
    recorder = RecordingHost(machine({CONFIG: text}, {7: [*KUBELET, "--config=" + CONFIG]}))
    found = kubelet.collect(recorder)
    assert found["settings"]["max_pods"]["outcome"] == "unreadable" and SECRET not in repr(found)
    recording = recorder.recording()
    assert SECRET not in repr(recording)
    assert kubelet.collect(ReplayHost(recording))["settings"]["max_pods"]["outcome"] == "unreadable"


def test_no_text_takes_long():
    for text in ('token: "a\n' * 20000, 'token: "\n' + "x\n" * 50000, "token: |\n" + "  a\n" * 50000, "password: |\n" * 20000 + "token: abc\n"):
        assert "[redacted]" in privacy.redact(text)  # it would hang
