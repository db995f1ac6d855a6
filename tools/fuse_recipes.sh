#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the recipes' operations for the cpu backend, as //:dist carries them (tools/package.sh):
#
#   fuse_recipes.sh [--quick | --release] OUT.tar FILE...      FILE: the program, recipes and plugins
#
# --quick: optimised less, which takes two thirds of the time. --release: also the usual policies and widths (ahead/tables.sh),
# all operations, and processors without AVX2.

set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=ahead/tables.sh
source "$(dirname "${BASH_SOURCE[0]}")/ahead/tables.sh"

quick='' release=''
[[ $1 != --quick ]] || { quick=1 && shift; }
[[ $1 != --release ]] || { release=1 && shift; }
out=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SCRATCH=$scratch TESSERA='' TESSERA_PLUGINS='' ARCHITECTURES=cpu ALL=
if [[ $release ]]; then
  ALL=--all
  [[ $(uname -m) != x86_64 ]] || ARCHITECTURES='cpu cpu-v2'
fi
mkdir "$scratch/fused"
if [[ $quick ]]; then
  printf '#!/bin/bash\nexec cc "${@/#-O3/-O1}"\n' >"$scratch/cc"
  chmod +x "$scratch/cc"
  export TESSERA_CC=$scratch/cc
fi
recipes=()
for file in "$@"; do
  case $file in
    */tools/cli/tessera) TESSERA=$file ;;
    */speed/*) ;;
    *.ini) recipes+=("$file") ;;
    *.so) [[ :$TESSERA_PLUGINS: == *":${file%/*}:"* ]] || TESSERA_PLUGINS+=:${file%/*} ;;
  esac
done
# fuse TABLE: a line of list_tables.
fuse() {
  local words may_be_refused='' entries=() entry arch
  read -ra words <<<"$1"
  [[ ${words[0]} != '?' ]] || { may_be_refused=1 && words=("${words[@]:1}"); }
  for entry in "${words[@]:1}"; do entries+=(--set "$entry"); done
  for arch in $ARCHITECTURES; do
    "$TESSERA" link "${words[0]}" "${entries[@]}" --arch "$arch" $ALL -o "$SCRATCH" 2>"$SCRATCH/said.$$" && continue
    [[ $may_be_refused ]] || { cat "$SCRATCH/said.$$" && return 1; }
  done
}
export -f fuse
if [[ $release ]]; then list_tables "${recipes[@]}" && list_cpu_tables "${recipes[@]}"; else printf '%s\n' "${recipes[@]}"; fi |
  tr '\n' '\0' | xargs -0 -n 4 -P "$(nproc)" bash -c 'for table; do fuse "$table" || exit; done' fuse >&2
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rwX,go=rX -cf "$out" fused
