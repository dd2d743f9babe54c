/* SPDX-License-Identifier: MIT */
/*
 * keeps.cpp - holds blocks in many ways, and loses others. Each block comes from a function whose name says what has
 * become of it: held_..., lost_..., with_... (lost with its owner) or inner_... (held by a pointer to its middle).
 *
 * Prints `ready` and waits for its standard input to end, with pointers in a register and on stacks.
 */
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

/* A function of its own that allocates. */
#define MAKES(name, bytes)                                                                                             \
    APART void *name()                                                                                                 \
    {                                                                                                                  \
        void *block = malloc(bytes);                                                                                   \
        memset(block, 0, bytes);                                                                                       \
        asm volatile("" : "+r"(block));                                                                                \
        return block;                                                                                                  \
    }

/* Where stale pointers may be: on the stack that was used, and in registers. */
static APART void forget()
{
    volatile char scratch[64 << 10];
    memset((void *) scratch, 0, sizeof scratch);
#ifdef __aarch64__
    asm volatile(
        "mov x0, #0; mov x1, #0; mov x2, #0; mov x3, #0; mov x4, #0; mov x5, #0; mov x6, #0; mov x7, #0; "
        "mov x8, #0; mov x9, #0; mov x10, #0; mov x11, #0; mov x12, #0; mov x13, #0; mov x14, #0; mov x15, #0; "
        "mov x16, #0; mov x17, #0; mov x19, #0; mov x20, #0; mov x21, #0; mov x22, #0; mov x23, #0; "
        "mov x24, #0; mov x25, #0; mov x26, #0; mov x27, #0; mov x28, #0; movi v0.2d, #0; movi v1.2d, #0; "
        "movi v2.2d, #0; movi v3.2d, #0"
        :
        :
        : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
          "x17", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "v0", "v1", "v2", "v3",
          "memory");
#else
    asm volatile("xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi; "
                 "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d; xor %%r12d, %%r12d; "
                 "xor %%r13d, %%r13d; xor %%r14d, %%r14d; xor %%r15d, %%r15d; pxor %%xmm0, %%xmm0; "
                 "pxor %%xmm1, %%xmm1; pxor %%xmm2, %%xmm2; pxor %%xmm3, %%xmm3"
                 :
                 :
                 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
                   "xmm1", "xmm2", "xmm3", "memory");
#endif
}

struct node {
    node *next, *other;
    char text[40];
};

/* ---- held ---- */

MAKES(held_by_global, 100)
MAKES(held_by_bss, 5000)
MAKES(held_by_static_local, 33)
MAKES(held_mapped, 1 << 20)
MAKES(held_through_mapped, 64)
MAKES(held_by_mapping, 48)
MAKES(held_by_shared_mapping, 48)
MAKES(held_by_readonly_mapping, 48)
MAKES(held_by_list, sizeof(node))
MAKES(held_by_tree, sizeof(node))
MAKES(held_by_ring, sizeof(node))
MAKES(held_by_thread_local, 77)
MAKES(held_by_other_thread_local, 78)
MAKES(held_by_other_stack, 79)
MAKES(held_by_main_stack, 80)
MAKES(held_by_register, 81)
MAKES(held_by_key, 82)
MAKES(held_zero_size, 0)
MAKES(held_odd_24, 24)
MAKES(held_by_last_word, 96)
MAKES(held_whose_last_word, 24)
MAKES(held_by_freed_neighbours, 24)
MAKES(held_by_realloc, 16)

/* Not static: the compiler would leave out variables that nobody reads. */
void *global = held_by_global();
void *bss[16];
thread_local void *of_thread;
std::vector<std::shared_ptr<std::string>> *held_strings;
std::map<int, std::string> *held_map;
std::unordered_map<std::string, std::list<int>> *held_table;

struct first_base {
    virtual ~first_base() = default;
    long a = 1;
};
struct second_base {
    virtual ~second_base() = default;
    long b = 2;
};
struct both : first_base, second_base {
    long c = 3;
};
struct with_destructor {
    ~with_destructor()
    {
        value = 0;
    }
    long value = 7;
};

APART second_base *inner_second_base()
{
    return new both;
}

APART with_destructor *inner_array_with_cookie()
{
    return new with_destructor[10];
}

MAKES(inner_by_middle, 200)
MAKES(inner_through_middle, 56)
MAKES(inner_tagged, 40)
MAKES(inner_one_past_the_end, 24)

/* ---- lost ---- */

MAKES(lost_one, 100)
MAKES(lost_small, 1)
MAKES(lost_large, 300)
MAKES(lost_huge, 600 << 10)
MAKES(lost_from_global, 60)
MAKES(lost_head, sizeof(node))
MAKES(with_head, sizeof(node))
MAKES(ring_of_lost, sizeof(node))
MAKES(lost_self, sizeof(node))
MAKES(lost_by_ended_thread, 90)
MAKES(lost_on_ended_stack, 91)
MAKES(lost_below_stack, 92)
MAKES(lost_in_freed, 93)
MAKES(lost_of_other_arena, 94)
MAKES(lost_hidden, 95)
MAKES(freed_holder, 400)

struct shared_node {
    std::shared_ptr<shared_node> peer;
};

APART void shared_ring_of_lost()
{
    auto a = std::make_shared<shared_node>(), b = std::make_shared<shared_node>();
    a->peer = b;
    b->peer = a;
}

static APART void hold_simple()
{
    static void *volatile local;
    local = held_by_static_local();
    for (int i = 0; i < 8; i++)
        bss[i] = held_by_bss();
    void **mapped = (void **) held_mapped();
    mapped[100000] = held_through_mapped();
    bss[8] = mapped;
    bss[9] = held_zero_size();
    void **words = (void **) held_by_last_word();
    words[11] = held_whose_last_word();
    bss[10] = words;
    bss[11] = held_odd_24();
    void *grown = held_by_realloc();
    for (size_t bytes = 32; bytes < 10000; bytes *= 3)
        grown = realloc(grown, bytes);
    bss[12] = grown;
}

static APART void hold_mappings()
{
    void **own = (void **) mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own[1000] = held_by_mapping();
    void **shared = (void **) mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared[1] = held_by_shared_mapping();
    void **sealed = (void **) mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sealed[5] = held_by_readonly_mapping();
    mprotect(sealed, 1 << 16, PROT_READ);
}

node *list_head, *tree_root, *ring_start;

static APART node *make_tree(int depth)
{
    node *tree = (node *) held_by_tree();
    if (depth)
        tree->next = make_tree(depth - 1), tree->other = make_tree(depth - 1);
    return tree;
}

static APART void hold_shapes()
{
    for (int i = 0; i < 1000; i++) {
        node *more = (node *) held_by_list();
        more->next = list_head;
        list_head = more;
    }
    tree_root = make_tree(8);
    ring_start = (node *) held_by_ring();
    node *at = ring_start;
    for (int i = 0; i < 5; i++)
        at = at->next = (node *) held_by_ring();
    at->next = ring_start;
    held_strings = new std::vector<std::shared_ptr<std::string>>;
    held_map = new std::map<int, std::string>;
    held_table = new std::unordered_map<std::string, std::list<int>>;
    for (int i = 0; i < 200; i++) {
        std::string text = "a text that is too long to be kept inside of the object " + std::to_string(i);
        held_strings->push_back(std::make_shared<std::string>(text));
        (*held_map)[i] = text;
        (*held_table)[text] = {i, i + 1, i + 2};
    }
}

second_base *second;
with_destructor *array;
char *middle;
uintptr_t tagged, past;

static APART void hold_inner()
{
    second = inner_second_base();
    array = inner_array_with_cookie();
    middle = (char *) inner_by_middle();
    *(void **) middle = inner_through_middle();
    middle += 120;
    tagged = (uintptr_t) inner_tagged() | 1;
    past = (uintptr_t) inner_one_past_the_end() + 24;
}

/* Free chunks on both sides: glibc's lists of them point to where a block ends. */
void *between[64];

static APART void hold_between_free_chunks()
{
    void *spacer[64];
    for (int i = 0; i < 64; i++) {
        spacer[i] = malloc(2000);
        between[i] = held_by_freed_neighbours();
    }
    for (int i = 0; i < 64; i++)
        free(spacer[i]);
}

static APART void lose()
{
    lost_one();
    lost_small();
    lost_large();
    lost_huge();
    static void *volatile overwritten = lost_from_global();
    overwritten = nullptr;
    node *head = (node *) lost_head();
    for (int i = 0; i < 10; i++) {
        node *more = (node *) with_head();
        more->next = head->next;
        head->next = more;
    }
    node *first = (node *) ring_of_lost();
    node *at = first;
    for (int i = 0; i < 3; i++)
        at = at->next = (node *) ring_of_lost();
    at->next = first;
    node *self = (node *) lost_self();
    self->next = self;
    shared_ring_of_lost();
    void **holder = (void **) freed_holder();
    holder[10] = lost_in_freed();
    free(holder);
    static volatile uintptr_t mask = 0x5555555555555555;
    static volatile uintptr_t hidden = (uintptr_t) lost_hidden() ^ mask;
    (void) hidden;
}

static APART void lose_below_the_stack()
{
    void *volatile pointer[200];
    for (auto &each : pointer)
        each = nullptr;
    pointer[100] = lost_below_stack();
}

static pthread_key_t key;

static APART void end_soon()
{
    of_thread = lost_by_ended_thread();
    void *volatile pointer = lost_on_ended_stack();
    lost_of_other_arena();
    (void) pointer;
}

static std::atomic<int> waiting;

static APART void stay()
{
    of_thread = held_by_other_thread_local();
    pthread_setspecific(key, held_by_key());
    void *volatile pointer = held_by_other_stack();
    waiting++;
    for (;;)
        pause();
    (void) pointer;
}

/* It has the only pointer to a block in a register that calls preserve, and waits. */
static APART void wait_with_register(void *block)
{
    char byte;
#ifdef __aarch64__
    register void *kept asm("x19") = block;
    register long number asm("x8") = 63; /* read(0, &byte, 1) */
    register long result asm("x0") = 0;
    register void *to asm("x1") = &byte;
    register long bytes asm("x2") = 1;
    asm volatile("svc #0" : "+r"(result), "+r"(kept) : "r"(number), "r"(to), "r"(bytes) : "memory");
#else
    register void *kept asm("rbx") = block;
    long result;
    asm volatile("syscall" : "=a"(result), "+r"(kept) : "0"(0L), "D"(0L), "S"(&byte), "d"(1L) : "rcx", "r11", "memory");
#endif
    (void) kept;
}

int main()
{
    pthread_key_create(&key, nullptr);
    of_thread = held_by_thread_local();
    hold_simple();
    hold_mappings();
    hold_shapes();
    hold_inner();
    hold_between_free_chunks();
    lose();
    std::thread(end_soon).join();
    for (int i = 0; i < 3; i++)
        std::thread(stay).detach();
    while (waiting < 3)
        usleep(1000);
    void *volatile on_stack = held_by_main_stack();
    lose_below_the_stack();
    forget();
    puts("ready");
    fflush(stdout);
    wait_with_register(held_by_register());
    (void) on_stack;
}
