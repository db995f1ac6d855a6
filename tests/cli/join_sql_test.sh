#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera join on the cpu backend, on data of the shape of TPC-H's (tpch.py), against SQLite. ORDERS: how many; a hundred
# times as many are for a look by hand.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

orders=${ORDERS:-15000}
cpu=(--set table.backend=cpu)
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# compares QUERY LEFT RIGHT WAY ARGUMENT...: the query's rows are SQLite's, and were found that way.
compares() {
  local query=$1 left=$2 right=$3 way=$4
  shift 4
  local began=$EPOCHREALTIME
  run join "$left.tsv" "$right.tsv" --out "$query.found" "$@" "${cpu[@]}"
  expect_status 0
  awk -v from="$began" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f s: ", to - from }'
  echo "$query of $left and $right, $way: $(wc -l <"$query.found") rows"
  cmp <(LC_ALL=C sort "$query.found") <(LC_ALL=C sort "$query.expected") || fail "$query: other rows than SQLite's"
  grep -q "$way" err || fail "$query: found otherwise: $(<err)"
}

cd "$work" || exit 1
python3 "$folder/tpch.py" "$orders" . || fail "tpch.py"

# by the tables that join makes if nothing is said, by those of distinct keys, and by lists of one number
printf '[table]\nkind = map\nkey_bits = 64\nvalue_bits = 64\nlayout = packed\nprobing = linear\nhasher = murmur3\n' >map.ini
printf '[table]\nkind = multimap\nkey_bits = 64\nvalue_bits = 64\nlayout = packed\nprobing = hashgraph\nhasher = murmur3\ncapacity = %d\n' \
  $((orders * 5)) >lists.ini

for spec in default lists; do
  way='by an index'
  [[ $spec == default ]] || way='page by page'
  spec_arguments=()
  [[ $spec == default ]] || spec_arguments=(--spec lists.ini)
  for kind in inner anti union; do
    case_of "$kind of orders and line items, $spec"
    compares "$kind" orders lineitem "$way" --kind "$kind" "${spec_arguments[@]}"
  done
  for kind in left semi; do
    case_of "$kind of customers and their orders, $spec"
    compares "$kind" customer customers_orders "$way" --kind "$kind" "${spec_arguments[@]}"
  done
  for kind in intersect difference; do
    case_of "$kind of line items and orders, $spec"
    compares "$kind" lineitem orders "$way" --kind "$kind" "${spec_arguments[@]}"
  done
  for what in sum min max; do
    case_of "$what of the line items of orders, $spec"
    compares "$what" orders lineitem "$way" --aggregate "$what" "${spec_arguments[@]}"
  done
  case_of "count of the orders of customers, $spec"
  compares count customer customers_orders "$way" --aggregate count "${spec_arguments[@]}"
done

case_of "customers in a table of distinct keys, found one by one"
run join customer.tsv customer.tsv --kind semi --out all.found --spec map.ini "${cpu[@]}"
expect_status 0
cmp <(LC_ALL=C sort all.found) <(LC_ALL=C sort customer.tsv) || fail "other rows"
grep -q 'by a find' err || fail "found otherwise: $(<err)"

finish join_sql
