#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that is measured of one, two, four and eight GPUs of a machine, in the folder that stage.sh made: weak and strong
# scaling, one process against ranks with NCCL, small batches, a rank that is killed, the largest table that fits, and how far
# the model is off. All code is linked first, on all cores. Every answer is verified.
#
#   gpus.sh [STEP...]      all steps: link tables small ranks killed largest model
#
# GPUS     numbers of GPUs ("1 2 4 8"); those beyond what is there are left out
# N        pairs per GPU (2^27). RECIPES: of the tables. TURNS: measurements per row (3)
# LIMIT_S  the whole run ends after that many seconds (1500); a step that has no time left is named
# LARGEST  pairs per GPU of the largest table; otherwise as many as fit
# OUT      a folder for bench.csv (all rows), gpus.csv (rows of gpus_program), devices.csv and devices_strong.csv (as in specs/results),
#          log
# BACKEND=cpu: tries it without a GPU, with shards in place of GPUs; then set N, LARGEST and RECIPES.
#
# Read next: gpus.c (gpus_program).

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
backend=${BACKEND:-cuda} out=${OUT:-.} n=${N:-2^27} turns=${TURNS:-3}
end_s=$((SECONDS + ${LIMIT_S:-1500})) failed=0
recipes=${RECIPES:-devices best_find best_bulk best_multi best_count hashgraph_v2}
export TESSERA_PLUGINS=${TESSERA_PLUGINS:-layouts:probing:hashers:allocators:eviction} NCCL_NVLS_ENABLE=0
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$PWD/cubins} TESSERA_CACHE_MB=4096
[[ $backend == cuda ]] || export BACKEND

there=8 sm=90
[[ $backend == cpu ]] || there=$(nvidia-smi -L | wc -l)
[[ $backend == cpu ]] || sm=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
gpus=
for count in ${GPUS:-1 2 4 8}; do ((count > there)) || gpus+=" $count"; done
most=${gpus##* }

list_of() { seq -s , 0 $(($1 - 1)); }

# within SECONDS COMMAND...: no longer than that, nor than the whole run; its failure is that of the run.
within() {
  local left=$((end_s - SECONDS)) limit=$1
  shift
  ((left > 0)) || { echo "no time for: $*" && failed=1 && return 1; }
  ((limit < left)) || limit=$left
  timeout -k 5 "$limit" "$@" 2>>"$out/log" || { echo "status $?: $*" && failed=1 && return 1; }
}

# A recipe of 2^27 pairs with 64 bits has half as many.
n_of() {
  case $1 in
    best_multi | best_count | hashgraph_v2 | *64*) [[ $n == 2^* ]] && echo "2^$((${n#2^} - 1))" || echo $((n / 2)) ;;
    *) echo "$n" ;;
  esac
}

link() {
  local recipe count jobs=()
  for recipe in $recipes devices; do
    for count in $gpus; do jobs+=("$sm $(list_of "$count") $(n_of "$recipe") specs/$recipe.ini"); done
  done
  [[ $backend == cpu ]] || within 300 xargs -P "$(nproc)" -L 1 ./gpus_program link < <(printf '%s\n' "${jobs[@]}" | sort -u)
  echo "linked after $SECONDS s: $(find "$XDG_CACHE_HOME" -name '*.code' 2>/dev/null | wc -l) cubins"
}

tables() {
  local recipe count
  for count in $gpus; do
    ((count > 1 || most == 1)) || continue # each table measures one GPU as well
    for recipe in $recipes; do
      within 120 ./tessera bench "specs/$recipe.ini" --devices "$(list_of "$count")" --n "$(n_of "$recipe")" \
        --ops insert,find100,find0 --repeat "$turns" --set "table.backend=$backend" --append "$out/bench.csv" \
        --expect 8,16x4 --link 390 --network 50 >>"$out/expected.log"
    done
    echo "tables of $count after $SECONDS s"
  done
  as_result weak >"$out/devices.csv"
  as_result strong >"$out/devices_strong.csv"
}

# Batches in which more GPUs must not lose.
small() {
  local log2
  for log2 in 20 22 24; do
    within 60 ./tessera bench specs/devices.ini --devices "$(list_of "$most")" --n "2^$log2" --ops insert,find100 --repeat 9 \
      --set "table.backend=$backend" --append "$out/small.csv" >>"$out/expected.log"
  done
  echo "small batches after $SECONDS s"
}

# all_ranks COUNT MODE ARG...: a process for each GPU. A rank that is killed is no failure.
all_ranks() {
  local count=$1 mode=$2 rank pids=() pid
  rm -f meet*
  for ((rank = 0; rank < count; rank++)); do
    timeout -k 5 90 ./gpus_program "$mode" "$count" "$rank" ./meet "${@:3}" >>"$out/gpus.csv" 2>>"$out/log" &
    pids+=($!)
  done
  for ((rank = 0; rank < count; rank++)); do
    pid=${pids[rank]}
    wait "$pid" 2>/dev/null || [[ $mode == killed && $rank == 1 ]] || { echo "rank $rank of $count, $mode: status $?" && failed=1; }
  done
}

ranks() {
  local count
  for count in $gpus; do
    within 90 ./gpus_program one "$count" 0 - "$n" specs/devices.ini 7 >>"$out/gpus.csv"
    ((count == 1 || SECONDS > end_s)) || all_ranks "$count" ranks "$n" specs/devices.ini 7
  done
  echo "ranks after $SECONDS s"
}

killed() {
  ((most == 1 || SECONDS > end_s)) || all_ranks "$most" killed "$n" specs/devices.ini
  echo "a killed rank after $SECONDS s"
}

# A set of 64-bit keys takes 10 bytes per key at load 0.8. 10 GB are for batches. Where that does not fit, a tenth less is tried.
largest() {
  local keys=${LARGEST:-} tries
  sed 's/^key_bits *=.*/key_bits = 64/' specs/best_set.ini >largest.ini
  [[ $keys ]] || keys=$((($(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits | sort -n | head -n 1) * 1048576 - 10000000000) / 10))
  for ((tries = 0; tries < 4; tries++)); do
    ((SECONDS < end_s)) || { echo "no time for the largest table" && failed=1 && return; }
    timeout $((end_s - SECONDS)) ./gpus_program largest "$most" 0 - "$keys" largest.ini >>"$out/gpus.csv" 2>>"$out/log" && break
    echo "$keys keys per GPU: $(tail -n 1 "$out/log")"
    keys=$((keys * 9 / 10))
  done
  ((tries < 4)) || failed=1
  echo "the largest table after $SECONDS s: $((keys * most)) keys"
}

# Columns of a CSV file, by their names. Lists of devices have ; within.
columns() { # FILE NAME...
  awk -F , -v names="${*:2}" 'BEGIN { count = split(names, name, " ") }
    { while (match($0, /"[^"]*"/)) {
        quoted = substr($0, RSTART + 1, RLENGTH - 2); gsub(/,/, ";", quoted)
        $0 = substr($0, 1, RSTART - 1) quoted substr($0, RSTART + RLENGTH)
      } }
    $1 == "spec" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { line = $at[name[1]]; for (i = 2; i <= count; i++) line = line "\t" $at[name[i]]; print line }' "$1"
}

# The rows of specs/results: op, line, GPUs, billion per second.
as_result() {
  columns "$out/bench.csv" spec op stage devices mops date version | awk -F '\t' -v stage="$1" '
    $3 == stage || $3 == "one" {
      sub(/.*\//, "", $1); sub(/\.ini$/, "", $1); sub(/T.*/, "", $6); sub(/.* /, "", $7)
      row = $2 "," $1 "," gsub(/;/, ";", $4) + 1
      if (!seen[row]++) printf "%s,%.2f,%s,%s\n", row, $5 / 1000, $6, substr($7, 1, 7)
    }' | sort -t , -k 1,1r -k 2,2 -k 3,3n
}

# Every answer right? And the model: measured against expected, in percent.
model() {
  local wrong
  wrong=$(cat "$out"/bench.csv "$out"/small.csv "$out"/gpus.csv 2>/dev/null | grep -c ',NO\|,no,')
  [[ $wrong == 0 ]] || failed=1
  echo "rows with a wrong answer: $wrong"
  columns "$out/bench.csv" stage devices mops model_mops | awk -F '\t' '$4 + 0 > 0 && $2 ~ /;/ {
      off = ($4 / $3 - 1) * 100; size = off < 0 ? -off : off; of = $1 " scaling, " gsub(/;/, ";", $2) + 1 " GPUs"
      rows[of]++; sum[of] += size; far[of] += size > 10; if (size > worst[of]) worst[of] = size
    } END { for (of in rows) printf "model, %s: %d rows, mean error %.1f %%, worst %.1f %%, %d above 10 %%\n", of, rows[of], sum[of] / rows[of], worst[of], far[of] }' | sort
}

mkdir -p "$out"
(($# > 0)) || set -- link tables small ranks killed largest model
for step in "$@"; do
  case $step in
    link) link ;;
    tables) tables ;;
    small) small ;;
    ranks) ranks ;;
    killed) killed ;;
    largest) largest ;;
    model) model ;;
    *) echo "usage: the first lines of gpus.sh" >&2 && exit 2 ;;
  esac
done
exit "$failed"
