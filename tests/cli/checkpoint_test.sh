#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera run --every and --resume: a job that is killed at any moment goes on from its last checkpoint, and in the end its
# table is what it would have been. Counts show a key that is inserted twice. CHECKPOINT_KILLS=200 kills it more often.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

kills=${CHECKPOINT_KILLS:-12}
cd "$work" || exit 1
seq 1 3 600000 >one.txt
seq 1 2 600000 >two.txt
seq 5 10 600000 >gone.txt
job=(run "$specs/best_count.ini" --set table.backend=cpu --set table.capacity=500K --quiet)
for ((i = 0; i < 6; i++)); do job+=(--insert one.txt --insert two.txt --erase gone.txt); done

case_of "the job that nobody kills leaves its table alone"
run "${job[@]}" --save whole.tsr --export whole.tsv --sorted
expect_status 0
began=${EPOCHREALTIME/./}
run "${job[@]}" --save every.tsr --every 0.001s --export every.tsv --sorted
milliseconds=$(((${EPOCHREALTIME/./} - began) / 1000))
expect_status 0
cmp whole.tsv every.tsv || fail "other counts with --every"
[[ -z $(compgen -G 'every.tsr.at.*') ]] || fail "a checkpoint is left"

case_of "what has not changed is not written again"
seq 1 5000000 >looked.txt
run run "$specs/best_count.ini" --set table.backend=cpu --set table.capacity=500K --insert one.txt --find looked.txt --find looked.txt \
  --find looked.txt --find looked.txt --find looked.txt \
  --save finds.tsr --every 0.001s
expect_status 0
read -r _ checkpoints _ _ bytes _ _ _ written _ < <(grep ' checkpoints, of ' err)
((checkpoints > 2 && written < bytes * 3 / 4)) || # the first two are written as a whole
  fail "$(cat err)"
[[ -z $(compgen -G 'finds.tsr.at.*') ]] || fail "a checkpoint is left"

# begin OPTION...: starts the job behind, whose process is $!.
begin() { "$tessera" "${job[@]}" --every 0.01s --save killed.tsr --resume "$@" >out 2>err & }

# The furthest checkpoint as one number.
furthest() {
  local name best=0 step keys
  for name in killed.tsr.at.*.*; do # not the one that was being written
    [[ -e $name ]] || continue
    IFS=. read -r _ _ _ step keys <<<"$name"
    ((step * 100000000 + keys < best)) || best=$((step * 100000000 + keys))
  done
  echo "$best"
}

case_of "killed at any moment, it goes on, and nothing is counted twice or lost"
before=0 jobs=0 resumed=0
for ((i = 0; i < kills; i++)); do
  begin
  wait_ms=$(((RANDOM * 32768 + RANDOM) % milliseconds))
  sleep "$((wait_ms / 1000)).$(printf '%03d' $((wait_ms % 1000)))"
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  if [[ -e killed.tsr ]]; then # it was done: the next one begins again
    run run "$specs/best_count.ini" --set table.backend=cpu --set table.capacity=500K --quiet --load killed.tsr \
      --export killed.tsv --sorted
    cmp whole.tsv killed.tsv || fail "kill $i: other counts"
    rm -f killed.tsr killed.tsr.at.*
    before=0
    jobs=$((jobs + 1))
  fi
  after=$(furthest)
  ((after >= before)) || fail "kill $i: was at $before, and is at $after"
  ((after == 0)) || resumed=$((resumed + 1))
  before=$after
done
begin --export killed.tsv --sorted
wait $!
[[ $? == 0 ]] || fail "it ended with $?: $(cat err)"
cmp whole.tsv killed.tsv || fail "other counts after $kills kills"
[[ -z $(compgen -G 'killed.tsr.at.*') ]] || fail "a checkpoint is left"
((resumed > 0)) || fail "no kill met a checkpoint"
echo "$kills kills, $resumed with a checkpoint, $jobs more jobs done"

case_of "what a killed job left is not overlooked"
cp whole.tsr left.tsr.at.0.5
refuses 'left.tsr.at.0.5 is the checkpoint of a job that was not finished: add --resume' "${job[@]}" --save left.tsr \
  --every 60s
mv left.tsr.at.0.5 left.tsr.at.0.99999999
refuses 'one.txt: has 200000 keys, and left.tsr.at.0.99999999 was made after 99999999' "${job[@]}" --save left.tsr --resume
mv left.tsr.at.0.99999999 left.tsr.at.90.1
refuses 'left.tsr.at.90.1: was made in step 91 of its job, and this one has 18' "${job[@]}" --save left.tsr --resume

case_of "wrong options are refused"
refuses '--every 60: must be a time such as 60s, 5m or 1h' "${job[@]}" --save a.tsr --every 60
refuses '--every is about the table that --save writes: give --save FILE' "${job[@]}" --every 60s
refuses '--every with --out: ' "${job[@]}" --find one.txt --out rows.txt --save a.tsr --every 60s

finish
