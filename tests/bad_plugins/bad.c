/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin that can be broken in any way: each macro below replaces one sound member. bad_plugins_test.sh builds it
 * with them, one at a time. It is of any role: its code does nothing, and is never run.
 */
#include <signal.h>
#include <stdlib.h>

#include "plugins/plugin.h"

#ifndef ABI
#define ABI TSR_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(tsr_plugin)
#endif
#ifndef ROLE
#define ROLE TSR_ROLE_HASHER
#endif
#ifndef NAME
#define NAME "bad"
#endif
#ifndef SUMMARY
#define SUMMARY "Is broken."
#endif
#ifndef SOURCE
#define SOURCE "own"
#endif
#ifndef PARAMETERS
#define PARAMETERS parameters
#endif
#ifndef PLAN
#define PLAN plan
#endif
#ifndef IMAGES
#define IMAGES images
#endif
#ifndef TEXT
#define TEXT ""
#endif
#ifndef ENTRY
#define ENTRY tsr_plugin_entry
#endif
#ifndef ROWS /* of a parameter */
#define ROWS
#endif
#ifndef ACT /* what plan() does */
#define ACT return TSR_OK;
#endif

typedef struct bad_config {
  uint32_t narrow;
  uint64_t wide;
} bad_config;

static const tsr_parameter parameters[] = {ROWS{NULL, TSR_PARAMETER_U32, 0, 0, 0, 0, NULL}};

/* Each is called before it is run: what matters is that it is there. */
static void does_nothing(void) {}
#ifdef WITHOUT_FUNCTIONS
static void (*const functions[16])(void) = {NULL};
#else
static void (*const functions[16])(void) = {does_nothing, does_nothing, does_nothing, does_nothing,
                                            does_nothing, does_nothing, does_nothing, does_nothing};
#endif
#ifndef KEY_BITS /* that it carries code for */
#define KEY_BITS TSR_ANY_BITS
#endif
static const tsr_image images[] = {{KEY_BITS, TSR_ANY_BITS, functions, NULL, 0}, {0, 0, NULL, NULL, 0}};
static const tsr_image no_images[] = {{0, 0, NULL, NULL, 0}};

/* A layout's facts with which the core can go on. */
static inline tsr_status fill(tsr_plan *plan) {
  plan->layout.bucket_slots = plan->layout.bucket_places = 4;
  plan->layout.tile_lanes = plan->layout.share_lanes = 1;
  return TSR_OK;
}

static inline int recurse(volatile int *depth) {
  volatile int here[1024] = {*depth};
  return *depth < 0 ? 0 : recurse(here) + here[1023];
}

#ifdef UNRESOLVED
extern int nobody_defines_this(void);
#endif

static tsr_status plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)shape;
  (void)plan;
  (void)error;
  (void)no_images;
#ifdef UNRESOLVED
  return nobody_defines_this() ? TSR_OK : TSR_INCOMPATIBLE;
#endif
  ACT
}

extern const tsr_plugin ENTRY;
__attribute__((visibility("default"))) const tsr_plugin ENTRY = {.abi = ABI,
                                                                 .size = SIZE,
                                                                 .role = ROLE,
                                                                 .name = NAME,
                                                                 .summary = SUMMARY,
                                                                 .source = SOURCE,
                                                                 .parameters = PARAMETERS,
                                                                 .config_bytes = sizeof(bad_config),
                                                                 .plan = PLAN,
                                                                 .images = IMAGES,
                                                                 .text = TEXT};
