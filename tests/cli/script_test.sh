#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The script ./tessera: it never runs a program that is older than its sources, and asks Bazel nothing where nothing
# changed. In a checkout of a few files, with a Bazel that copies core/source into the program and counts its builds.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

checkout=$work/checkout
bin=$work/bazel-out/bin
mkdir -p "$checkout"/{core,plugins,layouts,probing,hashers,allocators,tests,specs} "$work/path" "$work/home"
touch "$checkout/layouts/a.c"
cp tessera "$checkout/tessera"
touch "$checkout"/{WORKSPACE,BUILD,.bazelrc}
cat >"$work/path/bazel" <<END
#!/bin/bash
if [[ \$1 == info ]]; then
  echo "$bin"
  exit
fi
echo "\$*" >>"$work/builds"
[[ ! -e core/broken ]] || exit 1
mkdir -p "$bin/tools/cli" "$bin/layouts"
printf '#!/bin/sh\n[ "\$1" != env ] || exec printenv TESSERA_PLUGINS\necho "%s" "\$*"\n' "\$(cat core/source)" >"$work/program"
chmod +x "$work/program"
cmp -s "$work/program" "$bin/tools/cli/tessera" || cp "$work/program" "$bin/tools/cli/tessera"
[[ -e "$bin/layouts/layout_a.so" ]] || touch "$bin/layouts/layout_a.so"
[[ ! -e $work/meanwhile ]] || mv "$work/meanwhile" core/source
END
printf '#!/bin/sh\necho installed\n' >"$work/path/dpkg-query"
chmod +x "$work/path"/*
export PATH=$work/path:$PATH HOME=$work/home TSR_NVCC=
unset TESSERA_PLUGINS CC TSR_CFLAGS TSR_LDFLAGS
tessera=$checkout/tessera
touch "$work/builds"

builds() { wc -l <"$work/builds"; }

# expect_says TEXT BUILDS: the script runs a program of that text, for which it builds so often.
expect_says() {
  local before
  before=$(builds)
  run list x
  expect_status 0
  [[ $(cat "$work/out") == "$1 list x" ]] || fail "ran another program: $(cat "$work/out")"
  (($(builds) - before == $2)) || fail "$(($(builds) - before)) builds instead of $2"
}

case_of "the first call builds, the second does not"
echo one >"$checkout/core/source"
expect_says one 1
expect_err 'building for the first time'
expect_says one 0
[[ ! -s $work/err ]] || fail "says something: $(cat "$work/err")"

case_of "a changed source is built"
echo two >"$checkout/core/source"
expect_says two 1
expect_says two 0

case_of "an older file of the same size is a change"
echo old >"$work/older"
touch -d '2001-01-01' "$work/older"
cp -p "$work/older" "$checkout/core/source"
expect_says old 1
echo new >"$checkout/core/source"
touch -d '2001-01-01' "$checkout/core/source"
expect_says new 1
mv "$work/older" "$checkout/core/source"
expect_says old 1
expect_says old 0

case_of "a new file and a missing one are changes"
touch "$checkout/probing/mine.c"
expect_says old 1
rm "$checkout/probing/mine.c"
expect_says old 1
ln -s "$work/elsewhere.c" "$checkout/probing/linked.c"
echo 1 >"$work/elsewhere.c"
expect_says old 1
echo 2 >"$work/elsewhere.c"
expect_says old 1
rm "$checkout/probing/linked.c"
expect_says old 1

case_of "what decides about the build is a change as well"
export TSR_CFLAGS=-g
expect_says old 1
expect_says old 0
unset TSR_CFLAGS
expect_says old 1
echo 'build --copt=-g' >"$HOME/.bazelrc"
expect_says old 1

case_of "outputs that are gone or of another build are made again"
rm "$bin/tools/cli/tessera"
expect_says old 1
printf '#!/bin/sh\necho wrong\n' >"$bin/tools/cli/tessera"
expect_says old 1
rm "$bin/layouts/layout_a.so"
expect_says old 1
expect_says old 0

case_of "a plugin whose source is gone goes too"
rm "$checkout/layouts/a.c"
expect_says old 1
[[ ! -e $bin/layouts/layout_a.so ]] || fail "it is still there"
touch "$checkout/layouts/a.c"
expect_says old 1

case_of "folders that are named are searched before those that are built here"
built=$bin/layouts:$bin/probing:$bin/hashers:$bin/allocators:$bin/eviction
run env
[[ $(cat "$work/out") == "$built" ]] || fail "searches $(cat "$work/out")"
TESSERA_PLUGINS=/mine run env
[[ $(cat "$work/out") == "/mine:$built" ]] || fail "searches $(cat "$work/out")"
TESSERA_PLUGINS=/mine:$built run env
[[ $(cat "$work/out") == "/mine:$built" ]] || fail "searches $(cat "$work/out")"

case_of "a build that fails is tried again"
touch "$checkout/core/broken"
for _ in 1 2; do
  run list
  expect_status 1
  expect_err 'the build failed'
done
rm "$checkout/core/broken"
expect_says old 0 # as it was: the same inputs and outputs

case_of "what changes while it is built is built by the next call"
echo first >"$checkout/core/source"
echo second >"$work/meanwhile"
expect_says first 1
expect_says second 1
expect_says second 0

case_of "conform builds the kit as well"
run conform x
tail -n 1 "$work/builds" | grep -q '//tests/conformance' || fail "built $(tail -n 1 "$work/builds")"
expect_says second 0

case_of "wheel builds the wheel and prints nothing but its path"
mkdir -p "$bin"
touch "$bin/tessera_tables-9.1-py3-none-any.whl" "$bin/tessera_tables-9-py3-none-any.whl"
echo '#define TSR_VERSION "9"' >"$checkout/core/tessera.h"
printf '#!/bin/sh\nexit 1\n' >"$work/path/python3" # no auditwheel from PyPI
chmod +x "$work/path/python3"
run wheel
expect_status 0
expect_err 'no auditwheel, and it could not be installed'
[[ $(cat "$work/out") == "$(readlink -f "$bin")/tessera_tables-9-py3-none-any.whl" ]] || fail "prints $(cat "$work/out")"
tail -n 1 "$work/builds" | grep -q '//:wheel$' || fail "built $(tail -n 1 "$work/builds")"
printf '#!/bin/sh\n' | tee "$work/path/auditwheel" >"$work/path/patchelf"
chmod +x "$work/path"/{auditwheel,patchelf}
printf '#!/bin/sh\nshift && echo "$2/repaired of ${1##*/}"\n' >"$work/path/python3" # python3 repair_wheel.py WHEEL FOLDER
run wheel
expect_status 0
[[ $(cat "$work/out") == "$(readlink -f "$checkout")/.built/wheel/repaired of tessera_tables-9-py3-none-any.whl" ]] ||
  fail "prints $(cat "$work/out")"
printf '#!/bin/sh\necho no patch >&2\nexit 1\n' >"$work/path/python3"
run wheel
expect_status 1
expect_err '^no patch'
rm "$work/path"/{auditwheel,patchelf,python3}
run wheel now
expect_status 2
expect_err 'wheel: takes --release, --sdist, --aarch64 or nothing, not now'
run wheel --release --arch sm_90
expect_status 2
expect_err 'wheel: --arch: needs numbers with commas between, as 80,90, not "sm_90"'
rm "$checkout/core/tessera.h"

case_of "wheel --aarch64 cross-builds, and prints nothing but the wheel's path"
mkdir -p "$checkout/tools"
cat >"$checkout/tools/cross_aarch64.sh" <<'END'
#!/bin/sh
echo "crosses $*"
mkdir -p "${0%/tools/*}/.built/aarch64" && touch "${0%/tools/*}/.built/aarch64/tessera_tables-9-aarch64.whl"
END
chmod +x "$checkout/tools/cross_aarch64.sh"
before=$(builds)
for word in '' --test; do
  run wheel --aarch64 $word
  expect_status 0
  [[ $(cat "$work/out") == "$(readlink -f "$checkout")/.built/aarch64/tessera_tables-9-aarch64.whl" ]] || fail "prints $(cat "$work/out")"
  expect_err "crosses ${word:+$word }.*/.built/aarch64$"
done
(($(builds) == before)) || fail "it asked Bazel"
run wheel --aarch64 --release
expect_status 2
expect_err 'wheel --aarch64: takes --test or nothing, not --release'
printf '#!/bin/sh\nexit 1\n' >"$checkout/tools/cross_aarch64.sh"
run wheel --aarch64
expect_status 1
expect_err 'the build for aarch64 failed'
sed -n '/^aarch64_packages=/,/)/p' "$checkout/tessera" | grep -q gcc-aarch64-linux-gnu || fail "installs no compiler"

case_of "it works where its notes cannot be written"
rm -rf "$checkout/.built"
touch "$checkout/.built"
expect_says second 1
expect_err 'cannot be written, so that every call asks Bazel'
expect_says second 1
rm "$checkout/.built"

case_of "test --help needs no Bazel"
mkdir -p "$checkout/tests"
printf '#!/bin/sh\necho the jobs "$@"\n' >"$checkout/tests/run.sh"
chmod +x "$checkout/tests/run.sh"
before=$(builds)
run test --help
expect_status 0
expect_out '^the jobs --help$'
(($(builds) == before)) || fail "it built"

case_of "so do pictures --help, docs --help, wheel --help and words near to those that are the script's; none draws"
mkdir -p "$checkout/specs/results"
printf '#!/bin/sh\necho drawn "$@"\n' >"$checkout/specs/results/pictures.sh"
chmod +x "$checkout/specs/results/pictures.sh"
for word in pictures docs wheel; do
  for line in "$word --help" "help $word"; do
    # shellcheck disable=SC2086 # two words
    run $line
    expect_status 0
    expect_out "^usage: tessera $word"
  done
done
run pictures now
expect_status 2
expect_err 'pictures: takes --check or nothing, not now$'
for word in tests picture doc wheels; do
  run "$word"
  expect_status 2
  expect_err "^tessera: there is no command $word; did you mean (test|pictures|docs|wheel)\?$"
done
! grep -q drawn "$work/out" || fail "it drew"
(($(builds) == before)) || fail "it built"

finish
