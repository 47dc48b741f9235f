# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One door to both stores. The same statements, with :name parameters, run on SQLite and PostgreSQL.

Writers work one after the other: SQLite by BEGIN IMMEDIATE, PostgreSQL by a lock of the transaction. Readers see one state.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import location, migrations
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError

PATIENCE = 120  # seconds a writer waits for others
_LOCK = 0x666C6565  # of PostgreSQL, one for this store
_CONNECT = 10  # seconds
_DRIVERS = ("psycopg", "pg8000")


@contextlib.contextmanager
def opened(text, dry=False):
    """The Database at a location, its tables as this version needs them. dry, for check mode: nothing is made and nothing stays."""
    where = location.check(text)
    if dry and not location.is_url(text) and not where.exists():
        where = None
    database = _Server(text) if location.is_url(text) else _File(where)
    try:
        if dry:
            database = _Dry(database)
        else:
            migrations.apply(database)
        yield database
    finally:
        database.close()


def storable(text):
    """Text that either store takes."""
    if text is None or text.__class__ is not str:
        return text
    return text.replace("\0", " ").encode("utf-8", "backslashreplace").decode("utf-8")


class _Session:
    """Statements of one transaction."""

    def __init__(self, execute):
        self._execute = execute

    def rows(self, statement, **parameters):
        return [tuple(row) for row in self._execute(statement, parameters).fetchall()]

    def row(self, statement, **parameters):
        """The first row, None without one."""
        found = self.rows(statement, **parameters)
        return found[0] if found else None

    def run(self, statement, **parameters):
        """Number of rows that changed."""
        return self._execute(statement, {key: storable(value) for key, value in parameters.items()}).rowcount

    def insert(self, table, rows):
        """Insert rows (equal keys) that are not there yet."""
        rows = [{key: storable(value) for key, value in row.items()} for row in rows]
        if rows:
            keys = list(rows[0])
            self._execute(
                "INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING" % (table, ", ".join(keys), ", ".join(":" + key for key in keys)),
                rows if len(rows) > 1 else rows[0],
            )


class _Undone(Exception):
    """Ends a transaction without a trace."""


class _Database:
    @contextlib.contextmanager
    def trying(self):
        """Like writing(), and nothing stays: for check mode."""
        with contextlib.suppress(_Undone), self.writing() as session:
            yield session
            raise _Undone


class _File(_Database):
    def __init__(self, path):
        self.shown = "an empty history" if path is None else str(path)
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(":memory:" if path is None else path, timeout=PATIENCE, isolation_level=None)
            if path is not None:
                self._log_ahead()
        except (sqlite3.Error, OSError) as error:
            raise HistoryError("accelerator_history: %s cannot be opened: %s" % (path, error)) from None

    def _log_ahead(self):
        """Readers and a writer at the same time. Another process that is at it, too, makes this one busy without waiting."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                if "lock" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.05)
        self._connection.execute("PRAGMA synchronous=FULL")

    def _execute(self, statement, parameters):
        if isinstance(parameters, list):
            return self._connection.executemany(statement, parameters)
        return self._connection.execute(statement, parameters)

    def reading(self):
        return self._transaction("BEGIN")

    def writing(self):
        return self._transaction("BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def _transaction(self, begin):
        try:
            self._connection.execute(begin)
            try:
                yield _Session(self._execute)
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # what failed may have ended the transaction itself
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise HistoryError("accelerator_history: %s: %s" % (self.shown, error)) from None

    def has_table(self, session, name):
        return session.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name", name=name) is not None

    def close(self):
        self._connection.close()


class _Server(_Database):
    def __init__(self, url):
        self.shown = location.shown(url)
        self._alchemy = _alchemy()
        try:
            self._engine = self._alchemy.create_engine(_with_driver(self._alchemy, url), poolclass=self._alchemy.pool.NullPool, connect_args=_bounded(url))
        except self._alchemy.exc.SQLAlchemyError as error:
            raise HistoryError("accelerator_history: %s: %s" % (self.shown, _first_line(error))) from None

    def reading(self):
        return self._transaction("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def writing(self):
        return self._transaction("SELECT pg_advisory_xact_lock(%d)" % _LOCK)

    @contextlib.contextmanager
    def _transaction(self, begin):
        text = self._alchemy.text
        try:
            with self._engine.begin() as connection:
                connection.execute(text(begin if begin.startswith("SET") else "SET LOCAL lock_timeout = '%ds'" % PATIENCE))
                if not begin.startswith("SET"):
                    connection.execute(text(begin))
                connection.execute(text("SET LOCAL statement_timeout = '%ds'" % (5 * PATIENCE)))
                yield _Session(lambda statement, parameters: connection.execute(text(statement), parameters))
        except self._alchemy.exc.SQLAlchemyError as error:
            raise HistoryError("accelerator_history: %s: %s" % (self.shown, _first_line(error))) from None

    def has_table(self, session, name):
        found = session.row("SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = :name", name=name)
        return found is not None

    def close(self):
        self._engine.dispose()


class _Dry:
    """A database in which every transaction is undone, the tables it needed with it."""

    def __init__(self, database):
        self._database = database

    @contextlib.contextmanager
    def reading(self):
        with self._database.trying() as session:
            migrations.bring(self._database, session)
            yield session

    writing = trying = reading

    def close(self):
        self._database.close()


def _alchemy():
    try:
        import sqlalchemy
        import sqlalchemy.exc
        import sqlalchemy.pool
    except ImportError:
        raise HistoryError("accelerator_history: found a URL, and no SQLAlchemy here: pip install 'sqlalchemy>=2' 'psycopg[binary]>=3.1'") from None
    return sqlalchemy


def _with_driver(alchemy, url):
    made = alchemy.make_url("postgresql" + url[len("postgres") :] if url.startswith("postgres:") else url)
    if made.drivername != "postgresql":
        return made
    for driver in _DRIVERS:
        try:
            __import__(driver)
        except ImportError:
            continue
        return made.set(drivername="postgresql+" + driver)
    raise HistoryError("accelerator_history: found a URL, and no driver of PostgreSQL here: pip install 'psycopg[binary]>=3.1', or pg8000")


def _bounded(url):
    return {"timeout": _CONNECT} if url.partition(":")[0].endswith("pg8000") else {} if "connect_timeout" in url else {"connect_timeout": _CONNECT}


def _first_line(error):
    text = str(getattr(error, "orig", None) or error).strip()
    return location.shown(text.splitlines()[0] if text else error.__class__.__name__)
