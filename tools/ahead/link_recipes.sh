#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Links the recipes' code ahead for all GPUs, as a release carries it (tools/package.sh):
#
#   link_recipes.sh [--arch SM,SM] OUT.cubins FILE...      FILE: link_recipes, recipes and plugins
#
# Four architectures serve all GPUs: a cubin runs on every GPU of its major
# number (core/cuda/linked.h). Read next: link_recipes.c.

set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=tables.sh
source "$(dirname "${BASH_SOURCE[0]}")/tables.sh"

architectures=80,90,100,120
[[ $1 != --arch ]] || { architectures=$2 && shift 2; }
out=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program='' TESSERA_PLUGINS='' recipes=()
for file in "$@"; do
  case $file in
    */link_recipes) program=$file ;;
    */speed/*) ;;
    *.ini) recipes+=("$file") ;;
    *.so) [[ :$TESSERA_PLUGINS: == *":${file%/*}:"* ]] || TESSERA_PLUGINS+=:${file%/*} ;;
  esac
done
export TESSERA_PLUGINS XDG_CACHE_HOME=${XDG_CACHE_HOME:-$scratch} TESSERA_CACHE_MB=4000
[[ ! ${TSR_NVCC-} ]] || export CUDA_PATH=${TSR_NVCC%/bin/nvcc}
list_tables "${recipes[@]}" | "$program" "$out" "$architectures"
