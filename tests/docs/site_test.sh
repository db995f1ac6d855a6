#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The manual as a site: it is built without a warning, every page of docs/ is in its menu, every link and anchor of its pages
# works, and no Markdown is left in their text. Skipped where there is no MkDocs, which `./tessera test` installs.

# shellcheck source-path=SCRIPTDIR source=../structure/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../structure/harness.sh"

look() { python3 "$root/tests/docs/site.py" "$1" >"$work/faults"; }

case_of "every page of docs/ is in the menu"
for page in "$root"/docs/*.md; do
  page=docs/${page##*/}
  grep -qE "^ +- .*: $page\$" "$root/docs/mkdocs.yml" || fail "docs/mkdocs.yml: has no line of $page"
done

if ! command -v mkdocs >/dev/null; then
  echo "skipped: the site itself, no mkdocs"
  finish site
fi

case_of "the site is built, and its links work"
bash "$root/docs/build_site.sh" "$work/site" >"$work/log" 2>&1 || fail "$(grep -v ^INFO "$work/log")"
look "$work/site"
grep -qE '^[0-9]{2,} pages, [0-9]{4,} links$' "$work/faults" || fail "looked at too little: $(tail -n 1 "$work/faults")"
while read -r line; do fail "$line"; done < <(sed '$d' "$work/faults")

case_of "a folder that is not empty is left alone"
! bash "$root/docs/build_site.sh" "$work/site" >"$work/log" 2>&1 || fail "it was replaced"
grep -q 'is not empty$' "$work/log" || fail "$(cat "$work/log")"

# ---- The test itself -----------------------------------------------------------------------------

case_of "a lost file, a lost anchor and a list that is none are found"
mkdir "$work/wrong"
printf '%s\n' '<h1 id="here">x</h1><p><a href="#here">a</a> <a href="#gone">b</a> <img src="lost.svg">' \
  '<a href="https://example.org/">c</a></p><p>Some:' '- one</p><p><code>- two</code></p>' >"$work/wrong/index.html"
look "$work/wrong"
diff - "$work/faults" >"$work/difference" <<'FAULTS' || fail "$(cat "$work/difference")"
index.html: a list, table or block is not one: Some:
index.html: leads to #gone, and there is no such heading
index.html: leads to lost.svg, which is not there
1 pages, 3 links
FAULTS

finish site
