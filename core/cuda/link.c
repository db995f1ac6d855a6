/* SPDX-License-Identifier: Apache-2.0
 *
 * Link-time composition (link.h) by NVRTC and nvJitLink, loaded when first needed.
 */
#define _GNU_SOURCE /* clock_gettime, secure_getenv */
#include "core/cuda/link.h"

#include <dlfcn.h>
#ifndef TSR_PTHREADS
#include <omp.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/compose/cache.h"
#include "core/compose/glue.h"
#include "core/compose/registry.h"
#include "core/cuda/library.h"
#include "core/cuda/linked.h"

/* ---- The toolkit's libraries ----------------------------------------------------------------- */

typedef struct nvrtc_program_s *nvrtc_program;
typedef struct jitlink_handle_s *jitlink_handle;
enum { JITLINK_LTOIR = 3, JITLINK_FATBIN = 4 };

/* F(member, symbol, parameters) */
#define NVRTC_FUNCTIONS(F)                                                                                             \
  F(version, nvrtcVersion, (int *major, int *minor))                                                                   \
  F(create, nvrtcCreateProgram,                                                                                        \
    (nvrtc_program * program, const char *source, const char *name, int headers, const char *const *texts,             \
     const char *const *names))                                                                                        \
  F(compile, nvrtcCompileProgram, (nvrtc_program program, int count, const char *const *options))                      \
  F(log_size, nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))                                         \
  F(log, nvrtcGetProgramLog, (nvrtc_program program, char *log))                                                       \
  F(lto_size, nvrtcGetLTOIRSize, (nvrtc_program program, size_t * bytes))                                              \
  F(lto, nvrtcGetLTOIR, (nvrtc_program program, char *code))                                                           \
  F(destroy, nvrtcDestroyProgram, (nvrtc_program * program))
#define JITLINK_FUNCTIONS(F)                                                                                           \
  F(version, nvJitLinkVersion, (unsigned *major, unsigned *minor))                                                     \
  F(create, nvJitLinkCreate, (jitlink_handle * handle, uint32_t count, const char **options))                          \
  F(add, nvJitLinkAddData, (jitlink_handle handle, int type, const void *data, size_t bytes, const char *name))        \
  F(complete, nvJitLinkComplete, (jitlink_handle handle))                                                              \
  F(cubin_size, nvJitLinkGetLinkedCubinSize, (jitlink_handle handle, size_t * bytes))                                  \
  F(cubin, nvJitLinkGetLinkedCubin, (jitlink_handle handle, void *cubin))                                              \
  F(error_size, nvJitLinkGetErrorLogSize, (jitlink_handle handle, size_t * bytes))                                     \
  F(error, nvJitLinkGetErrorLog, (jitlink_handle handle, char *log))                                                   \
  F(destroy, nvJitLinkDestroy, (jitlink_handle * handle))

#define MEMBER(name, symbol, parameters) int(*name) parameters;
static struct { NVRTC_FUNCTIONS(MEMBER) } nvrtc;
static struct { JITLINK_FUNCTIONS(MEMBER) } jitlink;
static tsr_error toolkit_error;
static atomic_bool is_loaded;
static pthread_once_t toolkit_once = PTHREAD_ONCE_INIT;

static void *open_library(const char *name) {
  void *library = tsr_cuda_library(name, "13");
  if (!library)
    tsr_fail(
        &toolkit_error, TSR_NOT_FOUND,
        "%s of the CUDA toolkit 13 is not on the loader's path, nor under CUDA_PATH, CUDA_HOME or /usr/local/cuda, nor "
        "in pip's packages (pip install nvidia-cuda-nvrtc nvidia-nvjitlink)",
        name);
  return library;
}

static void load_toolkit(void) {
  void *compiler = open_library("libnvrtc.so");
  void *linker = compiler ? open_library("libnvJitLink.so") : NULL;
  if (!linker) return;
  const char *missing = NULL;
#define LOAD_NVRTC(name, symbol, parameters)                                                                           \
  if (!tsr_cuda_symbol(compiler, #symbol, &nvrtc.name, sizeof nvrtc.name)) missing = #symbol;
#define LOAD_JITLINK(name, symbol, parameters)                                                                         \
  if (!tsr_cuda_symbol(linker, #symbol, &jitlink.name, sizeof jitlink.name)) missing = #symbol;
  NVRTC_FUNCTIONS(LOAD_NVRTC)
  JITLINK_FUNCTIONS(LOAD_JITLINK)
  if (missing) {
    tsr_fail(&toolkit_error, TSR_NOT_FOUND, "the CUDA toolkit has no %s: 13.0 or newer is needed", missing);
    return;
  }
  int compiler_major = 0, compiler_minor = 0;
  unsigned linker_major = 0, linker_minor = 0;
  nvrtc.version(&compiler_major, &compiler_minor);
  jitlink.version(&linker_major, &linker_minor);
  if ((unsigned)compiler_major != linker_major || (unsigned)compiler_minor > linker_minor)
    tsr_fail(
        &toolkit_error, TSR_NOT_FOUND,
        "NVRTC is of CUDA %d.%d and nvJitLink of %u.%u: they must be of one release; point CUDA_PATH to one toolkit",
        compiler_major, compiler_minor, linker_major, linker_minor);
  is_loaded = toolkit_error.status == TSR_OK;
}

static tsr_status need_toolkit(tsr_error *error) {
  pthread_once(&toolkit_once, load_toolkit);
  if (toolkit_error.status && error) *error = toolkit_error;
  return toolkit_error.status;
}

extern const tsr_image tsr_bulk_images[]; /* built by core/BUILD from kernels/launch.cu; only its end without nvcc */

tsr_status tsr_cuda_no_code(tsr_error *error) {
  return tsr_fail(error, TSR_NO_DEVICE, "this copy of Tessera was built without nvcc and carries no device code");
}

tsr_status tsr_cuda_linker(tsr_error *error) {
  if (!tsr_bulk_images[0].device) return tsr_cuda_no_code(error);
  return need_toolkit(error);
}

tsr_status tsr_cuda_has_code(tsr_error *error) {
  return tsr_bulk_images[0].device && tsr_linked_is_there() ? TSR_OK : tsr_cuda_linker(error);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* ---- Glue ------------------------------------------------------------------------------------ */

enum { MODULES_MAX = 6 + TSR_KERNEL_TABLES_MAX + 1, HEADERS_MAX = 64 };

/* Beside the architecture. --minimal leaves out the declarations of textures and of the runtime, and so a fifth of
 * NVRTC's time. */
static const char *const glue_options[] = {"-dlto", "-rdc=true", "--std=c++17", "--device-int128", "--minimal"};
enum { GLUE_OPTIONS = sizeof glue_options / sizeof glue_options[0] };

/* What headers take from the system's: NVRTC has no file system. */
static const tsr_header system_headers[] = {
    {"stdint.h", "typedef signed char int8_t;\ntypedef short int16_t;\ntypedef int int32_t;\ntypedef long int64_t;\n"
                 "typedef unsigned char uint8_t;\ntypedef unsigned short uint16_t;\ntypedef unsigned int uint32_t;\n"
                 "typedef unsigned long uint64_t;\n"},
    {"stdbool.h", ""},
    {"stddef.h", "#ifndef NULL\n#define NULL 0\n#endif\n"},
    {NULL, NULL}};

typedef struct glue_module {
  const char *name;    /* in messages */
  const char *variant; /* a user's kernel: an option that makes it roomier, or NULL */
  char *text;
  char *code; /* LTO-IR */
  size_t code_bytes;
} glue_module;

/* Several links may use one at a time: what is compiled for the first of them serves all. */
typedef struct glue {
  pthread_mutex_t guard; /* of the modules' code */
  size_t count;
  glue_module modules[MODULES_MAX];
} glue;

static const glue no_glue = {.guard = PTHREAD_MUTEX_INITIALIZER};

static void glue_free(glue *g) {
  for (size_t i = 0; i < g->count; i++) {
    free(g->modules[i].text);
    free(g->modules[i].code);
  }
}

static tsr_status glue_write(glue *g, const tsr_composition *const *tables, size_t count, tsr_error *error) {
  g->count = tsr_glue_modules(tables, count);
  for (size_t i = 0; i < g->count; i++) {
    g->modules[i].name = "the generated glue module";
    g->modules[i].text = tsr_glue_text(tables, count, i);
    if (!g->modules[i].text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the glue module");
  }
  return TSR_OK;
}

/* An error is one sentence on one line; what is too long for it is cut off. */
static const char *one_line(char *log) {
  if (!log || !*log) return "it left no log";
  for (char *at = log; *at; at++)
    if (*at == '\n') *at = ' ';
  return log;
}

static tsr_status glue_fail(nvrtc_program program, const char *name, tsr_error *error) {
  size_t bytes = 0;
  char *log = nvrtc.log_size(program, &bytes) == 0 ? calloc(1, bytes + 1) : NULL;
  if (log && nvrtc.log(program, log) != 0) *log = 0;
  tsr_status status = tsr_fail(error, TSR_LINK_FAILED, "NVRTC refused %s: %s", name, one_line(log));
  free(log);
  return status;
}

static tsr_status glue_compile(glue_module *module, uint32_t sm, tsr_error *error) {
  const char *names[HEADERS_MAX], *texts[HEADERS_MAX];
  static const tsr_header *const lists[] = {system_headers, tsr_sdk_headers, tsr_operation_headers};
  int headers = 0;
  for (size_t list = 0; list < 3; list++)
    for (const tsr_header *header = lists[list]; header->name && headers < HEADERS_MAX; header++) {
      names[headers] = header->name;
      texts[headers++] = header->text;
    }
  char arch[32];
  const char *options[GLUE_OPTIONS + 2] = {arch};
  snprintf(arch, sizeof arch, "-arch=compute_%u", sm);
  memcpy(options + 1, glue_options, sizeof glue_options);
  options[GLUE_OPTIONS + 1] = module->variant;
  nvrtc_program program;
  if (nvrtc.create(&program, module->text, module->name, headers, texts, names) != 0)
    return tsr_fail(error, TSR_LINK_FAILED, "NVRTC cannot create a program");
  tsr_status status = TSR_OK;
  if (nvrtc.compile(program, GLUE_OPTIONS + 1 + (module->variant != NULL), options) != 0 ||
      nvrtc.lto_size(program, &module->code_bytes) != 0) {
    status = glue_fail(program, module->name, error);
  } else {
    module->code = malloc(module->code_bytes);
    if (!module->code)
      status = tsr_fail(error, TSR_NO_MEMORY, "no memory for the compiled glue module");
    else if (nvrtc.lto(program, module->code) != 0)
      status = glue_fail(program, module->name, error);
  }
  nvrtc.destroy(&program);
  return status;
}

static tsr_status glue_compile_all(glue *g, uint32_t sm, tsr_error *error) {
  tsr_status status = TSR_OK;
  pthread_mutex_lock(&g->guard);
  for (size_t i = 0; status == TSR_OK && i < g->count; i++)
    if (!g->modules[i].code) status = glue_compile(&g->modules[i], sm, error);
  pthread_mutex_unlock(&g->guard);
  return status;
}

/* ---- Linking --------------------------------------------------------------------------------- */

static tsr_status link_fail(jitlink_handle handle, const char *doing, const char *what, tsr_error *error) {
  size_t bytes = 0;
  unsigned major = 0, minor = 0;
  jitlink.version(&major, &minor);
  char *log = jitlink.error_size(handle, &bytes) == 0 ? calloc(1, bytes + 1) : NULL;
  if (log && jitlink.error(handle, log) != 0) *log = 0;
  const char *advice =
      strcmp(doing, "add") ? "" : " (what a newer toolkit has built needs that toolkit: point CUDA_PATH to it)";
  tsr_status status = tsr_fail(error, TSR_LINK_FAILED, "nvJitLink of CUDA %u.%u failed to %s %s%s: %s", major, minor,
                               doing, what, advice, one_line(log));
  free(log);
  return status;
}

/* Adds each image once, because the linker refuses a symbol that it has already, and tables may share parts. */
static tsr_status add_parts(jitlink_handle handle, const tsr_composition *const *tables, size_t count,
                            tsr_error *error) {
  for (size_t i = 0; i < count; i++)
    for (uint32_t role = 0; role < TSR_ROLES; role++) {
      const tsr_part *part = &tables[i]->part[role];
      if (!part->plugin) continue;
      bool added = false;
      for (size_t j = 0; j < i && !added; j++) added = tables[j]->part[role].image == part->image;
      if (added) continue;
      if (!part->image->device)
        return tsr_fail(error, TSR_NOT_FOUND, "%s was built without nvcc and carries no device code",
                        part->plugin->name);
      if (jitlink.add(handle, JITLINK_FATBIN, part->image->device, part->image->device_bytes, part->plugin->name) != 0)
        return link_fail(handle, "add", part->plugin->name, error);
    }
  return TSR_OK;
}

static tsr_status get_cubin(jitlink_handle handle, tsr_link *link, tsr_error *error) {
  if (jitlink.cubin_size(handle, &link->cubin_bytes) != 0) return link_fail(handle, "hand over", "the cubin", error);
  link->cubin = malloc(link->cubin_bytes);
  if (!link->cubin) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a cubin of %zu bytes", link->cubin_bytes);
  return jitlink.cubin(handle, link->cubin) == 0 ? TSR_OK : link_fail(handle, "hand over", "the cubin", error);
}

/* Beside the architecture and the kernels. */
static const char *const link_options[] = {"-lto", "-O3"};
enum { LINK_OPTIONS = sizeof link_options / sizeof link_options[0], KERNELS_MAX = 64, OPTION_BYTES = 128 };

/* names: of the variant of each kernel. */
static tsr_status fuse(const glue *g, const tsr_composition *const *tables, size_t count, const tsr_kernels *kernels,
                       const char *const *names, uint32_t sm, tsr_link *link, tsr_error *error) {
  char texts[KERNELS_MAX + 1][OPTION_BYTES];
  const char *options[KERNELS_MAX + LINK_OPTIONS + 1] = {texts[0]};
  snprintf(texts[0], OPTION_BYTES, "-arch=sm_%u", sm);
  memcpy(options + 1, link_options, sizeof link_options);
  for (size_t i = 0; i < kernels->count; i++) { /* an option for each, because nvJitLink ignores a list */
    snprintf(texts[i + 1], OPTION_BYTES, "-kernels-used=%s", names[i]);
    options[LINK_OPTIONS + 1 + i] = texts[i + 1];
  }
  jitlink_handle handle = NULL;
  if (jitlink.create(&handle, (uint32_t)kernels->count + LINK_OPTIONS + 1, options) != 0)
    return tsr_fail(error, TSR_LINK_FAILED, "nvJitLink knows no sm_%u", sm);
  tsr_status status = add_parts(handle, tables, count, error);
  for (size_t i = 0; status == TSR_OK && i < g->count; i++)
    if (jitlink.add(handle, JITLINK_LTOIR, g->modules[i].code, g->modules[i].code_bytes, "glue") != 0)
      status = link_fail(handle, "add", "the glue", error);
  if (status == TSR_OK && kernels->image &&
      jitlink.add(handle, JITLINK_FATBIN, kernels->image, kernels->image_bytes, "kernels") != 0)
    status = link_fail(handle, "add", "the kernels", error);
  if (status == TSR_OK && jitlink.complete(handle) != 0) status = link_fail(handle, "link", "them", error);
  if (status == TSR_OK) status = get_cubin(handle, link, error);
  jitlink.destroy(&handle);
  return status;
}

/* Five blocks of TSR_BLOCK_THREADS on a multiprocessor leave each thread 48 registers; of a kernel that takes up to eight
 * more, ptxas can often save those. */
enum { MEDIUM_REGISTERS = 48, SAVED_REGISTERS = 8 };

static char linker_line[256];
static pthread_once_t linker_line_once = PTHREAD_ONCE_INIT;

static void write_linker_line(void) {
  int compiler[2] = {0};
  unsigned linker[2] = {0};
  nvrtc.version(&compiler[0], &compiler[1]);
  jitlink.version(&linker[0], &linker[1]);
  FILE *out = fmemopen(linker_line, sizeof linker_line, "w");
  if (!out) return;
  fprintf(out, "NVRTC %d.%d", compiler[0], compiler[1]);
  for (int i = 0; i < GLUE_OPTIONS; i++) fprintf(out, " %s", glue_options[i]);
  fprintf(out, ", nvJitLink %u.%u", linker[0], linker[1]);
  for (int i = 0; i < LINK_OPTIONS; i++) fprintf(out, " %s", link_options[i]);
  fclose(out);
}

const char *tsr_cuda_linker_line(void) {
  if (need_toolkit(NULL)) return NULL;
  pthread_once(&linker_line_once, write_linker_line);
  return linker_line;
}

/* A hash of all that is linked, and how. has_operations: the headers of operations as well. */
static tsr_cache_key content_key(const glue *g, const tsr_composition *const *tables, size_t count,
                                 const tsr_kernels *kernels, bool has_operations) {
  const unsigned registers[] = {MEDIUM_REGISTERS, SAVED_REGISTERS};
  tsr_cache_key key = tsr_cache_key_start(tsr_sdk_abi);
  tsr_cache_key_add(&key, registers, sizeof registers);
  for (int i = 0; i < GLUE_OPTIONS; i++) tsr_cache_key_add(&key, glue_options[i], strlen(glue_options[i]));
  for (int i = 0; i < LINK_OPTIONS; i++) tsr_cache_key_add(&key, link_options[i], strlen(link_options[i]));
  for (size_t i = 0; i < g->count; i++) tsr_cache_key_add(&key, g->modules[i].text, strlen(g->modules[i].text));
  for (int i = 0; tsr_sdk_headers[i].name; i++)
    tsr_cache_key_add(&key, tsr_sdk_headers[i].text, strlen(tsr_sdk_headers[i].text));
  for (int i = 0; has_operations && tsr_operation_headers[i].name; i++)
    tsr_cache_key_add(&key, tsr_operation_headers[i].text, strlen(tsr_operation_headers[i].text));
  for (size_t i = 0; i < count; i++)
    for (uint32_t role = 0; role < TSR_ROLES; role++)
      if (tables[i]->part[role].image)
        tsr_cache_key_add(&key, tables[i]->part[role].image->device, tables[i]->part[role].image->device_bytes);
  for (size_t i = 0; i < kernels->count; i++)
    tsr_cache_key_add(&key, kernels->step[i].kernel, strlen(kernels->step[i].kernel));
  tsr_cache_key_add(&key, &kernels->keeps_wide, sizeof kernels->keeps_wide);
  tsr_cache_key_add(&key, kernels->image, kernels->image_bytes);
  return key;
}

/* That of code that is linked ahead: whoever has it needs no toolkit, so no version of one counts. */
static tsr_cache_key ahead_key(tsr_cache_key key, uint32_t sm) {
  const uint32_t architecture = tsr_linked_architecture(sm);
  tsr_cache_key_add(&key, &architecture, sizeof architecture);
  return key;
}

/* That of the user's cache. pre: the toolkit is loaded, whose version counts too. */
static tsr_cache_key cache_key(tsr_cache_key key, uint32_t sm) {
  int compiler[2] = {0};
  unsigned linker[2] = {0};
  nvrtc.version(&compiler[0], &compiler[1]);
  jitlink.version(&linker[0], &linker[1]);
  tsr_cache_key_add(&key, &sm, sizeof sm);
  tsr_cache_key_add(&key, compiler, sizeof compiler);
  tsr_cache_key_add(&key, linker, sizeof linker);
  return key;
}

/* Whether the compact variant would wait twice for a bucket (tsr_step.late_bytes). */
static bool waits_twice(const tsr_composition *const *tables, size_t count, const tsr_step *step) {
  if (count != 1 || !step->late_bytes) return false;
  const tsr_shape *shape = &tables[0]->shape;
  return shape->tile_lanes == 1 && shape->bucket_bytes == step->late_bytes;
}

static void first_variants(const tsr_kernels *kernels, const char **names) {
  for (size_t i = 0; i < kernels->count; i++) names[i] = kernels->step[i].kernel;
}

/* pre: the link has it, as tsr_cubin_inspect has seen. */
static const tsr_kernel_info *find_kernel(const tsr_link *link, const char *name) {
  const tsr_kernel_info *kernel = link->kernels;
  for (size_t i = 1; i < link->kernel_count && strcmp(kernel->name, name) != 0; i++) kernel = &link->kernels[i];
  return kernel;
}

/* The next variant of a kernel, linked by a thread of its own while the compact one is: about every other insert and find needs
 * it, and would take twice as long. Only where there are cores to spare. */
typedef struct spare {
  pthread_t thread;
  bool runs;
  const glue *g;
  const tsr_composition *const *tables;
  size_t count;
  const tsr_kernels *kernels;
  uint32_t sm;
  tsr_link link;
  tsr_status status;
} spare;

static bool has_idle_cores(void) {
#ifdef TSR_PTHREADS
  return false;
#else
  enum { CORES = 8 };
  return omp_get_max_threads() >= CORES;
#endif
}

static void *link_spare(void *argument) {
  spare *s = argument;
  s->status = fuse(s->g, s->tables, s->count, s->kernels, s->kernels->step->roomier, s->sm, &s->link, NULL);
  return NULL;
}

static void spare_begin(spare *s) {
  if (s->kernels->count == 1 && s->kernels->step->roomier[0] && has_idle_cores())
    s->runs = pthread_create(&s->thread, NULL, link_spare, s) == 0;
}

static void spare_end(spare *s) {
  if (s->runs) pthread_join(s->thread, NULL);
  s->runs = false;
  tsr_link_free(&s->link);
}

/* Links kernels of these names, or takes what the thread has linked. */
static tsr_status fuse_or_take(spare *s, const char *const *names, tsr_link *link, tsr_error *error) {
  if (s->runs && names[0] == s->kernels->step->roomier[0]) {
    pthread_join(s->thread, NULL);
    s->runs = false;
    if (s->status == TSR_OK) {
      *link = s->link;
      s->link = (tsr_link){.cubin = NULL};
      return TSR_OK;
    }
  }
  return fuse(s->g, s->tables, s->count, s->kernels, names, s->sm, link, error);
}

/* Links again kernels for which the compact variant is not the best. It mostly is, because more of its blocks fit on a
 * multiprocessor. But ptxas may spill a register or two to reach it, and a spill in a walk costs more than those
 * blocks gain. So a kernel that spills is linked again in the next variant. So is one that takes a few registers more
 * than five blocks leave it; where the next variant saves them without a spill it is kept, otherwise the compact one. A
 * kernel that waits twice takes the next variant at once. */
static tsr_status relink_roomier(spare *s, tsr_link *link, tsr_error *error) {
  const tsr_kernels *kernels = s->kernels;
  const char *names[KERNELS_MAX];
  bool spills[KERNELS_MAX] = {false}; /* the compact variant does */
  tsr_link compact = {0};
  tsr_status status = TSR_OK;
  first_variants(kernels, names);
  for (size_t variant = 0; status == TSR_OK && variant < TSR_ROOMIER_VARIANTS; variant++) {
    bool changed = false, is_compact = true;
    for (size_t i = 0; i < kernels->count; i++) {
      const char *const compact_name = kernels->step[i].kernel, *const roomier = kernels->step[i].roomier[variant];
      const tsr_kernel_info *kernel = find_kernel(link, names[i]);
      const bool is_wide = !kernels->keeps_wide && kernel->registers > MEDIUM_REGISTERS &&
                           kernel->registers <= MEDIUM_REGISTERS + SAVED_REGISTERS;
      if (variant == 0) spills[i] = kernel->stack_bytes > 0;
      if (roomier && (kernel->stack_bytes > 0 ||
                      (variant == 0 && (is_wide || waits_twice(s->tables, s->count, &kernels->step[i]))))) {
        names[i] = variant == 0 || spills[i] ? roomier : compact_name;
        changed = true;
      }
      is_compact &= names[i] == compact_name;
    }
    if (!changed) break;
    if (variant == 0) {
      compact = *link;
      memset(link, 0, sizeof *link);
    } else {
      tsr_link_free(link);
    }
    if (is_compact) { /* all better as they were */
      *link = compact;
      return TSR_OK;
    }
    status = fuse_or_take(s, names, link, error);
    if (status == TSR_OK) status = tsr_cubin_inspect(link, kernels, error);
  }
  tsr_link_free(&compact);
  return status;
}

static tsr_status link_anew(glue *g, const tsr_composition *const *tables, size_t count, const tsr_kernels *kernels,
                            uint32_t sm, tsr_link *link, tsr_error *error) {
  const char *names[KERNELS_MAX];
  double start = now_ms();
  if (kernels->count > KERNELS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%zu kernels in one link: at most %d", kernels->count, KERNELS_MAX);
  first_variants(kernels, names);
  tsr_status status = glue_compile_all(g, sm, error);
  double compiled = now_ms();
  spare next = {.g = g, .tables = tables, .count = count, .kernels = kernels, .sm = sm};
  if (status == TSR_OK) spare_begin(&next);
  if (status == TSR_OK) status = fuse(g, tables, count, kernels, names, sm, link, error);
  if (status == TSR_OK) status = tsr_cubin_inspect(link, kernels, error);
  if (status == TSR_OK) status = relink_roomier(&next, link, error);
  spare_end(&next);
  link->glue_ms = compiled - start;
  link->link_ms = now_ms() - compiled;
  return status;
}

static tsr_status check_target(uint32_t sm, tsr_error *error) {
  if (sm >= 80) return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED, "compute capability %u.%u: the parts' code is for 8.0 and newer", sm / 10,
                  sm % 10);
}

/* What this process has put into the cache, the last of it: a table that finds it there has waited for it
 * (tsr_ahead_begin). */
enum { OWN_KEYS = 256 };
static tsr_cache_key own_keys[OWN_KEYS];
static size_t own_count;
static pthread_mutex_t own_guard = PTHREAD_MUTEX_INITIALIZER;

static void note_own(const tsr_cache_key *key) {
  pthread_mutex_lock(&own_guard);
  own_keys[own_count++ % OWN_KEYS] = *key;
  pthread_mutex_unlock(&own_guard);
}

static bool is_own(const tsr_cache_key *key) {
  bool is = false;
  pthread_mutex_lock(&own_guard);
  for (size_t i = 0; i < own_count && i < OWN_KEYS && !is; i++) is = memcmp(&own_keys[i], key, sizeof *key) == 0;
  pthread_mutex_unlock(&own_guard);
  return is;
}

/* Whether it was linked ahead. */
static bool find_ahead(const tsr_cache_key *content, const tsr_kernels *kernels, uint32_t sm, tsr_link *made) {
  const tsr_cache_key key = ahead_key(*content, sm);
  made->ahead =
      tsr_linked_get(&key, &made->cubin, &made->cubin_bytes) && tsr_cubin_inspect(made, kernels, NULL) == TSR_OK;
  if (!made->ahead) tsr_link_free(made);
  return made->ahead;
}

/* Whether the cache has it. Otherwise it is locked, so that keep_link follows. */
static bool find_link(const tsr_cache_key *key, const tsr_kernels *kernels, tsr_link *made, tsr_cache_lock *lock) {
  made->cached = tsr_cache_get_or_lock(key, &made->cubin, &made->cubin_bytes, lock) &&
                 tsr_cubin_inspect(made, kernels, NULL) == TSR_OK;
  if (!made->cached) tsr_link_free(made);
  made->own = made->cached && is_own(key);
  return made->cached;
}

static void keep_link(const tsr_cache_key *key, bool keeps, const tsr_link *made, tsr_cache_lock *lock) {
  if (keeps && !made->cached) {
    tsr_cache_put(key, made->cubin, made->cubin_bytes);
    note_own(key);
  }
  tsr_cache_unlock(key, lock);
}

/* With glue that is written. */
static tsr_status link_with(glue *g, const tsr_composition *const *tables, size_t count, const tsr_kernels *kernels,
                            uint32_t sm, bool use_cache, tsr_link *link, tsr_error *error) {
  tsr_link made = {0};
  tsr_status status = check_target(sm, error);
  const tsr_cache_key content = content_key(g, tables, count, kernels, false);
  const bool is_ahead = status == TSR_OK && use_cache && find_ahead(&content, kernels, sm, &made);
  if (status == TSR_OK && !is_ahead) status = need_toolkit(error);
  if (status == TSR_OK && !is_ahead) {
    const tsr_cache_key key = cache_key(content, sm);
    tsr_cache_lock lock = {-1};
    if (!use_cache || !find_link(&key, kernels, &made, &lock))
      status = link_anew(g, tables, count, kernels, sm, &made, error);
    keep_link(&key, use_cache && status == TSR_OK, &made, &lock);
  }
  if (status)
    tsr_link_free(&made);
  else
    *link = made;
  return status;
}

tsr_status tsr_cuda_link(const tsr_composition *const *tables, size_t count, const tsr_kernels *kernels, uint32_t sm,
                         bool use_cache, tsr_link *link, tsr_error *error) {
  glue g = no_glue;
  tsr_status status = glue_write(&g, tables, count, error);
  if (status == TSR_OK) status = link_with(&g, tables, count, kernels, sm, use_cache, link, error);
  glue_free(&g);
  return status;
}

/* ---- Users' kernels -------------------------------------------------------------------------- */

static tsr_status add_module(glue *g, const char *name, char *text, tsr_error *error) {
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel's text");
  g->modules[g->count++] = (glue_module){.name = name, .text = text};
  return TSR_OK;
}

/* The glue, the functions of each table, and last the kernel, unless it was compiled before. */
static tsr_status user_write(glue *g, const tsr_user_code *code, const tsr_composition *const *tables,
                             tsr_error *error) {
  const char *file = code->source.file ? code->source.file : "the kernel's text";
  tsr_status status = glue_write(g, tables, code->facts.tables, error);
  for (size_t i = 0; status == TSR_OK && i < code->facts.tables; i++)
    status = add_module(g, "a table's functions", tsr_user_table_text(code, i), error);
  return status || code->source.image ? status : add_module(g, file, strdup(code->source.text), error);
}

/* Links the kernel in one of its variants; NULL is the compact one. */
static tsr_status link_variant(glue *g, const tsr_user_code *code, const tsr_composition *const *tables,
                               const tsr_kernels *kernels, const char *variant, uint32_t sm, tsr_link *link,
                               tsr_error *error) {
  glue_module *kernel = &g->modules[g->count - 1];
  if (variant) {
    free(kernel->code);
    kernel->code = NULL;
    kernel->variant = variant;
  }
  tsr_status status = link_anew(g, tables, code->facts.tables, kernels, sm, link, error);
  if (status) tsr_user_explain(code, error);
  return status;
}

/* The variants that the bulk kernels have (relink_roomier), and the same choice between them. An image has one. */
static tsr_status user_link_anew(glue *g, const tsr_user_code *code, const tsr_composition *const *tables,
                                 const tsr_kernels *kernels, uint32_t sm, tsr_link *link, tsr_error *error) {
  static const char *const variants[] = {"-DTSR_KERNEL_BLOCKS=5", "-DTSR_KERNEL_BLOCKS=1"};
  tsr_status status = link_variant(g, code, tables, kernels, NULL, sm, link, error);
  for (size_t variant = 0; status == TSR_OK && !code->source.image && variant < 2; variant++) {
    const tsr_kernel_info *kernel = &link->kernels[0];
    const bool is_wide =
        kernel->registers > MEDIUM_REGISTERS && kernel->registers <= MEDIUM_REGISTERS + SAVED_REGISTERS;
    if (kernel->stack_bytes == 0 && (variant > 0 || !is_wide)) return TSR_OK;
    tsr_link other = {0};
    status = link_variant(g, code, tables, kernels, variants[variant], sm, &other, error);
    const bool is_better = status == TSR_OK && (kernel->stack_bytes > 0 || other.kernels[0].stack_bytes == 0);
    tsr_link_free(is_better ? link : &other);
    if (is_better) *link = other;
  }
  return status;
}

tsr_status tsr_cuda_link_user(const tsr_user_code *code, uint32_t sm, bool use_cache, tsr_link *link,
                              tsr_error *error) {
  const tsr_composition *tables[TSR_KERNEL_TABLES_MAX];
  const tsr_step step = {.kernel = code->facts.name};
  const tsr_kernels kernels = {&step, 1, code->source.image, code->source.image_bytes, true};
  glue g = no_glue;
  tsr_link made = {0};
  for (size_t i = 0; i < code->facts.tables; i++) tables[i] = &code->tables[i];
  tsr_status status = tsr_cuda_linker(error);
  if (status == TSR_OK) status = check_target(sm, error);
  if (status == TSR_OK) status = user_write(&g, code, tables, error);
  if (status == TSR_OK) {
    const tsr_cache_key key = cache_key(content_key(&g, tables, code->facts.tables, &kernels, true), sm);
    tsr_cache_lock lock = {-1};
    if (!use_cache || !find_link(&key, &kernels, &made, &lock))
      status = user_link_anew(&g, code, tables, &kernels, sm, &made, error);
    keep_link(&key, use_cache && status == TSR_OK, &made, &lock);
  }
  glue_free(&g);
  if (status)
    tsr_link_free(&made);
  else
    *link = made;
  return status;
}

void tsr_link_count(const tsr_link *link, tsr_code_counts *counts) {
  *(link->ahead ? &counts->ahead : link->cached && !link->own ? &counts->cached : &counts->made) += 1;
}

/* ---- The steps of a table -------------------------------------------------------------------- */

void tsr_link_free(tsr_link *link) {
  if (!link) return;
  free(link->kernels);
  free(link->cubin);
  link->cubin = NULL; /* member by member, because the caller's struct may be shorter than this library's */
  link->kernels = NULL;
  link->cubin_bytes = link->kernel_count = 0;
  link->other_functions = 0;
  link->glue_ms = link->link_ms = 0;
  link->cached = link->own = link->ahead = false;
}

tsr_status tsr_step_kernels(const tsr_step *step, uint32_t count, uint32_t key_bits, uint32_t payload_bits,
                            tsr_kernels *kernels, tsr_error *error) {
  for (const tsr_image *image = step->set->images; image->key_bits; image++) {
    const bool fits =
        image->key_bits == TSR_ANY_BITS || (image->key_bits == key_bits && image->payload_bits == payload_bits);
    if (!fits || !image->device) continue;
    *kernels = (tsr_kernels){step, count, image->device, image->device_bytes, step->set->is_ordered};
    return TSR_OK;
  }
  return tsr_cuda_no_code(error);
}

/* What a step is linked with: the table, or its pages in one of two ways. */
typedef struct target {
  tsr_composition ordered;
  const tsr_composition *table;
  glue g;
} target;

enum { TARGETS = 3 };

static size_t target_of(const tsr_step *step) { return step->set->is_ordered ? 1 + step->in_page : 0; }

/* The caller calls glue_free, on failure too. */
static tsr_status target_write(const tsr_composition *table, const tsr_step *step, target *to, tsr_error *error) {
  if (to->table) return TSR_OK;
  to->g = no_glue;
  to->ordered = tsr_composition_of_pages(table, step->in_page);
  to->table = step->set->is_ordered ? &to->ordered : table;
  return glue_write(&to->g, &to->table, 1, error);
}

static tsr_status link_step(target *with, const tsr_step *step, bool use_cache, tsr_link *link, tsr_error *error) {
  const tsr_shape *shape = &with->table->shape;
  tsr_kernels kernels;
  tsr_status status = tsr_step_kernels(step, 1, shape->key_bits, shape->payload_bits, &kernels, error);
  return status ? status : link_with(&with->g, &with->table, 1, &kernels, shape->sm, use_cache, link, error);
}

/* Returns the first failure, and its error. */
static tsr_status link_side_by_side(target *targets, const tsr_step *const *steps, size_t count, bool use_cache,
                                    tsr_link *links, tsr_error *error) {
  tsr_error errors[TSR_LINKS_MAX];
  tsr_status status[TSR_LINKS_MAX], first = TSR_OK;
#ifndef TSR_PTHREADS
  const int most = omp_get_max_threads(), threads = count < (size_t)most ? (int)count : most;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads ? threads : 1)
#endif
  for (size_t i = 0; i < count; i++)
    status[i] = link_step(&targets[target_of(steps[i])], steps[i], use_cache, &links[i], &errors[i]);
  for (size_t i = 0; i < count && !first; i++) {
    first = status[i];
    if (first && error) *error = errors[i];
  }
  return first;
}

tsr_status tsr_cuda_link_steps(const tsr_composition *table, const tsr_step *const *steps, size_t count, bool use_cache,
                               tsr_link *links, tsr_error *error) {
  if (count > TSR_LINKS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%zu links at a time: at most %d", count, (int)TSR_LINKS_MAX);
  target *targets = calloc(TARGETS, sizeof *targets);
  if (!targets) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the glue modules");
  tsr_status status = TSR_OK;
  for (size_t i = 0; i < count; i++) memset(&links[i], 0, sizeof links[i]);
  for (size_t i = 0; status == TSR_OK && i < count; i++)
    status = target_write(table, steps[i], &targets[target_of(steps[i])], error);
  if (status == TSR_OK) status = link_side_by_side(targets, steps, count, use_cache, links, error);
  for (size_t i = 0; status && i < count; i++) tsr_link_free(&links[i]);
  for (size_t i = 0; i < TARGETS; i++) glue_free(&targets[i].g);
  free(targets);
  return status;
}

tsr_status tsr_cuda_link_step(const tsr_composition *table, const tsr_step *step, bool use_cache, tsr_link *link,
                              tsr_error *error) {
  return tsr_cuda_link_steps(table, &step, 1, use_cache, link, error);
}

tsr_status tsr_cuda_ahead_key(const tsr_composition *table, const tsr_step *step, tsr_cache_key *key,
                              tsr_error *error) {
  const tsr_shape *shape = &table->shape;
  tsr_kernels kernels;
  target with = {.table = NULL};
  tsr_status status = tsr_step_kernels(step, 1, shape->key_bits, shape->payload_bits, &kernels, error);
  if (status == TSR_OK) status = target_write(table, step, &with, error);
  if (status == TSR_OK) *key = ahead_key(content_key(&with.g, &with.table, 1, &kernels, false), shape->sm);
  glue_free(&with.g);
  return status;
}

tsr_status tsr_cuda_can_make(const tsr_composition *table, const tsr_step *step, tsr_error *error) {
  tsr_cache_key key;
  tsr_error why = {TSR_OK, ""};
  if (is_loaded) return TSR_OK;
  tsr_status status = tsr_cuda_ahead_key(table, step, &key, error);
  if (status || tsr_linked_has(&key) || need_toolkit(&why) == TSR_OK) return status;
  return tsr_fail(error, TSR_NO_DEVICE, "this table's code was not linked ahead, and %.900s", why.message);
}

/* ---- Sets of no table ------------------------------------------------------------------------ */

tsr_status tsr_cuda_link_set(const tsr_steps *set, uint32_t sm, bool use_cache, tsr_link *link, tsr_error *error) {
  const tsr_kernels all = {set->step, set->count, set->images->device, set->images->device_bytes, false};
  return all.image ? tsr_cuda_link(NULL, 0, &all, sm, use_cache, link, error) : tsr_cuda_no_code(error);
}

tsr_cache_key tsr_cuda_ahead_key_of_set(const tsr_steps *set, uint32_t sm) {
  const tsr_kernels all = {set->step, set->count, set->images->device, set->images->device_bytes, false};
  return ahead_key(content_key(&no_glue, NULL, 0, &all, false), sm);
}
