#!/usr/bin/env bash
# Makes sure that programs are there: packages.sh PROGRAM...
# As root on Debian it installs the missing ones; otherwise it says what to install. A program outside the usual folders is
# given by its path. POLICY_RC_D is another file than Debian's, for tests.
set -euo pipefail

# slapd and its like are in folders that are not on everybody's path.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
for folder in /usr/lib/postgresql/*/bin; do
  PATH="$PATH:$folder"
done

# The Debian packages that bring a program; most are called like it.
packages_of() {
  case $1 in
    gcc) echo gcc libc6-dev ;;
    postgres) echo postgresql ;;
    mariadbd) echo mariadb-server ;;
    busybox) echo busybox-static ;;
    containerd-shim-runc-v2) echo containerd ;;
    /usr/lib/cni/*) echo containernetworking-plugins ;;
    iptables-save | ip6tables-save) echo iptables ;;
    ip) echo iproute2 ;;
    modprobe) echo kmod ;;
    unshare | setpriv | pivot_root) echo util-linux ;;
    *) echo "$1" ;;
  esac
}

# The packages of those of the programs that are missing.
missing() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || packages_of "$program"
  done | tr ' ' '\n' | sort -u | tr '\n' ' '
}

# One at a time: what another one is just installing is not half there, and its policy stays until it has ended.
if [ -d /var/lib/dpkg ]; then
  exec 9</var/lib/dpkg
  flock 9
fi

read -ra packages <<<"$(missing "$@")"
if [ ${#packages[@]} -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing: ${packages[*]}. On Debian, as root: apt-get install ${packages[*]}" >&2
  exit 1
fi

echo "installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
# Tests start servers of their own; the packages are not to start others, slapd's not to configure one either.
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
if [[ " ${packages[*]} " == *" slapd "* ]] && command -v debconf-set-selections >/dev/null; then
  echo "slapd slapd/no_configuration boolean true" | debconf-set-selections
fi

# Others, such as unattended upgrades, may be at work too. Only errors are of interest.
apt() { apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@" >/dev/null 9<&-; }
apt update || echo "the lists of packages are not up to date; trying with them" >&2
apt install --yes --no-install-recommends "${packages[@]}"

left=$(missing "$@")
if [ -n "$left" ]; then
  echo "installed, but still missing what these should bring: $left" >&2
  exit 1
fi
