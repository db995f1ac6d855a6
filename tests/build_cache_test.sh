#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build_cache.sh: where the cache is, where there is none, and what goes when it is too large.

# shellcheck source-path=SCRIPTDIR source=cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/harness.sh"
# shellcheck source-path=SCRIPTDIR source=build_cache.sh
source "$(dirname "${BASH_SOURCE[0]}")/build_cache.sh"
unset TSR_BUILD_CACHE XDG_CACHE_HOME
HOME=$work/home

case_of "it is where caches are, and is told"
find_build_cache >said
[[ $build_cache == "$work"/home/.cache/tessera-bazel/???????????????? && -d $build_cache ]] || fail "is $build_cache"
grep -q "^build cache: $build_cache, of at most" said || fail "said: $(cat said)"
former=$build_cache
find_build_cache >said
[[ $build_cache == "$former" ]] || fail "moved to $build_cache"
XDG_CACHE_HOME=$work/xdg find_build_cache >said
[[ $build_cache == "$work"/xdg/tessera-bazel/* ]] || fail "is $build_cache"
TSR_BUILD_CACHE=$work/"my own" find_build_cache >said
[[ $build_cache == "$work/my own/"* ]] || fail "is $build_cache"

case_of "another compiler has another one"
printf '#!/bin/sh\necho "another compiler"\n' >other && chmod +x other
CC=$work/other find_build_cache >said
[[ ${build_cache%/*} == "${former%/*}" && $build_cache != "$former" ]] || fail "is $build_cache"

case_of "there is none where nobody has a home, where it is not wanted, and where nothing can be written"
(
  unset HOME
  find_build_cache >said
  [[ ! $build_cache ]]
) || fail "without HOME: $(cat said)"
TSR_BUILD_CACHE='' find_build_cache >said
[[ ! $build_cache ]] || fail "is $build_cache"
: >file
TSR_BUILD_CACHE=$work/file find_build_cache >said
[[ ! $build_cache ]] || fail "is $build_cache"
grep -q 'cannot be written' said || fail "said: $(cat said)"
trim_build_cache || fail "there is nothing to trim"

case_of "what was not read for the longest time goes first"
find_build_cache >said
mkdir -p "$build_cache"/{ac,cas}
build_cache_gib=1
for day in 1 2 3 4; do
  truncate -s 300M "$build_cache/cas/$day"
  touch -d "2020-01-0$day" "$build_cache/cas/$day"
done
touch -a -d '2021-01-01' "$build_cache/cas/1"
trim_build_cache
left=$(cd "$build_cache/cas" && echo *)
[[ $left == "1 3 4" ]] || fail "left $left"

finish
