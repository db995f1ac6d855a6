#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the device tests on a machine with a GPU, in the folder that stage.sh made. The last line is
# `N passed, N failed, N skipped` and counts test cases.
#
#   run_all.sh [--sanitize] [GTEST ARG...]     --sanitize: the cases Small* once more under compute-sanitizer
#
# SUITES: of these tests, not of all. SHARDS: processes at a time (8 at most, one for each two cores). LIMIT_S: what
# has not ended after that many seconds has failed (900). TSR_TEST_BACKEND=cpu: without a GPU.

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

# program NAME LOG COMMAND...: the result file is NAME.xml; without one, or with a bad end and no failed case, the
# program itself counts as a failed case.
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

for status in "$results"/*.status; do
  name=$(basename "$status" .status)
  if [[ ! -f $results/$name.xml ]]; then
    echo "FAILED: $name ended with status $(<"$status") before it was done: $(tail -n 3 "$results/$name.log")"
    broken=$((broken + 1))
  elif [[ $(<"$status") != 0 ]]; then
    read -r _ failed _ < <(count_cases "$results/$name.xml")
    grep -a -A 12 ': Failure$' "$results/$name.log" | head -n 100 || true
    grep -a '^\[  FAILED  \].*[^ms)]$' "$results/$name.log" | cut -c 1-200 | sort -u || true
    if ((failed == 0)); then
      echo "FAILED: $name ended with status $(<"$status"): $(tail -n 5 "$results/$name.log")"
      broken=$((broken + 1))
    fi
  fi
done

read -r passed failed skipped < <(count_cases "$results"/*.xml /dev/null)
echo "$passed passed, $((failed + broken)) failed, $skipped skipped"
((passed > 0 && failed + broken == 0))
