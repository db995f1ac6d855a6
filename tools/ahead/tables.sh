# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Which tables a release carries the code of, for GPUs (link_recipes.sh) and CPUs (../fuse_recipes.sh): sourced by both.
#
# list_tables RECIPE.ini... prints a table a line: [?] SPEC [SECTION.KEY=VALUE...]. What is behind a question mark may be refused.
# TSR_ONLY, names of recipes with commas between, leaves out the tables of the others.

# tables_of SPEC KEY_BITS VALUE_BITS [POLICY...]: every combination. Widths are lists with commas; - leaves an entry as it is.
tables_of() {
  local key value policy
  for key in ${2//,/ }; do
    for value in ${3//,/ }; do
      for policy in "${@:4}"; do
        printf '? %s table.key_bits=%s' "$1" "$key"
        [[ $value == - ]] || printf ' table.value_bits=%s' "$value"
        [[ $policy == - ]] || printf ' table.duplicates=%s' "$policy"
        echo
      done
    done
  done
}

# What programs use most: all recipes as they are; each policy of the maps that users begin with; the widths that Python
# chooses (python/tessera/_types.py).
all_tables() {
  local in=${1%/*} recipe policies=(first replace add min max promise_unique)
  printf '%s\n' "$@"
  for recipe in quickstart best_build best_bulk best_find best_find_first best_absent; do
    tables_of "$in/$recipe.ini" 32 32 "${policies[@]}"
  done
  for recipe in best_build_64 best_find_64 u64_map; do
    tables_of "$in/$recipe.ini" 64 64 "${policies[@]}"
  done
  tables_of "$in/sessions.ini" 64 32 "${policies[@]}"
  for recipe in best_find_first best_build; do tables_of "$in/$recipe.ini" 32 64 replace; done
  for recipe in best_find_64 best_build_64; do tables_of "$in/$recipe.ini" 64 32 replace; done
  tables_of "$in/best_absent.ini" 64 32,64 replace
  tables_of "$in/best_build_first.ini" 32 32,64 add
  tables_of "$in/best_build_64.ini" 64 32 add
  tables_of "$in/sessions.ini" 32,64 32,64 replace
  tables_of "$in/best_set.ini" 32,64 - first
  tables_of "$in/perfect.ini" 32,64 32,64 promise_unique
  for recipe in best_multi join cache best_cache warpcore_buckets; do tables_of "$in/$recipe.ini" 32,64 32,64 -; done
  tables_of "$in/best_count.ini" 32,64 64 -
  for recipe in index filter; do tables_of "$in/$recipe.ini" 32,64 - -; done
}

list_tables() {
  local name wanted=
  for name in ${TSR_ONLY:+${TSR_ONLY//,/ }}; do
    [[ " $* " == *"/$name.ini "* ]] || { echo "${BASH_SOURCE[0]##*/}: there is no recipe $name" >&2 && return 1; }
    wanted+=${wanted:+|}$name
  done
  all_tables "$@" | grep -E "/(${wanted:-.*})\.ini( |$)"
}

# Which tables a release has the code of for CPUs in addition: every policy and both widths of the maps, sets, counters and filters that
# Python chooses (python/tessera/_types.py). Sums of signed values wrap. A table takes 18 CPU seconds and 64 KB of a wheel.
list_cpu_tables() {
  local in=${1%/*} recipe key value policies=(first replace add min max promise_unique)
  local -A recipes=([32]='best_find_first best_build best_build_first' [64]='best_find_64 best_build_64')
  for key in 32 64; do
    for recipe in ${recipes[$key]} best_absent sessions mixed; do
      tables_of "$in/$recipe.ini" $key 32,64 "${policies[@]}"
      for value in 32 64; do
        echo "? $in/$recipe.ini table.key_bits=$key table.value_bits=$value table.duplicates=add table.overflow=wrap"
      done
    done
    tables_of "$in/best_set.ini" $key - first promise_unique
    tables_of "$in/best_count.ini" $key 8,16,32,64 -
    for recipe in filter cuckoo_filter; do tables_of "$in/$recipe.ini" $key - -; done
  done
}
