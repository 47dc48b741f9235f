#!/usr/bin/env bash
# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The lab nodes that run now; none before create.
exec python3 "$(dirname "$0")/../../../tests/lab/nodelab.py" inventory --script
