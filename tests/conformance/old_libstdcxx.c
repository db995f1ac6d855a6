/* SPDX-License-Identifier: Apache-2.0
 *
 * What a C++ program takes from newer libraries and an older glibc or libstdc++ lacks, by what these have. So the kit in a wheel
 * runs on systems older than the one that built it. Read next: python/repair_wheel.py, tools/cli/old_start.c.
 */
#include <limits.h> /* __GLIBC__ */

#if (defined __x86_64__ || defined __aarch64__) && defined __GLIBC__

/* Whether there is one thread, from glibc 2.32 on. shared_ptr counts without atomics then; here it never does. */
char __libc_single_threaded;

/* Constructors of ostringstream and stringstream without arguments, of libstdc++ 3.4.26, by those that take a mode. */
enum { MODE_IN = 8, MODE_OUT = 16 };

void ostringstream_of(void *stream, int mode) __asm__(
    "_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode");
void stringstream_of(void *stream, int mode) __asm__(
    "_ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode");
void ostringstream(void *stream) __asm__("_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev");
void stringstream(void *stream) __asm__("_ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1Ev");

void ostringstream(void *stream) { ostringstream_of(stream, MODE_OUT); }

void stringstream(void *stream) { stringstream_of(stream, MODE_IN | MODE_OUT); }

/* What `new` of too many items throws, of libstdc++ 3.4.29. Its base class is that which is thrown here. */
void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((noreturn));
void throw_bad_array_new_length(void) __asm__("_ZSt28__throw_bad_array_new_lengthv") __attribute__((noreturn));

void throw_bad_array_new_length(void) { throw_bad_alloc(); }

#endif
