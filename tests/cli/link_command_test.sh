#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera link: device code without a device.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

case_of "link tells what the kernels use and writes the cubin"
run link "$specs/quickstart.ini" --arch sm_90 --no-cache -o map.cubin
expect_status 0
expect_out '^tsr_insert_kernel +[0-9]+ +[0-9]+$'
expect_out '^other functions  0$'
expect_out '^cubin +[0-9]+ bytes for sm_90$'
expect_out '^time +glue [0-9.]+ ms, link [0-9.]+ ms$'
[[ $(head -c 4 map.cubin | tail -c 3) == ELF ]] || fail "map.cubin is no ELF file"

case_of "link replaces a file whole and keeps its permissions"
echo old >kept.cubin
chmod 600 kept.cubin
ln kept.cubin other_name
run link "$specs/quickstart.ini" --arch sm_90 -o kept.cubin
[[ $(cat other_name) == old && $(stat -c %a kept.cubin) == 600 ]] || fail "it was written in place"
cmp map.cubin kept.cubin || fail "it holds something else"

case_of "link finds its own result in the cache"
run link "$specs/quickstart.ini" --arch sm_90 -o again.cubin
expect_status 0
expect_out 'it was in the cache'
cmp map.cubin again.cubin || fail "the cache holds another cubin"

case_of "link writes the code alone to standard output"
run link "$specs/quickstart.ini" --arch sm_90 -o -
expect_status 0
expect_err '^other functions  0$'
cmp map.cubin "$work/out" || fail "standard output holds something else"

case_of "link does not need a capacity"
run link "$specs/demo.ini" --arch sm_80
expect_status 0
expect_out 'for sm_80$'

case_of "link refuses what the parts' code cannot run on"
refuses '8\.0' link "$specs/quickstart.ini" --arch sm_70

case_of "link says when the cubin cannot be written"
run link "$specs/quickstart.ini" --arch sm_90 -o "$work/nowhere/map.cubin"
expect_status 1
expect_err 'nowhere/map.cubin: cannot be written'

finish
