#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws rooms.txt for README.md: a line for each room, from the users down to what everything rests on. Behind the arrow are
# the rooms that it may include, less those that these reach themselves. A room includes only rooms on the lines below it.

set -euo pipefail

awk '
  function room_of(pattern) { sub(/\/[^\/]*\*?$/, "", pattern); return pattern }
  /^#/ || NF < 2 { next }
  {
    from = $1 ~ /^core\/tessera/ ? "core/tessera*.h" : room_of($1)
    if (from == "core" || from ~ /^plugins\/./) next
    if (!(from in seen)) { seen[from] = 1; name[++rooms] = from }
    for (i = 2; i <= NF; i++) {
      to = $i ~ /^(core\/)?tessera/ ? "core/tessera*.h" : $i ~ /\/\*$/ ? room_of($i) : $i ~ /^core\/(spec|kernels)\// ? room_of($i) : ""
      if (to != "" && to != from) arrow[from, to] = 1
    }
  }
  function floor_of(room, i, below, highest) {
    if (room in floor) return floor[room]
    for (i = 1; i <= rooms; i++) if ((room, name[i]) in arrow) { below = floor_of(name[i]); if (below > highest) highest = below }
    return floor[room] = highest + 1
  }
  function reaches(from, to, i) { # by way of another room
    for (i = 1; i <= rooms; i++)
      if ((from, name[i]) in arrow && name[i] != to && ((name[i], to) in arrow || reaches(name[i], to))) return 1
    return 0
  }
  END {
    for (i = 1; i <= rooms; i++) { f = floor_of(name[i]); if (f > top) top = f }
    for (f = top; f >= 1; f--)
      for (i = 1; i <= rooms; i++) {
        if (floor[name[i]] != f) continue
        line = ""
        for (j = 1; j <= rooms; j++)
          if ((name[i], name[j]) in arrow && !reaches(name[i], name[j])) line = line " " name[j]
        print line == "" ? name[i] : sprintf("%-16s ─▶%s", name[i], line)
      }
  }' "$(dirname "${BASH_SOURCE[0]}")/rooms.txt"
