#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the device tests on a machine with a GPU, in the folder that stage.sh made. The last line is
# `N passed, N failed, N skipped` and counts test cases. If a limit stopped some, it ends with `, N not ended`.
#
#   run_all.sh [--sanitize] [GTEST ARG...]     --sanitize: the cases Small* once more under compute-sanitizer
#
# SUITES: of these tests, not of all. SHARDS: processes at a time (8 at most, one for each two cores). LIMIT_S: a
# program is stopped after that many seconds (900); its cases that have not ended are counted, and the slowest named.
# TSR_TEST_BACKEND=cpu: without a GPU.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
sanitize=
if [[ ${1:-} == --sanitize ]]; then
  sanitize=1
  shift
fi

results=$(mktemp -d)
libraries=$results/lib
mkdir "$libraries"
trap 'rm -rf "$results"' EXIT
export XDG_CACHE_HOME=$results/cache
[[ ! -d cubins ]] || cp -r cubins "$XDG_CACHE_HOME" # what was linked before (TSR_TEST_LINK_SM, device.cc)
unset TESSERA_PLUGINS

# Only the libraries that this machine lacks.
while read -r missing; do
  [[ ! -f lib/$missing ]] || ln -sf "$PWD/lib/$missing" "$libraries/"
done < <(ldd ./*_test ./*/*.so 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u)
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

shards=${SHARDS:-$((($(nproc) + 1) / 2))}
((shards <= 8)) || shards=8
limit_s=${LIMIT_S:-900}
suites=${SUITES-device index repeats rows races races_without_guard endurance endurance_without_guard histories}
broken=0

# program NAME COMMAND...: the result file is NAME.xml; with a bad end and no failed case, the program itself counts as a
# failed case.
program() {
  local name=$1 status=0
  shift
  GTEST_OUTPUT=xml:$results/$name.xml timeout -k 5 "$limit_s" "$@" >"$results/$name.log" 2>&1 || status=$?
  echo "$status" >"$results/$name.status"
}

# in_shards NAME COMMAND...
in_shards() {
  local name=$1 i pids=()
  shift
  for ((i = 0; i < shards; i++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i program "$name.$i" "$@" &
    pids+=($!)
  done
  wait "${pids[@]}"
}

# Each `<testcase ` starts a record, which ends where its case does.
count_cases() {
  awk 'BEGIN { RS = "<testcase " }
    FNR > 1 {
      sub(/<\/testcase>.*/, "")
      if (/<(failure|error)[ >]/) failed++
      else if (/<skipped[ \/>]/ || /status="notrun"/) skipped++
      else if (!/result="suppressed"/) passed++
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$@"
}

# count_log LOG: the cases of a program that left no result file, by its log: those that were to run, those that ended.
# GoogleTest shows a case that it has begun, and a result when it ends; a failed one is named again after the last.
count_log() {
  awk '/^\[==========\] Running [0-9]+ tests?/ { all = $3 }
    /^\[       OK \] .*ms\)$/ { passed++ }
    /^\[  FAILED  \] .*ms\)$/ { failed++ }
    /^\[  SKIPPED \] .*ms\)$/ { skipped++ }
    END { print passed + 0, failed + 0, skipped + 0, (all ? all - passed - failed - skipped : 1) }' "$1"
}

# The three cases of a log that took longest, and the one that had begun.
name_slowest() {
  sed -n 's/^\[       OK \] \(.*\) (\([0-9]*\) ms)$/\2 ms \1/p' "$1" | sort -rn | head -n 3
  sed -n 's/^\[ RUN      \] /had begun: /p' "$1" | tail -n 1
}

for name in $suites; do
  started=$SECONDS
  in_shards "$name" "./${name}_test" "$@"
  echo "${name}_test: $((SECONDS - started)) s"
done
if [[ $sanitize ]]; then
  sanitizer=$(command -v compute-sanitizer || echo "${CUDA_PATH:-/usr/local/cuda}/bin/compute-sanitizer")
  started=$SECONDS
  shards=$((($(nproc) + 3) / 4)) # of each of the four tools, all at a time
  for name in device races; do
    pids=()
    for tool in memcheck racecheck initcheck synccheck; do
      in_shards "$tool.$name" "$sanitizer" --tool "$tool" --error-exitcode 9 "./${name}_test" '--gtest_filter=Small*' &
      pids+=($!)
    done
    wait "${pids[@]}"
  done
  echo "compute-sanitizer: $((SECONDS - started)) s"
fi

shopt -s nullglob # there may be no result file at all
read -r passed failed skipped < <(count_cases "$results"/*.xml /dev/null)
not_ended=0
for status in "$results"/*.status; do
  name=$(basename "$status" .status)
  log=$results/$name.log
  if [[ ! -f $results/$name.xml ]]; then
    read -r own_passed own_failed own_skipped left < <(count_log "$log")
    passed=$((passed + own_passed)) failed=$((failed + own_failed)) skipped=$((skipped + own_skipped))
    not_ended=$((not_ended + left))
    echo "NOT ENDED: $name, status $(<"$status"), $left cases left; the slowest:"
    name_slowest "$log"
  fi
  [[ $(<"$status") != 0 ]] || continue
  grep -a -A 12 ': Failure$' "$log" | head -n 100 || true
  grep -a '^\[  FAILED  \].*[^ms)]$' "$log" | cut -c 1-200 | sort -u || true
  if [[ -f $results/$name.xml ]]; then
    read -r _ own_failed _ < <(count_cases "$results/$name.xml")
    if ((own_failed == 0)); then
      echo "FAILED: $name ended with status $(<"$status"): $(tail -n 5 "$log")"
      broken=$((broken + 1))
    fi
  fi
done

echo "$passed passed, $((failed + broken)) failed, $skipped skipped$( ((not_ended == 0)) || echo ", $not_ended not ended")"
((passed > 0 && failed + broken + not_ended == 0))
