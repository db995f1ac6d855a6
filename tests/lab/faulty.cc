// SPDX-License-Identifier: Apache-2.0
//
// The library's calls over std::unordered_map, with faults (faulty.h). Keys have 32 bits. The tests' specs carry the
// table's name as its layout.
#include "faulty.h"

#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "core/tessera_devices.h"

Faulty faulty;

struct tsr_table {
  std::unordered_map<uint32_t, std::vector<uint64_t>> pairs;
  std::string name;
  tsr_report report = {};
  uint64_t capacity;
  bool keeps_all, statistics, is_timed;
  tsr_spec *spec;
};

static void note(tsr_table *table, const char *operation) {
  if (table->is_timed) faulty.operations.push_back(table->name + " " + operation);
}

static void store(void *array, uint64_t i, uint64_t value) {
  if (faulty.value_bits == 64) {
    static_cast<uint64_t *>(array)[i] = value;
  } else {
    static_cast<uint32_t *>(array)[i] = static_cast<uint32_t>(value);
  }
}

static uint64_t fetch(const void *array, uint64_t i) {
  if (faulty.value_bits == 0) return 1;
  return faulty.value_bits == 64 ? static_cast<const uint64_t *>(array)[i] : static_cast<const uint32_t *>(array)[i];
}

tsr_status tsr_table_create(const tsr_spec *spec, const tsr_options *options, tsr_table **table, tsr_error *error) {
  const char *statistics = tsr_spec_get(spec, "table", "statistics");
  bool keeps_all = !strcmp(tsr_spec_get(spec, "table", "kind"), "multimap");
  bool counts = statistics && !strcmp(statistics, "yes");
  tsr_spec *copy = nullptr;
  tsr_status status = tsr_spec_copy(spec, &copy, error);
  if (status) return status;
  *table =
      new tsr_table{{}, tsr_spec_get(spec, "table", "layout"), {}, options->capacity, keeps_all, counts, false, copy};
  faulty.tables++;
  return TSR_OK;
}

void tsr_table_destroy(tsr_table *table) {
  if (table) faulty.tables--;
  if (table) tsr_spec_free(table->spec);
  delete table;
}

void tsr_table_describe(const tsr_table *table, tsr_table_info *info) {
  *info = {};
  info->backend = faulty.is_cuda ? "cuda" : "cpu";
  info->device = "Model 1, \"large\"";
  info->backend_reason = "";
  info->code = "";
  info->key_bits = 32;
  info->value_bits = faulty.value_bits;
  info->bytes = table->capacity * 10;
  info->bucket_bytes = faulty.bucket_bytes;
}

tsr_status tsr_spec_resolve(const tsr_spec *, const tsr_options *, tsr_resolution *resolution, tsr_error *) {
  *resolution = {};
  resolution->text = strdup("table.kind=map layout.width=8");
  return TSR_OK;
}

const char *tsr_version(void) { return "0.0.0"; }

const char *tsr_compiler(const char *) { return "a compiler -O1"; }

tsr_status tsr_plugins_list(const char *, const tsr_plugin_info **, size_t *, tsr_error *error) {
  return tsr_fail(error, TSR_NOT_FOUND, "there are no plugins");
}

void tsr_plugins_free(const tsr_plugin_info *, size_t) {}

void tsr_resolution_free(tsr_resolution *resolution) { free(resolution->text); }

tsr_status tsr_spec_prepare(const tsr_spec *, const tsr_options *, uint32_t, uint32_t calls, tsr_code_cost *,
                            tsr_error *) {
  faulty.prepared |= calls;
  return TSR_OK;
}

static bool has_wrong_code(uint64_t i) { return i == 5 && faulty.fault == Fault::WRONG_CODE; }

static void put(tsr_table *table, uint32_t key, uint64_t value) {
  std::vector<uint64_t> &values = table->pairs[key];
  if (!table->keeps_all) values.clear();
  values.push_back(value);
}

tsr_status tsr_insert(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                      tsr_error *error) {
  note(table, "insert");
  faulty.called |= TSR_PREPARE_INSERT;
  if (faulty.fault == Fault::INSERT_FAILS) return tsr_fail(error, TSR_DEVICE_FAILED, "the insert failed");
  for (uint64_t i = 0; i < n; i++) {
    uint32_t key = static_cast<const uint32_t *>(keys)[i];
    const bool hides = faulty.fault == Fault::HIDES_A_KEY || faulty.fault == Fault::BACK_AND_HIDDEN;
    const bool hands_back = faulty.fault == Fault::HANDS_BACK || faulty.fault == Fault::BACK_AND_HIDDEN;
    bool is_back = hands_back && i % 100 == 7;
    bool is_lost = faulty.fault == Fault::LOSES_A_KEY && i == 3, is_hidden = hides && i == 3;
    bool is_new = table->keeps_all || !table->pairs.count(key);
    if (!is_back && !is_lost && !is_hidden) put(table, key, fetch(values, i));
    table->report.inserted += is_new && !is_back && !is_lost;
    table->report.not_placed += is_back;
    if (call && call->results)
      call->results[i] = is_back             ? TSR_NOT_PLACED
                         : has_wrong_code(i) ? TSR_PRESENT
                         : is_new            ? TSR_INSERTED
                                             : TSR_REPLACED;
    if (call && call->unplaced_keys && is_back) static_cast<uint32_t *>(call->unplaced_keys)[i] = key;
  }
  table->report.insert_keys += n;
  table->report.insert_probes += table->statistics ? 2 * n : 0;
  return TSR_OK;
}

// The answer for one key, and whether it is there.
static bool look(tsr_table *table, const void *keys, uint64_t i, uint64_t *value) {
  auto found = table->pairs.find(static_cast<const uint32_t *>(keys)[i]);
  bool is_there = found != table->pairs.end();
  if (is_there) *value = found->second[0];
  if (i == 5 && faulty.fault == Fault::FINDS_TOO_MUCH) return true;
  table->report.found += is_there && !(i == 5 && faulty.fault == Fault::MISCOUNTS_FOUND);
  return is_there;
}

static tsr_status begin_find(tsr_table *table, uint64_t n, tsr_error *error) {
  note(table, "find");
  if (faulty.fault == Fault::FIND_FAILS) return tsr_fail(error, TSR_DEVICE_FAILED, "the find failed");
  table->report.find_keys += n;
  table->report.find_probes += table->statistics ? 3 * n : 0;
  faulty.finds++;
  return TSR_OK;
}

tsr_status tsr_find(tsr_table *table, uint64_t n, const void *keys, void *values, const tsr_call *call,
                    tsr_error *error) {
  faulty.called |= TSR_PREPARE_FIND;
  tsr_status status = begin_find(table, n, error);
  bool is_wrong = faulty.fault == Fault::WRONG_VALUE || (faulty.fault == Fault::ONLY_ONCE && faulty.finds == 2);
  for (uint64_t i = 0; status == TSR_OK && i < n; i++) {
    uint64_t value = 0;
    bool is_there = look(table, keys, i, &value);
    if (!is_there) value = call->missing;
    if (call->results) call->results[i] = is_there != has_wrong_code(i) ? TSR_FOUND : TSR_MISSING;
    if (faulty.fault != Fault::FINDS_NOTHING_NEW) store(values, i, is_wrong && i == 5 ? value + 1 : value);
  }
  return status;
}

tsr_status tsr_find_or_insert(tsr_table *table, uint64_t n, const void *keys, const void *values, void *out,
                              const tsr_call *call, tsr_error *error) {
  note(table, "find_or_insert");
  if (faulty.fault == Fault::INSERT_FAILS) return tsr_fail(error, TSR_DEVICE_FAILED, "the insert failed");
  for (uint64_t i = 0; i < n; i++) {
    const uint32_t key = static_cast<const uint32_t *>(keys)[i];
    const bool is_new = !table->pairs.count(key);
    if (is_new) put(table, key, fetch(values, i));
    table->report.inserted += is_new;
    call->results[i] = is_new ? TSR_INSERTED : has_wrong_code(i) ? TSR_REPLACED : TSR_FOUND;
    const bool is_wrong = i == 5 && faulty.fault == Fault::WRONG_VALUE; // no value of that key, however often it comes
    store(out, i, is_wrong ? ~table->pairs[key][0] : table->pairs[key][0]);
  }
  return TSR_OK;
}

tsr_status tsr_contains(tsr_table *table, uint64_t n, const void *keys, uint8_t *present, const tsr_call *,
                        tsr_error *error) {
  faulty.called |= TSR_PREPARE_CONTAINS;
  tsr_status status = begin_find(table, n, error);
  for (uint64_t i = 0; status == TSR_OK && i < n; i++) {
    uint64_t value;
    bool is_there = look(table, keys, i, &value);
    if (faulty.fault != Fault::FINDS_NOTHING_NEW) present[i] = is_there;
  }
  return status;
}

// The values of a key; short of one, if told to.
static std::vector<uint64_t> list(tsr_table *table, const void *keys, uint64_t i) {
  uint64_t value;
  if (!look(table, keys, i, &value)) return {};
  std::vector<uint64_t> values = table->pairs[static_cast<const uint32_t *>(keys)[i]];
  if (i == 5 && faulty.fault == Fault::SHORTENS_A_LIST) values.pop_back();
  if (i == 5 && faulty.fault == Fault::REPEATS_A_VALUE) values[0] = values[1];
  if (i == 5 && faulty.fault == Fault::WRONG_VALUE) values[1] += 1000;
  return values;
}

tsr_status tsr_count_all(tsr_table *table, uint64_t n, const void *keys, uint64_t *counts, const tsr_call *,
                         tsr_error *error) {
  faulty.called |= TSR_PREPARE_COUNT_ALL;
  tsr_status status = begin_find(table, n, error);
  for (uint64_t i = 0; status == TSR_OK && i < n; i++) {
    uint64_t count = list(table, keys, i).size();
    if (faulty.fault != Fault::FINDS_NOTHING_NEW) counts[i] = count;
  }
  return status;
}

tsr_status tsr_find_all(tsr_table *table, uint64_t n, const void *keys, uint64_t *offsets, uint64_t room, void *values,
                        const tsr_call *, tsr_error *error) {
  faulty.called |= TSR_PREPARE_FIND_ALL;
  tsr_status status = begin_find(table, n, error);
  uint64_t at = faulty.fault == Fault::SHIFTS_LISTS;
  if (status || faulty.fault == Fault::FINDS_NOTHING_NEW) return status;
  for (uint64_t i = 0; i < n; i++) {
    offsets[i] = at;
    for (uint64_t value : list(table, keys, i)) {
      if (at < room) store(values, at, value);
      at++;
    }
  }
  offsets[n] = at;
  return TSR_OK;
}

static uint64_t size_of(const tsr_table *table) {
  uint64_t size = 0;
  for (auto &[key, values] : table->pairs) size += values.size();
  return size;
}

tsr_status tsr_join(tsr_table *left, tsr_table *, uint32_t, const tsr_join_rows *, uint64_t *count, tsr_error *) {
  if (faulty.fault != Fault::FINDS_NOTHING_NEW) *count = size_of(left) - (faulty.fault == Fault::SHORTENS_A_LIST);
  return TSR_OK;
}

// It numbers no keys: rivals.cc has what is wrong there.
static tsr_status has_no_numbers(tsr_error *error) {
  return tsr_fail(error, TSR_UNSUPPORTED, "the stand-in is no index");
}
tsr_status tsr_number(tsr_table *, uint64_t, const void *, uint32_t *, const tsr_call *, tsr_error *error) {
  return has_no_numbers(error);
}
tsr_status tsr_numbers_given(tsr_table *, uint64_t *, tsr_error *error) { return has_no_numbers(error); }
tsr_status tsr_keys_by_number(tsr_table *, uint32_t, uint64_t, void *, const tsr_call *, tsr_error *error) {
  return has_no_numbers(error);
}
tsr_status tsr_unique(tsr_table *, uint64_t, const void *, const tsr_unique_arrays *, uint64_t *, tsr_error *error) {
  return has_no_numbers(error);
}

tsr_status tsr_erase(tsr_table *table, uint64_t n, const void *keys, const tsr_call *call, tsr_error *error) {
  note(table, "erase");
  faulty.called |= TSR_PREPARE_ERASE;
  if (faulty.fault == Fault::ERASE_FAILS) return tsr_fail(error, TSR_DEVICE_FAILED, "the erase failed");
  const uint64_t before = size_of(table);
  for (uint64_t i = faulty.fault == Fault::KEEPS_A_KEY; i < n; i++) {
    bool is_there = table->pairs.erase(static_cast<const uint32_t *>(keys)[i]) > 0;
    if (call && call->results) call->results[i] = is_there != has_wrong_code(i) ? TSR_ERASED : TSR_MISSING;
  }
  table->report.erased += before - size_of(table);
  table->report.erase_keys += n;
  table->report.erase_probes += table->statistics ? 4 * n : 0;
  return TSR_OK;
}

// The first item of each kind is the one that goes wrong.
tsr_status tsr_apply(tsr_table *table, uint64_t n, const uint8_t *operations, const void *keys, const void *values,
                     void *values_out, const tsr_call *call, tsr_error *error) {
  note(table, "apply");
  faulty.called |= TSR_PREPARE_APPLY;
  if (faulty.fault == Fault::APPLY_FAILS) return tsr_fail(error, TSR_DEVICE_FAILED, "the batch failed");
  uint64_t seen[4] = {}; // of finds: those of present keys
  for (uint64_t i = 0; i < n; i++) {
    uint32_t key = static_cast<const uint32_t *>(keys)[i];
    auto found = table->pairs.find(key);
    bool is_there = found != table->pairs.end(), counts = operations[i] != TSR_OP_FIND || is_there;
    bool is_first = counts && seen[operations[i]]++ == 0;
    uint64_t value = is_there ? found->second[0] : call->missing;
    uint8_t code = 0;
    switch (operations[i]) {
    case TSR_OP_INSERT:
      if (!is_first || faulty.fault != Fault::FORGETS_AN_INSERT) put(table, key, fetch(values, i));
      table->report.insert_keys++;
      table->report.inserted++;
      code = TSR_INSERTED;
      break;
    case TSR_OP_ERASE:
      if (!is_first || faulty.fault != Fault::FORGETS_AN_ERASE) table->pairs.erase(key);
      table->report.erase_keys++;
      table->report.erased += is_there;
      code = is_there ? TSR_ERASED : TSR_MISSING;
      break;
    default:
      table->report.find_keys++;
      table->report.found += is_there && !(is_first && faulty.fault == Fault::MISCOUNTS_FOUND);
      code = is_there ? TSR_FOUND : TSR_MISSING;
      if (faulty.fault == Fault::FINDS_NOTHING_NEW || faulty.value_bits == 0) break;
      store(values_out, i, is_first && faulty.fault == Fault::WRONG_VALUE ? value + 1 : value);
    }
    if (faulty.fault == Fault::FINDS_NOTHING_NEW || !call->results) continue;
    call->results[i] = i == 5 && faulty.fault == Fault::WRONG_RESULT ? static_cast<uint8_t>(TSR_PRESENT) : code;
  }
  table->report.apply_probes += table->statistics ? 5 * n : 0;
  return TSR_OK;
}

tsr_status tsr_clear(tsr_table *table, void *, tsr_error *) {
  note(table, "clear");
  if (faulty.fault != Fault::KEEPS_ALL) table->pairs.clear();
  return TSR_OK;
}

tsr_status tsr_rehash(tsr_table *table, const tsr_rehash_options *options, tsr_error *error) {
  if (!table->pairs.empty() || std::string(tsr_spec_get(options->spec, "table", "growth")) != "double")
    return tsr_fail(error, TSR_BAD_ARGUMENT, "only an empty table is made small, to grow");
  return TSR_OK; /* it is as large as it will be */
}

const tsr_spec *tsr_table_spec(const tsr_table *table) { return table->spec; }

tsr_status tsr_size(tsr_table *table, uint64_t *size, tsr_error *) {
  faulty.called |= TSR_PREPARE_SIZE;
  *size = size_of(table);
  return TSR_OK;
}

tsr_status tsr_table_wait(tsr_table *, tsr_error *) { return TSR_OK; }

tsr_status tsr_table_prepare(tsr_table *, uint32_t, tsr_error *) { return TSR_OK; }

tsr_status tsr_filter_describe(tsr_table *, tsr_filter_info *, tsr_error *error) {
  return tsr_fail(error, TSR_UNSUPPORTED, "no table here is a filter");
}

tsr_status tsr_table_usage(tsr_table *table, tsr_usage *usage, tsr_error *) {
  *usage = {};
  usage->utilization = static_cast<double>(size_of(table)) / static_cast<double>(2 * table->capacity);
  return TSR_OK;
}

tsr_status tsr_table_report(tsr_table *table, tsr_report *report, tsr_error *) {
  *report = table->report;
  return TSR_OK;
}

tsr_status tsr_table_report_reset(tsr_table *table, tsr_error *) {
  table->report = {};
  return TSR_OK;
}

tsr_status tsr_memory_allocate(tsr_table *, uint64_t bytes, void **memory, tsr_error *error) {
  if (faulty.fault == Fault::NO_MEMORY && faulty.memories == 2) return tsr_fail(error, TSR_NO_MEMORY, "memory is full");
  *memory = malloc(bytes);
  faulty.memories++;
  return TSR_OK;
}

tsr_status tsr_memory_allocate_on(tsr_table *table, uint32_t, uint64_t bytes, void **memory, tsr_error *error) {
  return tsr_memory_allocate(table, bytes, memory, error);
}

tsr_status tsr_call_parts(tsr_table *table, uint32_t call, uint32_t count, const tsr_batch_part *parts,
                          tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) {
    const tsr_batch_part &p = parts[i];
    if (call == TSR_PREPARE_INSERT)
      status = tsr_insert(table, p.n, p.keys, p.values, p.call, error);
    else if (call == TSR_PREPARE_FIND)
      status = tsr_find(table, p.n, p.keys, p.found, p.call, error);
    else
      status = tsr_contains(table, p.n, p.keys, p.present, p.call, error);
  }
  return status;
}

tsr_status tsr_phases_start(tsr_table *, tsr_error *) { return TSR_OK; }
tsr_status tsr_phases_stop(tsr_table *, tsr_phases *phases, tsr_error *) {
  *phases = {};
  return TSR_OK;
}

// There are no other processes.
tsr_status tsr_group_create_by(const char *transport, const void *, const tsr_group_options *, tsr_group **,
                               tsr_error *error) {
  return tsr_fail(error, TSR_NOT_FOUND, "there is no transport %s here", transport);
}
tsr_status tsr_group_describe(const tsr_group *, uint32_t *, uint32_t *, tsr_error *) { abort(); }
tsr_status tsr_group_add_up(tsr_group *, uint32_t, uint64_t *, tsr_error *) { abort(); }
tsr_status tsr_group_table_create(tsr_group *, const tsr_spec *, const tsr_options *, tsr_table **, tsr_error *) {
  abort();
}
void tsr_group_destroy(tsr_group *) {}

void tsr_memory_free(tsr_table *, void *memory) {
  if (memory) faulty.memories--;
  free(memory);
}

tsr_status tsr_memory_copy(tsr_table *, void *to, const void *from, uint64_t bytes, tsr_error *) {
  memcpy(to, from, bytes);
  return TSR_OK;
}

tsr_status tsr_timer_start(tsr_table *table, void *, tsr_error *) {
  table->is_timed = true;
  return TSR_OK;
}

tsr_status tsr_timer_stop(tsr_table *table, void *, double *milliseconds, tsr_error *) {
  table->is_timed = false;
  *milliseconds = table->name == "a" ? 1 : 2;
  const char *batch = tsr_spec_get(table->spec, "table", "page_batch");
  if (batch && !strcmp(batch, "0")) *milliseconds *= 0.8; // by random access
  if (faulty.milliseconds.empty()) return TSR_OK;
  *milliseconds = faulty.milliseconds.back();
  faulty.milliseconds.pop_back();
  return TSR_OK;
}

tsr_status tsr_device_describe(int, tsr_device_info *, tsr_error *error) {
  return tsr_fail(error, TSR_NO_DEVICE, "no driver");
}

tsr_status tsr_roofline(int, uint64_t footprint_bytes, tsr_roofline_row **rows, size_t *count, tsr_error *error) {
  faulty.footprints.push_back(footprint_bytes);
  if (faulty.fault == Fault::NO_LIMITS) return tsr_fail(error, TSR_NO_MEMORY, "no room to measure");
  const tsr_roofline_row all[] = {{"read", 128, 8, footprint_bytes, 0.1}, {"read", 64, 8, footprint_bytes, 0.005},
                                  {"read", 64, 1, footprint_bytes, 0.02}, {"read", 32, 1, footprint_bytes, 0.04},
                                  {"cas", 8, 1, footprint_bytes, 0.016},  {"read+cas", 32, 1, footprint_bytes, 0.01},
                                  {"copy", 32, 1, footprint_bytes, 4000}};
  *rows = static_cast<tsr_roofline_row *>(malloc(sizeof all));
  memcpy(*rows, all, sizeof all);
  *count = sizeof all / sizeof all[0];
  return TSR_OK;
}

// Takes 1 ms for an operation, malloc 4 ms; looks at two memory blocks for an allocation.
struct tsr_pool {
  std::string name;
  tsr_pool_options options;
};

tsr_status tsr_pool_create(const tsr_spec *spec, const tsr_pool_options *options, tsr_pool **pool, tsr_error *) {
  *pool = new tsr_pool{tsr_spec_get(spec, "table", "layout"), *options};
  faulty.pools++;
  return TSR_OK;
}

void tsr_pool_destroy(tsr_pool *pool) {
  if (pool) faulty.pools--;
  delete pool;
}

void tsr_pool_describe(const tsr_pool *pool, tsr_pool_info *info) {
  *info = {};
  info->backend = "cpu";
  info->device = "Model 1";
  info->items = pool->options.items;
}

tsr_status tsr_pool_operate(tsr_pool *pool, int operation, bool checks, tsr_pool_result *result, tsr_error *error) {
  const uint64_t items = pool->options.items;
  *result = {};
  if (faulty.fault == Fault::POOL_FAILS) return tsr_fail(error, TSR_DEVICE_FAILED, "the pool failed");
  result->milliseconds = checks ? 100 : pool->options.system ? 4 : 1; // a turn that checks must not be timed
  uint64_t all = operation == TSR_POOL_CHURN ? items * TSR_POOL_ROUNDS : items;
  uint64_t done = faulty.fault == Fault::POOL_EXHAUSTED ? 9000 : all;
  if (operation == TSR_POOL_RELEASE) {
    result->released = done;
  } else {
    result->allocated = done;
    result->exhausted = all - done;
    result->changes = all;
  }
  if (faulty.fault == Fault::POOL_OVERLAPS && !pool->options.system) strcpy(result->complaint, "2 places overlap");
  return TSR_OK;
}

tsr_status tsr_pool_clear(tsr_pool *, tsr_error *) { return TSR_OK; }
