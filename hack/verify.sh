#!/usr/bin/env bash
# Regenerates everything and fails when the tree then differs from the last commit, new files included.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/packages.sh git

# The folder may belong to somebody else, as it does in many containers.
git() { command git -c safe.directory="$PWD" "$@"; }

# One line a file that differs from the last commit: the hash of its content, and its path.
differing() {
  git status --porcelain --untracked-files=all --no-renames -z | while IFS= read -r -d '' entry; do
    path=${entry:3}
    if [ -f "$path" ]; then echo "$(git hash-object "$path") $path"; else echo "deleted $path"; fi
  done | sort
}

show() { # title, lines
  if [ -n "$2" ]; then
    printf '\n%s\n' "$1"
    sed 's/^[^ ]* /  /' <<<"$2"
  fi
}

before=$(differing)
make --no-print-directory generate manifests docs dashboards
after=$(differing)

failed=0
for module in . hack/certmanager hack/cluster/node hack/dashboards hack/image hack/site test/alerts test/bundle; do
  if ! (cd "$module" && go mod tidy -diff); then
    echo "$module/go.mod is not tidy: run go mod tidy there" >&2
    failed=1
  fi
done
if [ -n "$after" ]; then
  failed=1
  {
    show "These files were not up to date; they are now, so commit them:" "$(comm -13 <(echo "$before") <(echo "$after"))"
    show "These files were changed before and are not committed:" "$(comm -12 <(echo "$before") <(echo "$after"))"
  } >&2
fi
if [ $failed -ne 0 ]; then
  printf '\nverify failed\n' >&2
  exit 1
fi
echo "verify passed: all that is generated is up to date and committed"
