#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles one device source for every width it depends on and embeds the fatbins in an object file that
# defines `const tsr_image SYMBOL[]`, one row per width and an end marker of zeros. Without TSR_NVCC there is no
# device code: rows that name functions stay, the others are left out.
#
#   build_images.sh --widths key_payload|key|none --symbol SYMBOL [--functions PREFIX] [--sdk-root DIR]
#                   --out FILE.o SOURCE [-Dname=value ...]
#
# --functions makes each row point at the function table PREFIX<suffix of the width>, which another object
# defines. Read next: build_device.sh (nvcc's flags), build_plugin.sh, plugin.h (tsr_image).

# shellcheck source=build_common.sh
source "$(dirname "$0")/build_common.sh"

sdk_root=$(dirname "$0")/..
widths=
symbol=
functions=
out=
device_source=
defines=()
while (($#)); do
  case $1 in
    --widths) widths=${2:?--widths needs a value} && shift ;;
    --symbol) symbol=${2:?--symbol needs a name} && shift ;;
    --functions) functions=${2:?--functions needs a prefix} && shift ;;
    --sdk-root) sdk_root=${2:?--sdk-root needs a folder} && shift ;;
    --out) out=${2:?--out needs a file} && shift ;;
    -D*) defines+=("$1") ;;
    -*) fail "unknown option $1" ;;
    *)
      [[ -z $device_source ]] || fail "one source at a time, not $device_source and $1"
      device_source=$1
      ;;
  esac
  shift
done
[[ $widths && $symbol && $out && $device_source ]] ||
  fail "--widths, --symbol, --out and a source are required"
# shellcheck disable=SC2046
width_rows=$(list_widths "$widths" $(widths_of_128 "$device_source"))

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [[ ${TSR_NVCC:-} ]]; then
  while read -r key payload suffix; do
    # shellcheck disable=SC2046
    start bash "$(dirname "$0")/build_device.sh" --sdk-root "$sdk_root" \
      --out "$scratch/device$suffix.fatbin" "$device_source" \
      ${defines[@]+"${defines[@]}"} $(width_defines "$key" "$payload")
  done <<<"$width_rows"
  finish "$device_source: no device code"
fi

write_images() {
  local key payload suffix fatbin rows=""
  echo '#include "plugins/plugin.h"'
  while read -r key payload suffix; do
    local functions_payload=0 device_payload=0 device_bytes=0
    if [[ $functions ]]; then
      functions_payload=$functions$suffix
      echo "extern const char ${functions_payload}[] __attribute__((visibility(\"hidden\")));"
    fi
    fatbin=$scratch/device$suffix.fatbin
    if [[ -f $fatbin ]]; then
      device_payload=${symbol}_device$suffix
      device_bytes=$(stat -c %s "$fatbin")
      echo "extern const unsigned char ${device_payload}[] __attribute__((visibility(\"hidden\")));"
      echo "__asm__(\".pushsection .rodata; .balign 16; .hidden $device_payload; .globl $device_payload;\""
      echo "        \"$device_payload: .incbin \\\"$fatbin\\\"; .popsection\");"
    fi
    if [[ $functions || -f $fatbin ]]; then
      rows+="  {${key/any/TSR_ANY_BITS}, ${payload/any/TSR_ANY_BITS}, "
      rows+="$functions_payload, $device_payload, $device_bytes},"$'\n'
    fi
  done <<<"$width_rows"
  echo "extern const tsr_image ${symbol}[];"
  echo "const tsr_image ${symbol}[] = {"
  echo -n "$rows"
  echo "  {0, 0, 0, 0, 0}};"
}

write_images >"$scratch/images.c"
"${CC:-gcc}" -std=c11 -fPIC -fvisibility=hidden -I"$sdk_root" -c -o "$out" "$scratch/images.c" ||
  fail "$device_source: embedding the device code failed"
