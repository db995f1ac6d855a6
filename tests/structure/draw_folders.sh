#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws folders.txt for docs/contributing.md: a line for each folder, from the users down to what everything rests on. Behind the arrow are
# the folders that it may include, less those that these reach themselves. A folder includes only folders on the lines below it.

set -euo pipefail

awk '
  function folder_of(pattern) { sub(/\/[^\/]*\*?$/, "", pattern); return pattern }
  /^#/ || NF < 2 { next }
  {
    from = $1 ~ /^core\/tessera/ ? "core/tessera*.h" : folder_of($1)
    if (from == "core" || from ~ /^plugins\/./) next
    if (!(from in seen)) { seen[from] = 1; name[++folders] = from }
    for (i = 2; i <= NF; i++) {
      to = $i ~ /^(core\/)?tessera/ ? "core/tessera*.h" : $i ~ /\/\*$/ ? folder_of($i) : $i ~ /^core\/(spec|kernels)\// ? folder_of($i) : ""
      if (to != "" && to != from) arrow[from, to] = 1
    }
  }
  function floor_of(folder, i, below, highest) {
    if (folder in floor) return floor[folder]
    for (i = 1; i <= folders; i++) if ((folder, name[i]) in arrow) { below = floor_of(name[i]); if (below > highest) highest = below }
    return floor[folder] = highest + 1
  }
  function reaches(from, to, i) { # by way of another folder
    for (i = 1; i <= folders; i++)
      if ((from, name[i]) in arrow && name[i] != to && ((name[i], to) in arrow || reaches(name[i], to))) return 1
    return 0
  }
  END {
    for (i = 1; i <= folders; i++) { f = floor_of(name[i]); if (f > top) top = f }
    for (f = top; f >= 1; f--)
      for (i = 1; i <= folders; i++) {
        if (floor[name[i]] != f) continue
        line = ""
        for (j = 1; j <= folders; j++)
          if ((name[i], name[j]) in arrow && !reaches(name[i], name[j])) line = line " " name[j]
        print line == "" ? name[i] : sprintf("%-16s ─▶%s", name[i], line)
      }
  }' "$(dirname "${BASH_SOURCE[0]}")/folders.txt"
