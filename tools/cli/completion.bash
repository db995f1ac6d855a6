# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completes the words of tessera in bash: commands, options and their values, recipes, plugins, names of files. It asks
# `tessera complete`, so it knows what that program knows. `source` it, or install it as
# share/bash-completion/completions/tessera. completion.zsh and completion.fish are the same for those shells.

_tessera() {
  local line=${COMP_LINE:0:COMP_POINT} words word kept='' candidate file
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=('')
  word=${words[-1]}
  # Bash replaces what stands behind the last '=' only.
  [[ $word != *=* || $COMP_WORDBREAKS != *=* ]] || kept=${word%"${word##*=}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate ]]; then
      COMPREPLY+=("${candidate#"$kept"}")
      [[ $candidate != *= ]] || compopt -o nospace 2>/dev/null
    else # an empty line stands for names of files
      compopt -o filenames 2>/dev/null
      while read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "${word#"$kept"}")
    fi
  done < <("$1" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _tessera tessera ./tessera
