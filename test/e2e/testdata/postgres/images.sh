#!/usr/bin/env bash
# images.sh FOLDER: fills FOLDER/before and FOLDER/after with what images of PostgreSQL hold, and prints their versions. They are
# two patch releases where Debian offers two; else both are the installed one.
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

package=$(dpkg-query --show --showformat='${Package}\n' 'postgresql-*' | grep -E '^postgresql-[0-9]+$' | sort -V | tail -1)
number=${package#postgresql-}
installed=$(dpkg-query --show --showformat='${Version}' "$package")
mapfile -t offered < <(apt-cache madison "$package" | awk '{ print $3 }' | sort -uV)
[ ${#offered[@]} -gt 0 ] || offered=("$installed")

unpack() { # version, folder
  if [ "$1" != "$installed" ] && apt-get download -qq "$package=$1" 2>/dev/null; then
    dpkg-deb --extract "$package"_*.deb "$2"
    rm "$package"_*.deb
  else
    cp --recursive --parents --target-directory="$2" "/usr/lib/postgresql/$number" "/usr/share/postgresql/$number"
  fi
}

# complete adds what the programs of a folder need, and takes off most of what they do not need.
complete() ( # folder
  cd "$1"
  at=usr/lib/postgresql/$number
  rm -rf "$at"/lib/{bitcode,llvmjit*} usr/share/{doc,locale,man,"postgresql/$number/man"}
  mkdir --mode=755 bin etc
  mkdir --mode=1777 tmp
  cp /bin/busybox bin
  ln -s busybox bin/sh
  echo 'postgres:x:65532:65532::/:/bin/sh' >etc/passwd
  install --mode=755 "$here/run" start # not run: containers have a folder of that name
  ldd "$at"/bin/{postgres,initdb} "$at"/lib/{plpgsql,dict_snowball}.so |
    awk '$2 == "=>" { print $3 } $1 ~ /^\// && $2 ~ /^\(/ { print $1 }' | sort -u |
    xargs cp --dereference --parents --target-directory=. /usr/share/zoneinfo/Etc/UTC
  cp --recursive --parents --target-directory=. /usr/lib/locale/C.utf8
  "$at/bin/postgres" --version
)

mkdir --mode=755 before after
unpack "${offered[0]}" before
unpack "${offered[-1]}" after
complete before
complete after
