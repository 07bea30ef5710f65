# shellcheck shell=bash
# The frame of .ci/run and hack/check-all.sh, for `source`: stages, which all run whatever came of the others, and a summary.

summary=()
flakes=()
passed=0
failed=0
output=$(mktemp -d) # of stages, and of what runs beside them
trap 'end_beside; rm -rf "$output"' EXIT

stage() { # title, command...
  local title=$1 start=$SECONDS worked result=passed shown tee
  worked=$(processor_time)
  shift
  printf '\n=== %s: %s\n' "$title" "$*"
  exec {shown}> >(exec tee "$output/stage" 9>&-)
  tee=$!
  if "$@" >&"$shown" 2>&1 9>&-; then
    passed=$((passed + 1))
  else
    result=FAILED
    failed=$((failed + 1))
  fi
  exec {shown}>&-
  timeout 10 tail --pid=$tee --sleep-interval=0.1 -f /dev/null || true # until all is shown, unless a process that is left could still write
  mapfile -t -O "${#flakes[@]}" flakes < <(grep '^FLAKE ' "$output/stage")
  [ $result = passed ] || reasons "$title" >>"$output/reasons"
  worked=$(($(processor_time) - worked))
  summary+=("$(printf '%-7s %4d s, %4d s of processors  %s (%d GB free)' \
    "$result" $((SECONDS - start)) $worked "$title" "$(free_space)")")
  printf '=== %s\n' "${summary[-1]}"
}

# What a stage that has failed reports: the lines of test runners and benchmarks, and how it ended. The end of the output repeats
# it, for readers who get no more than that.
reasons() { # title
  printf '\n=== why "%s" failed\n' "$1"
  grep -E -A2 '\[FAIL\]|^ *--- FAIL|^FAIL|^ +[a-z0-9_]+_test[.]go:[0-9]+: |SURVIVED|[]] ERROR|EXCEEDED|^error: |^panic: |FAILED$' \
    "$output/stage" | tail -n 120 || true
  grep -A 15 '^ *\[FAILED\] ' "$output/stage" | head -n 120 || true # the message of a spec
  tail -n 5 "$output/stage"
}

# Prints all that is to be known at the end, with a closing line that test reporters read, and returns the result.
close_stages() { # name
  [ $failed = 0 ] || cat "$output/reasons"
  printf '\n=== summary of %s at %s, after %d s\n' "$1" "$(git rev-parse --short HEAD)" $SECONDS
  printf '%s\n' "${summary[@]}" "${flakes[@]}"
  printf '%s: %d passed, %d failed\n' "$1" $passed $failed
  [ $failed = 0 ]
}

# How many seconds the processors of this machine have worked.
processor_time() { awk -v hz="$(getconf CLK_TCK)" '/^cpu / { printf "%d", ($2 + $3 + $4 + $7 + $8) / hz }' /proc/stat; }

# What the disk has left, in GB. The compiler's cache takes most of it.
free_space() { df --output=avail -BG "${1:-.}" | tail -1 | tr -dc 0-9; }

# The tests wait for part of their time. What runs beside them gets that time. What has no deadline gets no more: it has the
# lowest priority, 19. It is a session of its own, since Linux shares the processors among sessions first. Its output follows in
# a stage of its own.
declare -A beside
beside() { # priority, target, its variables...
  # shellcheck disable=SC2016 # the shell that is started expands it
  setsid bash -c '{ echo "$0" >/proc/self/autogroup; } 2>/dev/null; exec nice -n "$0" make "$@"' "$@" \
    >"$output/beside-$2" 2>&1 9>&- &
  beside[$2]=$!
}

done_beside() { # target
  local result=0
  wait "${beside[$1]}" || result=$?
  unset "beside[$1]"
  cat "$output/beside-$1"
  return "$result"
}

end_beside() {
  local pid
  for pid in "${beside[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
  wait # what has a cluster takes it down
}

# The demo as README has it, beside any cluster that is there. It is taken down whatever came of it. A second run finds
# everything running, and starts nothing.
demo() ( # how many times, its flags...
  local first
  trap 'demo_down || exit 1' EXIT
  make demo ARGS="--name ci ${*:2}" && first=$(demo_processes) || exit 1
  [ "$1" = 1 ] || { make demo ARGS="--name ci ${*:2}" && [ "$(demo_processes)" = "$first" ]; }
)

demo_processes() { cat .cluster/ci/pids/*; }

# Of a demo that is down nothing may be left: no folder, and no process that names it.
demo_down() {
  local left
  make demo-down ARGS='--name ci' || return 1
  left=$(ls -d .cluster/ci 2>/dev/null; grep -l "$PWD/[.]cluster/ci/" /proc/[0-9]*/cmdline 2>/dev/null)
  [ -z "$left" ] || { echo "left of the demo: $left" >&2; return 1; }
}

# What a real node needs: root who may make namespaces, and mount an overlay in them.
runs_containers() {
  [ "$(id -u)" -eq 0 ] && unshare --mount --net --pid --fork sh -ec '
    mount -t tmpfs none /mnt
    mkdir /mnt/lower /mnt/upper /mnt/work /mnt/all
    mount -t overlay overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work /mnt/all'
}
