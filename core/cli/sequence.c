/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTA and FASTQ to k-mers, in one pass over blocks of text; sequence.h says what is accepted.
 *
 * Three layers: the source gives blocks of text (read, inflate), the parser cuts blocks into lines
 * and knows what kind of line comes next, and add_bases rolls the k-mer over the letters of a line.
 * A line may be cut by the end of a block anywhere, so all state lives in the parser.
 *
 * inflate is called directly and not through gzFile, which takes the end of a compressed stream for
 * the end of the file if what follows it is damaged: files of many streams (bgzip) would be cut.
 */
#define _POSIX_C_SOURCE 200809L /* read */

#include "core/cli/sequence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/cli/data_file.h"

#if defined(__GNUC__)
#define TSR_ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define TSR_ALWAYS_INLINE static inline
#endif

enum { TSR_INPUT_BYTES = 1 << 16, TSR_BLOCK_BYTES = 1 << 18 };

/* Classes of a byte in a line of bases: TSR_LETTER_BASE + 0..3 are A C G T. */
enum { TSR_LETTER_BAD = 0, TSR_LETTER_OTHER = 1, TSR_LETTER_BASE = 4 };

typedef enum tsr_line_kind {
  TSR_LINE_BLANK,
  TSR_LINE_HEADER,
  TSR_LINE_BASES,
  TSR_LINE_PLUS,
  TSR_LINE_QUALITY
} tsr_line_kind;

typedef struct tsr_parser {
  int file;
  const char *path;
  tsr_sequence_format format;
  tsr_error *error;

  z_stream zip;
  bool is_in_stream; /* a gzip stream has begun and not ended */

  uint64_t line;       /* number of the current line, from 1 */
  bool is_inside_line; /* the line has begun, in this block or an earlier one */
  bool has_return;     /* the last block ended in a '\r' that may belong to a line end */
  bool has_record;
  tsr_line_kind kind;   /* of the current line, or of the last one between lines */
  uint64_t record_line; /* where the record begins, its letters, quality letters, first k-mer */
  uint64_t record_bases;
  uint64_t record_scores;
  uint64_t record_first;

  uint32_t length; /* K */
  uint32_t key_bits;
  bool canonical;
  uint64_t forward; /* the last K letters, and their reverse complement */
  uint64_t reverse;
  uint64_t run; /* letters since the last break */
  tsr_dataset data;
  uint64_t capacity;

  uint8_t class_of[256];
  unsigned char input[TSR_INPUT_BYTES]; /* compressed bytes */
  unsigned char text[TSR_BLOCK_BYTES];
} tsr_parser;

/* ---- The source ------------------------------------------------------------------------------ */

static tsr_status read_some(tsr_parser *p, unsigned char *to, size_t room, size_t *bytes) {
  ssize_t got;
  do {
    got = read(p->file, to, room);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return tsr_fail(p->error, TSR_IO, "%s: cannot be read: %s", p->path, strerror(errno));
  }
  *bytes = (size_t)got;
  return TSR_OK;
}

static tsr_status inflate_failed(const tsr_parser *p, int code) {
  if (code == Z_MEM_ERROR) {
    return tsr_fail(p->error, TSR_NO_MEMORY, "%s: no memory to decompress", p->path);
  }
  return tsr_fail(p->error, TSR_IO, "%s: is not gzip or is damaged behind line %llu (%s): compress the file again",
                  p->path, (unsigned long long)p->line, p->zip.msg ? p->zip.msg : "bad data");
}

/* Inflates until there is text or the file ends (*bytes = 0). A file may be several streams. */
static tsr_status inflate_some(tsr_parser *p, size_t *bytes) {
  p->zip.next_out = p->text;
  p->zip.avail_out = TSR_BLOCK_BYTES;
  while (p->zip.avail_out == TSR_BLOCK_BYTES) {
    if (p->zip.avail_in == 0) {
      size_t got = 0;
      tsr_status status = read_some(p, p->input, TSR_INPUT_BYTES, &got);
      if (status != TSR_OK) {
        return status;
      }
      if (got == 0 && p->is_in_stream) {
        return tsr_fail(p->error, TSR_IO, "%s: ends in the middle of its gzip data, behind line %llu: get it again",
                        p->path, (unsigned long long)p->line);
      }
      if (got == 0) {
        break;
      }
      p->zip.next_in = p->input;
      p->zip.avail_in = (uInt)got;
    }
    if (!p->is_in_stream) {
      inflateReset(&p->zip);
      p->is_in_stream = true;
    }
    int code = inflate(&p->zip, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      p->is_in_stream = false;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return inflate_failed(p, code);
    }
  }
  *bytes = TSR_BLOCK_BYTES - p->zip.avail_out;
  return TSR_OK;
}

/* ---- The k-mers ------------------------------------------------------------------------------ */

/* Makes room for the k-mers of one more block, so that add_bases need not ask. */
static tsr_status reserve(tsr_parser *p) {
  uint64_t needed = p->data.count + TSR_BLOCK_BYTES;
  if (needed <= p->capacity) {
    return TSR_OK;
  }
  uint64_t capacity = p->capacity + p->capacity / 2 + TSR_BLOCK_BYTES;
  void *keys = realloc(p->data.keys, capacity * (p->key_bits / 8));
  if (!keys) {
    return tsr_fail(p->error, TSR_NO_MEMORY, "%s: no memory for more than %llu k-mers", p->path,
                    (unsigned long long)p->data.count);
  }
  p->data.keys = keys;
  p->capacity = capacity;
  return TSR_OK;
}

/* Rolls over `bytes` letters and returns how many of them were legal. The last two arguments are
 * constants at each call, so that the loop is compiled for each case without asking which it is. */
TSR_ALWAYS_INLINE size_t roll(tsr_parser *p, const unsigned char *text, size_t bytes, bool canonical, bool is_wide) {
  const uint64_t mask = UINT64_MAX >> (64 - 2 * p->length);
  const uint32_t top = 2 * (p->length - 1);
  const uint64_t length = p->length;
  uint64_t forward = p->forward;
  uint64_t reverse = p->reverse;
  uint64_t run = p->run;
  uint64_t count = p->data.count;
  uint32_t *narrow = p->data.keys;
  uint64_t *wide = p->data.keys;
  size_t i = 0;
  for (; i < bytes; i++) {
    uint64_t class = p->class_of[text[i]];
    if (class < TSR_LETTER_BASE) {
      if (class == TSR_LETTER_BAD) {
        break;
      }
      run = 0;
      continue;
    }
    forward = (forward << 2 | (class - TSR_LETTER_BASE)) & mask;
    if (canonical) {
      reverse = reverse >> 2 | (3 - (class - TSR_LETTER_BASE)) << top;
    }
    if (++run >= length) {
      uint64_t key = canonical && reverse < forward ? reverse : forward;
      if (is_wide) {
        wide[count++] = key;
      } else {
        narrow[count++] = (uint32_t)key;
      }
    }
  }
  p->forward = forward;
  p->reverse = reverse;
  p->run = run;
  p->data.count = count;
  return i;
}

static tsr_status add_bases(tsr_parser *p, const unsigned char *text, size_t bytes) {
  size_t legal;
  if (p->key_bits == 64) {
    legal = p->canonical ? roll(p, text, bytes, true, true) : roll(p, text, bytes, false, true);
  } else {
    legal = p->canonical ? roll(p, text, bytes, true, false) : roll(p, text, bytes, false, false);
  }
  p->record_bases += bytes;
  if (legal < bytes) {
    return tsr_fail(p->error, TSR_IO,
                    "%s:%llu: byte 0x%02x is no letter of a sequence: allowed are A to Z, a to z, "
                    "'*', '-' and '.'",
                    p->path, (unsigned long long)p->line, text[legal]);
  }
  return TSR_OK;
}

/* ---- The records and lines ------------------------------------------------------------------- */

static void begin_record(tsr_parser *p) {
  p->has_record = true;
  p->record_line = p->line;
  p->record_bases = 0;
  p->record_scores = 0;
  p->record_first = p->data.count;
  p->run = 0;
}

static void end_record(tsr_parser *p) {
  if (p->has_record) {
    uint64_t windows = p->record_bases < p->length ? 0 : p->record_bases - p->length + 1;
    p->data.kmers_skipped += windows - (p->data.count - p->record_first);
    p->data.bases += p->record_bases;
    p->data.records++;
    p->has_record = false;
  }
}

static tsr_status wrong_start(const tsr_parser *p, const char *rule, unsigned char first) {
  return tsr_fail(p->error, TSR_IO, "%s:%llu: %s, but this line starts with byte 0x%02x", p->path,
                  (unsigned long long)p->line, rule, first);
}

/* Decides the kind of a line by its first byte and, for FASTQ, by the kind of the line before it.
 */
static tsr_status begin_line(tsr_parser *p, unsigned char first) {
  bool is_blank = first == '\n' || first == '\r';
  p->line++;
  p->is_inside_line = true;
  if (!p->format.is_fastq) {
    p->kind = first == '>' ? TSR_LINE_HEADER : is_blank ? TSR_LINE_BLANK : TSR_LINE_BASES;
    if (p->kind == TSR_LINE_HEADER) {
      end_record(p);
      begin_record(p);
    } else if (p->kind == TSR_LINE_BASES && !p->has_record) {
      return wrong_start(p, "a FASTA record starts with '>'", first);
    }
    return TSR_OK;
  }
  if (p->has_record) {
    p->kind = p->kind == TSR_LINE_HEADER  ? TSR_LINE_BASES
              : p->kind == TSR_LINE_BASES ? TSR_LINE_PLUS
                                          : TSR_LINE_QUALITY;
    return p->kind == TSR_LINE_PLUS && first != '+'
               ? wrong_start(p, "the third line of a FASTQ record starts with '+'", first)
               : TSR_OK;
  }
  p->kind = is_blank ? TSR_LINE_BLANK : TSR_LINE_HEADER;
  if (p->kind == TSR_LINE_HEADER && first != '@') {
    return wrong_start(p, "a FASTQ record has four lines and starts with '@'", first);
  }
  if (p->kind == TSR_LINE_HEADER) {
    begin_record(p);
  }
  return TSR_OK;
}

static tsr_status end_line(tsr_parser *p) {
  p->is_inside_line = false;
  p->has_return = false;
  if (p->kind != TSR_LINE_QUALITY) {
    return TSR_OK;
  }
  if (p->record_scores != p->record_bases) {
    return tsr_fail(p->error, TSR_IO, "%s:%llu: has %llu quality letters for %llu bases: they must be as many", p->path,
                    (unsigned long long)p->line, (unsigned long long)p->record_scores,
                    (unsigned long long)p->record_bases);
  }
  end_record(p);
  return TSR_OK;
}

/* A piece of the current line, without its line end. */
static tsr_status add_piece(tsr_parser *p, const unsigned char *text, size_t bytes) {
  if (p->kind == TSR_LINE_BASES || p->kind == TSR_LINE_BLANK) { /* a blank line that goes on is refused there */
    return add_bases(p, text, bytes);
  }
  if (p->kind == TSR_LINE_QUALITY) {
    for (size_t i = 0; i < bytes; i++) {
      if (text[i] < '!' || text[i] > '~') {
        return tsr_fail(p->error, TSR_IO, "%s:%llu: byte 0x%02x is no quality letter: allowed are '!' to '~'", p->path,
                        (unsigned long long)p->line, text[i]);
      }
    }
    p->record_scores += bytes;
  }
  return TSR_OK;
}

static tsr_status add_block(tsr_parser *p, const unsigned char *text, size_t bytes) {
  tsr_status status = reserve(p);
  for (size_t at = 0; status == TSR_OK && at < bytes;) {
    if (!p->is_inside_line) {
      status = begin_line(p, text[at]);
    } else if (p->has_return && text[at] != '\n') {
      status = add_piece(p, (const unsigned char *)"\r", 1);
    }
    p->has_return = false;
    if (status != TSR_OK) {
      break;
    }
    const unsigned char *newline = memchr(text + at, '\n', bytes - at);
    size_t end = newline ? (size_t)(newline - text) : bytes;
    size_t stop = end;
    if (stop > at && text[stop - 1] == '\r') {
      stop--;
      p->has_return = true;
    }
    status = add_piece(p, text + at, stop - at);
    if (status == TSR_OK && newline) {
      status = end_line(p);
    }
    at = end + 1;
  }
  return status;
}

/* What can be said at the end of the file only; it also ends a last line without a line end. */
static tsr_status finish(tsr_parser *p) {
  tsr_status status = p->is_inside_line ? end_line(p) : TSR_OK;
  if (status != TSR_OK) {
    return status;
  }
  if (p->format.is_fastq && p->has_record) {
    return tsr_fail(p->error, TSR_IO, "%s:%llu: the file ends within this FASTQ record: it needs four lines", p->path,
                    (unsigned long long)p->record_line);
  }
  end_record(p);
  if (p->data.count == 0) {
    return tsr_fail(p->error, TSR_IO,
                    "%s: holds no k-mer of %u letters A, C, G or T (%llu records, %llu bases): use a "
                    "smaller --kmers or another file",
                    p->path, p->length, (unsigned long long)p->data.records, (unsigned long long)p->data.bases);
  }
  return TSR_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void classify_letters(uint8_t *class_of) {
  static const char others[] = "*-.";
  static const char bases[] = "ACGT";
  memset(class_of, TSR_LETTER_BAD, 256);
  for (int i = 0; i < 26; i++) {
    class_of['A' + i] = TSR_LETTER_OTHER;
    class_of['a' + i] = TSR_LETTER_OTHER;
  }
  for (size_t i = 0; others[i]; i++) {
    class_of[(unsigned char)others[i]] = TSR_LETTER_OTHER;
  }
  for (uint8_t i = 0; i < 4; i++) {
    class_of[(unsigned char)bases[i]] = (uint8_t)(TSR_LETTER_BASE + i);
    class_of[(unsigned char)bases[i] | 0x20] = (uint8_t)(TSR_LETTER_BASE + i); /* lower case */
  }
}

static tsr_status parse(tsr_parser *p) {
  size_t bytes = 0;
  do {
    tsr_status status = p->format.is_gzip ? inflate_some(p, &bytes) : read_some(p, p->text, TSR_BLOCK_BYTES, &bytes);
    if (status == TSR_OK) {
      status = bytes > 0 ? add_block(p, p->text, bytes) : finish(p);
    }
    if (status != TSR_OK) {
      return status;
    }
  } while (bytes > 0);
  return TSR_OK;
}

tsr_status tsr_sequence_read(int file, const char *path, tsr_sequence_format format, const tsr_dataset_options *options,
                             tsr_dataset *out, tsr_error *error) {
  tsr_parser *p = calloc(1, sizeof *p);
  if (!p || (format.is_gzip && inflateInit2(&p->zip, 16 + MAX_WBITS) != Z_OK)) {
    free(p);
    return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read a sequence file", path);
  }
  p->file = file;
  p->path = path;
  p->format = format;
  p->error = error;
  p->length = options->kmers;
  p->key_bits = options->key_bits;
  p->canonical = options->canonical;
  classify_letters(p->class_of);
  tsr_status status = parse(p);
  if (format.is_gzip) {
    inflateEnd(&p->zip);
  }
  if (status == TSR_OK) {
    void *fitted = realloc(p->data.keys, p->data.count * (p->key_bits / 8));
    p->data.keys = fitted ? fitted : p->data.keys;
    *out = p->data;
  } else {
    free(p->data.keys);
  }
  free(p);
  return status;
}

bool tsr_sequence_format_of(const char *path, tsr_sequence_format *out) {
  static const char *const endings[] = {".fa", ".fasta", ".fna", ".fq", ".fastq"};
  enum { TSR_FIRST_FASTQ = 3 };
  size_t length = strlen(path);
  bool is_gzip = tsr_name_ends(path, length, ".gz");
  length -= is_gzip ? 3 : 0;
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    if (tsr_name_ends(path, length, endings[i])) {
      *out = (tsr_sequence_format){.is_fastq = i >= TSR_FIRST_FASTQ, .is_gzip = is_gzip};
      return true;
    }
  }
  return false;
}
