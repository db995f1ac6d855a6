# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Blocks in the pages that are made, not written. They stand between one of these lines and `<!-- end -->`:
#
#   <!-- tessera describe ROLE --markdown -->    what that command prints
#   <!-- tessera help --markdown -->             the same
#   <!-- tessera plot specs/results/NAME.csv --markdown -->    the numbers of a picture
#   <!-- parts -->, <!-- folders -->               tests/structure/draw_parts.sh, draw_folders.sh
#
# It is sourced, by update_tables.sh (which writes them) and tables_test.sh (which compares).

# Paths of the pages with such a block, from the checkout's top.
list_pages() {
  find . \( -name '.?*' -o -name 'bazel-*' \) -prune -o -name '*.md' -type f -print | sed 's|^\./||' | sort |
    while read -r page; do
      ! grep -qE '^<!-- (tessera |folders -->|parts -->)' "$page" || echo "$page"
    done
}

# drawn NAME: tests/structure/draw_NAME.sh, as a picture.
drawn() {
  echo '```'
  bash "tests/structure/draw_$1.sh" || return 1
  echo '```'
}

# rewritten PAGE: its text with every block made anew by $tessera.
rewritten() {
  local line words inside=
  while IFS= read -r line; do
    if [[ $inside && $line == '<!-- end -->' ]]; then
      inside=
    elif [[ $inside ]]; then
      continue
    elif [[ $line =~ ^'<!-- tessera '((describe [a-z/_0-9]+|help|plot specs/results/[A-Za-z0-9_]+\.csv( [^ >]+)*) --markdown)' -->'$ ]]; then
      inside=$line
      read -ra words <<<"${BASH_REMATCH[1]}"
      echo "$line"
      "$tessera" "${words[@]}" </dev/null || return 1
      continue
    elif [[ $line =~ ^'<!-- '(parts|folders)' -->'$ ]]; then
      inside=$line
      echo "$line"
      drawn "${BASH_REMATCH[1]}" || return 1
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
