/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' kernels by a C compiler (user.h). A C file has one tsr_key, so tables of different widths cannot be in one
 * file. Each table has a file of its own, and a call from the kernel to a table stays a call.
 */
#include "core/cpu/user.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/compose/cache.h"
#include "core/compose/registry.h"
#include "core/cpu/compiler.h"
#include "core/cpu/parallel.h"

struct tsr_user_program {
  void *library;
  tsr_user_range *range;
  size_t tables, parameters;
};
_Static_assert((int)TSR_KERNEL_TABLES_MAX + 1 <= (int)COMPILER_FILES_MAX, "a file for each table and the kernel");

static tsr_status use(const void *code, size_t bytes, tsr_user_program *program, tsr_error *error) {
  void *function;
  tsr_status status = tsr_compiler_open(code, bytes, "tsr_user_range", &program->library, &function, error);
  if (status == TSR_OK) memcpy(&program->range, &function, sizeof program->range);
  return status;
}

static tsr_status make(const char *const *texts, size_t count, const char *version, tsr_user_program *program,
                       tsr_error *error) {
  tsr_cache_key key = tsr_cache_key_start(tsr_sdk_abi);
  void *code = NULL;
  size_t bytes = 0;
  tsr_cache_lock lock;
  tsr_status status = TSR_OK;
  tsr_cache_key_add(&key, version, strlen(version));
  for (size_t i = 0; i < count; i++) tsr_cache_key_add(&key, texts[i], strlen(texts[i]) + 1);
  if (!tsr_cache_get_or_lock(&key, &code, &bytes, &lock) || use(code, bytes, program, NULL) != TSR_OK) {
    free(code);
    code = NULL;
    status = tsr_compiler_run(texts, count, TSR_CODE_OWN, &code, &bytes, error);
    if (status == TSR_OK) status = use(code, bytes, program, error);
    if (status == TSR_OK) tsr_cache_put(&key, code, bytes);
  }
  tsr_cache_unlock(&key, &lock);
  free(code);
  return status;
}

tsr_status tsr_cpu_user_create(tsr_device *device, const tsr_user_code *code, tsr_user_program **program,
                               tsr_error *error) {
  const char *version;
  char *texts[COMPILER_FILES_MAX] = {NULL};
  const size_t tables = code->facts.tables;
  bool has_texts = true;
  (void)device;
  tsr_status status = tsr_compiler_version(&version, error);
  if (status) return status;
  tsr_user_program *made = calloc(1, sizeof *made);
  if (!made) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel of the cpu backend");
  made->tables = tables;
  made->parameters = code->facts.parameters;
  for (size_t i = 0; i <= tables; i++) {
    texts[i] = i < tables ? tsr_user_table_unit(code, i) : tsr_user_kernel_unit(code);
    has_texts = has_texts && texts[i];
  }
  if (!has_texts) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel's text");
  if (status == TSR_OK) status = make((const char *const *)texts, tables + 1, version, made, error);
  for (size_t i = 0; i <= tables; i++) free(texts[i]);
  if (status) tsr_user_explain(code, error);
  if (status)
    free(made);
  else
    *program = made;
  return status;
}

void tsr_cpu_user_destroy(tsr_user_program *program) {
  if (program->library) dlclose(program->library);
  free(program);
}

typedef struct user_job {
  const tsr_user_program *program;
  const void *const *arguments;
  uint64_t n;
} user_job;

static void user_range(void *argument, uint64_t begin, uint64_t end) {
  const user_job *job = argument;
  job->program->range(job->arguments, job->n, begin, end);
}

tsr_status tsr_cpu_user_launch(tsr_user_program *program, uint64_t n, const void *const *arguments, void *stream,
                               tsr_error *error) {
  const void *tables[TSR_KERNEL_TABLES_MAX], *all[TSR_KERNEL_PARAMETERS_MAX];
  (void)stream;
  (void)error;
  for (size_t i = 0; i < program->parameters; i++) {
    if (i < program->tables) tables[i] = arguments[i]; /* a tsr_table_ref is such a pointer */
    all[i] = i < program->tables ? (const void *)&tables[i] : arguments[i];
  }
  user_job job = {program, all, n};
  tsr_parallel_for(n, user_range, &job);
  return TSR_OK;
}
