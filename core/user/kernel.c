/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' kernels over tables (tessera_kernels.h). A launch is ordered on each of its tables like a bulk operation.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <stdlib.h>
#include <string.h>

#include "core/compose/compose.h"
#include "core/compose/user_code.h"
#include "core/cuda/link.h"
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/clean.h"
#include "core/table/hold.h"
#include "core/table/order.h"
#include "core/table/store.h"
#include "core/table/values.h"
#include "core/tessera_kernels.h"

struct tsr_kernel {
  tsr_user_code code;
  char *text, *file;
  void *image;
  tsr_table *tables[TSR_KERNEL_TABLES_MAX]; /* in the order of the parameters */
  tsr_code *linked[TSR_KERNEL_TABLES_MAX];  /* their code when the kernel was linked */
  tsr_user_program *program;
};

/* ---- Its tables ------------------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (tsr_table *const *)a, y = (uintptr_t) * (tsr_table *const *)b;
  return (x > y) - (x < y);
}

/* In the order of their addresses, as TSR_WRITES_BOTH. */
static void hold_all(const tsr_kernel *k) {
  tsr_table *tables[TSR_KERNEL_TABLES_MAX];
  memcpy(tables, k->tables, sizeof tables);
  qsort(tables, k->code.facts.tables, sizeof *tables, compare_places);
  for (size_t i = 0; i < k->code.facts.tables; i++) tsr_hold_to_write(tables[i]);
}

static void let_all_go(const tsr_kernel *k) {
  for (size_t i = 0; i < k->code.facts.tables; i++) tsr_let_go(k->tables[i]);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static tsr_status check_source(const char *call, const tsr_kernel_source *source, const char *name, const void *tables,
                               const char *const *names, size_t count, tsr_kernel_source *known, tsr_error *error) {
  if (!source || !name || !tables || !names)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s needs a source, a kernel's name, tables and their names", call);
  if (count == 0 || count > TSR_KERNEL_TABLES_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %zu tables: a kernel has between 1 and %d", call, count,
                    TSR_KERNEL_TABLES_MAX);
  for (size_t i = 0; i < count; i++)
    if (!names[i]) return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the name of table %zu is NULL", call, i);
  tsr_status status = tsr_take_over(call, known, source, sizeof *known, error);
  if (status == TSR_OK && !known->text)
    status = tsr_fail(error, TSR_BAD_ARGUMENT,
                      "%s: the source has no text: beside an image it has at least the lines TSR_TABLE and TSR_KERNEL",
                      call);
  return status;
}

static tsr_status check_tables(const char *kernel, tsr_table *const *tables, size_t count, tsr_error *error) {
  for (size_t i = 0; i < count; i++) {
    const tsr_table *t = tables[i];
    if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: table %zu is NULL", kernel, i);
    if (t->methods != &tsr_methods_store)
      return tsr_compatible_refuse(TSR_HAS_CALL_KERNEL, TSR_HAS_DEVICES, kernel, error);
    if (t->backend != tables[0]->backend ||
        t->store.composition->settings.target.device != tables[0]->store.composition->settings.target.device)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: its tables are on different devices: a kernel runs on one", kernel);
    for (size_t j = 0; j < i; j++)
      if (tables[j] == t)
        return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: one table was given under two names: declare it once", kernel);
  }
  return TSR_OK;
}

/* Keeps the source for links to come. */
static tsr_status keep_source(tsr_kernel *k, tsr_error *error) {
  tsr_kernel_source *s = &k->code.source;
  k->text = strdup(s->text);
  k->file = s->file ? strdup(s->file) : NULL;
  k->image = s->image ? malloc(s->image_bytes) : NULL;
  if (!k->text || (s->file && !k->file) || (s->image && !k->image))
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel's source");
  if (k->image) memcpy(k->image, s->image, s->image_bytes);
  s->text = k->text;
  s->file = k->file;
  s->image = k->image;
  return TSR_OK;
}

static void leave_codes(tsr_kernel *k) {
  for (size_t i = 0; k->program && i < k->code.facts.tables; i++) {
    tsr_store_leave_code(k->tables[0]->backend, k->linked[i]);
    k->linked[i] = NULL;
  }
}

/* Links the kernel with the tables' current compositions, which are held. On failure it stays as it was. */
static tsr_status link_now(tsr_kernel *k, tsr_error *error) {
  tsr_user_program *made = NULL;
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < k->code.facts.tables; i++)
    status = tsr_user_code_take(&k->code, i, k->tables[i]->store.code->composition, error);
  if (status == TSR_OK) status = k->tables[0]->backend->user->create(k->tables[0]->device, &k->code, &made, error);
  if (status) return status;
  leave_codes(k);
  if (k->program) k->tables[0]->backend->user->destroy(k->program);
  k->program = made;
  for (size_t i = 0; i < k->code.facts.tables; i++) k->linked[i] = tsr_store_keep_code(&k->tables[i]->store);
  return TSR_OK;
}

tsr_status tsr_kernel_create(const tsr_kernel_source *source, const char *name, tsr_table *const *tables,
                             const char *const *names, size_t count, tsr_kernel **kernel, tsr_error *error) {
  tsr_kernel_source known;
  size_t order[TSR_KERNEL_TABLES_MAX];
  if (!kernel) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_kernel_create needs a place for the kernel");
  tsr_status status = check_source("tsr_kernel_create", source, name, tables, names, count, &known, error);
  if (status == TSR_OK) status = check_tables(name, tables, count, error);
  if (status) return status;
  tsr_kernel *made = calloc(1, sizeof *made);
  if (!made) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel");
  status = tsr_user_code_open(&known, name, names, count, &made->code, order, error);
  for (size_t i = 0; status == TSR_OK && i < count; i++) made->tables[i] = tables[order[i]];
  if (status == TSR_OK) status = keep_source(made, error);
  if (status == TSR_OK) {
    hold_all(made);
    status = link_now(made, error);
    let_all_go(made);
  }
  if (status)
    tsr_kernel_destroy(made);
  else
    *kernel = made;
  return status;
}

void tsr_kernel_destroy(tsr_kernel *k) {
  if (!k) return;
  if (k->program) hold_all(k);
  for (size_t i = 0; k->program && i < k->code.facts.tables; i++) {
    tsr_status status = tsr_table_wait(k->tables[i], NULL);
    (void)status; /* nobody is left to hear of it */
  }
  leave_codes(k);
  if (k->program) k->tables[0]->backend->user->destroy(k->program);
  if (k->program) let_all_go(k);
  free(k->text);
  free(k->file);
  free(k->image);
  free(k);
}

/* ---- Launching ------------------------------------------------------------------------------- */

static tsr_phase phase_of(uint32_t does) {
  return does == TSR_DOES_FINDS     ? TSR_PHASE_FIND
         : does == TSR_DOES_INSERTS ? TSR_PHASE_INSERT
         : does == TSR_DOES_ERASES  ? TSR_PHASE_ERASE
         : does == TSR_DOES_SCANS   ? TSR_PHASE_ALONE
                                    : TSR_PHASE_MIXED;
}

/* Updates what the host knows of a table before a kernel works on it. */
static void announce(tsr_table *t, uint32_t does, uint64_t n) {
  tsr_clean_note(t, does & TSR_DOES_ERASES ? n : 0, does & TSR_DOES_INSERTS ? n : 0);
  if (does & TSR_DOES_INSERTS) t->store.is_clear = false;
  if (does & TSR_DOES_ERASES) {
    t->store.state.has_erased = 1;
    t->values->note_erased(t);
  }
  if (does & (TSR_DOES_INSERTS | TSR_DOES_ERASES)) t->known.is_known = false;
}

/* Lets a call work on a table. */
static tsr_status begin(tsr_table *t, uint32_t does, tsr_request *r, tsr_error *error) {
  tsr_status status = tsr_call_begin(t, r, error);
  if (status == TSR_OK && does & TSR_DOES_INSERTS) status = t->values->open(t, r->call.stream, error);
  return status ? status : tsr_call_enter(t, phase_of(does), &r->call, error);
}

static tsr_status launch(tsr_kernel *k, uint64_t n, const void *const *arguments, void *stream, tsr_error *error) {
  const tsr_kernel_facts *facts = &k->code.facts;
  tsr_user_table tables[TSR_KERNEL_TABLES_MAX];
  unsigned char refs[TSR_KERNEL_TABLES_MAX][TSR_USER_REF_BYTES] = {{0}};
  const void *all[TSR_KERNEL_PARAMETERS_MAX];
  tsr_request r = {.op = TSR_CALL_KERNEL, .call.stream = stream};
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < facts->tables; i++) {
    tsr_table *t = k->tables[i];
    status = begin(t, facts->parameter[i].does, &r, error);
    announce(t, facts->parameter[i].does, n);
    tables[i] = (tsr_user_table){.state = t->store.state, .tally = t->tallies + TSR_BULK_insert};
    t->values->view(t, &tables[i]);
    memcpy(refs[i], &tables[i], sizeof tables[i]);
    all[i] = refs[i];
  }
  for (size_t i = facts->tables; i < facts->parameters; i++) all[i] = arguments[i - facts->tables];
  if (status == TSR_OK) status = k->tables[0]->backend->user->launch(k->program, n, all, stream, error);
  for (size_t i = 0; status == TSR_OK && i < facts->tables; i++) status = tsr_call_leave(k->tables[i], &r.call, error);
  if (status == TSR_OK) return TSR_OK;
  tsr_status waited = k->tables[0]->backend->synchronize(k->tables[0]->device, stream, NULL);
  (void)waited; /* no later phase waits for a call that failed; its error is already set */
  return status;
}

/* Whether a table's code has changed since the kernel was linked. */
static bool is_stale(const tsr_kernel *k) {
  for (size_t i = 0; i < k->code.facts.tables; i++)
    if (k->tables[i]->store.code != k->linked[i]) return true;
  return false;
}

static tsr_status link_anew(tsr_kernel *k, void *stream, tsr_error *error) {
  tsr_request r = {.op = TSR_CALL_LINK, .call.stream = stream};
  tsr_status status = tsr_call_begin(k->tables[0], &r, error);
  for (size_t i = 0; status == TSR_OK && i < k->code.facts.tables; i++) status = tsr_table_wait(k->tables[i], error);
  return status ? status : link_now(k, error);
}

tsr_status tsr_kernel_launch(tsr_kernel *k, uint64_t n, const void *const *arguments, size_t count, void *stream,
                             tsr_error *error) {
  static const uint64_t items_max = (uint64_t)INT32_MAX * TSR_BLOCK_THREADS;
  if (!k) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_kernel_launch: the kernel is NULL");
  const tsr_kernel_facts *facts = &k->code.facts;
  if (count != facts->parameters - facts->tables || (count && !arguments))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s has %zu parameters behind its tables, and %zu arguments were given",
                    facts->name, facts->parameters - facts->tables, arguments ? count : 0);
  for (size_t i = 0; i < count; i++)
    if (!arguments[i])
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: argument %zu, %s, is NULL: it points to the parameter's value",
                      facts->name, i, facts->parameter[facts->tables + i].name);
  if (n > items_max)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: n = %llu: at most 2^39 - 256 items a launch: split them", facts->name,
                    (unsigned long long)n);
  hold_all(k);
  tsr_status status = is_stale(k) ? link_anew(k, stream, error) : TSR_OK;
  for (size_t i = 0; i < facts->tables; i++)
    if (facts->parameter[i].does == TSR_DOES_SCANS) n = tsr_composition_refs(k->tables[i]->store.composition);
  if (status == TSR_OK && n) status = launch(k, n, arguments, stream, error);
  let_all_go(k);
  return status;
}

/* ---- Linking alone --------------------------------------------------------------------------- */

tsr_status tsr_kernel_link(const tsr_kernel_source *source, const char *name, const tsr_spec *const *specs,
                           const char *const *names, size_t count, const tsr_kernel_target *target, tsr_link *link,
                           tsr_error *error) {
  static const char call[] = "tsr_kernel_link";
  tsr_kernel_source known;
  tsr_kernel_target at;
  tsr_options options = {0};
  size_t order[TSR_KERNEL_TABLES_MAX];
  tsr_composition *compositions[TSR_KERNEL_TABLES_MAX] = {NULL};
  tsr_link ours = {0};
  if (!link) return tsr_fail(error, TSR_BAD_ARGUMENT, "%s needs a place for the code", call);
  tsr_status status = check_source(call, source, name, specs, names, count, &known, error);
  if (status == TSR_OK) status = tsr_take_over(call, &at, target, sizeof at, error);
  if (status == TSR_OK) status = tsr_take_over(call, &options, at.options, sizeof options, error);
  if (status) return status;
  tsr_user_code *code = calloc(1, sizeof *code);
  if (!code) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel");
  status = tsr_user_code_open(&known, name, names, count, code, order, error);
  for (size_t i = 0; status == TSR_OK && i < count; i++) {
    status = tsr_compose(specs[order[i]], &options, at.sm, 1, &compositions[i], error);
    if (status == TSR_OK) status = tsr_composition_check_code(compositions[i], error);
    if (status == TSR_OK) status = tsr_user_code_take(code, i, compositions[i], error);
  }
  if (status == TSR_OK) status = tsr_cuda_link_user(code, at.sm, at.use_cache, &ours, error);
  for (size_t i = 0; i < count; i++) tsr_composition_free(compositions[i]);
  free(code);
  if (status == TSR_OK) tsr_hand_over(link, &ours, sizeof ours);
  return status;
}
