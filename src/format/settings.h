/* SPDX-License-Identifier: MIT */
/*
 * settings.h - the table of all settings of the runtime.
 *
 * A row gives: its name; its environment variable; the option of `plimsoll run` that sets it; the kind of its values,
 * their least and most (0: no limit) and an example; what the option takes; its default in words; one line of help. The
 * runtime parses the variables, the CLI the options, and help and docs print the table: these names are defined only
 * here. The row number is the bit in pl_header.bad_settings, so new rows go to the end.
 *
 * Kinds: SAMPLE is a size or the word exact or auto; PATTERN a file name with %p, %c, %t, %h; NAMES words separated by
 * commas; BUDGET a percentage, whose limits are in parts per million; TIME has limits in nanoseconds.
 */
#ifndef PL_SETTINGS_H
#define PL_SETTINGS_H

/* clang-format off */
#define PL_SETTINGS(X)                                                                                                 \
    X(SAMPLE, "PLIMSOLL_SAMPLE", "sample", SAMPLE, PL_SAMPLE_MIN, PL_SAMPLE_MAX, "512K", "BYTES|exact|auto", "auto",   \
      "mean bytes between samples, with K, M or G; `exact` counts every allocation; `auto` does so until that costs "  \
      "more than the overhead limit, then samples")                                                                    \
    X(OUT, "PLIMSOLL_OUT", "output", PATTERN, 0, 0, 0, "PATTERN", PL_OUT_DEFAULT,                                      \
      "file to write the profile to; %p is the pid, %c the command, %t the start time (Unix seconds), %h the host, "   \
      "%% a percent sign")                                                                                             \
    X(ONLY, "PLIMSOLL_ONLY", "only", NAMES, 0, 0, 0, "COMM[,COMM]", "every process",                                   \
      "profile only processes with one of these command names")                                                        \
    X(LIVE_DIR, "PLIMSOLL_LIVE_DIR", "live-dir", TEXT, 0, 0, 0, "DIRECTORY", "see `plimsoll help containers`",         \
      "directory of the profile while the program runs; `.` is the directory that it will end up in")                  \
    X(MAX_FILE, "PLIMSOLL_MAX_FILE", "max-file", SIZE, PL_MAX_FILE_MIN, PL_FILE_BYTES_MAX, "256M", "BYTES", "256M",    \
      "size limit of one profile; records beyond it are counted as lost")                                              \
    X(OFF, "PLIMSOLL_OFF", "off", FLAG, 0, 0, 0, "0|1", "0",                                                           \
      "start switched off: record nothing until the program calls plimsoll_start()")                                   \
    X(OVERHEAD, "PLIMSOLL_OVERHEAD", "overhead", BUDGET, PL_OVERHEAD_MIN_PPM, PL_OVERHEAD_MAX_PPM, "2%",               \
      "PERCENT", "2%",                                                                                                 \
      "limit on the CPU time of auto mode, relative to the program's, once the credit is spent")                       \
    X(SEED, "PLIMSOLL_SEED", "seed", COUNT, 0, 0, 0, "NUMBER", "from the system",                                      \
      "seed of the random gaps between samples, to repeat a run")                                                      \
    X(ABOVE, "PLIMSOLL_ABOVE", "above", SIZE, 0, 0, "4K", "BYTES", "0",                                                \
      "record stacks only for allocations of at least BYTES; smaller ones are counted as `(other sizes)`")             \
    X(BELOW, "PLIMSOLL_BELOW", "below", SIZE, 0, 0, "1M", "BYTES", "no limit",                                         \
      "record stacks only for allocations of at most BYTES; larger ones are counted as `(other sizes)`")               \
    X(MAX_TAGS, "PLIMSOLL_MAX_TAGS", "max-tags", COUNT, PL_TAGS_MIN, PL_TAGS_MAX, 0, "NUMBER", "16384",                \
      "limit on the number of tags; scopes of further tags are charged to the enclosing tag and counted as lost")      \
    X(MAX_THREADS, "PLIMSOLL_MAX_THREADS", "max-threads", COUNT, PL_THREADS_OWN_MIN, PL_THREADS_OWN_MAX, 0,            \
      "NUMBER", "256",                                                                                                 \
      "threads with figures of their own; later threads reuse the records of ended threads of the same name")          \
    X(SNAPSHOT_EVERY, "PLIMSOLL_SNAPSHOT_EVERY", 0,                                                                    \
      TIME, 1000000 * PL_SNAPSHOT_EVERY_MIN_MS, 1000000 * PL_SNAPSHOT_EVERY_MAX_MS, "10s", "TIME", "never",            \
      "interval of plimsoll_snapshot_if_due(), in seconds or with ms, s, m or h; at least 100ms")                      \
    X(RUN, "PLIMSOLL_RUN", 0, TEXT, 0, 0, 0, "DIRECTORY", "unset",                                                     \
      "set by `plimsoll run`: leave finished profiles in this directory, where it collects them")                      \
    X(CREDIT, "PLIMSOLL_CREDIT", "credit", TIME, 1000000 * PL_CREDIT_MIN_MS, 1000000 * PL_CREDIT_MAX_MS, "500ms",      \
      "TIME", "500ms; 100ms without `plimsoll run`",                                                                   \
      "CPU time that auto mode may spend on counting every allocation before the overhead limit applies")              \
    X(NO_MAPPINGS, "PLIMSOLL_NO_MAPPINGS", "no-mappings", FLAG, 0, 0, 0, "0|1", "0",                                   \
      "do not record what the program maps with mmap, mremap, shmat, brk and sbrk")                                    \
    X(PYTHON_OBJECTS, "PLIMSOLL_PYTHON_OBJECTS", "python-objects", FLAG, 0, 0, 0, "0|1", "0",                          \
      "heap `python`: the objects in CPython's arenas; without --exact or --sample, everything is sampled")
/* clang-format on */

enum pl_setting {
#define PL_ENUM(name, ...) PL_SETTING_##name,
    PL_SETTINGS(PL_ENUM)
#undef PL_ENUM
        PL_SETTING_COUNT
};

/*
 * The settings of the profiler inside glibc: the tunable of the same meaning in place of the option, and no kind.
 * The tunables must also be listed in src/glibc/patches. The bits in pl_header.bad_settings begin at
 * PL_GLIBC_FIRST, so that a new row of PL_SETTINGS does not move them.
 */
/* clang-format off */
#define PL_GLIBC_SETTINGS(X)                                                                                           \
    X(PROFILE, "GLIBC_MALLOC_PROFILE", "glibc.malloc.prof", "0|1", "0",                                                \
      "profile this process; without it, all other settings are ignored")                                              \
    X(BYTES, "GLIBC_MALLOC_PROFILE_BYTES", "glibc.malloc.prof_bytes", "BYTES|exact|auto", PL_SAMPLE_USUAL_TEXT,        \
      "mean bytes between samples, like PLIMSOLL_SAMPLE; 1 samples every allocation")                                  \
    X(OUT, "GLIBC_MALLOC_PROFILE_OUT", "glibc.malloc.prof_out", "PREFIX", "plimsoll.COMMAND",                          \
      "write the profile to PREFIX.PID.plim")                                                                          \
    X(STATS, "GLIBC_MALLOC_PROFILE_STATS", "glibc.malloc.prof_stats", "0|1", "0",                                      \
      "at exit, also write a plain-text summary to PREFIX.PID.stats")
/* clang-format on */

enum pl_glibc_setting {
    PL_GLIBC_FIRST = 28,
    PL_GLIBC_BEFORE = PL_GLIBC_FIRST - 1,
#define PL_ENUM(name, ...) PL_GLIBC_##name,
    PL_GLIBC_SETTINGS(PL_ENUM)
#undef PL_ENUM
};

_Static_assert((int) PL_SETTING_COUNT <= (int) PL_GLIBC_FIRST, "each setting needs its own bit in bad_settings");

/* Bounds of accepted values; the runtime and the CLI both check them. */
#define PL_SAMPLE_MIN 1ull
#define PL_SAMPLE_MAX (1ull << 40)
#define PL_SAMPLE_USUAL (512ull << 10) /* sampling interval, if none is given */
#define PL_SAMPLE_USUAL_TEXT "512K"
#define PL_OVERHEAD_DEFAULT_PPM 20000u /* 2% */
#define PL_OVERHEAD_MIN_PPM 100u       /* 0.01% */
#define PL_OVERHEAD_MAX_PPM 1000000u   /* 100% */
#define PL_TAGS_DEFAULT 16384u
#define PL_TAGS_MIN 1u
#define PL_TAGS_MAX (1u << 20)
#define PL_THREADS_OWN_DEFAULT 256u
#define PL_THREADS_OWN_MIN 1u
#define PL_THREADS_OWN_MAX 4096u
#define PL_SNAPSHOT_EVERY_MIN_MS 100u
#define PL_SNAPSHOT_EVERY_MAX_MS (366ull * 86400u * 1000u)
#define PL_MAX_FILE_DEFAULT (256ull << 20) /* a hole: costs nothing until it is used */
#define PL_MAX_FILE_MIN (256ull << 10)

/* Live profiles are in /dev/shm, unless one of these says that it is a bad place: see `plimsoll help containers`. */
#define PL_SHM "/dev/shm"
#define PL_SHM_SMALL (256ull << 20)       /* smaller than this; Docker and Kubernetes have 64 MiB */
#define PL_MEMORY_NO_LIMIT (1ull << 60)   /* cgroups of version 1 have no word for "none", but a number like this */
#define PL_CONTAINER_VARIABLE "container" /* set by systemd-nspawn, podman and lxc */
#define PL_KUBERNETES_VARIABLE "KUBERNETES_SERVICE_HOST"

/* The call charge K: sampling probability grows with size + K. See docs/maths.md. */
#define PL_CALL_CHARGE 64u

/* Auto mode: CPU time that exact counting may cost before the overhead limit applies. A person waits for `plimsoll run`
 * and would have to repeat a run whose figures are too uncertain, which takes longer than half a second. A preloaded
 * library may be part of a server that starts many processes. */
#define PL_CREDIT_PRELOAD_MS 100u
#define PL_CREDIT_RUN_MS 500u
#define PL_CREDIT_MIN_MS 1u
#define PL_CREDIT_MAX_MS 3600000ull

/* With several threads, each adds its allocated and freed bytes to the shared total in batches. A batch is a share of
 * the peak, within these bounds. */
#define PL_BATCH_LEAST 1024
#define PL_BATCH_BYTES 65536

/* What allocators call their malloc if they are linked into a program under names of their own. */
#define PL_LINKED_MALLOCS                                                                                              \
    "je_malloc", "_rjem_malloc", "_rjem_mallocx", "tc_malloc", "mi_malloc", "mi_malloc_aligned", "rpmalloc", "sn_malloc"

/* Default file name, and the suffix by which `plimsoll ls` recognises a mapped profile. */
#define PL_OUT_DEFAULT "plimsoll.%c.%p.plim"
#define PL_SUFFIX ".plim"

#endif
