/* SPDX-License-Identifier: Apache-2.0
 *
 * stat and its kin by the functions that every glibc has. The names stat, fstat, lstat and fstatat are symbols of glibc only
 * from 2.33 on, so a program that is linked on a newer system would not start on an older one. The functions here are
 * hidden: they serve the library's own calls alone. Read next: python/repair_wheel.py.
 */
#define _POSIX_C_SOURCE 200809L /* AT_FDCWD */

#include <limits.h> /* __GLIBC__ */

#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)
#if __GLIBC_PREREQ(2, 33)

#include <fcntl.h>
#include <sys/stat.h>

/* The version of struct stat, which glibc's headers named _STAT_VER. */
#ifdef __x86_64__
enum { STAT_VERSION = 1 };
#else
enum { STAT_VERSION = 0 };
#endif

int __fxstat(int version, int file, struct stat *facts);
int __fxstatat(int version, int folder, const char *path, struct stat *facts, int flags);

int fstat(int file, struct stat *facts) { return __fxstat(STAT_VERSION, file, facts); }

int fstatat(int folder, const char *path, struct stat *facts, int flags) {
  return __fxstatat(STAT_VERSION, folder, path, facts, flags);
}

int stat(const char *path, struct stat *facts) { return fstatat(AT_FDCWD, path, facts, 0); }

int lstat(const char *path, struct stat *facts) { return fstatat(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW); }

#endif
#endif
