#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes abi.txt: the plugin ABI's number and a hash of the SDK headers that it stands for. Run it after TSR_ABI was
# raised. --unreleased: for headers that nobody outside has built a plugin with yet; the number may stay.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=rules.sh
source tests/structure/rules.sh

file=tests/structure/abi.txt
known=$(sed -n 's/^TSR_ABI \([0-9]*\)$/\1/p' "$file" 2>/dev/null || true)
if [[ $known == "$(abi_number)" && ${1:-} != --unreleased ]] && ! grep -q "$(abi_hash)" "$file"; then
  echo "update_abi.sh: headers have changed and TSR_ABI is still $known: raise it in plugins/table.h first, or use" \
    "--unreleased if nobody outside has built a plugin with this number" >&2
  exit 1
fi
{
  echo "TSR_ABI $(abi_number)"
  echo "sha256 $(abi_hash)"
} >"$file"
