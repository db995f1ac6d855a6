/* SPDX-License-Identifier: Apache-2.0
 *
 * layout fingerprint: descriptor and plan. What it does: fingerprint.cuh.
 */
#include "fingerprint.cuh"

static tsr_status fingerprint_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  const uint32_t bits = own->fingerprint_bits;
  if (bits != 8 && bits != 16 && bits != 32)
    return tsr_fail(error, TSR_INCOMPATIBLE, "[layout] fingerprint_bits = %u: must be 8, 16 or 32", bits);
  if (bits >= shape->key_bits)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[layout] fingerprint_bits = %u with key_bits = %u: a whole key takes no more, and never errs: use "
                    "kind = set, or fewer bits",
                    bits, shape->key_bits);
  tsr_status status = tsr_plan_buckets(shape, own->bucket_slots, 1, bits / 8, plan, error);
  if (status) return status;
  plan->layout.can_exchange = 1;
  plan->layout.whole_pairs = 1;
  plan->layout.fingerprint_bits = bits;
  plan->regions[0] = (tsr_region){.name = "fingerprints", .bytes_per_bucket = plan->layout.bucket_bytes};
  return TSR_OK;
}

TSR_PLUGIN(fingerprint_plan,
           "A few bits of each key's hash, and no keys: for filters from which keys can be erased. An absent key seems "
           "present if a key of its buckets has the same bits. Needs an invertible hasher and a scheme that moves "
           "fingerprints.",
           "Fan et al. 2014, section 3");
