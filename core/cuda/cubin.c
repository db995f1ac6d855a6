/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a cubin's kernels (tsr_cubin_inspect in link.h). A cubin is an ELF file: kernels and functions are its
 * symbols, and section .nv.info holds their registers and frames. It may come from the cache, and so from a file
 * that somebody damaged; therefore each offset is checked before it is followed.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/cuda/link.h"

typedef struct cubin {
  const unsigned char *bytes;
  size_t size;
  const Elf64_Ehdr *head;
  const Elf64_Shdr *sections;
  const char *names; /* of sections */
  size_t names_size;
} cubin;

static const void *span(const cubin *c, uint64_t offset, uint64_t bytes) {
  return offset <= c->size && bytes <= c->size - offset ? c->bytes + offset : NULL;
}

static const char *string_at(const char *strings, size_t size, uint64_t offset) {
  return offset < size && memchr(strings + offset, 0, size - offset) ? strings + offset : "";
}

static bool open_cubin(cubin *c, const void *bytes, size_t size) {
  *c = (cubin){.bytes = bytes, .size = size};
  c->head = span(c, 0, sizeof *c->head);
  if (!c->head || memcmp(c->head->e_ident, ELFMAG, SELFMAG) != 0 || c->head->e_shentsize != sizeof(Elf64_Shdr))
    return false;
  c->sections = span(c, c->head->e_shoff, (uint64_t)c->head->e_shnum * sizeof(Elf64_Shdr));
  if (!c->sections || c->head->e_shstrndx >= c->head->e_shnum) return false;
  const Elf64_Shdr *strings = &c->sections[c->head->e_shstrndx];
  c->names = span(c, strings->sh_offset, strings->sh_size);
  c->names_size = strings->sh_size;
  return c->names != NULL;
}

static const Elf64_Shdr *find_section(const cubin *c, const char *name) {
  for (size_t i = 0; i < c->head->e_shnum; i++)
    if (strcmp(string_at(c->names, c->names_size, c->sections[i].sh_name), name) == 0) return &c->sections[i];
  return NULL;
}

/* Attributes of .nv.info that hold (symbol index, value). */
enum { INFO_FORMAT_SIZED = 4, INFO_FRAME_BYTES = 0x11, INFO_STACK_BYTES = 0x12, INFO_REGISTERS = 0x2f };

static void read_info(const cubin *c, uint32_t symbol, tsr_kernel_info *kernel) {
  const Elf64_Shdr *section = find_section(c, ".nv.info");
  const unsigned char *info = section ? span(c, section->sh_offset, section->sh_size) : NULL;
  for (uint64_t at = 0; info && at + 4 <= section->sh_size;) {
    uint8_t format = info[at], attribute = info[at + 1];
    uint16_t bytes;
    uint32_t index, value;
    memcpy(&bytes, info + at + 2, sizeof bytes);
    if (format == INFO_FORMAT_SIZED && bytes == 8 && at + 12 <= section->sh_size) {
      memcpy(&index, info + at + 4, sizeof index);
      memcpy(&value, info + at + 8, sizeof value);
      if (index == symbol && attribute == INFO_REGISTERS) kernel->registers = value;
      if (index == symbol && (attribute == INFO_FRAME_BYTES || attribute == INFO_STACK_BYTES) &&
          value > kernel->stack_bytes)
        kernel->stack_bytes = value;
    }
    at += 4 + (format == INFO_FORMAT_SIZED ? bytes : 0u);
  }
}

static bool is_wanted(const tsr_kernels *kernels, const char *name) {
  for (size_t i = 0; i < kernels->count; i++) {
    const tsr_step *step = &kernels->step[i];
    if (strcmp(step->kernel, name) == 0) return true;
    for (size_t variant = 0; variant < TSR_ROOMIER_VARIANTS && step->roomier[variant]; variant++)
      if (strcmp(step->roomier[variant], name) == 0) return true;
  }
  return false;
}

static tsr_status unsound(const tsr_kernels *kernels, tsr_error *error) {
  return tsr_fail(error, TSR_LINK_FAILED, "nvJitLink made a cubin without %s", kernels->step[0].kernel);
}

tsr_status tsr_cubin_inspect(tsr_link *link, const tsr_kernels *kernels, tsr_error *error) {
  cubin c;
  if (!open_cubin(&c, link->cubin, link->cubin_bytes)) return unsound(kernels, error);
  const Elf64_Shdr *table = find_section(&c, ".symtab");
  if (!table || table->sh_link >= c.head->e_shnum) return unsound(kernels, error);
  const Elf64_Shdr *strings = &c.sections[table->sh_link];
  const Elf64_Sym *symbols = span(&c, table->sh_offset, table->sh_size);
  const char *names = span(&c, strings->sh_offset, strings->sh_size);
  link->kernels = calloc(kernels->count + 1, sizeof *link->kernels);
  if (!link->kernels) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a list of %zu kernels", kernels->count);
  if (!symbols || !names) return unsound(kernels, error);
  for (uint32_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
    if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC) continue;
    const char *name = string_at(names, strings->sh_size, symbols[i].st_name);
    if (!is_wanted(kernels, name) || link->kernel_count == kernels->count) {
      link->other_functions++;
      continue;
    }
    tsr_kernel_info *kernel = &link->kernels[link->kernel_count++];
    kernel->name = name;
    read_info(&c, i, kernel);
  }
  return link->kernel_count == kernels->count ? TSR_OK : unsound(kernels, error);
}
