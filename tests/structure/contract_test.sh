#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every numbered rule of the contract is enforced by whom the table names (contract.sh).

# shellcheck source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
# shellcheck source=contract.sh
source "$(dirname "${BASH_SOURCE[0]}")/contract.sh"

cd "$root" || exit 1

case_of "every rule has its enforcer"
rules=$(list_rules)
(($(wc -l <<<"$rules") >= 40)) || fail "few rules were found: $rules"
(($(wc -l <<<"$rules") == $(cat plugins/README.md plugins/rules.md | grep -c '^| P-'))) || fail "some rows of the table cannot be read"
while IFS= read -r line; do fail "$line"; done < <(breaches_of_contract)

case_of "no number stands for two rules"
twice=$(cut -d ' ' -f 1 <<<"$rules" | sort | uniq -d)
[[ ! $twice ]] || fail "$twice"
for page in plugins/README.md plugins/rules.md; do
  grep -oE '^\| P-[0-9]{2}' "$page" | sort -c 2>/dev/null || fail "$page: the numbers are not in order"
done

# ---- The test itself -----------------------------------------------------------------------------

# A checkout with one rule and all that enforces it.
small=$work/small
fresh() {
  rm -rf "$small"
  mkdir -p "$small"/{plugins,core/compose,tests/conformance,tests/codegen,tests/structure,tests/bad_plugins}
  cd "$small" || exit 1
  echo "| P-07 | Text. | $1 |" >plugins/README.md
  echo 'return "%s: P-07: no";' >core/compose/registry.c
  echo 'return "%s: P-07: no";' >core/compose/compose.c
  echo 'breaks P-07' >tests/bad_plugins/test.sh
  echo 'TEST_P(OnPlugin, P03_P07_Name) {' >tests/conformance/load_test.cc
  echo '| P-03 | Text. | (reading) |' >>plugins/README.md
  echo 'TEST_P(Recipe, P07_Links) {' >tests/codegen/recipes_test.cc
  printf 'breaks P-07 "what"\nfails_to_build P-07 "what"\n' >tests/conformance/mutants_test.sh
  echo 'case_of "P-07: what"' >tests/structure/structure_test.sh
}
finds() {
  local found
  found=$(breaches_of_contract)
  [[ $(wc -l <<<"$found") == 1 ]] && grep -q -- "$1" <<<"$found" || fail "no '$1' alone in: $found"
}

case_of "nothing is found where nothing is wrong"
fresh 'loader; compose; kit (some); codegen; build; a test reads the file'
found=$(breaches_of_contract)
[[ ! $found ]] || fail "$found"

case_of "a missing enforcer is found"
while read -r file enforcer; do
  fresh "$enforcer"
  sed -i 's/07/03/g; s/P03_P03/P03/' "$file"
  [[ $enforcer != build && $enforcer != kit || $file != *mutants* ]] || sed -i 's/P-03/P-99x/' "$file"
  finds 'P-07: '
done <<'FILES'
core/compose/registry.c loader
core/compose/compose.c compose
tests/bad_plugins/test.sh loader
tests/conformance/load_test.cc kit
tests/conformance/mutants_test.sh kit
tests/conformance/mutants_test.sh build
tests/codegen/recipes_test.cc codegen
tests/structure/structure_test.sh a test reads the file
FILES
fresh 'somebody'
finds "P-07: nobody knows the enforcer 'somebody'"
fresh 'kit'
echo 'TEST_P(OnPlugin, P42_Name) {' >>tests/conformance/load_test.cc
finds 'P-42: is mentioned, and is no rule'

finish contract
