#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plugins that break the contract (plugins/README.md), each in one way: the refusal must name the file, the rule, the
# value and the way out. They are built here from bad.c, with the macros of each case.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

root=$PWD
abi_of() { bash "$root/plugins/build_abi.sh" "$1"/plugins/*.h "$1"/plugins/*.cuh; }
abi=$(abi_of "$root")
cpu=(--set table.backend=cpu)

# build FOLDER/FILE FLAG... : bad.c with these macros.
build() {
  local file=$work/$1
  shift
  mkdir -p "$(dirname "$file")"
  "${CC:-gcc}" -std=c11 -w -O1 -fPIC -shared "-DTSR_ABI=$abi" -I"$root" "$@" -o "$file" "$root/tests/bad_plugins/bad.c" ||
    fail "bad.c does not compile with $*"
}

# said STATUS PATTERN: the last command ended so, with one sentence, on standard error alone.
said() {
  expect_status "$1"
  [[ $(wc -l <"$work/err") == 1 ]] || fail "tessera $command_line: says more than one sentence: $(cat "$work/err")"
  [[ ! -s $work/out ]] || fail "tessera $command_line: wrote to standard output: $(cat "$work/out")"
  expect_err "^tessera: $2"
}

# unloadable FOLDER FILE PATTERN: whoever needs the file says the same; a spec that does not, works beside it.
unloadable() {
  local folder=$1 file=$2 pattern=$3
  run list --plugins "$folder"
  said 1 "$folder/$file: $pattern"
  run describe hasher/murmur3 --plugins "$folder"
  said 1 "$folder/$file: $pattern"
  run check "$specs/quickstart.ini" "${cpu[@]}" --plugins "$folder"
  expect_status 0
  case $file in
    hasher_bad.so)
      run check "$specs/quickstart.ini" "${cpu[@]}" --plugins "$folder" --set table.hasher=bad
      said 1 "$folder/$file: $pattern"
      ;;
  esac
}

# broken PATTERN FLAG... : hasher_bad.so with these macros is refused when it is loaded.
broken() {
  local pattern=$1
  shift
  build "broken${#names[@]}/hasher_bad.so" "$@"
  unloadable "broken${#names[@]}" hasher_bad.so "$pattern"
}

# plans PATTERN ROLE ACT [STATUS]: what comes of a plan() that does ACT, in a part of ROLE. Listing runs no plan().
plans() {
  local pattern=$1 role=$2 act=$3 folder=planned${#names[@]}
  build "$folder/${role}_bad.so" -DROLE="TSR_ROLE_${role^^}" -DACT="$act"
  run describe "$role/bad" --plugins "$folder"
  expect_status 0
  local command
  for command in check run; do
    local words=("$specs/quickstart.ini" "${cpu[@]}" --plugins "$folder" --set "table.$role=bad")
    [[ $command == check ]] || words+=(--insert "$work/pairs.tsv")
    run "$command" "${words[@]}"
    tail -n 1 "$work/err" >"$work/last" # `run` tells first what it reads
    expect_status "${4:-1}"
    expect_line "$work/last" "^tessera: $pattern"
  done
}

cd "$work" || exit 1
echo '1 2' >pairs.tsv

# ---- The descriptor --------------------------------------------------------------------------------------------------

case_of "bad.c without a macro is sound"
build sound/hasher_bad.so
run describe hasher/bad --plugins sound
expect_status 0
run check "$specs/quickstart.ini" "${cpu[@]}" --plugins sound --set table.hasher=bad
expect_status 0

case_of "P-02: another ABI"
refusal='than this library \([0-9a-f]{8}\): build it again with the SDK that came with this library$'
broken "P-02: built from other SDK headers \(ABI 00000007\) $refusal" -DABI=7

# The SDK's own script, over a copy of the SDK: `changed_sdk FILE LINE` adds a line to one of its headers.
changed_sdk() {
  rm -rf sdk other
  mkdir -p sdk/plugins other
  cp -L "$root"/plugins/*.h "$root"/plugins/*.cuh "$root"/plugins/build_*.sh sdk/plugins
  printf '%s\n' "$2" >>"sdk/plugins/$1"
  cp -L "$root/hashers/identity.c" "$root/hashers/identity.cuh" other
  TSR_NVCC='' bash sdk/plugins/build_plugin.sh --role hasher --name identity --widths key \
    --out other/hasher_identity.so other/identity.c other/identity.cuh >log 2>&1 || fail "does not compile: $(cat log)"
}

case_of "P-02: headers that were changed, each of them"
for header in "$root"/plugins/*.h "$root"/plugins/*.cuh; do
  changed_sdk "${header##*/}" '#define TSR_ONE_MORE_CONSTANT 1'
  run describe hasher/identity --plugins other
  said 1 "other/hasher_identity\.so: P-02: built from other SDK headers \(ABI [0-9a-f]{8}\) $refusal"
done

case_of "P-02: what headers do not say does not count"
changed_sdk table.h '/* "A remark" isn'"'"'t code; // nor
   is   this */  // nor /* this'
run describe hasher/identity --plugins other
expect_status 0
[[ $(abi_of "$root") == "$(abi_of sdk)" ]] || fail "a remark changes the number"
changed_sdk table.h '#define TSR_A_TEXT "// no remark"'
one=$(abi_of sdk)
changed_sdk table.h '#define TSR_A_TEXT "// no mark"'
[[ $one != "$(abi_of sdk)" ]] || fail "a string counts as a remark"

case_of "P-03: another size"
broken 'P-03: its descriptor has 24 bytes, .* [0-9]+: build it again$' -DSIZE=24

case_of "P-04: no role"
broken 'P-04: its role is 77, roles are numbered 0 to 4: end it with TSR_PLUGIN$' -DROLE=77

case_of "P-05: no name"
for name in '""' '"Bad"' '"9bad"' '"bad-name"' '"../bad"' '"abcdefghijklmnopqrstuvwxy"'; do
  broken "P-05: its name is '.*': must be 1 to 24 letters a-z" "-DNAME=$name"
done
broken "P-05: its name is '': must be" -DNAME=NULL

case_of "P-06: a member that is not there"
for member in SUMMARY SOURCE PARAMETERS PLAN IMAGES TEXT; do
  broken "P-06: its descriptor has no ${member,,}: end it with TSR_PLUGIN$" "-D$member=NULL"
done
broken 'P-06: its descriptor has no images with functions: ' -DIMAGES=no_images

case_of "P-07: a file with another name"
for named in '-DNAME="good"' -DROLE=TSR_ROLE_LAYOUT; do
  broken 'P-07: it holds (hasher/good|layout/bad), so the file must be called (hasher_good|layout_bad)\.so$' "$named"
done

case_of "P-08: no code for the widths"
build widths/hasher_bad.so -DKEY_BITS=64
run check "$specs/quickstart.ini" "${cpu[@]}" --plugins widths --set table.hasher=bad
said 1 'hasher/bad: P-08: it has no code for key_bits = 32, value_bits = 32$'
build widths/hasher_bad.so -DWITHOUT_FUNCTIONS
run check "$specs/quickstart.ini" "${cpu[@]}" --plugins widths --set table.hasher=bad
said 1 'hasher/bad: P-08: it has no hash for key_bits = 32, value_bits = 32$'

case_of "P-11: parameters"
row='{"limit",TSR_PARAMETER_U32'
broken 'P-11: its parameter limit \(default 9, range 1 \.\. 8\) has a default outside its range: correct its line' \
  "-DROWS=$row,0,9,1,8,\"A limit.\"},"
broken 'P-11: .* has a default outside' "-DROWS=$row,0,0,1,8,\"A limit.\"},"
broken 'P-11: .* has a default outside' "-DROWS=$row,0,5,8,1,\"A limit.\"},"
broken 'P-11: its parameter limit .* has no doc:' "-DROWS=$row,0,5,1,8,NULL},"
broken 'P-11: .* has no doc:' "-DROWS=$row,0,5,1,8,\"\"},"
broken 'P-11: .* is there twice:' "-DROWS=$row,0,5,1,8,\"A limit.\"},$row,0,5,1,8,\"A limit.\"},"
broken 'P-11: .* is outside the config struct:' "-DROWS=$row,16,5,1,8,\"A limit.\"},"
broken 'P-11: .* is outside the config struct:' "-DROWS=$row,2,5,1,8,\"A limit.\"},"
broken 'P-11: .* is outside the config struct:' "-DROWS=$row,4294967292u,5,1,8,\"A limit.\"},"
broken 'P-11: .* has a range beyond its type:' "-DROWS=$row,0,5,1,1ull<<32,\"A limit.\"},"
broken 'P-11: .* has no known type:' '-DROWS={"limit",9,0,5,1,8,"A limit."},'

# ---- The file --------------------------------------------------------------------------------------------------------

case_of "P-01: the entry is missing"
broken 'P-01: exports no data symbol tsr_plugin_entry: end it with TSR_PLUGIN$' -DENTRY=another_entry

case_of "P-01: an unresolved symbol"
broken 'P-01: cannot be loaded: .*nobody_defines_this.*: build it again$' -DUNRESOLVED

case_of "P-01: bytes that are no shared object"
mkdir -p garbage
head -c 4096 /dev/urandom >garbage/hasher_bad.so
unloadable garbage hasher_bad.so 'P-01: cannot be loaded: .*(invalid ELF header|file too short)'
echo 'GROUP ( libm.so.6 )' >garbage/hasher_bad.so
unloadable garbage hasher_bad.so 'P-01: cannot be loaded: '
: >garbage/hasher_bad.so
unloadable garbage hasher_bad.so 'P-01: cannot be loaded: .*file too short'

case_of "P-01: no regular file"
mkdir -p folder/hasher_bad.so pipe
unloadable folder hasher_bad.so 'P-01: cannot be loaded: it is no regular file: '
mkfifo pipe/hasher_bad.so
unloadable pipe hasher_bad.so 'P-01: cannot be loaded: it is no regular file: '
mkdir -p nowhere
ln -s absent.so nowhere/hasher_bad.so
unloadable nowhere hasher_bad.so 'P-01: cannot be loaded: .*No such file'

case_of "P-01: a file that may not be read"
build secret/hasher_bad.so
chmod 0 secret/hasher_bad.so
if [[ -r secret/hasher_bad.so ]]; then # the superuser reads everything
  run list --plugins secret
  expect_status 0
else
  unloadable secret hasher_bad.so 'P-01: cannot be loaded: .*Permission denied'
fi

case_of "P-01: a shared object that was cut short, anywhere"
build whole/hasher_bad.so -Wl,-s
bytes=$(stat -c %s whole/hasher_bad.so)
mkdir -p cut
refused=0
for ((i = 0; i < 32; i++)); do
  head -c $((bytes * i / 32)) whole/hasher_bad.so >cut/hasher_bad.so
  run list --plugins cut
  if ((status == 0)); then # what is behind the last segment is for debuggers
    continue
  fi
  said 1 'cut/hasher_bad.so: P-01: cannot be loaded: '
  refused=$((refused + 1))
done
((refused >= 24)) || fail "only $refused of 32 cut files were refused"

case_of "of two plugins with one name the first folder's is taken"
build first/hasher_bad.so '-DSUMMARY="Lies first."'
build second/hasher_bad.so '-DSUMMARY="Lies second."'
for order in first:second second:first; do
  run list hasher --plugins "$order"
  expect_status 0
  expect_out "^hasher/bad +Lies ${order%%:*}\\."
  [[ $(grep -c '^hasher/bad' out) == 1 ]] || fail "listed twice: $(cat out)"
  run check "$specs/quickstart.ini" "${cpu[@]}" --plugins "$order" --set table.hasher=bad
  expect_out "^hasher +bad: Lies ${order%%:*}\\."
done
cp garbage/hasher_bad.so second/ # and what stands behind it is not looked at
run list hasher --plugins first:second
expect_status 0

# ---- plan() ----------------------------------------------------------------------------------------------------------

case_of "P-12: facts out of range"
plans 'layout/bad: P-12: its plan\(\) wrote bucket_places = 0: must be a power of two from 1 to 32; correct plan' \
  layout 'return TSR_OK;'
for places in 3 33 64 4294967295u; do
  plans 'layout/bad: P-12: its plan\(\) wrote bucket_places = [0-9]+: ' layout \
    "fill(plan); plan->layout.bucket_places = $places; return TSR_OK;"
done
for slots in 0 5 4294967295u; do
  plans 'layout/bad: P-12: its plan\(\) wrote bucket_slots = [0-9]+: must be from 1 to bucket_places; ' layout \
    "fill(plan); plan->layout.bucket_slots = $slots; return TSR_OK;"
done
plans 'layout/bad: P-12: .* bucket_slots = 4: must be from 1 to one less than bucket_places; ' layout \
  'fill(plan); plan->layout.has_link = 1; return TSR_OK;'
plans 'layout/bad: P-12: .* tile_lanes = 5: ' layout 'fill(plan); plan->layout.tile_lanes = 5; return TSR_OK;'
plans 'layout/bad: P-12: .* share_lanes = 0: ' layout 'fill(plan); plan->layout.share_lanes = 0; return TSR_OK;'
plans 'probing/bad: P-12: .* buckets = 0: must be from buckets_min to 2\^48; ' probing \
  'plan->probing.buckets = 0; return TSR_OK;'
plans 'probing/bad: P-12: .* buckets = [0-9]+: ' probing 'plan->probing.buckets--; return TSR_OK;'
plans 'probing/bad: P-12: .* buckets = 1152921504606846976: ' probing 'plan->probing.buckets = 1ull << 60; return TSR_OK;'

case_of "P-13: refusals that are none"
plans 'hasher/bad: P-13: its plan\(\) returned status 77 and no sentence: a refusal is TSR_INCOMPATIBLE with a sentence' \
  hasher 'return (tsr_status)77;'
plans 'hasher/bad: P-13: .* status -1 and no sentence: ' hasher 'return (tsr_status)-1;'
plans 'hasher/bad: P-13: .* status 5 and no sentence: ' hasher 'return TSR_INCOMPATIBLE;'
plans 'hasher/bad: P-13: .* status 6: ' hasher 'return tsr_fail(error, TSR_NO_MEMORY, "%s", "none left");'
plans '--set table.hasher=bad: keys are odd$' hasher 'return tsr_fail(error, TSR_INCOMPATIBLE, "%s", "keys are odd");' 2

case_of "P-14: regions that cannot be counted"
for region in '"r", 0, 1ull << 60, 0, 0' '"r", ~0ull, 1, 0, 0' '"r", ~0ull - 4096, 0, 0, 0'; do
  plans 'hasher/bad: P-14: its plan\(\) asked for region r of [0-9]+ bytes .* less than 2\^64 bytes: correct plan' \
    hasher "plan->regions[0] = plan->regions[1] = (tsr_region){$region}; return TSR_OK;"
done

case_of "P-53: regions of drawn words that are none"
for region in '"r", 12, 0, 0, 1' '"r", 0, 8, 0, 1' '"r", 64, 8, 0, 1'; do
  plans 'hasher/bad: P-53: its plan\(\) asked for region r with draws: only a hasher .* whole words' hasher \
    "plan->regions[0] = (tsr_region){$region}; return TSR_OK;"
done
plans 'probing/bad: P-53: .* only a hasher has such regions' probing \
  'plan->regions[0] = (tsr_region){"r", 64, 0, 0, 1}; return TSR_OK;'

case_of "a region that no machine has"
build large/hasher_bad.so '-DACT=plan->regions[0] = (tsr_region){"r", 1ull << 60, 0, 0, 0}; return TSR_OK;'
run check "$specs/quickstart.ini" "${cpu[@]}" --plugins large --set table.hasher=bad
expect_status 0
run run "$specs/quickstart.ini" "${cpu[@]}" --plugins large --set table.hasher=bad --insert pairs.tsv
expect_status 1
expect_err '^tessera: region r of 1152921504606846976 bytes .* the cpu backend cannot allocate .* of this machine'

case_of "a plan() that ends the process is named"
plans 'hasher/bad: its plan\(\) crashed \(SIGSEGV\): leave it out, or mend it$' hasher \
  '*(volatile int *)16 = 1; return TSR_OK;'
plans 'hasher/bad: its plan\(\) crashed \(SIGSEGV\): ' hasher 'volatile int depth = 1; return (tsr_status)recurse(&depth);'
plans 'layout/bad: its plan\(\) crashed \(SIGFPE\): ' layout 'volatile int none = 0; return (tsr_status)(100 / none);'
plans 'probing/bad: its plan\(\) crashed \(SIGILL\): ' probing '__builtin_trap();'
plans 'probing/bad: its plan\(\) crashed \(SIGBUS\): ' probing 'raise(SIGBUS); return TSR_OK;'
plans 'hasher/bad: its plan\(\) called abort\(\): ' hasher 'abort();'
plans 'hasher/bad: its plan\(\) called exit\(\): ' hasher 'exit(0);'

case_of "a plan() without an end is named when it is interrupted"
build endless/hasher_bad.so '-DACT=for (volatile int i = 0;; i = 0) {}'
for signal in INT TERM; do
  status=0
  timeout -k 20 -s "$signal" 0.5 "$tessera" check "$specs/quickstart.ini" "${cpu[@]}" --plugins endless \
    --set table.hasher=bad >out 2>err || status=$?
  ((status == 124)) || fail "did not run until it was interrupted: status $status"
  expect_err "^tessera: hasher/bad: its plan\(\) had not ended when it was (interrupted|terminated) \(SIG$signal\): "
done

case_of "what crashes outside plan() goes its usual way"
status=0
"$tessera" bench "$specs/quickstart.ini" "${cpu[@]}" --n 2^24 --repeat 99 >usual.out 2>usual.err &
sleep 0.3
kill -TERM $!
wait $! || status=$?
((status == 128 + 15)) || fail "status $status instead of death by SIGTERM: $(cat usual.err)"
! grep -q 'plan()' usual.err || fail "blames a plugin: $(cat usual.err)"

finish
