# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of the program share: cases (../cases.sh), and what they expect. A test runs the program by
# `run ARGUMENTS...` and ends with `finish`.

set -uo pipefail

tessera=$PWD/tools/cli/tessera
specs=$PWD/specs
plugin_folders=$PWD/layouts:$PWD/probing:$PWD/hashers:$PWD/allocators:$PWD/eviction
work=$(mktemp -d /tmp/tessera-test.XXXXXX) # below no checkout, unlike TEST_TMPDIR
trap 'rm -rf "$work" && need_finish' EXIT
export TESSERA_PLUGINS=$plugin_folders TESSERA_SPECS=$specs TESSERA_SDK=$PWD XDG_CACHE_HOME=$work/cache
unset TESSERA_COMMAND TESSERA_DEMO_GENOME TESSERA_DEMO_PHAGE

# shellcheck source-path=SCRIPTDIR source=../cases.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cases.sh"

case_of() {
  open_case "$1"
  cd "$work" || exit 1
}

# Leaves the exit status in `status` and the outputs in the files out and err.
run() {
  status=0
  command_line=$*
  "$tessera" "$@" >"$work/out" 2>"$work/err" || status=$?
}

expect_status() {
  ((status == $1)) || fail "tessera $command_line: status $status instead of $1: $(cat "$work/err")"
}

# expect_out PATTERN, expect_err PATTERN: an extended regular expression that a line must match.
expect_out() { expect_line "$work/out" "$1"; }
expect_err() { expect_line "$work/err" "$1"; }
expect_line() { grep -Eq -- "$2" "$1" || fail "tessera $command_line: no line with '$2' in: $(cat "$1")"; }

# expect_rows FILE ROW...: the file's lines, with single spaces for tabs.
expect_rows() {
  local file=$1 got
  shift
  got=$(tr '\t' ' ' <"$file" 2>&1)
  [[ $got == "$(printf '%s\n' "$@")" ]] || fail "tessera $command_line: $file holds: $got"
}

# refuses PATTERN ARGUMENTS...: status 2, nothing but sentences on standard error, the last one matching.
# fails PATTERN ARGUMENTS...: the same with status 1, of what the input holds.
refuses() { stops 2 "$@"; }
fails() { stops 1 "$@"; }
stops() {
  local wanted=$1 pattern=$2
  shift 2
  run "$@"
  expect_status "$wanted"
  [[ ! -s $work/out ]] || fail "tessera $command_line: wrote to standard output: $(cat "$work/out")"
  ! grep -v '^tessera: ' "$work/err" || fail "tessera $command_line: says more than sentences"
  tail -n 1 "$work/err" | grep -Eq -- "$pattern" || fail "tessera $command_line: said: $(cat "$work/err")"
}
