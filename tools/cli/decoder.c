/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders (decoder.h): a row a format. The formats' own libraries are called. gzFile takes the end of a compressed stream
 * for the end of the file if what follows it is damaged: files of many streams (bgzip) would be cut. libarchive (3.6) does
 * the same for gzip and bzip2, does not check gzip's CRC, and refuses zeros behind a zstd stream.
 */
#define ZLIB_CONST 1 /* its input is const */

#include "tools/cli/decoder.h"

#include <bzlib.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "tools/cli/data_file.h"

typedef struct row {
  tsr_format format;
  size_t magic_bytes;
  unsigned char magic[TSR_MAGIC_BYTES_MAX]; /* with which a file begins */
  bool (*begin)(tsr_decoder *);             /* a stream; false: no memory */
  tsr_decoded (*run)(tsr_decoder *, tsr_pieces *);
  void (*end)(tsr_decoder *);
} row;

struct tsr_decoder {
  const row *row;
  bool is_in_stream; /* `end` is to be called */
  union {
    z_stream gzip;
    bz_stream bzip2;
    lzma_stream xz;
    ZSTD_DCtx *zstd;
  } of;
};

/* ---- gzip ------------------------------------------------------------------------------------ */

static bool begin_gzip(tsr_decoder *d) { return inflateInit2(&d->of.gzip, 16 + MAX_WBITS) == Z_OK; }

static tsr_decoded run_gzip(tsr_decoder *d, tsr_pieces *p) {
  z_stream *z = &d->of.gzip;
  z->next_in = p->in;
  z->avail_in = (uInt)p->in_bytes;
  z->next_out = p->out;
  z->avail_out = (uInt)p->out_bytes;
  const int code = inflate(z, Z_NO_FLUSH);
  *p = (tsr_pieces){z->next_in, z->avail_in, z->next_out, z->avail_out};
  if (code == Z_STREAM_END) return TSR_DECODED_ALL;
  if (code == Z_MEM_ERROR) return TSR_DECODED_NO_MEMORY;
  return code == Z_OK || code == Z_BUF_ERROR ? TSR_DECODED_SOME : TSR_DECODED_BAD;
}

static void end_gzip(tsr_decoder *d) { inflateEnd(&d->of.gzip); }

/* ---- bzip2 ----------------------------------------------------------------------------------- */

static bool begin_bzip2(tsr_decoder *d) { return BZ2_bzDecompressInit(&d->of.bzip2, 0, 0) == BZ_OK; }

static tsr_decoded run_bzip2(tsr_decoder *d, tsr_pieces *p) {
  bz_stream *b = &d->of.bzip2;
  b->next_in = (char *)(uintptr_t)p->in; /* which it does not write */
  b->avail_in = (unsigned)p->in_bytes;
  b->next_out = (char *)p->out;
  b->avail_out = (unsigned)p->out_bytes;
  const int code = BZ2_bzDecompress(b);
  p->in += p->in_bytes - b->avail_in;
  p->in_bytes = b->avail_in;
  p->out += p->out_bytes - b->avail_out;
  p->out_bytes = b->avail_out;
  if (code == BZ_STREAM_END) return TSR_DECODED_ALL;
  if (code == BZ_MEM_ERROR) return TSR_DECODED_NO_MEMORY;
  return code == BZ_OK ? TSR_DECODED_SOME : TSR_DECODED_BAD;
}

static void end_bzip2(tsr_decoder *d) { BZ2_bzDecompressEnd(&d->of.bzip2); }

/* ---- xz -------------------------------------------------------------------------------------- */

static bool begin_xz(tsr_decoder *d) {
  d->of.xz = (lzma_stream)LZMA_STREAM_INIT;
  return lzma_stream_decoder(&d->of.xz, UINT64_MAX, 0) == LZMA_OK;
}

static tsr_decoded run_xz(tsr_decoder *d, tsr_pieces *p) {
  lzma_stream *x = &d->of.xz;
  x->next_in = p->in;
  x->avail_in = p->in_bytes;
  x->next_out = p->out;
  x->avail_out = p->out_bytes;
  const lzma_ret code = lzma_code(x, LZMA_RUN);
  *p = (tsr_pieces){x->next_in, x->avail_in, x->next_out, x->avail_out};
  if (code == LZMA_STREAM_END) return TSR_DECODED_ALL;
  if (code == LZMA_MEM_ERROR) return TSR_DECODED_NO_MEMORY;
  return code == LZMA_OK || code == LZMA_BUF_ERROR ? TSR_DECODED_SOME : TSR_DECODED_BAD;
}

static void end_xz(tsr_decoder *d) { lzma_end(&d->of.xz); }

/* ---- zstd ------------------------------------------------------------------------------------ */

/* Windows of any size, as `zstd --long` makes them. */
static bool begin_zstd(tsr_decoder *d) {
  d->of.zstd = ZSTD_createDCtx();
  if (!d->of.zstd) return false;
  const ZSTD_bounds window = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
  (void)ZSTD_DCtx_setParameter(d->of.zstd, ZSTD_d_windowLogMax, window.upperBound);
  return true;
}

static tsr_decoded run_zstd(tsr_decoder *d, tsr_pieces *p) {
  ZSTD_inBuffer in = {p->in, p->in_bytes, 0};
  ZSTD_outBuffer out = {p->out, p->out_bytes, 0};
  const size_t code = ZSTD_decompressStream(d->of.zstd, &out, &in); /* 0: a frame has ended */
  *p = (tsr_pieces){p->in + in.pos, p->in_bytes - in.pos, p->out + out.pos, p->out_bytes - out.pos};
  if (code == 0) return TSR_DECODED_ALL;
  if (!ZSTD_isError(code)) return TSR_DECODED_SOME;
  return ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation ? TSR_DECODED_NO_MEMORY : TSR_DECODED_BAD;
}

static void end_zstd(tsr_decoder *d) { ZSTD_freeDCtx(d->of.zstd); }

/* ---- All of them ----------------------------------------------------------------------------- */

static const row rows[] = {
    {{"gzip", ".gz"}, 2, {0x1f, 0x8b}, begin_gzip, run_gzip, end_gzip},
    {{"bzip2", ".bz2"}, 3, {'B', 'Z', 'h'}, begin_bzip2, run_bzip2, end_bzip2},
    {{"xz", ".xz"}, 6, {0xfd, '7', 'z', 'X', 'Z', 0}, begin_xz, run_xz, end_xz},
    {{"zstd", ".zst"}, 4, {0x28, 0xb5, 0x2f, 0xfd}, begin_zstd, run_zstd, end_zstd},
    {{"zstd", ".zst"},
     4,
     {0x50, 0x2a, 0x4d, 0x18},
     begin_zstd,
     run_zstd,
     end_zstd}, /* pzstd begins with a skippable frame */
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const tsr_format *tsr_format_by_name(const char *name, size_t length) {
  for (size_t i = 0; i < ROWS; i++)
    if (tsr_name_ends(name, length, rows[i].format.ending)) return &rows[i].format;
  return NULL;
}

const tsr_format *tsr_format_by_content(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < ROWS; i++)
    if (count >= rows[i].magic_bytes && memcmp(bytes, rows[i].magic, rows[i].magic_bytes) == 0) return &rows[i].format;
  return NULL;
}

tsr_decoder *tsr_decoder_new(const tsr_format *format) {
  tsr_decoder *d = calloc(1, sizeof *d);
  for (size_t i = 0; d && i < ROWS; i++)
    if (&rows[i].format == format) d->row = &rows[i];
  return d;
}

static void end_stream(tsr_decoder *d) {
  if (d->is_in_stream) d->row->end(d);
  d->is_in_stream = false;
}

tsr_decoded tsr_decoder_run(tsr_decoder *decoder, tsr_pieces *pieces) {
  if (!decoder->is_in_stream) {
    memset(&decoder->of, 0, sizeof decoder->of);
    if (!decoder->row->begin(decoder)) return TSR_DECODED_NO_MEMORY;
    decoder->is_in_stream = true;
  }
  const tsr_decoded decoded = decoder->row->run(decoder, pieces);
  if (decoded != TSR_DECODED_SOME) end_stream(decoder);
  return decoded;
}

void tsr_decoder_free(tsr_decoder *decoder) {
  if (decoder) end_stream(decoder);
  free(decoder);
}
