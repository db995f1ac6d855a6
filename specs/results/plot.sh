#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws a picture NAME.svg of each NAME.csv here. `./tessera pictures` runs it after it has installed gnuplot; do so when a
# figure or this file has changed.
#
#   plot.sh            writes the pictures that are not up to date
#   plot.sh --check    writes nothing, needs no gnuplot; says which pictures are not up to date, and is 1 if there are any
#
# A picture is up to date if it carries the checksum of its CSV and of this file. All have a white ground of their own, so
# that they read the same on a light and on a dark page, and Okabe and Ito's colours, which colour-blind eyes tell apart.
# Read next: README.md here.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# What each picture needs before its own lines: sizes, colours, and rows of a CSV by conditions on its columns, in awk:
# rows("shapes.csv", "$4 == \"insert\"", "$8, $9 / 1000"). Columns 1 to 13 are those of `tessera bench`.
prelude() {
  cat <<'END'
set encoding utf8
set datafile separator whitespace
rows(file, condition, columns) = sprintf("< awk -F, '%s { print %s }' %s", condition, columns, file)
blue = "#0072B2"; vermilion = "#D55E00"; green = "#009E73"; purple = "#CC79A7"; orange = "#E69F00"; sky = "#56B4E9"
black = "#000000"; grey = "#999999"
set border 3 lc rgb "#444444"
set tics nomirror out scale 0.6 textcolor rgb "#222222"
set grid ytics lc rgb "#dddddd" lt 1 lw 0.6
set title offset 0,-0.4
set key noenhanced samplen 2.4 spacing 1.15
set yrange [0:*]
set style data linespoints
set pointsize 0.8
set boxwidth 0.9 relative
set style fill solid 1 noborder
giga = "10⁹ operations a second"
END
}

terminal() { echo "set terminal svg size $1,$2 dynamic enhanced font 'DejaVu Sans,Helvetica,sans-serif,15' background '#ffffff' linewidth 1.6"; }

# slanted_bars LABEL: groups of bars with long names. LABEL: of the axis, as gnuplot reads it.
slanted_bars() {
  cat <<END
set ylabel $1
set style data histograms
set style histogram clustered gap 1
set xtics rotate by -25 nomirror noenhanced
set rmargin 14
END
}

draw_hot_keys() {
  terminal 1040 420
  slanted_bars giga
  cat <<'END'
set key top left horizontal
at(keys) = rows("hot_keys.csv", sprintf("$10 == \"\" && $4 == \"%s\"", keys), "$1 \"/\" $2 \"/\" $3, $7 / 1000")
plot at("distinct") using 2:xtic(1) t "distinct" lc rgb grey, at("Zipf 1.0") using 2 t "Zipf 1.0" lc rgb vermilion, \
  at("64 each") using 2 t "64 each" lc rgb sky, at("4096 each") using 2 t "4096 each" lc rgb orange, \
  at("all equal") using 2 t "all equal" lc rgb blue
END
}

draw_growth() {
  terminal 900 400
  slanted_bars '"times as long as sized before"'
  cat <<'END'
unset key
set style data boxes
plot rows("growth.csv", "$7 ~ /^[.0-9]/", "$1 \"/\" $2 \"/\" ($4 == \"cpu\" ? \"cpu\" : \"H100\") \" \" $7") using 0:2:xtic(1) lc rgb blue
END
}

draw_bulk() {
  terminal 1040 420
  cat <<'END'
set ylabel giga
set style data boxes
set xtics rotate by -25 nomirror noenhanced
set rmargin 14
unset key
inserts = rows("bulk.csv", "$3 == \"NVIDIA H200\" && $4 == \"insert\"", "substr($1, 1, length($1) - 4) \"/\" $8 ($16 == \"-\" ? \"\" : \"/random\") ($14 == \"distinct\" ? \"\" : \"/\" $14), $9 / 1000")
plot inserts using 2:xtic(1) lc rgb blue
END
}

draw_repeats() {
  terminal 900 400
  slanted_bars giga
  cat <<'END'
set key outside right
set datafile separator tab
at(column) = rows("repeats.csv", "$2 ~ /^[0-9]/", "$1 \"\\t\" $" . column . " / 1000")
plot at("5") using 2:xtic(1) t "page by page" lc rgb blue, at("6") using 2 t "random access" lc rgb orange, \
  at("7") using 2 t "prototype" lc rgb grey
END
}

draw_experiments() {
  terminal 900 860
  lying_bars 'times the paper'
  cat <<'END'
set lmargin 20
set datafile separator tab
plot rows("experiments.csv", "$3 == \"mops\"", "++row \"\\t\" $6 \"\\t\" $1 \" \" $2") using (0):1:(0):2:($1 - 0.4):($1 + 0.4):ytic(3) with boxxyerror lc rgb blue
END
}

draw_kernels() {
  terminal 900 400
  slanted_bars '"nanoseconds an item"'
  cat <<'END'
set key top right
at(column) = rows("kernels.csv", "$2 ~ /^NVIDIA/", "$1 \"/\" $3, $" . column . " / $3 * 1000000")
plot at("4") using 2:xtic(1) t "one kernel" lc rgb blue, at("5") using 2 t "bulk calls" lc rgb orange
END
}

draw_python_calls() {
  terminal 1040 420
  slanted_bars '"microseconds a call"'
  cat <<'END'
set key top right
at(column) = rows("python_calls.csv", "$2 ~ /^NVIDIA/", "$1 \"/\" $3, $" . column)
plot at("4") using 2:xtic(1) t "Python" lc rgb vermilion, at("5") using 2 t "C" lc rgb grey
END
}

draw_shapes() {
  terminal 1040 380
  cat <<'END'
set multiplot layout 1,4
set label 1 giga at screen 0.015,0.5 rotate center
set xrange [0.58:0.97]; set xtics 0.1; set xlabel "load factor"
set lmargin 9; set rmargin 0
unset key
at(spec, lanes, op) = rows("shapes.csv", sprintf("$1 == \"%s\" && $14 == \"%s\" && $4 == \"%s\"", spec, lanes, op), "$8, $9 / 1000")
do for [op in "insert find100 find0"] {
  set title op
  plot at("speed/bcht_16_16.ini", "-", op) lc rgb black pt 1, at("speed/bcht_8_8.ini", "-", op) lc rgb purple pt 2, \
    at("speed/bcht_8_4.ini", "-", op) lc rgb green pt 9, at("speed/bcht_8_2.ini", "-", op) lc rgb vermilion pt 7, \
    at("speed/bcht_8_1.ini", "-", op) lc rgb orange pt 5, at("speed/bcht_4_1.ini", "-", op) lc rgb blue pt 13
  unset label 1
}
unset title; unset border; unset tics; unset xlabel; unset ylabel; set yrange [0:1]; unset grid
set key at graph -0.3,0.95 left top Left reverse title "slots of a bucket,\nlanes of a tile" left
plot NaN with linespoints t "16, 16" lc rgb black pt 1, NaN with linespoints t "8, 8" lc rgb purple pt 2, NaN with linespoints t "8, 4" lc rgb green pt 9, \
  NaN with linespoints t "8, 2" lc rgb vermilion pt 7, NaN with linespoints t "8, 1" lc rgb orange pt 5, NaN with linespoints t "4, 1" lc rgb blue pt 13
END
}

draw_recipes() {
  terminal 1240 600
  cat <<'END'
set multiplot layout 2,5 margins 0.07,0.99,0.14,0.94 spacing 0.035,0.14
set label 1 giga at screen 0.015,0.5 rotate center
set xrange [0.45:1.02]; set xtics 0.2; set yrange [0:30]; set ytics 10
set title noenhanced
at(recipe, bits, op) = rows("recipes.csv", sprintf("$1 == \"%s.ini\" && $5 == %d && $4 == \"%s\"", recipe, bits, op), "$8, $9 / 1000")
unset key
place = 0
do for [recipe in "bcht 1cht bcht_least_loaded p2bht iht linear quadratic robin_hood warpcore_single warpcore_set"] {
  set title recipe
  if (place >= 5) { set xlabel "load factor" } else { unset xlabel }
  if (recipe eq "bcht_least_loaded") { set key top right Left reverse } else { unset key }
  if (recipe eq "p2bht") { set label 2 "full: 32 bits\nopen: 64 bits" at graph 0.95,0.92 right } else { unset label 2 }
  plot at(recipe, 32, "insert") t "insert" lc rgb black pt 5, at(recipe, 64, "insert") notitle lc rgb black dt 2 pt 4, \
    at(recipe, 32, "find100") t "find100" lc rgb blue pt 7, at(recipe, 64, "find100") notitle lc rgb blue dt 2 pt 6, \
    at(recipe, 32, "find0") t "find0" lc rgb vermilion pt 9, at(recipe, 64, "find0") notitle lc rgb vermilion dt 2 pt 8
  place = place + 1
  unset label 1
}
END
}

draw_slab_hash() {
  terminal 1160 380
  cat <<'END'
set multiplot layout 1,5
set label 1 giga at screen 0.012,0.5 rotate center
set xrange [0.15:0.95]; set xtics 0.2; set xlabel "memory utilization"; set yrange [0:45]
set lmargin 7.5; set rmargin 0
unset key
lanes(count, op) = rows("slab_hash.csv", sprintf("$1 == \"slab_hash.ini\" && $7 == 2 ^ 22 && $4 == \"%s\" && $14 ~ /^layout.tile_lanes=%d /", op, count), "$13, $9 / 1000")
other(spec, op) = rows("slab_hash.csv", sprintf("$1 == \"%s\" && $7 == 2 ^ 22 && $4 == \"%s\"", spec, op), "$13, $9 / 1000")
do for [op in "insert find100 find0 erase"] {
  set title op
  plot lanes(16, op) lc rgb black pt 1, lanes(8, op) lc rgb purple pt 2, lanes(4, op) lc rgb blue pt 7, \
    lanes(2, op) lc rgb green pt 9, lanes(1, op) lc rgb orange pt 5, other("chain_sector.ini", op) lc rgb vermilion pt 13, \
    (op eq "insert" ? other("SlabHash", op) : "< echo NaN NaN") lc rgb grey dt 2 pt 6
  unset label 1
}
unset title; unset border; unset tics; unset xlabel; unset ylabel; set yrange [0:1]; unset grid
set key at graph -0.3,0.95 left top Left reverse
plot NaN with linespoints t "16 lanes a slab" lc rgb black pt 1, NaN with linespoints t "8 lanes" lc rgb purple pt 2, NaN with linespoints t "4 lanes" lc rgb blue pt 7, \
  NaN with linespoints t "2 lanes" lc rgb green pt 9, NaN with linespoints t "1 lane" lc rgb orange pt 5, NaN with linespoints t "chain_sector" lc rgb vermilion pt 13, \
  NaN with linespoints t "SlabHash's code" lc rgb grey dt 2 pt 6
END
}

draw_mixed() {
  terminal 1040 380
  cat <<'END'
set multiplot layout 1,4
set label 1 giga at screen 0.015,0.5 rotate center
set xrange [0.15:0.95]; set xtics 0.2; set xlabel "memory utilization"; set yrange [0:22]
set lmargin 9; set rmargin 0
unset key
# The utilization of open addressing is its load factor, which bench does not print a second time.
at(spec, gamma) = rows("mixed.csv", sprintf("$1 == \"%s\" && $7 == 2 ^ 22 && $14 ~ /gamma %d$/", spec, gamma), "$13, $9 / 1000")
do for [gamma = 0:2] {
  set title sprintf("Gamma %d", gamma)
  plot at("chain_sector.ini", gamma) lc rgb vermilion pt 13, at("slab_hash_mixed.ini", gamma) lc rgb blue pt 7, \
    at("mixed.ini", gamma) lc rgb black pt 5
  unset label 1
}
unset title; unset border; unset tics; unset xlabel; unset ylabel; set yrange [0:1]; unset grid
set key at graph -0.35,0.9 left top Left reverse
plot NaN with linespoints t "chain_sector" lc rgb vermilion pt 13, NaN with linespoints t "slab_hash_mixed" lc rgb blue pt 7, \
  NaN with linespoints t "mixed (no lists)" lc rgb black pt 5
END
}

# bars TITLE-OF-Y: what draws bars shares; a group is an x tic with bars side by side.
bars() {
  cat <<END
set style data histograms
set style histogram clustered gap 1
set xtics scale 0 noenhanced
set ylabel "$1"
END
}

draw_multimaps() {
  terminal 760 380
  bars '10⁹ pairs a second'
  cat <<'END'
set yrange [0:40]
at(spec, load) = rows("multimaps.csv", sprintf("$1 == \"%s\" && $8 == %s", spec, load), "$4, $9 / 1000")
set key top right Left reverse
plot at("warpcore_multi.ini", "0.6") using 2:xtic(1) t "warpcore_multi, load .6" lc rgb blue, \
  at("warpcore_multi.ini", "0.8") using 2 t "load .8" lc rgb sky, \
  at("slab_hash_multi.ini", "0.6") using 2 t "slab_hash_multi, load .6" lc rgb vermilion, \
  at("slab_hash_multi.ini", "0.8") using 2 t "load .8" lc rgb orange
END
}

draw_batches() {
  terminal 640 360
  bars '10⁹ keys a second'
  cat <<'END'
set xlabel "keys in a batch"
at(spec) = rows("batches.csv", sprintf("$1 == \"%s\"", spec), "$14, $9 / 1000")
set key top left Left reverse
plot at("slab_hash.ini") using 3:xtic(2) t "slab_hash grows by each batch" lc rgb blue, \
  at("bcht.ini") using 3 t "bcht is built anew for each batch" lc rgb orange
END
}

draw_allocators() {
  terminal 640 360
  bars '10⁶ slabs of 128 bytes a second'
  cat <<'END'
set logscale y; set yrange [1:1000000]; set format y "10^{%T}"
at(spec) = rows("allocators.csv", sprintf("$1 == \"%s\"", spec), "$4, $9")
set key top right Left reverse
plot at("slab_hash.ini") using 2:xtic(1) t "allocator slab, a warp each" lc rgb blue, \
  at("CUDA") using 2 t "malloc and free of CUDA" lc rgb orange
END
}

# A bar that lies, for long names.
lying_bars() {
  cat <<END
set style fill solid 1 noborder
set grid noytics xtics lc rgb "#dddddd" lt 1 lw 0.6
set border 1; set ytics scale 0 noenhanced; set yrange [*:*] reverse
set xrange [0:*]; set xlabel "$1"
unset key
END
}

draw_semantics() {
  terminal 860 420
  lying_bars 'rate with it / rate without it'
  cat <<'END'
set xrange [0:1.1]; set lmargin 44
set datafile separator tab
every_row = rows("semantics.csv", "/^[^#w]/", "++row \"\\t\" $4 \"\\t\" $2 \": \" $1 \"\\t\" ($2 ~ /find/ ? 1 : 0)")
plot every_row using (0):1:(0):2:($1 - 0.38):($1 + 0.38):($4 == 1 ? 0x0072B2 : 0xE69F00):ytic(3) with boxxyerror lc rgb variable
END
}

draw_memory() {
  terminal 760 400
  lying_bars '10⁹ accesses a second'
  cat <<'END'
set lmargin 30; set xrange [0:50]
set datafile separator tab
every_row = rows("memory.csv", "$2 ~ /^[0-9]/ && $1 != \"copy\"", "++row \"\\t\" $5 \"\\t\" $1 \" of \" $2 \" bytes, \" $3 ($3 > 1 ? \" lanes\" : \" lane\")")
plot every_row using (0):1:(0):2:($1 - 0.38):($1 + 0.38):ytic(3) with boxxyerror lc rgb blue, \
  every_row using ($2 + 0.5):1:(sprintf("%.1f", $2)) with labels left
END
}

draw_papers() {
  terminal 900 380
  cat <<'END'
set multiplot layout 1,2
END
  bars 'load factor reached'
  cat <<'END'
set key above Left reverse
set yrange [0:1]; set ytics 0.2
loads = rows("papers.csv", "$2 == \"highest load\"", "$1, $4, $5")
plot loads using 2:xtic(1) t "Tessera" lc rgb blue, loads using 3 t "BGHT's paper" lc rgb orange
set ylabel "buckets looked at by a key"; set yrange [0:4]; set ytics 1
probes = rows("papers.csv", "$2 ~ /^probes/", "$1, substr($2, 11), $4, $5")
set xtics rotate by -40 left
plot probes using 3:xtic(strcol(1) . " " . strcol(2)) t "Tessera" lc rgb blue, probes using 4 t "BGHT's paper" lc rgb orange
END
}

draw_peers() {
  terminal 960 620
  lying_bars '10⁹ operations a second'
  cat <<'END'
set key at graph 1,0.99 top right Left reverse; set lmargin 38; set xrange [0:35]
set datafile separator tab
every_row = rows("peers.csv", "/^(distinct|any|lists|counting)/ && $6 != 0.9", "++row \"\\t\" $8 / 1000 \"\\t\" $9 / 1000 \"\\t\" \
  $2 ($1 == \"counting\" ? \", adds up, Zipf 1.0\" : $1 == \"distinct keys\" && $2 == \"insert\" ? \", distinct keys\" : $1 == \"any keys\" ? \", looks for the key\" : \"\") \
  ($3 == 64 ? \", 64 bits\" : \"\") ($6 != \"-\" ? \", load \" $6 : $7 != \"-\" ? \", slab hash, utilization \" $7 : \
  $1 == \"any keys\" ? \", \" ($5 < 500000 ? \"2^18\" : \"2^20\") \" pairs (in L2)\" : \"\")")
plot every_row using (0):1:(0):2:($1 - 0.4):($1):ytic(4) with boxxyerror lc rgb blue t "Tessera", \
  every_row using (0):1:(0):3:($1):($1 + 0.4) with boxxyerror lc rgb orange t "the fastest other library", \
  every_row using ($2 < 0.1 ? 0.2 : NaN):($1 - 0.2):(sprintf("%.3f", $2)) with labels left notitle
END
}

draw_workloads() {
  terminal 900 620
  lying_bars 'nanoseconds an operation'
  cat <<'END'
set lmargin 34
set datafile separator tab
plot rows("workloads.csv", "$5 ~ /^[0-9]/", "++row \"\\t\" $3 \"\\t\" $1 \": \" $2") using (0):1:(0):2:($1 - 0.38):($1 + 0.38):ytic(3) with boxxyerror lc rgb blue
END
}

# bars_of NAME OP OP OP: a group of bars for each table and keys, of rows op,line,keys,y.
bars_of() {
  terminal 1040 420
  slanted_bars giga
  cat <<END
set key outside right
set datafile separator tab
at(op) = rows("$1.csv", sprintf("\$1 == \"%s\"", op), "\$2 \" \" \$3 \"\\\\t\" \$4")
plot at("$2") using 2:xtic(1) t "$2" lc rgb grey, at("$3") using 2 t "$3" lc rgb blue, at("$4") using 2 t "$4" lc rgb orange
END
}

draw_best_multi() { bars_of best_multi insert find_all count_all; }
draw_best_count() { bars_of best_count insert find100 find0; }

# head_of NAME KEY: what a line `# KEY: ...` of NAME.csv says.
head_of() { sed -n "s/^# $2: //p" "$1.csv"; }

# The figure of a paper's experiment, of rows op,line,x,y: a panel for each operation.
draw_figure() {
  local name=$1 axes tics place=0 line of_panel='' of_key=''
  local colours=(black blue vermilion green purple orange sky grey) panels lines
  mapfile -t panels < <(awk -F, '!/^#/ && $1 != "op" && !seen[$1]++ { print $1 }' "$name.csv")
  mapfile -t lines < <(awk -F, '!/^#/ && $1 != "op" && !seen[$2]++ { print $2 }' "$name.csv")
  axes=$(head_of "$name" logarithmic) tics=$(head_of "$name" tics)
  for line in "${lines[@]}"; do
    of_panel+="${of_panel:+, }at(op, \"$line\") lc rgb ${colours[place % 8]} pt $((place + 4)) dt $((place / 8 + 1))"
    of_key+="${of_key:+, }NaN with linespoints t \"$line\" lc rgb ${colours[place % 8]} pt $((place + 4)) dt $((place / 8 + 1))"
    place=$((place + 1))
  done
  terminal $((200 + 260 * ${#panels[@]})) 380
  cat <<END
set multiplot layout 1,$((${#panels[@]} + 1))
set label 1 "$(head_of "$name" y)" at screen 0.015,0.5 rotate center
set xlabel "$(head_of "$name" x)"; set lmargin 9; set rmargin 0; unset key
${axes:+set logscale $axes 2}
${tics:+set xtics $tics}
at(op, line) = rows("$name.csv", sprintf("\$1 == \"%s\" && \$2 == \"%s\"", op, line), "\$3, \$4")
do for [op in "${panels[*]}"] {
  set title op noenhanced
  plot $of_panel
  unset label 1
}
unset title; unset border; unset tics; unset xlabel; unset grid; unset logscale
set xrange [0:1]; set yrange [0:1]; set key at graph -0.5,0.95 left top Left reverse
plot $of_key
END
}

checksum() { cat "$1.csv" plot.sh | sha256sum | cut -d ' ' -f 1; }

up_to_date() { [[ -s $1.svg ]] && grep -qF "<!-- sha256 $(checksum "$1") -->" "$1.svg"; }

draw() {
  local name=$1 svg
  command -v gnuplot >/dev/null || {
    echo "plot.sh: there is no gnuplot: \`./tessera pictures\` installs it" >&2
    exit 1
  }
  svg=$({ prelude; if declare -F "draw_$name" >/dev/null; then "draw_$name"; else draw_figure "$name"; fi; } | gnuplot | sed "s|<title>Gnuplot</title>|<title>$name</title>|")
  {
    printf '%s\n' "$svg"
    echo "<!-- sha256 $(checksum "$name") -->"
  } >"$name.svg"
  echo "wrote $name.svg"
}

stale=0
for csv in *.csv; do
  name=${csv%.csv}
  ! up_to_date "$name" || continue
  if [[ ${1:-} == --check ]]; then
    echo "$name.svg is not what plot.sh makes of $csv: run ./tessera pictures"
    stale=1
  else
    draw "$name"
  fi
done
exit "$stale"
