/* SPDX-License-Identifier: Apache-2.0
 *
 * Running gnuplot (plot_gnuplot.h). Script, picture and words are files without a name: nobody waits for a full pipe, and
 * nothing is left behind.
 */
#define _GNU_SOURCE /* open_memstream, memmem */
#include "tools/lab/plot_gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef enum stream { SCRIPT, PICTURE, WORDS, STREAMS } stream; /* the descriptors 0, 1 and 2 of gnuplot */

/* ---- The child ------------------------------------------------------------------------------- */

static tsr_status await(pid_t child, tsr_error *error) {
  int status = 0;
  pid_t ended;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return TSR_OK; /* else the picture must tell */
  return tsr_fail(error, TSR_IO, "gnuplot ended with status %d", status);
}

/* -d: what the user's own .gnuplot says is not read. */
static tsr_status run(FILE *const files[STREAMS], tsr_error *error) {
  char *arguments[] = {(char[]){"gnuplot"}, (char[]){"-d"}, (char[]){"-"}, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  if (posix_spawn_file_actions_init(&actions) != 0) return tsr_fail(error, TSR_NO_MEMORY, "no memory to run gnuplot");
  int failure = 0;
  for (int i = 0; !failure && i < STREAMS; i++)
    failure = posix_spawn_file_actions_adddup2(&actions, fileno(files[i]), i);
  if (!failure) failure = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == ENOENT)
    return tsr_fail(error, TSR_NOT_FOUND,
                    "there is no gnuplot in PATH, which draws the figures: Debian's package gnuplot-nox has it "
                    "(apt-get install gnuplot-nox)");
  if (failure) return tsr_fail(error, TSR_NOT_FOUND, "gnuplot cannot be run: %s", strerror(failure));
  return await(child, error);
}

/* All of a stream, with a 0 behind; NULL if that fails. */
static char *read_all(FILE *file, size_t *bytes) {
  const long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  char *read = end >= 0 ? malloc((size_t)end + 1) : NULL;
  if (!read) return NULL;
  rewind(file);
  *bytes = fread(read, 1, (size_t)end, file);
  read[*bytes] = '\0';
  return read;
}

/* The line of gnuplot's words that names the error: the last one that is not blank. */
static tsr_status say_why(FILE *words, tsr_error *error) {
  size_t bytes = 0;
  char *said = read_all(words, &bytes), *line = NULL;
  for (char *at = said ? strtok(said, "\n") : NULL; at; at = strtok(NULL, "\n"))
    if (at[strspn(at, " \t^")]) line = at + strspn(at, " \t");
  tsr_status status = tsr_fail(error, TSR_IO, "gnuplot drew nothing: %s", line ? line : "it did not say why");
  free(said);
  return status;
}

static tsr_status draw(FILE *const files[STREAMS], const tsr_chart *chart, const tsr_picture *picture, char **text,
                       size_t *bytes, tsr_error *error) {
  tsr_plot_write_script(files[SCRIPT], chart, picture->first, picture->count, picture->format);
  if (fflush(files[SCRIPT]) || ferror(files[SCRIPT]))
    return tsr_fail(error, TSR_IO, "the script for gnuplot cannot be written: %s", strerror(errno));
  rewind(files[SCRIPT]);
  if (lseek(fileno(files[SCRIPT]), 0, SEEK_SET) < 0) return tsr_fail(error, TSR_IO, "lseek: %s", strerror(errno));
  tsr_error failure;
  tsr_status status = run(files, &failure);
  if (status == TSR_IO) return say_why(files[WORDS], error);
  if (status) {
    if (error) *error = failure;
    return status;
  }
  char *drawn = read_all(files[PICTURE], bytes);
  if (!drawn) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a picture");
  if (*bytes == 0) {
    free(drawn);
    return say_why(files[WORDS], error);
  }
  *text = drawn;
  return TSR_OK;
}

/* ---- Names in the SVG ------------------------------------------------------------------------ */

void tsr_plot_print_escaped(FILE *out, const char *text) {
  for (; *text; text++) {
    const char *entity = *text == '&'    ? "&amp;"
                         : *text == '<'  ? "&lt;"
                         : *text == '>'  ? "&gt;"
                         : *text == '"'  ? "&quot;"
                         : *text == '\'' ? "&#39;"
                                         : NULL;
    if (entity) {
      fputs(entity, out);
    } else {
      fputc(*text, out);
    }
  }
}

/* How many letters of `at` stand before a name of a part of the SVG; 0 where none follows. */
static size_t letters_before_name(const char *at) {
  static const char *const marks[] = {" id='", " id=\"", "href='#"};
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    if (strncmp(at, marks[i], strlen(marks[i])) == 0) return strlen(marks[i]);
  return 0;
}

/* gnuplot calls each SVG Gnuplot and its parts gpDot and gpPt0. In a page an SVG begins with its element. */
static tsr_status rename_parts(char **text, size_t *bytes, const tsr_picture *picture, tsr_error *error) {
  static const char gnuplots_title[] = "<title>Gnuplot</title>";
  char *renamed = NULL;
  size_t renamed_bytes = 0;
  FILE *out = open_memstream(&renamed, &renamed_bytes);
  if (!out) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a picture");
  const char *at = *text, *element = strstr(at, "<svg");
  if (picture->format == TSR_PLOT_PAGE && element) at = element;
  while (*at) {
    const size_t before = letters_before_name(at);
    if (strncmp(at, gnuplots_title, strlen(gnuplots_title)) == 0) {
      fputs("<title>", out);
      tsr_plot_print_escaped(out, picture->title);
      fputs("</title>", out);
      at += strlen(gnuplots_title);
    } else if (before) {
      fprintf(out, "%.*s%s_", (int)before, at, picture->name);
      at += before;
    } else {
      fputc(*at++, out);
    }
  }
  if (fclose(out) != 0) {
    free(renamed);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a picture");
  }
  free(*text);
  *text = renamed;
  *bytes = renamed_bytes;
  return TSR_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

tsr_status tsr_plot_draw(const tsr_chart *chart, const tsr_picture *picture, char **drawn, size_t *bytes,
                         tsr_error *error) {
  FILE *files[STREAMS] = {NULL};
  char *text = NULL;
  size_t text_bytes = 0;
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < STREAMS; i++) {
    files[i] = tmpfile();
    if (!files[i]) status = tsr_fail(error, TSR_IO, "no file can be made in /tmp: %s", strerror(errno));
  }
  if (status == TSR_OK) status = draw(files, chart, picture, &text, &text_bytes, error);
  if (status == TSR_OK && picture->format != TSR_PLOT_PNG) status = rename_parts(&text, &text_bytes, picture, error);
  for (size_t i = 0; i < STREAMS; i++)
    if (files[i]) fclose(files[i]);
  if (status) {
    free(text);
    return status;
  }
  *drawn = text;
  *bytes = text_bytes;
  return TSR_OK;
}
