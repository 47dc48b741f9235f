# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-test finds in its cache instead of downloading get-pip: the pip that Python brings installs what is asked for.

Without it, ansible-test needs a host that closed networks do not reach.
"""

import ensurepip
import os
import subprocess
import sys

AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
if os.path.exists(AUTHORITIES):
    # Old pips trust their own list alone, and ansible-test drops PIP_CERT.
    with open(os.path.join(sys.prefix, "pip.conf"), "w") as config:
        config.write("[global]\ncert = " + AUTHORITIES + "\n")
environment = {name: value for name, value in os.environ.items() if name != "GET_PIP"}
ensurepip.bootstrap()
packages = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *packages], env=environment))
