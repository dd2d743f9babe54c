/* SPDX-License-Identifier: MIT */
/*
 * sender.h - sends parcels to a store by HTTP, and says what became of them.
 */
#ifndef PL_SENDER_H
#define PL_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/option.h"
#include "cli/push/stores.h"

struct pl_sender_options {
    const char *to; /* STORE+URL */
    const char *token_file, *tenant, *ca;
    bool no_names;
};

enum pl_sent {
    PL_SENT,
    PL_SENT_PERHAPS, /* no answer came: the store may have it */
    PL_SENT_NOT,     /* the store cannot be reached, or is not well: try again later */
    PL_SENT_REFUSED, /* the store is well, but does not want this */
};

struct pl_sender;

/* Says what is wrong with the options. */
enum pl_exit pl_sender_check(const struct pl_sender_options *options);
enum pl_exit pl_sender_open(const struct pl_sender_options *options, struct pl_sender **out);
void pl_sender_close(struct pl_sender *sender); /* NULL is fine */

enum pl_sent pl_sender_send(struct pl_sender *sender, const struct pl_parcel *parcel, uint32_t parcels);

/* Did the last request fail? */
bool pl_sender_failing(const struct pl_sender *sender);

#endif
