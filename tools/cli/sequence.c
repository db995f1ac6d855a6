/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTA and FASTQ to k-mers, in one pass over blocks of text; sequence.h says what is accepted.
 *
 * Three layers: text.h gives blocks of text, the parser cuts blocks into lines and knows what kind of line comes next,
 * and add_bases rolls the k-mer over the letters of a line. A line may be cut by the end of a block anywhere, so all
 * state lives in the parser.
 */
#include "tools/cli/sequence.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define TSR_ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define TSR_ALWAYS_INLINE static inline
#endif

/* Classes of a byte in a line of bases: 0 to 3 are A C G T. */
enum { TSR_LETTER_OTHER = TSR_LETTER_BREAK, TSR_LETTER_BAD = 2 * TSR_LETTER_BREAK };

typedef enum tsr_line_kind {
  TSR_LINE_BLANK,
  TSR_LINE_HEADER,
  TSR_LINE_BASES,
  TSR_LINE_PLUS,
  TSR_LINE_QUALITY,
  TSR_LINE_COMMENT
} tsr_line_kind;

/* The line that is read, or the last one. */
typedef struct line_state {
  uint64_t number; /* from 1, where reading began */
  tsr_line_kind kind;
  bool is_inside;  /* it has begun, in this block or an earlier one */
  bool has_blank;  /* blanks have ended it: nothing may follow */
  bool has_return; /* the last block ended in a '\r' that may belong to a line end */
} line_state;

/* The record that is read. */
typedef struct record_state {
  bool is_open;
  uint64_t line;          /* where it begins */
  uint64_t bases, scores; /* letters, quality letters */
  uint64_t first;         /* k-mer */
} record_state;

typedef struct kmer_state {
  uint32_t length; /* K */
  bool canonical;
  uint64_t forward, reverse;              /* the last K letters, and their reverse complement */
  tsr_any_key long_forward, long_reverse; /* the same of more than 32 */
  uint64_t run;                           /* letters since the last break */
  uint8_t last[64];                       /* of the letters of the last call, if letters are read */
  uint32_t last_count;
} kmer_state;

typedef struct key_state {
  uint32_t bits;
  void *items;     /* of the call that runs */
  uint64_t count;  /* of these, so far */
  uint64_t before; /* keys of earlier calls */
} key_state;

struct tsr_sequence {
  tsr_text *text;
  const char *path;
  bool is_begun;           /* the text is none of another format */
  bool is_known, is_fastq; /* the second by the first letter */
  bool is_strict;
  bool is_at_end;
  tsr_range range;
  uint64_t block_at; /* where the block is in the file */
  tsr_error *error;  /* of the call that runs */
  line_state line;
  record_state record;
  kmer_state kmer;
  key_state keys;
  tsr_sequence_facts facts;
  uint8_t class_of[256];
  unsigned char block[TSR_SEQUENCE_BLOCK];
};

/* A line, for a sentence. */
static unsigned long long line_of(const tsr_sequence *p, uint64_t line) {
  return line + tsr_text_lines_before(p->text);
}

/* ---- The k-mers ------------------------------------------------------------------------------ */

/* Rolls over `bytes` letters and returns how many of them were legal. The last two arguments are
 * constants at each call, so that the loop is compiled for each case without asking which it is. */
TSR_ALWAYS_INLINE size_t roll(tsr_sequence *p, const unsigned char *text, size_t bytes, bool canonical, bool is_wide) {
  const uint64_t mask = UINT64_MAX >> (64 - 2 * p->kmer.length);
  const uint32_t top = 2 * (p->kmer.length - 1);
  const uint64_t length = p->kmer.length;
  uint64_t forward = p->kmer.forward;
  uint64_t reverse = p->kmer.reverse;
  uint64_t run = p->kmer.run;
  uint64_t count = p->keys.count;
  uint32_t *narrow = p->keys.items;
  uint64_t *wide = p->keys.items;
  size_t i = 0;
  for (; i < bytes; i++) {
    uint64_t class = p->class_of[text[i]];
    if (class >= TSR_LETTER_OTHER) {
      if (class == TSR_LETTER_BAD) {
        break;
      }
      run = 0;
      continue;
    }
    forward = (forward << 2 | class) & mask;
    if (canonical) {
      reverse = reverse >> 2 | (3 - class) << top;
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
  p->kmer.forward = forward;
  p->kmer.reverse = reverse;
  p->kmer.run = run;
  p->keys.count = count;
  return i;
}

/* The same for k-mers of more than 32 letters. */
TSR_ALWAYS_INLINE size_t roll_long(tsr_sequence *p, const unsigned char *text, size_t bytes, bool canonical) {
  const uint32_t length = p->kmer.length, top = 2 * (length - 1);
  const tsr_any_key mask = ~(tsr_any_key)0 >> (128 - 2 * length);
  tsr_any_key forward = p->kmer.long_forward, reverse = p->kmer.long_reverse, *const keys = p->keys.items;
  uint64_t run = p->kmer.run, count = p->keys.count;
  size_t i = 0;
  for (; i < bytes; i++) {
    const uint64_t class = p->class_of[text[i]];
    if (class == TSR_LETTER_BAD) break;
    if (class == TSR_LETTER_OTHER) {
      run = 0;
      continue;
    }
    forward = (forward << 2 | class) & mask;
    if (canonical) reverse = reverse >> 2 | (tsr_any_key)(3 - class) << top;
    if (++run < length) continue;
    const tsr_any_key key = canonical && reverse < forward ? reverse : forward;
    memcpy(&keys[count++], &key, sizeof key);
  }
  p->kmer.long_forward = forward;
  p->kmer.long_reverse = reverse;
  p->kmer.run = run;
  p->keys.count = count;
  return i;
}

/* Begins the letters of a call, or a record: nothing is joined to what is before. A call begins with the letters that its
 * first k-mer shares with the one before it. */
static void break_letters(tsr_sequence *p) {
  uint8_t *const letters = p->keys.items;
  const bool is_first = p->keys.count == 0;
  letters[p->keys.count++] = TSR_LETTER_BREAK;
  if (!is_first) return;
  memcpy(letters + 1, p->kmer.last, p->kmer.last_count);
  p->keys.count += p->kmer.last_count;
}

/* Keeps the letters that the next call begins with. */
static void keep_last(tsr_sequence *p) {
  const uint64_t most = p->kmer.length - 1, run = p->kmer.run < most ? p->kmer.run : most;
  if (p->keys.count == 0) return;
  memcpy(p->kmer.last, (const uint8_t *)p->keys.items + p->keys.count - run, run);
  p->kmer.last_count = (uint32_t)run;
}

/* k-mers in a run of that many letters. */
static uint64_t kmers_of(const tsr_sequence *p, uint64_t run) {
  return run < p->kmer.length ? 0 : run - p->kmer.length + 1;
}

/* Sixteen bytes at once, which every processor has. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static bytes16 load16(const unsigned char *from) {
  bytes16 loaded;
  memcpy(&loaded, from, sizeof loaded);
  return loaded;
}

static bool is_any(bytes16 mask) {
  uint64_t half[2];
  memcpy(half, &mask, sizeof half);
  return (half[0] | half[1]) != 0;
}

/* The classes of letters; returns whether all are A C G T or U. In ASCII bits 1 and 2 tell them apart: A 0, C 1, G 3, T and U 2. */
static bool classify_four(const unsigned char *text, size_t bytes, uint8_t *to) {
  bytes16 others = {0};
  if (bytes < sizeof others) return false;
  for (size_t i = 0; i < bytes; i += sizeof others) {
    const size_t at = i + sizeof others <= bytes ? i : bytes - sizeof others; /* the last ones may be done twice */
    const bytes16 letters = load16(text + at), upper = letters & 0xDF, code = letters >> 1 & 3;
    others |= ~(bytes16)((upper == 'A') | (upper == 'C') | (upper == 'G') | (upper == 'T') | (upper == 'U'));
    const bytes16 class = code ^ code >> 1;
    memcpy(to + at, &class, sizeof class);
  }
  return !is_any(others);
}

/* Whether some are no letters of qualities. */
static bool has_bad_score(const unsigned char *text, size_t bytes) {
  bytes16 bad = {0};
  size_t i = 0;
  bool has_bad = false;
  for (; i + sizeof bad <= bytes; i += sizeof bad) bad |= (bytes16)(load16(text + i) - '!' > '~' - '!');
  for (; i < bytes; i++) has_bad |= text[i] < '!' || text[i] > '~';
  return has_bad || is_any(bad);
}

/* The letters themselves, as classes, and how many of them were legal. Most pieces hold the four letters alone. */
static size_t copy_letters(tsr_sequence *p, const unsigned char *text, size_t bytes) {
  if (p->keys.count == 0) break_letters(p);
  uint8_t *const to = (uint8_t *)p->keys.items + p->keys.count;
  size_t i = bytes;
  uint64_t run = p->kmer.run, kmers = kmers_of(p, run + bytes) - kmers_of(p, run);
  if (classify_four(text, bytes, to)) {
    run += bytes;
  } else {
    for (i = kmers = 0; i < bytes && p->class_of[text[i]] != TSR_LETTER_BAD; i++) {
      to[i] = p->class_of[text[i]];
      run = to[i] == TSR_LETTER_OTHER ? 0 : run + 1;
      kmers += run >= p->kmer.length;
    }
  }
  p->kmer.run = run;
  p->facts.kmers += kmers;
  p->keys.count += i;
  return i;
}

static tsr_status add_bases(tsr_sequence *p, const unsigned char *text, size_t bytes) {
  size_t legal;
  if (p->keys.bits == TSR_LETTER_BITS) {
    legal = copy_letters(p, text, bytes);
  } else if (p->keys.bits > 64) {
    legal = p->kmer.canonical ? roll_long(p, text, bytes, true) : roll_long(p, text, bytes, false);
  } else if (p->keys.bits == 64) {
    legal = p->kmer.canonical ? roll(p, text, bytes, true, true) : roll(p, text, bytes, false, true);
  } else {
    legal = p->kmer.canonical ? roll(p, text, bytes, true, false) : roll(p, text, bytes, false, false);
  }
  p->record.bases += bytes;
  if (legal < bytes) {
    return tsr_fail(p->error, TSR_IO,
                    "%s:%llu: byte 0x%02x is no letter of a sequence: allowed are A to Z, a to z, "
                    "'*', '-' and '.'",
                    p->path, line_of(p, p->line.number), text[legal]);
  }
  return TSR_OK;
}

/* ---- The records and lines ------------------------------------------------------------------- */

static uint64_t kmers_so_far(const tsr_sequence *p) {
  return p->keys.bits == TSR_LETTER_BITS ? p->facts.kmers : p->keys.before + p->keys.count;
}

static void begin_record(tsr_sequence *p) {
  p->record.is_open = true;
  p->record.line = p->line.number;
  p->record.bases = 0;
  p->record.scores = 0;
  p->record.first = kmers_so_far(p);
  p->kmer.run = 0;
  if (p->keys.count == 0)
    p->kmer.last_count = 0;
  else if (p->keys.bits == TSR_LETTER_BITS)
    break_letters(p);
}

static void end_record(tsr_sequence *p) {
  if (p->record.is_open) {
    uint64_t windows = p->record.bases < p->kmer.length ? 0 : p->record.bases - p->kmer.length + 1;
    p->facts.kmers_skipped += windows - (kmers_so_far(p) - p->record.first);
    p->facts.bases += p->record.bases;
    p->facts.records++;
    p->record.is_open = false;
  }
}

static tsr_status wrong_start(const tsr_sequence *p, const char *rule, unsigned char first) {
  return tsr_fail(p->error, TSR_IO, "%s:%llu: %s, but this line starts with byte 0x%02x", p->path,
                  line_of(p, p->line.number), rule, first);
}

/* Decides the kind of a line by its first byte and, for FASTQ, by the kind of the line before it.
 */
static tsr_status begin_line(tsr_sequence *p, unsigned char first) {
  bool is_blank = first == '\n' || first == '\r';
  p->line.number++;
  p->line.is_inside = true;
  p->line.has_blank = false;
  if (!p->is_known && !is_blank) {
    p->is_known = true;
    p->is_fastq = first == '@';
  }
  if (!p->is_fastq) {
    p->line.kind = first == '>'   ? TSR_LINE_HEADER
                   : first == ';' ? TSR_LINE_COMMENT
                   : is_blank     ? TSR_LINE_BLANK
                                  : TSR_LINE_BASES;
    if (p->line.kind == TSR_LINE_HEADER) {
      end_record(p);
      begin_record(p);
    } else if (p->line.kind == TSR_LINE_BASES && !p->record.is_open) {
      return wrong_start(p, "a FASTA record starts with '>'", first);
    }
    return TSR_OK;
  }
  if (p->record.is_open) {
    const bool is_behind_plus = p->line.kind == TSR_LINE_PLUS || p->line.kind == TSR_LINE_QUALITY;
    const bool is_plus = p->line.kind == TSR_LINE_BASES && first == '+';
    p->line.kind = is_behind_plus ? TSR_LINE_QUALITY : is_plus ? TSR_LINE_PLUS : TSR_LINE_BASES;
    return TSR_OK;
  }
  p->line.kind = is_blank ? TSR_LINE_BLANK : TSR_LINE_HEADER;
  if (p->line.kind == TSR_LINE_HEADER && first != '@') {
    return wrong_start(p, "a FASTQ record starts with '@'", first);
  }
  if (p->line.kind == TSR_LINE_HEADER) {
    begin_record(p);
  }
  return TSR_OK;
}

static tsr_status end_line(tsr_sequence *p) {
  p->line.is_inside = false;
  p->line.has_return = false;
  if (p->line.kind != TSR_LINE_QUALITY) {
    return TSR_OK;
  }
  if (p->record.scores > p->record.bases)
    return tsr_fail(p->error, TSR_IO, "%s:%llu: has %llu quality letters for %llu bases: they must be as many", p->path,
                    line_of(p, p->line.number), (unsigned long long)p->record.scores,
                    (unsigned long long)p->record.bases);
  if (p->record.scores == p->record.bases) end_record(p);
  return TSR_OK;
}

/* A piece of the current line, without its line end. */
static tsr_status add_piece(tsr_sequence *p, const unsigned char *text, size_t bytes) {
  const size_t whole = bytes;
  while (bytes && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t')) bytes--;
  if (p->line.has_blank && bytes && p->line.kind != TSR_LINE_HEADER && p->line.kind != TSR_LINE_PLUS &&
      p->line.kind != TSR_LINE_COMMENT)
    return tsr_fail(p->error, TSR_IO, "%s:%llu: letters follow a blank: a sequence has none within", p->path,
                    line_of(p, p->line.number));
  p->line.has_blank = p->line.has_blank || bytes < whole;
  if (p->line.kind == TSR_LINE_HEADER && memchr(text, '\r', bytes))
    return tsr_fail(p->error, TSR_IO,
                    "%s:%llu: its lines end with CR alone, as old Macs wrote them: convert them: tr '\\r' '\\n' <FILE",
                    p->path, line_of(p, p->line.number));
  if (p->line.kind == TSR_LINE_BASES ||
      p->line.kind == TSR_LINE_BLANK) { /* a blank line that goes on is refused there */
    return add_bases(p, text, bytes);
  }
  if (p->line.kind == TSR_LINE_QUALITY) {
    const bool has_bad = has_bad_score(text, bytes);
    for (size_t i = 0; has_bad && i < bytes; i++)
      if (text[i] < '!' || text[i] > '~')
        return tsr_fail(p->error, TSR_IO, "%s:%llu: byte 0x%02x is no quality letter: allowed are '!' to '~'", p->path,
                        line_of(p, p->line.number), text[i]);
    p->record.scores += bytes;
  }
  return TSR_OK;
}

/* Whether a line that begins with this byte is the first one of a record. */
static bool begins_record(const tsr_sequence *p, unsigned char first) {
  return p->is_fastq ? !p->record.is_open && first == '@' : first == '>';
}

/* The next part begins where this one has ended, unless a line of qualities looks like a record's first one. */
static tsr_status check_end(const tsr_sequence *p, uint64_t end_at) {
  uint64_t next = end_at;
  if (!p->is_fastq || p->range.to == UINT64_MAX) return TSR_OK;
  const tsr_status status = tsr_cut_records(p->text, true, p->range.to, &next, p->error);
  if (status || next == end_at) return status;
  return tsr_fail(
      p->error, TSR_IO,
      "%s: cannot be cut at byte %llu, because a line of qualities there looks like a record: read it by one "
      "process, or compress it",
      p->path, (unsigned long long)p->range.to);
}

/* What can be said at the end of the file or part only; it also ends a last line without a line end. An empty read needs no line for
 * its quality there. */
static tsr_status finish(tsr_sequence *p, uint64_t end_at) {
  tsr_status status = p->line.is_inside ? end_line(p) : TSR_OK;
  if (status != TSR_OK) {
    return status;
  }
  const bool is_whole = !p->is_fastq || (p->line.kind == TSR_LINE_PLUS && p->record.bases == 0);
  if (p->record.is_open && !is_whole) {
    return tsr_fail(
        p->error, TSR_IO, "%s:%llu: the file ends within this FASTQ record: it has %llu bases and %llu quality letters",
        p->path, line_of(p, p->record.line), (unsigned long long)p->record.bases, (unsigned long long)p->record.scores);
  }
  end_record(p);
  p->is_at_end = true;
  status = check_end(p, end_at);
  if (status == TSR_OK && p->is_strict && kmers_so_far(p) == 0) {
    return tsr_fail(p->error, TSR_IO,
                    "%s: holds no k-mer of %u letters A, C, G or T (%llu record%s, %llu bases): use a "
                    "smaller --kmers or another file",
                    p->path, p->kmer.length, (unsigned long long)p->facts.records, p->facts.records == 1 ? "" : "s",
                    (unsigned long long)p->facts.bases);
  }
  return status;
}

static tsr_status add_block(tsr_sequence *p, const unsigned char *text, size_t bytes) {
  tsr_status status = TSR_OK;
  for (size_t at = 0; status == TSR_OK && at < bytes;) {
    if (!p->line.is_inside && p->block_at + at >= p->range.to && begins_record(p, text[at])) {
      return finish(p, p->block_at + at);
    }
    if (!p->line.is_inside) {
      status = begin_line(p, text[at]);
    } else if (p->line.has_return && text[at] != '\n') {
      status = add_piece(p, (const unsigned char *)"\r", 1);
    }
    p->line.has_return = false;
    if (status != TSR_OK) {
      break;
    }
    const unsigned char *newline = memchr(text + at, '\n', bytes - at);
    size_t end = newline ? (size_t)(newline - text) : bytes;
    size_t stop = end;
    if (stop > at && text[stop - 1] == '\r') {
      stop--;
      p->line.has_return = true;
    }
    status = add_piece(p, text + at, stop - at);
    if (status == TSR_OK && newline) {
      status = end_line(p);
    }
    at = end + 1;
  }
  return status;
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
    class_of[(unsigned char)bases[i]] = class_of[(unsigned char)bases[i] | 0x20] = i; /* and lower case */
  }
  class_of['U'] = class_of['u'] = class_of['T'];
}

/* ---- What is no sequence file ---------------------------------------------------------------- */

#define TSR_NO_SEQUENCES ", and k-mers are read from FASTA and FASTQ: "
#define TSR_BY_SAMTOOLS TSR_NO_SEQUENCES "convert it: `samtools fasta FILE | tessera count - ...`"
#define TSR_BY_SEQRET TSR_NO_SEQUENCES "convert it, for example by EMBOSS: `seqret FILE fasta::FILE.fa`"
#define TSR_BY_PANDAS ", which is not read: write its columns as .csv or .npy, for example by pandas"
#define TSR_NONE_IN_IT ", which holds no sequences: name the FASTA file that it is about"

/* Formats that are given by mistake: what they are, and how their names end and their texts begin. */
static const struct {
  const char *what, *ending, *begin;
} foreign[] = {
    {"SAM" TSR_BY_SAMTOOLS, ".sam", "@HD\t"},         {"SAM" TSR_BY_SAMTOOLS, ".sam", "@SQ\t"},
    {"SAM" TSR_BY_SAMTOOLS, ".sam", "@RG\t"},         {"SAM" TSR_BY_SAMTOOLS, ".sam", "@PG\t"},
    {"SAM" TSR_BY_SAMTOOLS, ".sam", "@CO\t"},         {"BAM" TSR_BY_SAMTOOLS, ".bam", "BAM\1"},
    {"CRAM" TSR_BY_SAMTOOLS, ".cram", "CRAM"},        {"GenBank" TSR_BY_SEQRET, ".gb", "LOCUS "},
    {"GenBank" TSR_BY_SEQRET, ".gbk", "LOCUS "},      {"GenBank" TSR_BY_SEQRET, ".gbff", "LOCUS "},
    {"EMBL" TSR_BY_SEQRET, ".embl", "ID   "},         {"VCF" TSR_NONE_IN_IT, ".vcf", "##fileformat=VCF"},
    {"BCF" TSR_NONE_IN_IT, ".bcf", "BCF\2"},          {"GFF" TSR_NONE_IN_IT, ".gff", "##gff-version"},
    {"GFF" TSR_NONE_IN_IT, ".gff3", "##gff-version"}, {"Parquet" TSR_BY_PANDAS, ".parquet", "PAR1"},
    {"Arrow" TSR_BY_PANDAS, ".arrow", "ARROW1"},      {"Arrow" TSR_BY_PANDAS, ".feather", "ARROW1"},
};
enum { FOREIGN = sizeof foreign / sizeof foreign[0], SAM_TABS = 10 };

const char *tsr_sequence_foreign_name(const char *name, size_t length) {
  for (size_t i = 0; i < FOREIGN; i++)
    if (tsr_name_ends(name, length, foreign[i].ending)) return foreign[i].what;
  return NULL;
}

/* By the first line, or what of it was read. */
static const char *foreign_text(const unsigned char *head, size_t bytes) {
  size_t tabs = 0;
  for (size_t i = 0; i < FOREIGN; i++)
    if (bytes >= strlen(foreign[i].begin) && memcmp(head, foreign[i].begin, strlen(foreign[i].begin)) == 0)
      return foreign[i].what;
  for (size_t i = 0; i < bytes && head[i] != '\n'; i++) tabs += head[i] == '\t';
  return tabs >= SAM_TABS && *head != '>' && *head != '@' ? foreign[0].what : NULL; /* SAM without its header */
}

/* Goes to the first record of the range. The file's first letter tells which format it is. */
static tsr_status go_to_range(tsr_sequence *p) {
  size_t bytes = 1;
  uint64_t at = 0;
  tsr_status status = TSR_OK;
  for (; status == TSR_OK && bytes && !p->is_known; at += bytes) {
    status = tsr_text_peek(p->text, at, p->block, sizeof p->block, &bytes, p->error);
    for (size_t i = 0; status == TSR_OK && i < bytes && !p->is_known; i++) {
      p->is_known = !strchr("\n\r\xEF\xBB\xBF", p->block[i]); /* a byte order mark may come first */
      p->is_fastq = p->block[i] == '@';
    }
  }
  if (status == TSR_OK) status = tsr_cut_records(p->text, p->is_fastq, p->range.from, &at, p->error);
  return status == TSR_OK ? tsr_text_seek(p->text, at, p->error) : status;
}

static tsr_status begin(tsr_sequence *p) {
  const unsigned char *head = NULL;
  size_t bytes = 0;
  tsr_status status = tsr_text_head(p->text, &head, &bytes, p->error);
  if (status) return status;
  const char *what = foreign_text(head, bytes);
  if (what) return tsr_fail(p->error, TSR_IO, "%s: looks like %s", p->path, what);
  p->is_begun = true;
  return p->range.from ? go_to_range(p) : TSR_OK;
}

tsr_status tsr_sequence_begin(tsr_text *text, const char *path, tsr_range range, const tsr_dataset_options *options,
                              tsr_sequence **sequence, tsr_error *error) {
  tsr_sequence *p = calloc(1, sizeof *p);
  if (!p) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read a sequence file", path);
  p->text = text;
  p->path = path;
  p->range = range;
  p->is_strict = options->is_strict && tsr_part_is_all(&options->part);
  p->kmer.length = options->kmers;
  p->keys.bits = options->key_bits;
  p->kmer.canonical = options->canonical;
  classify_letters(p->class_of);
  *sequence = p;
  return TSR_OK;
}

tsr_status tsr_sequence_next(tsr_sequence *sequence, void *keys, uint64_t room, uint64_t *count, tsr_error *error) {
  tsr_sequence *p = sequence;
  tsr_status status = TSR_OK;
  assert(room >= TSR_SEQUENCE_ROOM);
  p->error = error;
  p->keys.items = keys;
  p->keys.count = 0;
  if (!p->is_begun) status = begin(p);
  while (status == TSR_OK && !p->is_at_end && room - p->keys.count >= TSR_SEQUENCE_ROOM) {
    size_t bytes = 0;
    p->block_at = tsr_text_at(p->text);
    status = tsr_text_read(p->text, p->block, sizeof p->block, &bytes, error);
    if (status == TSR_OK) status = bytes > 0 ? add_block(p, p->block, bytes) : finish(p, p->block_at);
  }
  if (p->keys.bits == TSR_LETTER_BITS) keep_last(p);
  p->keys.before += p->keys.count;
  *count = p->keys.count;
  return status;
}

tsr_sequence_facts tsr_sequence_describe(const tsr_sequence *sequence) { return sequence->facts; }

void tsr_sequence_free(tsr_sequence *sequence) { free(sequence); }

uint64_t tsr_kmers_possible(uint32_t letters, bool canonical) {
  const uint64_t all = letters < 32 ? UINT64_C(1) << (2 * letters) : UINT64_MAX;
  if (!canonical) return all;
  return all / 2 + (letters % 2 == 0 ? UINT64_C(1) << (letters - 1) : 0);
}

bool tsr_sequence_is_named(const char *name, size_t length) {
  static const char *const endings[] = {".fa",  ".fasta", ".fna", ".fas", ".ffn",  ".fsa",
                                        ".mfa", ".faa",   ".frn", ".fq",  ".fastq"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
    if (tsr_name_ends(name, length, endings[i])) return true;
  return false;
}
