#!/usr/bin/env bash
# Runs shards of what the gate leaves out: check-all.sh SHARD... (docs/develop/checks.md says what each shows, and how long it takes).
# Each ends with a closing line of its own, "SHARD: N passed, N failed", and the script fails if any stage of any shard did.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 1 ]; then
  result=0
  for shard in "$@"; do "$0" "$shard" || result=1; done
  exit $result
fi

source hack/stages.sh

# A spec that failed and then passed twice in a week is a fault that nobody has looked for.
no_repeated_flakes() {
  local file=${PLATFORM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/platform-operator}/flakes repeated
  [ -e "$file" ] || return 0
  repeated=$(awk -v since="$(date -u --date='7 days ago' +%F)" '$1 >= since { $1 = ""; $NF = ""; print }' "$file" | sort | uniq -d)
  [ -z "$repeated" ] || { printf 'these failed and then passed more than once in a week; run make soak on their packages:\n%s\n' "$repeated"; return 1; }
}

needs_containers() {
  runs_containers || { echo "$1 runs containers, which this machine or user does not let it" >&2; return 1; }
}

case ${1:-} in
  all-guarantees)
    SEED=${SEED:-$(date -u +%Y%m%d)}
    export SEED
    stage "guarantees with the seed $SEED" make test-guarantees LABELS='!Timed'
    stage "guarantees that measure, alone" make test-guarantees LABELS=Timed PROCS=1
    ;;
  all-cluster)
    stage "containers" needs_containers "$1"
    stage "real node" make test-real-node
    stage "end to end" make e2e
    ;;
  all-bench)
    stage "bench" make bench-check
    stage "demo, twice" demo 2
    stage "tests that are slow, timed or random" make test-slow
    ;;
  all-release)
    stage "bundle" make bundle-check
    stage "catalog" make catalog-validate
    stage "bundle and scorecard" make test-modules
    stage "site" make site
    stage "plugin for all platforms" make plugin
    stage "images for both architectures" make image bundle-image catalog-image
    stage "generated files" make verify
    ;;
  all-deep)
    stage "mutations" make mutate
    stage "tests under the race detector" make test-race
    stage "agent under kills" make test-agent-kills
    stage "soak of the engine" make soak PKG=./internal/engine N=6
    ;;
  all-cold)
    stage "the gate on a machine with Go, git and make alone" hack/cold.sh
    ;;
  *)
    echo "check-all.sh SHARD...: all-guarantees, all-cluster, all-bench, all-release, all-deep or all-cold; not ${1:-nothing}" >&2
    exit 2
    ;;
esac
stage "flakes" no_repeated_flakes
close_stages "$1"
