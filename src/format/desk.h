/* SPDX-License-Identifier: MIT */
/*
 * desk.h - what `plimsoll attach` and the runtime that it loads into a process tell each other.
 *
 * The runtime exports one symbol, plimsoll_desk. The command finds it in the process, reads which functions the runtime
 * wants to hook, and writes the rest. A hooked function begins with a jump to its springboard, which jumps to wherever
 * the function's slot points: to the function's own code (its first instructions, copied, and a jump to the rest), or
 * to the runtime's hook.
 *
 *   malloc: jmp ──► springboard: jmp *slot[0] ─┬─► the code of malloc, as it was
 *                                              └─► hook ──► real ──► the code of malloc, as it was
 *
 * All slots and the state lie in one page and are written at once, so a process is attached completely or not at all,
 * whenever the command is killed.
 *
 * Both sides are of one build: `version` says so.
 */
#ifndef PL_DESK_H
#define PL_DESK_H

#include <stdint.h>

#define PL_DESK_SYMBOL "plimsoll_desk"
#define PL_DESK_VERSION 3u
#define PL_DESK_LIBRARY "libplimsoll-attach.so"
#define PL_DESK_HOOKS 160
#define PL_DESK_NAME_BYTES 40
#define PL_DESK_CODE_BYTES 32
#define PL_DESK_SETTINGS_BYTES 16384

enum pl_desk_state {
    PL_DESK_IDLE = 0,
    PL_DESK_BEGUN,    /* the runtime has started; nothing leads to it yet, or nothing any more */
    PL_DESK_ATTACHED, /* the slots lead to the hooks */
};

/* A family is one allocator: the program's malloc, or one that is linked in under names of its own. */
enum pl_desk_family {
    PL_DESK_MALLOC = 0,
    PL_DESK_LINKED = 1,
    PL_DESK_LIBC = 2, /* functions of libc that the runtime must know of: fork, exec, exit */
    PL_DESK_FAMILIES
};

/* What the runtime wants to hook: filled in by the runtime. */
struct pl_desk_hook {
    char name[PL_DESK_NAME_BYTES];
    uint64_t hook;  /* the function that is called instead; 0: none, the runtime only calls this function */
    uint64_t *real; /* where the address of the function's own code goes */
    uint32_t family;
    uint32_t
        needed; /* without it, the process cannot be profiled; in PL_DESK_LINKED: if it is there, but no hook can be */
};

/* A function whose entry was changed: filled in by the command, before it changes the entry. */
struct pl_desk_patch {
    uint64_t entry; /* 0: not hooked */
    uint64_t springboard;
    uint64_t body; /* the function's own code, from the springboard's neighbour on */
    uint64_t jump; /* where the bytes change: at the entry, or behind a mark for indirect calls that must stay there */
    uint32_t bytes;
    uint8_t before[PL_DESK_CODE_BYTES]; /* these bytes, and what they become */
    uint8_t after[PL_DESK_CODE_BYTES];
};

struct pl_desk {
    uint64_t slot[PL_DESK_HOOKS];
    uint32_t state; /* enum pl_desk_state */
    uint8_t rest_of_page[4096 - PL_DESK_HOOKS * 8 - 4];

    uint32_t version;
    uint32_t hooks;
    uint64_t begin;   /* int (void): starts the runtime. 0, or an error number */
    uint64_t end;     /* int (int keep): ends it, and keeps the profile; no thread may be inside a hook */
    uint64_t abandon; /* void (void): ends it without a profile, unless the hooks are switched on */
    uint64_t code;    /* the runtime's own code */
    uint64_t code_end;
    int64_t inside; /* where a thread's word for "inside a hook" is, from its thread pointer */
    struct pl_desk_hook hook[PL_DESK_HOOKS];
    struct pl_desk_patch patch[PL_DESK_HOOKS];
    uint64_t room; /* memory for springboards: the next free byte of the last page, */
    uint64_t room_end;
    char settings[PL_DESK_SETTINGS_BYTES]; /* NAME=VALUE, each followed by a zero; an empty one ends the list */
};

#endif
