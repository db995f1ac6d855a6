#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares two builds on one GPU: the same rows of `bench` by the old and the new program in turns. Both folders are made
# by stage.sh, or hold `tessera`, the plugins and the specs as it puts them.
#
#   compare.sh OLD NEW [GROUP...]    all groups, or some: pages best hot joins lists mixed slabs devices
#
# N: keys a row, 2^26. ROUNDS: how often each build measures a row, 3. First all code is linked, on all processors. Then a
# line for each row comes as soon as it is measured: the ratio of the medians, new to old, and the row. The last lines name
# the rows below LEAST (0.98) and count all; the exit status is 1 if there is one. Read next: measure.sh.

set -euo pipefail

(($# >= 2)) || {
  echo "usage: compare.sh OLD NEW [GROUP...]" >&2
  exit 2
}
old=$(cd "$1" && pwd) new=$(cd "$2" && pwd)
shift 2
n=${N:-2^26} rounds=${ROUNDS:-3} least=${LEAST:-0.98}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

bench() { # BUILD ARG...
  cd "$1" && XDG_CACHE_HOME=$scratch/cache_${1##*/} TESSERA_PLUGINS=layouts:probing:hashers:allocators:eviction \
    ./tessera bench "${@:2}" --probes no
}
export -f bench
export scratch

# row BENCH ARG...: both builds in turns, or first their links, which do not depend on the number of keys.
row() {
  local build i
  if [[ $links ]]; then
    for build in "$old" "$new"; do
      printf '%s\0' "$build ${*/#$n/2^12} --repeat 1" >>"$scratch/links"
    done
    return
  fi
  : >"$scratch/rows"
  for ((i = 0; i < rounds; i++)); do
    for build in "$old" "$new"; do
      (bench "$build" "$@" --repeat 3 2>>"$scratch/errors" | sed "1d; s|^|${build##*/},|") >>"$scratch/rows" ||
        echo "# ${build##*/} failed: bench $*"
    done
  done
  judge
}

# Prints the ratios of the rows that were just measured.
judge() {
  awk -F, -v old="${old##*/}" '
    # columns: build,spec,backend,device,op,key_bits,value_bits,n,load,mops,probes,pct_limit,ok,...
    function median(list, parts, n, i, j, t) {
      n = split(list, parts, " ")
      for (i = 2; i <= n; i++)
        for (j = i; j > 1 && parts[j] + 0 < parts[j - 1] + 0; j--) { t = parts[j]; parts[j] = parts[j - 1]; parts[j - 1] = t }
      return parts[int((n + 1) / 2)]
    }
    /^[^,]*,#/ || NF < 13 || $10 == "-" { next }
    { key = $2 " " $5 " load " $9 " " $15 ($26 == "-" ? "" : " " $25 " " $26); if (!(key in seen)) { seen[key] = ++rows; name[rows] = key }
      if ($1 == old) before[key] = before[key] " " $10; else after[key] = after[key] " " $10
      if ($13 != "yes") wrong[key] = $13 }
    END {
      for (r = 1; r <= rows; r++) {
        key = name[r]; a = median(before[key]); b = median(after[key])
        printf "%.3f  %s  %s -> %s%s\n", (a > 0 ? b / a : 0), key, a, b, (key in wrong ? "  NOT VERIFIED: " wrong[key] : "")
      }
    }' "$scratch/rows" | tee -a "$scratch/ratios"
}

group_pages() {
  row specs/pages.ini --n "$n" --loads 0.8,0.95 --ops insert,find100,join
  row specs/best_bulk.ini --n "$n" --loads 0.8 --ops insert,find100
  row specs/pages.ini --n "$n" --loads 0.8 --ops insert --codes yes
}
group_best() {
  local recipe
  for recipe in best_find best_build best_set best_negative best_find_64; do
    row "specs/$recipe.ini" --n "$n" --loads 0.8 --ops insert,find100,find0
  done
}
group_hot() {
  row specs/best_count.ini --n "$n" --loads 0.8 --ops insert --keys distinct,zipf:1.0,equal,repeat:64
  row specs/best_bulk.ini --n "$n" --loads 0.8 --ops insert --keys zipf:1.0,equal,repeat:2048 --set table.duplicates=add
  row specs/linear.ini --n "$n" --loads 0.8 --ops insert --keys zipf:1.0,equal --set table.duplicates=add
}
group_joins() {
  row specs/hashgraph_v2.ini --n "$n" --loads 1 --ops join --keys distinct,repeat:4
  row specs/join.ini --n "$n" --loads 0.8 --ops join
}
group_lists() {
  row specs/hashgraph_v2.ini --n "$n" --loads 1 --ops insert,find100,find_all --keys distinct,zipf:1.0,repeat:64
  row specs/best_multi.ini --n "$n" --loads 0.8 --ops insert,find_all
  row specs/warpcore_buckets.ini --n 2^24 --loads 0.8 --ops insert,find_all --keys repeat:16 --set values.per_key=16
}
group_mixed() { row specs/mixed.ini --n 2^24 --loads 0.8 --ops mixed,insert,erase --mix .25,.25,.25,.25; }
group_slabs() {
  row specs/slab_hash.ini --n 2^24 --loads 0.68 --ops insert,find100,find0,erase
  row specs/slab_hash_mixed.ini --n 2^22 --loads 0.68 --ops mixed --mix .1,.1,.4,.4
}
group_devices() { row specs/best_bulk.ini --n "$n" --loads 0.8 --ops insert,find100 --devices 0,1; }

(($#)) || set -- pages best hot joins lists mixed slabs
for links in yes ''; do
  for group in "$@"; do
    declare -F "group_$group" >/dev/null || {
      echo "compare.sh: $group: no such group" >&2
      exit 2
    }
    "group_$group"
  done
  [[ ! $links ]] || xargs -0 -P "$(nproc)" -I '{}' bash -c 'bench {} >/dev/null 2>&1' <"$scratch/links" || true
done
sort -u "$scratch/errors" | head -n 20 >&2
awk -v least="$least" '$1 < least || /NOT VERIFIED/ { print "below " least ": " $0; bad++ } END { print NR " rows, " bad + 0 " below " least; exit bad > 0 }' \
  "$scratch/ratios"
