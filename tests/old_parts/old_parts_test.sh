#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tables of parts whose sources are those of 0.1.0 (BUILD): every pair that goes in is found, and no other. Which laws they
# keep is the conformance kit's matter, which tests the templates of today.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

old=$PWD/tests/old_parts

# works CASE FOLDERS SETTING...: 3,000 pairs in a table of these parts.
works() {
  case_of "$1"
  local folders=$2 setting sets=()
  shift 2
  for setting; do sets+=(--set "$setting"); done
  seq 1 3000 | awk '{ print $1 * 7 "\t" $1 }' >pairs.txt
  seq 1 6000 | awk '{ print $1 * 7 }' >asked.txt
  run run quickstart --plugins "$folders:$plugin_folders" --set table.backend=cpu --set table.capacity=3000 "${sets[@]}" \
    --insert pairs.txt --find asked.txt --out found.txt --quiet
  expect_status 0
  awk '$2 != "-" { print $1 "\t" $2 }' found.txt | cmp -s - pairs.txt || fail "$1: not the pairs that went in"
}

works hasher "$old/hasher" table.hasher=template
works layout "$old/layout" table.layout=template table.probing=linear
works probing "$old/probing" table.probing=template
works evicting "$old/evicting" table.probing=template table.layout=packed
works all "$old/hasher:$old/layout:$old/probing" table.hasher=template table.layout=template table.probing=template
works allocator "$old/allocator" table.layout=slab table.probing=slab_list table.allocator=template

finish
