# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a probe container runs: a POSIX shell, and of other programs as few as can be."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.probe_parameters import LISTING, SLICES

MAPS, MAPPED, NODES, LISTED, ENDED = ("fleetproof-%s" % word for word in ("maps-begin", "maps-end", "nodes-begin", "nodes-end", "listing-end"))
MET, READER_EXIT, CLIENT_EXIT = "fleetproof-co-tenants-met", "probe-reader-exit-", "fleetproof-client-exit-"
MARKS = (MAPS, MAPPED, NODES, LISTED, ENDED, MET)
BARRIER = "/fleetproof-barrier"
_TENTHS = 300  # that a tenant waits for the other

# The record of a slice is one file, named by the card and the pipe; it outlives its process by about a second, so it is looked for once more after that.
_RECORD = r"""
of() { awk -F '[:=]' -v k="$1" '{ sub(/^[ \t]+/, "") } index($0, k) == 1 { sub(/^[^:=]*[:=][ \t]*/, ""); print; exit }' /etc/vdev/docker/vdev0.conf; }
address=$(of PciBusId); pipe=$(of pipe_id); place=${address##*:}; rest=${address%:*}
location=$(( 0x${rest##*:} << 8 | 0x${place%%.*} << 3 | 0x${place##*.} )); own='*'
for node in /sys/class/kfd/kfd/topology/nodes/*; do
  awk -v l="$location" '$1 == "location_id" && $2 == l { hit = 1 } END { exit !hit }' "$node/properties" 2>/dev/null || continue
  card=; read -r card < "$node/gpu_id"
  if [ "${card:-0}" -gt 0 ]; then own=$(printf '0x%x@%s' "$card" "$pipe"); break; fi
done
known=" $(cat /sys/devices/virtual/kfd/kfd/vgpu/*/entry 2>/dev/null | awk -F : '/^Indentifier:/ { gsub(/[ \t]/, "", $2); printf "%s ", $2 }')"
claims=BARRIER; [ -d "$claims" ] || claims=$(mktemp -d) || claims=/tmp
said=$(mktemp) || said=/dev/null
LD_LIBRARY_PATH=/opt/hygondriver/hip/lib:/opt/hygondriver/lib:/opt/hyhal/lib /opt/hygondriver/bin/BandwidthTest > "$said" 2>&1 &
client=$!; found=; last=; tries=0
while [ -z "$found" ] && [ "$tries" -le 100 ]; do
  for record in /sys/devices/virtual/kfd/kfd/vgpu/$own/entry; do
    id=$(awk -F : '/^Indentifier:/ { gsub(/[ \t]/, "", $2); print $2; exit }' "$record" 2>/dev/null)
    case "$id/$known" in /*) continue ;; *" $id "*) continue ;; esac
    if mkdir "$claims/claimed-$id" 2>/dev/null; then found=$record; break; fi
  done
  [ -n "$found$last" ] && break
  if kill -0 "$client" 2>/dev/null; then sleep 0.1; tries=$((tries + 1)); else last=1; fi
done
if [ -n "$found" ]; then
  awk -F : '{ print } /^Vram limit/ { printf "Vram limit MiB: %d\n", $2 / 1048576 }' "$found"
elif ! kill -0 "$client" 2>/dev/null; then
  wait "$client"; echo CLIENT_EXIT$?; tail -n 3 "$said"
fi
kill "$client" 2>/dev/null; true
""".replace("BARRIER", BARRIER).replace("CLIENT_EXIT", CLIENT_EXIT)

# Builtins alone, so that it runs wherever there is a shell.
_DEVICES = 'for node in /dev/* /dev/*/*; do if [ -c "$node" ] || [ -b "$node" ]; then echo "$node"; fi; done'


def _meeting(tenant):
    mine, other = "%s/tenant-%d" % (BARRIER, tenant), "%s/tenant-%d" % (BARRIER, 3 - tenant)
    wait = ': > %s; n=0; while [ ! -e %s ] && [ "$n" -lt %d ]; do sleep 0.1; n=$((n + 1)); done' % (mine, other, _TENTHS)
    return "%s; if [ -e %s ]; then echo %s; fi; " % (wait, other, MET)


def of_slice(manufacturer, tenant=0):
    """Shows what is mapped, then what the reader sees. tenant 1 and 2 wait for each other first."""
    parameters = SLICES[manufacturer]
    meeting = _meeting(tenant) if tenant else ""
    start = "%secho %s; cat /proc/self/maps; echo %s" % (meeting, MAPS, MAPPED)
    if not parameters.reader:
        return "{ %s%s} 2>&1" % (start, _RECORD)
    # Unset, or the library's own banner would put the cap where the reader's words are looked for.
    unset = "unset %s; " % " ".join(sorted(parameters.log)) if parameters.log else ""
    return "{ %s; %s%s || echo %s$?; } 2>&1" % (start, unset, parameters.reader, READER_EXIT)


def of_device(manufacturer):
    """Shows the device nodes of the container, its environment and, where one names devices, what the vendor's tool lists."""
    listing = LISTING.get(manufacturer)
    tool = "%s || echo %s$?; " % (listing, READER_EXIT) if listing else ""
    return "{ echo %s; %s; export -p; echo %s; %secho %s; } 2>&1" % (NODES, _DEVICES, LISTED, tool, ENDED)
