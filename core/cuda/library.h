/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's libraries that are opened when they are first needed, and their functions.
 */
#ifndef TSR_CUDA_LIBRARY_H
#define TSR_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A library of the toolkit, or one that is installed with it: NAME.RELEASE on the loader's own path, then NAME or
 * NAME.RELEASE where toolkits are installed, then NAME.RELEASE in the packages that pip has installed next to Tessera's. NULL:
 * it is nowhere. It stays open. */
void *tsr_cuda_library(const char *name, const char *release);
/* Writes the address of a function to a pointer to a function, of `bytes` bytes. */
bool tsr_cuda_symbol(void *library, const char *symbol, void *function, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
