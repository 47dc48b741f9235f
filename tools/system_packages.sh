#!/usr/bin/env bash
# Installs what the lab nodes and sanity tests need, where the user is root on Debian or Ubuntu. Quiet when nothing is missing.
set -eu
packages=()
need() { command -v "$1" >/dev/null 2>&1 || packages+=("$2"); }
need /usr/sbin/sshd openssh-server
need ip iproute2
need unshare util-linux
need gcc gcc
need shellcheck shellcheck
need chromium chromium
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || packages+=(postgresql)
need dockerd docker.io
need podman podman
need ctr containerd
need runc runc
[ ${#packages[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "not installed: ${packages[*]}; tests that need them are skipped" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# A package must not start a service on this machine.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq >/dev/null
apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
