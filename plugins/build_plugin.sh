#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds one plugin, with or without Bazel: <name>.c once, <name>.cuh for every width its role depends on, as C
# (the function tables of the CPU) and, where TSR_NVCC holds a path to nvcc, as device code.
#
#   build_plugin.sh --role ROLE --name NAME --widths key_payload|key|none [--sdk-root DIR] [--tsan]
#                   --out ROLE_NAME.so NAME.c NAME.cuh
#
# --tsan: for `tessera conform --tsan`: by clang, with ThreadSanitizer, whose runtime is the kit's; no device code.
# layouts and probing schemes depend on key_payload, hashers on key, allocators and eviction parts on none. The SDK
# root is the folder that contains plugins/. Also read: CC (gcc), TSR_CFLAGS and TSR_LDFLAGS (more flags), TSR_JOBS (compilers at a
# time, 2). Read next: plugin.h (what a plugin is), build_images.sh (device code).

# shellcheck source=build_common.sh
source "$(dirname "$0")/build_common.sh"

sdk_root=$(dirname "$0")/..
role=
name=
widths=
out=
host_source=
device_source=
while (($#)); do
  case $1 in
    --role) role=${2:?--role needs a value} && shift ;;
    --name) name=${2:?--name needs a value} && shift ;;
    --widths) widths=${2:?--widths needs a value} && shift ;;
    --sdk-root) sdk_root=${2:?--sdk-root needs a folder} && shift ;;
    --out) out=${2:?--out needs a file} && shift ;;
    --tsan)
      # clang, because gcc leaves 16-byte atomics uninstrumented
      CC=clang TSR_NVCC= TSR_CFLAGS="-O1 -g -fsanitize=thread" TSR_LDFLAGS=-Wl,-z,undefs
      export TSR_NVCC
      ;;
    *.c) host_source=$1 ;;
    *.cuh) device_source=$1 ;;
    *) fail "unknown argument $1" ;;
  esac
  shift
done
[[ $role && $name && $widths && $out && $host_source && $device_source ]] ||
  fail "--role, --name, --widths, --out, a .c and a .cuh are required"
[[ $role =~ ^(layout|probing|hasher|allocator|eviction)$ ]] ||
  fail "--role $role: allowed are layout, probing, hasher, allocator and eviction"
[[ $name =~ ^[a-z][a-z0-9_]{0,23}$ ]] ||
  fail "--name $name: a name is 1 to 24 of a-z, 0-9 and _, and starts with a letter"
for file in "$host_source" "$device_source" "$sdk_root/plugins/plugin.h"; do
  [[ -f $file ]] || fail "$file: no such file"
done
# shellcheck disable=SC2046
width_rows=$(list_widths "$widths" $(widths_of_128 "$device_source"))

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

abi=$(bash "$(dirname "$0")/build_abi.sh" "$sdk_root"/plugins/*.h "$sdk_root"/plugins/*.cuh)
part_defines=("-DTSR_ROLE=$role" "-DTSR_NAME=$name")

# compile_host OBJECT FLAG... : the last flags name the source.
compile_host() {
  local object=$1
  shift
  # shellcheck disable=SC2046,SC2086
  "${CC:-gcc}" -std=c11 -Wall -Wextra -Wconversion -Werror -O3 -fPIC -fvisibility=hidden \
    $(swap_flags) ${TSR_CFLAGS:-} -I"$sdk_root" -I"$(dirname "$host_source")" -I"$(dirname "$device_source")" \
    "${part_defines[@]}" -c -o "$object" "$@"
}

# The .cuh itself, for what is compiled at run time.
cat >"$scratch/text.c" <<END
extern const char tsr_text[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata; .hidden tsr_text; .globl tsr_text;"
        "tsr_text: .incbin \"$(realpath "$device_source")\"; .byte 0; .popsection");
END

objects=("$scratch/host.o" "$scratch/images.o" "$scratch/text.o")
start compile_host "$scratch/text.o" "$scratch/text.c"
start compile_host "$scratch/host.o" "-DTSR_ABI=$abi" "$host_source"
while read -r key payload suffix; do
  object=$scratch/functions$suffix.o
  objects+=("$object")
  # The .cuh is included into an empty unit: it is a header to every compiler but nvcc.
  # shellcheck disable=SC2046
  start compile_host "$object" $(width_defines "$key" "$payload") "-DTSR_FUNCTIONS=tsr_functions$suffix" \
    -x c -include "$device_source" /dev/null
done <<<"$width_rows"
finish "$name: the C compiler failed"

bash "$(dirname "$0")/build_images.sh" --widths "$widths" --symbol tsr_images --functions tsr_functions \
  --sdk-root "$sdk_root" --out "$scratch/images.o" "${part_defines[@]}" "$device_source"

echo '{ global: tsr_plugin_entry; local: *; };' >"$scratch/exports.map"
# shellcheck disable=SC2086
"${CC:-gcc}" ${TSR_CFLAGS:-} -shared -Wl,--no-undefined -Wl,-z,defs \
  -Wl,--version-script="$scratch/exports.map" -o "$out" "${objects[@]}" \
  -Wl,--as-needed -lm -latomic ${TSR_LDFLAGS:-} || fail "$name: linking failed"
