#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# plugins/ten_minutes.md, done by the letter: its files are written, its commands run in order, and what they print is
# compared with what the page says. Blocks are ```sh (`sh cuda`: only where there is nvcc), ```c FILE and ```ini FILE
# (written there), ```text (the output of the block above; `...` stands for anything, on a line of its own for any
# lines).

program=$PWD/tools/cli/tessera
export TESSERA_PLUGINS=$PWD/layouts:$PWD/probing:$PWD/hashers:$PWD/allocators
export TESSERA_CONFORM=$PWD/tests/conformance/conformance
export CUDA_VISIBLE_DEVICES='' # the page's numbers are a CPU's as well
# shellcheck source=../structure/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../structure/harness.sh"

page=$root/plugins/ten_minutes.md
nvcc=${TSR_NVCC:-}

# What the page calls the top folder of a checkout; `command -v nvcc` must find what was built for.
top=$work/top
mkdir -p "$top" "$work/bin"
ln -s "$root/plugins" "$root/specs" "$top"
printf '#!/bin/sh\nTESSERA_SDK=%q exec %q "$@"\n' "$root" "$program" >"$top/tessera"
chmod +x "$top/tessera"
if [[ $nvcc ]]; then
  printf '#!/bin/sh\nexec %q "$@"\n' "$nvcc" >"$work/bin/nvcc"
  chmod +x "$work/bin/nvcc"
fi
path=$work/bin
while IFS= read -r -d : folder; do
  [[ -x $folder/nvcc ]] || path+=:$folder
done <<<"$PATH:"
export PATH=$path XDG_CACHE_HOME=$work/cache
unset TSR_NVCC
cd "$top" || exit 1

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

ran=0
compared=0
run_block() {
  ran=$((ran + 1))
  case_of "$(grep -m 1 . "$work/block") ..."
  # errors of the last command count, as for a reader who sees them
  bash -e "$work/block" >"$work/out" 2>"$work/err" || fail "status $?: $(tail -n 20 "$work/out" "$work/err")"
}
compare_block() {
  compared=$((compared + 1))
  matches "$work/block" "$work/out" >"$work/difference" || fail "$(cat "$work/difference") in: $(cat "$work/out")"
}

skipped=
block=
while IFS= read -r line; do
  if [[ ! $block && $line == '```'* ]]; then
    block=${line#'```'}
    : >"$work/block"
  elif [[ $line == '```' ]]; then
    case $block in
      sh) skipped= && run_block ;;
      'sh cuda')
        skipped=yes
        [[ ! $nvcc ]] || { skipped= && run_block; }
        ;;
      text) [[ $skipped ]] || compare_block ;;
      'c '* | 'ini '*) cp "$work/block" "${block#* }" ;;
      *) case_of "every block is known" && fail "\`\`\`$block" ;;
    esac
    block=
  elif [[ $block ]]; then
    # What a block exports is not seen by the next one, as each is a shell of its own: only TSR_NVCC would be.
    printf '%s\n' "$line" >>"$work/block"
  fi
done <"$page"

case_of "the page was read to its end"
blocks=$(grep -c '^```sh$' "$page")
[[ ! $nvcc ]] || blocks=$((blocks + $(grep -c '^```sh cuda$' "$page")))
((blocks >= 4 && ran == blocks)) || fail "$ran blocks of commands ran, of $blocks on the page"
((compared >= 4)) || fail "only $compared outputs were compared"

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

finish ten_minutes
