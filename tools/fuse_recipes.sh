#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the recipes' operations for the cpu backend, as //:dist carries them (tools/package.sh):
#
#   fuse_recipes.sh [--quick] OUT.tar FILE...      FILE: the program, recipes and plugins
#
# --quick: optimised less, which takes two thirds of the time.

set -euo pipefail

quick=
[[ $1 != --quick ]] || { quick=1 && shift; }
out=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SCRATCH=$scratch TESSERA='' TESSERA_PLUGINS=''
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
printf '%s\0' "${recipes[@]}" |
  xargs -0 -n 4 -P "$(nproc)" bash -c 'for recipe; do "$TESSERA" link "$recipe" --arch cpu -o "$SCRATCH" || exit; done' fuse
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rwX,go=rX -cf "$out" fused
