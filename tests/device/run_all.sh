#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the device tests on a machine with GPUs, in the folder that stage.sh made. It links all code first, on all cores
# and without a GPU. Then it runs the cases. The last line is `N passed, N failed, N skipped, N not ended`.
#
#   run_all.sh [--all] [GTEST ARG...]          --all: every case, and not only a covering set (tests/oracle/draw.h)
#   run_all.sh --sanitize [GTEST ARG...]       the cases Small* under each tool of compute-sanitizer
#
# SUITES         these tests, longest cases first. SUITES="shards parts whole group" are the tables of several devices.
# LIMIT_S        the whole run ends after that many seconds (570). Cases that have not ended by then are counted.
# LINK_SHARE     percent of LIMIT_S that linking may take (50). What is not linked by then is linked while it runs.
# PROCESSES      at a time, of all GPUs (8 for each; of tables of several devices 8, each of which uses all GPUs)
# TSR_TEST_DRAW  the seed of the covering set (1)
# TOOLS          of compute-sanitizer (memcheck racecheck synccheck initcheck)
# OUT            a folder for cases.txt, the milliseconds of each case, and failures.txt
# TSR_TEST_BACKEND=cpu: without a GPU.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
sanitize='' draw=${TSR_TEST_DRAW-1}
while [[ ${1:-} == --all || ${1:-} == --sanitize ]]; do
  [[ $1 == --all ]] && draw='' || sanitize=1
  shift
done
export TSR_TEST_DRAW=$draw
backend=${TSR_TEST_BACKEND:-cuda}
devices_suites=' shards parts whole group '

results=$(mktemp -d)
export results
mkdir "$results/lib"
trap 'rm -rf "$results"' EXIT
export XDG_CACHE_HOME=$results/cache TESSERA_CACHE_MB=4096
mkdir -p "$XDG_CACHE_HOME"
[[ ! -d cubins ]] || cp -r cubins/. "$XDG_CACHE_HOME" # what was linked before (stage.sh)
unset TESSERA_PLUGINS

# Only the libraries that this machine lacks.
while read -r missing; do
  [[ ! -f lib/$missing ]] || ln -sf "$PWD/lib/$missing" "$results/lib/"
done < <(ldd ./*_test ./*/*.so 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u)
export LD_LIBRARY_PATH=$results/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

gpus=1 sm=90
if [[ $backend != cpu ]]; then
  gpus=$(nvidia-smi -L | wc -l)
  sm=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
fi
cores=$(nproc)
processes=${PROCESSES:-}
limit_s=${LIMIT_S:-570} end_s=$((SECONDS + ${LIMIT_S:-570}))
link_s=$((limit_s * ${LINK_SHARE:-50} / 100))
device_numbers=$(seq -s , 0 $((gpus - 1)))
suites=${SUITES-endurance endurance_without_guard races races_without_guard repeats histories index fold rows wide_keys device}
[[ ! $sanitize ]] || suites=${SUITES-races device}
[[ $devices_suites == *" ${suites%% *} "* ]] && processes=${processes:-8}
processes=${processes:-$((8 * gpus))}
filter=("$@")
[[ ! $sanitize || $# -gt 0 ]] || filter=('--gtest_filter=Small*')
export backend sm gpus device_numbers devices_suites
export FILTER="${filter[*]}"

# Environments of a suite: one in which it links and runs on the CPU at most, one in which it runs.
as_linked() {
  TESSERA_CC=/nonexistent TSR_TEST_BACKEND=cpu TSR_TEST_LINK_SM=$sm TSR_BACKEND=cpu "$@"
}
as_run() {
  local suite=$1
  shift
  if [[ $devices_suites == *" $suite "* ]]; then
    TSR_BACKEND=$backend TSR_DEVICES=$device_numbers "$@"
  else
    CUDA_VISIBLE_DEVICES=$((SLOT % gpus)) "$@" # a process sees one of the GPUs
  fi
}

link_job() { # SUITE SHARD SHARDS
  # shellcheck disable=SC2086
  GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$2 as_linked "./${1}_test" $FILTER >/dev/null 2>&1 || true
}

# The result file of a job is NAME.xml. A job for which there is no time leaves nothing. end: in seconds since 1970.
run_job() { # SUITE SHARD SHARDS FILTER TOOL
  local suite=$1 name=$1.$2.$3.${5:-alone} status=0 left=$((end - $(date +%s))) tool=()
  [[ $4 == '*/*' ]] || name=$1.$4
  ((left > 0)) || return 0
  [[ ! ${5:-} ]] || tool=("$sanitizer" --tool "$5" --error-exitcode 9)
  # shellcheck disable=SC2086
  GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$2 GTEST_OUTPUT=xml:$results/$name.xml as_run "$suite" \
    timeout -k 5 "$left" "${tool[@]}" "./${suite}_test" "--gtest_filter=$4" $FILTER >"$results/$name.log" 2>&1 || status=$?
  echo "$status" >"$results/$name.status"
}
export -f as_linked as_run link_job run_job

# ---- What there is -------------------------------------------------------------------------------

list_job() { # SUITE: its cases
  # shellcheck disable=SC2086
  as_linked "./${1}_test" --gtest_list_tests $FILTER 2>/dev/null |
    awk '/^[^ ].*\.$/ || /^[^ ].*\. / { suite = $1 } /^  / { print suite $1 }' | grep -v DISABLED_ >"$results/$1.list" || true
}
export -f list_job
printf '%s\n' $suites | xargs -P "$cores" -I{} bash -c 'list_job {}'
planned=$(for suite in $suites; do cat "$results/$suite.list"; done | wc -l)

# ---- Linking -------------------------------------------------------------------------------------

count_cubins() { find "$XDG_CACHE_HOME" -name '*.code' | wc -l; }
started=$SECONDS
for suite in $suites; do
  shards=$(wc -l <"$results/$suite.list")
  ((shards < 2 * cores)) || shards=$((2 * cores))
  for ((i = 0; i < shards; i++)); do echo "$suite $i $shards"; done
done >"$results/link_jobs"
is_late=
timeout -k 2 "$link_s" xargs -P "$cores" -L 1 bash -c 'link_job "$@"' _ <"$results/link_jobs" || is_late=', and not all'
linked=$(count_cubins)
echo "linked $linked cubins in $((SECONDS - started)) s on $cores cores$is_late"

# ---- Running -------------------------------------------------------------------------------------

# First each case that is no parameter's, because those work on the largest tables. Then shards of the others.
# Tests that must see a race in one of their cases get many in each shard, and their cases are not run alone.
must_see_races='^(histories|races_without_guard)$'
list_jobs() {
  local suite cases shards i what
  if [[ $FILTER == '' ]]; then
    for suite in $suites; do
      [[ $suite =~ $must_see_races ]] || grep -v / "$results/$suite.list" | sed "s/.*/$suite 0 1 &/" || true
    done
  fi
  for tool in ${tools:-''}; do
    for suite in $suites; do
      cases=$(wc -l <"$results/$suite.list")
      shards=$((cases / 16 + 1))
      [[ ! $suite =~ $must_see_races ]] || shards=$((cases / 50 + 1))
      [[ ! $suite =~ ^(endurance|group) ]] || shards=$((cases / 5 + 1))
      what='*/*'
      [[ ! $suite =~ $must_see_races ]] || what='*'
      for ((i = 0; i < shards; i++)); do echo "$suite $i $shards $what${tool:+ $tool}"; done
    done
  done
}
tools='' sanitizer=''
if [[ $sanitize ]]; then
  tools=${TOOLS:-memcheck racecheck synccheck initcheck}
  sanitizer=$(command -v compute-sanitizer || echo "${CUDA_PATH:-/usr/local/cuda}/bin/compute-sanitizer")
  planned=$((planned * $(wc -w <<<"$tools")))
fi
end=$(($(date +%s) + end_s - SECONDS))
export end sanitizer
started=$SECONDS
list_jobs | xargs -P "$processes" --process-slot-var=SLOT -L 1 bash -c 'set -f; run_job "$@"' _ || true
echo "ran for $((SECONDS - started)) s; $(($(count_cubins) - linked)) cubins were linked meanwhile"

# ---- What came out -------------------------------------------------------------------------------

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

# The cases of programs that left no result file, by their logs. GoogleTest shows a result when a case ends; a failed one
# is named again after the last.
count_logs() {
  awk '/^\[       OK \] .*ms\)$/ { passed++ }
    /^\[  FAILED  \] .*ms\)$/ { failed++ }
    /^\[  SKIPPED \] .*ms\)$/ { skipped++ }
    END { print passed + 0, failed + 0, skipped + 0 }' "$@"
}

shopt -s nullglob # there may be no result file at all
# shellcheck disable=SC2016
cat "$results"/*.log /dev/null | sed -n 's/^\[  *\(OK\|FAILED\|SKIPPED\)  *\] \(.*\) (\([0-9]*\) ms)$/\3 \1 \2/p' |
  sort -rn >"$results/cases.txt"
broken=0 stopped=()
for status in "$results"/*.status; do
  name=$(basename "$status" .status)
  log=$results/$name.log
  [[ $(<"$status") != 0 ]] || continue
  grep -a -A 12 ': Failure$' "$log" | head -n 100 || true
  grep -a '^\[  FAILED  \].*[^ms)]$' "$log" | cut -c 1-200 | sort -u || true
  if [[ ! -f $results/$name.xml ]]; then
    stopped+=("$log")
    [[ $(<"$status") == 124 || $(<"$status") == 137 ]] || echo "FAILED: $name ended with status $(<"$status"): $(tail -n 5 "$log")"
    [[ $(<"$status") == 124 || $(<"$status") == 137 ]] || broken=$((broken + 1))
    echo "STOPPED: $name in $(sed -n 's/^\[ RUN      \] //p' "$log" | tail -n 1)"
  elif [[ $(count_cases "$results/$name.xml") == *' 0 '* ]]; then
    echo "FAILED: $name ended with status $(<"$status"): $(tail -n 5 "$log")"
    broken=$((broken + 1))
  fi
done >"$results/failures.txt"
head -n 400 "$results/failures.txt"
read -r passed failed skipped < <(count_cases "$results"/*.xml /dev/null)
read -r more_passed more_failed more_skipped < <(count_logs "${stopped[@]}" /dev/null)
passed=$((passed + more_passed)) failed=$((failed + more_failed)) skipped=$((skipped + more_skipped))
not_ended=$((planned - passed - failed - skipped))
((not_ended >= 0)) || not_ended=0
echo "the slowest cases, in milliseconds:"
head -n 5 "$results/cases.txt"
[[ ! ${OUT:-} ]] || gzip -9c "$results/cases.txt" >"$OUT/cases.txt.gz"
[[ ! ${OUT:-} ]] || cp "$results/failures.txt" "$OUT/"
echo "$passed passed, $((failed + broken)) failed, $skipped skipped, $not_ended not ended"
((passed > 0 && failed + broken + not_ended == 0))
