/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing files. Whatever the library and the program write under a name that somebody gave appears there whole or
 * not at all. It is written to a new file in the same folder, which takes the name when it is done. So a reader of
 * the old file reads all of it, and a full disk leaves it alone.
 *
 * The new file has no name before (O_TMPFILE): a process that is killed leaves nothing behind. Linux cannot replace
 * a file by one without a name in one step. For the time of two steps (link and rename) the new file is called
 * NAME.PROCESS.N.tmp, and a process that is killed between them leaves it whole under that name. On file systems
 * without unnamed files (NFS) it has that name from the beginning, and tsr_leftover_clear removes it.
 *
 * A file that is written again and again, such as a checkpoint, is made of one that is no longer needed: only what differs is
 * written.
 *
 * A tsr_file must not be moved between its beginning and its end. Functions return 0, or an errno: the caller knows
 * what the file is for and writes the sentence. Thread-safe, also between processes: the last to end wins.
 */
#ifndef TSR_FILE_H
#define TSR_FILE_H

#include <linux/limits.h> /* PATH_MAX, which <limits.h> keeps to itself in strict C11 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/spec/leftover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file holds, by the checksums of its blocks: where it is written again, blocks that have not changed are passed over.
 * All zero to begin with; `sums` is its owner's to free. */
typedef struct tsr_blocks {
  uint64_t *sums;
  uint64_t count;   /* of them; a sum of 0, and any block behind them, is not known */
  uint64_t end;     /* bytes of the file */
  uint64_t written; /* bytes, the last time */
} tsr_blocks;

typedef struct tsr_file {
  int descriptor;           /* to write to, from its beginning */
  char target[PATH_MAX];    /* the file to replace: links are followed; "" for what is written in place */
  char temporary[PATH_MAX]; /* in the same folder; "" while the new file has no name */
  tsr_leftover leftover;    /* lists the temporary name */
  tsr_blocks *blocks;       /* of a file that is written again; otherwise NULL */
} tsr_file;

/* Begins a regular file. An existing file of that name, which the caller must be allowed to write, is replaced at
 * the end and its permissions are kept. A new one gets those of `mode`, less the umask. EISDIR for a folder, EINVAL
 * for a pipe or a device. */
__attribute__((warn_unused_result)) int tsr_file_begin(tsr_file *file, const char *path, unsigned mode);
/* Begins a new file PATH in the place of an old one, SPARE, in the same folder. blocks: what SPARE holds. At the end it holds
 * what was written, and is called PATH; after a failure there is no such file. A file that is not there, or is not the one that
 * was written, is written as a whole. */
__attribute__((warn_unused_result)) int tsr_file_begin_again(tsr_file *file, const char *path, const char *spare,
                                                             tsr_blocks *blocks);
/* Begins what a command puts out: the same (mode 0666), but a pipe or a device is written in place, and "-" is standard
 * output. */
__attribute__((warn_unused_result)) int tsr_file_begin_output(tsr_file *file, const char *path);
/* Whether a path names what is not replaced but written in place: "-", a pipe or a device. */
bool tsr_file_is_stream(const char *path);
/* What tsr_file_begin_output would return, without beginning anything: 0 for "-", a pipe or a device. For commands that
 * work long before they write. */
__attribute__((warn_unused_result)) int tsr_file_check_output(const char *path);
/* Writes all of it, where the last write ended. */
__attribute__((warn_unused_result)) int tsr_file_write(const tsr_file *file, const void *data, size_t bytes);
/* Ends what was begun. With failure = 0 the file takes its name, once its bytes are on the disk. Otherwise, and when
 * that fails, nothing of it is left. Returns `failure`, or what went wrong now. */
__attribute__((warn_unused_result)) int tsr_file_end(tsr_file *file, int failure);

#ifdef __cplusplus
}
#endif
#endif
