/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers of files share (data_file.h).
 */
#define _DEFAULT_SOURCE 1 /* POSIX calls */

#include "tools/cli/data_file.h"

#include <errno.h>
#include <unistd.h>

tsr_status tsr_read_exactly(int file, const char *path, void *to, uint64_t bytes, tsr_error *error) {
  uint64_t done = 0;
  while (done < bytes) {
    ssize_t got = read(file, (char *)to + done, bytes - done);
    if (got == 0) {
      return tsr_fail(error, TSR_IO, "%s: became shorter while it was read: leave it alone", path);
    }
    if (got < 0 && errno != EINTR) {
      return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
    }
    done += got > 0 ? (uint64_t)got : 0;
  }
  return TSR_OK;
}

tsr_status tsr_refuse_ordinal(const char *path, tsr_error *error) {
  return tsr_fail(error, TSR_IO,
                  "%s: holds more than 2^32 keys, and their numbers in the file do not fit value_bits = 32: use "
                  "value_bits = 64, or set the values by --value",
                  path);
}

tsr_status tsr_refuse_empty(const char *path, const tsr_dataset_options *options, tsr_error *error) {
  if (!options->is_strict || !tsr_part_is_all(&options->part)) return TSR_OK;
  return tsr_fail(error, TSR_IO, "%s: holds no key, and --strict refuses such files", path);
}
