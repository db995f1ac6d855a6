#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the example kernels on a machine with a GPU, in the folder that stage.sh made: small, where every answer is checked
# against an oracle, and with --times also large, timed against the same by bulk calls (goal: 1.3 times as fast).
#
#   user_kernels.sh [--times N]     N items, 67108864 say
#
# The last line is `N passed, N failed`.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
times=
if [[ ${1:-} == --times ]]; then
  times=${2:?--times needs a number}
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/lib"
export TESSERA_PLUGINS=$PWD/layouts:$PWD/probing:$PWD/hashers:$PWD/allocators:$PWD/eviction XDG_CACHE_HOME=$scratch/cache

# Only the libraries that this machine lacks.
while read -r missing; do
  [[ ! -f lib/$missing ]] || ln -sf "$PWD/lib/$missing" "$scratch/lib/"
done < <(ldd ./*_program ./*/*.so 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u)
export LD_LIBRARY_PATH=$scratch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

passed=0 failed=0
# example NAME ITEMS
example() {
  echo "$1, $2 items"
  if "./$1_program" --times "$2" "examples/$1"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

for name in kmers join_sum filtered; do
  for items in 64 100000 1048576 $times; do
    example "$name" "$items"
  done
done
echo "$passed passed, $failed failed"
((failed == 0))
