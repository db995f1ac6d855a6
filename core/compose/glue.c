/* SPDX-License-Identifier: Apache-2.0
 *
 * Generates the glue module (glue.h) from the same lists that declare the contract, so nothing is said twice.
 */
#define _GNU_SOURCE /* open_memstream */
#include "core/compose/glue.h"

#include <stdlib.h>
#include <string.h>

#include "core/compose/entries.h"
#include "core/compose/registry.h"
#include "core/kernels/bulk.h"

/* ---- Widths ---------------------------------------------------------------------------------- */

static bool same_widths(const tsr_composition *a, const tsr_composition *b) {
  return a->shape.key_bits == b->shape.key_bits && a->shape.payload_bits == b->shape.payload_bits;
}

/* The first table of each module; the module serves all tables of its widths. */
static const tsr_composition *module_leader(const tsr_composition *const *tables, size_t count, size_t module) {
  for (size_t i = 0; i < count; i++) {
    size_t first = 0;
    while (!same_widths(tables[first], tables[i])) first++;
    if (first == i && module-- == 0) return tables[i];
  }
  return NULL;
}

size_t tsr_glue_modules(const tsr_composition *const *tables, size_t count) {
  size_t modules = 0;
  while (module_leader(tables, count, modules)) modules++;
  return modules;
}

/* TSR_PART's suffix for a part's own functions: only the widths that its role depends on. */
static void print_suffix(FILE *out, const tsr_image *image) {
  if (image->key_bits != TSR_ANY_BITS) fprintf(out, "_k%u", image->key_bits);
  if (image->payload_bits != TSR_ANY_BITS) fprintf(out, "c%u", image->payload_bits);
}

/* ---- Constants ------------------------------------------------------------------------------- */

static void print_facts(FILE *out, const tsr_composition *const *tables, size_t count) {
#define PRINT(of, fact)                                                                                                \
  fprintf(out, "TSR_CONSTANT uint32_t tsr_fact_" #fact " = %uu;\n", tables[0]->of.fact);                               \
  fprintf(out, "TSR_DEVICE uint32_t tsr_fact_of_" #fact "(const tsr_ctx *c) {\n  switch (c->table) {\n");              \
  for (size_t i = 1; i < count; i++) fprintf(out, "    case %zu: return %uu;\n", i, tables[i]->of.fact);               \
  fprintf(out, "    default: return %uu;\n  }\n}\n", tables[0]->of.fact);
#define PRINT_FACT(fact) PRINT(shape, fact)
#define PRINT_CORE_FACT(fact) PRINT(facts, fact)
  TSR_FACTS(PRINT_FACT)
  TSR_CORE_FACTS(PRINT_CORE_FACT)
}

static void print_parameter_value(FILE *out, const tsr_part *part, const tsr_parameter *parameter) {
  const void *member = (const char *)part->config + parameter->offset;
  if (parameter->type == TSR_PARAMETER_U32)
    fprintf(out, "return %uu;\n", *(const uint32_t *)member);
  else
    fprintf(out, "return %lluu;\n", (unsigned long long)*(const uint64_t *)member);
}

/* A plugin's parameters are defined once, for all tables that use it. */
static void print_parameters(FILE *out, const tsr_composition *const *tables, size_t count, size_t table,
                             uint32_t role) {
  const tsr_part *part = &tables[table]->part[role];
  if (!part->plugin) return;
  for (size_t i = 0; i < table; i++)
    if (tables[i]->part[role].plugin == part->plugin) return;
  for (const tsr_parameter *parameter = part->plugin->parameters; parameter->name; parameter++) {
    fprintf(out, "TSR_DEVICE %s %s_%s_parameter_%s(const tsr_ctx *c) {\n  switch (c->table) {\n",
            parameter->type == TSR_PARAMETER_U32 ? "uint32_t" : "uint64_t", tsr_role_names[role], part->plugin->name,
            parameter->name);
    for (size_t i = table + 1; i < count; i++)
      if (tables[i]->part[role].plugin == part->plugin) {
        fprintf(out, "    case %zu: ", i);
        print_parameter_value(out, &tables[i]->part[role], parameter);
      }
    fprintf(out, "    default: ");
    print_parameter_value(out, part, parameter);
    fprintf(out, "  }\n}\n");
  }
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void print_call(FILE *out, const tsr_part *part, const tsr_entry *f) {
  if (!part->plugin || !tsr_entry_is_there(part->image, f)) { /* of an absent role nobody needs the result */
    if (f->absent)
      fprintf(out, "return %s;\n", f->absent);
    else
      fprintf(out, "return (%s)0;\n", f->result);
    return;
  }
  fprintf(out, "return %s_%s_%s", tsr_role_names[f->role], part->plugin->name, f->verb);
  print_suffix(out, part->image);
  fprintf(out, "%s;\n", f->arguments);
}

static void print_declaration(FILE *out, const tsr_part *part, const tsr_entry *f) {
  if (!part->plugin || !tsr_entry_is_there(part->image, f)) return;
  fprintf(out, "TSR_DEVICE %s %s_%s_%s", f->result, tsr_role_names[f->role], part->plugin->name, f->verb);
  print_suffix(out, part->image);
  fprintf(out, "%s;\n", f->parameters);
}

static void print_entry(FILE *out, const tsr_composition *const *tables, size_t count, const tsr_composition *leader,
                        const tsr_entry *f) {
  size_t last = 0, parts = 0;
  for (size_t i = 0; i < count; i++)
    if (same_widths(tables[i], leader)) {
      print_declaration(out, &tables[i]->part[f->role], f);
      parts += tables[i]->part[f->role].plugin != NULL;
      last = i;
    }
  /* nobody may call it; but a C compiler wants the body of what a filter's operations name behind a constant condition */
  if (parts == 0 && !leader->facts.is_filter) return;
  fprintf(out, "TSR_DEVICE %s TSR_ENTRY(%s_%s)%s {\n  switch (c->table) {\n", f->result, tsr_role_names[f->role],
          f->verb, f->parameters);
  for (size_t i = 0; i < last; i++)
    if (same_widths(tables[i], leader)) {
      fprintf(out, "    case %zu: ", i);
      print_call(out, &tables[i]->part[f->role], f);
    }
  fprintf(out, "    default: ");
  print_call(out, &tables[last]->part[f->role], f);
  fprintf(out, "  }\n}\n");
}

/* ---- Modules --------------------------------------------------------------------------------- */

static void print_head(FILE *out, const tsr_composition *leader) {
  if (leader->shape.key_bits) /* a pool has no keys, hence no widths, and only an allocator */
    fprintf(out,
            "#define TSR_KEY_BITS %u\n#define TSR_PAYLOAD_BITS %u\n"
            "#include \"plugins/probing.cuh\"\n",
            leader->shape.key_bits, leader->shape.payload_bits);
  fprintf(out, "#include \"plugins/allocator.cuh\"\n");
  if (leader->part[TSR_ROLE_EVICTION].plugin) fprintf(out, "#include \"plugins/eviction.cuh\"\n");
}

static void print_constants(FILE *out, const tsr_composition *const *tables, size_t count) {
  print_facts(out, tables, count);
  for (size_t i = 0; i < count; i++)
    for (uint32_t role = 0; role < TSR_ROLES; role++) print_parameters(out, tables, count, i, role);
}

char *tsr_glue_text(const tsr_composition *const *tables, size_t count, size_t module) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  const tsr_composition *leader = module_leader(tables, count, module);
  print_head(out, leader);
  if (module == 0) print_constants(out, tables, count);
  for (size_t i = 0; i < tsr_entry_count; i++) print_entry(out, tables, count, leader, &tsr_entries[i]);
  if (fclose(out) != 0) {
    free(text);
    return NULL;
  }
  return text;
}

/* ---- A unit for the CPU ---------------------------------------------------------------------- */

/* The header that a line includes, if it is one of `headers`; *index is its number among them. */
static const tsr_header *included(const char *line, const tsr_header *headers, size_t *index) {
  static const char include[] = "#include \"";
  if (strncmp(line, include, sizeof include - 1) != 0) return NULL;
  line += sizeof include - 1;
  for (*index = 0; headers[*index].name; ++*index) {
    const size_t length = strlen(headers[*index].name);
    if (strncmp(line, headers[*index].name, length) == 0 && line[length] == '"') return &headers[*index];
  }
  return NULL;
}

enum { HEADERS_MAX = 64 }; /* of each of the two lists */
typedef struct expansion {
  bool done[2][HEADERS_MAX];
} expansion;

/* Prints a text with each header in the place of its first include, and nothing in that of the others. All of them
 * have guards, and none is included first where a condition is false. */
static void print_expanded(FILE *out, const char *text, expansion *e) {
  static const tsr_header *const lists[] = {tsr_sdk_headers, tsr_operation_headers};
  for (const char *line = text, *end; *line; line = end) {
    end = strchr(line, '\n');
    end = end ? end + 1 : line + strlen(line);
    const tsr_header *header = NULL;
    for (size_t list = 0, i; list < 2 && !header; list++) {
      header = included(line, lists[list], &i);
      if (!header) continue;
      if (i < HEADERS_MAX && !e->done[list][i]) {
        e->done[list][i] = true;
        print_expanded(out, header->text, e);
      }
    }
    if (!header) fwrite(line, 1, (size_t)(end - line), out);
    if (header) fputc('\n', out); /* as many lines as before, where the header stands already */
  }
}

/* A part's own text, with the names that the build gives it (plugins/build_plugin.sh). */
static void print_part(FILE *out, const tsr_part *part, uint32_t role) {
  if (!part->plugin) return;
  fprintf(out, "#undef TSR_ROLE\n#undef TSR_NAME\n#undef TSR_PARAMETERS\n#undef TSR_KEYS_128\n#undef TSR_SUFFIX\n");
  fprintf(out, "#define TSR_ROLE %s\n#define TSR_NAME %s\n#define TSR_SUFFIX ", tsr_role_names[role],
          part->plugin->name);
  print_suffix(out, part->image);
  fprintf(out, "\n%s\n", part->plugin->text);
}

static void print_unit(FILE *out, const tsr_composition *table, const char *body) {
  fprintf(out, "#define _POSIX_C_SOURCE 199309L\n#define TSR_FUSED\n#define TSR_ONE_TABLE\n");
  print_head(out, table);
  print_constants(out, &table, 1);
  for (uint32_t role = 0; role < TSR_ROLES; role++) print_part(out, &table->part[role], role);
  fprintf(out, "#undef TSR_SUFFIX\n#define TSR_SUFFIX _k%uc%u\n", table->shape.key_bits, table->shape.payload_bits);
  for (size_t i = 0; i < tsr_entry_count; i++) print_entry(out, &table, 1, table, &tsr_entries[i]);
  fputs(body, out);
}

char *tsr_glue_expand(const char *text) {
  char *whole = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&whole, &bytes);
  if (!out) return NULL;
  expansion e = {{{false}}};
  print_expanded(out, text, &e);
  if (fclose(out) == 0) return whole;
  free(whole);
  return NULL;
}

char *tsr_glue_unit_of(const tsr_composition *table, const char *body) {
  char *unit = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&unit, &bytes);
  if (!out) return NULL;
  print_unit(out, table, body);
  char *whole = fclose(out) == 0 ? tsr_glue_expand(unit) : NULL;
  free(unit);
  return whole;
}

char *tsr_glue_unit(const tsr_composition *table, uint32_t operation) {
#define OPERATION_NAME(op) #op,
  static const char *const names[] = {TSR_BULK_OPS(OPERATION_NAME)};
  char body[512];
  snprintf(body, sizeof body,
           "#include \"core/cpu/range.cuh\"\n"
           "CPU_RANGE(%s)\n"
           "__attribute__((visibility(\"default\"))) void tsr_fused_range(const void *cpu, const tsr_bulk *bulk,\n"
           "    uint32_t alone, uint64_t begin, uint64_t end, tsr_tally *tally) {\n"
           "  range_%s(cpu, bulk, alone, begin, end, tally);\n}\n",
           names[operation], names[operation]);
  return tsr_glue_unit_of(table, body);
}
