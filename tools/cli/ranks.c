/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that do a command together (ranks.h).
 */
#include "tools/cli/ranks.h"

#include <inttypes.h>

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

tsr_part tsr_ranks_part(const tsr_ranks *ranks, size_t number) {
  if (!ranks->group) return (tsr_part){.count = 1};
  return (tsr_part){.index = ranks->rank, .count = ranks->size, .turn = (uint32_t)(number % ranks->size)};
}

tsr_status tsr_ranks_add_up(const tsr_ranks *ranks, uint32_t count, uint64_t *numbers, tsr_error *error) {
  return ranks->group ? tsr_group_add_up(ranks->group, count, numbers, error) : TSR_OK;
}

tsr_status tsr_ranks_agree(tsr_ranks *ranks, tsr_status status, bool *flag, tsr_error *error) {
  uint64_t sums[] = {status ? UINT64_C(1) << ranks->rank : 0, flag && *flag};
  tsr_error why;
  if (!ranks->group || ranks->have_failed) return status;
  const tsr_status passed = tsr_group_add_up(ranks->group, 2, sums, status ? &why : error);
  if (passed) return status ? status : passed;
  if (flag) *flag = sums[1] == ranks->size;
  if (!sums[0]) return TSR_OK;
  uint32_t first = 0;
  while (!(sums[0] >> first & 1)) first++;
  ranks->have_failed = true;
  ranks->is_told = first != ranks->rank;
  return status ? status : tsr_fail(error, TSR_IO, "rank %u has failed", first);
}

/* Words of a file's facts that are added up. */
enum { NAMES = sizeof(tsr_column_names) / sizeof(uint64_t), NUMBERS = 9 };

tsr_status tsr_ranks_add_facts(const tsr_ranks *ranks, const char *path, const tsr_dataset_options *options,
                               tsr_input_facts *f, tsr_error *error) {
  uint64_t words[NUMBERS + NAMES] = {f->keys,
                                     f->rows_skipped,
                                     f->sequences.records,
                                     f->sequences.bases,
                                     f->sequences.kmers_skipped,
                                     f->keys_alone,
                                     f->lacks_end,
                                     f->is_others ? 0 : f->file_bytes,
                                     !f->is_others};
  if (!ranks->group) return TSR_OK;
  memcpy(words + NUMBERS, &f->names, sizeof f->names); /* the others have none */
  const tsr_status status = tsr_group_add_up(ranks->group, NUMBERS + NAMES, words, error);
  if (status) return status;
  const uint64_t each = words[8] ? words[7] / words[8] : 0;
  if (words[7] % (words[8] ? words[8] : 1) || (!f->is_others && each != f->file_bytes))
    return tsr_fail(error, TSR_IO,
                    "%s: has %" PRIu64 " bytes here, and another size in other processes: all must read the same file",
                    path, f->file_bytes);
  f->keys = words[0];
  f->rows_skipped = words[1];
  f->sequences = (tsr_sequence_facts){words[2], words[3], words[4], f->sequences.kmers};
  f->keys_alone = words[5] != 0;
  f->lacks_end = words[6] != 0;
  memcpy(&f->names, words + NUMBERS, sizeof f->names);
  tsr_dataset_options whole = *options;
  whole.part = (tsr_part){.count = 1};
  return f->keys ? TSR_OK : tsr_refuse_empty(path, &whole, error);
}

tsr_exit tsr_ranks_say_error(const tsr_ranks *ranks, tsr_status status, const tsr_error *error) {
  return ranks->is_told ? tsr_exit_of(status) : tsr_say_error(status, error);
}
