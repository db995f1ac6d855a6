#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The kit can fail: sound plugins with one line broken, each against one rule, built out of the tree and given to
# `tessera conform`, which must name the rule (mutants.sh). Rules that the loader or compose enforce are the matter of
# tests/bad_plugins; plain loads and stores that of races_test.sh.

# shellcheck source-path=SCRIPTDIR source=mutants.sh
source "$(dirname "${BASH_SOURCE[0]}")/mutants.sh"

# In packed, whose functions are the kit's: another text for one of these.
kit_says() { printf 's/^#include "plugins.pair.cuh"/&\\n#define %s/' "$1"; }
# In front of the line that ends the linear scheme's plan().
plan_first() { printf 's/^  plan->probing.ends_at_empty = 1;/  %s\\n&/' "${1//$'\n'/\\n}"; }

# fails_to_build RULE WHAT PATTERN ROLE:SOURCE [c|cuh SCRIPT]...: the build must refuse it, with a line that matches.
fails_to_build() {
  local pattern=$3
  case_of "$1: $2"
  shift 3
  mutate "$@"
  ! build "$role" "$name" || fail "was built"
  grep -qE -- "$pattern" log || fail "no '$pattern' in: $(cat log)"
}

# write_spec LAYOUT PROBING: table.ini, a set of these parts.
write_spec() {
  printf '%s\n' '[table]' 'kind = set' 'key_bits = 32' 'capacity = 4M' "layout = $1" "probing = $2" \
    'hasher = murmur3' 'backend = cpu' >table.ini
}

# ---- What is not broken ----------------------------------------------------------------------------------------------

for part in "$linear" "$evicting" "$mixer" layout:plugins/template/layout/template "$units" \
  allocator:plugins/template/allocator/template eviction:plugins/template/eviction/template; do
  case_of "${part#*:} keeps the contract"
  make_mutant "$part"
  without= # what it takes longest, the kit's own test has of the plugin that is no template
  [[ $part != "$units" || ${TSR_TEST_ALL:-} ]] || without='-*P63_*'
  GTEST_FILTER="*OnPlugin*:*OnLayout*:*OnProbing*:*OnHasher*:*OnAllocator*:*OnEviction*$without" run conform "$file"
  expect_status 0
  expect_out 'keeps the contract$'
done

# ---- What is not built -----------------------------------------------------------------------------------------------

fails_to_build P-01 "a symbol is not resolved" 'undefined reference to .somewhere' "$linear" \
  c "$(plan_first 'extern void somewhere(void);\n  somewhere();')"
fails_to_build P-12 "its plan() writes a fact of another" 'read-only' "$linear" \
  c "$(plan_first 'shape->whole_pairs = 1;')"
fails_to_build P-20 "it includes what is not in the SDK" 'core/tessera\.h: No such file' "$linear" \
  cuh 's/^#include "plugins.*/&\n#include "core\/tessera.h"/'
fails_to_build P-20 "its function has a prototype of its own" 'incompatible.pointer.type|[Ii]ncompatible' "$linear" \
  cuh 's/tsr_key key, tsr_probe \*probe\)/tsr_key key, tsr_probe *probe, int more)/' \
  cuh 's/^  if \(probe->visited >= /  (void)more;\n&/'
fails_to_build P-21 "its function has a name of its own" 'undeclared|not defined' "$linear" \
  cuh 's/^TSR_DEVICE bool TSR_PART\(next\)/TSR_DEVICE bool my_next/'
fails_to_build P-21 "its functions are in no table" 'TSR_FUNCTIONS|undefined reference' "$linear" \
  cuh 's/^TSR_PART_FUNCTIONS.*//'
as=Linear fails_to_build P-05 "its name is none" '--name Linear: a name is 1 to 24 of a-z' "$linear"

# ---- The host half ---------------------------------------------------------------------------------------------------

breaks P-09 "it does something when it is loaded" "$linear" \
  c '$a #include <unistd.h>\n__attribute__((constructor)) static void hello(void) { if (write(1, "hello", 5)) return; }'
breaks P-10 "its plan() keeps state" "$linear" \
  c "$(plan_first 'static uint64_t calls;\n  plan->state[7] = calls++;')"
breaks P-11 "its default is below its minimum" "$linear" cuh 's/max_probes, 0, 0,/max_probes, 0, 1,/'
breaks P-11 "a parameter is not told in a sentence" "$linear" cuh 's/"Limit on [^"]*"/"buckets"/'
breaks P-11 "it refuses its own maximum" "$linear" \
  c "$(plan_first 'if (own->max_probes == 4294967295u)
    return tsr_fail(error, TSR_INCOMPATIBLE, "probing = template does not count as far as that");')"
breaks P-12 "its plan() draws lots" "$linear" \
  c "$(plan_first 'extern int rand(void);\n  plan->probing.buckets += (uint64_t)rand() % 1024;')"
at=all breaks P-13 "it refuses without a sentence" "$linear" \
  c "$(plan_first 'if (shape->payload_bits == 64) return tsr_fail(error, TSR_INCOMPATIBLE, "no");')"
at=all breaks P-13 "its refusal names nothing" "$linear" \
  c "$(plan_first 'if (shape->payload_bits == 64)
    return tsr_fail(error, TSR_INCOMPATIBLE, "this does not work with that, sorry");')"
breaks P-14 "two of its regions have one name" "$columns" c 's/"values"/"keys"/'

# ---- The device half -------------------------------------------------------------------------------------------------

case_of "P-23: a loop in it has no end"
make_mutant "$cuckoo" cuh 's/^  if \(placing->passed >= .*$//'
GTEST_FILTER='*P23_*' run conform "$file" --timeout 10
expect_status 1
expect_err 'was not done after 10 seconds in the test Kit/.*P23_.*: a loop in it has no end \(P-23\)'

# It is only slow on a CPU, whose threads all run; on a GPU the winner may be a lane of the same warp.
waits='uint32_t *busy = (uint32_t *)TSR_REGION(c, TSR_PAYLOAD_BITS > 0 ? 2 : 1);
    while (tsr_cas32(busy, 0, 1) != 0) tsr_pause();
    for (uint32_t i = 0; i < 200; i++) tsr_pause();'
breaks P-23 "a loser waits for the winner" "$keys" \
  c 's/^  plan->regions\[TEMPLATE_KEYS\] =/  plan->regions[shape->payload_bits ? 2 : 1] = (tsr_region){.name = "busy", .bytes = 256};\n&/' \
  cuh "s/^  tsr_key seen = template_seen_slot.*/&\n    ${waits//$'\n'/\\n}/" \
  cuh 's/^  if \(swapped && TSR_PAYLOAD_BITS > 0\) tsr_combine_at.*/&\n    (void)tsr_cas32(busy, 1, 0);/'

# What stays a stack or a call on a GPU is seen by linking for one, which needs a toolkit.
nvcc=${TSR_NVCC-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [[ -x $nvcc ]] && "$tessera" link "$specs/bcht.ini" --arch sm_90 >/dev/null 2>&1; then
  compiler=$nvcc
  case_of "${evicting#*:} links"
  make_mutant "$evicting"
  TSR_CONFORM_WIDTHS=32:32 GTEST_FILTER='*P22_P26_*' run conform "$file"
  expect_status 0
  at='0 32' breaks P-26 "a bucket is indexed at run time" "$keys" \
    cuh '/^TSR_INLINE tsr_key template_seen_slot/,/^}/s/^  return key;/  return template_seen(b, slot \/ TSR_FACT(c, tile_lanes)) \& key;/'
  expect_out '_kernel has a stack of [0-9]+ bytes: .*P-26'
  at='0 32' breaks P-26 "a hash becomes an index by a remainder" "$linear" \
    cuh 's/tsr_bucket_of\(c, key, 0\)/hasher_hash(c, key, 0) % c->t->buckets/'
  expect_out 'functions beside the kernels: a division by a variable .*P-26'
  case_of "link says what the linker left over"
  write_spec template linear
  run link table.ini --plugins "$work/$((count - 1))" --arch sm_90
  expect_status 1
  expect_err '_kernel: needs a stack of [0-9]+ bytes on sm_90: .*\(P-26, P-22\)'
  write_spec soa template
  run link table.ini --plugins "$work/$count" --arch sm_90
  expect_status 1
  expect_err 'functions besides the kernels on sm_90: .*\(P-26\)'
  compiler=
else
  echo "no CUDA toolkit: what linking shows is not tested"
fi

breaks P-25 "a collective is reached by one lane alone" "$packed" \
  cuh "$(kit_says 'tsr_pair_vacant(c, b) (c->lane != 0 ? 0 : tsr_pair_vacant(c, b))')"

# ---- Layouts ---------------------------------------------------------------------------------------------------------

breaks P-30 "erase empties the slot" "$packed" \
  cuh "$(kit_says 'tsr_pair_erase(c, words, b, slot) tsr_pair_swap(c, words, b, slot, (tsr_pair) ~(tsr_pair)0)')"
breaks P-31 "it promises whole pairs and reads payloads apart" "$columns" \
  c 's/(plan->layout.whole_pairs) = .*;/\1 = 1;/'
breaks P-32 "cas takes what is there for what load saw" "$columns" \
  cuh 's/tsr_key expected = soa_seen_slot.*;/tsr_key expected = *soa_key_address(c, b->ref, slot);/'
breaks P-32 "cas takes vacant slots alone" "$packed" \
  cuh "$(kit_says 'tsr_pair_swap(c, words, b, slot, pair) \\\n  (tsr_pair_vacant(c, b) >> slot \& 1u \&\& tsr_pair_swap(c, words, b, slot, pair))')"
breaks P-32 "only the owner learns whether cas worked" "$packed" \
  cuh "$(kit_says 'tsr_pair_swap(c, words, b, slot, pair) \\\n  (tsr_pair_swap(c, words, b, slot, pair) \&\& c->lane == tsr_slot_lane(c, slot))')"
breaks P-33 "the bits of a mask are elsewhere in wider tiles" "$packed" \
  cuh "$(kit_says 'tsr_pair_match(c, b, key) (tsr_pair_match(c, b, key) << (TSR_FACT(c, tile_lanes) > 1))')"
breaks P-33 "an erased slot is not vacant" "$packed" \
  cuh "$(kit_says 'tsr_pair_vacant(c, b) tsr_pair_match(c, b, TSR_EMPTY_KEY)')"
breaks P-33 "a tag is not stored with its pair" layout:layouts/tagged \
  cuh 's/^  if \(swapped \&\& tagged_has_tags\(c\)\) tsr_store8.*$//'
breaks P-33 "a column of payloads that holds keys" "$packed" \
  c 's/slot_bytes \/ 2/0/'
at=0 breaks P-33 "a part of a fingerprint does not count" "$fingerprints" cuh 's/\(held \| but\) == wanted/(held | but | 1u) == (wanted | 1u)/'
at=0 breaks P-30 "an erased fingerprint leaves an empty slot" "$fingerprints" \
  cuh 's/fingerprint_try\(c, b, slot, TSR_FINGERPRINT_ERASED\)/fingerprint_try(c, b, slot, TSR_FINGERPRINT_EMPTY)/'
at=0 breaks P-32 "a neighbour in its word does not count" "$fingerprints" \
  cuh 's/before, \(before & ~bits\) \| desired << shift/before, desired << shift/'
breaks P-34 "a tail bucket is the first bucket" "$columns" \
  cuh 's/tsr_slot_index\(c, ref, slot,/tsr_slot_index(c, ref < c->t->buckets ? ref : 0, slot,/'
breaks P-35 "erase leaves the value where the next one is combined into it" "$columns" \
  cuh 's/if \(swapped\) soa_combine/if (swapped \&\& desired < TSR_ERASED_KEY) soa_combine/'
breaks P-35 "a sum that overflows is not told of" "$columns" \
  cuh 's/^  tsr_combine_at\(c, (soa_payload_address.*), policy, payload\);/  if (policy == TSR_DUPLICATES_ADD)\n    tsr_add_payload(\1, payload);\n  else\n  &/'
breaks P-34 "a flag that is never raised" layout:layouts/tagged \
  cuh 's/tsr_store8\(\(uint8_t \*\)word \+ 3, 0\)/(void)word/'
breaks P-34 "a pair that is evicted takes the flag with it" layout:layouts/quotient \
  cuh 's/if \(slot != 0 \&\& tsr_owns/if (tsr_owns/; s/tries = slot == 0 \&\& /tries = slot > 31 \&\& /'
breaks P-34 "a flag that is told of no bucket" layout:layouts/quotient cuh 's/\? raised : !empties/? raised * 0 : !empties/'
breaks P-50 "unhash forgets the seed" hasher:hashers/murmur3 \
  cuh 's/\^ (\(uint32_t\))?TSR_WORD\(c, 0\);/^ 0 * \1TSR_WORD(c, 0);/'
breaks P-36 "exchange forgets the value" "$packed" \
  cuh "$(kit_says 'tsr_pair_exchange(c, words, slot, key, payload) \\\n  tsr_pair_exchange(c, words, slot, key, \&(tsr_payload){*payload})')"
breaks P-36 "exchange hands the new pair back and drops the one that was there" "$packed" \
  cuh "$(kit_says 'tsr_pair_exchange(c, words, slot, key, payload) \\\n  tsr_pair_exchange(c, words, slot, \&(tsr_key){*key}, \&(tsr_payload){*payload})')"
breaks P-36 "it says that it can exchange and cannot" layout:plugins/template/layout/template \
  c 's/^  plan->regions\[TEMPLATE_KEYS\] =/  plan->layout.can_exchange = 1;\n&/'

breaks P-37 "a slot takes the link's place" layout:layouts/slab \
  cuh 's/return tsr_pair_link\(c, b\);/return (uint32_t)tsr_pair_slot_key(c, b, 0);/'
breaks P-39 "a pair that is put has no tag" layout:layouts/tagged \
  cuh '/PART\(put\)/,/^}/s/^  if \(tagged_has_tags.*//'
breaks P-38 "a tile without work erases" "$columns" \
  cuh '/^TSR_DEVICE bool TSR_PART\(erase\)/,/^}/s/return (TSR_OWNER_DOES.*);/tsr_ctx works = *c;\n  works.active = 1;\n  c = \&works;\n  return \1;/'

# ---- Probing schemes -------------------------------------------------------------------------------------------------

breaks P-40 "its second walk is another one" "$linear" \
  cuh 's/tsr_bucket_of\(c, key, 0\)/tsr_reduce(hasher_hash(c, key, 0) + (calls++ << (TSR_KEY_BITS - 2)), c->t->buckets)/' \
  cuh 's/^TSR_DEVICE bool/static tsr_hash calls;\n&/'
breaks P-40 "its walk reads notes, and it does not say so" probing:probing/robin_hood c '/^  plan->probing.has_notes = 1;/d'
breaks P-40 "the lane takes part in the walk" "$linear" cuh 's/tsr_bucket_of\(c, key, 0\)/tsr_bucket_of(c, key, c->lane)/'
breaks P-41 "its walk does not end" "$linear" cuh 's/^  if \(probe->visited >= TSR_WORD.*$//'
breaks P-41 "its walk does not end for one key in 4096" "$linear" \
  cuh 's/^  if \(probe->visited >= TSR_WORD\(c, TEMPLATE_LIMIT\)\)/  if (probe->visited >= TSR_WORD(c, TEMPLATE_LIMIT) \&\& (uint32_t)key * 2654435761u >> 20 != 7)/'
breaks P-41 "its walk leaves the table" "$linear" cuh 's/tsr_bucket_after\(c, probe->ref\)/probe->ref < c->t->buckets ? probe->ref + 1 : 0/'
breaks P-41 "its walk ends behind the table" "$linear" \
  cuh 's/LIMIT\)\) return false;/LIMIT)) return (probe->ref = c->t->buckets) == 0;/'
passes='s/^  if \(seen->has_room\) return tsr_claim\(\);/  if (placing->passed == 0) return tsr_pass();\n&/'
breaks P-42 "it starts at the second bucket of a walk" "$cuckoo" cuh "$passes"
breaks P-43 "it puts an evicted pair next door" "$cuckoo" \
  cuh 's/bucket = cuckoo_bucket\(c, key, next\);/bucket = (cuckoo_bucket(c, key, next) + 1) % c->t->buckets;/'
at=0 breaks P-43 "the second bucket is the key's and not the fingerprint's" "$moving" \
  cuh 's/cuckoo_filter_other\(c, key, probe->ref\)/tsr_bucket_of(c, key, 2)/'
at=0 breaks P-43 "a fingerprint goes on and does not come back" "$moving" \
  cuh 's/return sum >= ref \? sum - ref : sum \+ c->t->buckets - ref;/return (ref + sum) % c->t->buckets;/'
breaks P-44 "it forgets to say that it moves pairs" "$cuckoo" c '/^  plan->probing.moves_pairs = 1;/d'
breaks P-44 "it looks at residents and says that it does not" probing:probing/robin_hood \
  c 's/^  plan->probing.moves_pairs = 1;/&\n  plan->probing.asks_for_room = 1;/'
breaks P-46 "it leaves the first bucket too early" "$cuckoo" cuh "$passes" \
  c 's/^  plan->probing.ends_at_empty = .*/  plan->probing.ends_at_empty = 0;/'
breaks P-49 "it leaves the front of its walk too early" "$cuckoo" cuh "$passes" \
  c 's/^  plan->probing.ends_at_empty = .*/  plan->probing.ends_at_empty = 0;\n  plan->probing.ordered = 1;/'
breaks P-40 "its walk reads a counter" probing:examples/parts/elastic \
  cuh 's/^  if \(probe->visited == 0\) i = 0, j = 1;/  if (probe->visited == 0) i = 0, j = 1 + ((uint32_t)*(const uint64_t *)TSR_REGION(c, ELASTIC_FILLS) \& 1);/'
breaks P-48 "a list ends a bucket too early" probing:probing/hashgraph \
  cuh 's/\(end - 1\) \/ slots :/(end - 1) \/ slots - (end - begin > slots) :/'
breaks P-54 "a bucket of which it has taken a slot seems as empty as before" probing:probing/perfect \
  cuh 's/ \+ \(\*own < slots\)\)/)/'
breaks P-54 "it looks for keys in other groups than it has found seeds for" probing:probing/perfect \
  cuh 's/^  const uint32_t group = perfect_group\(c, key\);/  const uint32_t group = perfect_group(c, key) ^ 1;/'
breaks P-47 "it promises room for many pairs of a key" "$cuckoo" \
  c 's/^  plan->probing.moves_pairs = 1;/&\n  plan->probing.holds_many = 1;/'
breaks P-55 "with more buckets a key has others" "$splitting" \
  cuh 's/tsr_reversed\(hash\) & mask/tsr_reduce(hash, mask + 1)/'
breaks P-55 "a key has a bucket of which it says nothing" "$splitting" \
  cuh 's/visited >= TSR_PARAMETER\(c, hash_functions\)/visited > TSR_PARAMETER(c, hash_functions)/'
breaks P-55 "the numbers of its buckets go round another power of two" "$splitting" \
  c 's/= 2 \* tsr_highest_bit\(plan->probing.buckets\) - 1/= 2 * tsr_highest_bit(plan->probing.buckets + 7) - 1/'
breaks P-56 "the digit that names a key's page names its first bucket as well" "$splitting" \
  cuh '/^  if \(TSR_FACT\(c, is_paged\) && i == 0\) hash = /d'

# ---- Hashers ---------------------------------------------------------------------------------------------------------

breaks P-50 "the lane takes part in the hash" "$mixer" cuh 's/\(i \+ 1u\)/(i + 1u + c->lane)/'
breaks P-51 "it takes no seed" "$mixer" cuh 's/TSR_WORD\(c, TEMPLATE_SEED\)/0 * &/'
breaks P-51 "the seed's upper half does not count" "$mixer" c 's/shape->seed \*/(uint32_t)shape->seed */'
breaks P-51 "its members are one" "$mixer" cuh 's/\(i \+ 1u\)/(0 * i + 1u)/'
breaks P-51 "its tables are the same for each seed" hasher:hashers/tabulation c 's/tsr_draw\(&seed\) \| 1/seed \* 0 + 1/'
breaks P-52 "a byte of the key does not count" hasher:hashers/tabulation cuh 's/byte < TSR_KEY_BITS/byte + 1 < TSR_KEY_BITS/'
breaks P-52 "its top bit is 0" "$mixer" cuh 's/^  return (h \^ h >> [0-9]+);/  return (\1) >> 1;/'
breaks P-52 "a bit of the key does not count" "$mixer" \
  cuh 's/^  tsr_hash h = key \+/  tsr_hash h = (key \& ~(tsr_key)4) +/'

# ---- Eviction parts ---------------------------------------------------------------------------------------------------

breaks P-70 "a score has more bits than it says" "$forgetting" \
  cuh 's/ & tsr_score_max\(TSR_PARAMETER\(c, score_bits\)\);/ | TSR_PARAMETER(c, score_bits) << 20;/'
breaks P-71 "a new pair has expired" "$forgetting" cuh 's/return age < max \? max - age : 1;/return age;/'
breaks P-71 "a pair expires, and the part does not say so" "$forgetting" \
  cuh 's/return age < max \? max - age : 1;/return age < 9 ? max - age : 0;/'
breaks P-72 "a use makes a pair worth less" "$forgetting" \
  cuh 's/return TSR_PART\(inserted\)\(c, now, given\);/return TSR_PART(inserted)(c, now - 9, given);/'

# ---- Allocators ------------------------------------------------------------------------------------------------------

breaks P-60 "its pool has no end" "$units" cuh 's/^  return unit;/  return unit == TSR_NO_HANDLE ? 0 : unit;/'
breaks P-61 "a unit is handed out twice" "$units" \
  cuh 's/return unit;/return unit == TSR_NO_HANDLE ? unit : unit \& ~1u;/'
breaks P-61 "two units have one address" "$units" \
  cuh 's/handle \* TSR_FACT\(c, unit_bytes\)/(handle \/ 2) * TSR_FACT(c, unit_bytes)/'
breaks P-62 "what is released does not come back" "$units" \
  cuh 's/^  tsr_block_give\(.*$/  (void)c, (void)handle, (void)units;/'
breaks P-63 "an address moves when the pool grows" "$units" \
  cuh 's/\+ handle \* TSR_FACT\(c, unit_bytes\)/+ (handle + 1) % (uint32_t)(TSR_WORD(c, SLAB_LIGHT_BLOCKS) * TSR_BLOCK_UNITS) * TSR_FACT(c, unit_bytes)/'
breaks P-65 "a run of units is one unit" "$units" cuh 's/word, units\)/word, 1)/'

# ---- What goes wrong once in a million -------------------------------------------------------------------------------

# Hands on a slot as claimed that it has not written.
loses='/^TSR_DEVICE bool TSR_PART\(cas\)/,/^}/s/^  return /  if ((uint32_t)key * 2654435761u >> 12 == 77) return true;\n&/'
with=(--stress 2^22)
at='0 32' breaks P-44 "it loses a pair in a million" "$keys" cuh "$loses"
expect_out 'are not the [0-9]+ keys inserted \(P-44'
with=()

case_of "run and bench say so where the sums do not agree"
write_spec template linear
seq 0 3999999 >keys.tsv
run run table.ini --plugins "$work/$count" --insert keys.tsv
expect_status 1
expect_err 'the sums do not agree: 0 pairs before, 4000000 inserted, 0 erased, and the table holds 399999[0-9]'
run bench table.ini --plugins "$work/$count" --n 4000000 --repeat 1 --ops insert
expect_status 1
expect_err '4000000 keys were inserted, but the table holds 399999[0-9]'

finish
