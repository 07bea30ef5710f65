#!/usr/bin/env bash
# Runs a command on a machine that has nothing yet: cold.sh [--share-caches] [COMMAND...]
#
# The command, by default .ci/run, runs in a clone of the last commit, on a minimal Debian with Go, git, make and certificates
# alone, made in a temporary folder. What it needs beside these it has to install itself, or to name. --share-caches gives it
# Go's caches of this machine: enough to look for programs that are missing, in a fraction of the time. Needs root.
#
# All of it happens in namespaces of its own, so that nothing is mounted on this machine, and no process outlives the script.
set -euo pipefail
cd "$(dirname "$0")/.."

caches=()
if [ "${1:-}" = --share-caches ]; then
  mapfile -t caches < <(go env GOMODCACHE GOCACHE)
  shift
fi
[ $# -gt 0 ] || set -- .ci/run
[ "$(id -u)" -eq 0 ] || { echo "hack/cold.sh makes a machine of its own, which needs root" >&2; exit 1; }
hack/packages.sh mmdebstrap git

# What is the same on the new machine: where this one gets Debian and Go modules from, and whom it trusts.
go=$(go env GOROOT)
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
environment=(HOME=/root LANG=C.UTF-8 "PATH=$go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
for name in GOFLAGS GOINSECURE GONOPROXY GONOSUMDB GOPRIVATE GOPROXY GOSUMDB GOTOOLCHAIN; do
  environment+=("$name=$(go env $name)")
done
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
if [ ${#caches[@]} -gt 0 ]; then
  environment+=("GOMODCACHE=${caches[0]}" "GOCACHE=${caches[1]}")
fi

# debian makes the new machine's root folder, of what this machine's apt offers of its own distribution.
debian() { # folder
  # shellcheck source=/dev/null
  . /etc/os-release
  # shellcheck disable=SC2016 # apt-get expands them
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$VERSION_CODENAME" '$2 ~ "^" release "(-updates|-security|$)" && !seen[$0]++ { print "deb", $0 }' |
    mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,make "$VERSION_CODENAME" "$1" -
  apt-config dump | grep -E '^Acquire::https?::' >"$1/etc/apt/apt.conf.d/90machine" || true
  cp "$certificates" "$1/etc/ssl/certs/ca-certificates.crt"
  cp -L /etc/hosts /etc/resolv.conf "$1/etc/"
}

# machine makes the folder its root, with the kernel's folders, Go and the caches, and runs the command there.
machine() { # folder, command...
  local root=$1 folder
  shift
  for folder in "$go" "${caches[@]}"; do
    mkdir -p "$root$folder"
  done
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -o bind,ro "$go" "$root$go"
  for folder in "${caches[@]}"; do
    mount --bind "$folder" "$root$folder"
  done
  # Containers can run in what is the root of a mount namespace, and not where chroot has been.
  mkdir "$root/before"
  cd "$root"
  pivot_root . before
  cd /platform-operator
  umount --lazy /before
  rmdir /before
  env --ignore-environment "${environment[@]}" "$@"
}

# inside is the first process of the new namespaces. This machine's /proc tells it the number that it has there.
inside() { # work folder, command...
  local work=$1
  shift
  read -r first _ </proc/self/stat
  echo "$first" >"$work/first"
  echo "making a Debian in $work/root"
  debian "$work/root"
  git clone --quiet . "$work/root/platform-operator"
  echo "running in it, on commit $(git rev-parse --short HEAD): $*"
  machine "$work/root" "$@"
}

# With the first process of a namespace all others end, and what they have mounted goes.
clean() {
  trap '' HUP INT TERM # a second one is not to interrupt this
  kill -KILL "$(cat "$work/first")" 2>/dev/null || kill -KILL "$outside" 2>/dev/null || true
  wait
  rm -rf --one-file-system "$work"
}

work=$(mktemp -d)
outside=
trap clean EXIT
trap 'exit 130' HUP INT TERM
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash -euo pipefail -c \
  "$(declare -p go certificates environment caches)
   $(declare -f debian machine inside)
   inside \"\$@\"; exit" bash "$work" "$@" &
outside=$!
wait "$outside"
