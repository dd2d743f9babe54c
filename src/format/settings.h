/* SPDX-License-Identifier: MIT */
/*
 * settings.h - every setting of the runtime, once.
 *
 * A row gives: its name; its environment variable; the option of `plimsoll run` that sets it; what the option takes;
 * its default in words; one line of help. The runtime parses the variables, the CLI the options, and help and docs
 * print the table: nobody else spells these names. The row number is the bit in pl_header.bad_settings.
 */
#ifndef PL_SETTINGS_H
#define PL_SETTINGS_H

/* clang-format off */
#define PL_SETTINGS(X)                                                                                                 \
    X(SAMPLE,   "PLIMSOLL_SAMPLE",   "sample",   "BYTES|exact|auto", "auto",                                           \
      "mean number of bytes between samples, with K, M or G; `exact` counts every allocation; `auto` does so while that costs less than the overhead allowed, then samples ever more coarsely") \
    X(OUT,      "PLIMSOLL_OUT",      "output",   "PATTERN", "plimsoll.%c.%p.plim",                                     \
      "where the profile goes; %p is the pid, %c the command, %t the start time (seconds since 1970), %h the host, %% a percent sign")      \
    X(ONLY,     "PLIMSOLL_ONLY",     "only",     "COMM[,COMM]", "every process",                                       \
      "profile only processes whose command name is COMM, among all that the program starts")                          \
    X(LIVE_DIR, "PLIMSOLL_LIVE_DIR", "live-dir", "DIRECTORY", "/dev/shm, else $XDG_RUNTIME_DIR",                       \
      "where the profile lives while the program runs; `.` keeps it at its destination from the start")                \
    X(MAX_FILE, "PLIMSOLL_MAX_FILE", "max-file", "BYTES", "64M",                                                       \
      "bound on the size of one profile; what finds no room is counted as lost")                                       \
    X(OFF,      "PLIMSOLL_OFF",      "off",      "0|1", "0",                                                           \
      "start switched off: take no samples until told to")                                                             \
    X(OVERHEAD, "PLIMSOLL_OVERHEAD", "overhead", "PERCENT", "2%",                                                      \
      "how much of the program's CPU time auto mode may cost, after a credit of 0.1 s")                                \
    X(SEED,     "PLIMSOLL_SEED",     "seed",     "NUMBER", "from the system",                                          \
      "seed of the random gaps between samples, to repeat a run")                                                      \
    X(ABOVE,    "PLIMSOLL_ABOVE",    "above",    "BYTES", "0",                                                         \
      "record stacks only of allocations of at least BYTES; smaller ones are counted together, as `(other sizes)`")     \
    X(BELOW,    "PLIMSOLL_BELOW",    "below",    "BYTES", "no bound",                                                  \
      "record stacks only of allocations of at most BYTES; larger ones are counted together, as `(other sizes)`")       \
    X(MAX_TAGS, "PLIMSOLL_MAX_TAGS", "max-tags", "NUMBER", "16384",                                                    \
      "bound on the number of tags; scopes beyond it are charged to the tag around them, and counted as lost")         \
    X(MAX_THREADS, "PLIMSOLL_MAX_THREADS", "max-threads", "NUMBER", "256",                                             \
      "threads that get figures of their own; beyond it, new ones share those of ended ones of the same name")         \
    X(SNAPSHOT_EVERY, "PLIMSOLL_SNAPSHOT_EVERY", 0, "TIME", "never",                                                   \
      "how often plimsoll_snapshot_if_due() takes a snapshot, in seconds or with ms, s, m or h; at least 100ms")                           \
    X(RUN,      "PLIMSOLL_RUN",      0,          "DIRECTORY", "unset",                                                 \
      "set by `plimsoll run` for its children: leave finished profiles in this directory, it will collect them")
/* clang-format on */

enum pl_setting {
#define PL_ENUM(name, variable, option, takes, fallback, help) PL_SETTING_##name,
    PL_SETTINGS(PL_ENUM)
#undef PL_ENUM
        PL_SETTING_COUNT
};

/*
 * The variables of the profiler inside glibc, each with the tunable that it is another name of; the same otherwise. Its
 * list of tunables (src/glibc/patches) has to spell them too. Their bits in pl_header.bad_settings follow the others'.
 */
/* clang-format off */
#define PL_GLIBC_SETTINGS(X)                                                                                           \
    X(PROFILE, "GLIBC_MALLOC_PROFILE",       "glibc.malloc.prof",       "0|1", "0",                                     \
      "profile this process: without it the profiler inside glibc does nothing, whatever else is set")                 \
    X(BYTES,   "GLIBC_MALLOC_PROFILE_BYTES", "glibc.malloc.prof_bytes", "BYTES|exact|auto", PL_SAMPLE_USUAL_TEXT,       \
      "mean number of bytes between samples, as PLIMSOLL_SAMPLE; 1 samples every allocation")                          \
    X(OUT,     "GLIBC_MALLOC_PROFILE_OUT",   "glibc.malloc.prof_out",   "PREFIX", "plimsoll.COMMAND",                  \
      "the profile goes to PREFIX.PID.plim")                                                                           \
    X(STATS,   "GLIBC_MALLOC_PROFILE_STATS", "glibc.malloc.prof_stats", "0|1", "0",                                     \
      "at the end, also write a summary in plain text, beside the profile: PREFIX.PID.stats")
/* clang-format on */

enum pl_glibc_setting {
    PL_GLIBC_BEFORE = PL_SETTING_COUNT - 1,
#define PL_ENUM(name, variable, tunable, takes, fallback, help) PL_GLIBC_##name,
    PL_GLIBC_SETTINGS(PL_ENUM)
#undef PL_ENUM
};

/* Bounds within which a value is accepted; both sides check them. */
#define PL_SAMPLE_MIN 1ull
#define PL_SAMPLE_MAX (1ull << 40)
#define PL_SAMPLE_USUAL (512ull << 10) /* where samples are taken, and nobody said how many */
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
#define PL_MAX_FILE_DEFAULT (64ull << 20)
#define PL_MAX_FILE_MIN (256ull << 10)

/* The call charge K: sampling probability grows with size + K. See docs/maths.md. */
#define PL_CALL_CHARGE 64u

/* Auto mode: CPU time that exact counting may cost before the budget counts. */
#define PL_AUTO_CREDIT_NS 100000000ull

/* With several threads, each may keep so many bytes of allocations or frees to itself before the others know: at least
 * the one, at most the other, and in between a share of the peak. */
#define PL_BATCH_LEAST 1024
#define PL_BATCH_BYTES 65536

/* Default file name, and the suffix by which `plimsoll ls` knows a mapped profile. */
#define PL_OUT_DEFAULT "plimsoll.%c.%p.plim"
#define PL_SUFFIX ".plim"

#endif
