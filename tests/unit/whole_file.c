/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of keys read whole (whole_file.h).
 */
#include "tests/unit/whole_file.h"

void tsr_dataset_free(tsr_dataset *dataset) {
  free(dataset->keys);
  free(dataset->values);
  *dataset = (tsr_dataset){.count = 0};
}

/* One piece more; *got = 0 at the end. */
static tsr_status read_piece(tsr_input *input, const tsr_dataset_options *options, tsr_dataset *data, uint64_t *got,
                             tsr_error *error) {
  const size_t key_bytes = options->key_bits / 8, value_bytes = options->want_values ? options->value_bits / 8 : 0;
  void *keys = realloc(data->keys, (data->count + TSR_SEQUENCE_ROOM) * key_bytes);
  if (keys) data->keys = keys;
  void *values = value_bytes ? realloc(data->values, (data->count + TSR_SEQUENCE_ROOM) * value_bytes) : NULL;
  if (values) data->values = values;
  if (!keys || (value_bytes && !values)) return tsr_fail(error, TSR_NO_MEMORY, "no memory to read it whole");
  return tsr_input_read(input, TSR_SEQUENCE_ROOM, (char *)keys + data->count * key_bytes,
                        values ? (char *)values + data->count * value_bytes : NULL, got, error);
}

tsr_status tsr_dataset_read(const char *path, const tsr_dataset_options *options, tsr_dataset *out, tsr_error *error) {
  tsr_input *input = NULL;
  tsr_dataset data = {.count = 0};
  uint64_t got = 1;
  tsr_status status = tsr_input_open(path, options, &input, error);
  if (status) return status;
  while (status == TSR_OK && got > 0) {
    status = read_piece(input, options, &data, &got, error);
    if (status == TSR_OK) data.count += got;
  }
  const tsr_sequence_facts facts = tsr_input_describe(input).sequences;
  data.records = facts.records;
  data.bases = facts.bases;
  data.kmers_skipped = facts.kmers_skipped;
  tsr_input_close(input);
  if (status)
    tsr_dataset_free(&data);
  else
    *out = data;
  return status;
}
