# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The libraries beside cnmon, hy-smi, mthreads-gmi and ixsmi: their layouts against compiled ones, and every way in which they say nothing."""

from __future__ import annotations

import importlib
import pathlib
import shutil
import subprocess

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.vendor_library import Library

FOLDER = "ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers."
FIRST, SECOND = "0001:1a:00.0", "0001:5b:00.0"
MAKERS = ("cambricon_cndev", "hygon_rsmi", "mthreads_mtml", "iluvatar_ixml")


@pytest.fixture(scope="module", params=["", "-DCNDEV_5"], ids=["new", "old"])
def stub(request, tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("stub") / "libstub.so"
    source = pathlib.Path(__file__).parent / "library_stubs" / "stub.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", *request.param.split(), "-o", str(path), str(source)], check=True)
    return str(path), request.param


@pytest.fixture
def read(stub, monkeypatch):
    """read(maker, SICK=…): what the reader makes of the compiled library."""
    path, _option = stub

    def inner(maker, *switches, cards=(FIRST, SECOND)):
        for name in switches:
            monkeypatch.setenv(name, "1")
        module = importlib.import_module(FOLDER + maker)
        monkeypatch.setattr(module, "PLACES", (path,))
        return module.read({"cards": list(cards)})

    return inner


def test_cndev(read, stub):
    corrected = 2 if stub[1] else 3
    well = {"retired_pages.pending": 0, "row_remap.corrected": corrected, "row_remap.uncorrected": 0, "row_remap.pending": 0, "row_remap.failed": 0}
    assert read("cambricon_cndev", cards=[FIRST, "1"]) == {"cards": {FIRST: dict(well, links=[1, 1, 1]), "1": dict(well, links=[1, 1, 1])}}
    bad = dict.fromkeys(well, 1)
    assert read("cambricon_cndev", "SICK")["cards"][SECOND] == {**bad, "row_remap.corrected": corrected, "links": [1, 1, 0]}
    bare = read("cambricon_cndev", "BARE")["cards"][FIRST]
    assert bare.pop("links") == [] and all(said["unsupported"] for said in bare.values())


def test_rsmi(read):
    well = {"ecc.corrected_volatile": 3, "ecc.uncorrected_volatile": 0, "retired_pages.pending": 0, "links": [1, 1, 1]}
    assert read("hygon_rsmi") == {"cards": {FIRST: well, SECOND: well}}
    bad = {"ecc.corrected_volatile": 3, "ecc.uncorrected_volatile": 1, "retired_pages.pending": 1, "links": [1, 0, 1]}
    assert read("hygon_rsmi", "SICK") == {"cards": {FIRST: well, SECOND: bad}}
    assert all(said["unsupported"] for said in read("hygon_rsmi", "BARE")["cards"][FIRST].values())


def test_mtml(read, monkeypatch):
    ecc = {"ecc.corrected_volatile": 4, "ecc.uncorrected_volatile": 0, "ecc.corrected_aggregate": 9, "ecc.uncorrected_aggregate": 0}
    well = {"retired_pages.corrected": 1, "retired_pages.uncorrected": 0, "retired_pages.pending": 0, **ecc, "links": [1, 1, 1]}
    assert read("mthreads_mtml") == {"cards": {FIRST: well, SECOND: well}}
    bad = dict(well, **{"retired_pages.uncorrected": 1, "retired_pages.pending": 1, "ecc.uncorrected_volatile": 1, "ecc.uncorrected_aggregate": 1})
    assert read("mthreads_mtml", "SICK") == {"cards": {FIRST: well, SECOND: dict(bad, links=[1, 0, 0])}}
    assert read("mthreads_mtml", "SICK", "NO_PEER")["cards"][SECOND]["links"] == [1, 0, None]
    monkeypatch.delenv("NO_PEER")
    assert read("mthreads_mtml", "SICK", "PEER_UNREAD")["cards"][SECOND]["links"]["error"] == 999
    assert all(said["unsupported"] for said in read("mthreads_mtml", "BARE")["cards"][FIRST].values())


def test_ixml(read):
    assert read("iluvatar_ixml") == {"cards": {"0": 2, "1": 2}}
    assert read("iluvatar_ixml", "BARE")["cards"]["0"]["unsupported"]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_library_without_a_driver_or_without_its_calls(read, monkeypatch, maker, tmp_path):
    said = read(maker, "NO_DRIVER")
    assert said["error"] in (1, 8, 9) and not said.get("unsupported")
    module = importlib.import_module(FOLDER + maker)
    monkeypatch.setattr(module, "PLACES", ("libc.so.6",))
    assert module.read({"cards": [FIRST]})["error"] == "no function"
    monkeypatch.setattr(module, "PLACES", (str(tmp_path / "libno.so"),))
    assert list(module.read({"cards": []})) == ["missing"]
    broken = tmp_path / "libbroken.so"
    broken.write_text("no library")
    monkeypatch.setattr(module, "PLACES", (str(broken),))
    assert module.read({"cards": []})["error"] == "not loaded"


def asked(**entry):
    natives = {"liba": entry} if entry else {}
    return Library(
        ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "natives": natives}), "a-smi", "liba", None, []
    )


UNTOLD = "a-smi does not tell it"


@pytest.mark.parametrize(
    ("entry", "fact"),
    [
        ({"answer": {"cards": {FIRST: {"x": 3}}}}, 3),
        (
            {"answer": {"cards": {FIRST: {"x": {"error": 10, "unsupported": True, "said": "f: error 10"}}}}},
            {"not_applicable": "liba: f: error 10 (not supported)"},
        ),
        ({"answer": {"cards": {FIRST: {"x": {"error": "no function", "said": "f"}}}}}, {"unknown": UNTOLD + ", and this liba has no f"}),
        ({"missing": "none of liba.so"}, {"unknown": UNTOLD + ", and there is no liba"}),
        ({"missing": "a mounted host"}, {"unknown": UNTOLD + ", and liba: absent (a mounted host)"}),
        ({"answer": {"cards": {FIRST: {"x": {"error": 7, "said": "f: error 7"}}}}}, {"unknown": "liba: f: error 7"}),
        ({"answer": {"cards": {FIRST: {"error": 6, "said": "g: error 6"}}}}, {"unknown": "liba: g: error 6"}),
        ({"answer": {"cards": {SECOND: {"x": 3}}}}, {"unknown": "liba: does not name this card"}),
        ({"answer": {"cards": {FIRST: {"x": -1}}}}, {"unknown": "liba: x: no possible number"}),
        ({"answer": {"cards": {FIRST: {"x": True}}}}, {"unknown": "liba: x: no possible number"}),
        ({"answer": {"cards": {FIRST: "x"}}}, {"unknown": "liba: x: no possible number"}),
        ({"answer": {"cards": {FIRST: {}}}}, {"unknown": "liba: x: no possible number"}),
        ({"answer": {"error": 1, "said": "no driver"}}, {"unknown": "liba: no driver"}),
        ({"answer": {"error": 2, "unsupported": True, "said": "init: error 2"}}, {"unknown": "liba: init: error 2"}),
        ({"answer": [1]}, {"unknown": "liba: not understood"}),
    ],
)
def test_what_is_made_of_an_answer(entry, fact):
    assert asked(**entry).fact(FIRST, "x") == fact


def test_only_what_nothing_tells_says_so():
    for entry in ({"hang": True}, {"signal": "SIGSEGV"}, {"error": "ValueError: x"}, {}, {"status": answers.DENIED}):
        said = asked(**entry).fact(FIRST, "x")["unknown"]
        assert said and UNTOLD not in said
    assert asked(missing="none of x").fact({"unknown": "no address"}, "x") == {"unknown": UNTOLD + ", and there is no liba"}
    unsupported = {"error": 2, "unsupported": True, "said": "f: error 2"}
    assert asked(answer={"cards": {FIRST: {"x": unsupported}}}).fact(FIRST, "x", part_of_it=False) == {"unknown": UNTOLD + ", nor liba: f: error 2"}


@pytest.mark.parametrize(
    ("states", "links"),
    [
        ([1, 1], {"kind": "l", "total": 2, "up": 2, "down": []}),
        ([1, 0], {"kind": "l", "total": 2, "up": 1, "down": [1]}),
        ([None, None], {"kind": "l", "total": 2, "up": 0, "down": [0, 1]}),
        ([1, None], {"unknown": "liba: link 1: down, and nothing tells whether it is connected"}),
        ([1, 2], {"unknown": "liba: link 1: down, and nothing tells whether it is connected"}),
        ([], {"not_applicable": "liba: no link"}),
        ("up", {"unknown": "liba: links: not understood"}),
        (None, {"unknown": "liba: links: not understood"}),
        ({"error": "no function", "said": "f"}, {"unknown": UNTOLD + ", and this liba has no f"}),
    ],
)
def test_links(states, links):
    assert asked(answer={"cards": {FIRST: {"links": states}}}).links(FIRST, "l") == links


def test_the_library_stands_behind_the_tool():
    library = asked(missing="none of x")
    mine, garbage, none = library.fact(FIRST, "x"), {"unknown": "a-smi: pending: not understood: '?'"}, {"unknown": "a-smi: pending: N/A"}
    assert library.better(0, mine) == 0 and library.better(True, 0) is True, "what the tool said stands"
    assert library.better(none, mine) == mine and library.better(none, 0) == 0 and library.better(garbage, 0) == 0
    assert library.better(garbage, mine) == garbage, "what was not understood is not untold"
