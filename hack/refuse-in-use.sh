#!/usr/bin/env bash
# Fails while objects of the operator's kinds exist. Removing the CRDs deletes them all, and with them
# the namespaces of tenants that do not keep theirs. FORCE=yes says that this is wanted.
set -euo pipefail

if [ "${FORCE:-}" = yes ]; then
  exit 0
fi
kubectl=${KUBECTL:-kubectl}
crds=$("$kubectl" get customresourcedefinitions -o name | sed -n 's|^.*/\(.*\.acme\.com\)$|\1|p')
for crd in $crds; do
  objects=$("$kubectl" get "$crd" --all-namespaces -o name)
  if [ -n "$objects" ]; then
    {
      echo "There are still objects of $crd:"
      head -n 5 <<<"$objects" | sed 's/^/  /'
      echo "Delete them while the operator runs, or give FORCE=yes to delete them all."
    } >&2
    exit 1
  fi
done
