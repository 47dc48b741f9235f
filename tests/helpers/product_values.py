# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools print of a healthy part of each product of the catalogue, in values of our own."""

from __future__ import annotations

# name as the tool prints it, PCI device id, MiB, watts, (core, memory) clocks, PCIe generation, links of it, what one prints, NVSwitches on PCI
NVIDIA = {
    "A100 SXM 40 GB": ("NVIDIA A100-SXM4-40GB", "20b0", 40536, 400, (1410, 1215), 4, 12, "25 GB/s", 6),
    "A100 SXM 80 GB": ("NVIDIA A100-SXM4-80GB", "20b2", 81920, 400, (1410, 1593), 4, 12, "25 GB/s", 6),
    "A100 PCIe 40 GB": ("NVIDIA A100-PCIE-40GB", "20f1", 40960, 250, (1410, 1215), 4, 12, None, 0),
    "A100 PCIe 80 GB": ("NVIDIA A100 80GB PCIe", "20b5", 81920, 300, (1410, 1512), 4, 12, None, 0),
    "A800 SXM 80 GB": ("NVIDIA A800-SXM4-80GB", "20f3", 81920, 400, (1410, 1593), 4, 8, "25 GB/s", 6),
    "A800 PCIe 80 GB": ("NVIDIA A800 80GB PCIe", "20f5", 81920, 300, (1410, 1512), 4, 8, None, 0),
    "H100 SXM 80 GB": ("NVIDIA H100 80GB HBM3", "2330", 81559, 700, (1980, 2619), 5, 18, "26.562 GB/s", 4),
    "H100 PCIe": ("NVIDIA H100 PCIe", "2331", 81559, 350, (1755, 1593), 5, 18, None, 0),
    "H100 NVL": ("NVIDIA H100 NVL", "2321", 95830, 400, (1785, 2619), 5, 18, None, 0),
    "H800 SXM": ("NVIDIA H800", "2324", 81559, 700, (1980, 2619), 5, 8, "26.562 GB/s", 4),
    "H800 PCIe": ("NVIDIA H800 PCIe", "2322", 81559, 350, (1755, 1593), 5, 8, None, 0),
    "H200 NVL": ("NVIDIA H200 NVL", "233b", 143771, 600, (1785, 3201), 5, 18, None, 0),
    "GH200 96 GB": ("NVIDIA GH200 480GB", "2342", 97871, 900, (1980, 2619), 5, 0, None, 0),
    "GH200 144 GB": ("NVIDIA GH200 144G HBM3e", "2348", 146831, 900, (1980, 3201), 5, 0, None, 0),
    "H200 SXM": ("NVIDIA H200", "2335", 143771, 700, (1980, 3201), 5, 18, "26.562 GB/s", 4),
    "H20 96 GB": ("NVIDIA H20", "2329", 97871, 500, (1980, 2619), 5, 18, "26.562 GB/s", 4),
    "H20 141 GB": ("NVIDIA H20-3e", "232c", 143771, 500, (1980, 3201), 5, 18, "26.562 GB/s", 4),
    "B200": ("NVIDIA B200", "2901", 183359, 1000, (1965, 3996), 5, 18, "50 GB/s", 0),
    "B300": ("NVIDIA B300 SXM6 AC", "3182", 275040, 1100, (2032, 3996), 6, 18, "53.125 GB/s", 0),
    "GB200": ("NVIDIA GB200", "2941", 189471, 1200, (2062, 3996), 5, 18, "50 GB/s", 0),
    "GB300": ("NVIDIA GB300", "31c2", 284208, 1400, (2070, 3996), 6, 18, "50 GB/s", 0),
    "L40S": ("NVIDIA L40S", "26b9", 46068, 350, (2520, 9001), 4, 0, None, 0),
    "L40": ("NVIDIA L40", "26b5", 46068, 300, (2490, 9001), 4, 0, None, 0),
    "L4": ("NVIDIA L4", "27b8", 23034, 72, (2040, 6251), 4, 0, None, 0),
    "A10G": ("NVIDIA A10G", "2237", 23028, 300, (1710, 6251), 4, 0, None, 0),
    "A10": ("NVIDIA A10", "2236", 23028, 150, (1695, 6251), 4, 0, None, 0),
    "T4": ("Tesla T4", "1eb8", 15360, 70, (1590, 5001), 3, 0, None, 0),
    "RTX PRO 6000 Blackwell Server Edition": ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "2bb5", 97887, 600, (2430, 12481), 5, 0, None, 0),
    "GeForce RTX 4090": ("NVIDIA GeForce RTX 4090", "2684", 24564, 450, (3105, 10501), 4, 0, None, 0),
}
RACKS, SUPERCHIPS = ("GB200", "GB300"), ("GH200 96 GB", "GH200 144 GB")
FABRICS = ("H100 SXM 80 GB", "H800 SXM", "H200 SXM", "H20 96 GB", "H20 141 GB", "B200", "B300", *RACKS)
RETIRING = ("T4",)  # retires pages; others have spare rows
BARE = ("GeForce RTX 4090",)  # without error correction and what goes with it
BANKS = {"A100 SXM 80 GB": 640, "H200 SXM": 3072, "B200": 3840, "GB300": 5952, "L40S": 192, "A10G": 192}  # with spare rows
COUNTS = {**dict.fromkeys(RACKS, 4), **dict.fromkeys(SUPERCHIPS, 1), "L4": 4, "A10G": 4, "T4": 4, "MI300A": 4, "MI210": 4, "MI250X": 8}
# market name, PCI device id, MiB, watts, peers, GB/s of a link, PCIe generation, graphics version
AMD = {
    "MI210": ("AMD Instinct MI210", "740f", 65504, 300, 0, None, 4, "gfx90a"),
    "MI250X": ("AMD Instinct MI250X", "7408", 65520, 560, 7, 50, 4, "gfx90a"),
    "MI300A": ("AMD Instinct MI300A", "74a0", 131072, 550, 3, 64, 5, "gfx942"),
    "MI300X": ("AMD Instinct MI300X", "74a1", 196592, 750, 7, 64, 5, "gfx942"),
    "MI308X": ("AMD Instinct MI308X", "74a2", 196592, 650, 7, 64, 5, "gfx942"),
    "MI325X": ("AMD Instinct MI325X", "74a5", 262128, 1000, 7, 64, 5, "gfx942"),
    "MI350X": ("AMD Instinct MI350X", "75a0", 294896, 1000, 7, 76.8, 5, "gfx950"),
    "MI355X": ("AMD Instinct MI355X", "75a3", 294896, 1400, 7, 76.8, 5, "gfx950"),
}
# name in the table, MiB, whether it is HBM, chips of a module
ASCEND = {
    "Ascend 910B1": ("910B1", 65536, True),
    "Ascend 910B2": ("910B2", 65536, True),
    "Ascend 910B3": ("910B3", 65536, True),
    "Ascend 910B4": ("910B4", 32768, True),
    "Ascend 910B4-1": ("910B4-1", 65536, True),
    "Ascend 310P3": ("310P3", 21527, False),
}
# name, MiB, watts
CAMBRICON = {"MLU370-X8": ("MLU370-X8", 20638, 250), "MLU370-X4": ("MLU370-X4", 23308, 150), "MLU590-M9": ("MLU590-M9", 98304, 550)}
HYGON = {"K100_AI": ("K100_AI", 65520, 400)}
ILUVATAR = {
    "BI-V100": ("Iluvatar BI-V100", 32768, 250),
    "BI-V150S": ("Iluvatar BI-V150S", 32768, 250),
    "MR-V100": ("Iluvatar MR-V100", 32768, 150),
}
METAX = {"MetaX C500": ("MetaX C500", 65536, 350), "Mars X201": ("Mars X201", 65536, 350)}
MTHREADS = {"MTT S80": ("MTT S80", 16384, 255), "MTT S4000": ("MTT S4000", 49152, 450), "MTT S5000": ("MTT S5000", 81920, 1000)}
THEAD = {"PPU-ZW810E": ("PPU-ZW810E", 98304, 400)}
GAUDI = {"Gaudi": ("HL-205", 32768, 350, "1000"), "Gaudi 2": ("HL-225", 98304, 600, "1020"), "Gaudi 3": ("HL-325L", 131072, 900, "1060")}
KUNLUNXIN = {"Kunlun P800 OAM": ("P800 OAM", 98304, 400, 5), "Kunlun P800 PCIe": ("P800 PCIe", 98304, 350, 5)}
ENFLAME = {"Enflame S60": ("S60", 42976, 300)}
# name, PCI device id, MiB, watts, MHz, PCIe generation, lanes, tiles, whether memory is corrected
INTEL = {
    "Data Center GPU Max 1550": ("Intel(R) Data Center GPU Max 1550", "0bd5", 131072, 600, 1600, 5, 16, 2, "enabled"),
    "Data Center GPU Max 1100": ("Intel(R) Data Center GPU Max 1100", "0bda", 49152, 300, 1550, 5, 16, 1, "enabled"),
    "Data Center GPU Flex 170": ("Intel(R) Graphics [0x56c0]", "56c0", 14260, 150, 2050, 4, 16, 1, "enabled"),
    "Arc B580": ("Intel(R) Arc(TM) B580 Graphics", "e20b", 12216, 190, 2850, 4, 8, 1, "disabled"),
}
TPU = {"TPU v6e": ("v6e", "006f", 31.25)}
# Whose reference design has an adapter for every card.
ADAPTERS = ("A100 SXM 40 GB", "A100 SXM 80 GB", "A800 SXM 80 GB", "H100 SXM 80 GB", "H800 SXM", "H200 SXM", "B200", "B300", "GB200", "GB300")
ADAPTERS += ("MI300X", "MI325X", "MI350X", "MI355X")
