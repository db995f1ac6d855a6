#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the cpu backend makes of compilers: of none, of one that fails, hangs or lies, of folders that cannot be written,
# of two processes at once. The answers are right in any case, and the line `code` says what was done.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

export OMP_NUM_THREADS=1 TESSERA_CC_ITEMS=0
unset TESSERA_CC # with which the other tests forbid compilers
recipe=(run "$specs/u64_map.ini" --set table.backend=cpu --set table.capacity=1000)
awk 'BEGIN { for (i = 1; i <= 500; i++) print i * 77 "\t" i }' >"$work/pairs.tsv"
cut -f 1 "$work/pairs.tsv" >"$work/queries.tsv"

# answers PATTERN: inserts and finds; the answers are right, and the line `code` matches.
answers() {
  rm -f "$work/answers.tsv"
  run "${recipe[@]}" --insert "$work/pairs.tsv" --find "$work/queries.tsv" --out "$work/answers.tsv"
  expect_status 0
  expect_out "^code +$1"
  cmp "$work/pairs.tsv" "$work/answers.tsv" || fail "other answers: $(head -n 3 "$work/answers.tsv")"
  [[ -z $(find "$TMPDIR" -mindepth 1) ]] || fail "left in $TMPDIR: $(find "$TMPDIR")"
}

# compiler LINE... : a script in the compiler's place, which says its version like one.
compiler() {
  # shellcheck disable=SC2016
  printf '%s\n' '#!/bin/bash' '[[ $1 != --version ]] || { echo "cc of paper 1.0"; exit 0; }' \
    'while (($#)); do [[ $1 != -o ]] || out=$2; shift; done' "$@" >"$work/paper_cc"
  chmod +x "$work/paper_cc"
  export TESSERA_CC=$work/paper_cc
}

export TMPDIR=$work/scratch
mkdir -p "$TMPDIR"

case_of "the system's compiler, and then the cache"
answers 'fused: insert, find'
answers 'fused: insert \(cached\), find \(cached\)'
[[ $(stat -c %a "$XDG_CACHE_HOME/tessera") == 700 ]] || fail "others may look into the cache"

case_of "a damaged entry of the cache is made again"
for entry in "$XDG_CACHE_HOME"/tessera/*.code; do printf 'x' | dd of="$entry" bs=1 seek=3000 conv=notrunc status=none; done
answers 'fused: insert, find'
answers 'fused: insert \(cached\), find \(cached\)'

case_of "other flags of the user's compiler are another entry"
compiler 'exec cc "$@"' # its words about itself differ
sed -i "s/while.*//" "$work/paper_cc"
answers 'fused: insert, find'
unset TESSERA_CC

case_of "small tables are not compiled"
TESSERA_CC_ITEMS=100000 answers 'function tables, as there was little to do'
TESSERA_CC_ITEMS=500 answers 'fused: insert'

case_of "small tables use what was compiled before, from 32768 items on"
awk 'BEGIN { for (i = 1; i <= 40000; i++) print i * 77 "\t" i }' >"$work/pairs.tsv"
cut -f 1 "$work/pairs.tsv" >"$work/queries.tsv"
few=("${recipe[@]}") cache=$XDG_CACHE_HOME
recipe+=(--set table.capacity=100000) XDG_CACHE_HOME=$work/middle
TESSERA_CC_ITEMS=262144 answers 'function tables, as there was little to do'
answers 'fused: insert, find'
TESSERA_CC_ITEMS=262144 answers 'fused: insert \(cached\), find \(cached\)'
TESSERA_CC_ITEMS=1000000 answers 'function tables, as there was little to do'
recipe=("${few[@]}") XDG_CACHE_HOME=$cache
head -n 500 "$work/pairs.tsv" >"$work/few.tsv" && mv "$work/few.tsv" "$work/pairs.tsv"
cut -f 1 "$work/pairs.tsv" >"$work/queries.tsv"

case_of "nobody waits for a compiler, and the next process finds what it has made"
compiler 'sleep 1' 'exec cc "$@"'
sed -i "s/while.*//" "$work/paper_cc"
XDG_CACHE_HOME=$work/beside TESSERA_CC_ITEMS=500 answers 'function tables; a compiler works on 2 more'
XDG_CACHE_HOME=$work/beside answers 'fused: insert \(cached\), find \(cached\)'
unset TESSERA_CC

if [[ $(uname -m) == x86_64 ]]; then
  case_of "code for processors without AVX2 is used where there is no other"
  TESSERA_CC=cc run link "$specs/u64_map.ini" --set table.backend=cpu --all --arch cpu-v2 -o "$work/older"
  expect_status 0
  [[ $(ls "$work/older/fused") == v2 ]] || fail "made $(ls "$work/older/fused")"
  own=$TESSERA_PLUGINS
  TESSERA_PLUGINS=$own:$work/older TESSERA_CC='' answers 'fused: insert \(ahead\), find \(ahead\)'
  ! objdump -d "$work/older/fused/v2/"*.so | grep -qm 1 '%ymm' || fail "it has registers of AVX"
  run link "$specs/u64_map.ini" --set table.backend=cpu --arch cpu-v1
  expect_status 2
fi

case_of "TESSERA_CC is empty"
TESSERA_CC='' answers 'function tables: TESSERA_CC is empty'

case_of "no compiler"
TESSERA_CC=/nowhere/cc answers 'function tables: /nowhere/cc cannot be run: No such file'
mkdir -p "$work/empty"
program=$tessera tessera=$work/without_path
printf '#!/bin/bash\nPATH=%s exec "%s" "$@"\n' "$work/empty" "$program" >"$tessera"
chmod +x "$tessera"
answers 'function tables: cc cannot be run: No such file'
tessera=$program

export XDG_CACHE_HOME=$work/other # from here on nothing is found there
case_of "a compiler that fails"
compiler 'echo "unit.c:1: is not to its taste" >&2' 'echo "nor is line 2" >&2' 'exit 1'
answers "function tables: .*cc failed: unit.c:1: is not to its taste$"

case_of "a compiler that dies"
compiler 'kill -SEGV $$'
answers 'function tables: .*cc failed: it did not say why$'

case_of "a compiler that leaves nothing behind"
compiler 'exit 0'
answers 'function tables: .*cc left no code behind$'

case_of "a compiler that makes something else"
compiler 'echo garbage >"$out"'
answers 'function tables: what the compiler has made cannot be loaded: '
compiler 'echo "int other;" | cc -shared -x c - -o "$out"'
answers 'function tables: what the compiler has made cannot be loaded: .*tsr_fused_range'

case_of "a compiler that hangs, and its children, are ended"
compiler 'sleep 600 & echo $! >"'"$work"'/child"' 'wait'
began=$SECONDS
answers 'function tables: .*cc took more than 20 seconds$'
((SECONDS - began < 60)) || fail "it took $((SECONDS - began)) seconds"
! kill -0 "$(cat "$work/child")" 2>/dev/null || fail "its child is still there"
unset TESSERA_CC

case_of "a cache that cannot be used"
echo none >"$work/file"
XDG_CACHE_HOME=$work/file answers 'fused: insert, find'
mkdir -p "$work/open/tessera"
chmod 777 "$work/open/tessera"
XDG_CACHE_HOME=$work/open answers 'fused: insert, find'
XDG_CACHE_HOME=$work/open answers 'fused: insert, find' # nothing was put there, where others may write
[[ -z $(ls "$work/open/tessera") ]] || fail "code is where others may write"

case_of "a folder for scratch files that is not there"
TMPDIR=$work/nowhere run "${recipe[@]}" --insert "$work/pairs.tsv"
expect_status 0
expect_out "^code +function tables: no folder can be made in $work/nowhere: No such file or directory; TMPDIR may name another"

case_of "processes at once, with an empty cache"
for i in 1 2 3 4; do
  XDG_CACHE_HOME=$work/shared "$tessera" "${recipe[@]}" --insert "$work/pairs.tsv" --find "$work/queries.tsv" \
    --out "$work/answers$i.tsv" >"$work/report$i" 2>&1 &
done
wait
for i in 1 2 3 4; do
  cmp "$work/pairs.tsv" "$work/answers$i.tsv" || fail "process $i has other answers"
  grep -q '^code     fused: insert' "$work/report$i" || fail "process $i: $(cat "$work/report$i")"
done
XDG_CACHE_HOME=$work/shared answers 'fused: insert \(cached\), find \(cached\)'

finish
