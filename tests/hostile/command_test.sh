#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The program among hostile things: drivers that cannot be used, files of garbage and of endless lines, full disks. It
# ends soon, with one sentence that names what is wrong. Files that are nearly right are tests/unit's.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

cpu=(--set table.backend=cpu)
mkdir -p "$work/driver"
ln -s "$PWD/tests/hostile/libfake_cuda.so" "$work/driver/libcuda.so.1"
export OMP_NUM_THREADS=1
cd "$work" || exit 1
printf '1 10\n2 20\n' >pairs.tsv

# ---- Drivers ---------------------------------------------------------------------------------------------------------

# without_cuda PATTERN VARIABLE=VALUE : a fake driver with this setting.
without_cuda() {
  local pattern=$1
  export LD_LIBRARY_PATH=$work/driver "${2?}"
  run run "$specs/quickstart.ini" --set table.backend=auto --insert pairs.tsv
  expect_status 0
  expect_out "^backend  cpu on .*\(auto: $pattern"
  run run "$specs/quickstart.ini" --set table.backend=cuda --insert pairs.tsv
  expect_status 1
  expect_err "^tessera: $pattern"
  run check "$specs/quickstart.ini"
  expect_status 0
  expect_out "^backend +cpu, because: $pattern"
  run roofline
  expect_status 1
  expect_err "^tessera: $pattern"
  unset LD_LIBRARY_PATH "${2%%=*}"
}

case_of "a driver that cannot be used"
without_cuda 'the CUDA driver found no usable GPU \(error 100\)' FAKE_CUDA_INIT=100
without_cuda 'the CUDA driver is for CUDA 11\.8; 12\.0 or newer is needed' FAKE_CUDA_DRIVER=11080
without_cuda 'device = 0: there are 0 GPUs, numbered from 0' FAKE_CUDA_DEVICES=0
without_cuda 'a device of paper has compute capability 7\.5: the parts. code is for 8\.0 and newer' FAKE_CUDA_SM=75

case_of "a job with one stream asks for one queue, unless the caller asks for others"
# queues NUMBER ARGUMENTS... : that many are asked for.
queues() {
  FAKE_CUDA_INIT=queues LD_LIBRARY_PATH=$work/driver run "${@:2}" --set table.backend=cuda
  expect_status 1
  expect_err "^tessera: the CUDA driver found no usable GPU \\(error $1\\)"
}
queues 1 run "$specs/quickstart.ini" --insert pairs.tsv
CUDA_DEVICE_MAX_CONNECTIONS=4 queues 4 run "$specs/quickstart.ini" --insert pairs.tsv
queues 8 run "$specs/larger.ini" --insert pairs.tsv
queues 8 run "$specs/devices.ini" --insert pairs.tsv

case_of "a driver that is none"
mkdir -p broken
head -c 5000 /dev/zero >broken/libcuda.so.1
LD_LIBRARY_PATH=$work/broken run run "$specs/quickstart.ini" --set table.backend=cuda --insert pairs.tsv
expect_status 1
expect_err '^tessera: no CUDA driver: .*libcuda.so.1'

# ---- Files -----------------------------------------------------------------------------------------------------------

# unreadable STATUS PATTERN ARGUMENTS... : fails within 20 seconds, the last line being one sentence of moderate length.
unreadable() {
  local expected=$1 pattern=$2
  shift 2
  command_line=$*
  status=0
  timeout -k 1 20 "$tessera" "$@" >out 2>err || status=$?
  expect_status "$expected"
  (($(wc -c <err) < 4096)) || fail "tessera $command_line: says $(wc -c <err) bytes"
  tail -n 1 err | grep -aEq -- "^tessera: $pattern" || fail "tessera $command_line: said: $(tail -n 1 err)"
}

case_of "bytes at random"
head -c 300000 /dev/urandom >noise
for ending in tsv npy fa fq fa.gz; do
  cp noise "noise.$ending"
  kmers=()
  [[ $ending == f* ]] && kmers=(--kmers 9)
  unreadable 1 "noise\\.$ending" run "$specs/quickstart.ini" "${cpu[@]}" "${kmers[@]}" --insert "noise.$ending"
done
cp noise noise.u32
printf x >>noise.u32
unreadable 1 'noise\.u32: has 300001 bytes: ' run "$specs/quickstart.ini" "${cpu[@]}" --insert noise.u32
unreadable 2 'noise' check noise
unreadable 1 'noise: is no saved table' run "$specs/quickstart.ini" "${cpu[@]}" --load noise --find pairs.tsv

case_of "lines of a megabyte"
head -c 1048576 /dev/zero | tr '\0' 7 >digits
unreadable 2 'digits:1: ' check digits
printf '1 1\n' | cat - digits >digits.tsv
unreadable 1 'digits\.tsv:2: ' run "$specs/quickstart.ini" "${cpu[@]}" --insert digits.tsv
head -c 1048572 /dev/zero | tr '\0' ' ' | cat - <(echo '3 4') >spaces.tsv
run run "$specs/quickstart.ini" "${cpu[@]}" --insert spaces.tsv
expect_status 0
expect_out ' 1 items: 1 inserted'
sed 's/^/ /' spaces.tsv >more.tsv
unreadable 1 'more\.tsv:1: this row has more than 1048576 bytes' run "$specs/quickstart.ini" "${cpu[@]}" --insert more.tsv
{
  echo '>one'
  head -c 1048576 /dev/zero | tr '\0' A
  echo
} >letters.fa
run run "$specs/quickstart.ini" "${cpu[@]}" --kmers 9 --insert letters.fa
expect_status 0
expect_out ' 1048568 items: 1 inserted, 1048567 present, 0 not placed$'
unreadable 2 'there is no command 7{1000}' "$(head -c 1000 digits)"

# ---- Full disks ------------------------------------------------------------------------------------------------------

case_of "a disk that is full leaves the old file"
for ((i = 0; i < 5000; i++)); do echo "$i $i"; done >many.tsv
mkdir -p disk
finds=()
for ((i = 0; i < 8; i++)); do finds+=(--find many.tsv); done # so that the object is longer than the limit
for what in 'out rows.tsv' 'out rows.npy' 'save table.tsr' 'json job.json'; do
  read -r option file <<<"$what"
  echo old >"disk/$file"
  status=0
  ( # a limit on the size of files stands in for the disk: 1024 bytes
    trap '' XFSZ
    ulimit -f 1
    exec "$tessera" run "$specs/quickstart.ini" "${cpu[@]}" --insert many.tsv "${finds[@]}" "--$option" "disk/$file"
  ) 2>&1 >/dev/null | cat >err # a pipe: the limit is on files
  status=${PIPESTATUS[0]}
  command_line="run --$option disk/$file"
  expect_status 1
  expect_err "^tessera: (--json )?disk/$file: .*cannot be written: File too large$"
  [[ $(cat "disk/$file") == old ]] || fail "the old $file is gone"
done
[[ $(ls disk) == $'job.json\nrows.npy\nrows.tsv\ntable.tsr' ]] || fail "leaves something behind: $(ls disk)"

case_of "a file that is replaced keeps its permissions, its other names keep the old one"
mkdir -p kept
for what in 'out rows.tsv' 'save table.tsr' 'json job.json'; do
  read -r option file <<<"$what"
  echo old >"kept/$file"
  chmod 600 "kept/$file"
  ln "kept/$file" "kept/$file.old"
  ln -s "$file" "kept/$file.link"
  run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --find pairs.tsv "--$option" "kept/$file.link"
  expect_status 0
  [[ $(cat "kept/$file.old") == old ]] || fail "$file was written in place"
  [[ -L kept/$file.link && $(stat -c %a "kept/$file") == 600 ]] || fail "$(stat -c '%n has mode %a' "kept/$file")"
  ! cmp -s "kept/$file" "kept/$file.old" || fail "$file was not written"
done
[[ $(ls kept | wc -l) == 9 ]] || fail "leaves something behind: $(ls kept)"

case_of "places that cannot be written"
for what in 'out /dev/full' 'json /dev/full' "out $work/disk" "save $work/disk" "out $work/no/file" "save $work/no/file" \
  "json $work/no/file"; do
  read -r option file <<<"$what"
  run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --find pairs.tsv "--$option" "$file"
  expect_status 1
  tail -n 1 err | grep -Eq "^tessera: .*$file: " || fail "tessera $command_line: said: $(tail -n 1 err)"
done

finish
