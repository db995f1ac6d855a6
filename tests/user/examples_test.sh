#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The example programs on the cpu backend: kernels and bulk calls give what their oracles expect.

examples=$PWD/examples
# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"
unset TESSERA_CC # with which the other tests forbid compilers
export CUDA_VISIBLE_DEVICES=

# right NAME ITEMS WORDS: both ways are right.
right() {
  case_of "$1 of $2 items"
  "$examples/$1_program" --times "$2" "$examples/$1" >"$work/out" 2>"$work/err" || fail "$(cat "$work/out" "$work/err")"
  [[ $(grep -c "all $3 are right" "$work/out") == 2 ]] || fail "$(cat "$work/out")"
}

right kmers 100000 counts
right kmers 64 counts
right join_sum 100000 sums
right filtered 100000 answers

# agrees NAME ITEMS: so says the oracle.
agrees() {
  case_of "$1 of $2 items"
  "$examples/$1_program" --times "$2" "$examples/$1" >"$work/out" 2>"$work/err" || fail "$(cat "$work/out" "$work/err")"
  grep -q 'the oracle agrees$' "$work/out" || fail "$(cat "$work/out")"
}

agrees sessions 20000
agrees sessions 100
agrees relabel 50000
agrees relabel 64
agrees dictionary 100000
agrees voxels 100000
agrees voxels 64

case_of "a folder without kernels is refused with a sentence"
"$examples/kmers_program" "$work" >"$work/out" 2>"$work/err" && fail "it succeeded"
grep -q "kmers.cu cannot be read" "$work/err" || fail "$(cat "$work/err")"

finish
