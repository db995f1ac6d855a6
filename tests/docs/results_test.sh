#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every experiment of specs/results has a CSV, a picture that was drawn from it, and a place on a page. Needs no
# gnuplot: a picture carries the checksum of the script that gnuplot was given.

tessera=$PWD/tools/cli/tessera
# shellcheck source-path=SCRIPTDIR source=../structure/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../structure/harness.sh"
results=$root/specs/results
shopt -s nullglob

experiments=("$results"/*.csv)
experiments=("${experiments[@]##*/}")
experiments=("${experiments[@]%.csv}")

case_of "there are experiments, and each has its picture"
((${#experiments[@]} >= 5)) || fail "only ${#experiments[@]}"
bash "$results/pictures.sh" "$tessera" --check >"$work/log" || fail "$(cat "$work/log")"
for picture in "$results"/*.svg; do
  [[ -s ${picture%.svg}.csv ]] || fail "$picture: has no CSV"
done

case_of "a page shows each picture, once, and links to each CSV; the index leads to each page"
pages=("$results"/*.md)
for name in "${experiments[@]}"; do
  shown=$(cat "${pages[@]}" | grep -cE "^!\[[^]]+\]\($name\.svg\)$")
  [[ $shown == 1 ]] || fail "$shown pictures of $name, with a text for who cannot see it"
  grep -qF "[$name.csv]($name.csv)" "${pages[@]}" || fail "no link to $name.csv"
done
for page in "${pages[@]##*/}"; do
  [[ $page == README.md ]] || grep -qF "]($page)" "$results/README.md" || fail "README.md does not lead to $page"
done

case_of "every picture has a title in words, a device, a date and a commit"
for name in "${experiments[@]}"; do
  grep -q '^# title: ' "$results/$name.csv" || fail "$name.csv: has no line '# title: ...'"
  head=,$(grep -m 1 -v '^#' "$results/$name.csv"),
  for origin in device date commit; do
    [[ $head == *,$origin,* ]] || grep -q "^# $origin: " "$results/$name.csv" ||
      fail "$name.csv: has no line '# $origin: ...' and no such column"
  done
done
"$tessera" plot "$results/memory.csv" --out "$work/memory.gp" --quiet
grep -qF 'one NVIDIA H200 · 2026-11-22 · commit 937c089' "$work/memory.gp" || fail "memory.svg does not name its origin"

# Columns are only ever appended, so those of an earlier run are the first of today's.
case_of "every row has the columns of its head, and bench's are bench's"
columns=$(grep -o 'column([a-z0-9_]*)' "$root/tools/lab/bench_rows.c" | sed 's/column(//; s/)//' | paste -sd,)
[[ $columns ]] || fail "no columns in tools/lab/bench_rows.c"
for name in "${experiments[@]}"; do
  awk -F , '/^#/ { next } !head { head = NF } NF != head || /"/ { print FILENAME ": " $0; exit 1 }' \
    "$results/$name.csv" || fail "a row with other columns"
  head=$(grep -m 1 -v '^#' "$results/$name.csv")
  [[ $head != spec,* || $columns,set,date,commit,note == "${head%,set,date,commit,note}",* ]] || fail "$name.csv: has other columns than bench: $head"
done

case_of "peers.csv is of the kind that \`experiment peers\` writes and draws"
for note in title plot; do
  asked=$(sed -n "/^\[picture\]/,\$s/^$note = //p" "$root/specs/experiments/peers.ini")
  [[ $asked && $asked == "$(sed -n "s/^# $note: //p" "$results/peers.csv")" ]] || fail "peers.ini and peers.csv have another $note"
done
head=$(grep -m 1 -v '^#' "$results/peers.csv")
grep -qF "\"$head\\n\"" "$root/tools/lab/duels.c" || fail "tools/lab/duels.c writes other columns than $head"

case_of "every recipe that was measured is there"
for name in "${experiments[@]}"; do
  while read -r recipe; do
    [[ -s $root/specs/$recipe ]] || fail "$name.csv: there is no specs/$recipe"
  done < <(awk -F , '/^[^#]/ && $1 ~ /\.ini$/ { print $1 }' "$results/$name.csv" | sort -u)
done

# rates_differ PAGE: rows of the decision table whose rates of insert, find100 and find0 are not those of best_h100.csv at 0.8.
rates_differ() {
  awk -F ' *[|] *' '
    NR == FNR { split($0, row, ","); if (row[3] == "0.8") rate[row[2], row[1]] = sprintf("%.1f", row[4] + 1e-9); next }
    match($3, /specs\/[a-z0-9_]+\.ini/) && $5 ~ /^[0-9.]+$/ {
      recipe = substr($3, RSTART + 6, RLENGTH - 6)
      if (!((recipe, "insert") in rate)) next
      rows++
      if ($5 != rate[recipe, "insert"] || $6 != rate[recipe, "find100"] || $7 != rate[recipe, "find0"])
        print recipe ": " $5 ", " $6 ", " $7 ", but " rate[recipe, "insert"] ", " rate[recipe, "find100"] ", " rate[recipe, "find0"]
    }
    END { if (rows < 10) print rows + 0 " rows with rates" }' "$results/best_h100.csv" "$1"
}

case_of "the decision table has the rates that were measured"
difference=$(rates_differ "$root/docs/which_table.md")
[[ ! $difference ]] || fail "docs/which_table.md: $difference"

# ---- The test itself -----------------------------------------------------------------------------

case_of "a changed figure, a changed note and a missing picture are found"
cp -r "$results" "$work/results"
check() { bash "$work/results/pictures.sh" "$tessera" --check; }
name=${experiments[0]}
check >"$work/log" || fail "a copy is not up to date: $(cat "$work/log")"
awk -F , -v OFS=, '/^[^#]/ && !changed && NR > 1 && $4 ~ /^[0-9]/ { $4 *= 2; changed = 1 } { print }' "$results/$name.csv" >"$work/results/$name.csv"
[[ $(check) == "$name.svg is not "* ]] || fail "a changed figure is not found"
sed 's/^# x: .*/# x: something else/' "$results/$name.csv" >"$work/results/$name.csv"
[[ $(check) == "$name.svg is not "* ]] || fail "a changed note is not found"
cp "$results/$name.csv" "$work/results"
rm "$work/results/$name.svg"
! check >/dev/null || fail "a missing picture is not found"

case_of "a wrong rate is found"
sed 's/| 11.6 | 27.2 |/| 11.7 | 27.2 |/' "$root/docs/which_table.md" >"$work/page.md"
[[ $(rates_differ "$work/page.md") == "best_find.ini: 11.7, 27.2, 21.6, but 11.6, 27.2, 21.6" ]] || fail "$(rates_differ "$work/page.md")"

finish results
