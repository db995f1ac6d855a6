#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/build_with_cc.sh: a C compiler alone makes a program that works, with every plugin of the checkout.

# shellcheck source-path=SCRIPTDIR source=../structure/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../structure/harness.sh"

# Not optimised: Bazel's build of the same sources is.
case_of "a C compiler alone builds the program and every plugin"
TSR_NVCC='' TSR_CFLAGS=-O0 bash "$root/tools/build_with_cc.sh" "$work/with cc" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
tessera="$work/with cc/bin/tessera"
sources=("$root"/{layouts,probing,hashers,allocators,eviction}/*.c)
[[ $(env -i "$tessera" list 2>/dev/null | tail -n 1) == "${#sources[@]} plugins" ]] ||
  fail "it has $(env -i "$tessera" list 2>&1 | tail -n 1)"

case_of "what it built works in an empty environment"
cd "$work" || exit 1
printf '1 10\n2 20\n' >pairs.tsv
for recipe in quickstart u64_map slab_hash; do
  env -i "$tessera" run "with cc/share/tessera/specs/$recipe.ini" --set table.backend=cpu --set table.capacity=1000 \
    --insert pairs.tsv --find pairs.tsv --out rows.tsv >log 2>&1 || fail "$recipe: $(cat log)"
  [[ $(cat rows.tsv) == $'1\t10\n2\t20' ]] || fail "$recipe: its rows are $(cat rows.tsv)"
done
# What a large table runs is compiled from the texts that the program carries.
for recipe in quickstart warpcore_buckets; do
  env -i PATH="$PATH" "$tessera" link "with cc/share/tessera/specs/$recipe.ini" --arch cpu -o made >log 2>&1 ||
    fail "link $recipe: $(cat log)"
done
env -i "$tessera" new probing mine --at "$work/mine" >log 2>&1 || fail "new: $(cat log)"

case_of "Python uses the library that it built, where there is NumPy"
if python3 -c 'import numpy' 2>/dev/null; then
  TESSERA_LIBRARY="$work/with cc/lib/libtessera.so" PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1 python3 -c '
import numpy as np, tessera
table = tessera.Map("int64", "int64", backend="cpu")
table.insert(np.arange(1000), np.arange(1000) * 2)
assert (table.get(np.arange(1000)) == np.arange(1000) * 2).all()
assert tessera.unique(np.arange(9) % 4).tolist() == [0, 1, 2, 3]' >log 2>&1 || fail "$(cat log)"
fi

finish cc
