#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every output of tessera run appears whole or not at all, whatever happens: a full disk, signals at any moment as well
# little memory. Read next: ../soak/soak.sh, which tries it for an hour.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)

cd "$work" || exit 1
printf '1 10\n2 20\n3 30\n' >pairs.tsv
printf '1\n9\n' >queries.tsv
cp "$specs/quickstart.ini" spec.ini

case_of "a full disk leaves the old files and no temporary one"
full=(run spec.ini "${cpu[@]}" --set table.capacity=100000 --insert pairs.tsv --find queries.tsv)
mkdir -p disk
for option in --save --out --json; do
  echo old >disk/file
  (
    trap '' XFSZ # a limit on files' sizes stands in for a full disk
    ulimit -f 0
    exec "$tessera" "${full[@]}" "$option" disk/file
  ) 2>&1 >/dev/null | cat >"$work/err"
  grep -q 'disk/file: .*cannot be written: File too large' err || fail "$option: said $(cat err)"
  [[ $(cat disk/file) == old && $(ls -A disk) == file ]] || fail "$option left: $(ls -A disk)"
done

case_of "so does a file system that is full"
if unshare -rm true 2>/dev/null; then
  for option in --save --out --json; do
    name=big
    [[ $option == --save ]] || name=small # rows and objects are small: the rest of the disk is taken
    # shellcheck disable=SC2016 # the inner shell expands
    unshare -rm bash -c 'mount -t tmpfs -o size=256k none disk && echo old >disk/file || exit 9
      [[ $1 == big ]] || head -c 252k /dev/zero >disk/other 2>/dev/null
      shift
      "$@" >/dev/null 2>err
      echo "$? $(cat disk/file) $(ls -A disk | grep -v other)" >left' _ "$name" "$tessera" "${full[@]}" "$option" disk/file
    [[ $(cat left) == "1 old file" ]] || fail "$option: status, contents and files: $(cat left)"
    expect_line err 'disk/file: .*cannot be written: No space left on device'
  done
else
  echo "no file system can be mounted here: not tried"
fi

# What is slow enough to be interrupted: a table of 10 MB is saved.
big=(run spec.ini "${cpu[@]}" --set table.capacity=1M --insert pairs.tsv --save disk/table.tsr --out disk/rows.tsv --find queries.tsv)

# whole FILE: the saved table can be loaded and answers.
whole() {
  run run spec.ini "${cpu[@]}" --set table.capacity=1M --load "$1" --find queries.tsv
  ((status == 0)) || fail "$1 is damaged: $(cat err)"
  expect_out ' 2 queries: 1 found, 1 missing$'
}

# ends_by SIGNAL: the job is ended at some moment, many times; what it would replace is old or new and whole, and
# nothing else is there. An end that it comes to by itself counts as well. Only between the two steps by which a new
# file replaces an old one may KILL leave it, whole, under a name of its own (core/spec/file.h).
ends_by() {
  local i process left end=
  for ((i = 0; i < 10; i++)); do
    rm -f disk/rows.tsv
    env --default-signal=INT "$tessera" "${big[@]}" >/dev/null 2>&1 & # in the background bash ignores INT
    process=$!
    # a shell that has not become the program yet would clean up as this one does
    until [[ ! -e /proc/$process || $(cat "/proc/$process/comm" 2>/dev/null) == tessera ]]; do :; done
    sleep "0.$(printf %03d $((i * 20)))"
    kill -s "$1" $process 2>/dev/null
    wait $process 2>/dev/null
    end+=" $?"
    left=disk/table.tsr.$process.0.tmp
    if [[ $1 == KILL && -e $left ]]; then
      whole "$left"
      rm "$left"
    fi
    [[ $(ls -A disk) == table.tsr || $(ls -A disk) == $'rows.tsv\ntable.tsr' ]] || fail "$1 left: $(ls -A disk)"
    [[ ! -e disk/rows.tsv || $(cat disk/rows.tsv) == $'1\t10\n9\t-' ]] || fail "$1 left half of the rows"
    whole disk/table.tsr
  done
  [[ $end == *" $2"* ]] || fail "$1 came too late each time: $end"
}

case_of "whatever ends the program, a file is the old one or the new one, and whole"
rm -f disk/*
run "${big[@]}"
expect_status 0
ends_by INT 130
ends_by TERM 143
ends_by KILL 137

# ended_soon PROCESS: waits for it, as long as a busy machine may take but not as long as the job would.
ended_soon() {
  local tries
  for ((tries = 0; tries < 1000; tries++)); do
    [[ -e /proc/$1 ]] || break
    [[ $(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null) != Z ]] || break
    sleep 0.02
  done
  ((tries < 1000)) || fail "did not end: $(cat err)"
  ((tries < 1000)) || kill -KILL "$1"
  code=0
  wait "$1" || code=$?
}

# Jobs that take minutes: joins of one key, a batch, measuring.
awk 'BEGIN { for (i = 0; i < 100000; i++) print 7, i }' >equal.tsv
{ sed '/^\[table\]/,$!d' "$specs/quickstart.ini" && printf '[sweep]\nprobing.hash_functions = 2..3\n[bench]\nn = 2^25\nrepeat = 99\n'; } >sweep.ini
long_jobs=(
  "run $specs/u64_map.ini --set table.kind=multimap --set table.capacity=1M --insert equal.tsv --find equal.tsv --out disk/rows.tsv"
  "join equal.tsv equal.tsv --out disk/rows.tsv"
  "bench $specs/quickstart.ini --n 2^26 --repeat 99 --out disk/rows.csv"
  "sweep sweep.ini --csv disk/rows.csv"
)

case_of "Ctrl-C and SIGTERM end a long job at once, wherever it is, and nothing is left"
mkdir -p scratch
rm -f disk/*
moments=(0.05 0.3 1.1 2.3)
stopped=0
for i in "${!long_jobs[@]}"; do
  read -ra words <<<"${long_jobs[i]}"
  for signal in INT TERM; do
    moment=${moments[((RANDOM % ${#moments[@]}))]}
    rm -f disk/*
    TMPDIR=$work/scratch env --default-signal=INT "$tessera" "${words[@]}" "${cpu[@]}" >/dev/null 2>err &
    process=$!
    until [[ ! -e /proc/$process || $(cat "/proc/$process/comm" 2>/dev/null) == tessera ]]; do :; done
    sleep "$moment"
    kill -s $signal $process 2>/dev/null
    ended_soon $process
    ((code != 0 && code != 1)) || continue # it came to its end by itself: there was memory for its rows, or not
    stopped=$((stopped + 1))
    ((code == ($(kill -l $signal) + 128))) || fail "${words[0]}, SIG$signal after $moment s: status $code: $(cat err)"
    [[ ! -s err ]] || grep -q 'tessera: stopped by ' err || fail "${words[0]}: said: $(cat err)" # it may have only begun
    [[ ! $(ls -A scratch) ]] || fail "${words[0]}: left $(ls -A scratch)"
    [[ $(ls -A disk) == rows.csv || ! $(ls -A disk) ]] || fail "${words[0]}: left $(ls -A disk)"
  done
done
rm -f disk/*
((stopped >= 4)) || fail "only $stopped jobs were long enough"

case_of "SIGTERM while code is compiled ends the compiler and all that it started, and leaves no scratch files"
printf '#!/bin/sh\n: >$TMPDIR/mine\nsleep 1000 &\necho $! >%s/child\nwait\n' "$work" >slow_cc && chmod +x slow_cc
TMPDIR=$work/scratch TESSERA_CC=$work/slow_cc TESSERA_CC_ITEMS=0 "$tessera" "${big[@]}" 2>err >/dev/null &
process=$!
until [[ -s child || ! -e /proc/$process ]]; do sleep 0.02; done
[[ $(ls -A scratch) ]] || fail "nothing was compiled: $(cat err)"
kill -s TERM $process
ended_soon $process
((code == 143)) || fail "status $code"
grep -q 'stopped by SIGTERM' err || fail "said: $(cat err)"
[[ ! $(ls -A scratch) ]] || fail "left $(ls -A scratch)"
for ((i = 0; i < 500; i++)); do kill -0 "$(cat child)" 2>/dev/null || break; sleep 0.02; done
! kill -0 "$(cat child)" 2>/dev/null || [[ $(awk '{ print $3 }' "/proc/$(cat child)/stat") == Z ]] || fail "the compiler's child works on"

case_of "SIGKILL while code is compiled leaves scratch files, and the next run removes them, but not those in use"
rm -f child
TMPDIR=$work/scratch TESSERA_CC=$work/slow_cc TESSERA_CC_ITEMS=0 "$tessera" "${big[@]}" >/dev/null 2>&1 &
process=$!
until [[ -s child || ! -e /proc/$process ]]; do sleep 0.02; done
kill -KILL $process
wait $process 2>/dev/null
kill -KILL -- "-$(awk '{ print $5 }' "/proc/$(cat child)/stat")" # the group of the compiler, which works on
left=$(ls -A scratch)
[[ $left == tessera-compiler-* ]] || fail "left $left"
mkdir -m 0700 scratch/tessera-compiler-in_use scratch/tessera-compiler-another_name
exec {held}<scratch/tessera-compiler-in_use && flock $held
TMPDIR=$work/scratch TESSERA_CC=cc TESSERA_CC_ITEMS=0 run "${big[@]}"
expect_status 0
exec {held}<&-
for name in $left; do [[ ! -e scratch/$name ]] || fail "$name is still there"; done
[[ -e scratch/tessera-compiler-in_use ]] || fail "what another process works in was removed"
[[ -e scratch/tessera-compiler-another_name ]] || fail "a folder of the user's was removed"
rm -rf scratch/*

case_of "too little memory fails with a sentence and writes nothing"
rm -f disk/*
for megabytes in 100 200 400; do
  (
    ulimit -v $((megabytes * 1024))
    exec "$tessera" "${big[@]}" --set table.capacity=100M
  ) >/dev/null 2>err
  code=$?
  ((code == 1)) || fail "$megabytes MB: status $code: $(cat err)"
  grep -q 'cannot allocate [0-9]* bytes of this machine' err || fail "$megabytes MB: said $(cat err)"
  [[ ! $(ls -A disk) ]] || fail "$megabytes MB: left $(ls -A disk)"
done

case_of "without memory for a larger table every pair is in the table or handed back, and the program says so"
seq 1 10200000 >many.txt
(
  ulimit -v $((780 * 1024))
  OMP_NUM_THREADS=2 exec "$tessera" run spec.ini "${cpu[@]}" --set table.growth=double --set table.load_factor=0.99 \
    --set table.capacity=10M --insert many.txt --value one --unplaced left.tsv --export pairs_in.tsv --quiet
) >out 2>err
code=$?
((code == 3)) || fail "status $code: $(cat err)"
left=$(wc -l <left.tsv)
((left > 0)) || fail "every pair found room"
expect_err "$left of 10200000 pairs found no room in the table's [0-9]* slots: there is no memory to double it"
[[ $(cut -f 1 left.tsv pairs_in.tsv | awk '{ sum += $1 } END { printf "%d %.0f", NR, sum }') == \
  $(awk '{ sum += $1 } END { printf "%d %.0f", NR, sum }' many.txt) ]] || fail "other pairs than were inserted"
rm -f many.txt left.tsv pairs_in.tsv

case_of "counting takes the memory of its table and of a few chunks, however long the file is"
# 20 million k-mers, which alone would take 160 MB, beside the 650 MB that the program and a table of 46 MB need
awk 'BEGIN {
  seed = 5
  for (i = 0; i < 12500; i++) {
    line = ""
    for (k = 0; k < 80; k++) { seed = seed * 16807 % 2147483647; line = line substr("ACGT", 1 + int(seed / 65536) % 4, 1) }
    genome = genome line "\n"
  }
  for (i = 0; i < 20; i++) printf ">%d\n%s", i, genome
}' >long.fa
(
  ulimit -v $((740 * 1024))
  OMP_NUM_THREADS=2 exec "$tessera" count long.fa --kmers 21 --set table.backend=cpu --set table.capacity=2M --quiet
) >histogram 2>err || fail "status $?: $(cat err)"
[[ $(awk '{ sum += $1 * $2 } END { print sum }' histogram) == $((20 * 999980)) ]] || fail "other counts: $(head histogram)"

case_of "a table larger than any memory is refused with a sentence"
run run spec.ini "${cpu[@]}" --set table.capacity=2^40 --insert pairs.tsv --save disk/table.tsr
expect_status 1
expect_err 'cannot allocate [0-9]* bytes of this machine'
[[ ! $(ls -A disk) ]] || fail "left $(ls -A disk)"

case_of "columns that are too large together are refused before one is touched"
kilobytes=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
columns=(run spec.ini "${cpu[@]}" --set table.layout=soa --set table.probing=linear --set table.load_factor=1)
# two columns of 4 bytes a slot, each three fifths of the memory
run "${columns[@]}" --set "table.capacity=$((kilobytes * 1024 * 3 / 20))" --insert pairs.tsv --save disk/table.tsr
expect_status 1
expect_err "cannot allocate [0-9]* bytes of this machine's [0-9]*, beside [0-9]{9,} that are in use"
[[ ! $(ls -A disk) ]] || fail "left $(ls -A disk)"

finish
