/* SPDX-License-Identifier: MIT */
/*
 * bounds.c - twenty tags where there is room for eight. Tags without room are charged to the tag around them.
 *
 *   bounds ACCOUNT      with PLIMSOLL_MAX_TAGS=8
 */
#include "../../lib/patience.h"
#include "account.h"

#include <stdio.h>
#include <unistd.h>

#define ROOM 8
#define TAGS 20
#define TURNS 10

int main(int argc, char **argv)
{
    char name[32];
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    account_open(argv[1]);
    push("around"); /* the first of the eight */
    for (unsigned i = 0; i + 1 < ROOM; i++) {
        snprintf(name, sizeof name, "tag %u", i);
        push(name);
        pop();
    }
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (unsigned i = 0; i < TAGS; i++) {
            bool room = i + 1 < ROOM;
            snprintf(name, sizeof name, "tag %u", i);
            plimsoll_push(name);
            if (room)
                account_pushed(name);
            allocate(10 + i);
            plimsoll_push(room ? "around" : "tag 0"); /* none of these tags exists below this one */
            allocate(50);
            plimsoll_pop();
            account->scopes_lost += room ? 1 : 2;
            plimsoll_pop();
            if (room)
                account_popped();
            allocate(100);
        }
    }
    pop();
    allocate(200); /* at the root, because pushes and pops were balanced */
    return 0;
}
