/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys mixed by a function that has an inverse, so that a mixed key is a hash and a key: the finalizers of MurmurHash3
 * (Appleby). groups.h orders mixed keys; match.h joins them. Compiles as C11 and CUDA C.
 */
#ifndef TSR_BATCH_MIX_H
#define TSR_BATCH_MIX_H

#include "core/kernels/steps.h"

TSR_STEP_FUNCTION uint32_t tsr_mix_32(uint32_t key, uint64_t seed) {
  uint32_t h = key ^ (uint32_t)seed;
  h = (h ^ h >> 16) * 0x85EBCA6Bu;
  h = (h ^ h >> 13) * 0xC2B2AE35u;
  return h ^ h >> 16;
}
TSR_STEP_FUNCTION uint32_t tsr_unmix_32(uint32_t mixed, uint64_t seed) {
  uint32_t h = (mixed ^ mixed >> 16) * 0x7ED1B41Du;
  h = (h ^ h >> 13 ^ h >> 26) * 0xA5CB9243u;
  return h ^ h >> 16 ^ (uint32_t)seed;
}
TSR_STEP_FUNCTION uint64_t tsr_mix_64(uint64_t key, uint64_t seed) {
  uint64_t h = key ^ seed;
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
  return h ^ h >> 33;
}
TSR_STEP_FUNCTION uint64_t tsr_unmix_64(uint64_t mixed, uint64_t seed) {
  uint64_t h = (mixed ^ mixed >> 33) * 0x9CB4B2F8129337DBu;
  h = (h ^ h >> 33) * 0x4F74430C22A54005u;
  return h ^ h >> 33 ^ seed;
}

#endif
