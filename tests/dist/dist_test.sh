#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# //:dist away from its checkout: in a folder with a blank in its name, with an empty environment, on the cpu backend.
# Then the SDK in it alone builds the example plugin, and README.md's program is built against it by pkg-config and
# by CMake.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

package=$PWD/tessera.tar.gz
home=$work/"an installed copy"
mkdir "$home"
tar -xzf "$package" -C "$home" --strip-components=1
tessera=$home/bin/tessera
specs=$home/share/tessera/specs
sdk=$home/share/tessera/sdk
parts=("$home"/lib/tessera/*.so)
cpu=(--set table.backend=cpu)

# As harness.sh has it, but with nothing in the environment besides what `with` holds.
with=()
run() {
  status=0
  command_line=$*
  env -i ${with[@]+"${with[@]}"} "$tessera" "$@" >"$work/out" 2>"$work/err" || status=$?
}

cd "$work" || exit 1
printf '1 10\n2 20\n3 30\n' >pairs.tsv
printf '1\n3\n4\n' >queries.tsv

# ---- The folder ------------------------------------------------------------------------------------------------------

case_of "the package has one folder and every part that was built"
folders=$(tar -tzf "$package" | cut -d / -f 1 | sort -u)
version=$(env -i "$tessera" version)
[[ $folders == "${version/tessera /tessera-}" ]] || fail "its folders are: $folders"
((${#parts[@]} >= 4)) || fail "it holds ${#parts[@]} plugins"
for file in LICENSE README.md include/tessera.h lib/libtessera.so "${specs#"$home/"}/quickstart.ini" \
  "${sdk#"$home/"}/plugins/plugin.h"; do
  [[ -s $home/$file ]] || fail "there is no $file"
done

case_of "README's pages of the manual are in it"
pages=$(grep -o '](docs/[a-z_]*\.md' "$home/README.md" | cut -c 3- | sort -u)
(($(wc -l <<<"$pages") >= 10)) || fail "README.md names too few pages: $pages"
for file in $pages; do
  [[ -s $home/$file ]] || fail "there is no $file"
done

case_of "the same inputs make the same bytes"
! tar --full-time -tvzf "$package" | grep -v '0/0 .* 1970-01-01 00:00:00 ' || fail "it tells who packed it, or when"

case_of "nothing in it names the place where it was built"
! grep -rlF -e /execroot/ -e /bazel-out/ "$home" || fail "these files do"

# ---- The program -----------------------------------------------------------------------------------------------------

case_of "list finds the plugins"
run list
expect_status 0
expect_out "^${#parts[@]} plugins$"

case_of "the program finds its plugins when the shell finds it"
(PATH=$home/bin:$PATH && cd / && env -u TESSERA_PLUGINS tessera list) >out 2>err || fail "$(cat err)"
expect_out "^${#parts[@]} plugins$"
ln -s "$tessera" linked
env -i ./linked list >out 2>err || fail "through a link: $(cat err)"
expect_out "^${#parts[@]} plugins$"

case_of "every recipe composes"
for spec in "$specs"/*.ini "$specs"/speed/*.ini; do
  run check "$spec" "${cpu[@]}"
  expect_status 0
done

case_of "every experiment is found"
run experiment --list
expect_status 0
for spec in "$specs"/experiments/[A-Z]*.ini; do
  name=${spec##*/}
  expect_out "^${name%.ini} "
done
run sweep "$specs/experiments/sweep.ini" --plan yes "${cpu[@]}"
expect_status 0

case_of "run works"
run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --find queries.tsv --out rows.tsv
expect_status 0
expect_rows rows.tsv '1 10' '3 30' '4 -'

case_of "a recipe needs no compiler on the CPU"
with=(TESSERA_CC= TESSERA_CC_ITEMS=0)
for recipe in quickstart warpcore_set slab_hash_multi best_count; do
  input=pairs.tsv
  [[ $recipe != *set && $recipe != *count ]] || input=queries.tsv
  run run "$specs/$recipe.ini" "${cpu[@]}" --insert "$input" --find queries.tsv
  expect_status 0
  expect_out '^code +fused: insert \(ahead\), '
  ! grep -q '(cached)\|tables' out || fail "$(grep '^code' out)"
done
with=()

case_of "new finds its templates"
run new probing mine --at "$work/new"
expect_status 0
bash "$sdk/plugins/build_plugin.sh" --role probing --name mine --widths key_payload --out "$work/new/probing_mine.so" \
  "$work/new/mine.c" "$work/new/mine.cuh" >log 2>&1 || fail "does not compile: $(cat log)"
run run "$specs/quickstart.ini" "${cpu[@]}" --plugins "$work/new" --set table.probing=mine --insert pairs.tsv \
  --find queries.tsv --out rows.tsv
expect_rows rows.tsv '1 10' '3 30' '4 -'

# ---- The manual pages and the completion -----------------------------------------------------------------------------

commands=$(env -i "$tessera" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
pages=$home/share/man/man1

case_of "every command has a manual page with its options"
(($(wc -w <<<"$commands") >= 10)) || fail "the program has the commands: $commands"
for command in $commands; do
  page=$pages/tessera-$command.1
  grep -q "^\.BR tessera..$command (1)" "$pages/tessera.1" || fail "tessera.1 does not name $command"
  env -i "$tessera" "$command" --help | sed -nE 's/^  (-[^ ]+)( .*)?$/\1/p' >options
  [[ -s options || $command == version || $command == complete ]] || fail "$command has no options"
  while read -r option; do tr -d '\\' <"$page" | grep -E "^\.B $option( |\$)" >/dev/null || fail "$command has no $option"; done <options
done
for status in 0 1 2 3 130 143; do grep -q "^\.B $status\$" "$pages/tessera.1" || fail "no exit status $status"; done

# The pages have no date, so that the same sources make the same bytes.
case_of "groff and mandoc find nothing wrong with the manual pages"
for page in "$pages"/*.1; do
  ! command -v groff >/dev/null || said=$(groff -mandoc -ww -z "$page" 2>&1) || true
  [[ ! ${said-} ]] || fail "groff says: $said"
  ! command -v mandoc >/dev/null || said=$(mandoc -Tlint -W warning "$page" | grep -v 'missing date') || true
  [[ ! ${said-} ]] || fail "mandoc says: $said"
done

case_of "completion is installed where bash, zsh and fish look for it"
for place in bash-completion/completions/tessera zsh/site-functions/_tessera fish/vendor_completions.d/tessera.fish; do
  grep -q 'complete --' "$home/share/$place" || fail "$place"
done
env -i "$tessera" complete -- run quickst | grep -q '^quickstart	' || fail "the installed program knows no recipe"

# ---- A plugin of a third party ---------------------------------------------------------------------------------------

case_of "the example is built by the SDK alone"
cp -r "$sdk/plugins/example" "third party"
lines=$(cat "third party"/triangular.c* | wc -l)
((lines < 100)) || fail "it has $lines lines"
(cd "third party" && env -i PATH="$PATH" bash "$sdk/plugins/build_plugin.sh" --role probing --name triangular \
  --widths key_payload --out probing_triangular.so triangular.c triangular.cuh) >log 2>&1 || fail "$(cat log)"

case_of "the example loads and composes"
theirs=(--plugins "third party" --set table.probing=triangular)
run describe probing/triangular --plugins "third party"
expect_status 0
expect_out 'max_probes'
run check "$specs/quickstart.ini" "${cpu[@]}" "${theirs[@]}" --set table.capacity=1000
expect_status 0
expect_out 'triangular'
expect_out '\b256\b' # 1000 / 0.8 slots are 157 buckets of 8

case_of "the example works with every layout, full to the last slot"
for ((i = 1; i <= 256; i++)); do echo "$i $((1000 * i))"; done >full.tsv
tr ' ' '\t' <full.tsv >expected.tsv
for recipe in quickstart u64_map; do
  run run "$specs/$recipe.ini" "${cpu[@]}" "${theirs[@]}" --set table.capacity=256 --set table.load_factor=1 \
    --insert full.tsv --find full.tsv --out rows.tsv
  expect_status 0
  expect_out ' 256 items: 256 inserted'
  cmp expected.tsv rows.tsv || fail "$recipe: wrong rows"
done

# ---- conform ---------------------------------------------------------------------------------------------------------

# build_bad NAME PLAN-STATEMENT NEXT-STATEMENT: the example with a statement put before what the function does.
build_bad() {
  mkdir -p bad
  sed "s/triangular/$1/g; s/^  uint64_t buckets = 1;/  $2\n&/" "third party/triangular.c" >"bad/$1.c"
  sed "s/triangular/$1/g; s/^  if (probe->visited >= /  $3\n&/" "third party/triangular.cuh" >"bad/$1.cuh"
  TSR_CFLAGS='-include stdlib.h -include signal.h' bash "$sdk/plugins/build_plugin.sh" --role probing --name "$1" \
    --widths key_payload --out "bad/probing_$1.so" "bad/$1.c" "bad/$1.cuh" >log 2>&1 || fail "$1: $(cat log)"
}

case_of "the example keeps the contract"
run conform "third party/probing_triangular.so"
expect_status 0
expect_out '^[0-9]+ compositions worked, '
expect_out 'third party/probing_triangular.so: keeps the contract$'

# Its first levels find these.
with=(GTEST_FILTER='*OnPlugin*:*OnProbing*')

case_of "conform tells a plugin that breaks a law"
build_bad meddles 'static uint64_t calls;\n  plan->state[7] = calls++;' ''
run conform bad/probing_meddles.so
expect_status 1
expect_out 'FAILED.*P10'
expect_err 'probing_meddles.so: breaks the contract'

case_of "conform survives a plugin that crashes, ends its process or hangs"
build_bad crashes 'raise(SIGSEGV);' ''
run conform bad/probing_crashes.so
expect_status 1
expect_err 'probing_crashes.so: crashed the kit (in the test|before the first test|between two tests).*: Segmentation fault'
build_bad leaves_early 'exit(0);' ''
run conform bad/probing_leaves_early.so
expect_status 1
expect_err "probing_leaves_early.so: ended the kit's process"
gcc -shared -fPIC -o bad/probing_gone.so -x c - <<<'void _exit(int); __attribute__((constructor)) void gone(void) { _exit(2); }'
run conform bad/probing_gone.so
expect_status 1
expect_err "probing_gone.so: ended the kit's process before the first test"
build_bad hangs 'for (volatile int i = 1; i;) {}' ''
run conform bad/probing_hangs.so --timeout 2
expect_status 1
expect_err 'probing_hangs.so: was not done after 2 seconds in the test Kit/'
with=()

case_of "conform refuses what is no plugin"
refuses "'absent.so': cannot be opened" conform absent.so
refuses 'is no regular file' conform "$work"
refuses 'whole number of seconds' conform "third party/probing_triangular.so" --timeout 0
cp pairs.tsv probing_garbage.so
refuses 'is no shared object: conform tests the .so' conform probing_garbage.so
refuses '/true: is not called ROLE_NAME.so' conform "$(type -P true)"
cp "third party/probing_triangular.so" triangular.so
refuses 'triangular.so: is not called ROLE_NAME.so' conform triangular.so
cp "$(ldd "$(command -v bash)" | sed -n 's/.*=> \(.*libc\.so[^ ]*\).*/\1/p')" layout_libc.so
refuses 'layout_libc.so: is no plugin: it exports no tsr_plugin_entry' conform layout_libc.so
with=(TESSERA_CONFORM="$work/absent")
refuses 'is not a program' conform "third party/probing_triangular.so"
with=()
mkdir -p empty_tmp
with=(TMPDIR="$work/empty_tmp" GTEST_FILTER='*P01*')
run conform "third party/probing_triangular.so"
[[ -z $(ls empty_tmp) ]] || fail "left files behind"
with=()

# ---- A program of a user ---------------------------------------------------------------------------------------------

# block WORDS: the first block of README with these words behind its fence.
block() { awk -v begin="\`\`\`$1" '/^```/ && inside { exit } inside { print } $0 == begin { inside = 1 }' "$home/README.md"; }

case_of "pkg-config knows the package where it is"
export PKG_CONFIG_PATH=$home/lib/pkgconfig
[[ tessera\ $(pkg-config --modversion tessera) == "$version" ]] || fail "it tells another version"

case_of "README's program is built by what pkg-config says, and runs with an empty environment"
block 'c count.c' >program.c
block 'ini counts.ini' >counts.ini
block text >expected
[[ -s program.c && -s counts.ini && -s expected ]] || fail "README.md has no program, no spec or no output"
# The folder's name has a blank, which pkg-config escapes for a shell.
flags=$(pkg-config --cflags --libs tessera) && eval "gcc -o program program.c $flags" >log 2>&1 || fail "$(cat log)"
env -i CUDA_VISIBLE_DEVICES= ./program >out 2>err || fail "the program fails: $(cat err)"
diff expected out >difference || fail "README.md's output (<) and the program's (>): $(cat difference)"

# cmake_project VERSION: configures a project of README's program that asks for this version.
cmake_project() {
  rm -rf "a project/build"
  mkdir -p "a project"
  cp program.c "a project/"
  cat >"a project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(prog C)
find_package(Tessera $1 REQUIRED)
add_executable(prog program.c)
target_link_libraries(prog Tessera::tessera)
install(TARGETS prog DESTINATION bin)
END
  CMAKE_PREFIX_PATH=$home cmake -S "a project" -B "a project/build" -DCMAKE_INSTALL_PREFIX="$work/installed" \
    -DCMAKE_BUILD_TYPE=Release >log 2>&1
}

case_of "README's program is built by CMake, and runs where it is built and where it is installed"
cmake_project "${version#tessera }" && cmake --build "a project/build" >>log 2>&1 &&
  cmake --install "a project/build" >>log 2>&1 || fail "$(cat log)"
for program in "a project/build/prog" installed/bin/prog; do
  env -i CUDA_VISIBLE_DEVICES= "$program" >out 2>err || fail "$program fails: $(cat err)"
  diff expected out >difference || fail "README.md's output (<) and the program's (>): $(cat difference)"
done

case_of "CMake is told which versions it is"
series=${version#tessera } && series=${series%.*}
cmake_project "$series" || fail "refuses $series: $(cat log)"
! cmake_project 999.0 || fail "says it is version 999"
! cmake_project "$series.999" || fail "says it is version $series.999"
grep -q 'version: ' log || fail "does not say which version it is: $(cat log)"

finish
