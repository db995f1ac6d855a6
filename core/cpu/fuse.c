/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuses an operation for the CPU (fuse.h).
 */
#define _GNU_SOURCE /* secure_getenv */
#include "core/cpu/fuse.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache.h"
#include "core/compose/glue.h"
#include "core/compose/registry.h"
#include "core/cpu/compiler.h"
#include "core/spec/number.h"

static const char entry_name[] = "tsr_fused_range";

static tsr_status use(const void *code, size_t bytes, tsr_fused *fused, tsr_error *error) {
  void *function;
  tsr_status status = tsr_compiler_open(code, bytes, entry_name, &fused->library, &function, error);
  if (status == TSR_OK) memcpy(&fused->range, &function, sizeof fused->range);
  return status;
}

static tsr_status fuse_text(const char *text, const char *version, tsr_fused *fused, tsr_error *error) {
  tsr_cache_key key = tsr_cache_key_start(tsr_sdk_abi);
  void *code = NULL;
  size_t bytes = 0;
  tsr_cache_key_add(&key, version, strlen(version));
  tsr_cache_key_add(&key, text, strlen(text));
  fused->cached = tsr_cache_get(&key, &code, &bytes) && use(code, bytes, fused, NULL) == TSR_OK;
  tsr_status status = TSR_OK;
  if (!fused->cached) {
    free(code);
    code = NULL;
    status = tsr_compiler_run(&text, 1, &code, &bytes, error);
    if (status == TSR_OK) status = use(code, bytes, fused, error);
    if (status == TSR_OK) tsr_cache_put(&key, code, bytes);
  }
  free(code);
  return status;
}

tsr_status tsr_fuse(const tsr_composition *composition, uint32_t operation, tsr_fused *fused, tsr_error *error) {
  const char *version;
  tsr_fused made = {.library = NULL};
#ifdef TSR_IS_SANITIZED_
  return tsr_fail(error, TSR_UNSUPPORTED, "a sanitizer looks at this build, and would not see what is compiled apart");
#endif
  tsr_status status = tsr_compiler_version(&version, error);
  if (status) return status;
  char *text = tsr_glue_unit(composition, operation);
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of an operation");
  status = fuse_text(text, version, &made, error);
  free(text);
  if (status == TSR_OK) *fused = made;
  return status;
}

void tsr_fused_free(tsr_fused *fused) {
  if (fused->library) dlclose(fused->library);
  *fused = (tsr_fused){.library = NULL};
}

uint64_t tsr_fuse_items(void) {
  enum { ITEMS = 1 << 18 }; /* .2 to .4 s, as long as a compiler takes */
  const char *named = getenv("TESSERA_CC_ITEMS");
  uint64_t items;
  return named && tsr_parse_u64(named, &items) ? items : (uint64_t)ITEMS;
}
