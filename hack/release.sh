#!/usr/bin/env bash
# Writes a new version where it stands: in the catalog's template, the Makefile, the changelog and the base of the bundle.
# Nothing is written when a check fails: hack/catalog checks the version, this the changelog.
# release.sh VERSION BUNDLE-IMAGE [ROOT]
set -euo pipefail
version=$1 image=$2 day=$(date -u +%F)
root=$(realpath "${3:-.}")

if ! sed -n '/^## Unreleased$/,/^## [0-9]/p' "$root/CHANGELOG.md" | grep -q '^- '; then
  echo "CHANGELOG.md lists nothing as unreleased: say there what $version changes for those who use it" >&2
  exit 1
fi
go run ./hack/catalog add --template "$root/catalog/template.yaml" --version "$version" --image "$image"

sed -i "s|^VERSION ?= [^# ]*|VERSION ?= $version|" "$root/Makefile"
sed -i "s|^\( *createdAt: \).*|\1\"${day}T00:00:00Z\"|" \
  "$root/config/manifests/bases/acme-platform-operator.clusterserviceversion.yaml"
case $version in
  *-*) ;; # What a candidate has stays unreleased: it is what the release will list.
  *) sed -i "s|^## Unreleased$|&\n\n## $version - $day|" "$root/CHANGELOG.md" ;;
esac
