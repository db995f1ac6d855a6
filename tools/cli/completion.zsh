#compdef tessera
# SPDX-License-Identifier: Apache-2.0
#
# Completes the words of tessera in zsh, as completion.bash does in bash. Install it as _tessera in a folder of $fpath, such
# as share/zsh/site-functions, or `source` it after compinit.

_tessera() {
  local candidate doc files
  local -a whole open
  while IFS=$'\t' read -r candidate doc; do
    if [[ -z $candidate ]]; then
      files=1
    elif [[ $candidate == *= ]]; then
      open+=("$candidate")
    else
      whole+=("${candidate//:/\\:}${doc:+:$doc}")
    fi
  done < <("${words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  (( $#whole )) && _describe tessera whole
  (( $#open )) && compadd -S '' -- $open
  if [[ -n $files ]]; then
    compset -P '*='
    _files
  fi
}

if [[ $funcstack[1] == _tessera ]]; then
  _tessera "$@"
else
  compdef _tessera tessera
fi
