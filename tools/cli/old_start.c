/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts a program that was linked with a new glibc on an older one as well. Read next: python/repair_wheel.py.
 */
#include <limits.h> /* __GLIBC__ */

#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)

typedef int program(int count, char **arguments, char **environment);
typedef void beginning(int count, char **arguments, char **environment);

/* From glibc 2.34 on a program leaves its constructors to the library. An older library calls what the program passes. */
extern beginning *const __init_array_start[] __attribute__((visibility("hidden")));
extern beginning *const __init_array_end[] __attribute__((visibility("hidden")));

static void construct(int count, char **arguments, char **environment) {
  for (beginning *const *next = __init_array_start; next != __init_array_end; next++)
    (*next)(count, arguments, environment);
}

int old_start(program *main, int count, char **arguments, beginning *begin, void (*end)(void), void (*end_loader)(void),
              void *stack);
#ifdef __x86_64__
__asm__(".symver old_start, __libc_start_main@GLIBC_2.2.5");
#else
__asm__(".symver old_start, __libc_start_main@GLIBC_2.17");
#endif

int __libc_start_main(program *main, int count, char **arguments, beginning *begin, void (*end)(void),
                      void (*end_loader)(void), void *stack) {
  return old_start(main, count, arguments, begin ? begin : construct, end, end_loader, stack);
}

#endif
