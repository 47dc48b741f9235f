#!/usr/bin/env bash
# Prints the newest Python that can be a controller (3.11 to 3.15, with venv and pip); nothing when there is none.
for name in python3.15 python3.14 python3.13 python3.12 python3.11 python3; do
  "$name" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 15))' >/dev/null 2>&1 || continue
  "$name" -c 'import sys; print(sys.executable)'
  exit 0
done
