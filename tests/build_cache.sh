# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Where the test jobs keep what Bazel has built and which tests have passed, for other checkouts and later runs: a folder of
# files that are named by what they were made from (Bazel's --disk_cache). Each set of compilers and libraries has its own,
# because Bazel looks at their paths alone. It is sourced. Read next: run.sh.

build_cache=       # this set's folder; empty: nothing is kept
build_cache_gib=12 # of all sets together
build_cache_all=   # the folder with the sets

# What is not in the checkout and decides what a build makes.
build_tools() {
  local tool
  for tool in "${CC:-gcc}" g++ clang "${TSR_NVCC:-}"; do
    [[ ! $tool ]] || "$tool" --version 2>/dev/null || true
  done
  dpkg-query -W 2>/dev/null || true
}

# TSR_BUILD_CACHE names the folder, and empty says that there is to be none. A machine without HOME keeps nothing.
find_build_cache() {
  local base=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}} key
  build_cache=''
  build_cache_all=${TSR_BUILD_CACHE-${base:+$base/tessera-bazel}}
  if [[ ! $build_cache_all ]]; then
    echo "build cache: none"
    return
  fi
  key=$(build_tools | sha256sum | head -c 16)
  if ! mkdir -p "$build_cache_all/$key" 2>/dev/null || [[ ! -w $build_cache_all/$key ]]; then
    echo "build cache: none, because $build_cache_all cannot be written; TSR_BUILD_CACHE may name another folder"
    return
  fi
  build_cache=$build_cache_all/$key
  echo "build cache: $build_cache, of at most $build_cache_gib GiB with others; TSR_BUILD_CACHE names another folder, empty none"
}

# Removes what was not read for the longest time, until the rest is small enough. Bazel makes again what is not there.
trim_build_cache() {
  [[ $build_cache ]] || return 0
  find "$build_cache_all" -type f -printf '%A@ %s %p\n' | sort -rn |
    awk -v most=$((build_cache_gib << 30)) '{ sum += $2; if (sum > most) { sub(/^[^ ]* [^ ]* /, ""); print } }' |
    tr '\n' '\0' | xargs -0 -r rm -f
}
