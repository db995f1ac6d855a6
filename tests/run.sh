#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The test jobs. `./tessera test` calls this after it has installed what is needed and set TSR_NVCC.
#
#   tests/run.sh                         format, default, asan and tsan: what continuous integration runs
#   tests/run.sh quick                   before a commit: format, and the rules of the sources and the pages
#   tests/run.sh full                    default, where tests that draw some of their cases have all of them
#   tests/run.sh [JOB...] [BAZEL ARG...] some jobs, with arguments for `bazel test` (without JOB: the job default)
#
# The last line is `N passed, N failed, N skipped` and counts test cases; a job that runs nothing has failed.
# What was built and has passed is kept for the next run (build_cache.sh).
# Tests tagged `gpu` are not run here: tests/device is carried to a machine with a GPU. Read next: .bazelrc (the
# configurations).

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source-path=SCRIPTDIR source=build_cache.sh
source tests/build_cache.sh
jobs=(format default asan tsan)
passed=0
failed=0
skipped=0
bazel_args=()

# record SENTENCE STATUS: one test case that is no part of Bazel.
record() {
  if (($2 == 0)); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $1"
  fi
}

# Reads JUnit XML and prints how many test cases passed, failed and were skipped. Each `<testcase ` starts a record,
# which ends where its case does, since what follows may be the free text of a log.
count_cases() {
  awk 'BEGIN { RS = "<testcase " }
    FNR > 1 {
      sub(/<\/testcase>.*/, "")
      if (/<(failure|error)[ >]/) failed++
      else if (/<skipped[ \/>]/ || /status="notrun"/) skipped++
      else passed++
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$@"
}

# bazel_test NAME ARG...: runs the tests and adds their cases. Some wait for a clock, a lock or a file: more run at a time than
# there are cores. Which result files belong to this run, cached ones included, is in Bazel's event file.
bazel_test() {
  local name=$1 events status=0 files=() counts
  shift
  events=$(mktemp)
  bazel test ${build_cache:+"--disk_cache=$build_cache" "--test_env=TSR_TEST_CUBINS=$build_cache"} \
    --jobs='HOST_CPUS*1.5' --local_cpu_resources='HOST_CPUS*1.5' --define=recipes=quick \
    --noshow_progress --noshow_loading_progress --show_result=0 --keep_going \
    --build_event_json_file="$events" "$@" ${bazel_args[@]+"${bazel_args[@]}"} || status=$?
  mapfile -t files < <(grep -o '"name":"test.xml","uri":"file://[^"]*"' "$events" | sed 's|.*file://||; s|"$||')
  rm -f "$events"
  counts=(0 0 0)
  if ((${#files[@]})); then
    read -ra counts < <(count_cases "${files[@]}")
  fi
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  skipped=$((skipped + counts[2]))
  echo "$name: ${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped"
  # What no test case tells: a build that failed, a job without tests.
  if ((counts[0] + counts[1] == 0)); then
    record "$name ran no test" 1
  elif ((status != 0 && counts[1] == 0)); then
    record "$name: bazel ended with status $status" 1
  fi
}

# targets TARGET: what the arguments name, else TARGET.
targets() {
  local arg
  for arg in ${bazel_args[@]+"${bazel_args[@]}"}; do
    [[ $arg == -* ]] || return 0
  done
  echo "$1"
}

# All sources, and not those that Git knows to have changed: what is printed names every file that differs.
job_format() {
  local said status=0 differ
  said=$(find . -name .git -prune -o -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cuh' -o -name '*.cu' -o -name '*.cc' \) -print0 |
    xargs -0 -n 50 -P 2 clang-format --dry-run --Werror 2>&1) || status=$?
  differ=$(sed -nE 's/^(.*):[0-9]+:[0-9]+: error: code should be clang-formatted.*/\1/p' <<<"$said" | sort -u | tr '\n' ' ')
  ((status == 0)) || [[ $differ ]] || echo "$said"
  record "format: clang-format -i $differ" "$status"
}

# What most often fails after the code is right. Sources and pages alone are read, but for tables of pages that the program prints.
# shellcheck disable=SC2046
job_quick() {
  job_format
  bazel_test quick $(targets '//tests/structure:all //tests/docs:links_test //tests/docs:results_test //tests/docs:tables_test')
}

# And the demo, as a newcomer runs it.
job_default() {
  local status=0
  # shellcheck disable=SC2046
  bazel_test default $(targets //...)
  [[ $(targets all) ]] || return 0
  ./tessera demo --set table.backend=cpu </dev/null || status=$?
  record "default: the demo on the cpu backend" "$status"
  [[ ! $build_cache_all ]] || check_types
}

# The checkers are of PyPI, and stay for other checkouts next to what Bazel has built.
check_types() {
  local status=0
  tests/python/check_types.sh "$build_cache_all-checkers" || status=$?
  if ((status == 77)); then
    skipped=$((skipped + 1))
    echo "default: mypy and pyright could not be installed from PyPI, so that types are not checked"
  else
    record "default: mypy and pyright find other types than typed.py says" "$status"
  fi
}

# shellcheck disable=SC2046
job_full() { bazel_test full --test_env=TSR_TEST_ALL=1 $(targets //...); }

# Without a CUDA toolkit as well.
# shellcheck disable=SC2046
job_asan() { bazel_test asan --config=asan $(targets //...); }

# shellcheck disable=SC2046
job_tsan() { bazel_test tsan --config=tsan $(targets //...); }

case ${1:-} in
  --help | -h)
    sed -n '/^# The test jobs/,/^$/s/^# \{0,1\}//p' tests/run.sh
    exit 0
    ;;
esac
selected=()
while (($#)) && declare -F "job_$1" >/dev/null; do
  selected+=("$1")
  shift
done
if (($#)); then
  bazel_args=("$@")
  ((${#selected[@]})) || selected=(default)
fi
((${#selected[@]})) || selected=("${jobs[@]}")

find_build_cache
for job in "${selected[@]}"; do
  echo "== $job"
  "job_$job"
done
trim_build_cache
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
