#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Searches for inputs that break a reader, by libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer.
#
#   tests/fuzz/run.sh SECONDS [TARGET...]       all targets, or some, each for that long
#   tests/fuzz/run.sh --stage DIR [TARGET...]   only builds them into DIR, to be carried to a machine with many cores;
#                                               there, DIR/search.sh OUT SECONDS
#
# Needs clang with its sanitizers (packages clang, libclang-rt-14-dev), libinih-dev, zlib1g-dev, libbz2-dev,
# liblzma-dev, libzstd-dev and libxxhash-dev. The targets in Python (arrow, pickle) need NumPy, atheris (pip), and the package
# of Python: TESSERA_WHEEL, or Bazel's (bazel build //:wheel). What is found is in $TESSERA_FUZZ/found (tessera_fuzz under the
# temporary folder); an input that broke something belongs into tests/fuzz/corpus/<target>. Read next: fuzz.h, search.sh.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

targets_known=(spec number sequence npy tsv csv calls save arrow pickle)
staged=
if [[ ${1:-} == --stage ]]; then
  staged=${2:?usage: tests/fuzz/run.sh --stage DIR [TARGET...]}
  shift 2
else
  seconds=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET...]}
  shift
fi
targets=("${targets_known[@]}")
((!$#)) || targets=("$@")
work=${TESSERA_FUZZ:-${TMPDIR:-/tmp}/tessera_fuzz}
mkdir -p "${staged:=$work/staged}" "$work"
staged=$(cd "$staged" && pwd)
work=$(cd "$work" && pwd)
checks=-fsanitize=fuzzer-no-link,address,undefined
has_core=

# What a target reads with, besides the library.
sources_of() {
  case $1 in
    sequence | npy | tsv | csv)
      echo tools/cli/{cut,data_file,dataset,decoder,members,npy,sequence,team,text,texts,tsv,unpack}.c tests/unit/whole_file.c tests/fuzz/file.c
      ;;
    spec | number) ;;
    calls | save) echo tests/fuzz/file.c ;;
    *)
      echo "run.sh: $1: there is no such target; the targets are ${targets_known[*]}" >&2
      exit 2
      ;;
  esac
}

# As ThreadSanitizer has it in .bazelrc: threads without OpenMP. Small blocks, since new memory costs a sanitizer most; and short
# inputs have many of them.
flags=(-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -DTSR_SMALL_BLOCKS -std=c11 -gline-tables-only -O1 -I. -mcx16 -DTSR_PTHREADS -fno-sanitize-recover=all)

# The library as core/BUILD makes it, and all plugins; both without device code.
build_core() {
  local folder=$1/objects key payload image part name source
  rm -rf "$folder"
  mkdir -p "$folder"
  bash core/embed_headers.sh plugins/*.h plugins/*.cuh -- core/kernels/facts.h core/kernels/*.{h,cuh} core/cpu/range.cuh \
    >"$folder/headers.c"
  export CC=${CLANG:-clang} flags_of_core="${flags[*]} $checks" folder
  for source in core/{spec,compose,batch,table,devices,cpu,cuda,kernels,user}/*.c "$folder/headers.c"; do
    [[ $source == core/cpu/bulk.c ]] || echo "$source"
  done | xargs -P "$(nproc)" -I{} bash -c 'name={} && $CC $flags_of_core -c -o "$folder/${name//\//_}.o" {}'
  for key in 32 64 128; do
    for payload in 0 32 64; do
      "${CLANG:-clang}" "${flags[@]}" $checks -DTSR_KEY_BITS=$key \
        -DTSR_PAYLOAD_BITS=$payload -c -o "$folder/bulk_k${key}c$payload.o" core/cpu/bulk.c
    done
  done
  for image in bulk:kernels/launch cache:kernels/cache pages:batch/batch zone:batch/zones; do
    TSR_NVCC='' bash plugins/build_images.sh --widths key_payload --symbol "tsr_${image%:*}_images" --sdk-root . \
      --out "$folder/${image%:*}_images.o" "core/${image#*:}.cu"
  done
  "${CLANG:-clang}" "${flags[@]}" $checks -DTSR_POOL_SYSTEM=1 -c \
    -o "$folder/pool_system.o" core/cpu/pool.c
  TSR_NVCC='' bash plugins/build_images.sh --widths none --symbol tsr_group_images --sdk-root . \
    --out "$folder/group_images.o" core/batch/groups.cu
  TSR_NVCC='' bash plugins/build_images.sh --widths none --symbol tsr_pool_system_images --sdk-root . \
    --out "$folder/pool_system_images.o" core/kernels/pool.cu -DTSR_POOL_SYSTEM=1
  for image in {aggregate,key_parts,numbering,roofline,scan,pool,wide}:kernels {match,split}:batch; do
    TSR_NVCC='' bash plugins/build_images.sh --widths none --symbol "tsr_${image%:*}_images" --sdk-root . \
      --out "$folder/${image%:*}_images.o" "core/${image#*:}/${image%:*}.cu"
  done
  rm -f "$1/libcore.a"
  ar rcs "$1/libcore.a" "$folder"/*.o
  export TSR_CFLAGS="-O1 -gline-tables-only -fno-sanitize-recover=all $checks" TSR_LDFLAGS=-Wl,-z,undefs TSR_NVCC=
  for part in layouts/*.c probing/*.c hashers/*.c allocators/*.c eviction/*.c; do
    case $part in
      layouts/*) kind=layout widths=key_payload ;;
      probing/*) kind=probing widths=key_payload ;;
      hashers/*) kind=hasher widths=key ;;
      allocators/*) kind=allocator widths=none ;;
      eviction/*) kind=eviction widths=none ;;
    esac
    name=$(basename "$part" .c)
    bash plugins/build_plugin.sh --role "$kind" --name "$name" --widths "$widths" --out "$staged/plugins/${kind}_$name.so" \
      "$part" "${part%.c}.cuh"
  done
}

# The package as pip would install it, without what nobody reads here; and atheris, where it is installed, or all of
# its wheels in the folder TESSERA_ATHERIS.
stage_python() {
  local wheels=("${TESSERA_WHEEL:-bazel-bin/tessera_tables-*.whl}") python=${PYTHON:-python3} wheel
  # shellcheck disable=SC2206
  wheels=(${wheels[0]})
  [[ -f ${wheels[0]} ]] || { echo "run.sh: without arrow and pickle: there is no wheel, bazel build //:wheel" >&2 && return 1; }
  rm -rf "$staged/python" "$staged/atheris"
  mkdir -p "$staged/python" "$staged/atheris"
  "$python" -m zipfile -e "${wheels[0]}" "$staged/python"
  cp python/tessera/*.py "$staged/python/tessera/"
  rm -rf "$staged"/python/tessera/dist/{bin,include,docs,lib/tessera/fused}
  cp tests/fuzz/{drive,arrow_fuzz,pickle_fuzz}.py "$staged/python/"
  for wheel in "${TESSERA_ATHERIS:-/nonexistent}"/atheris-*.whl; do
    [[ -f $wheel ]] || continue
    local tag=${wheel##*/atheris-*-cp}
    "$python" -m zipfile -e "$wheel" "$staged/atheris/cp${tag%%-*}"
    rm -rf "$staged/atheris/cp${tag%%-*}"/{*.so,*.a,atheris/mock_libfuzzer,atheris/core_without*}
    strip "$staged/atheris/cp${tag%%-*}"/atheris/*.so
  done
}

build() {
  local sources
  sources=$(sources_of "$1")
  if [[ ! $has_core ]]; then
    mkdir -p "$staged/plugins"
    (build_core "$work/core")
    has_core=yes
  fi
  # shellcheck disable=SC2086
  "${CLANG:-clang}" "${flags[@]}" -fsanitize=fuzzer,address,undefined -o "$staged/$1_fuzzer" "tests/fuzz/$1_fuzz.c" \
    $sources "$work/core/libcore.a" -l:libinih.a -l:libz.a -l:libbz2.a -l:liblzma.a -l:libzstd.a -lm -ldl -lpthread -latomic
}

is_python() { [[ $1 == arrow || $1 == pickle ]]; }

python_is_staged=no
chosen=()
for target in "${targets[@]}"; do
  if is_python "$target"; then
    [[ $python_is_staged != no ]] || if stage_python; then python_is_staged=yes; else python_is_staged=absent; fi
    [[ $python_is_staged == yes ]] || continue
  else
    build "$target"
  fi
  rm -rf "$staged/seeds/$target"
  mkdir -p "$staged/seeds"
  cp -r "tests/fuzz/corpus/$target" "$staged/seeds/$target"
  chosen+=("$target")
done
cp tests/fuzz/search.sh "$staged/"
mkdir -p "$staged/lib"
ldd "$staged"/*_fuzzer 2>/dev/null | sed -n 's/^.* => \(\/[^ ]*\).*/\1/p' | sort -u | while read -r library; do
  case ${library##*/} in
    libatomic* | libgcc_s* | libstdc++*) cp -L "$library" "$staged/lib/" ;;
  esac
done
if [[ ${seconds:-} ]]; then "$staged/search.sh" "$work/found" "$seconds" "$(nproc)" "${chosen[@]}"; fi
