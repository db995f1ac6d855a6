#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints a C file that holds the commit of the checkout that this script is in; a + follows where files differ from it.
# Outside a checkout the text is empty. Called by the build, whenever a source of the program has changed.

set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
commit=$(git -C "$here" describe --always --dirty=+ --abbrev=8 --exclude '*' 2>/dev/null) || commit=
printf 'extern const char tsr_commit[];\nconst char tsr_commit[] = "%s";\n' "$commit"
