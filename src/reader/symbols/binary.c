/* SPDX-License-Identifier: MIT */
/*
 * binary.c - opens ELF files: below the root of another mount namespace if need be, and never anything but regular
 * files, as paths come from profiles.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>

#include "reader/symbols/symbolize_work.h"

int pl_binary_open_below(const char *root, const char *path, int flags)
{
    int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -1;
    struct open_how how = {.flags = (uint64_t) flags, .resolve = RESOLVE_IN_ROOT};
    int fd = (int) syscall(SYS_openat2, directory, path, &how, sizeof how);
    int error = errno;
    close(directory);
    errno = error;
    return fd;
}

static int open_regular(const char *path, const char *sysroot)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* a path in a profile may be a pipe: do not wait for its writer */
    int fd = sysroot && sysroot[0] ? pl_binary_open_below(sysroot, path, flags) : open(path, flags);
    if (fd < 0)
        return -errno;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    return -ENOEXEC;
}

int pl_binary_open_fd(int fd, struct pl_binary *out)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF) {
        *out = (struct pl_binary){.fd = fd, .elf = elf};
        return 0;
    }
    elf_end(elf);
    close(fd);
    return -ENOEXEC;
}

int pl_binary_open(const char *path, const char *sysroot, struct pl_binary *out)
{
    int fd = open_regular(path, sysroot);
    return fd < 0 ? fd : pl_binary_open_fd(fd, out);
}

void pl_binary_close(struct pl_binary *file)
{
    if (!file->elf)
        return;
    elf_end(file->elf);
    close(file->fd);
    *file = (struct pl_binary){0};
}

void pl_binary_build_id(const struct pl_binary *file, char out[PL_BUILD_ID_TEXT])
{
    const void *note = NULL;
    ssize_t bytes = dwelf_elf_gnu_build_id(file->elf, &note);
    const unsigned char *byte = note;
    out[0] = '\0';
    for (ssize_t i = 0; i < bytes && i < PL_BUILD_ID_MAX; i++)
        snprintf(out + 2 * i, 3, "%02x", byte[i]);
}

Elf_Scn *pl_binary_section(Elf *elf, const char *name, GElf_Shdr *header)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        const char *this = gelf_getshdr(scn, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (this && strcmp(this, name) == 0)
            return header->sh_type == SHT_NOBITS ? NULL : scn;
    }
    return NULL;
}
