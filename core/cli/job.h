/* SPDX-License-Identifier: Apache-2.0
 *
 * A job: files of keys put into, looked up in and erased from one table, in the order written, with a report of what
 * was composed and what happened. `run` makes one from its command line, `demo` from its own choice.
 * Read next: dataset.h (the files), rows.h (the results).
 */
#ifndef TSR_JOB_H
#define TSR_JOB_H

#include <stdio.h>

#include "core/cli/console.h"
#include "core/cli/dataset.h"
#include "core/cli/unplaced.h"
#include "core/tessera_tools.h"

typedef enum tsr_job_verb { TSR_JOB_INSERT, TSR_JOB_FIND, TSR_JOB_ERASE, TSR_JOB_VERBS } tsr_job_verb;

typedef struct tsr_job_step {
  tsr_job_verb verb;
  const char *path;
  tsr_dataset data;     /* find: the keys stay; the others' arrays are gone once they were used */
  uint64_t value_count; /* find in a multimap: values of all keys */
  /* find, if rows are kept: a row a key, in a multimap one a value and one for a key without */
  uint64_t row_count;
  void *row_keys; /* NULL: those of data */
  void *found_values;
  uint8_t *found;    /* 1 or 0 a row */
  tsr_report report; /* of this step alone */
  double milliseconds;
} tsr_job_step;

typedef struct tsr_job {
  /* given; belongs to the caller */
  const tsr_spec *spec;
  const char *spec_path; /* for json */
  const char *plugins;   /* NULL: the default search path */
  uint32_t kmers;        /* 0: no sequence files */
  bool canonical;
  tsr_job_step *steps; /* verb and path */
  size_t step_count;
  bool flushes;     /* packs lists before the table is saved */
  const char *load; /* starts with the table saved there instead of an empty one; NULL: it does not */
  const char *save; /* where the table is saved in the end; NULL: nowhere */
  const char *out;  /* where the rows of all finds go, "-" for standard output; NULL: nowhere */
  const char
      *unplaced;    /* where the pairs go that found no room, "-" for standard output; NULL: they are only counted */
  const char *json; /* where the job goes as an object (job_json.h), "-" for standard output; NULL: nowhere */
  bool keeps_found; /* fill `found` and `found_values` though there is no `out` */
  /* made */
  FILE *report;      /* standard output, or standard error if the rows or the object go there */
  bool was_rehashed; /* the loaded table was made what the spec says */
  tsr_usage usage;   /* in the end */
  uint64_t unplaced_count;
  tsr_unplaced unplaced_pairs; /* if there is a place for them */
  uint32_t key_bits, value_bits;
  bool is_multimap, keeps_all; /* the second: a multiset too */
  tsr_table *table;
} tsr_job;

/* Does all of it: reads the files, composes, works, reports, writes the rows. Pairs that found no room do not end the job:
 * it says how many there are and returns TSR_EXIT_UNPLACED when all is done. Says what was wrong. The caller frees with
 * tsr_job_free. */
tsr_exit tsr_job_run(tsr_job *job);

/* Frees what was made, not what was given; steps[] itself is given. */
void tsr_job_free(tsr_job *job);

#endif
