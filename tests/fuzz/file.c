/* SPDX-License-Identifier: Apache-2.0
 *
 * The input as a file (fuzz.h). The readers take paths, as their kind follows from the name's ending.
 */
#define _GNU_SOURCE /* mkdtemp */

#include <fcntl.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { PATH_BYTES = 256 };

static char folder[PATH_BYTES], path[PATH_BYTES + 16];
static int file = -1;

static void remove_file(void) {
  unlink(path);
  rmdir(folder);
}

const char *fuzz_file(const uint8_t *bytes, size_t size, const char *ending) {
  if (file < 0) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tessera_fuzz.XXXXXX", base && *base ? base : "/tmp");
    FUZZ_CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/input%s", folder, ending);
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FUZZ_CHECK(file >= 0);
    atexit(remove_file);
  }
  FUZZ_CHECK(ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size);
  return path;
}
