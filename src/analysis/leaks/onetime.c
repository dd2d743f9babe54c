/* SPDX-License-Identifier: MIT */
/*
 * onetime.c - what system libraries and interpreters allocate once and keep until the process ends.
 *
 * Collected from what real programs leave behind: bash, ls, git, python3, perl, sqlite3, curl, wget, openssl, ssh, gdb,
 * tar, make, glib's tools, a C++ hello, and a C program that calls all functions of libc that keep memory.
 *
 * A function has a row only if its caller could not free the block. Functions that return memory to their caller
 * (strdup, getline, fopen, asprintf, regcomp, opendir, getaddrinfo's result) have no row; those that do both are marked
 * `below`. A stripped library has names only for its public functions, so most rows are for those. suppress.h lists the
 * other conditions that a stack must meet.
 */
#include "analysis/leaks/suppress.h"

static const char *const loader[] = {"/ld-linux", "/ld-2.", "/ld64.so", NULL};
static const char *const libc[] = {"/libc.so.", "/libc-2.", "/libpthread.so.", "/libdl.so.", "/ld-linux", NULL};
static const char *const resolver[] = {"/libc.so.", "/libresolv.so.", "/libnss_", NULL};
static const char *const cxx[] = {"/libstdc++.so.", "/libc++.so.", "/libc++abi.so.", "/libgcc_s.so.", NULL};
static const char *const terminal[] = {"/libtinfo.so.",    "/libtinfow.so.",   "/libncurses.so.",
                                       "/libncursesw.so.", "/libreadline.so.", NULL};
static const char *const glib[] = {"/libglib-2.0.so.",    "/libgobject-2.0.so.", "/libgio-2.0.so.",
                                   "/libgmodule-2.0.so.", "/libgthread-2.0.so.", NULL};
static const char *const crypto[] = {"/libcrypto.so.", "/libssl.so.", NULL};
static const char *const gnutls[] = {"/libgnutls.so.", "/libgcrypt.so.", "/libp11-kit.so.", "/libgmp.so.", NULL};
static const char *const curl[] = {"/libcurl.so.", "/libcurl-gnutls.so.", NULL};
static const char *const x11[] = {"/libX11.so.", "/libXt.so.", "/libxcb.so.", NULL};
static const char *const fontconfig[] = {"/libfontconfig.so.", "/libexpat.so.", NULL};
static const char *const python[] = {"/libpython2.", "/libpython3.", "bin/python3$", "bin/python3.*$", NULL};
static const char *const perl[] = {"/libperl.so.", "bin/perl$", "bin/perl5.*$", NULL};
static const char *const perl_extension[] = {"/auto/*.so$", NULL};
static const char *const bash[] = {"bin/bash$", NULL};

static const char *const installed[] = {"^/lib/", "^/lib64/", "^/usr/lib/", "^/usr/lib64/", NULL};

const char *const pl_suppress_system[] = {
    "/ld-linux",      "/ld-2.",   "/libc.so.",  "/libc-2.",       "/libpthread.so.", "/libdl.so.",      "/libm.so.",
    "/libresolv.so.", "/libnss_", "/librt.so.", "/libstdc++.so.", "/libgcc_s.so.",   "/libplimsoll.so", NULL,
};

#define KEPT(library, most, function, reason)                                                                          \
    {.pattern = function, .modules = library, .blocks_most = most, .why = reason},
/* Only for what the function's callees allocate. */
#define KEPT_BELOW(library, most, function, reason)                                                                    \
    {.pattern = function, .modules = library, .below = true, .blocks_most = most, .why = reason},
/* Frames of these other modules may also lie between the function and the allocation. */
#define KEPT_AROUND(library, others, most, function, reason)                                                           \
    {.pattern = function, .modules = library, .inner = others, .blocks_most = most, .why = reason},

/* clang-format off */
const struct pl_suppression pl_suppress_onetime[] = {
    /* The loader owns what it allocates: link maps, search paths, scopes, the tables of dl_find_object, thread-local
     * storage. It also runs each library's constructors once: they allocate the 72 KiB that libstdc++ reserves for
     * exceptions when memory runs out, and GLib's types. */
    KEPT_AROUND(loader, installed, 64, "*", "the loader's tables, thread-local storage, constructors of libraries")
    KEPT(libc, 64, "dlopen", "the loader's tables")
    KEPT(libc, 64, "__libc_dlopen_mode", "the loader's tables")
    KEPT(libc, 64, "_dl_*", "the loader's tables")
    KEPT(libc, 16, "dlerror", "the last error's text")
    KEPT(libc, 64, "__tls_get_addr", "thread-local storage")

    /* Locales are loaded once per name and category (there are 12) and cached. The names of missing files are cached,
     * too. */
    KEPT(libc, 64, "setlocale", "locales in force, and the cache of locales")
    KEPT_BELOW(libc, 64, "newlocale", "the cache of locales")
    KEPT_BELOW(libc, 64, "duplocale", "the cache of locales")
    KEPT(libc, 64, "_nl_*", "the cache of locales and of translations")

    /* Translations: the result of gettext must not be freed. */
    KEPT(libc, 64, "*gettext", "the cache of translations")
    KEPT(libc, 16, "textdomain", "where translations are")
    KEPT(libc, 16, "bindtextdomain", "where translations are")
    KEPT(libc, 16, "bind_textdomain_codeset", "where translations are")
    KEPT(libc, 64, "strerror*", "translations of error messages")
    KEPT(libc, 64, "__xpg_strerror_r", "translations of error messages")
    KEPT(libc, 64, "strsignal", "a thread's buffer, translations")

    /* Character sets: modules and steps are cached. The caller owns the result of iconv_open. */
    KEPT(libc, 16, "__gconv_find_*", "the cache of character set conversions")
    KEPT(libc, 16, "__gconv_lookup_cache", "the cache of character set conversions")
    KEPT(libc, 16, "__gconv_load_*", "the cache of character set conversions")
    KEPT(libc, 16, "__gconv_read_conf", "the cache of character set conversions")
    KEPT(libc, 16, "__wcsmbs_*", "the locale's character set")
    KEPT(libc, 16, "mb*", "the locale's character set")
    KEPT(libc, 16, "btowc", "the locale's character set")
    KEPT(libc, 16, "wctob", "the locale's character set")
    KEPT(libc, 16, "wc*tomb*", "the locale's character set")
    KEPT(libc, 16, "wcs*tombs", "the locale's character set")
    KEPT(libc, 16, "_IO_fwide", "the locale's character set")

    /* The buffers of stdin, stdout and stderr. A file that was never closed still shows, by the FILE from its fopen. */
    KEPT(libc, 3, "_IO_file_doallocate", "buffers of stdin, stdout and stderr")
    KEPT(libc, 3, "_IO_wfile_doallocate", "buffers of stdin, stdout and stderr")
    KEPT(libc, 3, "_IO_wdoallocbuf", "buffers of stdin, stdout and stderr")

    /* Users, groups, hosts, services: results are static buffers that grow, and modules are loaded. */
    KEPT(libc, 16, "getpw*", "static results of the user database")
    KEPT(libc, 16, "setpwent", "the user database")
    KEPT(libc, 16, "endpwent", "the user database")
    KEPT(libc, 16, "fgetpwent", "static results of the user database")
    KEPT(libc, 16, "getgr*", "static results of the group database")
    KEPT(libc, 16, "setgrent", "the group database")
    KEPT(libc, 16, "endgrent", "the group database")
    KEPT(libc, 16, "initgroups", "the group database")
    KEPT(libc, 16, "getsp*", "static results of the password database")
    KEPT(libc, 16, "gethost*", "static results of the host database")
    KEPT(libc, 16, "getnet*", "static results of the network database")
    KEPT(libc, 16, "getserv*", "static results of the service database")
    KEPT(libc, 16, "getproto*", "static results of the protocol database")
    KEPT(resolver, 64, "nss_*", "name service modules and their configuration")
    KEPT(resolver, 16, "__res_*", "the resolver's configuration")
    KEPT(resolver, 16, "__resolv_*", "the resolver's configuration")
    KEPT(libc, 16, "gaiconf_*", "the address selection table")

    /* Time zones. */
    KEPT(libc, 16, "tz*", "the time zone")
    KEPT(libc, 16, "localtime*", "the time zone")
    KEPT(libc, 16, "mktime", "the time zone")
    KEPT(libc, 16, "ctime*", "the time zone")
    KEPT(libc, 16, "*strftime*", "the time zone")

    /* Registrations that last until the process ends, and the environment, whose old strings must not be freed. */
    KEPT(libc, 64, "__new_exitfn", "the table of exit handlers")
    KEPT(libc, 64, "__cxa_atexit", "the table of exit handlers")
    KEPT(libc, 64, "__cxa_at_quick_exit", "the table of exit handlers")
    KEPT(libc, 64, "on_exit", "the table of exit handlers")
    KEPT(libc, 64, "__cxa_thread_atexit_impl", "destructors of thread-local objects")
    KEPT(libc, 64, "__register_atfork", "the table of fork handlers")
    KEPT(libc, 64, "pthread_atfork", "the table of fork handlers")
    KEPT(libc, 64, "pthread_setspecific", "the second table of a thread's keys")
    KEPT(libc, 64, "setenv", "the environment")
    KEPT(libc, 64, "putenv", "the environment")
    KEPT(libc, 64, "unsetenv", "the environment")
    KEPT(libc, 64, "__add_to_environ", "the environment")

    /* C++: one-time objects, and one block for each thread that handles an exception. */
    KEPT(cxx, 16, "_GLOBAL__sub_I_*", "the emergency pool for exceptions")
    KEPT(cxx, 64, "__cxa_get_globals", "a thread's exception state")
    KEPT(cxx, 64, "__cxa_thread_atexit", "destructors of thread-local objects")
    KEPT(cxx, 64, "std::ios_base::Init::Init*", "the standard streams")
    KEPT(cxx, 64, "std::ios_base::sync_with_stdio*", "the standard streams")
    KEPT(cxx, 64, "std::locale::classic*", "the classic locale")
    KEPT(cxx, 64, "std::locale::_S_init*", "the classic locale")
    KEPT(cxx, 16, "__register_frame*", "tables for unwinding")
    KEPT(cxx, 16, "_Unwind_Find_FDE", "tables for unwinding")

    /* Terminals and line editing. */
    KEPT(terminal, 64, "setupterm", "the terminal's description")
    KEPT(terminal, 64, "_nc_*", "the terminal's description")
    KEPT(terminal, 64, "tget*", "the terminal's description")
    KEPT(terminal, 512, "rl_initialize*", "key bindings")
    KEPT(terminal, 512, "_rl_init_*", "key bindings")
    KEPT(terminal, 512, "_rl_set_screen_size", "key bindings")
    KEPT(terminal, 512, "rl_read_init_file", "key bindings")
    KEPT(terminal, 64, "rl_add_defun", "names of editing functions")
    KEPT(terminal, 64, "rl_add_funmap_entry", "names of editing functions")

    /* GLib: types, signals and names are registered permanently. */
    KEPT(glib, 512, "g_quark_*", "names registered for good")
    KEPT(glib, 512, "g_intern_*", "names registered for good")
    KEPT(glib, 512, "g_type_register_*", "types registered for good")
    KEPT(glib, 512, "g_type_add_*", "types registered for good")
    KEPT(glib, 512, "g_type_init*", "types registered for good")
    KEPT(glib, 512, "g_type_class_ref", "classes registered for good")
    KEPT(glib, 512, "g_type_interface_*", "interfaces registered for good")
    KEPT(glib, 512, "g_signal_new*", "signals registered for good")
    KEPT(glib, 16, "g_set_prgname", "the name of the program")
    KEPT(glib, 16, "g_set_application_name", "the name of the program")
    KEPT(glib, 64, "g_get_*_dir*", "directories, looked up once")
    KEPT(glib, 64, "g_get_user_name", "the user, looked up once")
    KEPT(glib, 64, "g_get_charset", "the locale's character set")
    KEPT(glib, 64, "g_get_filename_charsets", "the locale's character set")
    KEPT(glib, 64, "g_get_language_names*", "the locale's languages")
    KEPT(glib, 64, "g_private_*", "a thread's keys")
    KEPT(glib, 64, "g_main_context_default", "the one default main loop")

    /* Cryptography and the libraries that use it: initialisation, error texts, tables of algorithms. */
    KEPT(crypto, 4096, "OPENSSL_init_*", "OpenSSL's initialisation")
    KEPT(crypto, 4096, "OPENSSL_add_all_algorithms*", "OpenSSL's tables of algorithms")
    KEPT(crypto, 4096, "OSSL_LIB_CTX_get*", "OpenSSL's default library context")
    KEPT(crypto, 4096, "CRYPTO_THREAD_run_once", "OpenSSL's initialisation")
    KEPT(crypto, 64, "CRYPTO_get_ex_new_index", "OpenSSL's tables")
    KEPT(crypto, 4096, "ERR_load_*", "OpenSSL's error texts")
    KEPT(crypto, 64, "ERR_get_state", "a thread's errors")
    KEPT(gnutls, 512, "gnutls_global_init", "GnuTLS's initialisation")
    KEPT(gnutls, 512, "gcry_check_version", "libgcrypt's initialisation")
    KEPT(gnutls, 512, "gcry_control", "libgcrypt's initialisation")
    KEPT(curl, 512, "curl_global_init*", "curl's initialisation")

    /* X11 and fonts. The caller owns displays, font sets and patterns. */
    KEPT(x11, 64, "XInitThreads", "Xlib's locks")
    KEPT(x11, 512, "Xrm*Quark*", "names registered for good")
    KEPT(x11, 512, "XrmInitialize", "names registered for good")
    KEPT(x11, 512, "_Xlc*", "the cache of locales")
    KEPT(x11, 512, "_XOpenLC", "the cache of locales")
    KEPT(x11, 64, "XSetLocaleModifiers", "the locale in force")
    KEPT(fontconfig, 4096, "FcInit", "the one default configuration")
    KEPT(fontconfig, 4096, "FcConfigGetCurrent", "the one default configuration")

    /* Interpreters that do not clean up after themselves. Extensions are separate modules, so these rules do not cover
     * what they allocate. */
    KEPT(python, 4096, "Py_Initialize*", "the interpreter's start")
    KEPT(python, 4096, "Py_PreInitialize*", "the interpreter's start")
    KEPT(python, 4096, "pymain_init*", "the interpreter's start")
    KEPT(python, 4096, "PyType_Ready", "static types")
    KEPT(python, 4096, "PyUnicode_Intern*", "interned names")
    KEPT(python, 64, "new_arena", "the small object allocator's arenas")
    KEPT(perl, 4096, "perl_alloc", "the interpreter itself")
    KEPT(perl, 4096, "perl_construct", "the interpreter's start")
    KEPT(perl, 4096, "perl_parse", "the program that was compiled")
    KEPT(perl, 4096, "Perl_boot_core_*", "built-in functions")
    KEPT(perl, 64, "Perl_init_*", "the interpreter's start")
    KEPT(perl, 16, "Perl_sys_init*", "the interpreter's start")
    KEPT_AROUND(perl_extension, perl, 4096, "boot_*", "functions and constants of an extension")
    KEPT(bash, 512, "initialize_*", "the shell's start: variables, traps, jobs")
    KEPT(bash, 64, "set_locale_var", "the shell's environment")
    KEPT(bash, 16, "set_shellopts", "the shell's options")
    KEPT(bash, 16, "set_bashopts", "the shell's options")
    KEPT(bash, 16, "set_shell_name", "the shell's name")
    KEPT(bash, 16, "tilde_initialize", "the shell's start")
    KEPT(bash, 16, "cmd_init", "the shell's caches of small objects")
    KEPT(bash, 16, "uwp_init", "the shell's caches of small objects")
    KEPT(bash, 64, "*_unwind_*", "what to undo when a command ends")
    KEPT(bash, 64, "unwind_protect_mem", "what to undo when a command ends")
    KEPT(bash, 16, "set_pipestatus_array", "the status of the last pipeline")
    KEPT(bash, 64, "parse_command", "the command being executed")
    KEPT(bash, 64, "parse_and_execute", "the command being executed")
    KEPT(bash, 64, "execute_command*", "the command being executed")
    KEPT(bash, 64, "reader_loop", "the command being executed")
    KEPT(bash, 16, "set_default_*", "the shell's locale")
    KEPT(bash, 16, "set_lang", "the shell's locale")
    {.pattern = NULL},
};
/* clang-format on */
