/* SPDX-License-Identifier: MIT */
/*
 * role.c - whose code a frame is: three tables of patterns, and the order in which they are asked.
 *
 * A pattern is a whole name, a beginning (`g_malloc*`), an end (`*::_M_create`) or a part (`*_M_allocate*`). Names are
 * compared as demangled, so parameters belong to them: `operator new*`.
 */
#include "role.h"

#include <stdbool.h>
#include <string.h>

/* Functions that only hand memory on. What they are called with is not their own idea. */
static const char *const allocators[] = {
    /* C and POSIX */
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_memalign",
    "__interceptor_*",
    /* C++ */
    "operator new*",
    "std::allocator*",
    "std::__new_allocator*",
    "__gnu_cxx::new_allocator*",
    "__gnu_cxx::__alloc*",
    "std::allocator_traits*",
    "*::_M_allocate*",
    "*::_M_create*",
    "*::_M_get_node*",
    "*::_M_create_node*",
    "*::_M_allocate_node*",
    "std::__allocate_guarded*",
    "std::__detail::_Hashtable_alloc*",
    "std::__1::allocator*",
    "std::__1::__libcpp_allocate*",
    "std::__1::__libcpp_operator_new*",
    "std::get_temporary_buffer*",
    /* Rust */
    "__rust_alloc*",
    "__rust_realloc*",
    "__rdl_*",
    "__rg_*",
    "alloc::alloc::*",
    "<alloc::alloc::Global*",
    "alloc::raw_vec::*",
    "*::exchange_malloc*",
    "std::sys::alloc::*",
    "*GlobalAlloc>::*",
    /* wrappers that die or count */
    "xmalloc*",
    "xcalloc*",
    "xrealloc*",
    "xstrdup*",
    "xstrndup*",
    "xmemdup*",
    "xzalloc*",
    "do_xmalloc*",
    "safe_malloc*",
    "zmalloc*",
    "zcalloc*",
    "zrealloc*",
    "ztrymalloc*",
    "ztrycalloc*",
    "ztryrealloc*",
    "s_malloc",
    "my_malloc*",
    /* allocators and pools by their public names */
    "je_*",
    "mallocx",
    "rallocx",
    "tc_*",
    "mi_*",
    "_mi_*",
    "g_malloc*",
    "g_realloc*",
    "g_try_malloc*",
    "g_slice_alloc*",
    "g_slice_copy",
    "g_strdup*",
    "g_memdup*",
    "talloc_*",
    "_talloc_*",
    "apr_palloc*",
    "CRYPTO_malloc*",
    "CRYPTO_zalloc*",
    "CRYPTO_realloc*",
    "OPENSSL_malloc*",
    "av_malloc*",
    "av_realloc*",
    "av_calloc*",
    "ngx_alloc*",
    "ngx_calloc*",
    "uv__malloc*",
    "uv__calloc*",
    "uv__realloc*",
    "xmlMalloc*",
    "SDL_malloc*",
    /* interpreters */
    "PyObject_Malloc*",
    "PyObject_Calloc*",
    "PyObject_Realloc*",
    "PyMem_*",
    "_PyMem_*",
    "_PyObject_Malloc*",
    "_PyObject_Calloc*",
    "_PyObject_Realloc*",
    "pymalloc_alloc*",
    "new_arena",
    "allocate_from_new_pool",
    "_PyObject_Arena*",
    "_PyObject_GC_*",
    "PyType_GenericAlloc",
    "gc_alloc*",
    "Perl_safesysmalloc*",
    "Perl_safesyscalloc*",
    "Perl_safesysrealloc*",
    "ruby_xmalloc*",
    "ruby_xcalloc*",
    "ruby_xrealloc*",
    "rb_gc_impl_*",
    "_emalloc*",
    "_ecalloc*",
    "_erealloc*",
    "zend_mm_*",
    "luaM_*",
    "node::Malloc*",
    "node::Realloc*",
    "sqlite3Malloc*",
    "sqlite3_malloc*",
    "sqlite3Realloc*",
    "sqlite3_realloc*",
    "sqlite3DbMalloc*",
    "sqlite3DbRealloc*",
    "sqlite3MemMalloc*",
    "sqlite3MemRealloc*",
    "dbMallocRaw*",
    "dbReallocFinish*",
};

/* Around main and around a thread's function. */
static const char *const starters[] = {
    "_start",
    "__libc_start_main*",
    "__libc_start_call_main*",
    "_dl_start_user",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "std::rt::lang_start*",
    "std::sys::*__rust_begin_short_backtrace*",
    "std::sys_common::backtrace::__rust_begin_short_backtrace*",
};

/* Code of a standard library, wherever it was compiled into. */
static const char *const library_functions[] = {
    "std::*",    "__gnu_cxx::*", "__cxxabiv1::*", "core::*",      "alloc::*",
    "<alloc::*", "<core::*",     "<std::*",       "hashbrown::*",
};
static const char *const library_files[] = {"/usr/include/*", "/usr/lib/gcc/*", "/usr/lib/llvm*", "/rustc/*"};
static const char *const library_modules[] = {"/lib/*", "/lib64/*", "/usr/lib/*", "/usr/lib64/*", "linux-vdso*", "[*"};
static const char *const our_modules[] = {"*/libplimsoll.so", "*/libplimsoll-cxx.so"};

static bool matches(const char *name, const char *pattern)
{
    size_t bytes = strlen(pattern), name_bytes = strlen(name);
    bool front = pattern[0] == '*', back = pattern[bytes - 1] == '*';
    const char *core = pattern + front;
    size_t core_bytes = bytes - front - back;
    if (front && back)
        return memmem(name, name_bytes, core, core_bytes);
    if (back)
        return !strncmp(name, core, core_bytes);
    return front ? name_bytes >= core_bytes && !strcmp(name + name_bytes - core_bytes, core) : !strcmp(name, pattern);
}

static bool listed(const char *name, const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (matches(name, patterns[i]))
            return true;
    return false;
}
#define LISTED(name, table) listed(name, table, sizeof table / sizeof *table)

/* An executable is somebody's own wherever it is installed: who profiles python3 wants to see python3. */
static bool is_system(const struct pl_profile *profile, const char *path)
{
    return strcmp(path, profile->executable) && LISTED(path, library_modules);
}

enum pl_role pl_role_of(const struct pl_profile *profile, uint32_t module, const struct pl_place *place)
{
    const char *path = profile->module[module].path;
    if (LISTED(path, our_modules) || LISTED(place->function, allocators))
        return PL_ROLE_ALLOCATOR;
    if (LISTED(place->function, starters))
        return PL_ROLE_START;
    if (is_system(profile, path) || LISTED(place->function, library_functions) || LISTED(place->file, library_files))
        return PL_ROLE_LIBRARY;
    return PL_ROLE_OWN;
}
