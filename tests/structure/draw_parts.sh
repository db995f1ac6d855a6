#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws for README.md what a table is composed of: the parts in the folders of the tree, and what is made of them.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# A folder and its parts, in lines of at most 80 columns.
parts() {
  local folder=$1 names=("$1"/*.c) line
  names=("${names[@]##*/}")
  while read -r line; do
    printf '   %-12s%s\n' "$folder" "$line"
    folder=
  done < <(fold -s -w 64 <<<"${names[*]%.c}")
}

cat <<END
spec.ini chooses one part of each folder
   │
   ▼
$(for folder in layouts probing hashers allocators eviction; do parts $folder; done)
   │
   │  each a shared object: LTO-IR for the GPU, C functions for the CPU
   ▼
   core        on a GPU: NVRTC and nvJitLink fuse them into kernels
               on a CPU: a C compiler fuses them, or they are called
   ▲
   │
   tools (the program)    python (the package)    your program
END
