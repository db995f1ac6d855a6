/* SPDX-License-Identifier: Apache-2.0
 *
 * A job: files of keys put into, looked up in and erased from one table, in the order written, with a report of what
 * was composed and what happened. The files are read by chunks while the table works (stream.h), and rows are written as
 * they come, so that memory holds the table and a few chunks, whatever the files' sizes. `run` makes a job from its command
 * line, `demo` from its own choice. Read next: stream.h (the files), rows.h (the results), job_run.h.
 */
#ifndef TSR_JOB_H
#define TSR_JOB_H

#include <stdio.h>

#include "core/tessera_tools.h"
#include "tools/cli/checkpoint.h"
#include "tools/cli/ranks.h"
#include "tools/cli/rows.h"
#include "tools/cli/stream.h"

typedef enum tsr_job_verb { TSR_JOB_INSERT, TSR_JOB_FIND, TSR_JOB_ERASE, TSR_JOB_VERBS } tsr_job_verb;

/* What happens where a pair finds no room. */
typedef enum tsr_on_full {
  TSR_FULL_AS_SAID, /* what the spec says of growth; where it says nothing, the table grows if it can */
  TSR_FULL_GROW,
  TSR_FULL_REPORT, /* the job goes on, and tells them in the end */
  TSR_FULL_STOP    /* it ends, and nothing is written */
} tsr_on_full;

typedef struct tsr_job_step {
  tsr_job_verb verb;
  const char *path;
  /* made */
  uint64_t count;       /* keys */
  uint64_t value_count; /* find in a multiset or multimap: pairs of all keys */
  tsr_input_facts facts;
  tsr_report report; /* of this step alone */
  double milliseconds;
} tsr_job_step;

/* Where what a job makes goes: paths, "-" for standard output; NULL: nowhere. */
typedef struct tsr_job_outputs {
  const char *save;          /* the table, in the end */
  const char *rows;          /* of all finds */
  const char *unplaced;      /* pairs that found no room; they are counted in any case */
  const char *pairs;         /* all pairs of the table, in the end */
  const char *json;          /* the job as an object (job_json.h) */
  bool is_sorted;            /* `pairs` */
  bool flushes;              /* lists are packed before the table is saved */
  bool has_histogram;        /* on standard output: how many keys occur how often (pairs.h) */
  tsr_checkpoint checkpoint; /* the table while the job runs */
} tsr_job_outputs;

/* What the spec's kind means for a job. */
typedef struct tsr_job_kind {
  bool is_multimap;
  bool keeps_all; /* a multimap or a multiset */
  bool is_filter; /* it keeps no pairs, and has no size */
  bool is_bloom;  /* a filter without slots, from which nothing is erased */
  bool is_index;  /* keys are inserted without values, and get numbers */
} tsr_job_kind;

/* What a job has counted, in the end. */
typedef struct tsr_job_totals {
  const char *capacity_note; /* where the capacity comes from */
  uint64_t first_capacity;   /* before it grew */
  tsr_usage usage;
  uint64_t unplaced, exported; /* pairs */
  uint64_t overflows;          /* sums past the largest value */
} tsr_job_totals;

/* Gets the rows of finds as they come. */
typedef struct tsr_job_listener {
  void (*on_rows)(void *context, const tsr_rows *rows); /* NULL: nobody listens */
  void *context;
} tsr_job_listener;

typedef struct tsr_job {
  /* given; belongs to the caller */
  const tsr_spec *spec;
  const char *spec_path; /* for json */
  const char *plugins;   /* NULL: the default search path */
  tsr_dataset_options
      reading; /* how files are read, but for the keys' form and the widths, which the spec says; value_rule =
                                  TSR_VALUE_NATURAL: nothing is said of it */
  tsr_on_full on_full;
  tsr_job_step *steps; /* verb and path */
  size_t step_count;
  bool is_quiet;    /* no report, no progress */
  const char *load; /* starts with the table saved there instead of an empty one; NULL: it does not */
  tsr_job_outputs outputs;
  tsr_job_listener listener;
  tsr_ranks ranks; /* all zero: this process is alone */
  /* made */
  tsr_spec *own_spec; /* a copy that says what the job changes, which `spec` is then; NULL: none */
  FILE *report;       /* standard output, or standard error if something else goes there, or nothing if quiet */
  tsr_job_totals totals;
  tsr_key_form form; /* of `reading` and of outputs */
  uint32_t value_bits;
  tsr_column_names names; /* of the columns of outputs */
  tsr_job_kind kind;
  tsr_table *table;
} tsr_job;

/* The value that the job's spec has for a key of [table], or `initial`. */
const char *tsr_job_setting(const tsr_job *job, const char *key, const char *initial);

#endif
