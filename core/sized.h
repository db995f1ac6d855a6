/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs of the public API that begin with their size (tessera.h, "Sizes"), between a program and a library that may
 * know different numbers of their members.
 */
#ifndef TSR_SIZED_H
#define TSR_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "plugins/error.h"

/* A caller who has not set a struct to zero gives any size: such a struct is neither filled nor read behind its end. */
static inline bool tsr_is_struct_size(size_t size) {
  enum { STRUCT_BYTES_MAX = 1 << 16 };
  return !size || (size >= sizeof size && size <= STRUCT_BYTES_MAX);
}

/* Fills the caller's struct from ours of `bytes` bytes, as far as the caller's goes; members that only the caller knows
 * become 0. */
static inline void tsr_hand_over(void *theirs, const void *ours, size_t bytes) {
  size_t size;
  memcpy(&size, theirs, sizeof size);
  if (!tsr_is_struct_size(size)) return;
  const size_t room = size ? size : bytes;
  memcpy((char *)theirs + sizeof size, (const char *)ours + sizeof size, (room < bytes ? room : bytes) - sizeof size);
  if (room > bytes) memset((char *)theirs + bytes, 0, room - bytes);
}

/* Takes over the caller's options: members that the caller does not know are 0, and those that only the caller knows must
 * be. theirs: NULL: all are 0. */
static inline tsr_status tsr_take_over(const char *call, void *ours, const void *theirs, size_t bytes,
                                       tsr_error *error) {
  size_t size = bytes;
  memset(ours, 0, bytes);
  if (!theirs) return TSR_OK;
  memcpy(&size, theirs, sizeof size);
  if (!tsr_is_struct_size(size))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: size = %zu: set it to sizeof the struct, or to 0", call, size);
  memcpy(ours, theirs, size && size < bytes ? size : bytes);
  for (size_t i = bytes; i < size; i++)
    if (((const char *)theirs)[i])
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "%s: size = %zu: this library knows %zu bytes of these options, and a member behind them is set: "
                      "use a library of the program's version",
                      call, size, bytes);
  return TSR_OK;
}

#endif
