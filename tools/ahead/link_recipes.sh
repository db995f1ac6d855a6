#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Links the recipes' code ahead for all GPUs, as a release carries it (tools/package.sh):
#
#   link_recipes.sh [--arch SM,SM] [--list] OUT.cubins FILE...      FILE: link_recipes, recipes and plugins
#
# --list prints the tables and links nothing. Four architectures serve all GPUs: a cubin runs on every GPU of its major
# number (core/cuda/linked.h). Read next: link_recipes.c.

set -euo pipefail

architectures=80,90,100,120
only_list=
[[ $1 != --arch ]] || { architectures=$2 && shift 2; }
[[ $1 != --list ]] || { only_list=1 && shift; }
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
folder=${recipes[0]%/*}

# tables RECIPE KEY_BITS VALUE_BITS [POLICY...]: lists of alternatives, with commas. Widths and policies that a recipe refuses are
# left out (?).
tables() {
  local key value policy
  for key in ${2//,/ }; do
    for value in ${3//,/ }; do
      for policy in "${@:4}"; do
        printf '? %s table.key_bits=%s' "$folder/$1.ini" "$key"
        [[ $value == - ]] || printf ' table.value_bits=%s' "$value"
        [[ $policy == - ]] || printf ' table.duplicates=%s' "$policy"
        echo
      done
    done
  done
}

# What programs use most: all recipes as they are; each policy of the maps that users begin with; the widths that Python
# chooses (python/tessera/_types.py).
list() {
  local recipe policies=(first replace add min max promise_unique)
  printf '%s\n' "${recipes[@]}"
  for recipe in quickstart best_build best_bulk best_find best_find_first best_absent; do
    tables "$recipe" 32 32 "${policies[@]}"
  done
  for recipe in best_build_64 best_find_64 u64_map; do
    tables "$recipe" 64 64 "${policies[@]}"
  done
  tables sessions 64 32 "${policies[@]}"
  for recipe in best_find_first best_build; do tables "$recipe" 32 64 replace; done
  for recipe in best_find_64 best_build_64; do tables "$recipe" 64 32 replace; done
  tables best_absent 64 32,64 replace
  tables best_build_first 32 32,64 add
  tables best_build_64 64 32 add
  tables sessions 32,64 32,64 replace
  tables best_set 32,64 - first
  for recipe in best_multi join cache warpcore_buckets; do tables "$recipe" 32,64 32,64 -; done
  tables best_count 32,64 64 -
  for recipe in index filter; do tables "$recipe" 32,64 - -; done
}

if [[ $only_list ]]; then
  list
  exit
fi
export TESSERA_PLUGINS XDG_CACHE_HOME=${XDG_CACHE_HOME:-$scratch} TESSERA_CACHE_MB=4000
[[ ! ${TSR_NVCC-} ]] || export CUDA_PATH=${TSR_NVCC%/bin/nvcc}
list | "$program" "$out" "$architectures"
