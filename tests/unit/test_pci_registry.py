# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of manufacturers is current and its source is sound."""

from __future__ import annotations

import copy
import importlib.util
import pathlib

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import registry

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST_CLASS = ("amd", "ascend", "cambricon", "hygon", "iluvatar", "metax", "mthreads", "nvidia", "thead")


@pytest.fixture(name="generator")
def _generator():
    spec = importlib.util.spec_from_file_location("generate_registry", ROOT / "tools" / "generate_registry.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="document")
def _document(generator):
    return generator.read()


def test_generated_table_is_current(generator):
    assert generator.main(["--check"]) == 0


def test_stale_table_is_noticed(generator, tmp_path, monkeypatch, capsys):
    root = tmp_path / "clone"
    target = root / "registry.py"
    root.mkdir()
    target.write_text("old\n", encoding="utf-8")
    monkeypatch.setattr(generator, "ROOT", root)
    monkeypatch.setattr(generator, "TARGET", target)
    assert generator.main(["--check"]) == 1
    assert "registry.py is not current" in capsys.readouterr().err
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0


def test_the_nine_of_the_collection_come_first():
    assert registry.FIRST_CLASS == FIRST_CLASS
    assert tuple(registry.MANUFACTURERS)[:9] == FIRST_CLASS


def test_nothing_the_node_needs_is_lost(generator, document):
    whole = generator.load(document)
    for entry in whole.values():
        assert entry.pop("device_nodes")
    assert whole == registry.MANUFACTURERS


@pytest.mark.parametrize(
    "vendor, device, manufacturer, model",
    [
        ("10de", "2330", "nvidia", "H100 SXM5 80GB"),
        ("1002", "74a1", "amd", "Instinct MI300X"),
        ("19e5", "d802", "ascend", "Ascend 910B / 910C"),
        ("cabc", "0370", "cambricon", "MLU370"),
        ("1d94", "6210", "hygon", "K100_AI"),
        ("1e3e", "0002", "iluvatar", "MR-V100"),
        ("9999", "0a01", "metax", "C500"),
        ("1ed5", "0327", "mthreads", "MTT S4000"),
        ("1ded", "6001", "thead", "PPU"),
    ],
)
def test_device_ids(vendor, device, manufacturer, model):
    assert registry.BY_VENDOR[vendor] == manufacturer
    assert registry.MANUFACTURERS[manufacturer]["devices"][device] == model


@pytest.mark.parametrize(
    "path, value, words",
    [
        (("amd", "devices", "74a1"), {"model": "X"}, "expected {model, source}"),
        (("amd", "devices", "74a1"), {"model": "X", "source": "nowhere"}, "'nowhere' is not in"),
        (("amd", "devices", "74A1"), {"model": "X", "source": "ids"}, "not four lower-case"),
        (("amd", "vendors"), [{"value": "10de", "source": "ids"}], "also that of amd"),
        (("amd", "vendors"), [{"value": 1002, "source": "ids"}], "numbers in quotes"),
        (("amd", "modules"), [{"value": "two words", "source": "ids"}], "words only"),
        (("amd", "devices", "74a1"), {"model": 'X"""', "source": "ids"}, "letters, digits"),
        (("amd", "modles"), [], "unknown keys"),
        (("nvidia", "excluded"), {"2330": {"model": "X", "source": "ids"}}, "in two tables"),
    ],
)
def test_mistakes_in_the_source_are_named(generator, document, path, value, words):
    broken = copy.deepcopy(document)
    place = broken
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(generator.Mistake, match=words.replace("{", r"\{").replace("}", r"\}")):
        generator.load(broken)


@pytest.mark.parametrize("text", ["", "[]", "title: X\nsources: {}\n", "title: 3\nsources: {}\nvendors: []\n"])
def test_a_file_of_another_shape_is_named(generator, tmp_path, text):
    (tmp_path / "toy.yml").write_text(text)
    with pytest.raises(generator.Mistake, match=r"toy\.yml"):
        generator.read(tmp_path)
