# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries that a run puts onto a node for its own time: the half of hold.py that does it and takes them away again."""

from __future__ import annotations

import contextlib
import errno
import json
import os

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import files
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.child import Outside
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost

STAGED = ".staged"


class Staging:
    def stage(self, source, target, replace=False):
        def act(entry):
            beside = self._live if self._live._root == "/" else LiveHost(deadline=10)  # a dead file system holds its helper, not us
            there = beside.stat(source)
            if not there.ok:
                raise OSError(errno.ENOENT, "no directory %s with libraries: %s" % (source, there.reason))
            listed = files.listed(source)
            wanted = {relative: files.digest_of(os.path.join(source, relative)) for relative, _mode in listed}
            found = {relative: self._digest(target, relative) for relative in wanted}
            self._in_time()
            new = {relative: wanted[relative] for relative in wanted if found[relative] is None}
            differ = [relative for relative in wanted if found[relative] not in (None, wanted[relative])]
            if differ and not replace:
                raise OSError(errno.EEXIST, "another version is installed there: %s" % files.some(differ))
            if new or differ:
                self._remember(target, new, differ)
            for relative, mode in listed:
                if relative in new or relative in differ:
                    self._in_time()
                    self._copy(source, target, relative, mode)
            told = "%d files: %d were there, %d are this run's" % (len(listed), len(listed) - len(new) - len(differ), len(new))
            entry["detail"] = "%s%s" % (told, ", %d replaced for good: %s" % (len(differ), files.some(differ)) if differ else "")
            entry["outcome"] = "open" if new else "kept"

        return self._do("library", target, act, "from %s" % source)

    def _in_time(self):
        if self._live.remaining() <= 0:
            raise OSError(errno.ETIME, "the deadline of the module had passed")

    def _digest(self, target, relative):
        try:
            at = self._find(target, relative)
            try:
                name = relative.rpartition("/")[2]
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=at)  # an engine that starts a container makes an empty directory of what is not there
                return files.digest_of(name, at)
            finally:
                os.close(at)
        except FileNotFoundError:
            return None

    def _find(self, target, relative):
        """Descriptor of the directory of a staged file."""
        at = self._directory(target)
        for name in relative.split("/")[:-1]:
            try:
                below = os.open(name, files.DIRECTORY, dir_fd=at)
            finally:
                os.close(at)
            at = below
        return at

    def _copy(self, source, target, relative, mode):
        folder, _slash, name = ("%s/%s" % (target, relative)).rpartition("/")
        start = self._existing(folder)[0]
        at = self._walk(start, folder[len(start) :].split("/"))
        try:
            with open(os.path.join(source, relative), "rb") as read:
                files.put(at, name, lambda fd: files.pour(fd, read), mode)
        finally:
            os.close(at)

    def _remember(self, target, new, differ):
        """On the disk before the first file is: so a killed run's libraries are known."""
        folders = {path for relative in new for path in files.parents(target + "/" + relative)}
        folders = [path for path in folders if path not in (self.root, *files.parents(self.root)) and not self.host.exists(path).value]
        known = [*self._remembered(), {"target": target, "files": new, "replaced": differ, "directories": sorted(folders, key=len, reverse=True)}]
        files.put(self._fd, STAGED, lambda fd: files.whole(fd, json.dumps(known).encode()), 0o600)

    def _remembered(self):
        try:
            fd = os.open(STAGED, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        except FileNotFoundError:
            return []
        with open(fd, encoding="utf-8") as told:
            try:
                return json.load(told)
            except ValueError as error:
                raise OSError(errno.EBADMSG, str(error)) from None

    def _unstage(self, detail=""):
        """(paths that stayed)."""
        try:
            known = self._remembered()
            left = [told for tree in known for told in self._unstage_tree(tree)]
            if not left:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(STAGED, dir_fd=self._fd)
        except OSError as error:
            known, left = [], ["%s/%s: %s" % (self.root, STAGED, error.strerror)]
        if detail and (known or left):
            told = ", ".join(tree["target"] for tree in known)
            self._note("stale", told or self.root, "left" if left else "removed", "; ".join(left) or detail)
        return left

    def _unstage_tree(self, tree):
        left = []
        for relative in [*tree["files"], *tree["replaced"]]:
            name, ours = relative.rpartition("/")[2], tree["files"].get(relative)
            try:
                at = self._find(tree["target"], relative)
                try:
                    with contextlib.suppress(OSError):
                        os.rmdir(name, dir_fd=at)
                    for one in os.listdir(at):
                        # another content is somebody else's: whoever installs libraries may have been here since
                        if one.startswith(".%s.stage-" % name) or (one == name and ours == files.digest_of(name, at)):
                            os.unlink(one, dir_fd=at)
                finally:
                    os.close(at)
            except FileNotFoundError:
                continue
            except OSError as error:
                left.append("%s/%s: %s" % (tree["target"], relative, error.strerror))
        for path in tree["directories"]:
            parent, _slash, name = path.rpartition("/")
            with contextlib.suppress(OSError, Outside):  # what somebody else put into it stays
                at = self._directory(parent or "/")
                try:
                    os.rmdir(name, dir_fd=at)
                finally:
                    os.close(at)
        return left
