// SPDX-License-Identifier: Apache-2.0
//
// The kernels of joins in which threads work together, by name.
#ifndef TSR_TESTS_EMULATED_MATCH_KERNELS_H
#define TSR_TESTS_EMULATED_MATCH_KERNELS_H

// NULL: there is none of this name. It takes the step's argument.
void (*match_kernel(const char *name))(const void *argument);

#endif
