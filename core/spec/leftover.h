/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process would leave behind if it ended now: temporary files, a compiler's folders, and the compiler. They
 * are listed here while they exist, so that a program that is told to end can remove them at once, whatever its
 * other threads do. Making something and listing it is one step, and so is removing it: both are done while the list
 * is held. Read next: file.c, ../cpu/compiler.c, ../../tools/cli/interrupt.c.
 */
#ifndef TSR_LEFTOVER_H
#define TSR_LEFTOVER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed to begin with; stays where it is, and so does its path, while it is listed. */
typedef struct tsr_leftover {
  const char *path; /* a file, or a folder with all that it holds */
  int group;        /* the process group that works there; 0: none */
  struct tsr_leftover *next, **link;
} tsr_leftover;

/* Only one thread holds the list at a time. */
void tsr_leftover_hold(void);
void tsr_leftover_release(void);
/* While it is held. */
void tsr_leftover_add(tsr_leftover *leftover, const char *path);
void tsr_leftover_drop(tsr_leftover *leftover); /* nothing happens if it is not listed */

/* Removes a file, or a folder with all that it holds. */
void tsr_leftover_remove(const char *path);

/* Ends the listed process groups and removes all that is listed. From then on whoever would make something waits for
 * ever: the caller ends the process next. Takes two seconds at most. */
void tsr_leftover_clear(void);

#ifdef __cplusplus
}
#endif
#endif
