# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Cases of a test in bash, and the result file that the test runner counts. The harnesses of cli/ and structure/ source it:
# a test opens each case by `case_of NAME`, reports by `fail SENTENCE` or `skip REASON`, and ends with `finish`. The harnesses' traps
# call `need_finish`, since a test that ends otherwise would pass whatever it found.

names=()
failures=() # one text for each case, empty if it passed
reasons=()  # why it was skipped, or empty
is_finished=''

open_case() {
  names+=("$1")
  failures+=("")
  reasons+=("")
}

# skip REASON: the case that is open needs what is not there.
skip() {
  reasons[-1]=$*
  echo "SKIPPED: ${names[-1]}: $*"
}

fail() {
  failures[-1]+="$*"$'\n'
  echo "FAILED: ${names[-1]}: $*"
}

escaped() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g' <<<"$1" | tr -cd '\11\12\40-\176'; }

write_results() {
  local i
  echo '<?xml version="1.0" encoding="UTF-8"?>'
  echo "<testsuites><testsuite name=\"$1\">"
  for i in "${!names[@]}"; do
    echo "<testcase name=\"$(escaped "${names[i]}")\" classname=\"$1\">"
    [[ -z ${reasons[i]} ]] || echo "<skipped message=\"$(escaped "${reasons[i]}")\"></skipped>"
    [[ -z ${failures[i]} ]] || echo "<failure message=\"$(escaped "${failures[i]}")\"></failure>"
    echo '</testcase>'
  done
  echo '</testsuite></testsuites>'
}

need_finish() {
  [[ $is_finished ]] || { echo "FAILED: the test ended without finish" && exit 1; }
}

# finish [SUITE]
finish() {
  local failure failed=0
  for failure in "${failures[@]}"; do
    [[ -z $failure ]] || failed=$((failed + 1))
  done
  [[ -z ${XML_OUTPUT_FILE:-} ]] || write_results "${1:-cli}" >"$XML_OUTPUT_FILE"
  echo "${#names[@]} cases, $failed failed"
  is_finished=1
  exit $((failed > 0))
}
