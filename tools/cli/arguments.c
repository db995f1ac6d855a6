/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a command line by its table (arguments.h).
 */
#include "tools/cli/arguments.h"

#include <stdlib.h>
#include <string.h>

/* ---- Operands -------------------------------------------------------------------------------- */

/* The number of words in "ROLE [NAME]", with or without those in brackets. */
static size_t count_operands(const char *operands, bool with_optional) {
  size_t count = 0;
  for (const char *at = operands; *at; at += strcspn(at, " "), at += strspn(at, " "))
    count += with_optional || *at != '[';
  return count;
}

static tsr_exit check_operands(const tsr_synopsis *synopsis, const tsr_arguments *arguments) {
  size_t least = count_operands(synopsis->operands, false), most = count_operands(synopsis->operands, true);
  bool is_list = strstr(synopsis->operands, "...") != NULL; /* "FILE...": one or more */
  if (arguments->operand_count > most && !is_list)
    return tsr_say_usage("%s: one word too many: usage: tessera %s %s", arguments->operands[most], synopsis->command,
                         synopsis->operands);
  if (arguments->operand_count < least)
    return tsr_say_usage("%s needs more: usage: tessera %s %s", synopsis->command, synopsis->command,
                         synopsis->operands);
  return TSR_EXIT_OK;
}

tsr_exit tsr_arguments_read(const tsr_synopsis *synopsis, int argc, char **argv, tsr_arguments *arguments) {
  size_t room = (size_t)argc + 1;
  *arguments = (tsr_arguments){.operands = calloc(room, sizeof(char *)), .given = calloc(room, sizeof(tsr_given))};
  if (!arguments->operands || !arguments->given) {
    tsr_say("no memory for the command line");
    return TSR_EXIT_FAILED;
  }
  tsr_words words = {.command = synopsis->command, .options = synopsis->options, .argc = argc, .argv = argv, .at = 1};
  const tsr_option *which;
  const char *value;
  tsr_status status;
  tsr_error error;
  while (tsr_words_next(&words, &which, &value, &status, &error)) {
    if (which)
      arguments->given[arguments->given_count++] = (tsr_given){which->name, value};
    else
      arguments->operands[arguments->operand_count++] = value;
  }
  return status ? tsr_say_usage("%s", error.message) : check_operands(synopsis, arguments);
}

void tsr_arguments_free(tsr_arguments *arguments) {
  free(arguments->operands);
  free(arguments->given);
  *arguments = (tsr_arguments){.operand_count = 0};
}

/* ---- What was read --------------------------------------------------------------------------- */

const char *tsr_arguments_value(const tsr_arguments *arguments, const char *name) {
  for (size_t i = 0; i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].name, name) == 0) return arguments->given[i].value;
  return NULL;
}

bool tsr_arguments_has(const tsr_arguments *arguments, const char *name) {
  for (size_t i = 0; i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].name, name) == 0) return true;
  return false;
}

tsr_status tsr_arguments_spec(const tsr_arguments *arguments, const char *name, tsr_spec **spec, tsr_error *error) {
  tsr_spec *read = NULL;
  tsr_status status = tsr_spec_read(name, &read, error);
  for (size_t i = 0; status == TSR_OK && i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].name, "--set") == 0) status = tsr_spec_set(read, arguments->given[i].value, error);
  if (status) {
    tsr_spec_free(read);
    return status;
  }
  *spec = read;
  return TSR_OK;
}

tsr_status tsr_arguments_recipe(const tsr_arguments *arguments, const char *name, tsr_spec **spec, tsr_error *error) {
  const char *given = tsr_arguments_value(arguments, "--spec");
  return tsr_arguments_spec(arguments, given ? given : name, spec, error);
}
