/* SPDX-License-Identifier: MIT */
/*
 * ledger.c - threads that make a known number of calls of known sizes with each function, and free each other's
 * blocks. Each prints its account: name, calls of malloc, calloc, realloc and the aligned functions, bytes.
 *
 *   ledger THREADS ROUNDS
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>

#include "trap.h"

#define SLOTS 256

static void *shared[SLOTS];

struct account {
    pthread_t thread;
    int number;
    int rounds;
    uint64_t calls[4];
    uint64_t bytes;
};

static void book(struct account *account, int function, size_t bytes)
{
    account->calls[function]++;
    account->bytes += bytes;
}

static APART void *ledger_allocate(struct account *account, unsigned turn)
{
    size_t bytes = turn % 700;
    void *block = NULL;
    switch (turn % 7) {
    case 0:
    case 1:
        book(account, 0, bytes);
        return keep(malloc(bytes));
    case 2:
        book(account, 1, bytes * 3);
        return keep(calloc(bytes, 3));
    case 3:
        book(account, 0, 16);
        book(account, 2, bytes + 1);
        return keep(realloc(keep(malloc(16)), bytes + 1));
    case 4:
        book(account, 3, bytes + 8);
        CHECK(posix_memalign(&block, 64, bytes + 8) == 0);
        return block;
    case 5:
        book(account, 3, bytes + 1);
        return keep(memalign(32, bytes + 1));
    default:
        book(account, 2, (bytes + 1) * 2);
        return keep(reallocarray(NULL, bytes + 1, 2));
    }
}

static void *work(void *argument)
{
    struct account *account = argument;
    char name[16];
    snprintf(name, sizeof name, "ledger-%d", account->number);
    CHECK(pthread_setname_np(pthread_self(), name) == 0);
    for (int i = 0; i < account->rounds; i++) {
        void *block = ledger_allocate(account, (unsigned) (i * 31 + account->number));
        free(__atomic_exchange_n(&shared[(i * 7 + account->number * 3) % SLOTS], block, __ATOMIC_ACQ_REL));
    }
    return NULL;
}

static void print(const struct account *a)
{
    printf("ledger-%d %lu %lu %lu %lu %lu\n", a->number, a->calls[0], a->calls[1], a->calls[2], a->calls[3], a->bytes);
}

int main(int argc, char **argv)
{
    static struct account account[64];
    int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 1000;
    for (int i = 0; i < threads; i++) {
        account[i].number = i;
        account[i].rounds = rounds;
        CHECK(pthread_create(&account[i].thread, NULL, work, &account[i]) == 0);
    }
    for (int i = 0; i < threads; i++)
        CHECK(pthread_join(account[i].thread, NULL) == 0);
    for (int i = 0; i < SLOTS; i++)
        free(shared[i]);
    for (int i = 0; i < threads; i++)
        print(&account[i]);
    return 0;
}
