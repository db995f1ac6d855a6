#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the device tests on a machine with GPUs, in the folder that stage.sh made. It links code on all cores, in the order in which
# it is run. When a share of the time has passed, the cases begin, those of tables of one device on all GPUs by turns, then those of
# tables of several; the cores that are left go on linking. Each suite has a line of its cases, their time and the slowest of them.
# The last line is `N passed, N failed, N skipped, N not ended`.
#
#   run_all.sh [--all] [GTEST ARG...]          --all: every case, and not only a covering set (tests/oracle/draw.h)
#   run_all.sh --sanitize [GTEST ARG...]       the cases Small* under each tool of compute-sanitizer
#   run_all.sh --link SM [GTEST ARG...]        only links, for sm_SM, into the folder cubins next to it; this needs no GPU
#
# SUITES         these tests. SUITES="group whole parts fold shards" are the tables of several devices; with several GPUs all of them
#                are among the suites, with one `fold` alone.
# LIMIT_S        the whole run ends after that many seconds (570). Cases that have not ended by then are counted.
# LINK_SHARE     percent of LIMIT_S after which the cases begin, if not all is linked before (25). 0: all was linked before.
# PROCESSES      at a time, of all GPUs (8 for each; of tables of several devices 8, each of which uses all GPUs)
# GPUS           their numbers, as "1" or "0 1" (all)
# TSR_TEST_DRAW  the seed of the covering set (1)
# TOOLS          of compute-sanitizer (memcheck racecheck synccheck initcheck)
# TSR_TEST_STARVES  1: also cases of `group` that fill the memory of a GPU, so nothing may run beside them
# OUT            a folder for cases.txt, the milliseconds of each case, and failures.txt
# TSR_TEST_BACKEND=cpu: without a GPU.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
sanitize='' draw=${TSR_TEST_DRAW-1} link_sm=''
while [[ ${1:-} == --all || ${1:-} == --sanitize || ${1:-} == --link ]]; do
  case $1 in
    --all) draw='' ;;
    --sanitize) sanitize=1 ;;
    --link) link_sm=${2:?--link needs a number, as 90} && shift ;;
  esac
  shift
done
export TSR_TEST_DRAW=$draw NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0}
backend=${TSR_TEST_BACKEND:-cuda}
devices_suites=' shards parts whole group fold '

results=$(mktemp -d)
export results
mkdir "$results/lib" "$results/files"
trap 'rm -rf "$results"' EXIT
export XDG_CACHE_HOME=$PWD/cubins TESSERA_CACHE_MB=4096 # what was linked before is there
mkdir -p -m 700 "$XDG_CACHE_HOME"
unset TESSERA_PLUGINS

# Only the libraries that this machine lacks.
while read -r missing; do
  [[ ! -f lib/$missing ]] || ln -sf "$PWD/lib/$missing" "$results/lib/"
done < <(ldd ./*_test ./*/*.so 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u)
export LD_LIBRARY_PATH=$results/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

numbers=(0) sm=${link_sm:-90}
if [[ $backend != cpu && ! $link_sm ]]; then
  # shellcheck disable=SC2206
  numbers=(${GPUS:-$(seq 0 $(($(nvidia-smi -L | wc -l) - 1)))})
  sm=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
fi
gpus=${#numbers[@]} cores=$(nproc)
processes=${PROCESSES:-}
limit_s=${LIMIT_S:-570}
[[ ! $link_sm ]] || limit_s=${LIMIT_S:-86400}
end_s=$((SECONDS + limit_s))
link_s=$((limit_s * ${LINK_SHARE:-25} / 100))
[[ ! $link_sm ]] || link_s=$limit_s
suites=${SUITES-endurance endurance_without_guard races races_without_guard repeats histories index fold rows wide_keys numbers built split device}
[[ ${SUITES-} ]] || ((gpus < 2)) || suites+=' shards parts whole group'
# What else was staged is a suite as well; the soak has a command of its own.
if [[ ! ${SUITES+set} ]]; then
  for program in *_test; do
    name=${program%_test}
    [[ $name == soak || " $suites$devices_suites" == *" $name "* ]] || suites+=" $name"
  done
fi
[[ ! $sanitize ]] || suites=${SUITES-races device built split}
filter=("$@")
[[ ! $sanitize || $# -gt 0 ]] || filter=('--gtest_filter=Small*')
all_numbers="${numbers[*]}"
export backend sm gpus all_numbers devices_suites
export FILTER="${filter[*]}"

# Environments of a suite: one in which it links and runs on the CPU at most, one in which it runs. All cores have a process that
# links, so none of these starts threads: with many threads each link makes a second form of the code beside the first, which
# every other link throws away. A process sees one of the GPUs, or begins with one of them: two shards should not always be on
# the first two.
as_linked() {
  OMP_NUM_THREADS=1 TESSERA_CC=/nonexistent TSR_TEST_BACKEND=cpu TSR_TEST_LINK_SM=$sm TSR_BACKEND=cpu "$@"
}
as_run() {
  local suite=$1 all
  shift
  read -ra all <<<"$all_numbers"
  all=("${all[@]:SLOT%gpus}" "${all[@]:0:SLOT%gpus}")
  if [[ $devices_suites == *" $suite "* ]]; then
    TSR_BACKEND=$backend TSR_DEVICES=$(IFS=, && echo "${all[*]}") "$@"
  else
    CUDA_VISIBLE_DEVICES=${all[0]} "$@"
  fi
}

# A job whose cases run already links nothing: they do.
link_job() { # SUITE SHARD SHARDS FILTER RUN
  [[ ! -d $results/files/$5 ]] || return 0
  local own=$results/files/link.$1.$2.$3.${4//[^A-Za-z0-9_]/_}
  mkdir "$own"
  # shellcheck disable=SC2086
  TEST_TMPDIR=$own GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$2 as_linked "./${1}_test" "--gtest_filter=$4" $FILTER >/dev/null 2>&1 || true
}

name_of() { # SUITE SHARD SHARDS FILTER [TOOL]
  [[ $4 == '*'* ]] && echo "$1.$2.$3.${5:-alone}" || echo "$1.$4"
}

# The result file of a job is NAME.xml. A job for which there is no time leaves nothing. end: in seconds since 1970.
run_job() { # SUITE SHARD SHARDS FILTER TOOL
  local suite=$1 name status=0 left=$((end - $(date +%s))) tool=()
  name=$(name_of "$@")
  ((left > 0)) || return 0
  [[ ! ${5:-} ]] || tool=("$sanitizer" --tool "$5" --error-exitcode 9)
  # A walk's relaxed loads and stores in a page are plain machine instructions, which racecheck takes for races. What they may
  # see is explored by tests/interleave.
  [[ ${5:-} != racecheck ]] || tool+=(--kernel-name-exclude kernel_substring=pages_insert)
  # tsr_find_all notes a value for keys with one pair. The words of the others go back to the caller's order unwritten, and nobody
  # reads them there.
  [[ ${5:-} != initcheck ]] || tool+=(--kernel-name-exclude kernel_substring=zone_gather)
  mkdir "$results/files/$name"
  # shellcheck disable=SC2086
  TEST_TMPDIR=$results/files/$name GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$2 GTEST_OUTPUT=xml:$results/$name.xml as_run "$suite" \
    timeout -k 5 "$left" "${tool[@]}" "./${suite}_test" "--gtest_filter=$4" $FILTER >"$results/$name.log" 2>&1 || status=$?
  echo "$status" >"$results/$name.status"
}
export -f as_linked as_run link_job name_of run_job

# ---- What there is -------------------------------------------------------------------------------

list_job() { # SUITE: its cases
  # shellcheck disable=SC2086
  as_linked "./${1}_test" --gtest_list_tests $FILTER 2>/dev/null |
    awk '/^[^ ].*\.$/ || /^[^ ].*\. / { suite = $1 } /^  / { print suite $1 }' | grep -v DISABLED_ >"$results/$1.list" || true
}
export -f list_job
tr ' ' '\n' <<<"$suites" | xargs -P "$cores" -I{} bash -c 'list_job {}'

# First each case that is no parameter's, because those work on the largest tables. Then shards of the others, those of all
# suites in turn: processes that do the same wait for each other, as those of groups do.
# Tests that must see a race in one of their cases get many in each shard, and their cases are not run alone. Nor are those of
# several devices, since a process takes seconds to open all GPUs.
must_see_races='^(histories|races_without_guard)$'
has_no_alone() { [[ $1 =~ $must_see_races || $devices_suites == *" $1 "* ]]; }
list_jobs() { # SUITES: lines of run_job's arguments
  local suite cases shards i what
  if [[ $FILTER == '' ]]; then
    for suite in $1; do
      has_no_alone "$suite" || grep -v / "$results/$suite.list" | sed "s/.*/$suite 0 1 &/" || true
    done
  fi
  for tool in ${tools:-''}; do
    for suite in $1; do
      cases=$(wc -l <"$results/$suite.list")
      shards=$((cases / 16 + 1))
      [[ ! $suite =~ $must_see_races ]] || shards=$((cases / 50 + 1))
      [[ ! $suite =~ ^(endurance|group|whole|device|split|built) ]] || shards=$((cases / 4 + 1))
      what='*/*'
      ! has_no_alone "$suite" || what='*'
      for ((i = 0; i < shards; i++)); do echo "$((1000000 * i / shards)) $suite $i $shards $what${tool:+ $tool}"; done
    done
  done | sort -s -n -k 1,1 | cut -d ' ' -f 2-
}
tools='' sanitizer='' times=1
if [[ $sanitize ]]; then
  tools=${TOOLS:-memcheck racecheck synccheck initcheck}
  sanitizer=$(command -v compute-sanitizer || echo "${CUDA_PATH:-/usr/local/cuda}/bin/compute-sanitizer")
  times=$(wc -w <<<"$tools")
fi
of_one='' of_several=''
for suite in $suites; do
  if [[ $devices_suites == *" $suite "* ]]; then of_several+=" $suite"; else of_one+=" $suite"; fi
done
list_jobs "$of_one" >"$results/jobs_of_one"
list_jobs "$of_several" >"$results/jobs_of_several"

# ---- Linking -------------------------------------------------------------------------------------

count_cubins() { find "$XDG_CACHE_HOME" -name '*.code' | wc -l; }

# Jobs of four cases at most, in the order in which they run. What runs under several tools is linked once.
list_links() {
  local suite shard shards what tool pieces i
  while read -r suite shard shards what tool; do
    [[ ! $tool || $tool == "${tools%% *}" ]] || continue
    pieces=1
    [[ $what != '*'* ]] || pieces=$(($(wc -l <"$results/$suite.list") / (4 * shards) + 1))
    for ((i = 0; i < pieces; i++)); do
      echo "$suite $((shard + i * shards)) $((pieces * shards)) $what $(name_of "$suite" "$shard" "$shards" "$what" "$tool")"
    done
  done
}

before=$(count_cubins) started=$SECONDS links=''
if ((link_s > 0)); then
  cat "$results"/jobs_of_{one,several} | list_links >"$results/links"
  setsid xargs -P "$cores" -L 1 bash -c 'set -f; link_job "$@"' _ <"$results/links" &
  links=$!
  trap 'kill -- -$links 2>/dev/null || true; rm -rf "$results"' EXIT
fi
while [[ $links ]] && kill -0 "$links" 2>/dev/null && ((SECONDS - started < link_s)); do sleep .2; done
linked=$(count_cubins)
is_late=
[[ ! $links ]] || ! kill -0 "$links" 2>/dev/null || is_late=', and not all'
echo "linked $((linked - before)) cubins in $((SECONDS - started)) s on $cores cores$is_late"
[[ ! $link_sm ]] || exit $((linked == 0 || ${#is_late} > 0))

# ---- Running -------------------------------------------------------------------------------------

end=$(($(date +%s) + end_s - SECONDS))
export end sanitizer
started=$SECONDS
# Beside cases, links have what is left of the cores.
[[ ! $is_late ]] || pgrep -s "$links" | xargs -r renice -n 15 >/dev/null 2>&1 || true
run_jobs() { # FILE PROCESSES
  xargs -P "${processes:-$2}" --process-slot-var=SLOT -L 1 bash -c 'set -f; run_job "$@"' _ <"$1" || true
}
run_jobs "$results/jobs_of_one" $((8 * gpus))
run_jobs "$results/jobs_of_several" 8
[[ ! $links ]] || kill -- "-$links" 2>/dev/null || true
echo "ran for $((SECONDS - started)) s, 8 processes for each of $gpus GPUs; $(($(count_cubins) - linked)) cubins were linked meanwhile"

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

# The cases of logs: milliseconds, OK or FAILED or SKIPPED, name. The slowest is the first.
list_cases() {
  cat "$@" /dev/null | sed -n 's/^\[  *\(OK\|FAILED\|SKIPPED\)  *\] \(.*\) (\([0-9]*\) ms)$/\3 \1 \2/p' | sort -rn
}

shopt -s nullglob # there may be no result file at all
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

all_passed=0 all_failed=0 all_skipped=0 all_not_ended=0
for suite in $suites; do
  logs=()
  for log in "${stopped[@]}"; do [[ $log != "$results/$suite".* ]] || logs+=("$log"); done
  read -r passed failed skipped < <(count_cases "$results/$suite".*.xml /dev/null)
  read -r more_passed more_failed more_skipped < <(count_logs "${logs[@]}" /dev/null)
  passed=$((passed + more_passed)) failed=$((failed + more_failed)) skipped=$((skipped + more_skipped))
  not_ended=$(($(wc -l <"$results/$suite.list") * times - passed - failed - skipped))
  ((not_ended >= 0)) || not_ended=0
  list_cases "$results/$suite".*.log >"$results/cases"
  sed "s/^\([0-9]*\) /\1 $suite /" "$results/cases" >>"$results/all_cases"
  awk -v line="$suite: $passed passed, $failed failed, $skipped skipped, $not_ended not ended" '
    { sum += $1; if (NR <= 3) slowest = slowest (NR == 1 ? "" : ", ") $3 " " $1 / 1000 " s" }
    END { printf "%s; %.0f s of processes, %.2f s per case; slowest: %s\n", line, sum / 1000, NR ? sum / 1000 / NR : 0, slowest }
  ' "$results/cases"
  all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed))
  all_skipped=$((all_skipped + skipped)) all_not_ended=$((all_not_ended + not_ended))
done
if [[ ${OUT:-} ]]; then
  mkdir -p "$OUT"
  sort -rn "$results/all_cases" | gzip -9c >"$OUT/cases.txt.gz"
  cp "$results/failures.txt" "$OUT/"
fi
echo "$all_passed passed, $((all_failed + broken)) failed, $all_skipped skipped, $all_not_ended not ended"
((all_passed > 0 && all_failed + broken + all_not_ended == 0))
