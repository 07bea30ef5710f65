#!/usr/bin/env bash
# Runs `build` of the first container engine that answers, with the arguments given.
set -euo pipefail

for engine in docker podman; do
  if command -v "$engine" >/dev/null && "$engine" info >/dev/null 2>&1; then
    exec "$engine" build "$@"
  fi
done
echo "No container engine answers: start docker or podman. \`make image\` builds the image without one." >&2
exit 1
