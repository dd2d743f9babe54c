/* SPDX-License-Identifier: MIT */
/*
 * compiler.c - makes code in anonymous memory, with frame pointers and without unwind tables, and writes down for perf
 * what it is: in /tmp/perf-PID.map and in jit-PID.dump, or in one of them.
 *
 *   compiler map|dump|both [DIRECTORY]     the dump is in DIRECTORY (.)
 *   compiler map|dump|both . wait          then says "ready" and waits until its stdin is closed
 *
 * Each piece of code calls a function; it is compiled from a number, so that two pieces differ. The story:
 *
 *   alpha, 10 calls, is replaced at its address by beta, 20 calls.
 *   gamma, 5 calls, is moved, 7 calls. Delta, 3 calls, is put where gamma was: at times, a map cannot say so.
 *   outer calls inner, which calls the allocating function: 4 calls.
 *
 * A call allocates one block of 100 bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
typedef void called(int);
typedef void code(called *, int);

#ifdef __x86_64__
#define MACHINE 62
/* push %rbp; mov %rsp, %rbp; mov $NUMBER, %ecx; mov %rdi, %rax; mov %esi, %edi; call *%rax; pop %rbp; ret */
static uint8_t pattern[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0,    0,    0,    0,
                            0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
static void number(uint8_t *at, uint8_t is)
{
    at[5] = is;
}
#else
#define MACHINE 183
/* stp x29, x30, [sp, #-32]!; mov x29, sp; movz w10, #NUMBER; mov x9, x0; mov w0, w1; blr x9; ldp x29, x30, [sp], #32;
 * ret */
static uint32_t pattern[] = {0xa9be7bfd, 0x910003fd, 0x5280000a, 0xaa0003e9,
                             0x2a0103e0, 0xd63f0120, 0xa8c27bfd, 0xd65f03c0};
static void number(uint8_t *at, uint8_t is)
{
    uint32_t instruction = pattern[2] | (uint32_t) is << 5;
    memcpy(at + 8, &instruction, 4);
}
#endif

static uint8_t *page;
static FILE *map, *dump;
static void *volatile kept;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/* So that times tell events apart. */
static void let_time_pass(void)
{
    for (uint64_t until = now_ns() + 2000000; now_ns() < until;)
        continue;
}

static void put(const void *data, size_t bytes)
{
    fwrite(data, 1, bytes, dump);
}

static void put_record(uint32_t id, size_t bytes)
{
    uint64_t time = now_ns();
    const uint32_t head[] = {id, (uint32_t) (16 + bytes)};
    put(head, sizeof head);
    put(&time, sizeof time);
}

static void open_dump(const char *directory)
{
    char path[4096];
    const uint32_t head[] = {0x4a695444, 1, 40, MACHINE, 0, (uint32_t) getpid()};
    const uint64_t rest[] = {now_ns(), 0};
    snprintf(path, sizeof path, "%s/jit-%d.dump", directory, getpid());
    dump = fopen(path, "w");
    put(head, sizeof head);
    put(rest, sizeof rest);
}

static void put_load(const char *name, uint64_t index, const uint8_t *at)
{
    const uint32_t who[] = {(uint32_t) getpid(), (uint32_t) getpid()};
    const uint64_t where[] = {(uintptr_t) at, (uintptr_t) at, sizeof pattern, index};
    put_record(0, sizeof who + sizeof where + strlen(name) + 1 + sizeof pattern);
    put(who, sizeof who);
    put(where, sizeof where);
    put(name, strlen(name) + 1);
    put(at, sizeof pattern);
    fflush(dump);
}

/* The code is line 7 of story.jit, and from its fifth byte on line 8. */
static void put_lines(const uint8_t *at)
{
    static const char file[] = "/src/story.jit", same[] = "\xff";
    const uint64_t head[] = {(uintptr_t) at, 2}, second = (uintptr_t) at + 5;
    const uint32_t lines[][2] = {{7, 0}, {8, 0}};
    put_record(2, sizeof head + 2 * 16 + sizeof file + sizeof same);
    put(head, sizeof head);
    put(&head[0], 8);
    put(lines[0], 8);
    put(file, sizeof file);
    put(&second, 8);
    put(lines[1], 8);
    put(same, sizeof same);
}

static void put_move(uint64_t index, const uint8_t *from, const uint8_t *to)
{
    const uint32_t who[] = {(uint32_t) getpid(), (uint32_t) getpid()};
    const uint64_t where[] = {(uintptr_t) to, (uintptr_t) from, (uintptr_t) to, sizeof pattern, index};
    put_record(1, sizeof who + sizeof where);
    put(who, sizeof who);
    put(where, sizeof where);
    fflush(dump);
}

static code *compile(const char *name, uint8_t is, unsigned at)
{
    uint8_t *to = page + at;
    let_time_pass();
    memcpy(to, pattern, sizeof pattern);
    number(to, is);
    __builtin___clear_cache((char *) to, (char *) to + sizeof pattern);
    if (map) {
        fprintf(map, "%lx %zx %s\n", (unsigned long) (uintptr_t) to, sizeof pattern, name);
        fflush(map);
    }
    if (dump) {
        if (!strcmp(name, "gamma"))
            put_lines(to);
        put_load(name, is, to);
    }
    return (code *) (uintptr_t) to;
}

static code *move(unsigned from, unsigned to, uint64_t index)
{
    let_time_pass();
    memcpy(page + to, page + from, sizeof pattern);
    __builtin___clear_cache((char *) page + to, (char *) page + to + sizeof pattern);
    if (dump)
        put_move(index, page + from, page + to);
    return (code *) (uintptr_t) (page + to);
}

NOINLINE static void allocate(int blocks)
{
    while (blocks-- > 0)
        kept = malloc(100);
}

static code *inner;
NOINLINE static void between(int blocks)
{
    inner(allocate, blocks);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char path[64];
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    if (strcmp(what, "dump"))
        map = fopen(path, "w");
    if (strcmp(what, "map"))
        open_dump(argc > 2 ? argv[2] : ".");
    compile("alpha", 1, 64)(allocate, 10);
    compile("beta", 2, 64)(allocate, 20);
    compile("gamma", 3, 256)(allocate, 5);
    move(256, 512, 3)(allocate, 7);
    compile("delta", 4, 256)(allocate, 3);
    inner = compile("inner", 5, 1024);
    compile("outer", 6, 1280)(between, 4);
    if (argc > 3) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    return 0;
}
