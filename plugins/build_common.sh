# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What build_plugin.sh and build_images.sh share: failing, the widths of a part, and running jobs side by side.
# It is sourced. Read next: build_plugin.sh.

set -euo pipefail

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# One line `KEY_BITS PAYLOAD_BITS SUFFIX` per width; `any` where a part does not depend on that width. After the kind of
# widths come those of payloads for which there is code of 128-bit keys.
list_widths() {
  local kind=$1 key payload
  shift
  case $kind in
    key_payload)
      for key in 32 64; do
        for payload in 0 32 64; do
          echo "$key $payload _k${key}c${payload}"
        done
      done
      for payload in "$@"; do
        echo "128 $payload _k128c${payload}"
      done
      ;;
    key)
      for key in 32 64 ${1:+128}; do
        echo "$key any _k${key}"
      done
      ;;
    none) echo "any any" ;;
    *) fail "--widths $kind: allowed are key_payload, key and none" ;;
  esac
}

# The payload widths of a source's code for 128-bit keys: its line `#define TSR_KEYS_128 0, 32, 64`. Without it there is none.
widths_of_128() {
  sed -n 's/^#define TSR_KEYS_128 \([0-9, ]*\)$/\1/p' "$1" | tr -d ','
}

# The -D flags of a width.
width_defines() {
  local key=$1 payload=$2
  [[ $key == any ]] || echo "-DTSR_KEY_BITS=$key"
  [[ $payload == any ]] || echo "-DTSR_PAYLOAD_BITS=$payload"
}

# The flags of the C compiler with which it swaps 16 bytes in one instruction: cmpxchg16b, or casp of ARMv8.1.
swap_flags() {
  case $("${CC:-gcc}" -dumpmachine) in
    x86_64-*) echo -mcx16 ;;
    aarch64-*) echo -march=armv8.1-a ;;
  esac
}

# start COMMAND... runs it in the background, at most TSR_JOBS at a time; finish SENTENCE waits for all of them and
# fails with the sentence if one has failed.
job_pids=()
jobs_reaped=0
jobs_failed=0

reap_oldest() {
  wait "${job_pids[jobs_reaped]}" || jobs_failed=1
  jobs_reaped=$((jobs_reaped + 1))
}

start() {
  if ((${#job_pids[@]} - jobs_reaped >= ${TSR_JOBS:-2})); then
    reap_oldest
  fi
  "$@" &
  job_pids+=($!)
}

finish() {
  while ((jobs_reaped < ${#job_pids[@]})); do
    reap_oldest
  done
  ((jobs_failed == 0)) || fail "$1"
}
