/* SPDX-License-Identifier: Apache-2.0
 *
 * tsr_key_pack and tsr_key_unpack: keys of several columns. Arrays that are all in host memory are worked on by the
 * processor, whatever the table's device. Read next: ../kernels/key_parts.h.
 */
#include "core/kernels/key_parts.h"

#include "core/compose/key_parts.h"
#include "core/cpu/parallel.h"
#include "core/table/call.h"
#include "core/table/hold.h"
#include "core/table/stage.h"

_Static_assert((int)TSR_PACKED_MAX == TSR_KEY_PARTS_MAX, "the same");

/* A call under way. Its last array is that of the keys. */
enum { KEYS = TSR_KEY_PARTS_MAX, ARRAYS };
typedef struct packing {
  tsr_table *t;
  const tsr_step *step;
  tsr_key_parts_run run;
  tsr_array arrays[ARRAYS];
} packing;

static tsr_status check(tsr_table *t, const char *call, const void *columns, const void *keys, void *stream,
                        tsr_key_parts *spec, tsr_error *error) {
  tsr_request request = {.op = TSR_CALL_PACK, .call.stream = stream};
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the table is NULL", call);
  tsr_status status = tsr_spec_key_parts(t->spec, spec, error);
  if (status == TSR_OK && !spec->count)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "%s: the table's spec names no columns: add [table] key_columns = u32, u32, ...", call);
  if (status == TSR_OK && (!columns || !keys))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %s is NULL", call, columns ? "keys" : "columns");
  return status ? status : tsr_call_begin(t, &request, error);
}

/* The arrays and what is done with them. */
static void describe(packing *p, const tsr_key_parts *spec, const void *const *columns, const size_t *strides,
                     const void *keys) {
  const bool packs = p->step == &tsr_key_parts_steps.step[TSR_KEY_PART_pack];
  const uint64_t n = p->run.n;
  p->run.count = spec->count;
  p->run.key_bytes = spec->key_bits / 8;
  for (uint32_t c = 0; c < spec->count; c++) {
    const uint32_t bytes = spec->part[c].bytes;
    const uint64_t stride = strides ? strides[c] : bytes;
    p->run.column[c] = (tsr_packed_part){.stride = stride, .bytes = bytes, .offset = spec->part[c].offset};
    p->arrays[c] = (tsr_array){.callers = columns[c],
                               .bytes = (n - 1) * stride + bytes,
                               .use = packs             ? TSR_ARRAY_READ
                                      : stride == bytes ? TSR_ARRAY_WRITTEN
                                                        : TSR_ARRAY_PARTLY_WRITTEN};
  }
  p->arrays[KEYS] =
      (tsr_array){.callers = keys, .bytes = n * p->run.key_bytes, .use = packs ? TSR_ARRAY_WRITTEN : TSR_ARRAY_READ};
}

static tsr_status check_columns(const packing *p, const char *call, tsr_error *error) {
  for (uint32_t c = 0; c < p->run.count; c++) {
    const tsr_packed_part *column = &p->run.column[c];
    if (column->stride < column->bytes)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: strides[%u] = %llu: its items have %u bytes", call, c,
                      (unsigned long long)column->stride, column->bytes);
    if (!p->arrays[c].callers && p->arrays[KEYS].use == TSR_ARRAY_WRITTEN)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: columns[%u] is NULL: a key has all %u columns", call, c,
                      p->run.count);
  }
  return TSR_OK;
}

static void take_arrays(packing *p) {
  for (uint32_t c = 0; c < p->run.count; c++) p->run.column[c].items = p->arrays[c].devices;
  p->run.keys = p->arrays[KEYS].devices;
}

static void run_range(void *argument, uint64_t begin, uint64_t end) {
  const packing *p = argument;
  p->step->range(NULL, &p->run, begin, end);
}

static bool is_all_on_host(const packing *p) {
  bool is = true;
  for (uint32_t i = 0; i < ARRAYS; i++)
    is = is && (!p->arrays[i].callers || !p->t->backend->is_device_memory(p->t->device, p->arrays[i].callers));
  return is;
}

static tsr_status run(packing *p, void *stream, tsr_error *error) {
  const tsr_table *t = p->t;
  if (is_all_on_host(p)) {
    for (uint32_t i = 0; i < ARRAYS; i++) p->arrays[i].devices = (void *)(uintptr_t)p->arrays[i].callers;
    take_arrays(p);
    tsr_parallel_for(p->run.n, run_range, p);
    return TSR_OK;
  }
  tsr_status status = tsr_stage_in(t, p->arrays, ARRAYS, stream, error);
  take_arrays(p);
  if (status == TSR_OK) status = t->backend->step(t->device, NULL, p->step, &p->run, p->run.n, stream, error);
  return tsr_stage_out(t, p->arrays, ARRAYS, stream, status, error);
}

static tsr_status pack(const char *call, packing *p, const void *const *columns, const size_t *strides,
                       const void *keys, void *stream, tsr_error *error) {
  tsr_key_parts spec = {.size = sizeof spec};
  tsr_status status = check(p->t, call, columns, keys, stream, &spec, error);
  if (status || p->run.n == 0) return status;
  describe(p, &spec, columns, strides, keys);
  status = check_columns(p, call, error);
  return status ? status : run(p, stream, error);
}

tsr_status tsr_key_pack(tsr_table *t, uint64_t n, const void *const *columns, const size_t *strides, void *keys,
                        void *stream, tsr_error *error) {
  TSR_WRITES(t);
  packing p = {.t = t, .step = &tsr_key_parts_steps.step[TSR_KEY_PART_pack], .run.n = n};
  return pack("tsr_key_pack", &p, columns, strides, keys, stream, error);
}

tsr_status tsr_key_unpack(tsr_table *t, uint64_t n, const void *keys, void *const *columns, const size_t *strides,
                          void *stream, tsr_error *error) {
  TSR_WRITES(t);
  packing p = {.t = t, .step = &tsr_key_parts_steps.step[TSR_KEY_PART_unpack], .run.n = n};
  return pack("tsr_key_unpack", &p, (const void *const *)columns, strides, keys, stream, error);
}
