#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Collects in a folder what a machine with a GPU needs to run the device tests: programs, plugins, recipes. Build first:
#
#   bazel build //tests/device/... //tools/cli:tessera //tests/probing:success_rates //tests/compositions:fuzz //examples:all
#   tests/device/stage.sh DIR [BAZEL_BIN]     BAZEL_BIN: the folder of Bazel's outputs, else bazel-bin
#   (carry DIR there)  DIR/run_all.sh
#
# Linking takes longer than the tests. LINK_SM=90 does it here, on all cores, and what it makes goes along as DIR/cubins. SUITES
# are those of run_all.sh.
#
# Read next: run_all.sh.

set -euo pipefail

fail() {
  echo "stage.sh: $*" >&2
  exit 1
}

(($# >= 1)) || fail "usage: stage.sh DIR [BAZEL_BIN]"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$1"
target=$(cd "$1" && pwd)
bin=$(cd "${2:-$root/bazel-bin}" && pwd) || fail "no build outputs: bazel build //tests/device/... //tools/cli:tessera"
plugin_folders=(layouts probing hashers allocators eviction)

[[ -z $(ls -A "$target") || -f $target/run_all.sh ]] || fail "$target is not empty and was not made by stage.sh"
rm -rf "${target:?}"/{layouts,probing,hashers,allocators,eviction,specs,examples,python,lib,tessera,success_rates,fuzz}
rm -f "$target"/*_test "$target"/*_program

for program in {arrays,built,device,index,repeats,rows,soak,split,races,races_without_guard,endurance,endurance_without_guard,histories,numbers,wide_keys}_test; do
  [[ -f $bin/tests/device/$program ]] || fail "$program is not built: bazel build //tests/device/..."
  cp "$bin/tests/device/$program" "$target/"
done
for program in tools/cli/tessera tests/probing/success_rates tests/compositions/fuzz tests/devices/{fold,group,parts,shards,whole}_test \
  tests/device/gpus_program \
  examples/{kmers,join_sum,filtered}_program; do
  [[ ! -f $bin/$program ]] || cp "$bin/$program" "$target/"
done
plugins=0
for folder in "${plugin_folders[@]}"; do
  mkdir -p "$target/$folder"
  for plugin in "$bin/$folder"/*.so; do
    [[ -f $plugin ]] || continue
    cp "$plugin" "$target/$folder/"
    plugins=$((plugins + 1))
  done
done
((plugins >= 3)) || fail "no plugins in $bin: bazel build //tests/device/..."
cp -r "$root/specs" "$root/examples" "$target/"
cp "$root/tests/device/"{run_all,measure,devices,gpus,user_kernels}.sh "$target/"
mkdir -p "$target/python"
cp "$root"/tests/device/python_*.py "$root"/python/examples/{embedding,train_embedding,sparse_convolution}.py "$root"/python/bench_{embedding,convolution}.py \
  "$root"/tests/python/embedding_test.py "$target/python/"
git -C "$root" rev-parse --short HEAD >"$target/commit" 2>/dev/null || rm -f "$target/commit"
chmod -R u+w "$target"

# A build without nvcc would be carried in vain.
TESSERA_PLUGINS=$(IFS=: && echo "${plugin_folders[*]/#/$target/}") "$bin/tools/cli/tessera" link "$target/specs/linear.ini" \
  --arch sm_90 -o "$target/cubin" >/dev/null || fail "$bin has no device code that links: export TSR_NVCC=NVCC and build again"
rm "$target/cubin"

# What the programs load and the other machine may lack; there, only what is missing is taken from here.
mkdir -p "$target/lib"
ldd "$target"/*_test "$target"/*/*.so 2>/dev/null | sed -n 's/^.* => \(\/[^ ]*\).*/\1/p' | sort -u |
  while read -r library; do
    case ${library##*/} in
      libgomp* | libatomic* | libz* | libbz2* | liblzma* | libzstd* | libgcc_s* | libstdc++*) cp -L "$library" "$target/lib/" ;;
    esac
  done

[[ ! ${LINK_SM:-} ]] || "$target/run_all.sh" --link "$LINK_SM"

# The programs carry the same device code, so they pack to a fraction.
megabytes=$(($(tar -C "$target" -c . | zstd -q --long=27 -c | wc -c) >> 20))
echo "$target: $plugins plugins, $megabytes MB packed"
((megabytes < 64)) || fail "$target has $megabytes MB packed; what is carried must be below 64"
