# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The numbered rules of plugins/README.md and rules.md, and who enforces them, over the checkout in the current folder: functions that
# print one line for each rule whose enforcer is not there. It is sourced, by contract_test.sh.

# One line `NUMBER ENFORCERS` for each rule of the tables; NUMBER like 01.
list_rules() { sed -nE 's/^\| P-([0-9]{2}) \|.*\| ([^|]*) \|$/\1 \2/p' plugins/README.md plugins/rules.md 2>/dev/null; }

# has_test NUMBER FILE...: a GoogleTest test is named after the rule, as in P30_P32_Slots.
has_test() {
  local number=$1
  shift
  grep -qE "^TEST(_[PF])?\([A-Za-z]+, (P[0-9]{2}_)*P${number}_" "$@" 2>/dev/null
}

# A sentence that refuses, and a plugin that is refused.
breaches_of_refusal() {
  local number=$1 file=$2
  grep -q "P-$number:" "$file" || echo "P-$number: $file has no refusal with this number"
  [[ ! -d tests/bad_plugins ]] || grep -rq "P-$number" tests/bad_plugins ||
    echo "P-$number: tests/bad_plugins has no plugin that breaks it"
}

breaches_of_enforcer() {
  local number=$1 enforcer=$2
  case $enforcer in
    loader) breaches_of_refusal "$number" core/compose/registry.c ;;
    compose) breaches_of_refusal "$number" core/compose/compose.c ;;
    kit | 'kit ('*)
      has_test "$number" tests/conformance/*_test.cc || echo "P-$number: no test in tests/conformance is named after it"
      # what only a sanitizer sees needs a build of its own
      [[ $enforcer == *ThreadSanitizer* ]] || grep -qE "^((at=[a-z]+ )?breaks |case_of \")P-$number" tests/conformance/mutants_test.sh ||
        echo "P-$number: tests/conformance/mutants_test.sh has no mutant that breaks it"
      ;;
    build | 'build ('*)
      grep -q "fails_to_build P-$number " tests/conformance/mutants_test.sh ||
        echo "P-$number: tests/conformance/mutants_test.sh has no plugin that the build refuses for it"
      ;;
    codegen) has_test "$number" tests/codegen/*_test.cc || echo "P-$number: no test in tests/codegen is named after it" ;;
    'a test reads '*)
      grep -qE "^case_of \"(P-[0-9]{2}, )*P-$number" tests/structure/structure_test.sh ||
        echo "P-$number: no case of tests/structure/structure_test.sh is named after it"
      ;;
    '(reading)') ;;
    *) echo "P-$number: nobody knows the enforcer '$enforcer'" ;;
  esac
}

breaches_of_contract() {
  local number enforcers enforcer known list=()
  while read -r number enforcers; do
    known+=" $number "
    IFS=';' read -ra list <<<"$enforcers"
    for enforcer in "${list[@]}"; do breaches_of_enforcer "$number" "${enforcer# }"; done
  done < <(list_rules)
  # a number that the table does not have any more
  while read -r number; do
    [[ $known == *" $number "* ]] || echo "P-$number: is mentioned, and is no rule of plugins/README.md or plugins/rules.md"
  done < <({
    grep -rhoE '\bP-[0-9]{2}\b' core tests/conformance tests/structure/structure_test.sh tests/bad_plugins 2>/dev/null
    grep -hE '^TEST' tests/conformance/*_test.cc tests/codegen/*_test.cc 2>/dev/null | grep -oE '\bP[0-9]{2}_|_P[0-9]{2}_'
  } | grep -oE '[0-9]{2}' | sort -u)
}
