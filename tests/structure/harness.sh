# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of this folder share: finding the checkout, and cases (../cases.sh). A test ends with `finish SUITE`.

set -uo pipefail

# The test reads the checkout itself: Bazel shows it as links, and only of what was declared.
root=$(dirname "$(readlink -f LICENSE)")
[[ -f $root/core/tessera.h ]] || {
  echo "no checkout at $root"
  exit 1
}
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/structure.XXXXXX")
trap 'rm -rf "$work" && need_finish' EXIT

# shellcheck source-path=SCRIPTDIR source=../cases.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cases.sh"

case_of() { open_case "$1"; }
