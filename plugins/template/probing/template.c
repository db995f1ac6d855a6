/* SPDX-License-Identifier: Apache-2.0
 *
 * probing template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

static tsr_status template_plan(const void *config, tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (shape->buckets > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = template counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise "
                    "[layout] bucket_slots",
                    (unsigned long long)shape->buckets);
  shape->ends_at_empty = 1;
  shape->holds_many = 1;
  plan->state[TEMPLATE_LIMIT] = own->max_probes && own->max_probes < shape->buckets ? own->max_probes : shape->buckets;
  return TSR_OK;
}

TSR_PLUGIN(template_plan, "Linear probing over buckets.", "own");
