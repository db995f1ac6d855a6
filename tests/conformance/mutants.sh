# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests with wrong plugins share. A mutant is made by sed from a plugin that the kit accepts, built out of the tree
# and given to `tessera conform`, which must name the rule; if its line is not found any more, the test says so. It is
# sourced. Read next: mutants_test.sh, races_test.sh.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

top=$PWD
export TESSERA_CONFORM=$top/tests/conformance/conformance
export TESSERA_PLUGINS=$plugin_folders:$top/allocators:$top/eviction
declare -A widths_of=([layout]=key_payload [probing]=key_payload [hasher]=key [allocator]=none [eviction]=none)

packed=layout:layouts/packed
columns=layout:layouts/soa
keys=layout:plugins/template/layout/template
linear=probing:plugins/template/probing/template
evicting=probing:plugins/template/evicting/template
cuckoo=probing:probing/cuckoo
fingerprints=layout:layouts/fingerprint
splitting=probing:probing/linear_hashing
moving=probing:probing/cuckoo_filter
mixer=hasher:plugins/template/hasher/template
units=allocator:allocators/slab_light
forgetting=eviction:plugins/template/eviction/template

# What an author of a plugin has: the SDK alone.
mkdir -p "$work/sdk"
cp -rL "$top/plugins" "$work/sdk"

# A rule that is broken is broken at one pair of widths: list_widths of this copy lists these.
export key_widths='32 64' payload_widths='0 32 64'
common=$work/sdk/plugins/build_common.sh
sed -i 's/in 32 64;/in $key_widths;/; s/in 0 32 64;/in $payload_widths;/' "$common"
grep -q 'in \$key_widths;' "$common" && grep -q 'in \$payload_widths;' "$common" || exit 1

compiler= # nvcc, where a mutant needs device code
builds=() # further options of build_plugin.sh
# build ROLE NAME: the plugin of NAME.c and NAME.cuh in the current folder; what is said goes to the file log.
build() {
  TSR_NVCC=$compiler TSR_CFLAGS=-O1 TSR_LDFLAGS='' bash "$work/sdk/plugins/build_plugin.sh" ${builds[@]+"${builds[@]}"} \
    --role "$1" --name "$2" --widths "${widths_of[$1]}" --out "$1_$2.so" "$2.c" "$2.cuh" >log 2>&1
}

# mutate ROLE:SOURCE [c|cuh SCRIPT]...: applies each sed script to that file, in a new folder; sets role and name, which
# is the source's unless `as` has another.
count=0
mutate() {
  local source=${1#*:}
  role=${1%%:*}
  name=${as:-$(basename "$source")}
  shift
  count=$((count + 1))
  mkdir "$work/$count" && cd "$work/$count" || exit 1
  cp "$top/$source.c" "$name.c"
  cp "$top/$source.cuh" "$name.cuh"
  while (($#)); do
    sed -E "$2" "$name.$1" >changed
    ! cmp -s changed "$name.$1" || fail "$source.$1 has no line any more for: $2"
    mv changed "$name.$1"
    shift 2
  done
}

# make_mutant ROLE:SOURCE [c|cuh SCRIPT]...: builds it; sets file.
make_mutant() {
  mutate "$@"
  build "$role" "$name" || fail "does not compile: $(cat log)"
  file=$PWD/${role}_$name.so
}

# breaks RULE WHAT ROLE:SOURCE [c|cuh SCRIPT]...: a test of the kit for this rule must fail, and the first that does ends the
# run. with: further options. It is built and tested at one pair of widths; `at` names all, or the payloads to build it for,
# of which the last is tested.
with=()
breaks() {
  local rule=$1 number=${1/-/} key_widths=32 payload_widths=${at:-32} TSR_CONFORM_WIDTHS=32:32
  [[ ! ${at:-} ]] || TSR_CONFORM_WIDTHS=32:${at##* }
  export TSR_CONFORM_WIDTHS
  [[ ${at:-} != all ]] || key_widths='32 64' payload_widths='0 32 64' TSR_CONFORM_WIDTHS=
  case_of "$rule: $2"
  shift 2
  make_mutant "$@"
  GTEST_FAIL_FAST=1 GTEST_FILTER="*${number}_*" run conform "$file" --timeout 300 ${with[@]+"${with[@]}"}
  expect_status 1
  expect_out "^\[  FAILED  \] .*[./]([A-Z0-9]+_)*${number}_"
  expect_err "${file##*/}: breaks the contract"
}
