# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One fault of the second card of a recorded healthy node, in the words of each manufacturer's tool. Each takes the cards of the node and changes them."""

from __future__ import annotations

import json
import re

import ascend_samples
import config_space
import further_samples
import hygon_samples
import metax_samples
import nvidia_samples
import product_nodes

BAD = 1  # the second card
PRODUCTS = {
    "nvidia": "H100 SXM 80 GB", "amd": "MI300X", "ascend": "Ascend 910B3", "cambricon": "MLU370-X8", "hygon": "K100_AI", "iluvatar": "MR-V100",
    "metax": "MetaX C500", "mthreads": "MTT S4000", "thead": "PPU-ZW810E", "gaudi": "Gaudi 2", "kunlunxin": "Kunlun P800 OAM", "enflame": "Enflame S60",
}  # fmt: skip
# What begins the lines of a card in a tool's log.
HEADS = {
    "nvidia": r"(?=\n *<gpu id=)", "iluvatar": r"(?=\t<gpu id=)", "thead": r"(?m)(?=^PPU 0000)", "kunlunxin": r"(?m)(?=^XPU 0000)",
    "enflame": r"(?m)(?=^DEV ID)", "cambricon": r"(?m)(?=^Card \d)", "metax": r"(?m)(?=^GPU#\d)",
}  # fmt: skip
LOGS = {
    "nvidia": "-q -x", "iluvatar": "-q -x", "thead": "-q", "kunlunxin": "-q", "enflame": "-q", "cambricon": "info", "metax": metax_samples.COMBINED,
    "mthreads": "-q -j", "hygon": hygon_samples.ALL,
}  # fmt: skip


def tell(part, words, change, program=None):
    """What the tool answers to these words goes through change."""
    entries = [entry for entry in part.commands if entry["argv"][1:] == words.split() and "stdout" in entry and program in (None, entry["argv"][0])]
    assert entries, words
    for entry in entries:
        changed = change(entry["stdout"])
        assert changed != entry["stdout"], "nothing was changed"
        entry["stdout"] = changed


def of_card(change, maker, number=BAD):
    """The log with one card's lines changed."""

    def changed(text):
        parts = re.split(HEADS[maker], text)
        parts[number + 1] = change(parts[number + 1])
        return "".join(parts)

    return changed


def element(**values):
    """XML: other content of these elements, the first of each name; a__b: b within a."""

    def changed(text):
        for path, value in values.items():
            outer, _sep, name = path.rpartition("__")
            start = text.index("<%s>" % outer) if outer else 0
            text = text[:start] + re.sub("<%s>[^<]*<" % name, "<%s>%s<" % (name, value), text[start:], count=1)
        return text

    return changed


def line(*pairs):
    """`Key : value`: other values; "Section/Key": the first of that name below the section."""

    def changed(text):
        for path, value in pairs:
            section, _sep, name = path.rpartition("/")
            start = re.search(r"(?m)^\s*%s\s*:?\s*$" % re.escape(section), text).end() if section else 0
            text = text[:start] + re.sub(r"(?m)^(\s*%s\s*:\s*).*$" % re.escape(name), lambda m, value=value: m.group(1) + value, text[start:], count=1)
        return text

    return changed


def log(part, change):
    tell(part, LOGS[part.manufacturer], of_card(change, part.manufacturer))


def added(words):
    """Lines at the end of what the log says of the card."""
    return lambda part: log(part, lambda text: text.rstrip("\n") + "\n" + words)


def xml(**values):
    return lambda part: log(part, element(**values))


def lines(*pairs):
    return lambda part: log(part, line(*pairs))


def table(word, number=BAD, **changes):
    """amd-smi: values of one GPU's entry, merged; a dict in a list of words: {"metric": ...}."""

    def changed(text):
        document = json.loads(text)
        for name, value in changes.items():
            old = document[number].get(name)
            document[number][name] = dict(old, **value) if isinstance(value, dict) and isinstance(old, dict) else value
        return json.dumps(document)

    return lambda part: tell(part, "%s --json" % word, changed, "amd-smi")


def xgmi(change):
    def changed(text):
        document = json.loads(text)
        change(document)
        return json.dumps(document)

    return lambda part: tell(part, "xgmi --json", changed, "amd-smi")


def of_json(maker, **changes):
    """hy-smi and mthreads-gmi: values of the second card; a__b: b within a."""

    def changed(text):
        document = json.loads(text)
        card = document["card%d" % BAD] if maker == "hygon" else document["GPU"][BAD]
        for path, value in changes.items():
            *groups, name = path.replace("_", " ").split("  ") if maker == "mthreads" else [path]
            inner = card
            for group in groups:
                inner = inner[group]
            inner[name] = value
        return json.dumps(document)

    return lambda part: tell(part, LOGS[maker], changed)


def row(words, old, new, nth=BAD):
    """The nth line that has this text."""

    def changed(text):
        places = [match.start() for match in re.finditer(re.escape(old), text)]
        return text[: places[nth]] + new + text[places[nth] + len(old) :]

    return lambda part: tell(part, words, changed)


def several(*changes):
    def changed(part):
        for change in changes:
            change(part)

    return changed


def ecc(**counters):
    values = {"HBM %s" % name.replace("_", " "): value for name, value in counters.items()}

    def changed(part):
        waiting = values.pop("HBM waiting", 0)
        tell(part, "info -t ecc -i %d" % BAD, lambda text: ascend_samples.ecc([(0, values)], npu=BAD, kinds=("HBM",), waiting=waiting))

    return changed


def links_down(part):
    tell(part, "nvlink -s", lambda text: _nth_link(text, BAD, 5, "<inactive>"))


def link_slow(part):
    tell(part, "nvlink -s", lambda text: _nth_link(text, BAD, 5, "13.281 GB/s"))


def _nth_link(text, card, number, said):
    cards = re.split(r"(?m)(?=^GPU \d)", text)
    cards[card + 1] = re.sub(r"Link %d: .*" % number, "Link %d: %s" % (number, said), cards[card + 1])
    return "".join(cards)


def link_errors(part):
    tell(part, "nvlink -e", lambda text: nvidia_samples.nvlink_errors(8, counted={(BAD, 3, "CRC"): 120}))


def fewer_links(part):
    def changed(text):
        cards = re.split(r"(?m)(?=^GPU \d)", text)
        cards[BAD + 1] = re.sub(r"\t Link 17: .*\n", "", cards[BAD + 1])
        return "".join(cards)

    tell(part, "nvlink -s", changed)


def lose(part):
    """The tool lists all but the last card, which the bus still shows."""
    maker, product = part.manufacturer, PRODUCTS[part.manufacturer]
    fewer = getattr(product_nodes, maker)(product, len(part.addresses) - 1)
    part.commands = fewer.commands
    part.natives = fewer.natives


def narrow(lanes=8, speed=None):
    """The link of the second card on the bus: with fewer lanes, or without its highest speed."""

    def changed(recorded, part):
        address = part.addresses[BAD]
        port = "0000:%s:01.0" % address[5:7]
        real = "/sys/devices/pci%s/%s" % (address[:7], port)
        gts = float(part.speed.split()[0])
        slow = "%s GT/s PCIe" % speed if speed else part.speed
        files = recorded["files"]
        for place in (real, "%s/%s" % (real, address)):
            files[place + "/current_link_width"] = "%d\n" % lanes
            files[place + "/current_link_speed"] = slow + "\n"
        if speed:
            files["%s/max_link_speed" % real] = slow + "\n"
        now, most = (lanes, speed or gts), (16, speed or gts)
        number, config = BAD + part.shift, config_space.space
        path = ["pci%s" % address[:7], port]
        config_space.add(files, path, config("root_port", acs=["SrcValid"], now=now, most=most), number % 2, iommu=(2 * number + 1, "identity"))
        config_space.add(files, [*path, address], config(now=now, most=(16, gts)), number % 2, iommu=(2 * number + 2, "identity"), resource=part.aperture)

    return changed


def gaudi(**cells):
    """Of the second card in the table and in the answer to the query."""

    def changed(part):
        if "query" in cells:
            field, value = cells["query"]
            place = further_samples.HL_QUERY.split()[1].split(",").index(field)

            def csv(text):
                made = text.splitlines()
                values = made[BAD + 1].split(", ")
                values[place] = value
                made[BAD + 1] = ", ".join(values)
                return "\n".join(made) + "\n"

            tell(part, further_samples.HL_QUERY, csv)
        if "table" in cells:
            row("", *cells["table"])(part)

    return changed


def metax(**values):
    """Of the second card in the document of mx-smi -j."""

    def changed(text):
        head, brace, body = text.partition("{")
        document = json.loads(brace + body)
        document[metax_samples.ADDRESSES[BAD]].update(values)
        return head + json.dumps(document, indent=4) + "\n"

    return lambda part: tell(part, "-j", changed)


def icn(part):
    """Two ports of the second PPU are off, of the others none."""

    def changed(text):
        cards = re.split(r"(?m)(?=^PPU \d)", text)
        cards[BAD + 1] = re.sub(r"Link ([25]): .*", r"Link \1: <inactive>", cards[BAD + 1])
        return "".join(cards)

    tell(part, "icn -s", changed)


def answer(words, text):
    """The tool answers these words so, whether it was asked before or not."""

    def changed(part):
        program = part.commands[0]["argv"][0]
        part.commands = [entry for entry in part.commands if entry["argv"][1:] != words.split()]
        part.run(program, *words.split(), stdout=text)

    return changed


def process(part):
    """A process that computes on the second card."""
    inner = "<process_info><pid>4242</pid><type>C</type><process_name>python3</process_name><used_memory>100 MiB</used_memory></process_info>"
    log(part, lambda text: re.sub(r"(?s)<processes>.*?</processes>", "<processes>%s</processes>" % inner, text))


def npu_process(part):
    tell(
        part,
        "info",
        lambda text: re.sub(
            r"(?m)^\| No running processes found in NPU 1 .*$",
            "| 1       0                 | 4242          | python3                  | 2048                     |",
            text,
        ),
    )


def firmware(part):
    def changed(text):
        document = json.loads(text)
        document[BAD]["fw_list"][0]["fw_version"] = "180"
        return json.dumps(document)

    tell(part, "firmware --json", changed, "amd-smi")


def inforom(part):
    tell(part, "-q -x", lambda text: text + "WARNING: infoROM is corrupted at gpu %s\n" % part.addresses[BAD])


def lost(part):
    """nvidia-smi names the card that it cannot reach, and leaves it out of its document."""
    tell(part, "-q -x", of_card(lambda text: re.sub(r">[^<>\n]+</(?!product|uuid|pci_bus|minor)", ">GPU is lost</", text), "nvidia"))


def native(name, place, value):
    """What the manufacturer's library says of the card."""

    def change(made):
        made.natives[name]["answer"]["cards"][made.addresses[BAD]][place] = value

    return change
