#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Packs the manual pages, which the program prints from the rows of its commands: tessera.1 and tessera-COMMAND.1.
#
#   man_pages.sh PROGRAM OUT.tar
#
# Read next: help_command.c.

set -euo pipefail

program=$1 out=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$program" help --man >"$scratch/tessera.1"
sed -nE 's/^\.BR tessera\\-([a-z]+) \(1\)$/\1/p' "$scratch/tessera.1" | while read -r command; do
  "$program" help --man "$command" >"$scratch/tessera-$command.1"
done
chmod 644 "$scratch"/*
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf "$out" .
