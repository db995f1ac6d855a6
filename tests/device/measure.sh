#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures the recipes in the folder that stage.sh made, on a machine with a GPU: the rows of specs/results, as CSV on
# standard output. A row takes about 0.7 seconds at 2^27 keys.
#
#   measure.sh [GROUP...]      all groups, or some:
#     single     every single-value table of WarpCore and BGHT, at loads 0.5 to 0.99, of 32 and of 64 bits
#     best       the recipes called best, of 32 and of 64 bits
#     first      inserts that look for the key first, as cuCollections' do, beside promise_unique
#     semantics  what duplicate policies, result codes, statistics, a stash and mixed operations cost
#     lists      the slab hash by memory utilization, with its own prototype's size and 2^27
#     mixed      batches of different operations (S7)
#     steps      batch by batch against building anew (S6)
#     multi      multimaps
#     absent     tables with and without a filter before them
#     bulk       batches that are put in order first: pages, and lists
#     pools      allocators (S0)
#     success    the loads that schemes reach: how many of 200 builds of 50 million pairs place every pair
#     limits     what the memory of this card can do, and the table that compares cards: speed/ at (4, 1)
#
# N32, N64: keys of 32 and 64 bits, 2^27. REPEAT: measurements a row, 5. LOADS: of the groups single and best.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
export TESSERA_PLUGINS=layouts:probing:hashers:allocators:eviction
n32=${N32:-2^27} n64=${N64:-2^27} repeat=${REPEAT:-5} loads=${LOADS:-.5,.6,.7,.8,.9,.95,.99}
wide=(--set table.key_bits=64)
header=1

# rows BENCH ARG...: a line for each row, the header once; what went wrong goes on.
rows() {
  ./tessera bench "$@" --repeat "$repeat" | sed "1{${header:+p;};d;}" || echo "# not all as it should be: bench $*"
  header=
}

group_single() {
  local recipe values
  for recipe in 1cht bcht bcht_least_loaded p2bht iht linear quadratic robin_hood warpcore_single warpcore_set; do
    rows "specs/$recipe.ini" --n "$n32" --loads "$loads"
    values=(--set table.value_bits=64)
    [[ $recipe != warpcore_set ]] || values=()
    rows "specs/$recipe.ini" --n "$n64" --loads "$loads" "${wide[@]}" "${values[@]}"
  done
}

group_best() {
  local recipe
  for recipe in best_find best_negative best_bulk best_find_first best_build best_set; do
    rows "specs/$recipe.ini" --n "$n32" --loads "$loads"
  done
  for recipe in best_find_64 best_build_64; do rows "specs/$recipe.ini" --n "$n64" --loads "$loads"; done
}

group_first() {
  local policy
  for policy in promise_unique first; do
    rows specs/best_build.ini specs/best_find.ini specs/linear.ini --n "$n32" --loads .8,.9,.95 --ops insert \
      --set table.concurrency=phased --set "table.duplicates=$policy"
  done
}

group_semantics() {
  local finds=insert,find100,find0
  rows specs/speed/bcht_4_1.ini --n "$n32" --ops $finds
  rows specs/speed/bcht_4_1.ini --n "$n32" --ops $finds --codes yes
  rows specs/speed/bcht_4_1.ini --n "$n32" --ops $finds --set table.duplicates=first
  rows specs/speed/bcht_4_1.ini --n "$n32" --ops $finds --set table.duplicates=min
  rows specs/speed/bcht_4_1.ini --n "$n32" --ops $finds --set table.statistics=yes
  rows specs/speed/bcht_4_1.ini --n "$n32" --ops $finds --set table.stash=1000
  rows specs/best_build.ini --n "$n32" --ops $finds --set table.duplicates=promise_unique
  rows specs/best_build.ini --n "$n32" --ops $finds --set table.duplicates=first
  rows specs/best_build.ini --n "$n32" --ops $finds --set table.duplicates=first --set table.concurrency=mixed
}

group_lists() {
  local lanes n
  for n in 2^22 "$n32"; do
    for lanes in 16 8 4 2 1; do
      rows specs/slab_hash.ini --n "$n" --loads .21,.68,2.7,11 --ops insert,find100,find0,erase \
        --set "layout.tile_lanes=$lanes" --set table.hasher=murmur3
    done
    rows specs/chain_sector.ini --n "$n" --loads .3,1,2 --ops insert,find100,find0,erase
  done
}

group_mixed() {
  local mix lanes
  for mix in .5,.5,0,0 .2,.2,.3,.3 .1,.1,.4,.4; do
    for lanes in 16 8 4 2 1; do
      rows specs/slab_hash_mixed.ini --n 2^22 --loads .21,.68,2.7 --ops mixed --mix "$mix" \
        --set "layout.tile_lanes=$lanes"
    done
    rows specs/chain_sector.ini --n 2^22 --loads .3,1,1.4,2 --ops mixed --mix "$mix" --set table.concurrency=mixed
    rows specs/mixed.ini --n 2^22 --loads .5,.6,.8,.9 --ops mixed --mix "$mix"
  done
  rows specs/mixed.ini --n 2^26 --loads .8,.9 --ops mixed --mix .25,.25,.25,.25
}

group_steps() {
  local batch
  for batch in 32Ki 64Ki 128Ki; do
    rows specs/slab_hash.ini specs/bcht.ini --n 2M --loads .81 --ops incremental,rebuild --batch "$batch"
  done
}

group_multi() {
  local multiplicity
  for multiplicity in 1 4 16; do
    rows specs/warpcore_multi.ini specs/slab_hash_multi.ini --n 2^24 --loads .6,.8 \
      --ops insert,find_all,count_all,erase --keys "repeat:$multiplicity"
    rows specs/warpcore_buckets.ini --n 2^24 --loads .6,.8 --ops insert,find_all,count_all,erase \
      --keys "repeat:$multiplicity" --set "values.per_key=$multiplicity"
  done
}

# A filter before a table, beside the same table without one.
group_absent() {
  local n
  for n in 2^24 "$n32"; do
    rows specs/best_negative.ini specs/best_absent.ini --n "$n" --loads .8,.95 --ops insert,find100,find50,find0,erase
  done
}

group_pools() {
  local allocator lanes
  for allocator in slab slab_light bump; do
    for lanes in 1 32; do
      rows specs/slab_hash.ini --n 1M --loads .12 --ops allocate,release,churn --tile-lanes "$lanes" \
        --set "table.allocator=$allocator"
    done
  done
}

# Batches that are put in order first: pages beside random access, and lists.
group_bulk() {
  rows specs/pages.ini --n "$n32" --loads 0.8,0.9,0.95 --ops insert,find100,join
  rows specs/pages.ini --n "$n32" --loads 0.8,0.9,0.95 --ops insert --set table.page_batch=0
  rows specs/hashgraph_keys.ini --n "$n32" --loads 1 --ops insert,count_all,join
  rows specs/hashgraph_v2.ini --n "$n32" --loads 1 --ops insert,find100,find0,find_all,join
  rows specs/hashgraph_v1.ini --n "$n32" --loads 1 --ops insert
  rows specs/hashgraph_v2.ini --n 2^26 --loads 1 --ops insert --keys distinct,zipf:1.0,equal,repeat:64
}

group_success() {
  ./success_rates cuda 50000000 200 bcht .975 .98 .985 .99
  ./success_rates cuda 50000000 200 iht_32 .91 .92 .93 .94
  ./success_rates cuda 50000000 200 1cht .84 .85 .86 .87 .88 .89
}

group_limits() {
  ./tessera roofline
  rows specs/speed/*4_1*.ini --n "$n32" --loads .6,.8,.9,.95 --ops insert,find100,find0
}

(($#)) || set -- limits single best first semantics lists mixed steps multi absent pools success
for group in "$@"; do
  declare -F "group_$group" >/dev/null || {
    echo "measure.sh: $group: no such group" >&2
    exit 2
  }
  echo "# $group"
  "group_$group"
done
