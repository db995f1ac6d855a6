# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Blocks in the pages that are made, not written. Between the two lines of
#
#   <!-- tessera describe ROLE --markdown -->      or: <!-- tessera help --markdown -->
#   <!-- end -->
#
# stands the output of that command; between `<!-- rooms -->` and `<!-- end -->` the picture of the rooms
# (tests/structure/draw_rooms.sh). It is sourced, by update_tables.sh (which writes them) and tables_test.sh (which compares).

# Paths of the pages with such a block, from the checkout's top.
list_pages() {
  find . \( -name '.?*' -o -name 'bazel-*' \) -prune -o -name '*.md' -type f -print | sed 's|^\./||' | sort |
    while read -r page; do
      ! grep -qE '^<!-- (tessera |rooms -->)' "$page" || echo "$page"
    done
}

# rewritten PAGE: its text with every block made anew by $tessera.
rewritten() {
  local line words inside=
  while IFS= read -r line; do
    if [[ $inside && $line == '<!-- end -->' ]]; then
      inside=
    elif [[ $inside ]]; then
      continue
    elif [[ $line =~ ^'<!-- tessera '((describe [a-z/_0-9]+|help) --markdown)' -->'$ ]]; then
      inside=$line
      read -ra words <<<"${BASH_REMATCH[1]}"
      echo "$line"
      "$tessera" "${words[@]}" </dev/null || return 1
      continue
    elif [[ $line == '<!-- rooms -->' ]]; then
      inside=$line
      printf '%s\n' "$line" '```'
      bash tests/structure/draw_rooms.sh || return 1
      printf '%s\n' '```'
      continue
    elif [[ $line == '<!-- tessera '* ]]; then
      echo "$1: not a command for a table: $line" >&2
      return 1
    fi
    printf '%s\n' "$line"
  done <"$1"
  [[ ! $inside ]] || {
    echo "$1: has no line '<!-- end -->' behind $inside" >&2
    return 1
  }
}
