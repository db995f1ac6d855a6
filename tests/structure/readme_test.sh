#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# README.md's C program does what README.md says: the first ```c block is compiled against libtessera.so, run on the cpu
# backend, and must print the ```text block that follows it. The second ```c block is the template's code.

libraries=$PWD/core
# shellcheck source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
export TESSERA_PLUGINS=$PWD/layouts:$PWD/probing:$PWD/hashers

# block LANGUAGE AFTER: the first block of that language that starts behind line AFTER; says which line ends it.
block() {
  awk -v language="$1" -v after="$2" -v out="$work/block.$1" '
    inside && /^```/ { print NR; exit }
    inside { print > out }
    !inside && NR > after && $0 == "```" language { inside = 1 }' "$root/README.md"
}

case_of "README.md has a C program and its output"
end=$(block c 0)
if [[ ! $end ]]; then
  fail 'there is no ```c block'
elif [[ ! $(block text "$end") ]]; then
  fail 'there is no ```text block behind the ```c block'
fi

case_of "README.md's program compiles without a warning"
cp "$work/block.c" "$work/program.c" 2>"$work/log" &&
  gcc -std=c11 -Wall -Wextra -Werror -I"$root" -I"$root/core" -o "$work/program" "$work/program.c" \
    "$libraries/libtessera.so" -Wl,-rpath,"$libraries" >"$work/log" 2>&1 || fail "$(cat "$work/log")"

case_of "README.md's program prints what README.md says"
# The spec may leave the backend open; no GPU can be seen, so it is the CPU's.
cd "$work" || exit 1
if CUDA_VISIBLE_DEVICES='' timeout 60 ./program >"$work/out" 2>"$work/err"; then
  diff "$work/block.text" "$work/out" >"$work/difference" ||
    fail "README.md's output (<) and the program's (>): $(cat "$work/difference")"
else
  fail "status $?: $(cat "$work/err")"
fi

case_of "README.md shows the scheme that \`tessera new\` makes"
block c "$end" >/dev/null
sed 's/MINE/TEMPLATE/g' "$work/block.c" | grep . >"$work/shown"
sed -n '/^TSR_DEVICE/,$p' "$root/plugins/template/probing/template.cuh" | grep . | diff "$work/shown" - \
  >"$work/difference" || fail "README.md (<) and the template (>): $(cat "$work/difference")"

finish readme
