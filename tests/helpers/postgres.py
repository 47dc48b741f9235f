# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A PostgreSQL of the tests: made in a directory, reached by a socket, without a port, ended with the session."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

USER = "postgres"
LIMIT = 120  # seconds


class Server:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="fp-pg-", dir="/tmp"))  # a socket's path is short
        self.number = 0

    def start(self):
        binaries = _binaries()
        self.folder.chmod(0o755)
        data = self.folder / "data"
        data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(data, USER)
            shutil.chown(self.folder, USER)
        self.initdb, self.pg_ctl = str(binaries / "initdb"), str(binaries / "pg_ctl")
        _as_user([self.initdb, "-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
        options = "-c listen_addresses='' -c unix_socket_directories=%s -c fsync=off" % self.folder
        _as_user([self.pg_ctl, "-D", str(data), "-l", str(self.folder / "log"), "-o", options, "-w", "start"])
        return self

    def database(self):
        """The URL of a new database."""
        import psycopg

        self.number += 1
        name = "history%d" % self.number
        with psycopg.connect(host=str(self.folder), user=USER, dbname="postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE %s" % name)
        return "postgresql://%s@/%s?host=%s" % (USER, name, self.folder)

    def stop(self):
        try:
            _as_user([self.pg_ctl, "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop"])
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def _binaries():
    for folder in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True):
        if os.access(os.path.join(folder, "initdb"), os.X_OK):
            return Path(folder)
    found = shutil.which("initdb")
    return Path(os.path.realpath(found)).parent if found else None


def missing():
    """Why there can be none here, None where there can."""
    if _binaries() is None:
        return "no initdb here (package postgresql)"
    try:
        import psycopg  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ImportError as error:
        return str(error)
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(USER)
        except KeyError:
            return "PostgreSQL does not run as root, and there is no user %s" % USER
        if not shutil.which("setpriv"):
            return "no setpriv here"
    return None


def _as_user(argv):
    if os.geteuid() == 0:
        argv = ["setpriv", "--reuid=%s" % USER, "--regid=%d" % pwd.getpwnam(USER).pw_gid, "--clear-groups", *argv]
    # Its output goes to files: the server inherits a pipe and would hold it open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=LIMIT, check=False, cwd="/", env={"PATH": os.environ["PATH"], "LC_ALL": "C"}
        )
        output.seek(0)
        assert done.returncode == 0, output.read().decode(errors="replace")[-2000:]
