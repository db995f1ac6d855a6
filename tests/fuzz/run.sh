#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Searches for inputs that break a reader, by libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer.
#
#   tests/fuzz/run.sh SECONDS [TARGET...]      all targets, or some, each for that long
#
# Needs clang with its sanitizers (packages clang, libclang-rt-14-dev), libinih-dev, zlib1g-dev, libbz2-dev,
# liblzma-dev, libzstd-dev and libxxhash-dev. What it finds, and its growing corpus, is in $TESSERA_FUZZ (build/fuzz under the temporary folder); an input that broke something
# belongs into tests/fuzz/corpus/<target>. Read next: fuzz.h.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET...]}
shift
targets_known=(spec number sequence npy tsv csv calls save)
targets=("${targets_known[@]}")
((!$#)) || targets=("$@")
work=${TESSERA_FUZZ:-${TMPDIR:-/tmp}/tessera_fuzz}
failed=()
has_core=

sources_of() {
  case $1 in
    spec) echo core/spec/*.c ;;
    number) echo core/spec/number.c ;;
    sequence | npy | tsv | csv)
      echo tools/cli/{bgzf,cut,data_file,dataset,decoder,npy,sequence,team,text,texts,tsv}.c core/spec/*.c tests/unit/whole_file.c tests/fuzz/file.c
      ;;
    calls | save)
      ls core/{spec,compose,batch,table,devices,cpu,cuda,kernels,user}/*.c | grep -v '^core/cpu/bulk.c$'
      echo "tests/fuzz/file.c $work/core/objects/*"
      ;;
    *)
      echo "run.sh: $1: there is no such target; the targets are ${targets_known[*]}" >&2
      exit 2
      ;;
  esac
}

# As ThreadSanitizer has it in .bazelrc: threads without OpenMP.
flags=(-std=c11 -g -O1 -I. -mcx16 -DTSR_PTHREADS -fno-sanitize-recover=all)

# What core/BUILD generates, and the plugins of the tables that are used; both without device code.
build_core() {
  local folder=$1/objects key payload image part name
  mkdir -p "$folder"
  bash core/embed_headers.sh plugins/*.h plugins/*.cuh -- core/kernels/facts.h core/kernels/*.{h,cuh} core/cpu/range.cuh \
    >"$folder/headers.c"
  for key in 32 64 128; do
    for payload in 0 32 64; do
      "${CLANG:-clang}" "${flags[@]}" -fsanitize=fuzzer-no-link,address,undefined -DTSR_KEY_BITS=$key \
        -DTSR_PAYLOAD_BITS=$payload -c -o "$folder/bulk_k${key}c$payload.o" core/cpu/bulk.c
    done
  done
  for image in bulk:kernels/launch cache:kernels/cache pages:batch/batch zone:batch/zones; do
    TSR_NVCC='' bash plugins/build_images.sh --widths key_payload --symbol "tsr_${image%:*}_images" --sdk-root . \
      --out "$folder/${image%:*}_images.o" "core/${image#*:}.cu"
  done
  "${CLANG:-clang}" "${flags[@]}" -fsanitize=fuzzer-no-link,address,undefined -DTSR_POOL_SYSTEM=1 -c \
    -o "$folder/pool_system.o" core/cpu/pool.c
  TSR_NVCC='' bash plugins/build_images.sh --widths none --symbol tsr_group_images --sdk-root . \
    --out "$folder/group_images.o" core/batch/groups.cu
  for image in {aggregate,numbering,roofline,scan,pool,wide}:kernels pool_system:kernels {match,split}:batch; do
    TSR_NVCC='' bash plugins/build_images.sh --widths none --symbol "tsr_${image%:*}_images" --sdk-root . \
      --out "$folder/${image%:*}_images.o" "core/${image#*:}/${image%:*}.cu"
  done
  for part in layout:layouts/packed layout:layouts/soa probing:probing/cuckoo probing:probing/double_hashing; do
    name=${part##*/}
    TSR_NVCC='' bash plugins/build_plugin.sh --role "${part%:*}" --name "$name" --widths key_payload \
      --out "$1/${part%:*}_$name.so" "${part#*:}.c" "${part#*:}.cuh"
  done
  TSR_NVCC='' bash plugins/build_plugin.sh --role hasher --name murmur3 --widths key --out "$1/hasher_murmur3.so" \
    hashers/murmur3.c hashers/murmur3.cuh
}

build() {
  local sources
  if [[ ($1 == save || $1 == calls) && -z $has_core ]]; then
    build_core "$work/core"
    has_core=yes
  fi
  export TESSERA_PLUGINS=$work/core
  sources=$(sources_of "$1")
  # shellcheck disable=SC2086
  "${CLANG:-clang}" "${flags[@]}" -fsanitize=fuzzer,address,undefined -o "$work/$1/fuzzer" "tests/fuzz/$1_fuzz.c" \
    $sources -l:libinih.a -lz -lbz2 -llzma -lzstd -lm -ldl -lpthread -latomic
}

for target in "${targets[@]}"; do
  mkdir -p "$work/$target/corpus"
  build "$target"
  echo "== $target, $seconds seconds"
  "$work/$target/fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$work/$target/" "$work/$target/corpus" "tests/fuzz/corpus/$target" || failed+=("$target")
done

if ((${#failed[@]})); then
  echo "run.sh: broken: ${failed[*]}; the inputs are in $work" >&2
  exit 1
fi
echo "nothing was found"
