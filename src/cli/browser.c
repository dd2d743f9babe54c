/* SPDX-License-Identifier: MIT */
/*
 * browser.c - how a person gets to see an address.
 */
#include "browser.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

#define USUAL "xdg-open"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool pl_browser_here(void)
{
    return !variable("SSH_CONNECTION") && (variable("DISPLAY") || variable("WAYLAND_DISPLAY"));
}

/* $BROWSER may be a list, or have blanks in it; xdg-open knows what that means. */
static const char *choose(void)
{
    const char *wanted = variable("BROWSER");
    return wanted && !wanted[strcspn(wanted, ": %")] ? wanted : USUAL;
}

/* What it has of us is nothing but the environment. */
_Noreturn static void become(const char *program, const char *url)
{
    sigset_t none;
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && nowhere >= 0; fd++)
        dup2(nowhere, fd);
    signal(SIGPIPE, SIG_DFL); /* viewer.c ignores it */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid(); /* Ctrl-C is for us */
    execlp(program, program, url, (char *) NULL);
    _exit(127);
}

/* Twice a child: it has no parent that would have to wait for it. */
void pl_browser_open(const char *url)
{
    const char *program = choose();
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0)
            become(program, url);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

/* $SSH_CONNECTION: their address and port, then ours. */
char *pl_browser_tunnel(uint16_t port)
{
    const char *connection = variable("SSH_CONNECTION");
    const struct passwd *user = getpwuid(getuid());
    char address[64];
    if (!connection || sscanf(connection, "%*s %*s %63s", address) != 1)
        return NULL;
    return pl_say_print("ssh -L %u:127.0.0.1:%u %s%s%s", port, port, user ? user->pw_name : "", user ? "@" : "",
                        address);
}
