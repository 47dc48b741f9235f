# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new manufacturer is four files and `make docs`: laid out in a copy of the collection, filled, and judged by the real playbook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import plays
import pytest
import yaml
from copied import ROOT, copy

READER = '''"""Toy accelerators, asked through toyctl."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable

MANUFACTURER = "toy"
SPEC = """
name t model
memory_mib MiB size
temperature_c.core C heat
"""
ABSENT = dict.fromkeys(("health", "ecc", "links", "fabric", "row_remap", "retired_pages"), not_applicable("a toy has none"))


def collect(host, pci=None):
    node, tool = vendor_smi.Node(host, MANUFACTURER, pci, "toy", r"toy\\d+"), vendor_tool.Tool(host, "toyctl")
    text, failed = tool.ask("show")
    log = vendor_smi.Log()
    for line in (text or "").splitlines():
        place, model, size, heat = line.split(";") if line.count(";") == 3 else [""] * 4
        log.cards.append({"id": place, "model": model, "size": size, "heat": heat})
    devices = node.devices(log, SPEC, "toyctl", lambda told, _card, _index: told.update(ABSENT))
    driver = dict.fromkeys(("version", "library_version", "tool_version", "runtime", "runtime_version"), not_applicable("a toy has none"))
    return node.section(tool, devices, log if text else None, failed, driver, [])
'''


def run(arguments, collection, **more):
    env = dict(os.environ, PYTHONPATH=str(collection.parents[2]), ANSIBLE_COLLECTIONS_PATH=str(collection.parents[2]), ANSIBLE_NOCOLOR="1", **more)
    env["ANSIBLE_CONFIG"] = str(collection / "ansible.cfg")
    return subprocess.run(arguments, cwd=collection, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)


def tool(collection, name, *arguments):
    return run([sys.executable, "tools/%s.py" % name, *arguments], collection)


def generate(collection, *arguments):
    """What `make docs` does, as far as it speaks of manufacturers."""
    return [tool(collection, name, *arguments) for name in ("generate_registry", "generate_modules", "generate_role_pages")]


def recording(node, lines, heat="41 C"):
    """A node with two toys on PCI; lines: how many of them toyctl tells."""
    files = {"/sys/bus/pci/devices": {"dir": ["0000:21:00.0", "0000:22:00.0"]}, "/dev": {"dir": ["toy0", "toy1"]}, "/sys/module": {"dir": ["toy"]}}
    for place in ("0000:21:00.0", "0000:22:00.0"):
        real = "/sys/devices/pci0000:20/0000:20:%s.0" % place[5:7]
        files["/sys/bus/pci/devices/" + place] = {"link": "../../../devices/pci0000:20/0000:20:%s.0/%s" % (place[5:7], place)}
        link = {"current_link_width": "16", "max_link_width": "16", "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}
        values = {"vendor": "0x7a7a", "device": "0x0042", "class": "0x120000", "subsystem_vendor": "0x7a7a", "subsystem_device": "0x0001", "revision": "0x01"}
        files.update({"%s/%s/%s" % (real, place, name): value + "\n" for name, value in dict(values, **link, numa_node="0").items()})
        files.update({"%s/%s" % (real, name): value + "\n" for name, value in link.items()})
        files.update({"%s/%s/physfn" % (real, place): {"absent": True}, "%s/%s/driver" % (real, place): {"link": "../../../bus/pci/drivers/toy"}})
    output = "".join("0000:%d:00.0;Toy One;4096 MiB;%s\n" % (21 + n, heat) for n in range(lines))
    commands = [{"argv": ["toyctl", "show"], "stdout": output}]
    return {"schema": "fleetproof.accelerator/recording/v1", "node": node, "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": commands}


def laid_out(folder) -> Path:
    """A copy of the collection in which the toy is laid out."""
    collection = copy(folder)
    done = tool(collection, "new_manufacturer", "toy", "--title", "Toy", "--vendor", "7a7a", "--tool", "toyctl")
    assert done.returncode == 0, done.stderr
    names = ["plugins/plugin_utils/data/manufacturers/toy.yml", "plugins/module_utils/manufacturers/toy.py", "plugins/modules/toy_info.py"]
    assert set(names) < set(done.stdout.splitlines()) and "roles/toy/tasks/main.yml" in done.stdout
    return collection


@pytest.fixture(name="collection", scope="module")
def _collection(tmp_path_factory):
    """The toy as it is laid out."""
    return laid_out(tmp_path_factory.mktemp("collections"))


@pytest.fixture(name="filled", scope="module")
def _filled(tmp_path_factory):
    """The toy filled in and registered."""
    collection = laid_out(tmp_path_factory.mktemp("filled"))
    reader = collection / "plugins/module_utils/manufacturers/toy.py"
    reader.write_text("".join(reader.read_text().splitlines(True)[:3]) + READER)
    data = collection / "plugins/plugin_utils/data/manufacturers/toy.yml"
    data.write_text(data.read_text().replace("devices: {}", 'devices: {"0042": {model: Toy One, source: ids}}'))
    assert [done.returncode for done in generate(collection)] == [0, 0, 0]
    return collection


def test_what_is_generated_is_stale_until_it_is_renewed(collection):
    assert [done.returncode for done in generate(collection, "--check")] == [1, 1, 1]
    assert [done.returncode for done in generate(collection)] == [0, 0, 0]
    assert [done.returncode for done in generate(collection, "--check")] == [0, 0, 0]
    runtime = yaml.safe_load((collection / "meta/runtime.yml").read_text())
    before = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())
    assert runtime["plugin_routing"]["modules"].pop("toy_info") == {"action_plugin": "fleetproof.accelerator.accelerator_info"}
    runtime["action_groups"]["info"].remove("toy_info")
    assert runtime == before


def test_the_scaffold_passes_its_own_test_and_the_linters(collection):
    paths = ["plugins/module_utils/manufacturers/toy.py", "plugins/modules/toy_info.py", "tests/unit/test_toy.py"]
    done = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/test_toy.py"], collection)
    assert done.returncode == 0, done.stdout + done.stderr
    for arguments in (["check"], ["format", "--check"]):
        done = run([str(Path(sys.executable).parent / "ruff"), *arguments, *paths], collection)
        assert done.returncode == 0, done.stdout + done.stderr
    done = run([str(Path(sys.executable).parent / "ansible-doc"), "-t", "module", "fleetproof.accelerator.toy_info"], collection)
    assert done.returncode == 0 and "Toy" in done.stdout, done.stderr


def test_a_toy_in_the_verdict(filled, tmp_path):
    recordings, root = tmp_path / "recordings", tmp_path / "runs"
    recordings.mkdir()
    for name, lines in (("good", 2), ("fine", 2), ("short", 1)):
        (recordings / (name + ".json")).write_text(json.dumps(recording(name, lines)))
    variables = {"recordings": str(recordings), "accelerator_run_root": str(root)}
    done = run([str(Path(sys.executable).parent / "ansible-playbook"), "fleetproof.accelerator.replay", "-e", json.dumps(variables)], filled)
    fleet = plays.read(root / "latest" / "fleet.json")
    verdicts = {entry["node"]: entry for entry in fleet["verdicts"]}
    assert verdicts["good"]["facts"]["accelerators"] == "2x Toy One", done.stdout
    assert [(device["id"], device["name"], device["memory_mib"], device["temperature_c"]) for device in verdicts["good"]["devices"]] == [
        ("toy:0", "Toy One", 4096, 41), ("toy:1", "Toy One", 4096, 41),
    ]  # fmt: skip
    assert verdicts["good"]["rules"]["accelerators-detected"]["outcome"] == "passed"
    assert verdicts["good"]["verdict"] == "accepted"
    assert verdicts["short"]["verdict"] == "rejected"
    found = [(f["rule"], f["summary"]) for f in fleet["findings"] if f["node"] == "short"]
    assert any(rule in ("accelerators-detected", "detection-agrees") and "2" in summary for rule, summary in found), found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Acme"], "NAME: found 'Acme', allowed: 2 to 20 lower-case letters and digits"),
        (["../acme"], "NAME: found '../acme'"),
        (["class"], "NAME: found 'class', allowed: no word of Python"),
        (["host"], "NAME: found 'host', allowed: a name that nothing else has: plugins/modules/host_info.py"),
        (["registry"], "NAME: found 'registry', allowed: a name that nothing else has"),
        (["acme", "--vendor", "10de"], "VENDOR: 10de is that of nvidia"),
        (["acme", "--vendor", "XYZ"], "VENDOR: found 'XYZ', allowed: four lower-case hexadecimal digits"),
        (["acme", "--title", 'A"B'], "TITLE: found"),
        (["acme", "--tool", "rm -r"], "TOOL: found 'rm -r'"),
    ],
)
def test_mistakes_are_named_and_write_nothing(collection, arguments, words):
    done = tool(collection, "new_manufacturer", *arguments)
    assert (done.returncode, words in done.stderr) == (1, True), done.stderr
    assert not (collection / "plugins/module_utils/manufacturers/acme.py").exists()


def test_files_that_are_there_are_kept(collection):
    path = collection / "plugins/modules/nvidia_info.py"
    before = path.read_bytes()
    done = tool(collection, "new_manufacturer", "nvidia")
    assert done.returncode == 0 and "nvidia_info.py" not in done.stdout and path.read_bytes() == before


def test_make_knows_it():
    done = subprocess.run(["make", "-n", "manufacturer", "NAME=acme", "VENDOR=1abc"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and 'tools/new_manufacturer.py "acme"' in done.stdout and '--vendor "1abc"' in done.stdout
