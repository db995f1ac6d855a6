/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches that double (gather.h).
 */
#include "tools/cli/gather.h"

#include <stdlib.h>
#include <string.h>

static tsr_status make_room(tsr_gather *g, uint64_t count, tsr_error *error) {
  if (g->count + count <= g->room) return TSR_OK;
  const uint64_t room = g->count + count > 2 * g->room ? g->count + count : 2 * g->room;
  char *keys = realloc(g->keys, room * g->key_bytes);
  if (keys) g->keys = keys;
  char *values = g->value_bytes && keys ? realloc(g->values, room * g->value_bytes) : NULL;
  if (values) g->values = values;
  if (!keys || (g->value_bytes && !values))
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for %llu pairs that wait to be inserted",
                    (unsigned long long)room);
  g->room = room;
  return TSR_OK;
}

tsr_status tsr_gather_finish(tsr_gather *g, tsr_error *error) {
  const tsr_chunk batch = {.keys = g->keys, .values = g->value_bytes ? g->values : NULL, .count = g->count};
  if (!g->count && !g->agree) return TSR_OK;
  g->inserted += g->count;
  g->count = 0;
  return g->insert(g->context, &batch, error);
}

tsr_status tsr_gather_add(tsr_gather *g, const tsr_chunk *chunk, tsr_error *error) {
  bool waits = g->count + chunk->count < g->inserted;
  tsr_status status = g->agree ? g->agree(g->context, &waits, error) : TSR_OK;
  if (status == TSR_OK && !waits && !g->count) {
    g->inserted += chunk->count;
    return chunk->count || g->agree ? g->insert(g->context, chunk, error) : TSR_OK;
  }
  if (status == TSR_OK) status = make_room(g, chunk->count, error);
  if (status || !chunk->count) return status || waits ? status : tsr_gather_finish(g, error);
  memcpy(g->keys + g->count * g->key_bytes, chunk->keys, chunk->count * g->key_bytes);
  if (g->value_bytes) memcpy(g->values + g->count * g->value_bytes, chunk->values, chunk->count * g->value_bytes);
  g->count += chunk->count;
  return waits ? TSR_OK : tsr_gather_finish(g, error);
}

void tsr_gather_free(tsr_gather *g) {
  free(g->keys);
  free(g->values);
}
