#!/usr/bin/env bash
# Passes on what go test prints of TOTAL packages, and says with each how many are left: go test ... | progress.sh TOTAL
left=$1
while IFS= read -r line; do
  case $line in
    "ok  "$'\t'* | FAIL$'\t'* | "?   "$'\t'*) printf '%s (%d left)\n' "$line" $((--left)) ;;
    *) printf '%s\n' "$line" ;;
  esac
done
