#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The pages, done by the letter: README.md, docs/*.md and two of plugins/, each in a folder of its own. The words
# behind the fence say what a block is:
#
#   sh           commands, run in order; `./tessera` and `tessera` are this checkout's program, on the CPU
#   sh cuda      the same, only where there is nvcc
#   text         what the block above prints; `...` stands for anything, on a line of its own for any lines
#   ini FILE, c FILE, python FILE, cuda FILE, tsv FILE    is written to FILE, for the commands that follow
#   ini          a spec that `tessera check` accepts
#   c            compiles behind the public headers, as it stands
#   python       runs, after the page's other blocks of python; without NumPy it is skipped
#   shown        as a second word, for what cannot be run: it is only shown
#
# A fence without a word is a picture. pages_test.sh PAGE... does these pages alone.

program=$PWD/tools/cli/tessera
library=$PWD/core/libtessera.so
export TESSERA_PLUGINS=$PWD/layouts:$PWD/probing:$PWD/hashers:$PWD/allocators:$PWD/eviction
export TESSERA_CONFORM=$PWD/tests/conformance/conformance TSR_CONFORM_WIDTHS=32:32 # one pair shows what the kit prints
export CUDA_VISIBLE_DEVICES='' # the pages' numbers are a CPU's as well
# shellcheck source=../structure/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../structure/harness.sh"

nvcc=${TSR_NVCC:-}

# Programs that a page may call: pkg-config knows the library, python3 has NumPy, `command -v nvcc` finds what was built for.
mkdir -p "$work/bin"
printf '#!/bin/sh\nexport TESSERA_SDK=%q TESSERA_SPECS=%q TESSERA_COMMAND=./tessera\nexec %q "$@"\n' "$root" "$root/specs" \
  "$program" >"$work/bin/tessera"
printf '#!/bin/sh\necho "-I%s -I%s %s -Wl,-rpath,%s"\n' "$root" "$root/core" "$library" "${library%/*}" >"$work/bin/pkg-config"
[[ ! $nvcc ]] || printf '#!/bin/sh\nexec %q "$@"\n' "$nvcc" >"$work/bin/nvcc"
chmod +x "$work/bin"/*
python=
for candidate in python3 /usr/bin/python3; do
  ! "$candidate" -c 'import numpy' 2>/dev/null || python=$(type -P "$candidate")
done
[[ ! $python ]] || ln -s "$python" "$work/bin/python3"
path=$work/bin
while IFS= read -r -d : folder; do
  [[ -x $folder/nvcc ]] || path+=:$folder
done <<<"$PATH:"
export PATH=$path XDG_CACHE_HOME=$work/cache
export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1 TESSERA_LIBRARY=$library TESSERA_SPECS=$root/specs
unset TSR_NVCC TESSERA_CC # kernels of a page need the compiler

# matches PATTERN-FILE OUTPUT: whether the output is what the pattern says.
matches() {
  awk '
    function literal(text) { gsub(/[][\\.^$*+?(){}|\/]/, "\\\\&", text); return text }
    function pattern(line,    at, out) {
      out = "^"
      while (at = index(line, "...")) {
        out = out literal(substr(line, 1, at - 1)) ".*"
        line = substr(line, at + 3)
      }
      return out literal(line) "$"
    }
    NR == FNR { want[++wanted] = $0; next }
    { got[++lines] = $0 }
    END {
      at = 1
      for (w = 1; w <= wanted; w++) {
        if (want[w] == "...") { free = 1; continue }
        while (free && at <= lines && got[at] !~ pattern(want[w])) at++
        if (at > lines || got[at] !~ pattern(want[w])) { print "no line like: " want[w]; exit 1 }
        at++
        free = 0
      }
      if (!free && at <= lines) { print "one line too many: " got[at]; exit 1 }
    }' "$1" "$2"
}

# by COMMAND...: does the block by the command, whose output a block of text may then be compared with.
by() {
  ran=$((ran + 1))
  skipped=
  case_of "$page: $(grep -m 1 . "$work/block") ..."
  timeout 250 "$@" >"$work/out" 2>"$work/err" </dev/null || fail "status $?: $(tail -n 20 "$work/out" "$work/err")"
}

runner='import contextlib, io, sys
names = {"__name__": "__main__"}
with contextlib.redirect_stdout(io.StringIO()):
    exec(open(sys.argv[1]).read(), names)
exec(open(sys.argv[2]).read(), names)'

run_python() {
  skipped=yes
  [[ ! $python ]] || by "$python" -c "$runner" "$work/python" "$work/block"
  cat "$work/block" >>"$work/python"
}

compare_block() {
  compared=$((compared + 1))
  matches "$work/block" "$work/out" >"$work/difference" || fail "$(cat "$work/difference") in: $(cat "$work/out")"
}

compile=(gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only "-I$root/core" "-I$root")
for header in stdint stdio string tessera tessera_tools tessera_devices tessera_kernels; do
  compile+=(-include "$header.h")
done

# What a block exports is not seen by the next one, as each is a shell of its own.
do_block() {
  case $1 in
    sh) by bash -e "$work/block" ;; # errors of the last command count, as for a reader who sees them
    'sh cuda')
      skipped=yes
      [[ ! $nvcc ]] || by bash -e "$work/block"
      ;;
    text) [[ $skipped ]] || compare_block ;;
    *' shown') skipped=yes ;;
    'c '* | 'ini '* | 'python '* | 'cuda '* | 'tsv '*)
      mkdir -p "$(dirname "${1#* }")"
      cp "$work/block" "${1#* }"
      ;;
    ini)
      cp "$work/block" "$work/block.ini"
      by tessera check "$work/block.ini"
      ;;
    c) by "${compile[@]}" -x c "$work/block" ;;
    python) run_python ;;
    cmake) ;;
    '')
      skipped=yes
      ! grep -qE '^(\./)?tessera ' "$work/block" || wrong_block "has commands: call it sh: $(cat "$work/block")"
      ;;
    *) wrong_block "\`\`\`$1 is no block that is known" ;;
  esac
}

wrong_block() { case_of "$page: every block is known" && fail "$*"; }

# do_page FILE: sets how many blocks `ran` and how many outputs were `compared`.
do_page() {
  local block='' inside='' line
  page=${1#"$root/"} ran=0 compared=0 skipped=yes
  mkdir -p "$work/top/$page"
  cd "$work/top/$page" || exit 1
  ln -s "$root/plugins" "$root/specs" "$root/examples" "$work/bin/tessera" .
  : >"$work/python"
  while IFS= read -r line <&3; do
    if [[ ! $inside && $line =~ ^\ *\`\`\`(.*)$ ]]; then
      inside=yes block=${BASH_REMATCH[1]}
      : >"$work/block"
    elif [[ $inside && $line =~ ^\ *\`\`\`$ ]]; then
      do_block "$block"
      inside=
    elif [[ $inside ]]; then
      printf '%s\n' "$line" >>"$work/block"
    fi
  done 3<"$1"
  [[ ! $inside ]] || wrong_block "a block is open"
  echo "$page: $ran blocks, $compared outputs compared"
}

all=0
pages=("$root"/README.md "$root"/docs/*.md "$root"/plugins/placing_and_layouts.md "$root"/plugins/ten_minutes.md)
(($# == 0)) || pages=("${@/#/"$root"/}")
for file in "${pages[@]}"; do
  do_page "$file"
  all=$((all + ran))
done
(($# == 0)) || finish pages
case_of "the pages have blocks, and the last one has at least its own"
((all >= 20 && ran >= 4 && compared >= 4)) || fail "$all blocks ran; of $page $ran, and $compared outputs were compared"

# ---- The test itself -----------------------------------------------------------------------------

case_of "an output that differs is found"
printf 'one ... three\n...\nend (1)\n' >"$work/pattern"
printf 'one 2 three\nend (1)\n' >"$work/right"
printf 'one 2 three\nmore\nend (1)\n' >>"$work/longer"
matches "$work/pattern" "$work/right" >/dev/null && matches "$work/pattern" "$work/longer" >/dev/null || fail "right: no"
for wrong in 'one 2\nend (1)\n' 'one 2 three\nend (2)\n' 'one 2 three\nend (1)\nmore\n' 'more\none 2 three\nend (1)\n' ''; do
  # shellcheck disable=SC2059
  printf "$wrong" >"$work/wrong"
  ! matches "$work/pattern" "$work/wrong" >/dev/null || fail "taken for right: $wrong"
done

case_of "a wrong block of each kind is found"
cat >"$work/wrong.md" <<'PAGE'
```sh
echo one
```
```text
two
```
```sh
tessera check absent.ini
```
```c
int x = ;
```
```ini
[table]
kind = nothing
```
```python
absent
```
```sh shown
tessera absent
```
```
tessera check absent.ini
```
```perl
1
```
PAGE
(do_page "$work/wrong.md") >"$work/log" 2>&1
found=$(grep -c '^FAILED' "$work/log")
python_found=0
[[ ! $python ]] || python_found=1
[[ $found == "$((python_found + 6))" ]] || fail "$found of 7 were found: $(cat "$work/log")"

finish pages
