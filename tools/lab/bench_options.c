/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the command line of `tessera bench`.
 */
#include "tools/lab/bench_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/devices_model.h"
#include "tools/lab/words.h"

#define KEYS_MAX (1ull << 39) /* of one call of tsr_insert */
#define MIX_TOLERANCE 1e-9
enum { REPEAT_MAX = 1000, DEVICES_MAX = 64, LOAD_LETTERS_MAX = 32, UNITS_MAX = 4096, TILE_LANES_MAX = 32 };

static const char *const op_names[TSR_BENCH_OPS] = {[TSR_BENCH_INSERT] = "insert",
                                                    [TSR_BENCH_INCREMENTAL] = "incremental",
                                                    [TSR_BENCH_REBUILD] = "rebuild",
                                                    [TSR_BENCH_FIND100] = "find100",
                                                    [TSR_BENCH_FIND50] = "find50",
                                                    [TSR_BENCH_FIND0] = "find0",
                                                    [TSR_BENCH_FIND_ALL] = "find_all",
                                                    [TSR_BENCH_COUNT_ALL] = "count_all",
                                                    [TSR_BENCH_JOIN] = "join",
                                                    [TSR_BENCH_ERASE] = "erase",
                                                    [TSR_BENCH_MIXED] = "mixed",
                                                    [TSR_BENCH_APPLY] = "apply",
                                                    [TSR_BENCH_GROW] = "grow",
                                                    [TSR_BENCH_NUMBER] = "number",
                                                    [TSR_BENCH_UNIQUE] = "unique",
                                                    [TSR_BENCH_UNIQUE_COUNTS] = "unique_counts",
                                                    [TSR_BENCH_UNIQUE_INVERSE] = "unique_inverse",
                                                    [TSR_BENCH_HITS] = "hits",
                                                    [TSR_BENCH_ALLOCATE] = "allocate",
                                                    [TSR_BENCH_RELEASE] = "release",
                                                    [TSR_BENCH_CHURN] = "churn"};

const char *tsr_bench_op_name(tsr_bench_op op) { return op_names[op]; }

void tsr_bench_options_told(const tsr_bench_options *options, tsr_bench_op op, char *text, size_t bytes) {
  const double *mix = options->mix;
  const bool is_pool = op >= TSR_BENCH_TABLE_OPS;
  int letters = 0;
  text[0] = 0;
  if (op == TSR_BENCH_MIXED || op == TSR_BENCH_APPLY)
    letters = snprintf(text, bytes, "mix=%g,%g,%g,%g", mix[0], mix[1], mix[2], mix[3]);
  if (op == TSR_BENCH_INCREMENTAL || op == TSR_BENCH_REBUILD || op == TSR_BENCH_HITS)
    letters = snprintf(text, bytes, "batch=%" PRIu64, options->batch);
  if (is_pool)
    letters =
        snprintf(text, bytes, "units=%" PRIu64 " tile_lanes=%" PRIu64, options->pools.units, options->pools.tile_lanes);
  if (options->codes && !is_pool && letters >= 0 && (size_t)letters < bytes)
    snprintf(text + letters, bytes - (size_t)letters, "%scodes=yes", letters ? " " : "");
}

bool tsr_bench_wants_pools(const tsr_bench_options *o) {
  return o->ops[TSR_BENCH_ALLOCATE] || o->ops[TSR_BENCH_RELEASE] || o->ops[TSR_BENCH_CHURN];
}

/* ---- Values of options ----------------------------------------------------------------------- */

static tsr_status read_number(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out,
                              tsr_error *error) {
  char advice[TSR_ADVICE_BYTES];
  uint64_t count;
  if (!tsr_parse_u64(text, &count) || count < least || count > most)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: %s %s: must be a whole number from %llu to %llu%s", name, text,
                    (unsigned long long)least, (unsigned long long)most,
                    *tsr_number_advice(text, advice) ? advice : ", such as 1000, 4Mi or 2^27");
  *out = count;
  return TSR_OK;
}

static tsr_status read_count(const char *name, const char *text, uint64_t most, uint64_t *out, tsr_error *error) {
  return read_number(name, text, 1, most, out, error);
}

/* Cuts a copy of `text` at its commas; the caller owns *copy, into which *items points. */
static tsr_status split(const char *text, char **copy, const char ***items, size_t *count, tsr_error *error) {
  size_t commas = 0, bytes = strlen(text) + 1;
  for (const char *c = text; *c; c++) commas += *c == ',';
  char *letters = malloc(bytes);
  const char **list = malloc((commas + 1) * sizeof *list);
  if (!letters || !list) {
    free(letters);
    free(list);
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory to read the list %s", text);
  }
  memcpy(letters, text, bytes);
  *count = 0;
  for (char *item = letters; item;) {
    char *comma = strchr(item, ',');
    if (comma) *comma++ = 0;
    list[(*count)++] = item;
    item = comma;
  }
  *copy = letters;
  *items = list;
  return TSR_OK;
}

static tsr_status read_loads(const char *text, tsr_bench_options *o, tsr_error *error) {
  free(o->loads.texts);
  free(o->loads.each);
  o->loads.texts = NULL;
  o->loads.each = NULL;
  tsr_status status = split(text, &o->loads.texts, &o->loads.each, &o->loads.count, error);
  for (size_t i = 0; status == TSR_OK && i < o->loads.count; i++) {
    double load;
    if (!tsr_parse_double(o->loads.each[i], &load) || load < 0.01 || strlen(o->loads.each[i]) > LOAD_LETTERS_MAX)
      status = tsr_fail(error, TSR_BAD_ARGUMENT,
                        "bench: --loads %s: '%s' is no load: they are numbers from 0.01 on, separated by commas", text,
                        o->loads.each[i]);
  }
  return status;
}

static tsr_status read_keys(const char *text, tsr_bench_options *o, tsr_error *error) {
  const char **words = NULL;
  free(o->keys.texts);
  free(o->keys.each);
  o->keys.texts = NULL;
  o->keys.each = NULL;
  tsr_status status = split(text, &o->keys.texts, &words, &o->keys.count, error);
  if (status) return status;
  o->keys.each = calloc(o->keys.count, sizeof *o->keys.each);
  if (!o->keys.each) status = tsr_fail(error, TSR_NO_MEMORY, "bench: no memory to read the list %s", text);
  for (size_t i = 0; status == TSR_OK && i < o->keys.count; i++)
    status = tsr_distribution_read(words[i], &o->keys.each[i], error);
  free(words);
  return status;
}

static tsr_status read_ops(const char *text, tsr_bench_options *o, tsr_error *error) {
  char *copy = NULL;
  const char **names = NULL;
  size_t count = 0;
  memset(o->ops, 0, sizeof o->ops);
  tsr_status status = split(text, &copy, &names, &count, error);
  for (size_t i = 0; status == TSR_OK && i < count; i++) {
    size_t op = 0;
    while (op < TSR_BENCH_OPS && strcmp(names[i], op_names[op]) != 0) op++;
    if (op < TSR_BENCH_OPS) {
      o->ops[op] = true;
    } else {
      status = tsr_fail(error, TSR_BAD_ARGUMENT,
                        "bench: --ops %s: '%s' is no operation of bench: they are " TSR_BENCH_OP_LIST
                        "; of pools " TSR_BENCH_POOL_OP_LIST,
                        text, names[i]);
    }
  }
  free(copy);
  free(names);
  bool of_tables = false;
  for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++) of_tables = of_tables || o->ops[op];
  if (status == TSR_OK && of_tables && tsr_bench_wants_pools(o))
    status =
        tsr_fail(error, TSR_BAD_ARGUMENT,
                 "bench: --ops %s: " TSR_BENCH_POOL_OP_LIST " measure the specs' allocators, the others tables: ask "
                 "for one kind at a time",
                 text);
  return status;
}

static tsr_status read_mix(const char *text, tsr_bench_options *o, tsr_error *error) {
  char *copy = NULL;
  const char **shares = NULL;
  size_t count = 0;
  double sum = 0;
  tsr_status status = split(text, &copy, &shares, &count, error);
  if (status) return status;
  bool is_right = count == TSR_MIXED_KINDS;
  for (size_t i = 0; is_right && i < count; i++) {
    is_right = tsr_parse_double(shares[i], &o->mix[i]);
    sum += o->mix[i];
  }
  free(copy);
  free(shares);
  if (is_right && fabs(sum - 1) <= MIX_TOLERANCE) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "bench: --mix %s: must be four shares that add up to 1: of inserts of new keys, erases, finds of "
                  "present keys and finds of absent keys, as 0.2,0.2,0.3,0.3",
                  text);
}

static tsr_status read_choice(const char *name, const char *text, bool *out, tsr_error *error) {
  *out = strcmp(text, "yes") == 0;
  if (*out || strcmp(text, "no") == 0) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: %s %s: must be yes or no", name, text);
}

static tsr_status read_compile(const char *text, tsr_bench_options *o, tsr_error *error) {
  bool waits;
  const tsr_status status = read_choice("--compile", text, &waits, error);
  o->code.compile = status == TSR_OK && waits ? TSR_BENCH_WAITS : TSR_BENCH_BY_TABLES;
  return status;
}

static tsr_status read_devices(const char *text, tsr_bench_options *o, tsr_error *error) {
  uint32_t numbers = 0;
  size_t digits = 0;
  for (const char *at = text;; at++) {
    digits += *at >= '0' && *at <= '9';
    if (*at >= '0' && *at <= '9') continue;
    if ((*at && *at != ',') || digits == 0 || digits > 2 || ++numbers > DEVICES_MAX)
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "bench: --devices %s: must be numbers of devices separated by commas, as 0,1: at most %d", text,
                      DEVICES_MAX);
    digits = 0;
    if (!*at) break;
  }
  o->sharing.devices = text;
  return TSR_OK;
}

static tsr_status read_expect(const char *text, tsr_bench_options *o, tsr_error *error) {
  const char *at = text;
  tsr_devices_shape shape = {0};
  for (bool reads = true; reads; reads = *at != '\0')
    if (!tsr_devices_shape_read(&at, &shape))
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "bench: --expect %s: must be numbers of devices, or of hosts and the devices of each, as 8,16x4",
                      text);
  o->sharing.expect = text;
  return TSR_OK;
}

static tsr_status read_rate(const char *name, const char *text, double *out, tsr_error *error) {
  if (tsr_parse_double(text, out) && *out > 0) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: %s %s: must be the GB/s that a device sends, as 50", name, text);
}

/* Values that the bench gives to every table itself. */
static tsr_status read_set(const char *text, tsr_bench_options *o, tsr_error *error) {
  static const char *const own[][2] = {
      {"table.load_factor", "--loads"}, {"table.capacity", "--n"}, {"table.seed", "--seed"}};
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
    if (strncmp(text, own[i][0], strlen(own[i][0])) == 0)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --set %s: here this is said with %s", text, own[i][1]);
  o->sets[o->set_count++] = text;
  return TSR_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

enum {
  N,
  LOADS,
  OPS,
  BATCH,
  KEYS,
  MIX,
  REPEAT,
  SET,
  PLUGINS,
  SEED,
  CSV,
  OUT,
  APPEND,
  JSON,
  UNITS,
  TILE_LANES,
  CODES,
  VS,
  BESIDE,
  DEVICES,
  GROUP,
  EXPECT,
  LINK,
  NETWORK,
  PROBES,
  RAW,
  COMPILE,
  REGRET,
  NAMES
};
static const tsr_option options[NAMES + 1] = {
    {"--n", "N", false, "Keys to insert and to ask for; 2^24."},
    {"--loads", "L,L...", false, "How full the tables get; 0.8."},
    {"--ops", "OP,OP...", false,
     "Of " TSR_BENCH_OP_LIST "; " TSR_BENCH_OPS_INITIAL
     ".\nOr of a spec's allocator, beside malloc: " TSR_BENCH_POOL_OP_LIST "."},
    {"--batch", "B", false, "Keys per batch of incremental (inserted) and rebuild (all so far, from scratch); 32Ki."},
    {"--keys", "K,K...", false,
     "Distributions of the keys, one after the other; compared with the first. distinct.\n"
     "distinct: each key once.\n"
     "repeat:R: each key R times, in no order. Of a multimap: R values of a key.\n"
     "equal: one key.\n"
     "zipf:S[:IDS]: number k of 1 to IDS (else N) with a probability proportional to 1 / k^S; zipf:0: all alike.\n"
     "sequential: 0, 1, 2, ...; strided:K: 0, K, 2 K, ...; low_bits:B: the lowest B bits are 0. Distinct.\n"
     "file:PATH: of a file: raw little-endian numbers of the key's width; all, or the first --n. The table is sized "
     "for "
     "the distinct keys, of a multimap for all pairs; finds ask for keys as often as they were inserted, find_all, "
     "count_all and erase for each once. find_all and erase are measured in pairs, which a key may have many of."},
    {"--mix", "A,B,C,D", false,
     "Shares of mixed: inserts of new keys, erases, finds of present and of absent keys; 0.2,0.2,0.3,0.3."},
    {"--repeat", "N", false,
     "Measurements after one to warm up; the median is printed. 5. 0: nothing is timed; probes are counted, and "
     "answers verified."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    {"--seed", "N", false, "Seed of the keys and the tables."},
    {"--csv", NULL, false,
     "Prints CSV on a terminal too, each row when it is measured. In a pipe that is the default."},
    {"--out", "FILE", false, "The CSV file that the rows go to, in place of standard output. It must not exist."},
    {"--append", "FILE", false, "Where the rows are added. The file may exist."},
    {"--json", "FILE", false, "Also writes the rows as JSON; '-' is standard output, in place of CSV."},
    {"--units", "N", false, "Units per allocation; 1."},
    {"--tile-lanes", "N", false, "Lanes that allocate together; 1."},
    {"--codes", "yes|no", false,
     "Whether inserts, finds and erases write a result code per key, which is verified; no."},
    {"--vs", "SPEC", false,
     "The spec, or its number, that the lines '# ratio' compare the others with; the first. They give how many times "
     "as fast it is: the median of all repetitions, the least and the greatest, and from 5 repetitions on the 95 % "
     "confidence interval of the median."},
    {"--beside", "FILE.so", true,
     "Tables of other libraries, measured in turns with the specs as what the spec of --vs is: same keys, same checks "
     "(examples/rivals)."},
    {"--devices", "D,D...", false,
     "Measures insert, find100, find50 and find0 on these devices: one alone with N keys, all with N each, and all "
     "with N together. Prints what the phases cost and what a model expects. N is cut to parts of one size."},
    {"--group", "TRANSPORT", false,
     "With --devices: measures a table of the processes that were started together, N keys each, each on the next "
     "device "
     "of the list: mpi, or the path of a transport. The first one prints."},
    {"--expect", "D,HxD...", false,
     "With --devices: prints what the model expects of D devices of one host, or of H hosts with D devices each, with "
     "N "
     "keys per device."},
    {"--link", "GB/S", false,
     "What a device sends to others of its host, for --expect; as measured, where --devices names two."},
    {"--network", "GB/S", false, "What a device sends to other hosts, for --expect."},
    {"--probes", "yes|no", false, "Whether probes are counted, which takes a run of its own; yes."},
    {"--raw", "yes|no", false, "Whether a row lists the rates of all repetitions, in the column mops_each; no."},
    {"--compile", "yes|no", false,
     "On the CPU, whether a compiler makes the code before it is timed; yes. no: function tables, as the library uses "
     "for fewer than 2^18 keys per thread."},
    {"--regret", NULL, false,
     "Also measures each spec whose batches can be put in order (page_bytes, and filters) without any order, and with "
     "every "
     "batch put in order. Lines '# regret' print by how much the faster way is faster than what the spec chooses."},
    TSR_OPTION_END};

const tsr_synopsis tsr_bench_synopsis = {
    "bench", "SPEC...",
    "Measures operations and verifies every result. Prints a table on a terminal, otherwise CSV. Several specs take "
    "turns and are compared.",
    options, NULL};

static tsr_status read_option(size_t which, const char *value, tsr_bench_options *o, tsr_error *error) {
  switch (which) {
  case N:
    o->n_is_given = true;
    return read_number(options[which].name, value, 0, KEYS_MAX, &o->n, error);
  case LOADS:
    return read_loads(value, o, error);
  case OPS:
    return read_ops(value, o, error);
  case BATCH:
    return read_count(options[which].name, value, KEYS_MAX, &o->batch, error);
  case KEYS:
    return read_keys(value, o, error);
  case MIX:
    return read_mix(value, o, error);
  case REPEAT:
    return read_number(options[which].name, value, 0, REPEAT_MAX, &o->repeat, error);
  case SET:
    return read_set(value, o, error);
  case PLUGINS:
    o->plugins = value;
    return TSR_OK;
  case SEED:
    return read_count(options[which].name, value, 1ull << 63, &o->seed, error);
  case CSV:
    o->outputs.is_csv = true;
    return TSR_OK;
  case OUT:
    o->outputs.out = value;
    return TSR_OK;
  case APPEND:
    o->outputs.append = value;
    return TSR_OK;
  case JSON:
    o->outputs.json = value;
    return TSR_OK;
  case UNITS:
    return read_count(options[which].name, value, UNITS_MAX, &o->pools.units, error);
  case TILE_LANES:
    return read_count(options[which].name, value, TILE_LANES_MAX, &o->pools.tile_lanes, error);
  case CODES:
    return read_choice(options[which].name, value, &o->codes, error);
  case VS:
    o->versus.spec = value;
    return TSR_OK;
  case COMPILE:
    return read_compile(value, o, error);
  case REGRET:
    o->versus.regret = true;
    return TSR_OK;
  case BESIDE:
    o->versus.beside[o->versus.beside_count++] = value;
    return TSR_OK;
  case DEVICES:
    return read_devices(value, o, error);
  case GROUP:
    o->sharing.group = value;
    return TSR_OK;
  case EXPECT:
    return read_expect(value, o, error);
  case LINK:
    return read_rate(options[which].name, value, &o->sharing.link, error);
  case NETWORK:
    return read_rate(options[which].name, value, &o->sharing.network, error);
  case PROBES:
    return read_choice(options[which].name, value, &o->code.probes, error);
  case RAW:
    return read_choice(options[which].name, value, &o->outputs.raw, error);
  default:
    o->specs[o->spec_count++] = value;
    return TSR_OK;
  }
}

/* A spec is named as the command line has it; where it has it twice, the number tells. */
static tsr_status find_versus(tsr_bench_options *o, tsr_error *error) {
  uint64_t number;
  if (!o->versus.spec) return TSR_OK;
  for (o->versus.index = 0; o->versus.index < o->spec_count; o->versus.index++)
    if (strcmp(o->versus.spec, o->specs[o->versus.index]) == 0) return TSR_OK;
  if (!tsr_parse_u64(o->versus.spec, &number) || number < 1 || number > o->spec_count)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --vs %s: must be one of the specs, written as there, or its number from 1 to %zu",
                    o->versus.spec, o->spec_count);
  o->versus.index = number - 1;
  return TSR_OK;
}

/* What one option says may not suit another. */
static tsr_status check_together(const tsr_bench_options *o, tsr_error *error) {
  if (o->spec_count == 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: no spec: name the INI file of a table, or several to compare them");
  if (o->outputs.out && o->outputs.append)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --out %s and --append %s: say one of the two", o->outputs.out,
                    o->outputs.append);
  if (o->repeat == 0 && (o->sharing.devices || tsr_bench_wants_pools(o)))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --repeat 0: only counts the probes of a table: give at least 1 for devices and allocators");
  if (o->versus.spec && tsr_bench_wants_pools(o))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --vs %s: is for tables; of allocators the first one is compared with the others and with "
                    "malloc: name it first",
                    o->versus.spec);
  if (o->versus.regret && (o->sharing.devices || tsr_bench_wants_pools(o)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --regret: is for tables of one device: leave out %s",
                    o->sharing.devices ? "--devices" : "operations of allocators");
  if (o->versus.beside_count && (o->sharing.devices || tsr_bench_wants_pools(o)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --beside %s: is for tables of one device: leave out %s",
                    o->versus.beside[0], o->sharing.devices ? "--devices" : "operations of allocators");
  if (o->sharing.devices &&
      (o->keys.count > 1 || strcmp(o->keys.each[0].text, "distinct") != 0 || o->codes || o->versus.spec))
    return tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "bench: --devices %s: keys are distinct there, without codes, and specs are not compared: leave out "
        "--keys, --codes and --vs",
        o->sharing.devices);
  if (o->sharing.group && (!o->sharing.devices || o->sharing.expect))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --group %s: %s", o->sharing.group,
                    o->sharing.expect ? "leave out --expect, which follows from one process"
                                      : "name the devices of the processes by --devices, as 0,1,2,3");
  if (o->sharing.expect && !o->sharing.devices)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --expect %s: follows from what one device is measured to do: add --devices 0",
                    o->sharing.expect);
  for (int op = 0; o->sharing.devices && op < TSR_BENCH_OPS; op++)
    if (o->ops[op] && op != TSR_BENCH_INSERT && op != TSR_BENCH_FIND100 && op != TSR_BENCH_FIND50 &&
        op != TSR_BENCH_FIND0)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --ops %s: --devices measures insert, find100, find50 and find0",
                      op_names[op]);
  for (size_t i = 0; i < o->loads.count && tsr_bench_wants_pools(o); i++) {
    double load;
    if (tsr_parse_double(o->loads.each[i], &load) && load > 1)
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "bench: --loads %s: a pool holds no more than its units: give loads of allocators up to 1",
                      o->loads.each[i]);
  }
  return TSR_OK;
}

static tsr_status read_all(int argc, char **argv, tsr_bench_options *o, tsr_error *error) {
  tsr_words words = {.command = "bench", .options = options, .argc = argc, .argv = argv, .at = 1};
  const tsr_option *which;
  const char *value;
  o->n = 1ull << 24;
  o->repeat = 5;
  o->code = (tsr_bench_code){.probes = true, .compile = TSR_BENCH_AUTO};
  o->batch = 1ull << 15;
  o->pools.units = o->pools.tile_lanes = 1;
  tsr_status status = read_loads(".8", o, error);
  if (status == TSR_OK) status = read_ops(TSR_BENCH_OPS_INITIAL, o, error);
  if (status == TSR_OK) status = read_keys("distinct", o, error);
  if (status == TSR_OK) status = read_mix(".2,.2,.3,.3", o, error);
  bool has_ops = false;
  while (status == TSR_OK && tsr_words_next(&words, &which, &value, &status, error)) {
    const size_t number = which ? (size_t)(which - options) : NAMES;
    status = read_option(number, value, o, error);
    has_ops = has_ops || number == OPS;
  }
  if (status == TSR_OK && o->sharing.devices && !has_ops) status = read_ops("insert,find100,find0", o, error);
  if (status == TSR_OK) status = check_together(o, error);
  return status ? status : find_versus(o, error);
}

tsr_status tsr_bench_options_read(int argc, char **argv, tsr_bench_options *options, tsr_error *error) {
  tsr_bench_options o = {.n = 0};
  size_t most = argc > 0 ? (size_t)argc : 1;
  o.specs = calloc(most, sizeof *o.specs);
  o.sets = calloc(most, sizeof *o.sets);
  o.versus.beside = calloc(most, sizeof *o.versus.beside);
  tsr_status status = o.specs && o.sets && o.versus.beside
                          ? read_all(argc, argv, &o, error)
                          : tsr_fail(error, TSR_NO_MEMORY, "bench: no memory to read the command line");
  if (status) {
    tsr_bench_options_free(&o);
    return status;
  }
  *options = o;
  return TSR_OK;
}

void tsr_bench_options_free(tsr_bench_options *options) {
  free(options->specs);
  free(options->sets);
  free(options->versus.beside);
  free(options->loads.each);
  free(options->loads.texts);
  free(options->keys.each);
  free(options->keys.texts);
  *options = (tsr_bench_options){.n = 0};
}
