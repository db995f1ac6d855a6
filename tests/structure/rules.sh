# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The rules of structure_test.sh, as functions that print one line for each breach and nothing else, over the checkout
# in the current folder: so that the test can also try them on a checkout that breaks them all. It is sourced.

plugin_folders=(layouts probing hashers allocators eviction)
declare -A role_of=([layouts]=layout [probing]=probing [hashers]=hasher [allocators]=allocator [eviction]=eviction)

# Files under FOLDER... by name patterns; Bazel's links and hidden folders of somebody's tools do not count.
find_files() {
  local folders=()
  while [[ $1 != -- ]]; do
    [[ ! -e $1 ]] || folders+=("$1")
    shift
  done
  shift
  ((${#folders[@]})) || return 0
  find "${folders[@]}" \( -path './.*' ! -path './.bazel*' ! -path './.ci*' -type d -o -path './bazel-*' \) -prune -o \
    -type f \( "$@" \) -print | sed 's|^\./||' | sort
}

sources_in() { find_files "$@" -- -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc'; }

# without_comments FILE: the same code, macros not expanded.
without_comments() { gcc -fpreprocessed -dD -E -P -x c "$1" 2>/dev/null; }

# ---- Spread --------------------------------------------------------------------------------------

# The rows of spread.txt: how many files of the core may know a feature.
spread_rows=()
mapfile -t spread_rows < <(grep -v '^#' "$(dirname "${BASH_SOURCE[0]}")/spread.txt")

breaches_of_spread() {
  local row most pattern what files
  for row in "${spread_rows[@]}"; do
    read -r most pattern what <<<"$row"
    mapfile -t files < <(sources_in core | xargs -r grep -lE -- "$pattern")
    ((${#files[@]} <= most)) || echo "$what: ${#files[@]} files of core/ know, at most $most may: ${files[*]}"
  done
}

# ---- Arrows --------------------------------------------------------------------------------------

# The rows of folders.txt: which headers the files of a folder may include. It is read once, of the checkout that is tested.
folder_rows=()
mapfile -t folder_rows < <(grep -v '^#' "$(dirname "${BASH_SOURCE[0]}")/folders.txt")

# may_include FILE HEADER: HEADER as written between quotes. Files outside the folders, tests and examples, may include all.
may_include() {
  local file=$1 header=$2 own row folder allowed=() pattern
  own=${file##*/} && own=${own%.*}
  for row in "${folder_rows[@]}"; do
    read -r folder row <<<"$row"
    read -ra allowed <<<"${row//NAME/$own}"
    # shellcheck disable=SC2053
    [[ $file == $folder ]] || continue
    for pattern in "${allowed[@]}"; do
      # shellcheck disable=SC2053
      [[ $header != $pattern || $header =~ ^plugins/(template|example)/ ]] || return 0
    done
    return 1
  done
}

breaches_of_arrows() {
  local file header line
  while IFS= read -r line; do
    file=${line%%:*}
    line=${line#*:}
    # A header of the checkout counts, however it is written.
    if [[ $line =~ include[[:space:]]*\"([^\"]+)\" ]]; then
      header=${BASH_REMATCH[1]}
    elif [[ $line =~ include[[:space:]]*\<([^\>]+)\> ]]; then
      header=${BASH_REMATCH[1]}
      [[ -e $header ]] || continue
    else
      echo "$file: cannot tell what this includes: $line"
      continue
    fi
    may_include "$file" "$header" || echo "$file: must not include $header"
  done < <(sources_in plugins "${plugin_folders[@]}" core tools | tr '\n' '\0' |
    xargs -0 -r grep -HE '^[[:space:]]*#[[:space:]]*include')
}

# A file is a header and the sources of its name. tsort prints the files of each circle; one line for each.
breaches_of_circles() {
  local file header
  while read -r file; do
    while read -r header; do
      [[ ${file%.*} == "${header%.*}" ]] || echo "${file%.*} ${header%.*}"
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]((core|tools)[^">]*)[">].*/\1/p' "$file")
  done < <(sources_in core tools) | tsort 2>&1 >/dev/null |
    awk '/contains a loop/ { if (circle) print circle; circle = "a circle of includes:"; next }
         { circle = circle " " $2 } END { if (circle) print circle }'
}

# ---- Names ---------------------------------------------------------------------------------------

# One line `ROLE NAME` for each plugin: its folder and its .c file.
list_plugins() {
  local folder file
  for folder in "${plugin_folders[@]}"; do
    for file in "$folder"/*.c; do
      [[ ! -f $file ]] || echo "${role_of[$folder]} $(basename "$file" .c)"
    done
  done
}

# The core knows no plugin: neither its full name anywhere, nor its name in code, strings included. Headers of the system
# may have a plugin's name: xxhash.h.
breaches_of_names() {
  local role name file plugins names
  plugins=$(list_plugins)
  names=$(cut -d ' ' -f 2 <<<"$plugins" | paste -sd '|')
  while read -r file; do
    without_comments "$file" | grep -v '^#include <' >"$work/code"
    grep -qE "\"($names)\"|_($names)" "$file" || grep -qwE "$names" "$work/code" || continue # most files
    while read -r role name; do
      ! grep -qE "(\"$name\"|\b${role}_$name)" "$file" || echo "$file: names the plugin $role/$name"
      ! grep -qwE "$name" "$work/code" || echo "$file: its code has the word $name: $(grep -wm1 "$name" "$work/code")"
    done <<<"$plugins"
  done < <(sources_in core tools | tr '\n' '\0' | xargs -0 -r grep -lE "$names")
}

# ---- Retired words -------------------------------------------------------------------------------

# The rows of retired.txt: PATTERN ; INSTEAD ; WHERE ; PATHS.
retired_rows=()
mapfile -t retired_rows < <(grep -vE '^(#|$)' "$(dirname "${BASH_SOURCE[0]}")/retired.txt")

breaches_of_words() {
  local row pattern instead where file line glob may named paths
  for row in "${retired_rows[@]}"; do
    pattern=${row%% ; *} && row=${row#* ; }
    instead=${row%% ; *} && row=${row#* ; }
    where=${row%% ;*}
    read -ra paths <<<"${row#*;}"
    named=(-name '*.md')
    [[ $where != text ]] || named+=(-o -name '*.[ch]' -o -name '*.c[cu]' -o -name '*.cuh' -o -name '*.sh' -o -name '*.py' -o -name '*.ini')
    while IFS= read -r line; do
      file=${line%%:*} && may=
      for glob in "${paths[@]}"; do
        # shellcheck disable=SC2053
        [[ $file != $glob ]] || may=1
      done
      [[ $may || $file == tests/structure/* ]] || echo "$line: write: $instead"
    done < <(find_files . -- "${named[@]}" | xargs -r grep -niP -- "$pattern" /dev/null)
  done
}

# ---- Schemes -------------------------------------------------------------------------------------

# P-45: a scheme speaks of buckets: no lane, no CUDA word, no collective.
breaches_of_schemes() {
  local file word
  while read -r file; do
    word=$(without_comments "$file" |
      grep -oE '\b(c->(lane|base|scratch)|[a-z_]*_lanes?|tsr_(ballot|shuffle|warp)[a-z0-9_]*|__[a-z][a-z0-9_]*|(thread|block)(Idx|Dim)|gridDim|warpSize|asm)\b' |
      grep -vE '^__(CUDACC|VA)' | sort -u | head -n 1)
    [[ ! $word ]] || echo "$file: a probing scheme must not use $word"
  done < <(find_files probing plugins/template/probing plugins/template/evicting plugins/example -- -name '*.cuh')
}

# ---- Lanes of a warp -----------------------------------------------------------------------------

# What all lanes of a warp do together (core/kernels/value_list.cuh) stands behind no `&&`, `||` or `?`: lanes for which the left
# side decides would not come, and in the last, partial warp of a launch there always are some.
breaches_of_collectives() {
  local file line
  while read -r file; do
    line=$(without_comments "$file" | tr -s ' \n' ' ' | grep -oE '(&&|\|\||\?) [^;{}]*\bvalue_list_(group_of|from_leader|any|append|look_back|allocate[a-z_]*)\(' | head -n 1)
    [[ ! $line ]] || echo "$file: not all lanes of a warp may come to value_list_${line##*value_list_}...)"
  done < <(find_files core/kernels core/batch -- -name '*.cuh')
}

# ---- The map -------------------------------------------------------------------------------------

# Paths of the files in the tables of core/README.md; a heading names the folder.
list_mapped_files() {
  awk '/^## / { folder = ""; if (match($0, /`[a-z]+\/`/)) folder = substr($0, RSTART + 1, RLENGTH - 2) }
    /^\| `/ { split($0, cells, "|"); files = cells[2]; gsub(/[` ]/, "", files); n = split(files, file, ",")
      for (i = 1; i <= n; i++) print "core/" folder file[i] }' core/README.md
}

breaches_of_the_map() {
  local file
  while read -r file; do [[ -e $file ]] || echo "core/README.md: $file is not there"; done < <(list_mapped_files)
}

# ---- First lines ---------------------------------------------------------------------------------

# Sets of steps that belong to no table have code that a release links ahead. What measures a device, or is a pool's, has not.
breaches_of_sets() {
  local set
  while read -r set; do
    grep -q "&${set}_steps\b" core/table/steps.c || echo "core/table/steps.c: tsr_sets_of_no_table has no ${set}_steps"
  done < <(sed -n '/symbol = "tsr_[a-z_]*_images",$/{s/.*"\(tsr_[a-z_]*\)_images".*/\1/;h;n;/widths = "none"/{g;p;};}' core/BUILD | grep -v roofline)
}

breaches_of_licences() {
  {
    sources_in .
    find_files . -- -name '*.sh' -o -name '*.bzl' -o -name '*.py' -o -name BUILD -o -name WORKSPACE -o -name '*.bazel' \
      -o -name .bazelrc
    find_files . -- -perm -u+x ! -name '*.*' | while read -r file; do
      [[ $(head -c 2 "$file" | tr -d '\0') != '#!' ]] || echo "$file"
    done
  } | tr '\n' '\0' | xargs -0 -r awk '
    BEGIN { for (i = 1; i < ARGC; i++) bare[ARGV[i]] }
    FNR <= 2 && /SPDX-License-Identifier: Apache-2\.0/ { delete bare[FILENAME] }
    FNR > 2 { nextfile }
    END { for (file in bare) print file ": has no SPDX line on top" }'
}
