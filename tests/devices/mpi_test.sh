#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Groups of processes over MPI, by OpenMPI and by MPICH, where they are installed (Debian: libopenmpi-dev openmpi-bin,
# libmpich-dev mpich): the transport is built as a site does it, and 2 and 4 ranks are started by mpirun. Read next: mpi_ranks.c.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

root=$PWD
ranks=$root/tests/devices/mpi_ranks
cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export TMPDIR=/tmp OMP_NUM_THREADS=1 # sockets' names are short, and ranks share the cores

start() { # MPI N COMMAND...
  local by=(mpirun."$1" -n "$2")
  [[ $1 == mpich ]] || by+=(--oversubscribe)
  timeout 120 "${by[@]}" "${@:3}" >out 2>err
}

tried=0
for mpi in openmpi mpich; do
  if ! command -v mpicc.$mpi >/dev/null || ! command -v mpirun.$mpi >/dev/null; then
    case_of "$mpi carries groups"
    skip "there is no mpicc.$mpi and mpirun.$mpi (Debian: lib$mpi-dev, ${mpi/openmpi/openmpi-bin})"
    continue
  fi
  tried=$((tried + 1))
  mkdir -p "$mpi"
  case_of "the transport is built for $mpi"
  bash "$root/transports/build_transport.sh" mpi --mpicc "mpicc.$mpi" --out "$mpi/transport_mpi.so" >log 2>&1 || fail "$(cat log)"
  [[ ! -s log ]] || fail "$(cat log)"
  export TESSERA_PLUGINS=$plugin_folders:$work/$mpi
  for size in 2 4; do
    for what in table other_call leaves no_memory; do
      case_of "$size ranks by $mpi: $what"
      start "$mpi" "$size" "$ranks" "$what" || fail "status $?: $(cat out err)"
      [[ $(sort out) == "$(for ((i = 0; i < size; i++)); do echo "rank $i of $size is right"; done)" ]] ||
        fail "said: $(cat out err)"
    done
  done
  case_of "4 ranks by $mpi count k-mers, insert, erase, find and export as one process does"
  printf '>r\n%s\n' "$(awk 'BEGIN { seed = 5; for (i = 0; i < 40000; i++) { seed = seed * 16807 % 2147483647
    printf "%s", substr("ACGT", 1 + int(seed / 65536) % 4, 1) } }')" >genome.fa
  awk 'BEGIN { seed = 7; for (i = 0; i < 30000; i++) { seed = seed * 16807 % 2147483647; print seed % 20000 "\t" i } }' >pairs.tsv
  cut -f 1 pairs.tsv | head -n 500 >some.tsv
  seq 0 25000 >asked.tsv
  job=("$tessera" run "$specs/quickstart.ini" --set table.backend=cpu --set table.duplicates=max --insert pairs.tsv --erase some.tsv
    --find asked.tsv --sorted)
  count=("$tessera" count genome.fa --kmers 8 --set table.backend=cpu --sorted --quiet)
  "${job[@]}" --out found_one.tsv --export pairs_one.tsv >report_one 2>log || fail "alone: status $?: $(cat log)"
  "${count[@]}" --out count_one.tsv || fail "count alone: status $?"
  start "$mpi" 4 "${job[@]}" --group mpi --out found_four.tsv --export pairs_four.tsv || fail "status $?: $(cat out err)"
  for what in found pairs; do cmp -s ${what}_one.tsv ${what}_four.tsv || fail "other $what"; done
  [[ $(grep -c ' items: ' out) == 2 && $(grep ' items: \| queries: ' out) == "$(grep ' items: \| queries: ' report_one)" ]] ||
    fail "reported: $(cat out)"
  start "$mpi" 4 "${count[@]}" --group mpi --out count_four.tsv || fail "count: status $?: $(cat err)"
  cmp -s count_one.tsv count_four.tsv || fail "other counts"
  case_of "bench measures 2 ranks by $mpi, and the first one prints"
  start "$mpi" 2 "$tessera" bench "$specs/quickstart.ini" --set table.backend=cpu --devices 0,1 --group mpi --n 2^14 --repeat 2 \
    --ops insert,find100,find0 --csv || fail "status $?: $(cat err)"
  [[ $(grep -c ',yes,' out) == 3 && $(grep -c '^spec,' out) == 1 && $(grep -c ',32768,.*,group,' out) == 3 ]] || fail "printed: $(cat out)"
  case_of "a process of its own is a group of one, by $mpi"
  "$ranks" >out 2>err || fail "status $?: $(cat err)"
  [[ $(cat out) == "rank 0 of 1 is right" ]] || fail "said: $(cat out err)"
  # What the program does with a transport is the same by each; with TSR_TEST_ALL=1 each does all of it.
  ((tried == 1)) || [[ ${TSR_TEST_ALL:-} ]] || continue
  case_of "ranks by $mpi read a part of every file, whatever its format and size"
  for i in 0 1 2 3 4; do printf '>a%d\n%s\n>b\nACGTACGTA\n' "$i" "$(tail -n 1 genome.fa | head -c $((i * 9000 + 4)))"; done >reads.fa
  awk '/^>/ { name = substr($0, 2); next } { print "@" name; print; print "+"; gsub(/./, "@"); print }' reads.fa >reads.fq
  gzip -k <reads.fa >packed.fa.gz
  printf '>one\nACGTACGTACGT\n' >one.fa
  : >none.fa
  files=(reads.fa reads.fq packed.fa.gz one.fa none.fa)
  count=("$tessera" count "${files[@]}" --kmers 8 --set table.backend=cpu --sorted)
  "${count[@]}" --out reads_one.tsv 2>log || fail "alone: status $?: $(cat log)"
  for size in 1 2 4; do
    start "$mpi" "$size" "${count[@]}" --group mpi --out reads_many.tsv || fail "status $?: $(cat err)"
    cmp -s reads_one.tsv reads_many.tsv || fail "$size: other counts"
    [[ $(sed 's/;[^;]*$//' err | grep -v '^$') == "$(sed 's/;[^;]*$//' log)" ]] || fail "$size: said: $(cat err), not $(cat log)"
  done
  case_of "ranks by $mpi read rows of any kind in parts"
  awk 'BEGIN { print "id,note,count"; for (i = 0; i < 9000; i++)
    printf "%d,%s,%d\n", i * 13 % 6000, i % 7 ? "plain" : "\"2,3,4\n5,6,\"\"7\"\"\n\"", i }' >rows.csv
  printf 'id,note,count\n7,"1,2,3\n",5\n' >row.csv
  printf 'id,note,count\n' >names.csv
  "$tessera" run "$specs/quickstart.ini" --set table.backend=cpu --insert pairs.tsv --export pairs.npy --quiet || fail "no array: status $?"
  job=("$tessera" run "$specs/quickstart.ini" --set table.backend=cpu --set table.duplicates=max --key id --value count
    --insert rows.csv --insert row.csv --insert names.csv --find row.csv --sorted)
  arrays=("$tessera" run "$specs/hashgraph_v2.ini" --set table.backend=cpu --insert pairs.npy --insert pairs.tsv --sorted)
  ordinals=("$tessera" run "$specs/quickstart.ini" --set table.backend=cpu --insert asked.tsv --value ordinal --find some.tsv --sorted)
  for what in job arrays ordinals; do
    declare -n made=$what
    [[ $what == job ]] && sizes=(1 2 4) || sizes=(4)
    "${made[@]}" --export "$what.one.csv" >report_one 2>log || fail "$what alone: status $?: $(cat log)"
    for size in "${sizes[@]}"; do
      start "$mpi" "$size" "${made[@]}" --group mpi --export "$what.many.csv" || fail "$what: status $?: $(cat err)"
      cmp -s "$what.one.csv" "$what.many.csv" || fail "$what by $size: other pairs: $(diff "$what.one.csv" "$what.many.csv" | head -n 4)"
      [[ $(grep ' items: \| queries: ' out) == "$(grep ' items: \| queries: ' report_one)" ]] || fail "$what by $size reported: $(cat out)"
    done
  done
  [[ $(head -n 1 job.many.csv) == id,count ]] || fail "names: $(head -n 1 job.many.csv)"
  case_of "what one rank by $mpi cannot read ends all, in one sentence"
  sed '8000s/.*/x,y,z/' rows.csv >bad.csv
  start "$mpi" 4 "${job[@]}" --insert bad.csv --group mpi --export left.csv && fail "a bad row is read"
  [[ $(grep -c "bad.csv:8000: the key 'x' is no whole number" err) == 1 && $(grep -c 'tessera: .*rank' err) == 0 && ! -e left.csv ]] ||
    fail "said: $(cat err)"
  start "$mpi" 4 "${count[@]}" missing.fa --group mpi --out left.tsv && fail "a file that is not there is read"
  [[ $(grep -c "missing.fa" err) == 1 ]] || fail "said: $(cat err)"
  start "$mpi" 2 "${count[@]}" --strict --group mpi --out left.tsv && fail "a file without a key is read"
  [[ $(grep -c "none.fa: holds no k-mer" err) == 1 ]] || fail "said: $(cat err)"
  case_of "4 ranks by $mpi join as one process does"
  awk 'BEGIN { for (i = 0; i < 15000; i++) print i * 7 % 12000 "\t" i + 5 }' >right.tsv
  for kind in "--kind inner" "--kind left" "--kind anti" "--aggregate sum" "--aggregate max --signed" "--kind union" "--count"; do
    read -ra how <<<"$kind"
    join=("$tessera" join pairs.tsv right.tsv "${how[@]}" --set table.backend=cpu --quiet)
    "${join[@]}" >join_one 2>log || fail "$kind alone: status $?: $(cat log)"
    start "$mpi" 4 "${join[@]}" --group mpi || fail "$kind: status $?: $(cat err)"
    [[ -s out ]] || fail "$kind: no rows"
    cmp -s <(sort join_one) <(sort out) || fail "$kind: other rows: $(wc -l join_one out)"
  done
  case_of "what one process alone can do is refused, by $mpi"
  start "$mpi" 2 "${job[@]}" --group mpi --export left_pairs.tsv --unplaced left.tsv && fail "--unplaced works"
  grep -q -- '--unplaced does not go with --group' err || fail "said: $(cat err)"
done

case_of "a transport that is not there is told"
TESSERA_PLUGINS=$plugin_folders "$ranks" >out 2>err && fail "it works"
grep -q 'there is no transport_mpi.so in the folders of TESSERA_PLUGINS.*transports/build_transport.sh mpi' err || fail "said: $(cat err)"

finish
