/* SPDX-License-Identifier: MIT */
/*
 * proto.h - writes protocol buffers: one message at a time, in memory, field by field.
 *
 * A message inside of another, and an array of numbers, is begun and ended; its length is put in front of it when it is
 * known. Numbers that are 0 and texts that are empty need not be written: they are what readers assume.
 */
#ifndef PL_PROTO_H
#define PL_PROTO_H

#include <stddef.h>
#include <stdint.h>

struct pl_proto {
    unsigned char *data;
    size_t bytes, room;
};

void pl_proto_free(struct pl_proto *proto);

/* A field with a number: negative ones are written as two's complement (int64), 0 not at all. */
void pl_proto_number(struct pl_proto *proto, unsigned field, int64_t number);

/* A field with text, also if it is empty. Bytes that are not UTF-8 become U+FFFD, so that other programs can read it.
 */
void pl_proto_text(struct pl_proto *proto, unsigned field, const char *text);

/* A field of bytes, also if there are none. */
void pl_proto_bytes(struct pl_proto *proto, unsigned field, const void *data, size_t bytes);

/* A field of 8 bytes (fixed64), also if it is 0. */
void pl_proto_fixed(struct pl_proto *proto, unsigned field, uint64_t number);

/* A message, or an array. Returns what to end it with. */
size_t pl_proto_begin(struct pl_proto *proto, unsigned field);
void pl_proto_end(struct pl_proto *proto, size_t begun);

/* An element of an array of numbers. */
void pl_proto_element(struct pl_proto *proto, int64_t number);

#endif
