#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures one, two, four and eight GPUs of a machine, in the folder that stage.sh made: weak and strong scaling, one process
# against ranks by both ways, small batches, a rank that is killed, the largest table that fits, and how far the model is off. All
# code is linked first, on all cores. Keys are made and answers are judged on the GPUs, so batches follow each other without a
# pause. Every answer is verified. Tables of fewer GPUs than there are run at the same time, on GPUs of their own.
#
#   gpus.sh [STEP...]      all steps: link tables ranks small killed largest model
#
# GPUS     numbers of GPUs ("1 2 4 8"); those beyond what is there are left out
# N        pairs per GPU (2^27); of pairs with 64 bits and of lists half as many. RECIPES: of the tables. TURNS: per row (7)
# LIMIT_S  the whole run ends after that many seconds (600); a step that has no time left is named
# LARGEST  pairs per GPU of the largest table; otherwise as many as fit
# OUT      a folder for gpus.csv (all rows of gpus_program), devices.csv, devices_strong.csv, devices_ranks.csv and
#          devices_expected.csv (rows as in specs/results), model.csv, log
# LINK, NETWORK  GB/s that a GPU sends to others of its host (390) and to other hosts (50), for the model
# BACKEND=cpu: tries it without a GPU, with shards in place of GPUs; then set N, LARGEST and RECIPES.
#
# Read next: gpus.c (gpus_program).

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
backend=${BACKEND:-cuda} out=${OUT:-.} n=${N:-2^27} turns=${TURNS:-7}
end_s=$((SECONDS + ${LIMIT_S:-600})) failed=0
recipes=${RECIPES:-devices best_find best_bulk best_bulk_64 best_multi best_count hashgraph_v2}
export TESSERA_PLUGINS=${TESSERA_PLUGINS:-layouts:probing:hashers:allocators:eviction} NCCL_NVLS_ENABLE=0
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$PWD/cubins} TESSERA_CACHE_MB=4096
[[ $backend == cuda ]] || export BACKEND
commit=$(cat commit 2>/dev/null || echo unknown) date=$(date +%F)

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
  local all=$n
  [[ $all == 2^* ]] && all=$((1 << ${all#2^}))
  case $1 in
    best_multi | best_count | hashgraph_v2 | *64*) echo $((all / 2)) ;;
    *) echo "$all" ;;
  esac
}

# A recipe's file; NAME_64 is the recipe NAME with pairs of 64 bits.
spec_of() {
  [[ -f specs/$1.ini || $1 != *_64 ]] || sed 's/^\(key\|value\)_bits *=.*/\1_bits = 64/' "specs/${1%_64}.ini" >"specs/$1.ini"
  echo "specs/$1.ini"
}

link() {
  local recipe count jobs=()
  for recipe in $recipes devices; do
    for count in $gpus; do jobs+=("$sm $(list_of "$count") $(n_of "$recipe") $(spec_of "$recipe")"); done
  done
  [[ $backend == cpu ]] || within 300 xargs -P "$(nproc)" -L 1 ./gpus_program link < <(printf '%s\n' "${jobs[@]}" | sort -u)
  echo "linked after $SECONDS s: $(find "$XDG_CACHE_HOME" -name '*.code' 2>/dev/null | wc -l) cubins"
}

# run_one WHAT MODE COUNT N SPEC TURNS: on GPUs of its own, by the number of its slot. Its rows appear at once.
run_one() {
  local devices rows
  devices=$(seq -s , $((SLOT * $3)) $((SLOT * $3 + $3 - 1)))
  rows=$(CUDA_VISIBLE_DEVICES=$devices WHAT=$1 timeout -k 5 90 ./gpus_program "$2" "$3" 0 - "$4" "$5" "$6" 2>>"$out/log") ||
    echo "status $?: $*"
  [[ ! $rows ]] || echo "$rows" >>"$out/gpus.csv"
}
export -f run_one
export out

# run_jobs COUNT: the jobs of stdin, each on COUNT GPUs.
run_jobs() {
  local left=$((end_s - SECONDS)) told
  ((left > 0)) || { echo "no time for tables of $1" && failed=1 && return; }
  told=$(timeout -k 5 "$left" xargs -P $((most / $1)) --process-slot-var=SLOT -L 1 bash -c 'run_one "$@"' _) || told+=' not all ended'
  [[ ! $told ]] || { echo "$told" && failed=1; }
  echo "tables of $1 after $SECONDS s"
}

# The jobs of all recipes on COUNT GPUs. The model needs one GPU that splits, for each size of a part.
jobs_of() {
  local recipe all spec parts
  for recipe in $recipes; do
    all=$(n_of "$recipe") spec=$(spec_of "$recipe")
    if (($1 > 1)); then
      echo "$recipe/weak one $1 $all $spec $turns"
      echo "$recipe/strong one $1 $((all / $1)) $spec $turns"
    else
      echo "$recipe/one one 1 $all $spec $turns"
      for parts in $gpus; do echo "$recipe/split split 1 $((all / parts)) $spec $turns"; done
    fi
  done
}

tables() {
  local count
  for count in $gpus; do run_jobs "$count" < <(jobs_of "$count"); done
}

# Batches in which more GPUs must not lose.
small_jobs() {
  local log2
  for log2 in 20 22 24; do echo "devices/small one $1 $(((1 << log2) / $1)) specs/devices.ini $((3 * turns))"; done
}

small() {
  run_jobs 1 < <(small_jobs 1)
  ((most == 1)) || run_jobs "$most" < <(small_jobs "$most")
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
  local all part
  ((most > 1)) || return 0
  all=$(n_of devices)
  run_jobs "$most" < <(for part in $((all >> 7)) $((all >> 2)) $((all >> 1)) "$all"; do
    echo "devices/one_process one $most $part specs/devices.ini $turns"
  done)
  for part in $((all >> 1)) "$all"; do
    ((SECONDS > end_s)) || WHAT=devices/ranks all_ranks "$most" ranks "$part" specs/devices.ini "$turns"
    ((SECONDS > end_s)) || EXCHANGE=copy WHAT=devices/copies all_ranks "$most" ranks "$part" specs/devices.ini "$turns"
  done
  echo "ranks after $SECONDS s"
}

killed() {
  ((most == 1 || SECONDS > end_s)) || WHAT=devices/killed all_ranks "$most" killed "$(n_of devices)" specs/devices.ini
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

# Each batch of several GPUs: measured, and what the model of notebook 0016 expects. Milliseconds.
expect() {
  awk -F , -v link="${LINK:-390}" '
    { split($1, of, "/"); key = of[1] SUBSEP $2 SUBSEP $4 }
    of[2] == "split" { alone[key] = $5 }
    (of[2] == "weak" || of[2] == "strong") && key in alone {
      expected = alone[key] + 0.6 * ($13 - $14) / (link * 1e6) + 0.06 * ($3 - 1)
      printf "%s,%s,%s,%d,%d,%.3f,%.3f,%.1f\n", of[1], of[2], $2, $3, $4, $5, expected, (expected / $5 - 1) * 100
    }' "$out/gpus.csv"
}

# Rows as in specs/results: op, line, x, billion per second.
as_result() { # PATTERN of what, x: the field that it is
  awk -F , -v what="$1" -v x="$2" -v end=",$date,$commit" '
    $1 ~ what {
      split($1, of, "/"); line = x == "gpus" ? of[1] : of[2]; sub(/_64$/, " 64", line); sub(/_process$/, "", line)
      at = x == "gpus" ? $3 : int(log($4) / log(2) + 0.5)
      row = $2 "," line "," at
      if (!seen[row]++) print row "," $7 end
    }' "$out/gpus.csv" | sort -t , -k 1,1r -k 2,2 -k 3,3n
}

# What 8 GPUs of a host and 16 hosts of 4 should do, by tools/lab/devices_model.c.
beyond() {
  awk -F , -v link="${LINK:-390}" -v network="${NETWORK:-50}" -v end=",$date,$commit" '
    { split($1, of, "/"); key = of[1] SUBSEP $2 SUBSEP $4 }
    of[2] == "split" { alone[key] = $5 }
    of[2] == "weak" && $3 == 4 && key in alone {
      n = $4; t = alone[key]; line = of[1]; sub(/_64$/, " 64", line)
      all = $13 / (n * 3 / 4); shown = ($13 - $14) / (n * 3 / 4)
      eight = t + 0.6 * n * shown * 7 / 8 / (link * 1e6) + 0.06 * 7
      near = n * all * 3 / 64 / (link * 1e6); far = n * all * 60 / 64 / (network * 1e6); travel = near > far ? near : far
      chunks = $12 < 1 ? 1 : $12
      hosts = t > travel ? t + travel / chunks : travel + t / chunks
      printf "%s,%s,4,%.1f%s\n%s,%s,8,%.1f%s\n%s,%s,64,%.1f%s\n", $2, line, $7, end, $2, line, n * 8 / 1e6 / eight, end, $2, line, n * 64 / 1e6 / hosts, end
    }' "$out/gpus.csv" | sort -t , -k 1,1r -k 2,2 -k 3,3n
}

# Every answer right? And the model: measured against expected, in percent.
model() {
  local wrong
  wrong=$(grep -c ',NO$' "$out/gpus.csv")
  [[ $wrong == 0 ]] || failed=1
  as_result '/(one|weak)$' gpus >"$out/devices.csv"
  as_result '/(one|strong)$' gpus >"$out/devices_strong.csv"
  as_result '/(one_process|ranks|copies)$' size >"$out/devices_ranks.csv"
  beyond >"$out/devices_expected.csv"
  { echo 'table,scaling,op,gpus,n,ms,model_ms,off_percent' && expect; } >"$out/model.csv"
  echo "$(wc -l <"$out/gpus.csv") rows, with a wrong answer: $wrong"
  awk -F , 'NR > 1 {
      size = $8 < 0 ? -$8 : $8; of = $2 " scaling, " $4 " GPUs"
      rows[of]++; sum[of] += size; far[of] += size > 10; if (size > worst[of]) worst[of] = size
    } END { for (of in rows) printf "model, %s: %d rows, mean error %.1f %%, worst %.1f %%, %d above 10 %%\n", of, rows[of], sum[of] / rows[of], worst[of], far[of] }' \
    "$out/model.csv" | sort
}

mkdir -p "$out"
(($# > 0)) || set -- link tables ranks small killed largest model
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
