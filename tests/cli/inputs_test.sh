#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What tessera run reads, while it works: pipes, standard input, files larger than its chunks, files that are wrong far
# inside; Ctrl-C; and that memory does not grow with the input.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)
cd "$work" || exit 1
adds=(run "$specs/quickstart.ini" "${cpu[@]}" --set table.duplicates=add)
sed '/^capacity/d' "$specs/quickstart.ini" >open.ini
open=(run open.ini "${cpu[@]}" --set table.duplicates=add)

# More than one chunk of 2^21 keys, and more than the three that are read ahead; 1000 keys are different.
awk 'BEGIN { for (i = 0; i < 2200000; i++) print i % 1000 }' >two.tsv
cat two.tsv two.tsv two.tsv >long.tsv
seq 0 999 | sed 's/$/\t2200/' >expected.tsv

case_of "a file of more than one chunk, and a table that begins small"
run "${adds[@]}" --set table.capacity=10 --insert two.tsv --value one --find expected.tsv --out rows.tsv
expect_status 0
cmp rows.tsv expected.tsv || fail "other counts"
expect_out ' 2200000 items: 1000 inserted, 2199000 present, 0 not placed$'

case_of "rows of several chunks come in their order"
run "${adds[@]}" --insert expected.tsv --find two.tsv --out - --quiet
expect_status 0
awk '{ print $1 "\t2200" }' two.tsv | cmp out - || fail "other rows"

case_of "a capacity that is not said is that of the input, or what a growing table begins with"
run "${open[@]}" --insert expected.tsv
expect_out 'capacity 1000, the size of the input$'
run "${open[@]}" --insert long.tsv --value one
expect_status 0
expect_out 'capacity 6[0-9]{6}, expected of the input, and it grows$'
run "${open[@]}" --insert long.tsv --value one --on-full report
expect_status 0
expect_out 'capacity 6600000, the size of the input$'
"$tessera" "${open[@]}" --insert - --value one <expected.tsv >out 2>err || fail "standard input: $(cat err)"
expect_out 'capacity 1000, the size of the input$'
tail -n +1 two.tsv | "$tessera" "${open[@]}" --insert - --value one --find expected.tsv --out rows.tsv >out 2>err ||
  fail "a pipe: $(cat err)"
cmp rows.tsv expected.tsv || fail "other counts from a pipe"
tail -n +1 long.tsv | "$tessera" "${open[@]}" --insert - --value one --on-full report >out 2>err &&
  fail "it knew the size of a pipe"
expect_err 'standard input: its size is not known|: its size is not known before it is read'

case_of "compressed files, of several streams, padded, by any name and from standard input"
awk 'BEGIN { seed = 3; for (i = 0; i < 50000; i++) { seed = seed * 16807 % 2147483647; print seed "\t" i } }' >noise.tsv
for tool in gzip bzip2 xz zstd; do
  command -v $tool >/dev/null || continue
  ending=$(case $tool in gzip) echo GZ ;; bzip2) echo bz2 ;; xz) echo Xz ;; zstd) echo zSt ;; esac)
  { head -n 500 expected.tsv | $tool -c && tail -n +501 expected.tsv | $tool -c && head -c 512 /dev/zero; } >"packed.TSV.$ending"
  run "${adds[@]}" --insert "packed.TSV.$ending" --export all.tsv --sorted
  expect_status 0
  cmp all.tsv expected.tsv || fail "$tool: other pairs"
  "$tessera" "${adds[@]}" --insert - --export all.tsv --sorted <"packed.TSV.$ending" >out 2>err || fail "$tool: $(cat err)"
  cmp all.tsv expected.tsv || fail "$tool: other pairs from standard input"
  $tool -c noise.tsv | head -c 50000 >"cut.tsv.$ending"
  run "${adds[@]}" --insert "cut.tsv.$ending"
  expect_status 1
  expect_err "cut.tsv.$ending: ends in the middle of its $tool data, behind byte [0-9]+ of its text"
  { $tool -c noise.tsv | head -c 20000 && head -c 20000 /dev/zero && $tool -c noise.tsv | tail -c +40001; } >"bad.tsv.$ending"
  run "${adds[@]}" --insert "bad.tsv.$ending"
  expect_status 1 # what it is told by may be its text
  cp expected.tsv "plain.tsv.$ending"
  run "${adds[@]}" --insert "plain.tsv.$ending"
  expect_status 1
  expect_err "plain.tsv.$ending: is not $tool or is damaged behind byte 0 of its text"
done
echo 1 >x.tsv.lz4
refuses "'x.tsv.lz4': .*\. For other compressions pipe the text in: .lz4 -dc FILE" "${adds[@]}" --insert x.tsv.lz4

case_of "pipes are opened when it is their turn"
mkfifo first.tsv second.tsv
(cat expected.tsv >first.tsv && cut -f 1 expected.tsv >second.tsv) &
writer=$!
run "${adds[@]}" --insert first.tsv --find second.tsv --out rows.tsv
expect_status 0
cmp rows.tsv expected.tsv || fail "other rows"
wait $writer

case_of "a pipe without a name that tells holds what standard input would"
run "${adds[@]}" --insert <(gzip -c expected.tsv) --find <(cut -f 1 expected.tsv) --out rows.tsv
expect_status 0
cmp rows.tsv expected.tsv || fail "other rows"

case_of "an array is not written to a pipe"
mkfifo array.npy
cat array.npy >/dev/null &
run "${adds[@]}" --insert expected.tsv --find expected.tsv --out array.npy
expect_status 1
expect_err 'array.npy: an array must go to a regular file, because its header has the number of rows'
wait $!

case_of "standard input is read once"
refuses '-: standard input is named twice' "${adds[@]}" --insert - --find -

case_of "what is wrong is told, however far inside, and nothing is written"
{ cat two.tsv && echo 'x'; } >late.tsv
run "${adds[@]}" --insert late.tsv --value one --find expected.tsv --out rows.late --save t.tsr --unplaced u.tsv
expect_status 1
expect_err "late.tsv:2200001: the key 'x' is no whole number"
[[ ! -e rows.late && ! -e t.tsr && ! -e u.tsv ]] || fail "it wrote $(ls)"
printf '1 1\nx\n' >early.tsv
run "${adds[@]}" --insert expected.tsv --find early.tsv
expect_status 1
[[ ! -s out ]] || fail "it began before it was told: $(cat out)"

case_of "Ctrl-C says what was done, and nothing is written"
mkfifo endless.tsv
env --default-signal=INT "$tessera" "${adds[@]}" --insert expected.tsv --insert endless.tsv --save t.tsr --out rows.endless \
  --find expected.tsv >out 2>err &
working=$!
{
  for ((i = 0; i < 2200; i++)); do cat expected.tsv; done
  sleep 1
  kill -INT $working
  wait $working
  status=$?
} >endless.tsv
((status == 130)) || fail "status $status"
grep -q 'stopped by Ctrl-C' err || fail "said: $(cat err)"
[[ ! -e t.tsr && ! -e rows.endless ]] || fail "it wrote $(ls)"

case_of "where threads are limited there are fewer"
seq 1 200000 | sed 's/$/ 1/' >pairs.tsv
for limit in 250000 400000 2000000; do # kilobytes of addresses; a thread's stack takes 8 MB
  (ulimit -s 8192 -v $limit && OMP_NUM_THREADS=64 exec "$tessera" "${adds[@]}" --set table.capacity=400000 --insert pairs.tsv \
    --find pairs.tsv) >out 2>err || grep -q '^tessera: no ' err || fail "$limit kB: $(cat err)"
  ! grep -q 'Thread creation failed' err || fail "$limit kB: $(cat err)"
  ((limit != 400000)) || grep -qE '^code .*; [0-9]+ threads? instead of 64, since no more could be started$|^tessera: no ' out err ||
    fail "it does not say how many threads there are: $(cat out err)"
done
expect_out ' 200000 queries: 200000 found'

case_of "memory does not grow with the input"
# most FILE WORDS...: the most memory of a job that inserts it and does what the words say, in kB
most() {
  local process kilobytes=0 now
  "$tessera" run "$specs/u64_map.ini" "${cpu[@]}" --set table.capacity=1000 --on-full report --insert "$@" >out 2>err &
  process=$!
  while kill -0 $process 2>/dev/null; do
    now=$(awk '/^VmHWM/ { print $2 }' "/proc/$process/status" 2>/dev/null)
    ((${now:-0} <= kilobytes)) || kilobytes=$now
    sleep 0.02
  done
  wait $process || fail "status $?: $(cat err)"
  echo "$kilobytes"
}
truncate -s 64M short.u64 # keys 0, in files without blocks
truncate -s 128M twice.u64
short=$(most short.u64) twice=$(most twice.u64)
((short > 0 && twice < short + 64 * 1024)) || fail "$short kB for 8M keys, $twice kB for 16M, which with their values have 128 MB more"

case_of "nor with the number of files, of which one is open at a time"
many=()
for ((i = 0; i < 500; i++)); do
  echo "$i $i" >"many.$i.tsv"
  many+=(--insert "many.$i.tsv" --find "many.$i.tsv")
done
few=$(most many.0.tsv) all=$(most many.0.tsv "${many[@]}")
expect_out 'size +500 '
((all < few + 8 * 1024)) || fail "$few kB for a file, $all kB for a thousand"
(ulimit -n 48 && exec "$tessera" "${adds[@]}" --set table.capacity=1000 "${many[@]}") >out 2>err || fail "with 48 open files at most: $(cat err)"
refuses "'missing.tsv': cannot be opened" "${adds[@]}" --insert expected.tsv --find missing.tsv

finish
