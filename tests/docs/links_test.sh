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

# unlisted_decisions FOLDER: one line for each page of a decision that the folder's README.md does not list by its title.
unlisted_decisions() {
  local page title number
  for page in "$1"/[0-9]*-*.md; do
    number=${page##*/}
    title=$(sed -n '1s/^# [0-9]*\.\{0,1\} //p' "$page")
    grep -qF "| [${number%%-*}](${page##*/}) | $title |" "$1/README.md" ||
      echo "$1/README.md: does not list ${page##*/} as $title"
  done
}

case_of "the index of decisions has each with its title"
while read -r line; do fail "$line"; done < <(unlisted_decisions core/design)

# odd_decisions FOLDER NOTEBOOK: one line for each page with other sections, and for each page of the notebook that its
# decision does not link to.
odd_decisions() {
  local page sections
  for page in "$1"/[0-9]*-*.md; do
    sections=$(sed -n 's/^## //p' "$page" | paste -sd,)
    [[ $sections == Context,Decision,Rejected,Consequences ]] || echo "$page: has the sections $sections"
  done
  for page in "$2"/[0-9]*.md; do
    page=${page##*/}
    grep -qF "/notebook/$page)" "$1/${page%.md}"-*.md || echo "$1/${page%.md}: does not link to what was measured for it"
  done
}

case_of "a decision has four sections, and leads to its measurements"
while read -r line; do fail "$line"; done < <(odd_decisions core/design specs/results/notebook)

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

case_of "a decision that is not listed is found, and one by another title"
mkdir "$work/decisions"
printf '| page | title |\n|---|---|\n| [0001](0001-a.md) | A | x |\n| [0002](0002-b.md) | B | x |\n' >"$work/decisions/README.md"
for page in "0001-a:# 0001. A" "0002-b:# 0002. Other" "0003-c:# 0003. C"; do echo "${page#*:}" >"$work/decisions/${page%%:*}.md"; done
unlisted_decisions "$work/decisions" >"$work/unlisted"
[[ $(sed 's/.* list //' "$work/unlisted") == $'0002-b.md as Other\n0003-c.md as C' ]] || fail "$(cat "$work/unlisted")"

case_of "other sections are found, and measurements without a link"
mkdir "$work/notebook"
touch "$work/notebook/0001.md" "$work/notebook/0002.md"
printf '## %s\n' Context Decision Rejected Consequences '[x](../notebook/0001.md)' >"$work/decisions/0001-a.md"
sed -i '$s/^## //' "$work/decisions/0001-a.md"
rm "$work/decisions/0003-c.md"
odd_decisions "$work/decisions" "$work/notebook" | sed 's/.*decisions.//' >"$work/odd"
[[ $(<"$work/odd") == $'0002-b.md: has the sections \n0002: does not link to what was measured for it' ]] || fail "$(cat "$work/odd")"

finish links
