/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera check and tessera link: what a spec composes to, and its device code, both without a device.
 */
#define _POSIX_C_SOURCE 200809L /* strndup, open_memstream */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "core/spec/number.h"
#include "core/tessera_tools.h"
#include "tools/cli/command.h"
#include "tools/lab/forecast.h"
#include "tools/lab/json.h"
#include "tools/lab/outputs.h"

enum {
  CAPACITY_ASSUMED = 1000000, /* where a spec leaves it to `run` */
  SM_ASSUMED = 90             /* where there is no GPU to ask */
};

static tsr_options options_for(const tsr_arguments *arguments, const tsr_spec *spec) {
  tsr_options options = {.plugins = tsr_arguments_value(arguments, "--plugins")};
  if (!tsr_spec_get(spec, "table", "capacity")) options.capacity = CAPACITY_ASSUMED;
  return options;
}

/* ---- check ----------------------------------------------------------------------------------- */

/* Entries as the spec has them, by sections. */
static void put_entries(tsr_json *json, const tsr_spec *spec) {
  tsr_spec_item item, before;
  tsr_json_object(json, "entries");
  for (size_t i = 0; tsr_spec_get_at(spec, i, &item); i++) {
    bool is_first = true;
    for (size_t k = 0; is_first && k < i && tsr_spec_get_at(spec, k, &before); k++)
      is_first = strcmp(before.section, item.section) != 0;
    if (!is_first) continue;
    tsr_json_object(json, item.section);
    for (size_t k = i; tsr_spec_get_at(spec, k, &before); k++)
      if (strcmp(before.section, item.section) == 0) tsr_json_text(json, before.key, before.value);
    tsr_json_end_object(json);
  }
  tsr_json_end_object(json);
}

static void put_resolution(tsr_json *json, const tsr_resolution *r) {
  tsr_json_text(json, "composition", r->text);
  tsr_json_text(json, "backend", r->sm ? "cuda" : "cpu");
  tsr_json_number(json, "sm", r->sm);
  tsr_json_number(json, "capacity", r->capacity);
  tsr_json_number(json, "slots", r->slots);
  tsr_json_number(json, "bytes", r->bytes);
  tsr_json_number(json, "bucket_slots", r->bucket_slots);
  tsr_json_number(json, "bucket_bytes", r->bucket_bytes);
  tsr_json_number(json, "tile_lanes", r->tile_lanes);
  tsr_json_real(json, "load_factor", r->load_factor, 6);
  tsr_json_real(json, "reached_load", r->reached_load, 6);
  tsr_json_number(json, "page_batch", r->page_batch);
  tsr_json_number(json, "zone_batch", r->zone_batch);
}

static void put_lines(tsr_json *json, const char *text) {
  tsr_json_list(json, "report");
  for (size_t letters; *text; text += letters + (text[letters] != 0)) {
    letters = strcspn(text, "\n");
    char *line = strndup(text, letters);
    tsr_json_text(json, NULL, line);
    free(line);
  }
  tsr_json_end_list(json);
}

/* A spec without a layout is that of a pool, which resolves to no table. */
static tsr_status print_json(const char *name, const tsr_spec *spec, const tsr_options *options, const char *text,
                             tsr_error *error) {
  tsr_resolution resolution = {0};
  const bool is_pool = !tsr_spec_get(spec, "table", "layout");
  tsr_status status = is_pool ? TSR_OK : tsr_spec_resolve(spec, options, &resolution, error);
  if (status) return status;
  tsr_json json = {.out = stdout};
  tsr_json_object(&json, NULL);
  tsr_json_text(&json, "tessera", TSR_VERSION);
  tsr_json_text(&json, "spec", name);
  put_entries(&json, spec);
  if (!is_pool) put_resolution(&json, &resolution);
  put_lines(&json, text);
  tsr_json_end_object(&json);
  tsr_resolution_free(&resolution);
  return TSR_OK;
}

/* What --predict asks for, which the caller frees; NULL: it does not. */
static tsr_status make_forecast(const tsr_arguments *arguments, const tsr_spec *spec, const tsr_options *options,
                                char **text, tsr_error *error) {
  const char *path = tsr_arguments_value(arguments, "--predict");
  tsr_card card;
  size_t bytes = 0;
  if (!path) return TSR_OK;
  tsr_status status = tsr_card_read(path, &card, error);
  if (status) return status;
  FILE *out = open_memstream(text, &bytes);
  status = out ? tsr_forecast_print(out, spec, options->plugins, &card, error)
               : tsr_fail(error, TSR_NO_MEMORY, "no memory for a prediction");
  if (out) fclose(out);
  tsr_card_free(&card);
  return status;
}

static tsr_exit run_check(const tsr_arguments *arguments) {
  if (tsr_arguments_has(arguments, "--json") && tsr_arguments_has(arguments, "--predict"))
    return tsr_say_usage("--predict prints a table, and --json one object: leave one of them out");
  tsr_spec *spec;
  tsr_error error;
  char *text, *forecast = NULL;
  tsr_status status = tsr_arguments_spec(arguments, arguments->operands[0], &spec, &error);
  if (status) return tsr_say_error(status, &error);
  tsr_options options = options_for(arguments, spec);
  status = tsr_spec_check(spec, &options, &text, &error);
  const bool as_json = tsr_arguments_has(arguments, "--json"), is_sound = status == TSR_OK;
  if (is_sound && as_json) status = print_json(arguments->operands[0], spec, &options, text, &error);
  if (status == TSR_OK) status = make_forecast(arguments, spec, &options, &forecast, &error);
  if (status == TSR_OK && !as_json) printf("%s%s", text, forecast ? forecast : "");
  if (is_sound) free(text);
  free(forecast);
  tsr_spec_free(spec);
  if (status) return tsr_say_error(status, &error);
  if (options.capacity)
    tsr_say("the spec has no capacity, which `run` takes from its input: sizes are those for %d", CAPACITY_ASSUMED);
  return TSR_EXIT_OK;
}

/* ---- link ------------------------------------------------------------------------------------ */

/* The compute capability of --arch, or of the spec's GPU if there is one. */
static tsr_exit choose_architecture(const tsr_arguments *arguments, const tsr_spec *spec, uint32_t *sm) {
  const char *arch = tsr_arguments_value(arguments, "--arch");
  uint64_t number = 0;
  if (arch) {
    if (strncmp(arch, "sm_", 3) != 0 || arch[3] < '1' || arch[3] > '9' || !tsr_parse_u64(arch + 3, &number) ||
        number > 999)
      return tsr_say_usage("--arch %s: write it like sm_90, or cpu or cpu-v2", arch);
    *sm = (uint32_t)number;
    return TSR_EXIT_OK;
  }
  const char *device = tsr_spec_get(spec, "table", "device");
  tsr_device_info info = {0};
  tsr_error error;
  if (device && (!tsr_parse_u64(device, &number) || number > 63)) number = 0; /* the link itself refuses the entry */
  if (tsr_device_describe((int)number, &info, &error) == TSR_OK) {
    *sm = info.sm;
    tsr_say("linking for sm_%u, the %s of this machine", info.sm, info.name);
  } else {
    *sm = SM_ASSUMED;
    tsr_say("linking for sm_%d, as there is no GPU to ask: %s", SM_ASSUMED, error.message);
  }
  return TSR_EXIT_OK;
}

static void print_link(FILE *to, const tsr_link *link, uint32_t sm) {
  fprintf(to, "%-40s %9s %11s\n", "kernel", "registers", "stack bytes"); /* a spill would need a stack */
  for (size_t i = 0; i < link->kernel_count; i++)
    fprintf(to, "%-40s %9u %11u\n", link->kernels[i].name, link->kernels[i].registers, link->kernels[i].stack_bytes);
  fprintf(to, "other functions  %u\n", link->other_functions);
  fprintf(to, "cubin            %zu bytes for sm_%u\n", link->cubin_bytes, sm);
  if (link->cached)
    fprintf(to, "time             none: it was in the cache\n");
  else
    fprintf(to, "time             glue %.1f ms, link %.1f ms\n", link->glue_ms, link->link_ms);
}

/* Says which rule is broken by what the linker left over, if anything. */
static tsr_exit judge_link(const tsr_link *link, uint32_t sm) {
  tsr_exit failed = TSR_EXIT_OK;
  for (size_t i = 0; i < link->kernel_count; i++) {
    if (!link->kernels[i].stack_bytes) continue;
    tsr_say("%s: needs a stack of %u bytes on sm_%u: a part indexes registers at run time, or spills them (P-26, P-22)",
            link->kernels[i].name, link->kernels[i].stack_bytes, sm);
    failed = TSR_EXIT_FAILED;
  }
  if (link->other_functions) {
    tsr_say("%u function%s besides the kernels on sm_%u: a part divides by a variable (P-26), or has a function that "
            "cannot be inlined (P-22)",
            link->other_functions, link->other_functions == 1 ? "" : "s", sm);
    failed = TSR_EXIT_FAILED;
  }
  return failed;
}

static tsr_exit write_cubin(const char *path, const tsr_link *link) {
  tsr_file file;
  int failure = tsr_file_begin_output(&file, path);
  if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, link->cubin, link->cubin_bytes));
  if (!failure) return TSR_EXIT_OK;
  tsr_say("%s: cannot be written: %s", path, strerror(failure));
  return TSR_EXIT_FAILED;
}

/* What jobs and programs use most of such a table. */
static uint32_t usual_calls(const tsr_spec *spec) {
  const char *kind = tsr_spec_get(spec, "table", "kind");
  const uint32_t always = TSR_PREPARE_INSERT | TSR_PREPARE_ERASE | TSR_PREPARE_SIZE;
  if (kind && strcmp(kind, "multimap") == 0) return always | TSR_PREPARE_FIND | TSR_PREPARE_FIND_ALL;
  if (kind && (strcmp(kind, "map") == 0 || strcmp(kind, "counter") == 0 || strcmp(kind, "index") == 0))
    return always | TSR_PREPARE_FIND | TSR_PREPARE_FIND_OR_INSERT;
  return always | TSR_PREPARE_CONTAINS | TSR_PREPARE_COUNT_ALL;
}

/* `cpu`, and `cpu-v2` for older processors. */
static tsr_exit fuse(const tsr_arguments *arguments, uint32_t level) {
  const char *folder = tsr_arguments_value(arguments, "-o");
  tsr_spec *spec;
  tsr_error error;
  if (!folder) return tsr_say_usage("--arch cpu: -o FOLDER says where the code goes");
  tsr_status status = tsr_arguments_spec(arguments, arguments->operands[0], &spec, &error);
  if (status) return tsr_say_error(status, &error);
  const tsr_options options = options_for(arguments, spec);
  const uint32_t all = 2 * TSR_PREPARE_EXPORT - 1,
                 calls = tsr_arguments_has(arguments, "--all") ? all : usual_calls(spec);
  status = tsr_spec_fuse(spec, &options, calls, level, folder, &error);
  tsr_spec_free(spec);
  return status ? tsr_say_error(status, &error) : TSR_EXIT_OK;
}

static tsr_exit run_link(const tsr_arguments *arguments) {
  const char *arch = tsr_arguments_value(arguments, "--arch");
  if (arch && strcmp(arch, "cpu") == 0) return fuse(arguments, 0);
  if (arch && strcmp(arch, "cpu-v2") == 0) return fuse(arguments, 2);
  const char *out = tsr_arguments_value(arguments, "-o");
  tsr_spec *spec;
  tsr_error error;
  tsr_link link = {0};
  uint32_t sm = 0;
  tsr_status status =
      tsr_outputs_check(&(tsr_named_path){"-o", out}, 1, &(tsr_named_path){"SPEC", arguments->operands[0]}, 1, &error);
  if (status == TSR_OK) status = tsr_arguments_spec(arguments, arguments->operands[0], &spec, &error);
  if (status) return tsr_say_error(status, &error);
  tsr_options options = options_for(arguments, spec); /* code does not depend on the capacity */
  tsr_exit failed = choose_architecture(arguments, spec, &sm);
  if (failed == TSR_EXIT_OK) {
    status = tsr_spec_link(spec, &options, sm, !tsr_arguments_has(arguments, "--no-cache"), &link, &error);
    if (status) failed = tsr_say_error(status, &error);
  }
  tsr_spec_free(spec);
  if (failed) return failed;
  print_link(out && !strcmp(out, "-") ? stderr : stdout, &link, sm); /* the code alone on standard output */
  failed = judge_link(&link, sm);
  if (out && write_cubin(out, &link)) failed = TSR_EXIT_FAILED;
  tsr_link_free(&link);
  return failed;
}

static const tsr_option check_options[] = {
    {"--json", NULL, false, "Prints one JSON object."},
    {"--predict", "FILE", false,
     "Also rates on a GPU, predicted from its limits: a file of `tessera roofline`, such as specs/cards/h100.csv."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};
static const tsr_option link_options[] = {
    {"--arch", "sm_NN", false,
     "The GPU to link for. Otherwise the one found here, or sm_90 without one. cpu: compiles for CPUs with AVX2; "
     "cpu-v2: for older "
     "ones (x86-64-v2)."},
    {"-o", "FILE.cubin", false, "Where the device code goes; with --arch cpu a folder."},
    {"--all", NULL, false, "With --arch cpu: code of all operations, not only of those that programs use most."},
    {"--no-cache", NULL, false, "Links even if the cache has it, and stores nothing there."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

const tsr_command tsr_check_command = {
    {"check", "SPEC", "Prints all that a spec resolves to: parts, parameters, sizes, what may overlap.", check_options,
     NULL},
    run_check};
const tsr_command tsr_link_command = {{"link", "SPEC",
                                       "Links a spec's device code, without a GPU, and prints what each kernel uses.",
                                       link_options, NULL},
                                      run_link};
