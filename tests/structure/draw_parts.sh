#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws for README.md what a table is composed of: the parts in the rooms of the tree, and what is made of them.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

parts() {
  local room=$1 files=() line margin="               "
  files=("$room"/*.c)
  files=("${files[@]##*/}")
  while read -r line; do
    printf '%s%-13s%s\n' "$margin" "$room" "$line"
    room=
  done < <(fold -s -w 78 <<<"${files[*]%.c}")
}

cat <<END
 spec.ini ───▶ chooses one of each
$(for room in layouts probing hashers allocators; do parts $room; done)
                 │  one shared object each: LTO-IR for the GPU, C functions for the CPU
                 ▼
               core         on a GPU: NVRTC and nvJitLink make kernels of them, which a cache keeps
                            on a CPU: a C compiler fuses them, or their functions are called
                 ▲
               tools  python  your program
END
