# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one action plugin of every reading module; meta/runtime.yml binds the others to it."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.collect import CollectAction


class ActionModule(CollectAction):
    pass
