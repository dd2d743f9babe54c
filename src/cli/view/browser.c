/* SPDX-License-Identifier: MIT */
/*
 * browser.c - shows an address to the user.
 */
#include "cli/view/browser.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/say.h"

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

/* $BROWSER may be a list, or contain blanks; xdg-open handles those. */
static const char *choose(void)
{
    const char *wanted = variable("BROWSER");
    return wanted && !wanted[strcspn(wanted, ": %")] ? wanted : USUAL;
}

/* It inherits only the environment from us. */
_Noreturn static void become(const char *program, const char *url)
{
    sigset_t none;
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && nowhere >= 0; fd++)
        dup2(nowhere, fd);
    signal(SIGPIPE, SIG_DFL); /* view.c ignores it */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid(); /* Ctrl-C must not reach it */
    execlp(program, program, url, (char *) NULL);
    _exit(127);
}

/* Forks twice, so that we need not wait for the browser. */
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

/* $SSH_CONNECTION has the client's address and port, then ours. */
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
