#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes the tables of the pages anew (tables.sh), with the plugins that are built here. Run it after a plugin, a
# parameter or a key of [table] has come or changed; tables_test.sh asks for it.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tables.sh
source tests/docs/tables.sh
tessera=./tessera
unset TESSERA_PLUGINS # the folders' plugins, no others

text=$(mktemp)
trap 'rm -f "$text"' EXIT
while read -r page; do
  rewritten "$page" >"$text"
  cmp -s "$text" "$page" || {
    cat "$text" >"$page"
    echo "changed $page"
  }
done < <(list_pages)
