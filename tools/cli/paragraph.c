/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrapping texts (paragraph.h).
 */
#define _GNU_SOURCE /* strchrnul, TIOCGWINSZ */

#include "tools/cli/paragraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/spec/number.h"

enum { COLUMNS_LEAST = 40, COLUMNS_USUAL = 80, COLUMNS_MOST = 10000 };

size_t tsr_line_columns(void) {
  const char *given = getenv("COLUMNS");
  struct winsize window;
  uint64_t columns = 0;
  if ((!given || !tsr_parse_u64(given, &columns) || columns > COLUMNS_MOST) &&
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0)
    columns = window.ws_col;
  if (columns == 0 || columns > COLUMNS_MOST) return COLUMNS_USUAL;
  return columns < COLUMNS_LEAST ? COLUMNS_LEAST : (size_t)columns;
}

/* Prints a line's words up to its end; returns what follows it. */
static const char *print_words(const char *text, size_t at, size_t indent, size_t columns) {
  size_t column = at;
  const char *end = strchrnul(text, '\n');
  for (const char *word = text; word < end;) {
    const size_t letters = strcspn(word, " \n"), blank = column > at || word > text;
    if (blank && column + 1 + letters > columns && column > indent) {
      printf("\n%*s", (int)indent, "");
      column = indent;
    } else if (blank) {
      putchar(' ');
      column++;
    }
    printf("%.*s", (int)letters, word);
    column += letters;
    word += letters;
    word += strspn(word, " ");
  }
  putchar('\n');
  return *end ? end + 1 : end;
}

void tsr_paragraph_print(const char *text, size_t at, size_t indent) {
  const size_t columns = tsr_line_columns();
  const char *rest = print_words(text, at, indent, columns);
  while (*rest) {
    printf("%*s", (int)indent, "");
    if (*rest == ' ') {
      const size_t letters = strcspn(rest, "\n");
      printf("%.*s\n", (int)letters, rest);
      rest += letters + (rest[letters] != 0);
    } else {
      rest = print_words(rest, indent, indent, columns);
    }
  }
}

void tsr_entry_print(const char *name, const char *text, size_t indent) {
  int written = printf("  %s", name);
  if (written + 2 > (int)indent) {
    putchar('\n');
    written = 0;
  }
  printf("%*s", (int)indent - written, "");
  tsr_paragraph_print(text, indent, indent);
}
