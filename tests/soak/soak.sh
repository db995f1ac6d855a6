#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Random jobs of the built program against an oracle, for as long as you like; no part of the tests that run by
# themselves.
#
#   tests/soak/soak.sh [SECONDS] [SEED] [ROUND]   an hour, a seed that it tells, and rounds of all kinds, by default
#
# TSR_SOAK_PROGRAM: a folder with the program and its plugins, which is then not built (tests/device/stage.sh), nor is one with
# AddressSanitizer. TSR_SOAK_BACKEND: cuda, where there is a GPU; otherwise cpu.
#
# A round is one of these, on a random recipe of specs/:
#   answers    inserts, erases and finds of random files; the rows, of the table and of the saved one, are the oracle's
#   kills      a job that saves over a saved table ends by a random signal at a random moment, or for lack of memory: the
#              file is the old one or the new one, and nothing else is there
#   full       more pairs than slots: those in the table and those in --unplaced are the input
#   long       one process inserts and erases the same pairs again and again: its memory does not grow
# Every other job is run by a program with AddressSanitizer, which fails if anything leaks (not on a GPU). A failure is told with what
# repeats it, its files are kept, and the soak goes on; the last line is `N rounds, N failures`.
# Read next: oracle.awk.

set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seconds=${1:-3600}
seed=${2:-$(date +%s)}
only=${3:-}
backend=${TSR_SOAK_BACKEND:-cpu}
work=$(mktemp -d /tmp/tessera-soak.XXXXXX)
kept=0
rounds=0
failures=0

say() { echo "soak: $*"; }

# copy_of NAME FOLDER-OF-BAZEL : how a copy of the program there is called, which no build changes meanwhile.
copy_of() {
  mkdir "$work/$1"
  cp "$2/tools/cli/tessera" "$2"/{layouts,probing,hashers,allocators,eviction}/*.so "$work/$1"
  echo "env TESSERA_PLUGINS=$work/$1 $work/$1/tessera"
}

build() {
  if [[ ${TSR_SOAK_PROGRAM:-} ]]; then
    local at
    at=$(cd "$TSR_SOAK_PROGRAM" && pwd) || exit 1
    plain="env TESSERA_PLUGINS=$at/layouts:$at/probing:$at/hashers:$at/allocators:$at/eviction $at/tessera"
    checked=$plain
    return
  fi
  local targets=(//tools/cli:tessera //layouts:plugins //probing:plugins //hashers:plugins //allocators:plugins //eviction:plugins)
  cd "$root" || exit 1
  export TSR_NVCC=${TSR_NVCC-}
  bazel build --noshow_progress "${targets[@]}" || exit 1
  plain=$(copy_of plain "$(bazel info bazel-bin 2>/dev/null)")
  bazel build --noshow_progress --config=asan "${targets[@]}" || exit 1
  checked=$(copy_of checked "$(bazel info --config=asan bazel-bin 2>/dev/null)")
}

# draw N : a number from 0 to N - 1 in `drawn`. (A subshell would draw the same numbers for ever.)
draw() { drawn=$(((RANDOM << 15 | RANDOM) % $1)); }

failed() {
  [[ ! $has_failed ]] || return
  has_failed=1
  failures=$((failures + 1))
  kept=$((kept + 1))
  cp -r "$work/now" "$work/failure-$kept"
  say "FAILED in round $rounds of seed $seed: $*; its files: $work/failure-$kept"
}

setting() { sed -nE "s/^$1 *= *([a-z0-9_]+).*/\1/p" "$2"; }

# ---- Specs and files -------------------------------------------------------------------------------------------------

# Whether `recipe`, of `kind`, goes with a policy for keys that repeat.
takes_repeats() { [[ $kind != map ]] || $plain check "$recipe" --set table.duplicates=first >/dev/null 2>&1; }

# Sets recipe, kind, policy and `spec`, the words that a command takes. Keys have 32 bits as far as files go.
draw_spec() {
  local recipes=("$root"/specs/*.ini) policies=(first replace add min max)
  # the oracle has no numbers of keys, keys that are given up, rows of bytes or keys wider than its numbers, and its files repeat
  # keys, which a scheme that is built from distinct ones refuses
  while draw ${#recipes[@]} && recipe=${recipes[drawn]} && kind=$(setting kind "$recipe") &&
    { [[ $kind == filter || $kind == index || $kind == cache || $(setting value_bytes "$recipe") ||
      $(setting key_bits "$recipe") == 128 || $(setting key_columns "$recipe") ]] || ! takes_repeats; }; do :; done
  policy=none
  spec=("$recipe" --set "table.backend=$backend")
  if [[ $kind == map ]]; then
    draw 5
    policy=${policies[drawn]}
    spec+=(--set "table.duplicates=$policy")
  fi
  if [[ $kind == counter ]]; then # files have values, whose sums do not reach 2^64
    kind=map
    policy=add
  fi
  draw 1000000000
  spec+=(--set "table.seed=$((drawn + 1))")
}

# make_file NAME PAIRS RANGE DISTINCT : pairs of a key below RANGE and a value below 1000.
make_file() {
  draw 1000000000
  awk -v n="$2" -v range="$3" -v distinct="$4" -v seed="$drawn" 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) {
      key = sprintf("%.0f", int(rand() * range) * 2654435 % 4294967000)
      if (distinct && key in seen) continue
      seen[key]
      print key "\t" int(rand() * 1000)
    }
  }' >"$1"
  [[ -s $1 ]] || echo "5	5" >"$1"
}

# ---- Rounds ----------------------------------------------------------------------------------------------------------

# run WORDS... : the program, by turns with AddressSanitizer; its status is left in `status`.
run() {
  local call=$plain
  draw 2
  ((drawn)) || call=$checked
  echo "$call run $*" >>lines
  status=0
  $call run "$@" >out 2>err || status=$?
}

answers() {
  local steps=() plan=() count distinct=0 i range
  # where one of several values of a batch wins, whichever, there is one
  [[ $policy != first && $policy != replace ]] || distinct=1
  draw 30000
  range=$((drawn + 10))
  draw 5
  count=$((drawn + 2))
  for ((i = 0; i < count; i++)); do
    draw 20000
    make_file "$i.tsv" "$((drawn + 1))" "$range" $distinct
    draw 3
    ((i)) || drawn=0
    ((i + 1 < count)) || drawn=2
    case $drawn in
      0) steps+=(--insert "$i.tsv") plan+=(insert "$i.tsv") ;;
      1) steps+=(--erase "$i.tsv") plan+=(erase "$i.tsv") ;;
      2) steps+=(--find "$i.tsv") plan+=(find "$i.tsv") ;;
    esac
  done
  awk -v kind="$kind" -v policy="$policy" -f "$root/tests/soak/oracle.awk" -v plan="${plan[*]}" | sort >expected
  run "${spec[@]}" --set table.capacity=200000 "${steps[@]}" --out rows.tsv --save table.tsr
  ((status == 0)) || failed "status $status: $(tail -n 1 err)" || return
  sort rows.tsv | cmp -s - expected || failed "other rows than the oracle's"
  cut -f 1 "0.tsv" | sort -u >keys.tsv
  awk -v kind="$kind" -v policy="$policy" -f "$root/tests/soak/oracle.awk" -v plan="${plan[*]} find keys.tsv" \
    -v only=keys.tsv | sort >expected
  run "${spec[@]}" --set table.capacity=200000 --load table.tsr --find keys.tsv --out rows.tsv
  ((status == 0)) || failed "loaded: status $status: $(tail -n 1 err)"
  sort rows.tsv | cmp -s - expected || failed "the loaded table has other rows than the oracle's"
}

kills() {
  local signals=(INT TERM KILL) signal process when size
  make_file old.tsv 1000 1000000 1
  make_file new.tsv 200000 1000000 1
  mkdir -p place
  run "${spec[@]}" --set table.capacity=1M --insert old.tsv --save place/table.tsr
  ((status == 0)) || failed "status $status: $(tail -n 1 err)"
  cp place/table.tsr saved.tsr
  draw 3
  signal=${signals[drawn]}
  draw 2
  if ((drawn)) || [[ $backend != cpu ]]; then # a GPU's driver needs more address space than any limit
    draw 700
    when=0.$(printf %03d "$drawn")
    echo "killed by $signal after $when s" >>lines
    $plain run "${spec[@]}" --set table.capacity=1M --insert new.tsv --find old.tsv --out place/rows.tsv \
      --save place/table.tsr >out 2>err &
    process=$!
    sleep "$when"
    kill -s "$signal" $process 2>/dev/null
    wait $process 2>/dev/null
    # KILL may have come between the two steps by which the new table replaces the old one (core/spec/file.h)
    [[ $signal != KILL || ! -e place/table.tsr.$process.0.tmp ]] ||
      mv "place/table.tsr.$process.0.tmp" place/table.tsr
  else
    draw 300
    size=$(((drawn + 20) * 1024))
    echo "with $size kB" >>lines
    (ulimit -v "$size" && exec $plain run "${spec[@]}" --set table.capacity=1M --insert new.tsv --find old.tsv \
      --out place/rows.tsv --save place/table.tsr) >out 2>err
    status=$?
    # without memory for it, libraries and the loader end the program on their own
    ((status <= 1 || status == 127)) || grep -q '^tessera: \|libgomp\|loading shared' err ||
      failed "status $status with $size kB: $(tail -n 1 err)"
  fi
  rm -f place/rows.tsv
  [[ $(ls -A place) == table.tsr ]] || failed "it left $(ls -A place)"
  cmp -s place/table.tsr saved.tsr || {
    run "${spec[@]}" --set table.capacity=1M --load place/table.tsr --find new.tsv
    ((status == 0)) && grep -q ' 0 missing$' out || grep -q '; [0-9]* \(value\|pair\)s\?$' out ||
      failed "the new table is not whole: $(tail -n 1 err)"
  }
}

full() {
  make_file pairs.tsv 30000 100000000 1
  cut -f 1 pairs.tsv >keys.tsv
  draw 20000
  run "${spec[@]}" --set table.load_factor=.6 --set "table.capacity=$((drawn + 1))" --insert pairs.tsv --on-full report \
    --find keys.tsv --out rows.tsv --unplaced rest.tsv --export all.tsv
  ((status == 0 || status == 3)) || failed "status $status: $(tail -n 1 err)"
  if [[ $kind == set || $kind == multiset ]]; then
    grep -v $'\t0$' rows.tsv | cut -f 1 | sort | cmp -s - <(sort all.tsv) || failed "finds and the export differ"
  fi
  sort all.tsv rest.tsv >got
  if [[ $kind == set || $kind == multiset ]]; then sort keys.tsv; else sort pairs.tsv; fi | cmp -s - got ||
    failed "the pairs in the table and those without room are not the input"
}

# Resident memory is looked at while it runs: the most of its second quarter and of its last one. Without a compiler: code
# that comes when there has been enough to do would be taken for growth.
long() {
  local steps=() i process sizes=() quarter before=0 after=0
  make_file pairs.tsv 20000 1000000 1
  for ((i = 0; i < 200; i++)); do steps+=(--insert pairs.tsv --erase pairs.tsv); done
  echo "TESSERA_CC= $plain run ${spec[*]} ... (200 times)" >>lines
  TESSERA_CC='' $plain run "${spec[@]}" --set table.capacity=100000 "${steps[@]}" >out 2>err &
  process=$!
  while kill -0 $process 2>/dev/null; do
    i=$(awk '/^VmRSS/ { print $2 }' "/proc/$process/status" 2>/dev/null)
    grep -q '^size ' out || ! grep -q '^erase ' out || sizes+=("${i:-0}")
    sleep 0.02
  done
  status=0
  wait $process || status=$?
  ((status == 0)) || failed "status $status: $(tail -n 1 err)"
  quarter=$((${#sizes[@]} / 4))
  ((quarter)) || return
  for ((i = quarter; i < 2 * quarter; i++)); do ((sizes[i] <= before)) || before=${sizes[i]}; done
  for ((i = 3 * quarter; i < 4 * quarter; i++)); do ((sizes[i] <= after)) || after=${sizes[i]}; done
  ((after <= before + before / 20)) || failed "its memory grew from $before to $after kB"
}

build
end=$((SECONDS + seconds))
say "seed $seed, $seconds seconds, in $work"
while ((SECONDS < end)); do
  RANDOM=$(((seed + rounds) % 32768))
  rm -rf "$work/now"
  mkdir -p "$work/now"
  cd "$work/now" || exit 1
  draw_spec
  draw 10
  case $drawn in
    0) round=long ;;
    1 | 2) round=full ;;
    3 | 4 | 5) round=kills ;;
    *) round=answers ;;
  esac
  round=${only:-$round}
  echo "$round ${spec[*]}" >lines
  rounds=$((rounds + 1))
  has_failed=
  $round
  ((rounds % 50)) || say "$rounds rounds, $failures failures"
done
((failures)) || rm -rf "$work"
echo "$rounds rounds, $failures failures"
((failures == 0))
