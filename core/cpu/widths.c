/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the bulk operations of a pair of widths (bulk.h), and the functions of the parts.
 */
#include "core/compose/composition.h"
#include "core/cpu/bulk.h"

#define EACH_WIDTH(F) F(k32c0) F(k32c32) F(k32c64) F(k64c0) F(k64c32) F(k64c64) F(k128c0) F(k128c32) F(k128c64)

#define DECLARE(widths) extern const tsr_cpu_bulk tsr_cpu_bulk_##widths;
EACH_WIDTH(DECLARE)

const tsr_cpu_bulk *tsr_cpu_bulk_for(uint32_t key_bits, uint32_t payload_bits) {
#define ROW(widths) &tsr_cpu_bulk_##widths,
  static const tsr_cpu_bulk *const tables[] = {EACH_WIDTH(ROW)};
  for (uint32_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    if (tables[i]->key_bits == key_bits && tables[i]->payload_bits == payload_bits) return tables[i];
  return 0;
}

tsr_cpu tsr_cpu_of(const tsr_composition *composition) {
  tsr_cpu cpu = {.shape = &composition->shape, .core = &composition->facts};
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    const tsr_part *part = &composition->part[role];
    cpu.config[role] = part->config;
    cpu.functions[role] = part->image ? part->image->functions : NULL;
  }
  return cpu;
}
