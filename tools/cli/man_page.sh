#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the manual page tessera.1 from what the program says of itself: `tessera --help` and `tessera COMMAND --help`,
# which are made of the tables of the commands and their options.
#
#   man_page.sh PROGRAM
#
# Read next: completion.bash, which asks the program in the same way.

set -euo pipefail

program=$1

# Text for roff: its own sign is escaped, and neither a point nor a quote that begins a line is a request.
plain() { sed "s/\\\\/\\\\e/g; s/-/\\\\-/g; s/^\([.']\)/\\\\\&\1/"; }

# The lines of options as paragraphs; what is indented further goes on with the one before.
options() {
  sed -nE 's/^  (-.*[^ ])  +([^ ].*)$/.TP\n.B \1\n\2/p; s/^ {8,}([^ ].*)$/\1/p' | plain | sed 's/^\\&\.\(TP\|B \)/.\1/'
}

commands=$("$program" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
version=$("$program" version)

cat <<END
.\" Made by tools/cli/man_page.sh from what the program says of itself.
.TH TESSERA 1 "" "$version"
.SH NAME
tessera \- GPU hash tables, composed at run time from plugins that an INI file names
.SH SYNOPSIS
.B tessera
.I COMMAND
[\fIOPTIONS\fR]
.SH COMMANDS
END
for command in $commands; do
  [[ $command != version ]] || continue
  help=$("$program" "$command" --help)
  head -n 1 <<<"$help" | sed 's/^usage: //' | plain | sed 's/^/.SS /'
  sed -n 3p <<<"$help" | plain
  tail -n +4 <<<"$help" | options
done
cat <<END
.SS tessera version
Prints the version.
.SH EXIT STATUS
END
"$program" --help | sed -nE '/exit status/,$p' | sed -E 's/^.*the exit status/The exit status/; s/^error; //' | plain
cat <<'END'
.SH ENVIRONMENT
.TP
.B TESSERA_PLUGINS
Folders of plugins, with a colon between them, behind those of \-\-plugins.
.TP
.B TESSERA_SPECS, TESSERA_SDK, TESSERA_CONFORM
Where the recipes, the SDK and the conformance kit lie, if not beside the program.
.TP
.B TESSERA_CC, TESSERA_CC_ITEMS
The C compiler of the cpu backend, cc if it is not set, none if it is empty; and from how many items of an operation, for
each thread, it is worth one (262144).
.TP
.B XDG_CACHE_HOME
Linked device code, and what the C compiler has made, is kept in its folder tessera; else in ~/.cache/tessera.
.SH SEE ALSO
The README.md and the recipes that were installed with the program, in share/tessera.
END
