#!/usr/bin/env bash
# Runs the benchmarks with small counts, beside each other, and fails when a figure that the bench enforces is too high.
# Times mean nothing in it: they are printed, and never enforced.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p dist
go build -o dist/bench ./test/bench
CGO_ENABLED=0 go build -trimpath -buildvcs=false -o dist/bench-manager ./cmd
go run ./hack/cluster build --only simulated # once, not by each of them

declare -A benchmarks counts=([acmenamespace]="--count 100 --warm-up 20 --rounds 1" [configwatcher]="--count 60" [crontab]="--schedules 60")
trap 'kill $(jobs -pr) 2>/dev/null || true; wait' EXIT
for name in "${!counts[@]}"; do
  # shellcheck disable=SC2086 # the counts are several words
  dist/bench --only "$name" --name "bench-$name" --operator dist/bench-manager --out "dist/bench-$name.json" \
    --secrets 1500 ${counts[$name]} >"dist/bench-$name.log" 2>&1 &
  benchmarks[$name]=$!
done

failed=0
for name in "${!benchmarks[@]}"; do
  result=passed
  wait "${benchmarks[$name]}" || result=FAILED
  cat "dist/bench-$name.log"
  printf 'bench of %s: %s\n\n' "$name" $result
  [ $result = passed ] || failed=1
done
exit $failed
