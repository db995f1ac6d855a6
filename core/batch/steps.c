/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of an ordered batch (steps.h) as data. Only the memory of a block depends on the batch.
 */
#include "core/batch/steps.h"

#include "core/batch/steps_cpu.h"

static uint32_t item_bytes(const tsr_shape *table) { return (table->key_bits + table->payload_bits) / 8; }

static void fit_pages_counts(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_order_step *p = argument;
  (void)table;
  grid->shared_bytes = (uint32_t)p->bins * (uint32_t)sizeof(uint32_t);
}

/* The items of a tile, with their bins, and their places if they are wanted. */
static void fit_tile(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_order_step *p = argument;
  const uint32_t item = item_bytes(table), place = p->to.places ? (uint32_t)sizeof *p->to.places : 0;
  grid->shared_bytes = TSR_TILE_ITEMS(item) * (item + place + TSR_TILE_BIN_BYTES(item));
}

static void fit_marks(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)table;
  grid->shared_bytes = ((const tsr_mark_step *)argument)->block_bytes;
}

static void fit_set(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  grid->shared_bytes = ((const tsr_group_step *)argument)->set_room * item_bytes(table);
}

static void fit_span(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)argument;
  grid->shared_bytes = TSR_SPAN_ROOM * (item_bytes(table) + (uint32_t)sizeof(uint32_t));
}

static void fit_page(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)table;
  grid->shared_bytes = ((const tsr_place_step *)argument)->room.bytes;
}

static void fit_staged(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)argument;
  grid->shared_bytes = TSR_LISTS_STAGED * item_bytes(table);
}

static void fit_build(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)argument;
  grid->shared_bytes = table->build_bytes;
}

#define ROW(op, ...) {.set = &tsr_pages_steps, .kernel = "tsr_pages_" #op "_kernel", __VA_ARGS__},
static const tsr_step steps[] = {TSR_PAGES_OPS(ROW)};
extern const tsr_image tsr_pages_images[]; /* built by core/BUILD from batch.cu */
const tsr_steps tsr_pages_steps = {
    .images = tsr_pages_images, .step = steps, .count = TSR_PAGES_STEPS, .is_ordered = true};
