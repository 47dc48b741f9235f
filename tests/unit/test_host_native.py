# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each way a vendor library can end is one answer."""

from __future__ import annotations

import importlib.util
import struct
import textwrap

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost


@pytest.fixture
def host():
    made = LiveHost(deadline=30)
    yield made
    made.close()


@pytest.fixture
def reader(tmp_path):
    def write(text):
        path = tmp_path / "reader_under_test.py"
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location("reader_under_test", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return write


@pytest.mark.parametrize(
    ("body", "status", "value", "detail"),
    [
        ("return {'n': arguments['n'] + 1, 'text': '\\u00e4\\udc80'}", "ok", {"n": 8, "text": "ä\udc80"}, ""),
        ("import os; os.write(1, b'noise' * 100000); os.write(2, b'x' * 100000); print('{'); return {}", "ok", {}, ""),
        ("return {'missing': 'no libx.so'}", "absent", None, "no libx.so"),
        ("raise Missing('no libx.so.1')", "absent", None, "no libx.so.1"),
        ("import no_such_library_at_all", "absent", None, "No module named 'no_such_library_at_all'"),
        ("raise ValueError('bad \\u00e4')", "io_error", None, "ValueError: bad ä"),
        ("return [1]", "io_error", None, "TypeError: read() of reader_under_test returned list, not a dict"),
        ("return {'x': object()}", "io_error", None, "TypeError: Object of type object is not JSON serializable"),
        ("import os; os.kill(os.getpid(), 11)", "signaled", None, "SIGSEGV"),
        ("import os; os.write(2, b'free(): invalid pointer\\n'); os.abort()", "signaled", None, "SIGABRT (free(): invalid pointer)"),
        ("import ctypes; ctypes.string_at(8)", "signaled", None, "SIGSEGV"),
        ("import time; time.sleep(600)", "timeout", None, "no answer in time"),
        ("import os; os._exit(7)", "io_error", None, "ended without an answer, exit 7"),
        ("import sys; sys.exit(3)", "io_error", None, "ended without an answer, exit 3"),
        ("return {'x': 'y' * (20 << 20)}", "overflow", None, "answered more than is kept"),
        ("import atexit, time; atexit.register(time.sleep, 600); return {'x': 1}", "ok", {"x": 1}, ""),
        ("import subprocess; subprocess.Popen(['sleep', '600']); return {'x': 1}", "ok", {"x": 1}, ""),
    ],
)
def test_each_way_a_vendor_library_ends_is_one_answer(host, reader, body, status, value, detail):
    module = reader("class Missing(Exception): pass\ndef read(arguments):\n    %s" % body)
    answer = host.native("lib", module, timeout=2 if status == "timeout" else 20, arguments={"n": 7})
    assert (answer.status, answer.value, answer.detail, answer.subject) == (status, value, detail, "lib")


def test_a_library_finds_what_the_module_finds(host, reader, tmp_path, monkeypatch):
    (tmp_path / "vendorlib.py").write_text("VALUE = 5")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert host.native("lib", reader("import vendorlib\ndef read(arguments): return {'x': vendorlib.VALUE}")).value == {"x": 5}


def test_the_c_struct_module_is_there_for_readers(host, reader):
    assert host.native("lib", reader("import struct\ndef read(arguments): return {'x': struct.calcsize('I')}")).value == {"x": struct.calcsize("I")}
