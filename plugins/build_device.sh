#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles one source to LTO-IR: the fatbin that a part carries and that the runtime links into kernels. The
# only place that knows nvcc's flags; also for kernels of your own. nvcc is the path in TSR_NVCC.
#
#   build_device.sh [--sdk-root DIR] --out FILE.fatbin SOURCE [-Dname=value ...]
#
# The SDK root is the folder that contains plugins/. Read next: build_images.sh.

set -euo pipefail

fail() {
  echo "build_device.sh: $*" >&2
  exit 1
}

sdk_root=$(dirname "$0")/..
out=
source=
defines=()
while (($#)); do
  case $1 in
    --sdk-root) sdk_root=${2:?--sdk-root needs a folder} && shift ;;
    --out) out=${2:?--out needs a file} && shift ;;
    -D*) defines+=("$1") ;;
    -*) fail "unknown option $1" ;;
    *)
      [[ -z $source ]] || fail "one source at a time, not $source and $1"
      source=$1
      ;;
  esac
  shift
done
[[ $source && $out ]] || fail "usage: build_device.sh [--sdk-root DIR] --out FILE.fatbin SOURCE [-D...]"
[[ -f $source ]] || fail "$source: no such file"
[[ ${TSR_NVCC:-} ]] || fail "TSR_NVCC is not set: it holds the path to nvcc"
[[ -x $TSR_NVCC ]] || fail "TSR_NVCC = $TSR_NVCC: not an executable file"

# nvcc names its intermediate files after the source, so two runs must not share a folder.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TMPDIR=$scratch "$TSR_NVCC" -O3 -std=c++17 -x cu -dc -fatbin -Werror all-warnings \
  -gencode arch=compute_80,code=lto_80 -gencode arch=compute_90,code=lto_90 \
  -I"$sdk_root" -I"$(dirname "$source")" ${defines[@]+"${defines[@]}"} -o "$out" "$source" ||
  fail "$source: nvcc failed (CUDA 13.0 or newer is needed)"
