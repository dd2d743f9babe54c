/* SPDX-License-Identifier: MIT */
/*
 * rulefile.c - reads files of rules that people write.
 */
#include "analysis/names/rulefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/base/grow.h"

static int read_whole(int fd, size_t bytes_max, char **text, size_t *bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    char *whole = NULL;
    size_t count = 0, room = 0;
    for (ssize_t got = 1; got > 0; count += (size_t) got) {
        if (count == room) {
            room = room ? 2 * room : 4096;
            whole = pl_grow_check(realloc(whole, room), room, 1);
        }
        got = read(fd, whole + count, room - count);
        if (got < 0 || count > bytes_max) {
            int error = got < 0 ? errno : EFBIG;
            free(whole);
            return -error;
        }
    }
    *text = whole;
    *bytes = count;
    return 0;
}

int pl_rulefile_read(const char *path, size_t bytes_max, char **text, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = fd < 0 ? -errno : read_whole(fd, bytes_max, text, bytes);
    if (fd >= 0)
        close(fd);
    return result;
}

bool pl_rulefile_blank(char character)
{
    return character == ' ' || (character >= '\t' && character <= '\r');
}

void pl_rulefile_trim(struct pl_rule_line *line)
{
    while (line->bytes > 0 && pl_rulefile_blank(line->text[line->bytes - 1]))
        line->bytes--;
    while (line->bytes > 0 && pl_rulefile_blank(*line->text))
        line->text++, line->bytes--;
}

bool pl_rulefile_next(struct pl_rule_line *line)
{
    while (line->next < line->end) {
        const char *newline = memchr(line->next, '\n', (size_t) (line->end - line->next));
        line->number++;
        line->text = line->next;
        line->bytes = (size_t) ((newline ? newline : line->end) - line->text);
        line->next = newline ? newline + 1 : line->end;
        pl_rulefile_trim(line);
        if (line->bytes > 0 && *line->text != '#')
            return true;
    }
    return false;
}

int pl_rulefile_complain(const struct pl_rule_line *line, char why[PL_WHY_BYTES], const char *format, ...)
{
    int used = snprintf(why, PL_WHY_BYTES, "%.200s:%u: ", line->path ? line->path : "built in", line->number);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why + used, PL_WHY_BYTES - (size_t) used, format, arguments);
    va_end(arguments);
    return -EINVAL;
}
