/* SPDX-License-Identifier: MIT */
/* without.c - a preloaded library: for the command, the kernel has no userfaultfd. */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    long argument[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_userfaultfd) {
        errno = ENOSYS;
        return -1;
    }
#ifdef __x86_64__
    register long r10 __asm__("r10") = argument[3];
    register long r8 __asm__("r8") = argument[4];
    register long r9 __asm__("r9") = argument[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(argument[0]), "S"(argument[1]), "d"(argument[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    errno = result < 0 ? (int) -result : errno;
    return result < 0 ? -1 : result;
#else
    errno = ENOSYS;
    return -1;
#endif
}
