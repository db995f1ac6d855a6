#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every link and picture of a page leads to a file of the checkout (a folder is no page of
# the site), and to a heading if it names one. Addresses of the
# web are not tried.

# shellcheck source-path=SCRIPTDIR source=../structure/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../structure/harness.sh"

# anchors PAGE: what its headings are called in links.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ /' "$1" | sed 's/^#* //' | tr '[:upper:]' '[:lower:]' |
    sed 's/[^a-z0-9_ -]//g; s/ /-/g'
}

# broken_links PAGE: one line for each.
broken_links() {
  local link path anchor target
  while read -r link; do
    path=${link%%#*} anchor=
    [[ $link != *'#'* ]] || anchor=${link#*#}
    target=$1
    [[ ! $path ]] || target=$(dirname "$1")/$path
    if [[ ! -f $target ]]; then
      echo "$1: leads to $link, which is not there"
    elif [[ $anchor ]] && ! anchors "$target" | grep -qxF -- "$anchor"; then
      echo "$1: leads to $link, and there is no such heading"
    fi
  done < <(awk '/^```/ { code = !code } !code' "$1" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | grep -vE '^[a-z]+:')
}

cd "$root" || exit 1
mapfile -t pages < <(find . \( -name '.?*' -o -name 'bazel-*' \) -prune -o -name '*.md' -type f -print | sort)

case_of "every link of every page leads somewhere"
((${#pages[@]} > 10)) || fail "only ${#pages[@]} pages were found"
links=0
for page in "${pages[@]}"; do
  links=$((links + $(grep -cE '\]\([^) ]+\)' "$page")))
  while read -r line; do fail "$line"; done < <(broken_links "$page")
done
((links > 50)) || fail "only $links lines with links were found"

# ---- The test itself -----------------------------------------------------------------------------

case_of "broken links are found, and others are not"
cat >"$work/page.md" <<'PAGE'
# One page: `a_b`, twice
[self](page.md) [head](#one-page-a_b-twice) [web](https://example.org/x) ![lost](lost.svg) [worse](page.md#two) [folder](.)
```
[code](is_not_read)
```
PAGE
broken_links "$work/page.md" >"$work/broken"
[[ $(sed 's/.* leads to //; s/,.*//' "$work/broken") == $'lost.svg\npage.md#two\n.' ]] || fail "$(cat "$work/broken")"

finish links
