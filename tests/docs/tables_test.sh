#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tables of the pages say what the rows of the parameters say.

tessera=$PWD/tools/cli/tessera
export TESSERA_PLUGINS=$PWD/layouts:$PWD/probing:$PWD/hashers:$PWD/allocators:$PWD/eviction
# shellcheck source=../structure/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../structure/harness.sh"
# shellcheck source=tables.sh
source "$(dirname "${BASH_SOURCE[0]}")/tables.sh"

cd "$root" || exit 1

case_of "the tables are up to date"
while read -r page; do
  if ! rewritten "$page" >"$work/page" 2>"$work/log"; then
    fail "$(cat "$work/log")"
  elif ! diff "$page" "$work/page" >"$work/difference"; then
    fail "$page is stale: run tests/docs/update_tables.sh: $(cat "$work/difference")"
  fi
done < <(list_pages)

case_of "every folder that has a plugin has its table"
has_block() { grep -qxF -- "<!-- tessera describe $2 --markdown -->" "$1" || fail "$1: has no table of $2"; }
has_block docs/spec.md table
for part in layouts:layout probing:probing hashers:hasher allocators:allocator eviction:eviction; do
  folder=${part%:*}
  ! compgen -G "$folder/*.c" >/dev/null || has_block "$folder/README.md" "${part#*:}"
done

# bytes_differ PAGE: rows of the decision table whose bytes per pair are not what `check` prints for 10^8 pairs, rounded.
bytes_differ() {
  local rows=0 recipe said is
  while read -r recipe said; do
    rows=$((rows + 1))
    is=$("$tessera" check "specs/$recipe" --set table.capacity=100M --set table.backend=cpu </dev/null |
      awk '/^  in all/ { printf "%.0f", $3 / 1e8 }')
    [[ $is == "$said" ]] || echo "$recipe: $said bytes per pair, but $is"
  done < <(sed -nE 's#^\|[^|]*\| \[[^|]*specs/([a-z0-9_]+\.ini)[^|]*\| ([0-9]+)[^|]*\|.*#\1 \2#p' "$1")
  ((rows >= 15)) || echo "$rows rows with bytes"
}

case_of "the decision table has the bytes that check prints"
difference=$(bytes_differ docs/which_table.md)
[[ ! $difference ]] || fail "docs/which_table.md: $difference"

# ---- The test itself -----------------------------------------------------------------------------

case_of "a stale table is found, and nothing else changes"
cat >"$work/page.md" <<'PAGE'
above  | a |
<!-- tessera describe table --markdown -->
old
<!-- end -->
between
<!-- tessera describe layout/packed --markdown -->
<!-- end -->
below <!-- end -->
PAGE
rewritten "$work/page.md" >"$work/new.md" || fail "cannot be rewritten"
grep -v '^|' "$work/new.md" | grep . >"$work/rest"
grep -v '^old$' "$work/page.md" | diff - "$work/rest" >"$work/difference" || fail "$(cat "$work/difference")"
grep -qE '^\| `kind` \| set \\\| map \\\| multiset \\\| multimap \\\| counter \\\| filter \\\| index \\\| cache \| required \| [A-Z].*\. \|$' "$work/new.md" || fail "no row of kind"
grep -qE '^\| `packed` \| `bucket_slots` \| [0-9]+ \| [0-9]+ \.\. [0-9]+ \| [A-Z].*\. \|$' "$work/new.md" ||
  fail "no row of bucket_slots"
cp "$work/new.md" "$work/page.md"
rewritten "$work/page.md" | cmp -s - "$work/new.md" || fail "a second time changes something"

case_of "wrong bytes are found"
sed 's#\(best_bulk.ini) | \)10 #\111 #' docs/which_table.md >"$work/page.md"
[[ $(bytes_differ "$work/page.md") == "best_bulk.ini: 11 bytes per pair, but 10" ]] || fail "$(bytes_differ "$work/page.md")"

case_of "a block that cannot be made is an error"
for block in 'describe layout/absent --markdown' 'describe table --markdown; rm x' 'run x'; do
  printf '<!-- tessera %s -->\n<!-- end -->\n' "$block" >"$work/page.md"
  ! rewritten "$work/page.md" >/dev/null 2>&1 || fail "accepted: $block"
done
echo '<!-- tessera describe table --markdown -->' >"$work/page.md"
! rewritten "$work/page.md" >/dev/null 2>&1 || fail "accepted a block without an end"

finish tables
