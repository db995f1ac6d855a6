#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the program, the library and all plugins with a C compiler alone, where there is no Bazel, in the places of an
# installed copy; the tests are Bazel's:
#
#   tools/build_with_cc.sh FOLDER      then FOLDER/bin/tessera
#
# It needs bash, gcc or clang with OpenMP and libatomic, inih, zlib, bzip2, xz, zstd and the header of xxHash: on Fedora
# gcc, libatomic, inih-devel, zlib-devel, bzip2-devel, xz-devel, libzstd-devel and xxhash-devel; on Arch gcc, libinih, zlib,
# bzip2, xz, zstd and xxhash; on openSUSE gcc, libinih-devel, zlib-devel, libbz2-devel, xz-devel, libzstd-devel and
# xxhash-devel; on Debian and Ubuntu gcc, libinih-dev, zlib1g-dev, libbz2-dev, liblzma-dev, libzstd-dev and
# libxxhash-dev.
# TSR_KIT=1 also builds the conformance kit, for `tessera conform`: it takes as long again, a C++ compiler (CXX, g++) and GoogleTest.
# Also read: CC (gcc), TSR_CFLAGS and TSR_LDFLAGS (more flags), TSR_NVCC, the path to nvcc (none: for the cpu backend only), and TSR_JOBS
# (compilers at a time, 2); TSR_OBJECTS is an empty folder in which objects are kept. Read next: BUILD, which says the same to Bazel.

# shellcheck source-path=SCRIPTDIR source=../plugins/build_common.sh
source "$(dirname "$0")/../plugins/build_common.sh"

(($# == 1)) || fail "usage: build_with_cc.sh FOLDER"
mkdir -p "$1"/{bin,lib/tessera,share/tessera/sdk}
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit
scratch=${TSR_OBJECTS:-$(mktemp -d)}
[[ ${TSR_OBJECTS:-} ]] || trap 'rm -rf "$scratch"' EXIT

read -ra more_flags <<<"$(swap_flags) ${TSR_CFLAGS:-}"
read -ra link_flags <<<"${TSR_LDFLAGS:-}"
mkdir "$scratch"/{core,tools}

# compile FOLDER NAME SOURCE FLAG...
compile() {
  "${CC:-gcc}" -std=c11 -O2 -fPIC -fopenmp -fvisibility=hidden -I. -I"$scratch" -c -o "$scratch/$1/$2.o" "${@:3}" "${more_flags[@]}"
}

# device SYMBOL WIDTHS SOURCE [DEFINE...]
device() {
  start bash plugins/build_images.sh --widths "$2" --symbol "$1" --sdk-root . --out "$scratch/core/$1.o" "$3" "${@:4}"
}

bash core/embed_headers.sh plugins/*.h plugins/*.cuh -- core/kernels/facts.h core/kernels/bulk.h core/kernels/value_list.h \
  core/kernels/*.cuh core/cpu/range.cuh core/tessera.cuh >"$scratch/headers.c"
compile core headers "$scratch/headers.c"
bash tools/lab/commit.sh >"$scratch/commit.c"
compile tools commit "$scratch/commit.c"
for source in core/{spec,compose,batch,table,devices,cpu,cuda,kernels,user}/*.c tools/{cli,lab}/*.c; do
  case $source in core/cpu/bulk.c | core/cpu/pool.c) continue ;; esac
  start compile "${source%%/*}" "${source//\//_}" "$source"
done
while read -r key payload suffix; do
  start compile core "bulk$suffix" core/cpu/bulk.c -O3 "-DTSR_KEY_BITS=$key" "-DTSR_PAYLOAD_BITS=$payload"
done < <(list_widths key_payload 0 32 64)
start compile core pool core/cpu/pool.c
start compile core pool_system core/cpu/pool.c -DTSR_POOL_SYSTEM=1
if [[ ${TSR_KIT:-} ]]; then
  mkdir "$scratch/kit"
  # compile_kit NAME SOURCE FLAG...
  compile_kit() {
    "${CXX:-g++}" -std=c++17 -O1 -w -fPIC -fopenmp "${more_flags[@]}" -I. -c -o "$scratch/kit/$1.o" "${@:2}"
  }
  while read -r key payload suffix; do
    start compile_kit "laws$suffix" tests/conformance/laws.cc "-DTSR_KEY_BITS=$key" "-DTSR_PAYLOAD_BITS=$payload"
  done < <(list_widths key_payload 0 32 64)
  for source in tests/conformance/*.cc; do
    [[ $source == */laws.cc ]] || start compile_kit "$(basename "$source" .cc)" "$source"
  done
  start compile kit old_libstdcxx tests/conformance/old_libstdcxx.c
fi
device tsr_bulk_images key_payload core/kernels/launch.cu
device tsr_cache_images key_payload core/kernels/cache.cu
device tsr_match_images none core/batch/match.cu
device tsr_pages_images key_payload core/batch/batch.cu
device tsr_pool_images none core/kernels/pool.cu
device tsr_pool_system_images none core/kernels/pool.cu -DTSR_POOL_SYSTEM=1
device tsr_roofline_images none core/kernels/roofline.cu
device tsr_scan_images none core/kernels/scan.cu
device tsr_aggregate_images none core/kernels/aggregate.cu
device tsr_group_images none core/batch/groups.cu
device tsr_split_images none core/batch/split.cu
device tsr_key_parts_images none core/kernels/key_parts.cu
device tsr_wide_images none core/kernels/wide.cu
device tsr_numbering_images none core/kernels/numbering.cu
device tsr_zone_images key_payload core/batch/zones.cu
finish "the program: a compiler failed"
mkdir -p "$out/lib"
"${CC:-gcc}" -shared -fopenmp -Wl,-z,defs -Wl,--as-needed -o "$out/lib/libtessera.so" "$scratch"/core/*.o "${link_flags[@]}" -linih -lzstd -ldl -lm -lpthread \
  -latomic || fail "the library: linking failed"
"${CC:-gcc}" -fopenmp -rdynamic -Wl,--as-needed -o "$out/bin/tessera" "$scratch"/{core,tools}/*.o "${link_flags[@]}" -linih -lz -lbz2 -llzma -lzstd -ldl -lm -lpthread -latomic ||
  fail "the program: linking failed"

if [[ ${TSR_KIT:-} ]]; then
  "${CXX:-g++}" -fopenmp -rdynamic -Wl,--as-needed -o "$out/bin/tessera-conform" "$scratch"/{kit,core}/*.o "$scratch/tools/tools_cli_old_start.c.o" \
    "${link_flags[@]}" -lgtest -linih -lzstd -ldl -lm -lpthread -latomic || fail "the conformance kit: linking failed"
fi

for room in layout:layouts:key_payload probing:probing:key_payload hasher:hashers:key allocator:allocators:none eviction:eviction:none; do
  IFS=: read -r role folder widths <<<"$room"
  for source in "$folder"/*.c; do
    name=$(basename "$source" .c)
    bash plugins/build_plugin.sh --role "$role" --name "$name" --widths "$widths" --sdk-root . \
      --out "$out/lib/tessera/${role}_$name.so" "$source" "$folder/$name.cuh" || fail "$role/$name: not built"
  done
done
cp -r specs examples "$out/share/tessera/"
cp -r plugins "$out/share/tessera/sdk/"
mkdir -p "$out/include/plugins"
cp core/tessera*.h core/tessera.cuh "$out/include/"
cp plugins/*.h plugins/*.cuh "$out/include/plugins/"
