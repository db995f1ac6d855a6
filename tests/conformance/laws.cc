// SPDX-License-Identifier: Apache-2.0
//
// laws.h for one pair of widths: BUILD gives TSR_KEY_BITS and TSR_PAYLOAD_BITS.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra" // C may mix enumerators and numbers in `?:`
#include "plugins/probing.cuh"
#pragma GCC diagnostic pop

#include "tests/conformance/laws.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/oracle/arrays.h"
#include "tests/oracle/chance.h"
#include "tests/oracle/random.h"

namespace tessera_test {
namespace {

constexpr uint32_t kHashBits = sizeof(tsr_hash) * 8;

// Of 128 bits; every second key differs from others in one half alone.
tsr_key random_key(Random &random) {
#if TSR_KEY_BITS == 128
  const uint64_t which = random.below(4);
  const tsr_key low = which == 0 ? 5 : random.next(), high = which == 1 ? 5 : random.next();
  return high << 64 | low;
#else
  return (tsr_key)random.next();
#endif
}

// The key that a number of the oracle's stands for.
tsr_key key_of(uint64_t number) {
  Keys keys(TSR_KEY_BITS, std::vector<uint64_t>{number});
  tsr_key key;
  memcpy(&key, keys.data(), sizeof key);
  return key;
}

// ---- Layout -------------------------------------------------------------------------------------

struct SlotModel {
  enum { EMPTY, FULL, ERASED } state = EMPTY;
  tsr_key key = 0;
  tsr_payload payload = 0;
};

// A table of buckets beside the real one. Every lane has one and makes the same calls with the same random numbers.
class LayoutLaws {
public:
  LayoutLaws(const tsr_ctx *c, uint64_t buckets, const tsr_plan &plan, Findings *findings)
      : c_(c), plan_(plan), findings_(findings), random_(TSR_KEY_BITS + TSR_PAYLOAD_BITS),
        slots_(TSR_FACT(c, bucket_slots)), policy_(TSR_FACT(c, duplicates)), model_(buckets * slots_) {}

  void run() {
    expect(!c_->cpu->shape->can_exchange || has_exchange(), 0, 0, "can_exchange is set, and there is no exchange");
    uint64_t all = model_.size() / slots_, hashed = c_->t->pages * c_->t->buckets;
    for (uint64_t ref = 0; ref < all; ref++) verify(ref);
    std::set<uint64_t> refs = {0, hashed - 1};
    if (TSR_FACT(c_, tile_lanes) == 1) refs.insert(hashed / 2);
    for (uint64_t ref = hashed; ref < all; ref++) refs.insert(ref); // the tail
    if (TSR_FACT(c_, has_link))
      for (uint64_t ref : refs) link(ref);
    for (uint64_t ref : refs) {
      if (has_flag() && random_.chance(2)) raise(ref);
      fill(ref);
    }
    for (uint64_t ref : refs) {
      if (has_flag() && random_.chance(2)) raise(ref);
      if (TSR_PAYLOAD_BITS && policy_ != TSR_DUPLICATES_FIRST && policy_ != TSR_DUPLICATES_PROMISE_UNIQUE) update(ref);
      if (c_->cpu->shape->can_exchange && has_exchange()) exchange(ref);
      stay_masked(ref);
      if (c_->cpu->shape->whole_pairs) swap(ref);
      erase_some(ref);
      stay_masked(ref);
      refill(ref);
    }
    for (uint64_t ref = 0; ref < all; ref++) verify(ref);
  }

private:
  template <class... Parts>
  void expect(bool right, uint64_t ref, uint32_t slot, Parts... parts) {
    findings_->expect(right, "bucket ", ref, " of ", c_->t->buckets, ", slot ", slot, " of ", slots_, ", lane ",
                      c_->lane, " of ", TSR_FACT(c_, tile_lanes), ": ", parts...);
  }

  bool has_exchange() const {
    return static_cast<const tsr_layout_functions *>(c_->cpu->functions[TSR_ROLE_LAYOUT])->exchange != nullptr;
  }

  bool has_flag() const { return c_->cpu->shape->has_flag != 0; }

  // Then a slot can hold the keys of its bucket's page alone, and tail buckets, which hold any, are raised when
  // they are full.
  bool has_short_keys() const { return c_->cpu->shape->short_keys != 0; }
  bool is_tail(uint64_t ref) const { return ref >= c_->t->pages * c_->t->buckets; }
  bool is_raised(uint64_t ref) {
    if (!has_short_keys() || !is_tail(ref)) return raised_.count(ref) != 0;
    for (uint32_t slot = 0; slot < slots_; slot++)
      if (at(ref, slot).state == SlotModel::EMPTY) return false;
    return true;
  }

  bool has_put() const {
    return static_cast<const tsr_layout_functions *>(c_->cpu->functions[TSR_ROLE_LAYOUT])->put != nullptr;
  }

  // By one lane, whichever: not the one that owns the slot.
  void put(uint64_t ref, uint32_t slot) {
    const tsr_key key = new_key(ref);
    const tsr_payload payload = new_payload();
    const uint32_t lane = (slot + 1) % TSR_FACT(c_, tile_lanes);
    if (c_->lane == lane) layout_put(c_, ref, slot, key, payload);
    tsr_ballot(c_, 1); // no lane looks before it is done
    store(ref, slot, key, payload);
    verify(ref);
  }

  // The flag is a bit of its own, raised by one lane, whichever; slots do not see it, and nothing lowers it.
  void raise(uint64_t ref) {
    const uint32_t lane = static_cast<uint32_t>(ref + 1) % TSR_FACT(c_, tile_lanes);
    tsr_bucket before = load(ref);
    tsr_ballot(c_, 1); // all lanes have looked
    if (c_->lane == lane) layout_raise(c_, ref);
    tsr_ballot(c_, 1);
    expect((layout_flag(c_, &before) != 0) == is_raised(ref), ref, 0, "flag is not what load saw");
    raised_.insert(ref);
    verify(ref);
  }

  bool fits(uint64_t ref, tsr_key key) const {
    return key < TSR_ERASED_KEY &&
           (!has_short_keys() || is_tail(ref) || tsr_page_of(c_, key) == tsr_page_of_bucket(c_, ref));
  }

  // A key of the same fingerprint, where slots hold no more of a key; it is told for all of them.
  tsr_key kept(tsr_key key) const {
    return TSR_FACT(c_, fingerprint_bits) ? tsr_key_of_fingerprint(c_, tsr_fingerprint(c_, key)) : key;
  }
  // Whether the key was used before; fingerprints are few, so those of another bucket may come again.
  bool is_used(uint64_t ref, tsr_key key) {
    if (!TSR_FACT(c_, fingerprint_bits)) return used_.count(key) != 0;
    for (uint32_t slot = 0; slot < slots_; slot++)
      if (at(ref, slot).key == kept(key)) return true;
    return false;
  }

  tsr_key new_key(uint64_t ref) {
    // keys one bit away from the markers, and the markers' substitute, are ordinary keys
    const tsr_key awkward[] = {0, 1, (tsr_key)(TSR_ERASED_KEY - 1), (tsr_key)(TSR_EMPTY_KEY >> 1)};
    for (;;) {
      tsr_key key = kept(random_.chance(4) ? awkward[random_.below(4)] : random_key(random_));
      if (fits(ref, key) && !is_used(ref, key)) {
        used_.insert(key);
        return key;
      }
      if (key < 2 || used_.size() > 1000000) continue;
    }
  }
  tsr_payload new_payload() {
    if (TSR_PAYLOAD_BITS == 0) return 0;
    const tsr_payload awkward[] = {0, (tsr_payload) ~(tsr_payload)0, (tsr_payload) ~(tsr_payload)1};
    const tsr_payload payload = random_.chance(3) ? awkward[random_.below(3)] : (tsr_payload)random_.next();
    return std::min(payload, tsr_value_max(policy_));
  }
  SlotModel &at(uint64_t ref, uint32_t slot) { return model_[ref * slots_ + slot]; }

  tsr_bucket load(uint64_t ref) {
    tsr_bucket b;
    layout_load(c_, ref, 1, random_.chance(2) ? TSR_LOAD_COHERENT : 0, &b);
    return b;
  }
  // Where nothing is written: as a find does, or as any other operation.
  tsr_bucket load_settled(uint64_t ref) {
    tsr_bucket b;
    if (random_.chance(2)) return load(ref);
    layout_load(c_, ref, 1, TSR_LOAD_SETTLED, &b);
    return b;
  }

  std::vector<uint32_t> shuffled() {
    std::vector<uint32_t> order(slots_);
    for (uint32_t i = 0; i < slots_; i++) order[i] = i;
    for (uint32_t i = slots_; i > 1; i--) std::swap(order[i - 1], order[random_.below(i)]);
    return order;
  }

  // The whole bucket against the model.
  void verify(uint64_t ref) {
    tsr_bucket b = load_settled(ref);
    uint32_t empties = 0, vacant = 0, some = static_cast<uint32_t>(random_.below(slots_)), matches = 0;
    for (uint32_t slot = 0; slot < slots_; slot++) {
      const SlotModel &m = at(ref, slot);
      empties |= (m.state == SlotModel::EMPTY ? 1u : 0u) << slot;
      vacant |= (m.state != SlotModel::FULL ? 1u : 0u) << slot;
    }
    expect(layout_empties(c_, &b) == empties, ref, 0, "empties is wrong, expected ", empties);
    expect(layout_vacant(c_, &b) == vacant, ref, 0, "vacant is wrong, expected ", vacant);
    expect(!has_flag() || (layout_flag(c_, &b) != 0) == is_raised(ref), ref, 0,
           is_raised(ref) ? "the flag was raised, and is not" : "the flag is raised, and nobody did it");
    expect(layout_match(c_, &b, absent_key(ref)) == 0, ref, 0, "matches a key that nobody stored");
    if (at(ref, some).state == SlotModel::FULL) matches = 1u << some;
    tsr_key asked = matches ? at(ref, some).key : absent_key(ref);
    expect(layout_match(c_, &b, asked) == matches, ref, some, "match is wrong, expected ", matches);
    for (uint32_t slot = 0; slot < slots_; slot++) {
      const SlotModel &m = at(ref, slot);
      if (m.state != SlotModel::FULL) continue;
      tsr_key key = layout_key(c_, &b, slot);
      tsr_payload payload = layout_payload(c_, &b, slot);
      expect(key == m.key, ref, slot, "key is ", key, ", stored was ", m.key);
      expect(payload == m.payload, ref, slot, "payload is ", payload, ", stored was ", m.payload);
    }
    verify_columns(ref);
    tsr_ballot(c_, 1); // payload may read memory: no lane goes on to change it before all have looked
  }

  const void *in_column(const tsr_slot_column &column, uint64_t i) const {
    return static_cast<const char *>(c_->t->part[TSR_ROLE_LAYOUT].region[column.region]) + column.offset_bytes +
           i * column.stride_bytes;
  }

  // The columns that plan() names hold what the functions tell, those of a bucket in any order.
  void verify_columns(uint64_t ref) {
    const bool has_payloads = TSR_PAYLOAD_BITS && plan_.payloads.stride_bytes;
    std::multiset<std::pair<tsr_key, tsr_payload>> found, expected;
    if (!plan_.keys.stride_bytes) return;
    for (uint32_t slot = 0; slot < slots_; slot++) {
      const SlotModel &m = at(ref, slot);
      tsr_key key;
      tsr_payload payload = 0;
      memcpy(&key, in_column(plan_.keys, ref * slots_ + slot), sizeof key);
      if (has_payloads) memcpy(&payload, in_column(plan_.payloads, ref * slots_ + slot), sizeof payload);
      if (key < TSR_ERASED_KEY) found.emplace(key, payload);
      if (m.state == SlotModel::FULL) expected.emplace(m.key, has_payloads ? m.payload : 0);
    }
    expect(found == expected, ref, 0, "the columns hold other pairs than the slots");
  }

  tsr_key absent_key(uint64_t ref) {
    for (;;) {
      tsr_key key = random_key(random_);
      if (fits(ref, key) && !is_used(ref, key)) return key;
    }
  }

  void store(uint64_t ref, uint32_t slot, tsr_key key, tsr_payload payload) {
    SlotModel &m = at(ref, slot);
    m.state = SlotModel::FULL;
    m.key = key;
    m.payload = TSR_PAYLOAD_BITS ? payload : 0;
  }

  // Into a vacant slot, empty or erased; a second claim with the same look must fail and change nothing.
  void claim(uint64_t ref, uint32_t slot) {
    tsr_bucket b = load(ref), stale = load(ref);
    tsr_key key = new_key(ref);
    tsr_payload payload = new_payload();
    expect(layout_cas(c_, &b, slot, key, payload), ref, slot, "cas into a vacant slot failed");
    store(ref, slot, key, payload);
    verify(ref);
    expect(!layout_cas(c_, &stale, slot, new_key(ref), new_payload()), ref, slot,
           "cas overwrote a slot that had changed");
    verify(ref);
  }

  // The link is a place of its own, changed by compare-and-swap only; slots do not see it.
  void link(uint64_t ref) {
    tsr_bucket before = load(ref);
    expect(layout_link(c_, &before) == TSR_NO_HANDLE, ref, 0, "a bucket of a cleared table links to a unit");
    expect(layout_relink(c_, ref, TSR_NO_HANDLE, 5) == TSR_NO_HANDLE, ref, 0,
           "relink found a link where there is none");
    tsr_bucket b = load(ref);
    expect(layout_link(c_, &b) == 5, ref, 0, "the link is ", layout_link(c_, &b), ", and 5 was put there");
    expect(layout_link(c_, &before) == TSR_NO_HANDLE, ref, 0, "link is not what load saw");
    verify(ref);
    expect(layout_relink(c_, ref, TSR_NO_HANDLE, 6) == 5, ref, 0, "relink expected none and did not find the link 5");
    expect(layout_relink(c_, ref, 5, 0) == 5, ref, 0, "relink expected 5 and did not find it");
    expect(layout_relink(c_, ref, 0, TSR_NO_HANDLE) == 0, ref, 0, "the link is not 0, as it was made");
    b = load(ref);
    expect(layout_link(c_, &b) == TSR_NO_HANDLE, ref, 0, "the link could not be taken away");
  }

  void fill(uint64_t ref) {
    for (uint32_t slot : shuffled())
      if (has_put() && random_.chance(2))
        put(ref, slot);
      else
        claim(ref, slot);
    verify((ref + 1) % (model_.size() / slots_)); // a neighbour
  }

  // What update has to know: the table's policy, and others where pairs are whole.
  uint32_t any_policy() {
    const uint32_t others[] = {TSR_DUPLICATES_REPLACE, TSR_DUPLICATES_ADD, TSR_DUPLICATES_MIN, TSR_DUPLICATES_MAX};
    return c_->cpu->shape->whole_pairs && random_.chance(2) ? others[random_.below(4)] : policy_;
  }

  static tsr_payload combined(uint32_t policy, tsr_payload present, tsr_payload offered) {
    switch (policy) {
    case TSR_DUPLICATES_ADD:
      return (tsr_payload)(present + offered);
    case TSR_DUPLICATES_MIN:
      return std::min(present, offered);
    case TSR_DUPLICATES_MAX:
      return std::max(present, offered);
    default:
      return TSR_POLICY_COUNTS(policy) ? counted(policy, present, offered) : offered;
    }
  }

  // As a wide sum has it.
  static tsr_payload counted(uint32_t policy, tsr_payload present, tsr_payload offered) {
    const tsr_u128 sum = (tsr_u128)present + offered, most = tsr_value_max(policy);
    return (tsr_payload)std::min(sum, most);
  }

  // Asked by all lanes together.
  bool holds(uint64_t ref, uint32_t slot, tsr_payload payload) {
    tsr_bucket b = load(ref);
    const bool is_there = layout_payload(c_, &b, slot) == payload;
    tsr_ballot(c_, 1); // payload may read memory: no lane goes on to change it before all have looked
    return is_there;
  }

  void update(uint64_t ref) {
    for (uint32_t slot : shuffled()) {
      tsr_bucket b = load(ref);
      for (int i = 0; i < 3; i++) { // also with a look that is older than the value: then it may fail, and does nothing
        tsr_payload offered = new_payload();
        const uint32_t policy = any_policy();
        const tsr_payload present = at(ref, slot).payload;
        const bool overflows = TSR_FACT(c_, tells_overflow) &&
                               (tsr_overflows(policy, present, offered) || tsr_stops(policy, present, offered));
        const uint32_t before = c_->scratch->overflows;
        const bool updated = layout_update(c_, &b, slot, policy, offered);
        const uint32_t told = c_->scratch->overflows - before;
        expect(TSR_FACT(c_, tile_lanes) > 1 || told == (updated && overflows), ref, slot, "update counted ", told,
               " sums past the largest value, and ", updated && overflows, " did");
        expect(updated || i > 0, ref, slot, "update of a slot as it was loaded failed");
        // an older look's value may count as put before the one that is there, where values are replaced
        const bool is_overwritten = updated && i > 0 && policy == TSR_DUPLICATES_REPLACE && !holds(ref, slot, offered);
        if (updated && !is_overwritten) at(ref, slot).payload = combined(policy, at(ref, slot).payload, offered);
      }
      verify(ref);
    }
  }

  void exchange(uint64_t ref) {
    for (uint32_t slot : shuffled()) {
      tsr_bucket stale = load(ref);
      tsr_key given = new_key(ref), key = given;
      tsr_payload given_payload = new_payload(), payload = given_payload;
      expect(layout_exchange(c_, ref, slot, &key, &payload), ref, slot, "exchange failed");
      expect(key == at(ref, slot).key && payload == at(ref, slot).payload, ref, slot, "exchange returned ", key, ", ",
             payload, ", stored was ", at(ref, slot).key, ", ", at(ref, slot).payload);
      store(ref, slot, given, given_payload);
      verify(ref);
      expect(!layout_cas(c_, &stale, slot, new_key(ref), new_payload()), ref, slot, "cas overwrote an exchanged pair");
      if (TSR_PAYLOAD_BITS && policy_ != TSR_DUPLICATES_FIRST && !tsr_keys_stay(c_)) // who says so never exchanges
        expect(!layout_update(c_, &stale, slot, policy_, new_payload()), ref, slot,
               "update touched a slot that holds another key");
      expect(!layout_erase(c_, &stale, slot), ref, slot, "erase removed a key that it did not see");
      verify(ref);
      tsr_bucket b = load(ref); // a full slot that has not changed may be swapped by cas too
      tsr_key next = new_key(ref);
      tsr_payload next_payload = new_payload();
      expect(layout_cas(c_, &b, slot, next, next_payload), ref, slot, "cas of an unchanged pair failed");
      store(ref, slot, next, next_payload);
    }
    verify(ref);
  }

  // Whole pairs: what a step of any operation does to a slot is one cas.
  void swap(uint64_t ref) {
    for (uint32_t slot : shuffled()) {
      const bool erases = random_.chance(3);
      tsr_bucket b = load(ref), stale = load(ref);
      const tsr_payload payload = erases ? (tsr_payload) ~(tsr_payload)0 : (tsr_payload)(at(ref, slot).payload + 1);
      expect(layout_cas(c_, &b, slot, erases ? TSR_ERASED_KEY : at(ref, slot).key, payload), ref, slot,
             erases ? "cas could not erase a pair" : "cas could not change a pair");
      store(ref, slot, at(ref, slot).key, payload);
      if (erases) at(ref, slot).state = SlotModel::ERASED;
      verify(ref);
      const bool changed = erases || TSR_PAYLOAD_BITS > 0; // a key alone is now what it was
      expect(!changed || !layout_erase(c_, &stale, slot), ref, slot, "erase removed a pair that cas had changed");
    }
    verify(ref);
    refill(ref);
  }

  void erase_some(uint64_t ref) {
    for (uint32_t slot : shuffled()) {
      if (random_.chance(3)) continue;
      tsr_bucket b = load(ref), stale = load(ref);
      expect(layout_erase(c_, &b, slot), ref, slot, "erase of a pair failed");
      at(ref, slot).state = SlotModel::ERASED;
      verify(ref);
      tsr_bucket after = load(ref);
      expect(layout_match(c_, &after, at(ref, slot).key) == 0, ref, slot, "an erased key still matches");
      expect(!layout_erase(c_, &stale, slot), ref, slot, "a pair was erased twice");
      expect(!layout_cas(c_, &stale, slot, new_key(ref), new_payload()), ref, slot,
             "cas took an erased slot for its pair");
      verify(ref);
    }
  }

  // A tile without work makes all calls that change memory, and changes nothing.
  void stay_masked(uint64_t ref) {
    const tsr_ctx masked = tsr_masked(c_, 0);
    for (uint32_t slot : shuffled()) {
      tsr_bucket b = load(ref);
      layout_cas(&masked, &b, slot, new_key(ref), new_payload());
      if (TSR_PAYLOAD_BITS && at(ref, slot).state == SlotModel::FULL)
        layout_update(&masked, &b, slot, any_policy(), new_payload());
      layout_erase(&masked, &b, slot);
    }
    verify(ref);
  }

  // Tombstones are used again; no slot is empty any more.
  void refill(uint64_t ref) {
    for (uint32_t slot : shuffled())
      if (at(ref, slot).state == SlotModel::ERASED) claim(ref, slot);
  }

  const tsr_ctx *c_;
  const tsr_plan &plan_;
  Findings *findings_;
  Random random_;
  uint32_t slots_, policy_;
  std::vector<SlotModel> model_;
  std::set<tsr_key> used_;
  std::set<uint64_t> raised_; // buckets
};

void layout_laws(const tsr_ctx *c, uint64_t buckets, const tsr_plan &plan, Findings *findings) {
  LayoutLaws(c, buckets, plan, findings).run();
}

// The payload that belongs to a key, so that a torn pair shows.
tsr_payload payload_of(tsr_key key) { return (tsr_payload)((uint64_t)key * 0x9E3779B97F4A7C15u); }

void race_laws(const tsr_ctx *writer, const tsr_ctx *reader, uint64_t rounds, Findings *findings) {
  const uint32_t slots = TSR_FACT(writer, bucket_slots);
  const uint64_t full = (slots < 32 ? 1ull << slots : 1ull << 32) - 1;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> seen{0}, changes{0};
  std::thread writing([&] {
    Random random(1);
    // On a busy machine the threads take turns, and a reader that looks at one state again and again sees nothing torn: what
    // counts are looks between which the writer came. The last bound is for a layout that never shows a pair.
    for (uint64_t round = 0; (round < rounds || changes.load() < 100) && round < 1000 * rounds; round++) {
      uint32_t slot = static_cast<uint32_t>(random.below(slots));
      tsr_key key;
      do key = random_key(random) >> 1; // below the markers
      while (writer->cpu->shape->short_keys && tsr_page_of(writer, key) != 0);
      tsr_bucket b;
      layout_load(writer, 0, 1, TSR_LOAD_COHERENT, &b);
      if (layout_vacant(writer, &b) >> slot & 1)
        layout_cas(writer, &b, slot, key, payload_of(key));
      else
        layout_erase(writer, &b, slot);
    }
    done.store(true);
  });
  tsr_bucket last = {};
  while (!done.load()) {
    tsr_bucket b = {};
    layout_load(reader, 0, 1, TSR_LOAD_COHERENT, &b);
    changes += memcmp(&b, &last, sizeof b) != 0;
    last = b;
    for (uint64_t mask = full & ~uint64_t{layout_vacant(reader, &b)}; mask; mask &= mask - 1, seen++) {
      uint32_t slot = tsr_lowest((uint32_t)mask);
      tsr_key key = layout_key(reader, &b, slot);
      tsr_payload payload = layout_payload(reader, &b, slot);
      if (payload != payload_of(key))
        findings->expect(false, "slot ", slot, " of ", slots, ": key ", key, " was read with payload ", payload,
                         ", and was stored with ", payload_of(key), " alone");
    }
  }
  writing.join();
  findings->expect(seen > 0, "the reader saw no pair");
}

// ---- Hasher -------------------------------------------------------------------------------------

constexpr uint32_t members[] = {0, 1, 2, 3, 7, 1000, 0xFFFFFFFF};

// How many of n random keys have the same hash by both.
uint64_t common(const tsr_ctx *a, uint32_t i, const tsr_ctx *b, uint32_t j, uint64_t n) {
  Random random(i * 31 + j);
  uint64_t same = 0;
  for (uint64_t k = 0; k < n; k++) {
    tsr_key key = random_key(random);
    same += hasher_hash(a, key, i) == hasher_hash(b, key, j);
  }
  return same;
}

void unhash_laws(const tsr_ctx *c, Findings *findings) {
  const tsr_key awkward[] = {0, 1, TSR_ERASED_KEY, TSR_EMPTY_KEY};
  if (!static_cast<const tsr_hasher_functions *>(c->cpu->functions[TSR_ROLE_HASHER])->unhash) return;
  Random random(TSR_KEY_BITS);
  for (uint64_t k = 0; k < 1000; k++) {
    const tsr_key key = k < 4 ? awkward[k] : random_key(random);
    const tsr_key told = hasher_unhash(c, hasher_hash(c, key, 0));
    findings->expect(told == key, "unhash says that the key was ", told, ", and it was ", key);
  }
}

void hasher_laws(const tsr_ctx *same[2], const std::vector<tsr_ctx> &others, Findings *findings) {
  unhash_laws(same[0], findings);
  constexpr uint64_t n = 500, few = 5; // of n random keys two good functions agree on none
  for (uint32_t i : members) {
    findings->expect(common(same[0], i, same[1], i, n) == n, "member ", i, ": one seed gives two functions");
    tsr_ctx elsewhere = *same[0]; // a function of (key, i, state) alone
    elsewhere.lane = 5;
    elsewhere.base = 8;
    elsewhere.table = 3;
    findings->expect(common(same[0], i, &elsewhere, i, n) == n, "member ", i, ": the lane changes the hash");
    tsr_ctx other = *same[0];
    other.alone = !other.alone;
    other.still = !other.still;
    findings->expect(common(same[0], i, &other, i, n) == n, "member ", i, ": c->alone or c->still changes the hash");
    for (size_t other = 0; other < others.size(); other++)
      findings->expect(common(same[0], i, &others[other], i, n) <= few, "member ", i, ": seed number ", other,
                       " gives the same function");
    for (uint32_t j : members)
      if (i < j)
        findings->expect(common(same[0], i, same[0], j, n) <= few, "members ", i, " and ", j, " are the same function");
  }
}

// One in twenty from even, or what chance alone does to a small sample: a good hasher has 80 000 bits to fail at, for all
// widths, seeds and three members, and does so once in 10^7 runs.
void avalanche(const std::vector<tsr_ctx> &seeds, uint32_t i, uint64_t sample, Findings *findings) {
  const double least = std::min(0.45, (double)fewest_of(sample, 0.5, 1e-13) / (double)sample);
  std::vector<uint64_t> flips(TSR_KEY_BITS * kHashBits);
  Random random(i);
  for (uint64_t k = 0; k < sample; k++) {
    tsr_key key = random_key(random);
    const tsr_ctx *c = &seeds[k % seeds.size()];
    tsr_hash hash = hasher_hash(c, key, i);
    for (uint32_t in = 0; in < TSR_KEY_BITS; in++) {
      tsr_hash change = hash ^ hasher_hash(c, key ^ (tsr_key)1 << in, i);
      for (uint32_t out = 0; out < kHashBits; out++) flips[in * kHashBits + out] += change >> out & 1;
    }
  }
  for (uint32_t in = 0; in < TSR_KEY_BITS; in++)
    for (uint32_t out = 0; out < kHashBits; out++) {
      double p = (double)flips[in * kHashBits + out] / (double)sample;
      findings->expect(p >= least && p <= 1 - least, "member ", i, ": key bit ", in, " flips hash bit ", out,
                       " with probability ", p);
    }
}

// Each bit is 1 as often as chance would have it: a large sample, for what avalanche does not see in a small one. It is asked
// 480 times for each seed.
void even_bits(const tsr_ctx *c, uint32_t i, uint64_t sample, Findings *findings) {
  const uint64_t least = fewest_of(sample, 0.5, 1e-13);
  std::vector<uint64_t> ones(kHashBits);
  Random random(i + 17);
  for (uint64_t k = 0; k < sample; k++) {
    const tsr_hash hash = hasher_hash(c, random_key(random), i);
    for (uint32_t bit = 0; bit < kHashBits; bit++) ones[bit] += hash >> bit & 1;
  }
  for (uint32_t bit = 0; bit < kHashBits; bit++)
    findings->expect(ones[bit] >= least && ones[bit] <= sample - least, "member ", i, ": hash bit ", bit, " is 1 for ",
                     ones[bit], " of ", sample, " random keys");
}

// Standard deviations by which the buckets are less even than chance would have them. It is asked some 340 times for a
// hasher, each of which a good one fails with a probability below 10^-10.
double unevenness(const std::vector<uint64_t> &counts, uint64_t n) {
  double expected = (double)n / (double)counts.size(), chi_square = 0;
  for (uint64_t count : counts) chi_square += ((double)count - expected) * ((double)count - expected) / expected;
  return deviations_of_chi_square(chi_square, (double)counts.size() - 1);
}

void even_buckets(const tsr_ctx *c, uint32_t i, uint64_t buckets, Findings *findings) {
  const uint64_t n = 32 * buckets;
  Random random(buckets);
  struct Set {
    const char *name;
    tsr_key first, stride; // 0: random keys
  };
  const Set sets[] = {{"random", 0, 0},
                      {"sequential", 0, 1},
                      {"sequential", 123456789, 1},
                      {"every 8th", 0, 8},
                      {"every 4096th", 0, 4096},
                      {"every 12345th", 0, 12345},
                      {"high bits", 0, (tsr_key)1 << (TSR_KEY_BITS - 17)}};
  for (const Set &set : sets) {
    std::vector<uint64_t> counts(buckets);
    uint64_t distinct = set.stride ? (uint64_t)std::min<tsr_u128>(n, (tsr_key) ~(tsr_key)0 / set.stride) : n;
    for (uint64_t k = 0; k < distinct; k++) {
      tsr_key key = set.stride ? (tsr_key)(set.first + k * set.stride) : random_key(random);
      uint64_t bucket = tsr_reduce(hasher_hash(c, key, i), buckets);
      if (findings->expect(bucket < buckets, "bucket ", bucket, " of ", buckets)) counts[bucket]++;
    }
    double off = unevenness(counts, distinct);
    findings->expect(off < kDeviations, "member ", i, ": ", set.name, " keys in ", buckets, " buckets are ", off,
                     " standard deviations too uneven");
  }
}

// Two members send a key to one bucket no more often than chance would.
void independent_members(const tsr_ctx *c, uint64_t buckets, uint64_t sample, Findings *findings) {
  for (uint32_t i = 0; i < 4; i++)
    for (uint32_t j = i + 1; j < 4; j++) {
      uint64_t same = 0;
      for (uint64_t key = 0; key < sample; key++)
        same += tsr_reduce(hasher_hash(c, (tsr_key)key, i), buckets) ==
                tsr_reduce(hasher_hash(c, (tsr_key)key, j), buckets);
      findings->expect(same <= most_of(sample, 1 / (double)buckets), "members ", i, " and ", j, " agree on ", same,
                       " of ", sample, " sequential keys in ", buckets, " buckets");
    }
}

void mixing_laws(const std::vector<tsr_ctx> &seeds, uint64_t sample, Findings *findings) {
  const tsr_ctx *c = &seeds[0];
  for (uint32_t i : {0u, 1u, 3u}) {
    avalanche(seeds, i, sample, findings);
    even_bits(c, i, 50 * sample, findings);
    for (uint64_t buckets : {64u, 1000u, 1021u, 1024u}) even_buckets(c, i, buckets, findings);
  }
  independent_members(c, 64, 4 * sample, findings);
}

// ---- Probing ------------------------------------------------------------------------------------

// All buckets of a key's walk, in order; stops when it is longer than any law allows.
std::vector<uint64_t> walk_of(const tsr_ctx *c, tsr_key key, uint64_t limit, uint64_t *left = nullptr) {
  std::vector<uint64_t> refs;
  tsr_probe probe = {};
  while (refs.size() <= limit && probing_next(c, key, &probe)) {
    refs.push_back(probe.ref);
    probe.visited++;
  }
  if (left) *left = probe.ref;
  return refs;
}

// Offsets by chance, many of them equal, over all slots: the walk is what is between the key's two.
void list_laws(const tsr_ctx *c, uint64_t keys, Findings *findings) {
  const uint64_t lists = c->t->lists, slots = TSR_FACT(c, bucket_slots), all = c->t->buckets * slots;
  auto *offsets = static_cast<uint32_t *>(c->t->part[TSR_ROLE_PROBING].region[0]);
  Random random(lists);
  uint64_t next = 0;
  for (uint64_t list = 0; list <= lists; list++) {
    offsets[list] = static_cast<uint32_t>(next);
    if (random.chance(2)) next = std::min(all, next + random.below(2 * slots + 2));
  }
  for (size_t list = lists; list <= lists + TSR_TAIL_RESERVED; list++) offsets[list] = static_cast<uint32_t>(all);
  for (uint64_t k = 0; k < keys; k++) {
    const tsr_key key = random_key(random);
    if (key >= TSR_ERASED_KEY) continue;
    const uint64_t list = tsr_list_of(c, key), begin = offsets[list], end = offsets[list + 1];
    std::vector<uint64_t> expected;
    for (uint64_t ref = begin / slots; begin < end && ref <= (end - 1) / slots; ref++) expected.push_back(ref);
    uint64_t left;
    findings->expect(walk_of(c, key, c->t->buckets + 1, &left) == expected, "the walk of key ", key,
                     " is not its list, slots ", begin, " to ", end, " of ", all);
    findings->expect(left < c->t->buckets, "the walk of key ", key, " ends with ref ", left, " of ", c->t->buckets,
                     " buckets");
  }
}

// Builds the scheme's memory from these keys, and returns the bucket of each. The keys of a page are in the order that is
// given, or in the opposite one.
std::vector<uint64_t> built(const tsr_ctx *c, std::vector<tsr_key> keys, bool backwards) {
  const uint64_t pages = c->cpu->shape->build_pages;
  const auto page_of = [&](tsr_key key) { return tsr_build_page_of(c, key, pages); };
  std::vector<tsr_key> in_order = keys;
  if (backwards) std::reverse(in_order.begin(), in_order.end());
  std::stable_sort(in_order.begin(), in_order.end(), [&](tsr_key a, tsr_key b) { return page_of(a) < page_of(b); });
  std::vector<tsr_u128> memory(c->cpu->shape->build_bytes / sizeof(tsr_u128) + 1);
  uint64_t begin = 0;
  for (uint64_t page = 0; page < pages; page++) {
    uint64_t end = begin;
    while (end < in_order.size() && page_of(in_order[end]) == page) end++;
    std::memset(memory.data(), 0xA5, memory.size() * sizeof memory[0]);
    const tsr_build_page own = {in_order.data() + begin, (uint32_t)(end - begin), page, begin, memory.data()};
    probing_build(c, &own);
    begin = end;
  }
  std::vector<uint64_t> buckets;
  for (tsr_key key : keys) {
    const std::vector<uint64_t> walk = walk_of(c, key, 2);
    buckets.push_back(walk.empty() ? UINT64_MAX : walk[0]);
  }
  return buckets;
}

// build() finds each of as many distinct keys as the table is for a bucket with room, and fewer keys as well, whatever
// their order; and it ends for equal keys.
void build_laws(const tsr_ctx *c, Findings *findings) {
  Random random(c->t->buckets);
  std::set<tsr_key> drawn;
  while (drawn.size() < c->cpu->shape->capacity) {
    const tsr_key key = random_key(random);
    if (key < TSR_ERASED_KEY) drawn.insert(key);
  }
  std::vector<tsr_key> all(drawn.begin(), drawn.end());
  std::shuffle(all.begin(), all.end(), std::mt19937_64(1));
  for (size_t n : {all.size(), all.size() / 3 + 1, size_t{1}}) {
    const std::vector<tsr_key> keys(all.begin(), all.begin() + (long)n);
    const std::vector<uint64_t> buckets = built(c, keys, false);
    std::map<uint64_t, uint64_t> fill;
    uint64_t beyond = 0;
    for (uint64_t bucket : buckets) {
      if (!findings->expect(bucket < c->t->buckets, "after build() of ", n, " keys a walk begins at bucket ", bucket,
                            " of ", c->t->buckets))
        return;
      beyond += ++fill[bucket] > TSR_FACT(c, bucket_slots);
    }
    findings->expect(beyond <= n / 1000, "build() leaves ", beyond, " of ", n, " distinct keys without room");
    findings->expect(built(c, keys, true) == buckets, "build() depends on the order of the keys of a page");
  }
  built(c, std::vector<tsr_key>(all.size(), all[0]), false); // its bounds: the test has a time limit
  built(c, all, false);
}

// Two keys of one fingerprint that share a bucket share all of them, and after() leads from each to another of them, given
// any key of the fingerprint.
void fingerprint_laws(const tsr_ctx *c, uint64_t keys, Findings *findings) {
  std::map<std::pair<uint32_t, uint64_t>, std::set<uint64_t>> walks;
  Random random(keys);
  for (uint64_t k = 0; k < std::min<uint64_t>(100 * keys, 20000); k++) {
    const tsr_key key = random_key(random);
    if (key >= TSR_ERASED_KEY) continue;
    const uint32_t fingerprint = tsr_fingerprint(c, key);
    const tsr_key known = tsr_key_of_fingerprint(c, fingerprint);
    const std::vector<uint64_t> walk = walk_of(c, key, 4 * c->t->buckets + 256);
    const std::set<uint64_t> refs(walk.begin(), walk.end());
    for (uint64_t ref : refs) {
      tsr_placing placing = {};
      const uint64_t next = probing_after(c, known, ref, &placing);
      findings->expect(refs.count(next) != 0, "after bucket ", ref, " a fingerprint of key ", key, " goes to bucket ",
                       next, ", where the key is not looked for");
      const std::set<uint64_t> &others = walks.insert({{fingerprint, ref}, refs}).first->second;
      findings->expect(others == refs, "key ", key, " shares bucket ", ref, " with a key of fingerprint ", fingerprint,
                       ", and not all of its buckets");
    }
  }
}

void walk_laws(const tsr_ctx *c, uint64_t keys, Findings *findings) {
  if (c->cpu->shape->by_fingerprint) fingerprint_laws(c, keys, findings);
  if (TSR_FACT(c, has_lists)) {
    list_laws(c, keys, findings);
    return;
  }
  const uint64_t buckets = c->t->buckets, limit = 4 * buckets + 256;
  Random random(buckets);
  tsr_key before = 0;
  for (uint64_t k = 0; k < keys; k++) {
    const tsr_key awkward[] = {0, 1, (tsr_key)(TSR_ERASED_KEY - 1)};
    tsr_key key = k < 3 ? awkward[k] : random_key(random);
    if (key >= TSR_ERASED_KEY) continue; // parts never see the markers
    uint64_t left;
    std::vector<uint64_t> walk = walk_of(c, key, limit, &left);
    findings->expect(left < buckets, "the walk of key ", key, " ends with ref ", left, " of ", buckets, " buckets");
    findings->expect(!walk.empty(), "key ", key, " may live nowhere");
    if (!findings->expect(walk.size() <= limit, "the walk of key ", key, " over ", buckets, " buckets does not end"))
      continue;
    uint64_t highest = walk.empty() ? 0 : *std::max_element(walk.begin(), walk.end());
    if (!findings->expect(highest < buckets, "the walk of key ", key, " goes to bucket ", highest, " of ", buckets))
      continue;
    walk_of(c, before, limit); // another key's walk between must not matter
    findings->expect(walk_of(c, key, limit) == walk, "the second walk of key ", key, " differs from the first");
    tsr_ctx elsewhere = *c; // a function of key, probe and state alone
    elsewhere.lane = 5;
    elsewhere.base = 8;
    elsewhere.table = 3;
    findings->expect(walk_of(&elsewhere, key, limit) == walk, "the lane changes the walk of key ", key);
    tsr_ctx other = *c;
    other.alone = !c->alone;
    findings->expect(walk_of(&other, key, limit) == walk, "the walk of key ", key,
                     " is another one where no other thread is at the table (c->alone), as when it grows");
    other = *c;
    other.still = !c->still;
    findings->expect(walk_of(&other, key, limit) == walk, "the walk of key ", key,
                     " is another one where nothing moves a pair (c->still)");
    before = key;
    if (walk.size() < buckets) continue;
    std::vector<bool> visited(buckets);
    uint64_t twice = 0;
    for (uint64_t ref : walk) {
      twice += visited[ref];
      visited[ref] = true;
    }
    // as long as the table and longer: then it must be a permutation; cuckoo-like walks of tiny tables may repeat
    bool covers = std::find(visited.begin(), visited.end(), false) == visited.end();
    if (buckets > 64)
      findings->expect(twice == 0 && covers, "the walk of key ", key, " has ", walk.size(), " steps in ", buckets,
                       " buckets, ", twice, " of them in vain");
  }
}

// Nothing but that walks end, of very many keys.
void end_laws(const tsr_ctx *c, uint64_t keys, Findings *findings) {
  const uint64_t buckets = c->t->buckets, limit = 4 * buckets + 256;
  if (TSR_FACT(c, has_lists)) return; // a walk is a list, and ends with it
  Random random(keys);
  for (uint64_t k = 0; k < keys; k++) {
    const tsr_key key = random_key(random);
    if (key >= TSR_ERASED_KEY) continue;
    tsr_probe probe = {};
    while (probe.visited <= limit && probing_next(c, key, &probe)) probe.visited++;
    findings->expect(probe.visited <= limit, "the walk of key ", key, " over ", buckets, " buckets does not end");
  }
}

// The keys of a page share the leading digit of their hash. A scheme that names buckets by that digit has few first buckets
// in a page, and others in the next one. A bucket that is the first of keys in one page should be that of some of 64 keys per bucket
// in each, with one exception in e^64; in e^32 where a bucket that is not split yet has twice the keys of others.
void page_laws(const tsr_ctx *c, Findings *findings) {
  enum { KEYS = 64 };
  const uint64_t buckets = c->t->buckets, pages = c->t->pages;
  std::vector<bool> named(pages * buckets);
  Random random(buckets);
  for (uint64_t k = 0; k < KEYS * buckets * pages; k++) {
    const tsr_key key = random_key(random);
    if (key >= TSR_ERASED_KEY) continue;
    tsr_probe probe = {};
    probe.page = tsr_page_of(c, key);
    if (probing_next(c, key, &probe) && probe.ref < buckets) named[probe.page * buckets + probe.ref] = true;
  }
  uint64_t firsts = 0, missed = 0; // a scheme may begin in some buckets only
  for (uint64_t bucket = 0; bucket < buckets; bucket++) {
    uint64_t in = 0;
    for (uint64_t page = 0; page < pages; page++) in += named[page * buckets + bucket];
    firsts += in ? pages : 0;
    missed += in ? pages - in : 0;
  }
  findings->expect(missed == 0, missed, " of ", firsts, " buckets, in which walks begin in one of ", pages,
                   " pages, are the first of no key's walk in theirs");
}

std::vector<uint64_t> one_walk(const tsr_ctx *c, uint64_t key, uint64_t limit) {
  return walk_of(c, (tsr_key)key, limit);
}

bool is_same(const tsr_choice &a, const tsr_choice &b) {
  return a.claims == b.claims && a.evicts == b.evicts && a.passes == b.passes && a.slot == b.slot && a.note == b.note;
}

// What place() decides for a new pair at a bucket of its walk: as the scheme's facts say. The core takes no
// eviction from a scheme that has not said moves_pairs, so that a table would only be emptier than it could be.
void decision_laws(const tsr_ctx *c, tsr_key key, uint64_t ref, const tsr_bucket &b, Findings *findings) {
  const tsr_sight seen = {&b, ref, layout_vacant(c, &b) != 0};
  tsr_placing placing = {}, again = {};
  placing.ref = again.ref = ref;
  const tsr_choice choice = probing_place(c, key, &seen, &placing);
  findings->expect(!choice.evicts || c->cpu->shape->moves_pairs,
                   "a pair was to be evicted, but plan() does not say moves_pairs");
  if (choice.evicts)
    findings->expect(choice.slot < TSR_FACT(c, bucket_slots), "the pair in slot ", choice.slot, " of ",
                     TSR_FACT(c, bucket_slots), " was to be evicted");
  if (!c->cpu->shape->asks_for_room) return;
  tsr_bucket other = b; // with other residents
  for (uint32_t i = 0; i < TSR_BUCKET_WORDS; i++) other.word[i] = (i + (uint32_t)key) * 0x9E3779B9u >> 1;
  const tsr_sight blind = {&other, ref, seen.has_room};
  findings->expect(is_same(choice, probing_place(c, key, &blind, &again)), "the residents of bucket ", ref,
                   " change what place() decides for key ", key, ", but plan() says asks_for_room");
}

void placement_laws(const tsr_ctx *c, const std::vector<uint64_t> &keys, Findings *findings) {
  for (uint64_t number : keys) {
    tsr_key key = key_of(number);
    if (key >= TSR_ERASED_KEY) continue;
    bool found = false;
    const tsr_shape *shape = c->cpu->shape;
    const bool has_flags = shape->has_flag && !shape->has_lists && !shape->has_notes;
    const uint64_t page = tsr_page_begin(c, shape->is_paged ? tsr_page_of(c, key) : 0);
    uint64_t step = 0, passed_an_empty = 0, first_filled = 0, passed_unflagged = 0;
    std::vector<uint64_t> walk = walk_of(c, key, 4 * c->t->buckets + 256);
    for (size_t at = 0; at < walk.size(); at++) {
      tsr_bucket b;
      layout_load(c, page + walk[at], 1, TSR_LOAD_COHERENT, &b);
      if (TSR_FACT(c, has_link) && layout_link(c, &b) != TSR_NO_HANDLE) // the bucket's list belongs to the walk
        walk.insert(walk.begin() + static_cast<long>(at) + 1, TSR_UNIT_REF | layout_link(c, &b));
      if (!(walk[at] & TSR_UNIT_REF)) decision_laws(c, key, walk[at], b, findings);
      if (step == 0) first_filled = TSR_FACT(c, bucket_slots) - tsr_count_bits(layout_empties(c, &b));
      found = layout_match(c, &b, key) != 0;
      if (found) break;
      if (layout_empties(c, &b) && !passed_an_empty) passed_an_empty = step + 1;
      if (has_flags && !layout_flag(c, &b) && !passed_unflagged) passed_unflagged = step + 1;
      step++;
    }
    if (!findings->expect(found, "key ", key, " is in the table, but not on its walk")) continue;
    findings->expect(!passed_unflagged, "key ", key, " is at step ", step, " of its walk, but the flag at step ",
                     passed_unflagged - 1, " is not raised");
    if (shape->ends_at_empty || passed_an_empty <= shape->ordered)
      findings->expect(!passed_an_empty, "key ", key, " is at step ", step, " of its walk, but step ",
                       passed_an_empty - 1, " has an empty slot");
    if (step > 0)
      findings->expect(first_filled >= TSR_FACT(c, first_slots), "key ", key, " is at step ", step,
                       " of its walk, but its first bucket has had only ", first_filled, " pairs");
  }
}

} // namespace

extern const Laws TSR_ENTRY(laws);
const Laws TSR_ENTRY(laws) = {TSR_KEY_BITS, TSR_PAYLOAD_BITS, layout_laws, race_laws, hasher_laws, mixing_laws,
                              walk_laws,    end_laws,         build_laws,  one_walk,  page_laws,   placement_laws};

} // namespace tessera_test
