# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completes the words of tessera in bash: commands, options, plugins, keys of [table], then names of files. It asks the
# program's own --help, list and describe, so it knows what that program knows. `source` it, or install it as
# share/bash-completion/completions/tessera. A `./tessera` that has nothing to build is fast enough to be asked.

_tessera() {
  local program=$1 word=$2 before=$3 command=${COMP_WORDS[1]:-} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words="$("$program" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p') --help"
  elif [[ $word == -* ]]; then
    words="$("$program" "$command" --help 2>/dev/null | sed -nE 's/^  (-[^ ]+) .*/\1/p') --help"
  elif [[ $before == --set && $word != *=* ]]; then
    words=$("$program" describe table 2>/dev/null | sed -nE '4,$s/^([a-z_]+) .*/table.\1=/p')
    compopt -o nospace
  elif [[ $command == describe ]]; then
    words="table layout probing hasher allocator $("$program" list 2>/dev/null | sed -nE 's|^([a-z]+/[^ ]+) .*|\1|p')"
  elif ((COMP_CWORD == 2)) && [[ $command == list || $command == new ]]; then
    words='layout probing hasher allocator'
  fi
  # shellcheck disable=SC2207 # no word has a blank, and every bash knows this
  [[ ! $words ]] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _tessera tessera ./tessera
