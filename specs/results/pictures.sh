#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws a picture NAME.svg of each NAME.csv here by `tessera plot`. Notes at the head of the CSV say what it shows:
#
#   # title: WORDS, # subtitle: WORDS    above the picture
#   # device:, # date:, # commit:        where the figures come from, where no column says it
#   # plot: OPTIONS                      options of `tessera plot`
#   # NAME: WORDS                        what a column or a value is called
#
# `./tessera pictures` builds the program, installs gnuplot and runs this.
#
#   pictures.sh PROGRAM            writes the pictures that are not up to date
#   pictures.sh PROGRAM --check    writes nothing, needs no gnuplot; says which are not up to date, and is 1 if there are any
#
# A picture is up to date if it carries the checksum of the script that `tessera plot` gives gnuplot. Read next: README.md.

set -euo pipefail
tessera=$1
cd "$(dirname "${BASH_SOURCE[0]}")"
script=$(mktemp --suffix .gp)
trap 'rm -f "$script"' EXIT

stale=0
for csv in *.csv; do
  name=${csv%.csv}
  "$tessera" plot "$csv" --out "$script" --quiet
  mark="<!-- sha256 $(sha256sum <"$script" | cut -d ' ' -f 1) -->"
  ! grep -qsF -- "$mark" "$name.svg" || continue
  if [[ ${2:-} == --check ]]; then
    echo "$name.svg is not what $csv says: run ./tessera pictures"
    stale=1
  else
    "$tessera" plot "$csv" --out "$name.svg" --quiet
    echo "$mark" >>"$name.svg"
    echo "wrote $name.svg"
  fi
done
exit "$stale"
