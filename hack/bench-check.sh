#!/usr/bin/env bash
# Runs the benchmarks with small counts, beside each other, and fails when a figure that the bench enforces is too high.
# Times mean nothing in it: they are printed, and never enforced.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p dist
go build -o dist/bench ./test/bench
CGO_ENABLED=0 go build -buildvcs=false -o dist/bench-manager ./cmd
go run ./hack/cluster build --only simulated # once, not by each of them

declare -A benchmarks
trap 'kill $(jobs -pr) 2>/dev/null || true; wait' EXIT
while read -r name flags; do
  # shellcheck disable=SC2086 # the flags are several words
  dist/bench --only "$name" --name "bench-$name" --operator dist/bench-manager --out "dist/bench-$name.json" \
    --secrets 1500 $flags >"dist/bench-$name.log" 2>&1 &
  benchmarks[$name]=$!
done < <(dist/bench --list)

failed=0
for name in "${!benchmarks[@]}"; do
  result=passed
  wait "${benchmarks[$name]}" || result=FAILED
  cat "dist/bench-$name.log"
  printf 'bench of %s: %s\n\n' "$name" $result
  [ $result = passed ] || failed=1
done
exit $failed
