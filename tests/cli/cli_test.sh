#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The commands of tessera on the cpu backend. Expected rows are worked out by hand.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

root=$PWD
cpu=(--set table.backend=cpu)

cd "$work" || exit 1
printf '# pairs\n1 10\n2\t20\n\n0x3 30\n1 5\n4294967295 7\n' >pairs.tsv
printf '1\n2\n3\n9\n4294967295\n' >queries.tsv
printf '2\n9\n2\n' >gone.tsv
printf '\001\0\0\0\002\0\0\0' >keys.u32
printf '\001\0\0\0\0\0\0\200' >keys.u64
# 4-mers: ACGT = 00 01 10 11 = 27; N breaks; ACGT again, CGTA = 01 10 11 00 = 108; TTTT = 255, turned round AAAA = 0.
printf '>one\nACGTN\nACG\nTA\n>two\ntttt\n' >letters.fa
for ((i = 0; i < 200; i++)); do echo "$i $i"; done >many.tsv

# ---- Usage -----------------------------------------------------------------------------------------------------------

case_of "tessera alone prints the commands"
run
expect_status 0
for word in demo list describe check link run count join exec new conform bench roofline version; do expect_out "^  $word "; done

case_of "every command has a help"
for word in demo list describe check link run count join exec new conform; do
  run "$word" --help
  expect_status 0
  expect_out "^usage: tessera $word"
done

case_of "help of a command is its --help, and an unknown one has a nearest name"
for word in run bench sweep roofline; do
  run "$word" --help
  cp out apart_help
  run help "$word"
  expect_status 0
  cmp -s out apart_help || fail "help $word differs from $word --help"
done
run help
expect_out "^  check  "
refuses 'no command rnu; did you mean run\?' help rnu
refuses 'help: --markdown and --man' help --markdown --man

case_of "help fits the columns that COLUMNS says, and 80 otherwise"
for columns in 64 80 132; do
  for word in run bench sweep join; do
    COLUMNS=$columns run "$word" --help
    longest=$(awk 'length > most { most = length } END { print most }' out)
    ((longest <= columns && longest > columns - 12)) || fail "$word: a line of $longest of $columns columns"
  done
done
COLUMNS=80 run run --help
cp out apart_help
for columns in '' 0 wide 99999999999999999999; do
  COLUMNS=$columns run run --help
  cmp -s out apart_help || fail "COLUMNS='$columns' is not taken for 80"
done
COLUMNS=3 run run --help
(($(awk 'length > most { most = length } END { print most }' out) <= 60)) || fail "lines are long"

case_of "help --markdown has every command, option and exit status"
run help --markdown
cp out apart_help
for word in $("$tessera" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
  grep -q "^## $word\$" apart_help || fail "no heading $word"
  sed -n "/^## $word\$/,/^## /p" apart_help >section
  for option in $("$tessera" "$word" --help | sed -nE 's/^  (-[^ ]+)( .*)?$/\1/p'); do
    grep -qE -- "^\\| (\`|<code>)$option[ \`]" section || fail "$word has no $option"
  done
done
grep -q '^| `3` | ' apart_help || fail "no exit status 3"
grep -q '^    layout.bucket_slots = ' apart_help || fail "an example is no code"

case_of "version"
run version
expect_status 0
expect_out '^tessera [0-9]+\.[0-9]+\.[0-9]+$'

case_of "wrong command lines"
refuses 'no command lst; did you mean list\?' lst
refuses 'no command zzzzzzzz' zzzzzzzz
refuses '--quiet: options follow the command, as in .tessera run --quiet.; .tessera help. lists commands' --quiet list
refuses 'run has no option --inser; did you mean --insert\?' run "$specs/quickstart.ini" --inser x
refuses 'run has no option --zzzzzzzz' run "$specs/quickstart.ini" --zzzzzzzz
refuses '--insert needs a value' run "$specs/quickstart.ini" --insert
refuses 'value of --insert is empty' run "$specs/quickstart.ini" --insert=
refuses '--canonical takes no value' run "$specs/quickstart.ini" --canonical=yes
refuses '--out is given twice' run "$specs/quickstart.ini" --find queries.tsv --out a --out b
refuses 'one word too many' check "$specs/quickstart.ini" extra
refuses 'usage: tessera check SPEC' check
refuses 'extra: one word too many: usage: tessera version' version extra
refuses 'nothing to do' run "$specs/quickstart.ini"
refuses 'only --find makes rows' run "$specs/quickstart.ini" --insert pairs.tsv --out rows.tsv
refuses '--kmers 0:' run "$specs/quickstart.ini" --kmers 0 --insert letters.fa
refuses '--canonical is about k-mers' run "$specs/quickstart.ini" --canonical --insert letters.fa
refuses '--arch 90: write it like sm_90' link "$specs/quickstart.ini" --arch 90
refuses 'TESSERA_DEMO_GENOME' demo

case_of "--set can choose another part: what the file says about the one before does not count"
run check best_set --set table.probing=quadratic --set layout.bucket_slots=8
expect_out 'probing +quadratic$'
run check best_set --set layout.tile_lanes=
expect_out 'tile_lanes +[0-9]+ \(default\)$'
run check filter --set table.kind=set --set table.layout=packed --set table.probing=linear
refuses 'probing.hash_functions=3: there is no such key in' check best_set --set table.probing=quadratic --set probing.hash_functions=3

case_of "a recipe is found by its name, in every command that takes a spec"
run check quickstart
expect_status 0
expect_out "^spec +$specs/quickstart.ini$"
run run quickstart "${cpu[@]}" --insert pairs.tsv --find queries.tsv --out -
expect_out '^2	20$'
run bench quickstart speed/bcht_4_1 "${cpu[@]}" --n 1000 --repeat 1 --ops insert
expect_out '^quickstart,cpu,'
expect_out '^speed/bcht_4_1,cpu,'
run join pairs.tsv pairs.tsv --spec warpcore_multi "${cpu[@]}" --set table.capacity=100 --count
cp out by_name
run join pairs.tsv pairs.tsv --spec "$specs/warpcore_multi.ini" "${cpu[@]}" --set table.capacity=100 --count
expect_status 0
cmp -s out by_name || fail "join --spec NAME: $(cat by_name)"

case_of "list recipes has a sentence for each file of specs/"
run list recipes
expect_status 0
for file in "$specs"/*.ini; do
  expect_out "^$(basename "$file" .ini) +[^ ].*[a-zA-Z]"
done
expect_out "^$(ls "$specs"/*.ini | wc -l) recipes$"
refuses 'no role recipe: .*did you mean recipes\?' list recipe

case_of "which words are recipes, and which are paths"
mkdir -p names/quickstart names/sub && cd names || exit 1
sed 's/^capacity.*/capacity = 777/' "$specs/quickstart.ini" >quickstart.ini
run check quickstart.ini # a word with a point is a path
expect_out 'capacity +777$'
run check quickstart # a name is the recipe, in every folder, whatever is there
expect_out "^spec +$specs/quickstart.ini$"
rmdir quickstart && cp quickstart.ini quickstart
run check quickstart
expect_out "^spec +$specs/quickstart.ini$"
run check ./quickstart
expect_out 'capacity +777$'
cp quickstart.ini of_my_own # a word that is no recipe is a path
run check of_my_own
expect_out 'capacity +777$'
cp quickstart.ini sub/of_my_own
run check sub/of_my_own
expect_out 'capacity +777$'
run check "$PWD/quickstart"
expect_out 'capacity +777$'
rm quickstart.ini
refuses "'quickstart.ini': there is no such file; the recipe of this name is called quickstart$" check quickstart.ini
refuses "'quickstar': is neither a recipe nor a file; did you mean quickstart\?$" check quickstar
refuses "'zzzzzzzzzz': is neither a recipe nor a file; .tessera list recipes" check zzzzzzzzzz
refuses "'./zzzz': cannot be opened as a spec: No such file" check ./zzzz
refuses 'are one file' run quickstart "${cpu[@]}" --insert ../pairs.tsv --save "$specs/quickstart.ini"
cp -r "$specs" copies && rm -f copies/quickstart.ini && cp of_my_own copies/mine.ini
TESSERA_SPECS=$PWD/copies run check mine
expect_out 'capacity +777$'
TESSERA_SPECS=$PWD/nowhere refuses "holds no recipes: set TESSERA_SPECS" list recipes
cd ..

case_of "wrong specs"
refuses 'absent.ini' check absent.ini
refuses 'write section.key=value' check "$specs/quickstart.ini" --set nonsense
refuses 'did you mean map\?' check "$specs/quickstart.ini" --set table.kind=mapp
refuses 'did you mean capacity\?' check "$specs/quickstart.ini" --set table.capacty=1
refuses 'did you mean packed\?' check "$specs/quickstart.ini" --set table.layout=paked
refuses 'did you mean packed\?' run "$specs/quickstart.ini" --set table.layout=paked --insert pairs.tsv
refuses 'cannot swap a key together with its value' check "$specs/quickstart.ini" --set table.layout=soa
for scheme in linear quadratic double_hashing; do
  refuses "probing = $scheme counts at most 2\^32 - 1 buckets" check "$specs/quickstart.ini" \
    --set table.probing=$scheme --set table.capacity=2^32 --set layout.bucket_slots=1 --set layout.tile_lanes=1
done

case_of "a name that no plugin has is told with its line and the nearest name"
sed 's/= packed/= paked/' "$specs/quickstart.ini" >paked.ini
line=$(grep -n paked paked.ini | cut -d : -f 1)
refuses "^tessera: paked.ini:$line: \[table\] layout = paked: there is no such layout; did you mean packed\?$" check paked.ini
for name in PACKED '"packed"' Packed; do
  refuses "^tessera: --set table.layout=$name: .* did you mean packed\?$" check "$specs/quickstart.ini" \
    --set "table.layout=$name"
done
refuses '^tessera: --set table.hasher=zzzzzzzz: there is no hasher_zzzzzzzz.so in /.*; see `tessera list hasher`' check \
  "$specs/quickstart.ini" --set table.hasher=zzzzzzzz
refuses 'did you mean map\?$' check "$specs/quickstart.ini" --set table.kind=MAP

case_of "a parameter that its part refuses is told with its own line"
cp "$specs/quickstart.ini" three.ini
printf '[layout]\nbucket_slots = 3\n' >>three.ini
line=$(wc -l <three.ini)
refuses "^tessera: three.ini:$line: \[layout\] bucket_slots = 3: must be a power of two" check three.ini
refuses '^tessera: --set layout.bucket_slots=3: ' check "$specs/quickstart.ini" --set layout.bucket_slots=3

case_of "a number that only a person can read is told how to be written"
refuses 'capacity=1e6: must be 1 \.\. 2\^40; write 1000000 or 1M$' check "$specs/quickstart.ini" --set table.capacity=1e6
refuses '; write 1000 or 1K$' check "$specs/quickstart.ini" --set table.capacity=1,000
refuses '; write 1500000 or 1500K$' check "$specs/quickstart.ini" --set table.capacity=1.5M
refuses '; write 8$' check "$specs/quickstart.ini" --set 'layout.bucket_slots="8"'
refuses 'must be 1 \.\. 2\^40$' check "$specs/quickstart.ini" --set table.capacity=-1
refuses 'such as 0\.8$' check "$specs/quickstart.ini" --set table.load_factor=80%

refuses '--n 1e6: must be .*; write 1000000 or 1M$' bench "$specs/quickstart.ini" --n 1e6
refuses 'kmers 1.6e1: .*; write 16$' run "$specs/quickstart.ini" --kmers 1.6e1 --insert letters.fa

case_of "an unreadable spec is a wrong command line"
mkfifo pipe.ini
refuses 'pipe.ini: is a pipe or a device: a spec must be a regular file$' check pipe.ini
refuses 'is a directory: a spec must be a regular file$' run "$work" --insert pairs.tsv
refuses 'is a directory: a spec must be a regular file$' bench "$work"
run bench "$specs/quickstart.ini" "${cpu[@]}" --n 1000 --keys "file:$work"
expect_status 1
expect_err '^tessera: bench: --keys file:.*: cannot be read: Is a directory$'
((EUID == 0)) || { # root reads everything
  cp "$specs/quickstart.ini" hidden.ini
  chmod 0 hidden.ini
  refuses 'Permission denied' check hidden.ini
}

case_of "--plugins names folders that can be read"
for command in list 'describe probing/cuckoo' "check $specs/quickstart.ini" "run $specs/quickstart.ini --insert pairs.tsv"; do
  # shellcheck disable=SC2086
  refuses "'absent': cannot be searched for plugins: No such file" $command --plugins "$plugin_folders:absent"
done
refuses "'pairs.tsv': cannot be searched for plugins: Not a directory" list --plugins pairs.tsv

case_of "an allocator where none is used is refused"
refuses 'allocator=slab_light does not go with layout = packed .buckets that do not link.*: nothing would be taken' check \
  "$specs/quickstart.ini" --set table.allocator=slab_light

case_of "a section that is not wanted is refused by where it is said"
quick=$specs/quickstart.ini
refuses '--set values.growth=2: \[table\] does not say values = buckets' check "$quick" --set values.growth=2
refuses '--set devices.split=hash: \[table\] names no devices' check "$quick" --set devices.split=hash
refuses '--set allocator.unit_bytes=64: \[table\] names no allocator' check "$quick" --set allocator.unit_bytes=64
refuses '--set layot.bucket_slots=8: sections are .* did you mean layout' check "$quick" --set layot.bucket_slots=8
sed 's/^\[table\]/[tabel]/' "$quick" >tabel.ini
refuses '^tessera: tabel.ini:[0-9]+: \[tabel\]: sections are .*; did you mean table\?$' check tabel.ini
(cat "$quick" && echo '[filter]') >sections.ini
refuses "sections.ini:$(wc -l <sections.ini): \[filter\]: \[table\] has another kind than filter" check sections.ini

case_of "a full standard output fails"
status=0
"$tessera" list >/dev/full 2>err || status=$?
((status == 1)) || fail "status $status"
grep -q 'standard output cannot be written' err || fail "said: $(cat err)"

# ---- Plugins and specs -----------------------------------------------------------------------------------------------

case_of "list shows every plugin that was built"
run list
expect_status 0
built=("$root"/layouts/*.so "$root"/probing/*.so "$root"/hashers/*.so "$root"/allocators/*.so "$root"/eviction/*.so)
expect_out "^${#built[@]} plugins$"
for file in "${built[@]}"; do
  file=$(basename "$file" .so)
  expect_out "^${file/_//} +[A-Z]"
done

case_of "list of one role"
run list probing
expect_status 0
expect_out '^probing/cuckoo '
! grep -q '^layout/' out || fail "shows a layout"
refuses 'did you mean probing\?' list probng

case_of "list of a folder without plugins"
TESSERA_PLUGINS="" run list --plugins "$work"
expect_status 0
expect_out '^0 plugins$'
expect_err 'no plugin was found'

case_of "plugins beside the program are found when the shell finds it, and none in the working directory"
mkdir -p apart/tessera here/tessera
cp "$tessera" apart/finder
cp "$root"/probing/probing_cuckoo.so apart/tessera
cp "$root"/layouts/layout_packed.so here/tessera
touch here/finder
(cd here && TESSERA_PLUGINS="" PATH=$work/apart:$PATH finder list) >out 2>err || fail "$(cat err)"
expect_out '^probing/cuckoo '
expect_out '^1 plugin$'
(cd apart && TESSERA_PLUGINS="" ./finder list) >out 2>err || fail "$(cat err)"
expect_out '^1 plugin$'

case_of "a long TESSERA_PLUGINS does not hide the plugins of an installed program"
mkdir -p "$work/home/bin" "$work/home/lib/tessera"
cp "$tessera" home/bin/tessera
cp "$root"/probing/probing_cuckoo.so home/lib/tessera
long=$(printf ':/absent/%060d' {1..150})
((${#long} > 9000)) || fail "it has ${#long} bytes"
TESSERA_PLUGINS=$long home/bin/tessera list >out 2>err || fail "$(cat err)"
expect_out '^1 plugin$'

case_of "describe"
run describe probing/cuckoo
expect_status 0
expect_out '^source +BGHT'
expect_out '^file +/.*/probing_cuckoo\.so$'
expect_out '^hash_functions +u32 +3 +2 \.\. 4 +[A-Z]'
run describe hasher/murmur3
expect_out '^no parameters$'
refuses 'did you mean probing/cuckoo\?' describe probing/cuko
refuses 'no plugin layout/zzzzzzzz' describe layout/zzzzzzzz
refuses 'did you mean layout\?' describe layot/packed
refuses 'ROLE/NAME' describe cuckoo
refuses 'ROLE/NAME' describe probng

case_of "describe of a role is that of all its plugins"
run describe probing
expect_status 0
for file in "$root"/probing/*.so; do
  file=$(basename "$file" .so)
  expect_out "^${file/_//}  [A-Z]"
done
expect_out '^hash_functions +u32 '
! grep -q '^layout/' out || fail "shows a layout"
cp out all.out
run describe probing/cuckoo
expect_status 0
grep -qF "$(sed -n '/^hash_functions/,$p' out)" all.out || fail "other parameters than alone"
TESSERA_PLUGINS="" refuses 'no plugin of role allocator' describe allocator

case_of "describe of [table] has the keys that check shows"
run describe table
expect_status 0
expect_out '^kind +set \| map \| multiset \| multimap \| counter \| filter \| index \| cache +required  [A-Z]'
expect_out '^load_factor +auto \| 0\.01 \.\. 64 +0\.8 +[a-zA-Z]'
keys=$(sed -n '4,$s/ .*//p' out)
(($(wc -l <<<"$keys") >= 15)) || fail "few keys: $keys"
run check "$specs/quickstart.ini" --set table.duplicates=add # so that there are sums, which may overflow
while read -r key; do
  [[ $key =~ ^(allocator|devices|key_columns|value_bytes|overflow|numbering|reuse|eviction)$ ]] || expect_out "^  $key +" # of these a table has none, or no default
done <<<"$keys"
for key in $keys; do refuses "did you mean $key\\?" check "$specs/quickstart.ini" --set "table.${key}x=1"; done

case_of "capacities about 2^31 and past 2^32 are planned"
for capacity in 2147483647 2147483648 2147483649 4294967295 4294967296 8589934592; do
  run check "$specs/quickstart.ini" --set table.backend=cpu --set table.capacity=$capacity
  expect_status 0
  slots=$(sed -nE "s/.*; ([0-9]+) slots for $capacity pairs;.*/\\1/p" "$work/out")
  ((slots >= capacity && slots < 2 * capacity)) || fail "$capacity: $slots slots"
  bytes=$(sed -nE 's/^  in all +([0-9]+) bytes$/\1/p' "$work/out")
  ((bytes >= 8 * slots && bytes < 9 * slots)) || fail "$capacity: $bytes bytes for $slots slots"
done

case_of "describe --markdown makes tables"
run describe table --markdown
expect_status 0
expect_out '^\| `kind` \| set \\\| map \\\| multiset \\\| multimap \\\| counter \\\| filter \\\| index \\\| cache \| required \| [A-Z].* \|$'
run describe layout/packed --markdown
expect_status 0
expect_out '^\| `packed` \| [A-Z].*\. \| WarpCore.* \|$'
expect_out '^\| `packed` \| `bucket_slots` \| 8 \| 1 \.\. 32 \| [A-Z].*\. \|$'
! grep -q soa out || fail "shows another layout"
run describe hasher --markdown
for file in "$root"/hashers/*.so; do expect_out "^\\| \`$(basename "${file#*hasher_}" .so)\` \\| [A-Z]"; done

case_of "check resolves every recipe"
for recipe in "$specs"/*.ini "$specs"/speed/*.ini; do
  run check "$recipe"
  expect_status 0
  expect_out '^  capacity +[0-9]+$'
  expect_out '^(buckets|blocks) '
done

case_of "check warns of loads that are not reached, but not where lists get longer"
run check "$specs/p2bht.ini" --set table.load_factor=.99
expect_out '^warning +load_factor = 0\.99, '
run check "$specs/slab_hash.ini" --set table.load_factor=2
! grep -q '^warning' out || fail "warns of lists"

case_of "a small table is emptier with load_factor = auto, up to the default"
for row in 100:0.25 1Mi:0.5 3Mi:0.5 5Mi:0.625 100M:0.8; do
  run check "$specs/quickstart.ini" --set table.load_factor=auto --set "table.capacity=${row%:*}"
  expect_status 0
  expect_out "^  load_factor +${row#*:} \\(auto\\)$"
done
run check "$specs/p2bht.ini" --set table.load_factor=auto --set table.capacity=100M
! grep -q '^warning' out || fail "auto is more than the scheme reaches"
refuses 'must be auto . 0\.01 \.\. 64' check "$specs/quickstart.ini" --set table.load_factor=automatic

case_of "a batch goes page by page by itself where that is faster: on the CPU, where inserts take their key's lock"
run check "$specs/pages.ini" --set table.backend=cpu
expect_out '^pages .*; inserts go by random access$'
run check "$specs/pages.ini" --set table.backend=cpu --set table.duplicates=add
expect_out '^pages .*; inserts of at least [0-9]+ pairs go page by page'
run check "$specs/pages.ini" --set table.backend=cpu --set table.page_batch=1000
expect_out '^pages .*; inserts of at least 1000 pairs go page by page'

case_of "check says which stages a large insert passes"
expect_out '^  order +sorts the items by the pages of their keys$'
expect_out '^  rest +inserts what has no room in its page by random access$'
run check "$specs/pages.ini" --set table.backend=cpu
expect_out '^  place +inserts by random access$'
! grep -q '^  order ' out || fail "says that a batch of random access is put in order"
run check "$specs/hashgraph_v2.ini" --set table.backend=cpu
expect_out '^  order +sorts the items by the pages that the scheme makes of keys or lists$'

case_of "check says which finds are sorted by zones, and which stages they pass"
run check "$specs/pages.ini" --set table.backend=cpu --set table.find_batch=1000
expect_out '^zones .*; finds and erases of at least 1000 keys are sorted by them'
expect_out '^a large find$'
expect_out '^  order +sorts the keys by zones'
run check "$specs/pages.ini" --set table.backend=cpu
expect_out '^zones +finds and erases go by random access$'
! grep -q '^a large find$' out || fail "tells the stages of a find that has none"

case_of "check says what it takes a missing capacity for"
run check "$specs/demo.ini"
expect_err 'no capacity, which .run. takes from its input'
run check "$specs/demo.ini" --set table.capacity=12K
expect_out '^  capacity +12000$'
! grep -q 'no capacity' err || fail "says that there is none"

# ---- run -------------------------------------------------------------------------------------------------------------

case_of "what a filter cannot do is refused before a file is read"
for words in '--erase gone.tsv' '--export all.tsv' --histogram; do
  # shellcheck disable=SC2086 # two words
  refuses "^tessera: ${words%% *}: a filter keeps no keys" run "$specs/filter.ini" "${cpu[@]}" --insert absent.tsv $words
done

case_of "a filter of fingerprints is erased from, and says what it lost"
seq 1 1000 >members.txt
seq 1 400 >gone.txt
seq 1 1200 >many.txt
run run "$specs/cuckoo_filter.ini" "${cpu[@]}" --set table.capacity=1000 --insert members.txt --erase gone.txt \
  --find members.txt
expect_status 0
expect_out '^room .* buckets of 16 slots'
expect_out ' 400 items: 400 erased, 0 missing$'
expect_out ' 1000 queries: 6[0-9][0-9] found, [34][0-9][0-9] missing$'
expect_out '^filter +about 600 keys'
run run "$specs/cuckoo_filter.ini" "${cpu[@]}" --set table.capacity=1000 --insert many.txt --on-full report
expect_status 3
expect_err 'found no room in .* slots: some keys of the filter are missing now: build it anew, with a larger capacity \(now 1000\)$'
refuses '^tessera: --unplaced: a filter keeps no keys' run "$specs/cuckoo_filter.ini" "${cpu[@]}" --insert many.txt --unplaced r.tsv

case_of "run does in order what is written, and appends the rows of every find"
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.duplicates=min --insert pairs.tsv --find queries.tsv \
  --erase gone.tsv --find queries.tsv --out rows.tsv
expect_status 0
expect_rows rows.tsv '1 5' '2 20' '3 30' '9 -' '4294967295 7' '1 5' '2 -' '3 30' '9 -' '4294967295 7'
expect_out '^table +map of 32-bit keys and 32-bit values, duplicates = min$'
expect_out '^parts +layout = packed, probing = cuckoo, hasher = murmur3$'
expect_out '^backend  cpu on .*\(as the spec says\)$'
expect_out ' 5 items: 4 inserted, 1 present, 0 not placed$'
expect_out ' 5 queries: 4 found, 1 missing$'
expect_out ' 3 items: 1 erased, 2 missing$'
expect_out ' 5 queries: 3 found, 2 missing$'
expect_out '^size +3 in [0-9]+ slots: load factor 0\.000; tombstones: 1$'
expect_err '^tessera: reading pairs.tsv$'
! grep -q probes out || fail "shows probes without statistics"

case_of "run with rows on standard output reports on standard error"
run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --find gone.tsv --out -
expect_status 0
expect_rows out '2 20' '9 -' '2 20'
expect_err '^size +4 in '

case_of "run counts probes if asked"
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.statistics=yes --insert pairs.tsv
expect_out ' [0-9.]+ probes a key, at most [0-9]+; .* M op/s '

case_of "run with a set"
run run "$specs/warpcore_set.ini" "${cpu[@]}" --set table.capacity=100 --insert keys.u32 --find queries.tsv \
  --out rows.tsv
expect_status 0
expect_rows rows.tsv '1 1' '2 1' '3 0' '9 0' '4294967295 0'

case_of "run with 64 bits"
run run "$specs/u64_map.ini" "${cpu[@]}" --set table.capacity=100 --insert keys.u64 --find keys.u64 --out rows.tsv
expect_status 0
expect_rows rows.tsv '9223372036854775809 0'

case_of "run with k-mers takes the capacity from the input"
run run "$specs/demo.ini" "${cpu[@]}" --kmers 4 --insert letters.fa --find letters.fa --out rows.tsv
expect_status 0
expect_rows rows.tsv '27 0' '27 0' '108 2' '255 3'
expect_out 'capacity 4, the size of the input$'
expect_out ' 2 records, 14 letters: 4 4-mers read, 4 skipped'
expect_out ' 4 items: 3 inserted, 1 present, 0 not placed$'

case_of "run with canonical k-mers from a compressed file"
gzip -kf letters.fa
run run "$specs/demo.ini" "${cpu[@]}" --kmers=4 --canonical --insert letters.fa.gz --find letters.fa --out=rows.tsv
expect_status 0
expect_rows rows.tsv '27 0' '27 0' '108 2' '0 3'

case_of "run refuses inputs that do not fit"
refuses 'absent.tsv' run "$specs/quickstart.ini" "${cpu[@]}" --insert absent.tsv
refuses 'is not a FASTA or FASTQ file' run "$specs/quickstart.ini" "${cpu[@]}" --kmers 4 --insert pairs.tsv
refuses 'allowed are 1 to 16' run "$specs/quickstart.ini" "${cpu[@]}" --kmers 17 --insert letters.fa
refuses 'keys of 64 bits' run "$specs/quickstart.ini" "${cpu[@]}" --insert keys.u64
refuses 'letters.fa: its keys have no values, and duplicates = add .* Set them by --value' run "$specs/demo.ini" "${cpu[@]}" --kmers 4 \
  --set table.duplicates=add --insert letters.fa
refuses 'nothing is inserted' run "$specs/demo.ini" "${cpu[@]}" --find queries.tsv
run run "$specs/quickstart.ini" "${cpu[@]}" --insert queries.tsv
expect_status 1
expect_err 'has a key but no value'

# ---- demo ------------------------------------------------------------------------------------------------------------

case_of "demo is the run that it prints"
mkdir -p "with blank"
printf '>genome\nTTTTGATTACAGATTACAGATTACACCC\n' >"with blank/genome.fa"
printf '>phage\nGGATTACAGATTACAGAG\n' >phage.fa
export TESSERA_DEMO_GENOME="with blank/genome.fa" TESSERA_DEMO_PHAGE=phage.fa
run demo "${cpu[@]}"
expect_status 0
# Of the phage's three 16-mers only GATTACAGATTACAGA, its second, is in the genome, from its fifth letter on
expect_out ' 13 items: 13 inserted, 0 present, 0 not placed$'
expect_out ' 3 queries: 1 found, 2 missing$'
expect_out '^ +GATTACAGATTACAGA +1 +4$'
cp out demo.out
line=$(sed -n '1s/^\$ //p' out)
eval "$line --out demo.tsv" >run.out 2>run.err || fail "the line '$line' fails: $(cat run.err)"
expect_rows demo.tsv '2747567890 -' '2400336968 4' '1011413282 -'
[[ $(grep -E 'items|queries|^size' run.out) == "$(grep -E 'items|queries|^size' demo.out)" ]] || fail "counts differ"
export TESSERA_COMMAND=./tessera
run demo "${cpu[@]}"
expect_out '^\$ \./tessera run '
unset TESSERA_COMMAND TESSERA_DEMO_GENOME TESSERA_DEMO_PHAGE

# ---- new -------------------------------------------------------------------------------------------------------------

case_of "new makes plugins that work as they are"
mkdir -p parts
for part in layout:key_payload probing:key_payload hasher:key allocator:none eviction:none; do
  role=${part%%:*}
  run new "$role" "my_$role" --at "parts/$role"
  expect_status 0
  expect_out "^made parts/$role/my_$role.cuh$"
  expect_out "^made parts/$role/BUILD$"
  grep -q "name = \"my_$role\"" "parts/$role/BUILD" || fail "no rule in BUILD"
  ! grep -qi template "parts/$role/"* || fail "the template's name is left over"
  TSR_NVCC='' bash "$root/plugins/build_plugin.sh" --role "$role" --name "my_$role" --widths "${part##*:}" \
    --sdk-root "$root" --out "parts/${role}_my_$role.so" "parts/$role/my_$role.c" "parts/$role/my_$role.cuh" \
    >build.log 2>&1 || fail "my_$role does not compile: $(cat build.log)"
done
run new probing my_evicting --at parts/evicting --evicts
expect_status 0
! grep -qi template parts/evicting/* || fail "the template's name is left over"
grep -q 'tsr_evict' parts/evicting/my_evicting.cuh || fail "is no scheme that evicts"
TSR_NVCC='' bash "$root/plugins/build_plugin.sh" --role probing --name my_evicting --widths key_payload \
  --sdk-root "$root" --out parts/probing_my_evicting.so parts/evicting/my_evicting.c parts/evicting/my_evicting.cuh \
  >build.log 2>&1 || fail "my_evicting does not compile: $(cat build.log)"
TESSERA_PLUGINS="" run list --plugins parts
expect_out '^6 plugins$'
expect_err '^tessera: 6 carry no device code'
mine=(--plugins "parts:$plugin_folders" --set table.layout=my_layout --set table.probing=my_probing --set table.hasher=my_hasher)
for recipe in demo u64_map; do
  run run "$specs/$recipe.ini" "${cpu[@]}" "${mine[@]}" --set table.duplicates=min --set table.capacity=20 \
    --insert pairs.tsv --find queries.tsv --erase gone.tsv --find queries.tsv --out mine.tsv
  expect_status 0
  expect_rows mine.tsv '1 5' '2 20' '3 30' '9 -' '4294967295 7' '1 5' '2 -' '3 30' '9 -' '4294967295 7'
done
run run "$specs/warpcore_set.ini" "${cpu[@]}" "${mine[@]::4}" --set table.capacity=100 --insert keys.u32 \
  --find queries.tsv --out mine.tsv
expect_rows mine.tsv '1 1' '2 1' '3 0' '9 0' '4294967295 0'
run run "$specs/slab_hash.ini" "${cpu[@]}" "${mine[@]::2}" --set table.allocator=my_allocator \
  --set table.capacity=1000 --insert pairs.tsv --find queries.tsv --out mine.tsv
expect_status 0
run run "$specs/cache.ini" "${cpu[@]}" "${mine[@]::2}" --set table.eviction=my_eviction --set table.capacity=1000 \
  --insert pairs.tsv --find queries.tsv --out mine.tsv
expect_status 0

run run "$specs/demo.ini" "${cpu[@]}" --plugins "parts:$plugin_folders" --set table.probing=my_evicting \
  --set table.capacity=20 --insert pairs.tsv --find queries.tsv --erase gone.tsv --find queries.tsv --out mine.tsv
expect_status 0
expect_rows mine.tsv '1 5' '2 20' '3 30' '9 -' '4294967295 7' '1 5' '2 -' '3 30' '9 -' '4294967295 7'

case_of "new in a folder of a checkout needs no rule"
mkdir -p checkout/plugins checkout/probing/deep
touch checkout/WORKSPACE checkout/plugins/plugin.h checkout/probing/BUILD
cd checkout/probing/deep || exit 1
run new probing mine
expect_status 0
[[ -f ../mine.c && -f ../mine.cuh ]] || fail "made no files"
[[ ! -s ../BUILD ]] || fail "changed the BUILD file"
refuses 'mine.c exists and is left alone' new probing mine
rm ../mine.c
refuses 'mine.cuh exists and is left alone' new probing mine
[[ ! -e ../mine.c ]] || fail "left half a plugin"

case_of "link for CPUs makes the folder that it is told"
TESSERA_CC=cc run link "$specs/quickstart.ini" --arch cpu -o ahead
expect_status 0
compgen -G "ahead/fused/*.so" >/dev/null || fail "it made no code"
true >file
TESSERA_CC=cc run link "$specs/quickstart.ini" --arch cpu -o file
expect_status 1
expect_err 'file/fused/.*\.so: cannot be written: Not a directory$'

case_of "new leaves a BUILD file alone and tells the rule"
mkdir -p own
echo '# mine' >own/BUILD
run new hasher mine --at own
expect_status 0
expect_out '^tsr_plugin\($'
[[ $(cat own/BUILD) == '# mine' ]] || fail "changed the BUILD file"

case_of "new refuses bad names and roles"
refuses 'only a probing scheme evicts pairs: leave it out for a layout' new layout mine --evicts
refuses 'did you mean probing\?' new probng mine
for name in 9x X x-y '' ../x abcdefghijklmnopqrstuvwxy; do refuses '1 to 24 of a-z' new probing "$name"; done
refuses 'word of the plugin contract' new probing layout
refuses 'in no Tessera checkout' new probing mine
run new probing mine --at "$work/absent/folder"
expect_status 1
expect_err 'cannot be made'

finish
