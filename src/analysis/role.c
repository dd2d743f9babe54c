/* SPDX-License-Identifier: MIT */
/*
 * role.c - whose code a frame is: tables of patterns, and the order in which they apply.
 *
 * A pattern is a whole name, a prefix (`std::*`), a suffix (`*_main`) or a substring (`*_start_*`). It is compared with
 * the name before rules renamed it, without return type and parameters. Which functions belong to the allocator is
 * decided by rules (reader/builtin.c), because users add their own.
 */
#include "analysis/role.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/names/cxxname.h"
#include "reader/symbols/symbolize.h"

/* These call main or a thread's function. */
static const char *const starters[] = {
    "_start",  "__libc_start_main*", "__libc_start_call_main*", "_dl_start_user", "start_thread", "clone", "clone3",
    "__clone", "__clone3",           "std::rt::lang_start*",
};

/* Rust has about thirty frames between C's main and its own; this function marks where its own backtraces end. */
static const char *const thresholds[] = {"*::__rust_begin_short_backtrace*"};

/* Standard library code, whichever module it was compiled into. */
static const char *const library_functions[] = {
    "std::*",    "__gnu_cxx::*", "__cxxabiv1::*", "core::*",      "alloc::*",
    "<alloc::*", "<core::*",     "<std::*",       "hashbrown::*",
};
static const char *const library_files[] = {"/usr/include/*", "/usr/lib/gcc/*", "/usr/lib/llvm*", "/rustc/*"};
static const char *const library_modules[] = {"/lib/*", "/lib64/*", "/usr/lib/*", "/usr/lib64/*", "linux-vdso*", "[*"};
/* Where Python's own modules are, and those that are installed. */
static const char *const python_files[] = {"*/lib/python*", "*/site-packages/*", "*/dist-packages/*", "<frozen *"};
static const char *const library_programs[] = {"/bin/*",      "/sbin/*",    "/usr/bin/*",
                                               "/usr/sbin/*", "/usr/lib/*", "/usr/libexec/*"};
static const char *const runtime_modules[] = {
    "*/libc.so*",  "*/libm.so*",  "*/libpthread*",   "*/libdl.so*",  "*/librt.so*", "*/libstdc++*", "*/libc++*",
    "*/libgcc_s*", "*/ld-linux*", "*/libunwind.so*", "*/libresolv*", "*/libnss_*",  "linux-vdso*",  "[*"};
/* The libraries of glibc count as system libraries in any directory: `run --glibc` uses one from its own directory. */
static const char *const glibc_modules[] = {
    "*/libc.so.6",  "*/ld-linux-*", "*/libm.so.6",      "*/libmvec.so.1", "*/libpthread.so.0",
    "*/libdl.so.2", "*/librt.so.1", "*/libresolv.so.2", "*/libanl.so.1",  "*/libc_malloc_debug.so.0"};
static const char *const our_modules[] = {"*/libplimsoll.so*", "*/libplimsoll-cxx.so"};

/* What comes with a runtime, in methods and scripts that were compiled at run time. */
static const char *const managed_library_functions[] = {"java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*"};
static const char *const managed_library_files[] = {"node:*", "internal/*"};

static bool matches(const char *name, size_t name_bytes, const char *pattern)
{
    size_t bytes = strlen(pattern);
    bool front = pattern[0] == '*', back = pattern[bytes - 1] == '*';
    const char *core = pattern + front;
    size_t core_bytes = bytes - front - back;
    if (front && back)
        return memmem(name, name_bytes, core, core_bytes);
    if (name_bytes < core_bytes || (!front && !back && name_bytes > core_bytes))
        return false;
    return !memcmp(front ? name + name_bytes - core_bytes : name, core, core_bytes);
}

static bool listed(const char *name, size_t bytes, const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (matches(name, bytes, patterns[i]))
            return true;
    return false;
}
#define LISTED_PART(name, bytes, table) listed(name, bytes, table, sizeof table / sizeof *table)
#define LISTED(name, table) LISTED_PART(name, strlen(name), table)

/* The executable is always own code: a user who profiles python3 wants to see python3. Unless it executes Python code,
 * if it is installed in a system directory, so are its own libraries, and only the language runtimes count as system:
 * clang is little but libclang. */
static bool is_system(const struct pl_profile *profile, const char *path)
{
    bool installed = LISTED(profile->executable, library_programs) && profile->header.python == PL_PYTHON_NOT;
    if (!strcmp(path, profile->executable))
        return false;
    return LISTED(path, glibc_modules) ||
           (LISTED(path, library_modules) && (!installed || LISTED(path, runtime_modules)));
}

/* `void com.shop.Cart.add(int)`: a class and a method, as HotSpot writes them. */
static bool is_method(const char *name)
{
    const char *blank = strchr(name, ' '), *bracket = blank ? strchr(blank, '(') : NULL;
    return bracket && memchr(blank, '.', (size_t) (bracket - blank)) && !memchr(name, ':', (size_t) (bracket - name));
}

/* A method or script that was compiled at run time, by a compiler whose names we know: then the name as it was written
 * is the linkage name. Not what the compiler needs itself (`Interpreter`, `Builtin:ArrayMap`). */
static bool is_managed(const struct pl_profile *profile, uint32_t module, const struct pl_place *place)
{
    if (*profile->module[module].path)
        return false;
    return *place->linkage || is_method(place->original ? place->original : place->function);
}

bool pl_role_is_managed(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->frames; i++)
        if (profile->frame[i].places && is_managed(profile, profile->frame[i].module, profile->frame[i].place))
            return true;
    return false;
}

/* A program that runs managed code: its native code is the runtime's, but for libraries that came with the program. */
static bool is_of_runtime(const struct pl_profile *profile, uint32_t module, const struct pl_place *place,
                          struct pl_cxxname_part name)
{
    const char *path = profile->module[module].path;
    if (*path)
        return !strcmp(path, profile->executable) || LISTED(path, library_modules);
    return !is_managed(profile, module, place) || LISTED_PART(name.text, name.bytes, managed_library_functions) ||
           LISTED(place->file, managed_library_files);
}

enum pl_role pl_role_of(const struct pl_profile *profile, bool managed, uint32_t module, const struct pl_place *place)
{
    const char *path = profile->module[module].path;
    struct pl_cxxname_part name = pl_cxxname_bare(place->original ? place->original : place->function);
    if (!strcmp(path, PL_MODULE_PYTHON))
        return LISTED(place->file, python_files) ? PL_ROLE_LIBRARY : PL_ROLE_OWN;
    if (place->allocator || LISTED(path, our_modules))
        return PL_ROLE_ALLOCATOR;
    if (LISTED_PART(name.text, name.bytes, thresholds))
        return PL_ROLE_THRESHOLD;
    if (LISTED_PART(name.text, name.bytes, starters))
        return PL_ROLE_START;
    if ((managed && is_of_runtime(profile, module, place, name)) || is_system(profile, path) ||
        LISTED(path, python_files) || LISTED_PART(name.text, name.bytes, library_functions) ||
        LISTED(place->file, library_files))
        return PL_ROLE_LIBRARY;
    return PL_ROLE_OWN;
}

enum pl_language pl_language_of(const struct pl_profile *profile, uint32_t module, const struct pl_place *place)
{
    static const enum pl_language of_kind[] = {
        [PL_JIT_OTHER] = PL_LANGUAGE_RUN_TIME,
        [PL_JIT_SCRIPT] = PL_LANGUAGE_JAVASCRIPT,
        [PL_JIT_PYTHON] = PL_LANGUAGE_PYTHON,
        [PL_JIT_METHOD] = PL_LANGUAGE_JAVA,
    };
    const char *path = profile->module[module].path;
    if (!strcmp(path, PL_MODULE_PYTHON))
        return PL_LANGUAGE_PYTHON;
    if (*path || !*place->function) /* in no file, and without a name: nobody knows */
        return PL_LANGUAGE_NATIVE;
    return is_method(place->original ? place->original : place->function) ? PL_LANGUAGE_JAVA
                                                                          : of_kind[pl_jit_kind(place->linkage)];
}
