#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `tessera check --predict`, and `tune --card` without a GPU.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cd "$work" || exit 1
card=$specs/cards/h100.csv
export CUDA_VISIBLE_DEVICES= # predictions are for machines without a GPU

# rate OPERATION LOAD: what is predicted for 2^24 pairs.
rate() { awk -v op="$1" -v load="$2" '$1 == op && $2 == load { print $6 }' out; }
# expect_rate OPERATION LOAD LEAST MOST
expect_rate() {
  awk -v rate="$(rate "$1" "$2")" -v least="$3" -v most="$4" 'BEGIN { exit !(rate >= least && rate <= most) }' ||
    fail "$1 at $2: $(rate "$1" "$2") is not from $3 to $4"
}

case_of "rates by operation, load and size"
run check best_find --predict "$card"
expect_status 0
expect_out '^predicted +10\^9 keys per second.*Median error on other tables: finds [0-9]+ %, inserts [0-9]+ %'
(($(grep -cE '^  (insert|find100|find0) +0\.' out) == 15)) || fail "rows: $(cat out)"
expect_rate find100 0.8 25 31 # measured: 28.3 (specs/results/best_map.csv, cuckoo_8_2_2)
expect_rate insert 0.8 10 14  # 12.6
expect_rate find0 0.9 17 27

case_of "fuller tables are slower, and pages faster"
awk '$1 == "find0" { if (before && $6 > before) exit 1; before = $6 }' out || fail "find0 rises: $(cat out)"
run check best_bulk --predict "$card"
expect_rate insert 0.8 25 50 # page by page
[[ $(rate insert 0.95) == - ]] || fail "pages that are too full are predicted"

case_of "what the model does not know is refused"
refuses 'probing = perfect makes its table of a whole batch' check perfect --predict "$card"
refuses 'probing = hashgraph makes its table' check best_find --set table.probing=hashgraph --predict "$card"
refuses 'the model knows sets, maps and counters' check index --predict "$card"
refuses 'the model knows sets, maps and counters' check best_absent --predict "$card"
refuses 'prints a table, and --json one object' check best_find --json --predict "$card"
refuses 'no-such.csv: cannot be read' check best_find --predict no-such.csv
printf 'name,bytes,lanes,footprint_bytes,giga_per_second\nread,32,1,1048576,5\n' >short.csv
refuses 'short.csv: has no rate of cas' check best_find --predict short.csv

case_of "what tune has predicted stands in its INI, with the error"
printf '%s\n' '[table]' 'kind = map' 'key_bits = 32' 'value_bits = 32' 'layout = packed' 'hasher = murmur3' '[workload]' 'n = 4096' \
  'find = 1' 'loads = 0.8' '[sweep]' 'table.probing = double_hashing, linear' >work.ini
run tune work.ini --card "$card"
expect_status 0
expect_line work.tuned.ini '^; Nothing was timed: there is no GPU, and this is by predicted time'
expect_line work.tuned.ini '^; Median error of predictions on other tables: finds [0-9]+ %, inserts [0-9]+ %, page by page [0-9]+ %\.$'

case_of "without a GPU a table of whole batches does not win, as its rates are not known"
sed -e 's/double_hashing, linear/perfect, linear/' -e 's/^hasher/duplicates = promise_unique\n&/' work.ini >built.ini
run tune built.ini --card "$card"
expect_status 0
expect_line built.tuned.ini '^probing = linear$'

finish
