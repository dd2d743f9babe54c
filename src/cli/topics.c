/* SPDX-License-Identifier: MIT */
/*
 * topics.c - what no single command explains.
 */
#include "help.h"

const struct pl_topic pl_topics[] = {
    {"environment", "the PLIMSOLL_* variables, for programs that are not started by `plimsoll run`",
     "A program is profiled when libplimsoll.so is preloaded: `LD_PRELOAD=/path/to/libplimsoll.so ./server`. These "
     "variables then say how; `plimsoll run` sets them from its options, and options win over variables. A value that "
     "is "
     "not understood is ignored, and the report names the variable. Without `run` a file that exists is never "
     "replaced: "
     "the new profile gets a suffix, the pid or a number. The CLI itself looks at PLIMSOLL_LIBRARY (the "
     "libplimsoll.so that `run` preloads), PLIMSOLL_NAMES, NO_COLOR, COLUMNS and DEBUGINFOD_URLS."},
    {"figures", "which figures are exact, and what ± means",
     "`plimsoll run` counts every allocation and every free, with its stack, as long as it can afford to: until "
     "counting has cost a tenth of a second of CPU time and more than --overhead (2%) of what the program uses. So "
     "small programs are counted to the end, and every figure of theirs is exact. From then on samples are taken, as "
     "many as the budget allows, and counting resumes when it is cheap enough again; what was counted and what was "
     "sampled add up. `plimsoll run --exact` counts to the end whatever it costs; `--sample 512K` takes samples from "
     "the start, which costs next to nothing. The second line of a report says which it was.\n"
     "\n"
     "Exact figures have no ±. Calls and requested bytes, per process, thread and tag, are exact in any case; where "
     "samples are taken of a process that is running, or was killed, up to each thread's last look, at most one "
     "sampling interval ago. What was sampled is an estimate: an allocation is sampled with a probability that grows "
     "with its size, and each sample "
     "stands for as many allocations as it was unlikely to be taken. The estimates are unbiased. ± is half the width "
     "of "
     "a 95% interval: of a hundred such intervals about ninety-five contain the truth. \"At most\" stands where every "
     "sample was freed: so much may be live unseen. More samples make ± narrower: n samples give about ±200/√n "
     "percent.\n"
     "\n"
     "\"About\" is said of what is read off a histogram whose buckets double in size: half of all sizes (p50) lie "
     "below "
     "about 48 B. With several threads the peak is exact to within what each thread may keep to itself, which "
     "`plimsoll report --peak` states."},
    {"files", "where profiles live and where they go",
     "While a process runs, its profile is a mapped file on tmpfs: in /dev/shm, or in $XDG_RUNTIME_DIR, or else at its "
     "destination. When it has ended, `plimsoll run` moves the file to the directory in which it was started, or to "
     "where --output says; without `run` the process does so itself, at exit. After a kill -9 without `run` the file "
     "stays where it is: `plimsoll ls` lists it, and `plimsoll report PID` reads it.\n"
     "\n"
     "The profile is written as the program goes, so nothing is lost by a crash, and it may be read at any time: "
     "`plimsoll report PID`. What nobody may do is cut a live profile short: the process has it mapped, and dies of "
     "SIGBUS when it writes to pages that are gone. To delete it costs the profile, not the process."},
    {"names", "rules that make names simpler and stacks shorter",
     "Names are simplified by rules before anything is grouped, in every report and every export: first those that are "
     "built in, then those of a file, in their order. The file is that of --names, else $PLIMSOLL_NAMES, else "
     "$XDG_CONFIG_HOME/plimsoll/names (~/.config/plimsoll/names). `--names none` turns all rules off, and `report "
     "--full-names` leaves names alone. A line is a rule, or a comment after #:\n"
     "\n"
     "`spell REGEX => TEXT`: what matches becomes TEXT, wherever in a name; \\0 is all of it, \\1 to \\9 are groups.\n"
     "\n"
     "`rename REGEX => TEXT`: likewise, but in the function's name alone; return type and parameters are left out.\n"
     "\n"
     "`join REGEX => TEXT`: as rename, and functions that so get one name are one, without files and lines.\n"
     "\n"
     "`strip REGEX`: template arguments that match as a whole are left out, but never the first.\n"
     "\n"
     "`allocator REGEX`: such functions only hand memory on; reports begin with their callers.\n"
     "\n"
     "`drop REGEX`: such frames are left out.\n"
     "\n"
     "`cut REGEX`: stacks end at such a frame; its callers are left out.\n"
     "\n"
     "`no-defaults`: without the rules that are built in.\n"
     "\n"
     "Regular expressions are POSIX's extended ones. All but those of spell and strip see names as reports print them, "
     "without return type and parameters, and the whole name if nothing is found there. See docs/names.md."},
    {"nothing", "why nothing was recorded",
     "The profiler gets into a program by way of LD_PRELOAD. It does not get in, and the program runs as it always "
     "does, "
     "when the program is statically linked (see `plimsoll help static`); when it is setuid, setgid or has file "
     "capabilities, for which the loader ignores LD_PRELOAD; when it has 32 bits, or another C library than glibc; "
     "when "
     "it was started with a cleared environment (env -i, sudo, su, a service manager); or when --only named other "
     "programs.\n"
     "\n"
     "It gets in but sees little when the program brings its own malloc (an allocator linked in statically), and it "
     "records nothing when there is no place for the file. `plimsoll run` says which of these it was."},
    {"static", "how to profile a statically linked program",
     "A static program has no loader that could preload anything. Link it dynamically, or link the profiler in: build "
     "it without -static and with -lplimsoll. A program that is dynamic but has an allocator linked in (libjemalloc.a, "
     "libtcmalloc.a) calls that one directly: link the allocator as a shared library, or leave it out and preload it "
     "behind Plimsoll, which then keeps it: `LD_PRELOAD=libjemalloc.so.2 plimsoll run -- ./server`."},
    {"tags", "what the memory is for: tags, in a program and in reports",
     "A stack says where memory comes from; a tag says what it is for. A program names tags itself, with plimsoll.h: "
     "what a thread allocates between plimsoll_push(\"request\") and plimsoll_pop() is charged to `request`, by "
     "whomever it is freed. Tags nest: `parse` inside of it is `request/parse`. Nothing is linked, and without "
     "Plimsoll it costs a test and a branch; but code compiled with -fno-pic does not see Plimsoll unless it is linked "
     "with -lplimsoll-stub. C++ has plimsoll.hpp, and docs/api.md explains all of it.\n"
     "\n"
     "`plimsoll report --by tag` shows the tree: total is a tag with all that is below it, self is what was allocated "
     "under it and no other. `work  ×500` is a tag that is entered inside of itself, so deep: by recursion, or because "
     "a plimsoll_pop() is missing. Small tags are taken together: --threshold, --top and --depth say what is shown. "
     "Calls, bytes and how often a tag was entered are exact in every mode, sampled ones too; "
     "what is live, what was freed and what was live at the peak is exact where all was counted, and estimated, with "
     "±, where samples were taken. --freed shows the blocks and bytes that were freed, --functions the calls of each "
     "allocation function. ▶ marks the hot path: from the top, each step has at least half of the one above.\n"
     "\n"
     "`--tag NAME` limits any view to a tag and what is below it: a name (parse), a path (request/parse) or the end of "
     "one. Names are whole: Func is not FuncLong. A slash in front begins at the root: /parse is not request/parse. "
     "`--thread REGEX` limits it to threads, by name. `--merge-threads 'worker-.*'` takes threads together.\n"
     "\n"
     "Names in parentheses are Plimsoll's own. (no tag) is what was allocated outside of all tags; (off) while "
     "Plimsoll was switched off, and (paused) while a thread had paused it: counted, with nothing else known. (other "
     "sizes) stands for the stacks of allocations that --above and --below left out."},
    {NULL, NULL, NULL},
};
