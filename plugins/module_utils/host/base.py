# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door to a machine: what every Host answers.

A Host has: read_text(path), read_bytes(path), exists(path), stat(path), listdir(path), readlink(path), statvfs(path)
-> Answer; run(argv, timeout, env, stdin, limit, taker) -> Command; native(name, reader, timeout, arguments) -> Answer of a dict;
resolve(program) -> Answer of a path; uname(), limits(), boot_time(), is_root() -> Answer; now() -> seconds since the
epoch; monotonic(), remaining() -> seconds. None of them raises for anything the machine does.
"""

from __future__ import annotations

import fnmatch

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY, OK, Answer


class Host:
    def close(self):
        """Lets go of what the door holds."""

    def read_lines(self, path):
        answer = self.read_text(path)
        return answer.value.splitlines() if answer.ok else []

    def read_line(self, path):
        """A one-line file, stripped."""
        answer = self.read_text(path)
        if answer.ok:
            answer.value = answer.value.strip()
        return answer

    def glob(self, pattern):
        """Paths that match a pattern with * in whole or part of a component, sorted; other than ok when a listing failed.

        A missing directory is an empty ok answer, except the fixed part of the pattern: then absent.
        """
        parts = pattern.strip("/").split("/")
        found, fixed = [""], True
        for part in parts:
            following = []
            wild = "*" in part or "?" in part
            for base in found:
                if not wild:
                    following.append(base + "/" + part)
                    continue
                names = self.listdir(base or "/")
                if names.ok:
                    following += [base + "/" + n for n in sorted(names.value) if fnmatch.fnmatchcase(n, part)]
                elif fixed or names.status not in (ABSENT, NOT_A_DIRECTORY):
                    return names
            if wild:
                fixed = False
            found = following
        if not fixed and "*" not in parts[-1] and "?" not in parts[-1]:
            present = []
            for path in found:
                answer = self.exists(path)
                if answer.ok and answer.value:
                    present.append(path)
                elif not answer.ok:
                    return answer
            found = present
        return Answer(OK, found, subject=pattern)
