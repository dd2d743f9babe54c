/* SPDX-License-Identifier: MIT */
/*
 * proto.c - writes protocol buffers: varints, and fields with a length.
 *
 * A length comes before its message and takes one to ten bytes. Messages are small, so the message is moved when its
 * length is known, and the length is always as short as can be.
 */
#include "export/proto.h"

#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/base/utf8.h"

#define VARINT_BYTES_MAX 10
#define ROOM_AT_FIRST 256

enum wire {
    WIRE_VARINT = 0,
    WIRE_FIXED = 1,
    WIRE_BYTES = 2,
};

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

void pl_proto_free(struct pl_proto *proto)
{
    free(proto->data);
    *proto = (struct pl_proto){0};
}

static unsigned char *make_room(struct pl_proto *proto, size_t bytes)
{
    size_t room = proto->room ? proto->room : ROOM_AT_FIRST;
    while (room - proto->bytes < bytes)
        room *= 2;
    if (room != proto->room)
        proto->data = pl_grow_check(realloc(proto->data, room), room, 1);
    proto->room = room;
    return proto->data + proto->bytes;
}

static void put(struct pl_proto *proto, const void *data, size_t bytes)
{
    memcpy(make_room(proto, bytes), data, bytes);
    proto->bytes += bytes;
}

static size_t encode(unsigned char out[VARINT_BYTES_MAX], uint64_t number)
{
    size_t bytes = 0;
    for (; number >= 0x80; number >>= 7)
        out[bytes++] = (unsigned char) (number | 0x80);
    out[bytes++] = (unsigned char) number;
    return bytes;
}

static void put_varint(struct pl_proto *proto, uint64_t number)
{
    unsigned char varint[VARINT_BYTES_MAX];
    put(proto, varint, encode(varint, number));
}

static void put_key(struct pl_proto *proto, unsigned field, enum wire wire)
{
    put_varint(proto, (uint64_t) field << 3 | wire);
}

void pl_proto_number(struct pl_proto *proto, unsigned field, int64_t number)
{
    if (number == 0)
        return;
    put_key(proto, field, WIRE_VARINT);
    put_varint(proto, (uint64_t) number);
}

void pl_proto_element(struct pl_proto *proto, int64_t number)
{
    put_varint(proto, (uint64_t) number);
}

void pl_proto_fixed(struct pl_proto *proto, unsigned field, uint64_t number)
{
    unsigned char bytes[sizeof number];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char) (number >> 8 * i);
    put_key(proto, field, WIRE_FIXED);
    put(proto, bytes, sizeof bytes);
}

void pl_proto_bytes(struct pl_proto *proto, unsigned field, const void *data, size_t bytes)
{
    put_key(proto, field, WIRE_BYTES);
    put_varint(proto, bytes);
    if (bytes)
        put(proto, data, bytes);
}

size_t pl_proto_begin(struct pl_proto *proto, unsigned field)
{
    put_key(proto, field, WIRE_BYTES);
    return proto->bytes;
}

void pl_proto_end(struct pl_proto *proto, size_t begun)
{
    unsigned char varint[VARINT_BYTES_MAX];
    size_t length = proto->bytes - begun, bytes = encode(varint, length);
    make_room(proto, bytes);
    memmove(proto->data + begun + bytes, proto->data + begun, length);
    memcpy(proto->data + begun, varint, bytes);
    proto->bytes += bytes;
}

void pl_proto_text(struct pl_proto *proto, unsigned field, const char *text)
{
    size_t begun = pl_proto_begin(proto, field);
    uint32_t character;
    for (size_t step; *text; text += step) {
        step = pl_utf8_decode(text, &character);
        if (character == PL_UTF8_BAD)
            put(proto, replacement, sizeof replacement - 1);
        else
            put(proto, text, step);
    }
    pl_proto_end(proto, begun);
}
