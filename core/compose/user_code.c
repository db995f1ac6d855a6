/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' kernels as texts (user_code.h).
 */
#define _GNU_SOURCE /* open_memstream */
#include "core/compose/user_code.h"

#include <stdlib.h>
#include <string.h>

#include "core/compose/glue.h"
#include "core/compose/user_text.h"

_Static_assert(sizeof(tsr_user_table) <= TSR_USER_REF_BYTES, "tessera.cuh leaves room for a table");

/* ---- Tables ---------------------------------------------------------------------------------- */

/* What TSR_TABLE declares has keys of type uint64_t. */
static tsr_status check_key_type(const tsr_user_code *code, size_t i, uint32_t key_bits, tsr_error *error) {
  const bool is_wide = code->facts.tables_128 >> i & 1;
  const char *name = code->facts.parameter[i].name;
  if (is_wide == (key_bits > 64)) return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "%s: the table %s was declared by %s, and it was given one with keys of %u bits: declare it by "
                  "%s(%s, ..), with keys of type %s",
                  code->facts.name, name, is_wide ? "TSR_TABLE_128" : "TSR_TABLE", key_bits,
                  is_wide ? "TSR_TABLE" : "TSR_TABLE_128", name, is_wide ? "uint64_t" : "tsr_key128");
}

tsr_status tsr_user_code_open(const tsr_kernel_source *source, const char *name, const char *const *names, size_t count,
                              tsr_user_code *code, size_t *order, tsr_error *error) {
  code->source = *source;
  tsr_status status = tsr_user_read(source, name, &code->facts, error);
  if (status) return status;
  const tsr_kernel_facts *facts = &code->facts;
  for (size_t i = 0; i < facts->tables; i++) {
    size_t found = 0, times = 0;
    for (size_t j = 0; j < count; j++)
      if (strcmp(names[j], facts->parameter[i].name) == 0) {
        found = j;
        times++;
      }
    if (times != 1)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: its table %s was given %s: name each of its tables once",
                      facts->name, facts->parameter[i].name, times ? "twice" : "no table");
    order[i] = found;
  }
  if (count != facts->tables)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s has %zu tables, and %zu were given: name each of its tables once",
                    facts->name, facts->tables, count);
  return TSR_OK;
}

tsr_status tsr_user_code_take(tsr_user_code *code, size_t i, const tsr_composition *composition, tsr_error *error) {
  const tsr_kernel_parameter *table = &code->facts.parameter[i];
  const struct {
    bool wanted;
    tsr_feature what;
  } wishes[] = {{true, TSR_HAS_CALL_KERNEL},
                {table->does == TSR_DOES_ALL, TSR_HAS_KERNEL_ALL},
                {(table->does & (TSR_DOES_SCANS | TSR_DOES_ERASES)) != 0, TSR_HAS_CALL_KEYS},
                {(table->does & TSR_DOES_INSERTS) != 0, TSR_HAS_KERNEL_INSERTS},
                {(table->does & TSR_DOES_ERASES) != 0, TSR_HAS_KERNEL_ERASES}};
  char name[160];
  tsr_status status = TSR_OK;
  snprintf(name, sizeof name, "%s on table %s", code->facts.name, table->name);
  for (size_t k = 0; status == TSR_OK && k < sizeof wishes / sizeof wishes[0]; k++)
    if (wishes[k].wanted) status = tsr_compatible_call(&composition->settings.traits, wishes[k].what, name, error);
  if (status == TSR_OK) status = check_key_type(code, i, composition->shape.key_bits, error);
  if (status) return status;
  code->tables[i] = tsr_composition_of_kernel(composition, table->does == TSR_DOES_ALL);
  return TSR_OK;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* In the place of those that insert and erase in other kinds. */
static void print_index_functions(FILE *out, const tsr_kernel_parameter *table, size_t number,
                                  const tsr_number_settings *numbers) {
  const bool reuses = numbers->reuse == TSR_REUSE_YES;
  if (numbers->row_bytes) fprintf(out, "USER_rows(%s, %u)\n", table->name, (uint32_t)numbers->row_bytes);
  if (table->does & TSR_DOES_INSERTS) fprintf(out, "USER_numbers(%s, %zu, %d)\n", table->name, number, reuses);
  if (table->does & TSR_DOES_ERASES) fprintf(out, "USER_erases_numbers(%s, %zu, %d)\n", table->name, number, reuses);
}

static void print_functions(FILE *out, const tsr_user_code *code, size_t i, size_t number) {
  const tsr_shape *shape = &code->tables[i].shape;
  const tsr_kernel_parameter *table = &code->facts.parameter[i];
  const uint32_t row_bytes = (uint32_t)code->tables[i].settings.value_bytes;
  const bool looks_up =
      TSR_POLICY_LOOKS(shape->duplicates) && !TSR_POLICY_COUNTS(shape->duplicates) && shape->kind != TSR_KIND_FILTER;
  fprintf(out, "#include \"core/kernels/user.cuh\"\n");
  if (table->does & TSR_DOES_FINDS && shape->kind == TSR_KIND_FILTER)
    fprintf(out, "USER_asks(%s, %zu)\n", table->name, number);
  else if (table->does & TSR_DOES_FINDS)
    fprintf(out, "USER_finds(%s, %zu, %u)\n", table->name, number, row_bytes);
  if (table->does & TSR_DOES_SCANS) fprintf(out, "USER_scans(%s, %zu, %u)\n", table->name, number, row_bytes);
  if (code->tables[i].settings.kind == TSR_KIND_INDEX) {
    print_index_functions(out, table, number, &code->tables[i].settings.numbers);
    return;
  }
  if (table->does & TSR_DOES_INSERTS && row_bytes)
    fprintf(out, "USER_inserts_rows(%s, %zu, %u, %d)\n", table->name, number, row_bytes,
            code->tables[i].settings.policy.replaces_rows != 0);
  else if (table->does & TSR_DOES_INSERTS)
    fprintf(out, "USER_inserts(%s, %zu)\n", table->name, number);
  if (table->does & TSR_DOES_INSERTS && looks_up && !row_bytes && (shape->whole_pairs || shape->payload_bits == 0))
    fprintf(out, "USER_looks_up(%s, %zu)\n", table->name, number);
  if (table->does & TSR_DOES_ERASES) fprintf(out, "USER_erases(%s, %zu)\n", table->name, number);
}

/* What the glue says of table 0 alone (TSR_ONE_TABLE), said of each table under names of its own. With constants in
 * its unit, what a table does not need is dropped before the link, which takes a fraction of the time. */
static void print_fact_names(FILE *out, size_t i) {
#define PRINT_NAME(fact) fprintf(out, "#define tsr_fact_" #fact " tsr_fact_" #fact "_of_table_%zu\n", i);
  TSR_FACTS(PRINT_NAME)
  TSR_CORE_FACTS(PRINT_NAME)
}

static void print_facts(FILE *out, const tsr_composition *table) {
#define PRINT_FACT(fact) fprintf(out, "TSR_CONSTANT uint32_t tsr_fact_" #fact " = %uu;\n", table->shape.fact);
#define PRINT_CORE_FACT(fact) fprintf(out, "TSR_CONSTANT uint32_t tsr_fact_" #fact " = %uu;\n", table->facts.fact);
  TSR_FACTS(PRINT_FACT)
  TSR_CORE_FACTS(PRINT_CORE_FACT)
}

char *tsr_user_table_text(const tsr_user_code *code, size_t i) {
  const tsr_shape *shape = &code->tables[i].shape;
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  print_fact_names(out, i);
  fprintf(out, "#define TSR_ONE_TABLE\n#define TSR_KEY_BITS %u\n#define TSR_PAYLOAD_BITS %u\n", shape->key_bits,
          shape->payload_bits);
  print_functions(out, code, i, i);
  print_facts(out, &code->tables[i]);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

char *tsr_user_table_unit(const tsr_user_code *code, size_t i) {
  char *body = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&body, &bytes);
  if (!out) return NULL;
  print_functions(out, code, i, 0);
  char *unit = fclose(out) == 0 ? tsr_glue_unit_of(&code->tables[i], body) : NULL;
  free(body);
  return unit;
}

char *tsr_user_kernel_unit(const tsr_user_code *code) {
  const tsr_kernel_facts *facts = &code->facts;
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  const char *file = code->source.file && !strpbrk(code->source.file, "\"\\\n") ? code->source.file : "kernel";
  fprintf(out, "#include \"tessera.cuh\"\n#line 1 \"%s\"\n%s\n", file, code->source.text);
  for (size_t i = 0; i < facts->parameters; i++)
    fprintf(out, "struct tsr_argument_%zu_ {\n  %s %s;\n};\n", i, facts->parameter[i].type, facts->parameter[i].name);
  fprintf(out,
          "__attribute__((visibility(\"default\"))) void tsr_user_range(const void *const *arguments, uint64_t n,\n"
          "    uint64_t begin, uint64_t end) {\n");
  for (size_t i = 0; i < facts->parameters; i++)
    fprintf(out, "  const struct tsr_argument_%zu_ a%zu = *(const struct tsr_argument_%zu_ *)arguments[%zu];\n", i, i,
            i, i);
  fprintf(out, "  for (uint64_t i = begin; i < end; i++) {\n    const tsr_kernel_run run = {n, i};\n    %s(run",
          facts->name);
  for (size_t i = 0; i < facts->parameters; i++) fprintf(out, ", a%zu.%s", i, facts->parameter[i].name);
  fprintf(out, ");\n  }\n}\n");
  char *unit = fclose(out) == 0 ? tsr_glue_expand(text) : NULL;
  free(text);
  return unit;
}

/* ---- What went wrong ------------------------------------------------------------------------- */

/* The words of nvJitLink's, and of a loader. */
static bool misses_function(const char *message) {
  static const char *const words[] = {"Unresolved extern", "Undefined", "undefined symbol"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strstr(message, words[i])) return true;
  return false;
}

/* Mostly a kernel calls what its table does not have. */
void tsr_user_explain(const tsr_user_code *code, tsr_error *error) {
  const tsr_error why = error ? *error : (tsr_error){TSR_OK, ""};
  if (why.status != TSR_LINK_FAILED || !misses_function(why.message)) return;
  tsr_fail(error, TSR_LINK_FAILED,
           "%s calls a function that is missing. TSR_TABLE does not declare it, the table's spec does not allow it, or "
           "it does not exist: %.600s",
           code->facts.name, why.message);
}
