#!/usr/bin/env bash
# Makes sure that programs are there: packages.sh PROGRAM...
# As root on Debian it installs the missing ones; otherwise it says what to install.
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
    *) echo "$1" ;;
  esac
}

packages=()
for program in "$@"; do
  if ! command -v "$program" >/dev/null; then
    read -ra more <<<"$(packages_of "$program")"
    packages+=("${more[@]}")
  fi
done
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
if [ ! -e /usr/sbin/policy-rc.d ]; then
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod +x /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi
if [[ " ${packages[*]} " == *" slapd "* ]] && command -v debconf-set-selections >/dev/null; then
  echo "slapd slapd/no_configuration boolean true" | debconf-set-selections
fi
apt-get update -qq
apt-get install -qq --yes --no-install-recommends "${packages[@]}"
