/* SPDX-License-Identifier: MIT */
/*
 * reload.c - loads and unloads modules, so that different code has the same address; in one thread, and in several
 * while others allocate.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "allocate.h"

#define PLUGINS 2
static const char *const plugins[PLUGINS] = {PLUGIN_SMALL, PLUGIN_LARGE};

static void *symbol(void *handle, const char *name)
{
    void *found = handle ? dlsym(handle, name) : NULL;
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void *use_plugin(int i)
{
    void *handle = dlopen(plugins[i % PLUGINS], RTLD_NOW);
    void *(*entry)(int) = (void *(*) (int) ) symbol(handle, "plugin_allocate");
    for (int k = 0; k < 5; k++)
        free(entry(7 + k));
    dlclose(handle);
    return (void *) entry;
}

static void reload(int times)
{
    int same = 0;
    void *before = NULL;
    for (int i = 0; i < times; i++) {
        void *entry = use_plugin(i);
        same += entry == before;
        before = entry;
    }
    if (same < times / 2) { /* too few for a meaningful test */
        fprintf(stderr, "only %d of %d at the same address\n", same, times);
        exit(1);
    }
}

static void lazy_binding(int times)
{
    for (int i = 0; i < times; i++) {
        void *handle = dlopen(LAZY, RTLD_LAZY);
        void (*call)(int) = (void (*)(int)) symbol(handle, "call_lazily");
        call(i);
        dlclose(handle);
    }
}

static volatile int finished;

static NOINLINE void descend(int depth)
{
    if (depth > 0)
        descend(depth - 1);
    else
        allocate(7);
    sink++;
}

static void *allocate_meanwhile(void *unused)
{
    for (int i = 0; !finished; i++)
        descend(i % 17);
    return unused;
}

static void *reload_meanwhile(void *argument)
{
    for (int i = 0; i < *(int *) argument; i++)
        use_plugin(i);
    return NULL;
}

static void reload_in_threads(int times)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, allocate_meanwhile, NULL);
    pthread_create(&threads[1], NULL, reload_meanwhile, &times);
    pthread_create(&threads[2], NULL, reload_meanwhile, &times);
    pthread_join(threads[1], NULL);
    pthread_join(threads[2], NULL);
    finished = 1;
    pthread_join(threads[0], NULL);
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        {"reload", reload},
        {"lazy", lazy_binding},
        {"threads", reload_in_threads},
    };
    return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
