/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera help: what the rows of the commands say, as text for a terminal, as Markdown for docs/command_line.md and as
 * manual pages.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/command.h"
#include "tools/cli/paragraph.h"

enum { FORM_BYTES = 64, COMMAND_INDENT = 25, OPTION_INDENT = 28, ROFF_COLUMNS = 75 };

/* A name and what it means; a row without a name ends a table. */
typedef struct meaning {
  const char *name, *doc;
} meaning;

static const char about[] = "GPU hash tables, composed at run time from plugins that an INI file names";

static const meaning exits[] = {{"0", "The job is done."},
                                {"1", "The job failed."},
                                {"2", "The command line or the spec is wrong."},
                                {"3", "The job is done, but some pairs found no room or some sums overflowed."},
                                {"130", "Ctrl-C ended the job."},
                                {"143", "SIGTERM ended the job."},
                                {NULL, NULL}};

static const meaning variables[] = {
    {"TESSERA_PLUGINS", "Folders of plugins, separated by colons. They are searched after those of --plugins."},
    {"TESSERA_SPECS", "The folder of the recipes, if it is not the one that was installed with the program."},
    {"TESSERA_SDK", "The folder of the SDK, likewise."},
    {"TESSERA_CONFORM", "The program behind `tessera conform`, likewise."},
    {"TESSERA_CC", "The C compiler of the cpu backend: cc if it is not set, none if it is empty."},
    {"TESSERA_CC_ITEMS",
     "From how many items of an operation per thread that compiler is used; 262144. What it made before is used "
     "from an eighth of that on. 0: calls wait for it."},
    {"XDG_CACHE_HOME", "Linked and compiled code is kept in its folder tessera; otherwise in ~/.cache/tessera."},
    {"TESSERA_CACHE_MB", "How many MiB of linked and compiled code are kept; 256."},
    {"COLUMNS", "The width of help texts; otherwise that of the terminal, or 80."},
    {NULL, NULL}};

/* "tessera run SPEC [OPTIONS]" */
static void usage_of(const tsr_synopsis *synopsis, char usage[FORM_BYTES]) {
  snprintf(usage, FORM_BYTES, "tessera %s%s%s%s", synopsis->command, *synopsis->operands ? " " : "", synopsis->operands,
           synopsis->options[0].name ? " [OPTIONS]" : "");
}

/* "--out FILE" */
static void form_of(const tsr_option *option, char form[FORM_BYTES]) {
  snprintf(form, FORM_BYTES, "%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_option(const tsr_option *option) {
  char form[FORM_BYTES], doc[4096];
  form_of(option, form);
  snprintf(doc, sizeof doc, "%s%s", option->doc, option->is_repeatable ? " Repeatable." : "");
  tsr_entry_print(form, doc, OPTION_INDENT);
}

void tsr_help_print(const tsr_synopsis *synopsis) {
  char usage[FORM_BYTES];
  usage_of(synopsis, usage);
  printf("usage: %s\n\n", usage);
  tsr_paragraph_print(synopsis->doc, 0, 0);
  if (synopsis->options[0].name) printf("\n");
  for (const tsr_option *option = synopsis->options; option->name; option++) print_option(option);
  if (!synopsis->more) return;
  printf("\n");
  tsr_paragraph_print(synopsis->more, 0, 0);
}

static void print_meanings(const char *title, const meaning *row, size_t indent) {
  printf("\n%s:\n", title);
  for (; row->name; row++) tsr_entry_print(row->name, row->doc, indent);
}

void tsr_help_print_all(void) {
  printf("usage: tessera COMMAND ...\n\n");
  tsr_paragraph_print(about, 0, 0);
  printf("\n");
  for (const tsr_command_row *row = tsr_commands; row->synopsis; row++) {
    char name[FORM_BYTES];
    snprintf(name, sizeof name, "%-10s %s", row->synopsis->command, row->synopsis->operands);
    tsr_entry_print(name, row->synopsis->doc, COMMAND_INDENT);
  }
  printf("\n");
  tsr_paragraph_print("`tessera help COMMAND` prints a command's options. Results go to standard output, everything "
                      "else to standard error.",
                      0, 0);
  print_meanings("exit status", exits, 7);
  print_meanings("environment", variables, COMMAND_INDENT);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Text of a cell: lines become <br>. */
static void put_cell(const char *text) {
  for (; *text; text++) {
    if (*text == '\n')
      fputs("<br>", stdout);
    else if (*text == '<')
      fputs("&lt;", stdout);
    else
      printf(strchr("|*", *text) ? "\\%c" : "%c", *text);
  }
}

/* Code in a cell; between backticks a bar would end the cell. */
static void put_code(const char *text) {
  if (!strchr(text, '|')) {
    printf("`%s`", text);
    return;
  }
  fputs("<code>", stdout);
  for (; *text; text++) printf(*text == '|' ? "&#124;" : "%c", *text);
  fputs("</code>", stdout);
}

/* Lines as they are; those that begin with a blank are code, and stand apart. */
static void put_lines(const char *text) {
  for (bool was_code = false; *text;) {
    const size_t letters = strcspn(text, "\n");
    const bool is_code = *text == ' ';
    printf("%s%.*s\n", is_code != was_code ? "\n" : "", (int)letters, text);
    text += letters + (text[letters] != 0);
    was_code = is_code;
  }
}

static void markdown_of(const tsr_synopsis *synopsis) {
  char usage[FORM_BYTES], form[FORM_BYTES];
  usage_of(synopsis, usage);
  printf("## %s\n\n`%s`\n\n%s\n", synopsis->command, usage, synopsis->doc);
  if (synopsis->options[0].name) printf("\n| option | what it does |\n|---|---|\n");
  for (const tsr_option *option = synopsis->options; option->name; option++) {
    form_of(option, form);
    printf("| ");
    put_code(form);
    printf(" | ");
    put_cell(option->doc);
    printf("%s |\n", option->is_repeatable ? " Repeatable." : "");
  }
  if (!synopsis->more) return;
  printf("\n");
  put_lines(synopsis->more);
}

static void markdown_of_meanings(const char *title, const char *names, const meaning *row) {
  printf("\n## %s\n\n| %s | meaning |\n|---|---|\n", title, names);
  for (; row->name; row++) {
    printf("| `%s` | ", row->name);
    put_cell(row->doc);
    printf(" |\n");
  }
}

static void markdown_of_all(void) {
  printf("| command | what it does |\n|---|---|\n");
  for (const tsr_command_row *row = tsr_commands; row->synopsis; row++) {
    const tsr_synopsis *synopsis = row->synopsis;
    printf("| [`%s%s%s`](#%s) | ", synopsis->command, *synopsis->operands ? " " : "", synopsis->operands,
           synopsis->command);
    put_cell(synopsis->doc);
    printf(" |\n");
  }
  for (const tsr_command_row *row = tsr_commands; row->synopsis; row++) {
    printf("\n");
    markdown_of(row->synopsis);
  }
  markdown_of_meanings("Exit status", "status", exits);
  markdown_of_meanings("Environment", "variable", variables);
}

/* ---- Manual pages ---------------------------------------------------------------------------- */

/* A word of roff, which begins a line or not. */
static void put_roff_word(const char *word, size_t letters, bool begins) {
  if (begins && (*word == '.' || *word == '\'')) fputs("\\&", stdout);
  for (size_t i = 0; i < letters; i++)
    fputs(word[i] == '\\' ? "\\e" : word[i] == '-' ? "\\-" : (const char[]){word[i], 0}, stdout);
}

static void put_roff_line(const char *line, size_t letters) {
  size_t column = 0, word;
  for (const char *at = line, *end = line + letters; at < end; at += word + (at[word] == ' ')) {
    word = strcspn(at, " \n");
    const bool is_full = column > 0 && column + 1 + word > ROFF_COLUMNS;
    if (is_full) column = 0;
    if (at > line) putchar(is_full ? '\n' : ' ');
    put_roff_word(at, word, column == 0);
    column += word + 1;
  }
}

/* Text of roff. man fills its lines, but breaks where the text does, and before a line that begins with a blank. */
static void put_roff(const char *text) {
  while (*text) {
    const size_t letters = strcspn(text, "\n");
    put_roff_line(text, letters);
    text += letters + (text[letters] != 0);
    putchar('\n');
    if (*text && *text != ' ') fputs(".br\n", stdout);
  }
}

/* "tessera-run", in capital letters */
static void put_title(const char *command) {
  printf(".TH TESSERA");
  if (command) printf("\\-");
  for (; command && *command; command++) putchar(toupper((unsigned char)*command));
  printf(" 1 \"\" \"tessera %s\"\n", TSR_VERSION);
}

static void roff_of_meanings(const char *title, const meaning *row) {
  printf(".SH %s\n", title);
  for (; row->name; row++) {
    printf(".TP\n.B %s\n", row->name);
    put_roff(row->doc);
  }
}

static void roff_of(const tsr_synopsis *synopsis) {
  char form[FORM_BYTES];
  put_title(synopsis->command);
  printf(".SH NAME\ntessera\\-%s \\-\n", synopsis->command);
  put_roff(synopsis->doc);
  printf(".SH SYNOPSIS\n.B tessera %s\n", synopsis->command);
  if (*synopsis->operands) printf(".I %s\n", synopsis->operands);
  if (synopsis->options[0].name) printf("[\\fIOPTIONS\\fR]\n.SH OPTIONS\n");
  for (const tsr_option *option = synopsis->options; option->name; option++) {
    form_of(option, form);
    printf(".TP\n.B ");
    put_roff(form);
    put_roff(option->doc);
    if (option->is_repeatable) printf("Repeatable.\n");
  }
  if (synopsis->more) {
    printf(".SH DESCRIPTION\n");
    put_roff(synopsis->more);
  }
  printf(".SH SEE ALSO\n.BR tessera (1)\n");
}

static void roff_of_all(void) {
  put_title(NULL);
  printf(".SH NAME\ntessera \\- %s\n.SH SYNOPSIS\n.B tessera\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n", about);
  for (const tsr_command_row *row = tsr_commands; row->synopsis; row++) {
    printf(".TP\n.BR tessera\\-%s (1)\n", row->synopsis->command);
    put_roff(row->synopsis->doc);
  }
  roff_of_meanings("EXIT STATUS", exits);
  roff_of_meanings("ENVIRONMENT", variables);
  printf(".SH FILES\nREADME.md and the recipes are installed in share/tessera.\n");
}

/* ---- The command ----------------------------------------------------------------------------- */

static tsr_exit run_help(const tsr_arguments *arguments) {
  const tsr_synopsis *synopsis = NULL;
  if (arguments->operand_count) {
    const tsr_command_row *row = tsr_command_find(arguments->operands[0]);
    if (!row) return TSR_EXIT_USAGE;
    synopsis = row->synopsis;
  }
  const bool as_markdown = tsr_arguments_has(arguments, "--markdown"), as_man = tsr_arguments_has(arguments, "--man");
  if (as_markdown && as_man) return tsr_say_usage("help: --markdown and --man are two forms: choose one");
  if (synopsis)
    (as_markdown ? markdown_of : as_man ? roff_of : tsr_help_print)(synopsis);
  else
    (as_markdown ? markdown_of_all : as_man ? roff_of_all : tsr_help_print_all)();
  return TSR_EXIT_OK;
}

static const tsr_option options[] = {{"--markdown", NULL, false, "Prints Markdown, as in docs/command_line.md."},
                                     {"--man", NULL, false, "Prints a manual page for man."},
                                     TSR_OPTION_END};

const tsr_command tsr_help_command = {
    {"help", "[COMMAND]", "Prints the options of a command, or all commands.", options, NULL}, run_help};
