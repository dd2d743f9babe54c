/* SPDX-License-Identifier: MIT */
/*
 * hash.h - one mixing function for every table of the core. Never returns 0, which means "empty" everywhere.
 */
#ifndef PL_HASH_H
#define PL_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"

INLINE uint64_t pl_hash(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t) (a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
    uint64_t h = (uint64_t) product ^ (uint64_t) (product >> 64);
    h = (h ^ (h >> 32) ^ a) * 0xff51afd7ed558ccdu;
    h ^= h >> 29;
    return h ? h : 1;
}

/* FNV-1a, for bytes: the fingerprint of format.h, and text. */
#define PL_FNV_START 0xcbf29ce484222325u

INLINE uint64_t pl_hash_bytes(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

#endif
