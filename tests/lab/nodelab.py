# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lab nodes: throw-away nodes on one Linux machine, reached by real ssh, made of namespaces and overlays alone.

A node has its own host name, processes, network, root file system, /proc and /sys. A profile directory lays
rootfs/, sys/ and proc/ over it. ssh goes through a ProxyCommand that starts `sshd -i` inside the node, so no port
and no address is used. Needs root, util-linux, iproute2 and openssh-server.

    nodelab.py --state DIR up 3 [--profile DIR] [--prefix node]     nodelab.py --state DIR down
    nodelab.py --state DIR inventory [--group G] [--python P]       nodelab.py --state DIR exec NODE COMMAND…
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SSHD_CONFIG = """\
HostKey /etc/ssh/lab_host_key
PidFile none
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
MaxStartups 200
MaxSessions 200
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
"""


def why_not() -> str:
    """Why lab nodes cannot be had here; empty when they can."""
    if os.geteuid() != 0:
        return "lab nodes need root"
    missing = [name for name in ("/usr/sbin/sshd", "unshare", "nsenter", "ip", "ssh-keygen", "ssh", "/usr/bin/python3") if not shutil.which(name)]
    if missing:
        return "lab nodes need " + ", ".join(missing)
    probe = subprocess.run(["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
    return "" if probe.returncode == 0 else "lab nodes need namespaces: " + probe.stderr.strip()


class Lab:
    def __init__(self, state: Path) -> None:
        self.state = Path(state)

    def pid(self, node: str) -> int | None:
        try:
            pid = int((self.state / node / "pid").read_text())
            os.kill(pid, 0)
        except (OSError, ValueError):
            return None
        return pid

    def nodes(self) -> list[str]:
        return sorted(path.parent.name for path in self.state.glob("*/pid")) if self.state.is_dir() else []

    def up(self, names: list[str], profile: Path | None = None, base: str = "/", profiles: dict[str, Path] | None = None) -> None:
        """Start nodes. profiles: a profile of its own for some nodes."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.state.chmod(0o700)
        for key in ("id", "host_key"):
            if not (self.state / key).exists():
                subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(self.state / key)], check=True)
        (self.state / "sshd_config").write_text(SSHD_CONFIG)
        started = []
        for name in names:
            if self.pid(name):
                continue
            folder = self.state / name
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "layers").mkdir(parents=True)
            own = (profiles or {}).get(name, profile)
            with (folder / "log").open("w") as log:
                child = subprocess.Popen(
                    ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child",
                     str(HERE.parent / "node_init.sh"), str(folder), base, name, str(own.resolve()) if own else ""],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
            started.append((name, child))
        for name, child in started:
            deadline = time.monotonic() + 30
            while not self.pid(name):
                if child.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"lab node {name} did not start: {(self.state / name / 'log').read_text()}")
                time.sleep(0.02)

    def down(self) -> None:
        for name in self.nodes():
            with contextlib.suppress(OSError, TypeError):
                os.kill(self.pid(name), signal.SIGKILL)  # PID 1 of its namespace: the rest goes with it
        deadline = time.monotonic() + 15
        while any(self.pid(name) for name in self.nodes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        shutil.rmtree(self.state, ignore_errors=True)

    def enter(self, node: str) -> list[str]:
        pid = self.pid(node)
        if not pid:
            raise RuntimeError(f"no such lab node: {node}")
        return ["nsenter", "-t", str(pid), "-m", "-u", "-i", "-n", "-p", "-r", "-w"]

    def execute(self, node: str, *argv: str, check: bool = False) -> subprocess.CompletedProcess:
        return subprocess.run([*self.enter(node), *argv], env={"PATH": SAFE_PATH}, text=True, capture_output=True, check=check)

    def variables(self, python: str = "/usr/bin/python3") -> dict:
        """Inventory variables that reach every node of the lab."""
        proxy = f"{sys.executable} {HERE} --state {self.state} proxy %n"
        return {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.state / "id"),
            "ansible_ssh_common_args": f"-o ProxyCommand='{proxy}' -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            "ansible_python_interpreter": python,
        }

    def inventory(self, group: str = "accelerator_nodes", python: str = "/usr/bin/python3", script: bool = False) -> dict:
        """The inventory document: of a file, or what an inventory script prints."""
        if script:
            return {"_meta": {"hostvars": {}}, group: {"hosts": self.nodes(), "vars": self.variables(python)}}
        return {group: {"hosts": {name: {} for name in self.nodes()}, "vars": self.variables(python)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--state", type=Path, default=Path(os.environ.get("NODELAB_STATE", "/run/fleetproof-nodelab")))
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up")
    up.add_argument("count", type=int)
    up.add_argument("--profile", type=Path)
    up.add_argument("--prefix", default="node")
    commands.add_parser("down")
    inventory = commands.add_parser("inventory")
    inventory.add_argument("--group", default="accelerator_nodes")
    inventory.add_argument("--python", default="/usr/bin/python3")
    inventory.add_argument("--script", action="store_true")
    proxy = commands.add_parser("proxy")
    proxy.add_argument("node")
    execute = commands.add_parser("exec")
    execute.add_argument("node")
    execute.add_argument("argv", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    lab = Lab(options.state)
    if options.command == "up":
        lab.up([f"{options.prefix}{n:03d}" for n in range(1, options.count + 1)], options.profile)
    elif options.command == "down":
        lab.down()
    elif options.command == "inventory":
        print(json.dumps(lab.inventory(options.group, options.python, options.script), indent=1))
    else:
        command = ["/usr/sbin/sshd", "-i", "-f", "/etc/ssh/lab_sshd_config"] if options.command == "proxy" else options.argv
        os.execvpe("nsenter", [*lab.enter(options.node), *command], {"PATH": SAFE_PATH})


if __name__ == "__main__":
    main()
