/* SPDX-License-Identifier: MIT */
/*
 * kinds.cpp - one way to lose or to hold blocks, chosen by its name; then it exits. Without a name it lists them:
 * `NAME LOST-BLOCKS LOST-BYTES`. It is built twice, as it is and with LeakSanitizer.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct node {
    node *next, *other;
    char text[32];
};

/* Not static: the compiler would leave out variables that nobody reads. */
void *global[64];
uintptr_t hidden;
thread_local void *of_thread;
static pthread_key_t key;
static pthread_barrier_t barrier;

static APART void *make(size_t bytes)
{
    void *block = calloc(1, bytes);
    asm volatile("" : "+r"(block));
    return block;
}

static APART node *make_node(node *next = nullptr, node *other = nullptr)
{
    node *made = (node *) make(sizeof(node));
    made->next = next;
    made->other = other;
    return made;
}

static APART node *make_list(int length)
{
    node *first = nullptr;
    while (length--)
        first = make_node(first);
    return first;
}

static APART node *make_tree(int depth)
{
    return depth ? make_node(make_tree(depth - 1), make_tree(depth - 1)) : nullptr;
}

static APART node *make_ring(int length)
{
    node *first = make_list(length), *last = first;
    while (last->next)
        last = last->next;
    last->next = first;
    return first;
}

static APART void drop(void *block)
{
    asm volatile("" : : "r"(block) : "memory");
}

struct peer {
    std::shared_ptr<peer> other;
};
struct first_base {
    virtual ~first_base() = default;
    long a = 1;
};
struct second_base {
    virtual ~second_base() = default;
    long b = 2;
};
struct both : first_base, second_base {
};
struct with_destructor {
    ~with_destructor()
    {
        value = 0;
    }
    long value = 7;
};

static void in_thread(void (*work)(), bool stays)
{
    struct start {
        void (*work)();
        bool stays;
    };
    static start given;
    given = {work, stays};
    pthread_t thread;
    pthread_barrier_init(&barrier, nullptr, 2);
    pthread_create(
        &thread, nullptr,
        [](void *) -> void * {
            given.work();
            pthread_barrier_wait(&barrier);
            while (given.stays)
                pause();
            return nullptr;
        },
        nullptr);
    pthread_barrier_wait(&barrier);
    if (!stays)
        pthread_join(thread, nullptr);
}

static const struct kind {
    const char *name;
    int blocks;
    size_t bytes;
    void (*work)();
} kinds[] = {
    {"one_block", 1, 100, [] { drop(make(100)); }},
    {"hundred_blocks", 100, 100 * 33,
     [] {
         for (int i = 0; i < 100; i++)
             drop(make(33));
     }},
    {"large_block", 1, 5 << 20, [] { drop(make(5 << 20)); }},
    {"list", 10, 10 * sizeof(node), [] { drop(make_list(10)); }},
    {"tree", 31, 31 * sizeof(node), [] { drop(make_tree(5)); }},
    {"ring", 6, 6 * sizeof(node), [] { drop(make_ring(6)); }},
    {"list_into_ring", 9, 9 * sizeof(node), [] { drop(make_node(make_node(make_node(make_ring(6))))); }},
    {"self", 1, sizeof(node),
     [] {
         node *self = make_node();
         self->next = self;
         drop(self);
     }},
    {"shared_ptr_ring", 2, 2 * (sizeof(peer) + 16),
     [] {
         auto a = std::make_shared<peer>(), b = std::make_shared<peer>();
         a->other = b;
         b->other = a;
     }},
    {"overwritten", 1, 60,
     [] {
         global[0] = make(60);
         drop(global[0]);
         global[0] = make(61);
     }},
    {"grown", 1, 30000,
     [] {
         void *block = make(10);
         for (size_t n = 30; n <= 30000; n *= 10)
             block = realloc(block, n);
         drop(block);
     }},
    {"in_freed_block", 1, 70,
     [] {
         void **holder = (void **) make(500);
         holder[20] = make(70);
         free(holder);
     }},
    {"hidden", 1, 80, [] { hidden = (uintptr_t) make(80) ^ 0x5555555555555555; }},
    {"lost_points_to_held", 1, sizeof(node),
     [] {
         node *held = make_node();
         global[0] = held;
         drop(make_node(held));
     }},
    {"of_ended_thread", 1, 90, [] { in_thread([] { of_thread = make(90); }, false); }},
    {"on_ended_stack", 1, 91,
     [] {
         in_thread(
             [] {
                 void *volatile on_stack = make(91);
                 drop(on_stack);
             },
             false);
     }},
    {"held_by_variable", 0, 0, [] { global[5] = make(100); }},
    {"held_list", 0, 0, [] { global[5] = make_list(100); }},
    {"held_tree", 0, 0, [] { global[5] = make_tree(6); }},
    {"held_ring", 0, 0, [] { global[5] = make_ring(6); }},
    {"held_by_mapping", 0, 0,
     [] {
         void **room = (void **) mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         room[1000] = make(48);
         global[0] = room;
     }},
    {"held_by_thread_local", 0, 0, [] { of_thread = make(77); }},
    {"held_by_other_thread", 0, 0, [] { in_thread([] { of_thread = make(78); }, true); }},
    {"held_by_key", 0, 0,
     [] {
         pthread_key_create(&key, nullptr);
         pthread_setspecific(key, make(79));
     }},
    {"held_containers", 0, 0,
     [] {
         auto held = new std::map<int, std::vector<std::string>>;
         for (int i = 0; i < 50; i++)
             (*held)[i].assign(3, std::string(100, 'x'));
         global[1] = held;
     }},
    {"held_by_environment", 0, 0, [] { setenv("KEPT_BY_ENVIRON", "a value that is long enough to be a block", 1); }},
    {"held_by_middle", 0, 0, [] { global[2] = (char *) make(200) + 120; }},
    {"held_by_second_base", 0, 0, [] { global[2] = static_cast<second_base *>(new both); }},
    {"held_array_with_cookie", 0, 0, [] { global[2] = new with_destructor[10]; }},
    {"held_by_tagged_pointer", 0, 0, [] { global[2] = (void *) ((uintptr_t) make(40) | 1); }},
};

/* Where stale pointers may be. */
static APART void forget()
{
    volatile char scratch[64 << 10];
    memset((void *) scratch, 0, sizeof scratch);
}

int main(int argc, char **argv)
{
    for (const kind &each : kinds) {
        if (argc < 2)
            printf("%s %d %zu\n", each.name, each.blocks, each.bytes);
        else if (!strcmp(argv[1], each.name))
            each.work();
    }
    forget();
}
