#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints TSR_ABI, the number by which a library knows the plugins that were built from the same SDK headers: a hash of
# what these headers say. Comments and white space do not count, nor the order of the files or the folder they are in.
#
#   build_abi.sh HEADER...
#
# Give it all headers of the SDK, plugins/*.h and plugins/*.cuh. It uses no compiler, so that every machine gets the
# same number. Read next: build_plugin.sh, which passes the number on.

set -euo pipefail
export LC_ALL=C

(($#)) || {
  echo "build_abi.sh: usage: build_abi.sh HEADER..." >&2
  exit 1
}

# The lines of standard input as one, without comments, white space and the backslashes that join lines. Strings stay.
essence() {
  awk '
    { sub(/\\[ \t\r]*$/, "") }
    {
      while ($0 != "") {
        if (in_comment) {
          end = index($0, "*/")
          in_comment = !end
          $0 = end ? substr($0, end + 2) : ""
        } else if (!match($0, /["\047]|\/\/|\/\*/)) {
          keep($0)
          $0 = ""
        } else {
          start = substr($0, RSTART, RLENGTH)
          keep(substr($0, 1, RSTART - 1))
          $0 = substr($0, RSTART)
          if (start == "//") {
            $0 = ""
          } else if (start == "/*") {
            in_comment = 1
            $0 = substr($0, 3)
          } else {
            if (!match($0, start == "\"" ? "^\"([^\"\\\\]|\\\\.)*\"" : "^\047([^\047\\\\]|\\\\.)*\047")) RLENGTH = 1
            printf "%s", substr($0, 1, RLENGTH)
            $0 = substr($0, RLENGTH + 1)
          }
        }
      }
    }
    function keep(code) {
      gsub(/[ \t\r\f\v]/, "", code)
      printf "%s", code
    }'
}

hash=$(
  printf '%s\n' "$@" | awk -F / '{ print $NF "\t" $0 }' | sort | while IFS=$'\t' read -r name header; do
    [[ -f $header ]] || exit 1
    printf '%s\n' "$name"
    essence <"$header"
    printf '\n'
  done | sha256sum
) || {
  echo "build_abi.sh: one of these is no file: $*" >&2
  exit 1
}
echo "0x${hash:0:8}u"
