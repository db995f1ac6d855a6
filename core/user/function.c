/* SPDX-License-Identifier: Apache-2.0
 *
 * Short functions over a table's pairs (tessera_kernels.h): user kernels whose text is generated here around the
 * caller's statements.
 */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/hold.h"
#include "core/table/stage.h"
#include "core/tessera_kernels.h"

static const char all_text[] = "#include \"tessera.cuh\"\n"
                               "%s(tsr_pairs, scans)\n"
                               "TSR_KERNEL(tsr_function, (tsr_table_ref tsr_pairs%s%s)) {\n"
                               "  %s key = 0;\n"
                               "  uint64_t value = 0;\n"
                               "  uint32_t tsr_is_there;\n"
                               "  tsr_for_each_pair(tsr_pairs, key, value, tsr_is_there) {\n"
                               "    if (tsr_is_there) {\n"
                               "#line 1 \"statements\"\n"
                               "%s\n"
                               "    }\n  }\n}\n";

static const char each_text[] = "#include \"tessera.cuh\"\n"
                                "%s(tsr_pairs, finds)\n"
                                "TSR_KERNEL(tsr_function, (tsr_table_ref tsr_pairs, const %s *tsr_keys%s%s)) {\n"
                                "  const uint64_t i = tsr_item();\n"
                                "  const uint32_t tsr_mine = i < tsr_items();\n"
                                "  const %s key = tsr_mine ? tsr_keys[i] : 0;\n"
                                "  uint64_t value = 0;\n"
                                "  uint32_t tsr_is_there;\n"
                                "  tsr_for_each_value(tsr_pairs, tsr_mine, key, value, tsr_is_there) {\n"
                                "    if (tsr_is_there) {\n"
                                "#line 1 \"statements\"\n"
                                "%s\n"
                                "    }\n  }\n}\n";

static bool has_wide_keys(const tsr_table *t) { return t->store.composition->shape.key_bits > 64; }
static const char *declaration_of(const tsr_table *t) { return has_wide_keys(t) ? "TSR_TABLE_128" : "TSR_TABLE"; }
static const char *key_type_of(const tsr_table *t) { return has_wide_keys(t) ? "tsr_key128" : "uint64_t"; }

/* Makes the kernel, runs it and waits. text may be NULL: no memory. */
static tsr_status run(tsr_table *t, uint64_t n, const char *text, const void *const *arguments, size_t count,
                      void *stream, tsr_error *error) {
  static const char *const names[] = {"tsr_pairs"};
  const tsr_kernel_source source = {.text = text, .file = "the statements"};
  tsr_kernel *kernel = NULL;
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of a kernel");
  tsr_status status = tsr_kernel_create(&source, "tsr_function", &t, names, 1, &kernel, error);
  if (status == TSR_OK) status = tsr_kernel_launch(kernel, n, arguments, count, stream, error);
  if (status == TSR_OK) status = tsr_table_wait(t, error);
  tsr_kernel_destroy(kernel);
  return status;
}

/* Reads the caller's statements into *s, with "" for no parameters. */
static tsr_status check(const char *call, tsr_table *t, const tsr_statements *statements, void *stream,
                        tsr_statements *s, tsr_error *error) {
  const tsr_status status = tsr_take_over(call, s, statements, sizeof *s, error);
  if (status) return status;
  if (!t || !s->text || (s->count && !s->arguments))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s needs a table, a text of statements, and as many arguments as `count`",
                    call);
  if (!s->parameters) s->parameters = "";
  if (t->shards) return tsr_compatible_refuse(TSR_HAS_CALL_KERNEL, TSR_HAS_DEVICES, call, error);
  if (s->count > TSR_KERNEL_PARAMETERS_MAX - 2)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %zu arguments: at most %d", call, s->count,
                    TSR_KERNEL_PARAMETERS_MAX - 2);
  tsr_request r = {.op = TSR_CALL_FUNCTION, .call.stream = stream};
  return tsr_call_begin(t, &r, error);
}

tsr_status tsr_for_all(tsr_table *t, const tsr_statements *statements, void *stream, tsr_error *error) {
  TSR_WRITES(t);
  tsr_statements s;
  char *text = NULL;
  tsr_status status = check("tsr_for_all", t, statements, stream, &s, error);
  if (status) return status;
  if (asprintf(&text, all_text, declaration_of(t), *s.parameters ? ", " : "", s.parameters, key_type_of(t), s.text) < 0)
    text = NULL;
  status = run(t, 0, text, s.arguments, s.count, stream, error);
  free(text);
  return status;
}

tsr_status tsr_for_each(tsr_table *t, uint64_t n, const void *keys, const tsr_statements *statements, void *stream,
                        tsr_error *error) {
  TSR_WRITES(t);
  tsr_statements s;
  char *text = NULL;
  tsr_status status = check("tsr_for_each", t, statements, stream, &s, error);
  if (status == TSR_OK && n && !keys) status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_for_each: keys is NULL");
  if (status || n == 0) return status;
  const uint32_t bits = t->store.composition->shape.key_bits;
  const void *all[TSR_KERNEL_PARAMETERS_MAX];
  tsr_array array = {.callers = keys, .bytes = n * (bits / 8), .word = bits / 8, .use = TSR_ARRAY_READ};
  if (asprintf(&text, each_text, declaration_of(t), bits == 32 ? "uint32_t" : key_type_of(t), *s.parameters ? ", " : "",
               s.parameters, key_type_of(t), s.text) < 0)
    text = NULL;
  status = tsr_stage_in(t, &array, 1, stream, error);
  all[0] = &array.devices;
  if (s.count) memcpy(all + 1, s.arguments, s.count * sizeof *all);
  if (status == TSR_OK) status = run(t, n, text, all, s.count + 1, stream, error);
  free(text);
  return tsr_stage_out(t, &array, 1, stream, status, error);
}
