/* SPDX-License-Identifier: MIT */
/*
 * test_oom.c - kills for lack of memory, and containers, told from files as the kernel and container runtimes write
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cli/run/oom.h"
#include "cli/run/place.h"
#include "cli/say.h"
#include "format/settings.h"

static char root[] = "/tmp/plimsoll-oom.XXXXXX";

static int make_root(void **state)
{
    (void) state;
    strcpy(strrchr(root, '.'), ".XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void) state;
    char *command = pl_say_print("rm -r %s", root);
    int status = system(command);
    free(command);
    return status;
}

/* Writes a file below the root, and makes its directories. */
static void put(const char *path, const char *text)
{
    char *whole = pl_say_print("%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(whole);
}

#define MIB (1ull << 20)

static void assert_why(const struct pl_oom *before, uint64_t rss_bytes, const char *expected)
{
    struct pl_oom after = pl_oom_read(root);
    char *why = pl_oom_why(before, &after, rss_bytes);
    if (expected && why)
        assert_string_equal(why, expected);
    else
        assert_true(!expected == !why);
    free(why);
}

static void a_kill_in_a_cgroup_of_version_2_is_recognised(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "0::/user.slice/build\n");
    put("/proc/vmstat", "nr_free_pages 1\noom_kill 7\noom_kill_like 99\n");
    put("/sys/fs/cgroup/user.slice/build/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/memory.max", "419430400\n");
    put("/sys/fs/cgroup/user.slice/build/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n");
    struct pl_oom before = pl_oom_read(root);
    assert_true(before.cgroup_known && before.cgroup_kills == 2 && before.limit_bytes == 400 * MIB);
    assert_true(before.machine_known && before.machine_kills == 7);
    assert_why(&before, 398 * MIB, NULL); /* the kernel would have counted it: somebody else sent the signal */
    put("/sys/fs/cgroup/user.slice/build/memory.events", "oom 2\noom_kill 3\n");
    assert_why(&before, 398 * MIB, "probably out of memory (OOM killer): cgroup limit 400 MiB, RSS at most 398 MiB");
    put("/sys/fs/cgroup/user.slice/memory.peak", "419426304\n");
    assert_why(&before, 398 * MIB,
               "probably out of memory (OOM killer): cgroup limit 400 MiB, usage at most 400 MiB, RSS at most 398 MiB");
}

static void assert_place(const char *expected)
{
    char *why = pl_place_why(root);
    if (expected && why)
        assert_string_equal(why, expected);
    else
        assert_true(!expected == !why);
    free(why);
}

static void live_profiles_are_on_disk_under_a_memory_limit_and_in_a_container(void **state)
{
    (void) state;
    unsetenv(PL_CONTAINER_VARIABLE);
    unsetenv(PL_KUBERNETES_VARIABLE);
    assert_place(NULL);
    put("/proc/self/cgroup", "0::/user.slice/build\n");
    put("/sys/fs/cgroup/user.slice/build/memory.max", "max\n");
    assert_place(NULL);
    put("/sys/fs/cgroup/user.slice/memory.max", "419430400\n");
    assert_place("/dev/shm counts towards the memory limit of 400 MiB here");
    setenv(PL_KUBERNETES_VARIABLE, "10.0.0.1", 1);
    assert_place("this is a container ($KUBERNETES_SERVICE_HOST), and its /dev/shm is lost with it");
    unsetenv(PL_KUBERNETES_VARIABLE);
    put("/run/.containerenv", "");
    assert_place("this is a container (/run/.containerenv), and its /dev/shm is lost with it");
}

static void a_kill_in_a_cgroup_of_version_1_is_recognised(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/build\n0::/\n");
    put("/sys/fs/cgroup/memory/build/memory.limit_in_bytes", "104857600\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/build/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    struct pl_oom before = pl_oom_read(root);
    assert_true(before.cgroup_known && before.cgroup_kills == 0 && before.limit_bytes == 100 * MIB);
    put("/sys/fs/cgroup/memory/build/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    assert_why(&before, 60 * MIB, "probably out of memory (OOM killer): cgroup limit 100 MiB, RSS at most 60.0 MiB");
}

static void in_a_container_the_root_of_the_mount_is_our_cgroup(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "0::/outside/of/it\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    put("/sys/fs/cgroup/memory.events", "oom_kill 4\n");
    struct pl_oom before = pl_oom_read(root);
    assert_true(before.cgroup_known && before.cgroup_kills == 4 && before.limit_bytes == 100 * MIB);
}

static void a_kill_on_the_machine_is_a_hint_without_a_cgroup(void **state)
{
    (void) state;
    put("/proc/vmstat", "oom_kill 7\n");
    struct pl_oom before = pl_oom_read(root);
    assert_true(!before.cgroup_known && !before.limit_bytes);
    assert_why(&before, 5000 * MIB, NULL);
    put("/proc/vmstat", "oom_kill 8\n");
    assert_why(
        &before, 5000 * MIB,
        "probably out of memory (OOM killer): the kernel killed a process for that reason meanwhile; RSS at most "
        "4.9 GiB");
}

static void without_counters_a_program_that_reached_its_limit_is_suspect(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    struct pl_oom before = pl_oom_read(root);
    assert_why(&before, 50 * MIB, NULL);
    assert_why(&before, 99 * MIB, "probably out of memory (OOM killer): cgroup limit 100 MiB, RSS at most 99.0 MiB");
}

static void without_any_file_nothing_is_claimed(void **state)
{
    (void) state;
    struct pl_oom before = pl_oom_read(root);
    assert_true(!before.cgroup_known && !before.machine_known && !before.limit_bytes);
    assert_why(&before, 5000 * MIB, NULL);
}

#define TEST(claim) cmocka_unit_test_setup_teardown(claim, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kill_in_a_cgroup_of_version_2_is_recognised),
        TEST(a_kill_in_a_cgroup_of_version_1_is_recognised),
        TEST(in_a_container_the_root_of_the_mount_is_our_cgroup),
        TEST(a_kill_on_the_machine_is_a_hint_without_a_cgroup),
        TEST(without_counters_a_program_that_reached_its_limit_is_suspect),
        TEST(without_any_file_nothing_is_claimed),
        TEST(live_profiles_are_on_disk_under_a_memory_limit_and_in_a_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
