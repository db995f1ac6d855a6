/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of a gzip file, decoded by all cores: the streams that `cat a.gz b.gz`, `pigz --independent` or bgzip put one behind the
 * other. A member does not say where the next one begins. So each place that looks like a member's first bytes is taken for one,
 * and the text between two places is decoded. That is right if a member ends exactly at the next place, with the length and the
 * checksum that it ends with; compressed bytes may look like a member's first ones by chance. What is not right is left to the
 * decoder of any gzip, which also says what is wrong. Read next: unpack.h, the user.
 */
#ifndef TSR_MEMBERS_H
#define TSR_MEMBERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TSR_MEMBERS_MAX = 1 << 10,         /* of one call */
  TSR_MEMBERS_TEXT_ENOUGH = 1 << 23, /* bytes, of at least a member for each core */
  TSR_MEMBERS_TEXT_MAX = 1 << 28
};

typedef struct tsr_member {
  size_t from, to;  /* of the input */
  size_t at, bytes; /* of the text */
  bool is_right;
} tsr_member;

/* The members that some input begins with. A struct of zeros is none. */
typedef struct tsr_members {
  tsr_member all[TSR_MEMBERS_MAX];
  size_t count, text_bytes;
  size_t searched;  /* bytes of the input */
  bool is_complete; /* no more are to be searched for */
  const unsigned char *in;
  unsigned char *text;
  atomic_size_t next; /* to decode; relaxed, because each is taken once, and joining the team orders what was decoded */
} tsr_members;

/* Searches the input for further members, up to `most` in all. It begins with a member, and is what it was in the call before
 * and perhaps more. is_all: nothing follows it. */
void tsr_members_search(tsr_members *members, const unsigned char *in, size_t bytes, bool is_all, size_t most);

/* Decodes members->count members to text[members->text_bytes]. Returns how many are right, up to the first one that is not. */
size_t tsr_members_decode(tsr_members *members, const unsigned char *in, unsigned char *text);

#endif
