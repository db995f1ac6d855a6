/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that do a command together (ranks.h).
 */
#include "tools/cli/ranks.h"

tsr_status tsr_ranks_open(const tsr_arguments *arguments, tsr_ranks *ranks, tsr_error *error) {
  const char *transport = tsr_arguments_value(arguments, "--group");
  *ranks = (tsr_ranks){.size = 1};
  if (!transport) return TSR_OK;
  const tsr_status status = tsr_group_create_by(transport, NULL, NULL, &ranks->group, error);
  return status ? status : tsr_group_describe(ranks->group, &ranks->rank, &ranks->size, error);
}

void tsr_ranks_close(tsr_ranks *ranks) {
  tsr_group_destroy(ranks->group);
  ranks->group = NULL;
}

tsr_status tsr_ranks_table(const tsr_ranks *ranks, const tsr_spec *spec, const tsr_options *options, tsr_table **table,
                           tsr_error *error) {
  return ranks->group ? tsr_group_table_create(ranks->group, spec, options, table, error)
                      : tsr_table_create(spec, options, table, error);
}

void tsr_ranks_part(const tsr_ranks *ranks, uint64_t count, uint64_t *first, uint64_t *part) {
  *first = 0;
  *part = count;
  if (!ranks->group) return;
  const uint64_t each = count / ranks->size, more = count % ranks->size;
  *first = each * ranks->rank + (ranks->rank < more ? ranks->rank : more);
  *part = each + (ranks->rank < more);
}

tsr_status tsr_ranks_add_up(const tsr_ranks *ranks, uint32_t count, uint64_t *numbers, tsr_error *error) {
  return ranks->group ? tsr_group_add_up(ranks->group, count, numbers, error) : TSR_OK;
}
