/* SPDX-License-Identifier: MIT */
/*
 * serve.c - the serve command: profiles and metrics of all processes of this machine, for scrapers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/names.h"
#include "cli/option.h"
#include "cli/push/rounds.h"
#include "cli/serve/endpoints.h"
#include "page/http.h"

#define USUAL_LISTEN "127.0.0.1:9464"
#define FILE_BYTES_MOST (1u << 20)
#define TOKEN_LEAST 16 /* letters: fewer can be guessed */

static struct {
    const char *listen;
    const char *names;
    const char *token_file, *certificate_file, *key_file;
    bool insecure;
    struct pl_rounds_options push;
} given = {.listen = USUAL_LISTEN, .push.every_ns = PL_ROUNDS_EVERY};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "listen", .takes = "ADDRESS:PORT", .fallback = USUAL_LISTEN, .help = "where to serve: an address of this "
     "machine with a port (0: any free one), or the path of a Unix socket; beyond loopback it needs --token-file, "
     "--tls-cert and --tls-key", .type = &pl_type_text, .into = &given.listen},
    {.name = "token-file", .takes = "FILE", .help = "clients must send the token in FILE, at least 16 characters, as "
     "`Authorization: Bearer TOKEN`", .type = &pl_type_text, .into = &given.token_file},
    {.name = "tls-cert", .takes = "FILE", .help = "serve HTTPS, with this certificate (PEM)", .type = &pl_type_text,
     .into = &given.certificate_file},
    {.name = "tls-key", .takes = "FILE", .help = "the key of the certificate (PEM)", .type = &pl_type_text,
     .into = &given.key_file},
    {.name = "insecure", .help = "serve beyond loopback without a token or TLS: everybody who can connect sees all "
     "profiles", .type = &pl_type_flag, .into = &given.insecure},
    {.name = "to", .takes = "STORE+URL", .fallback = "nowhere", .help = "also send the profiles of all processes to this "
     "store, as `push` does: " PL_STORE_NAMES ", a plus sign, and its address", .type = &pl_type_text,
     .into = &given.push.store.to},
    {.name = "every", .takes = "TIME", .fallback = "15s", .help = "with --to: how often, less up to a tenth at random",
     .type = &pl_type_time, .into = &given.push.every_ns, .min = PL_ROUNDS_LEAST, .max = PL_ROUNDS_MOST,
     .example = "15s"},
    {.name = "to-token-file", .takes = "FILE", .help = "with --to: send the token in FILE as `Authorization: Bearer "
     "TOKEN`; it is read again each time", .type = &pl_type_text, .into = &given.push.store.token_file},
    {.name = "tenant", .takes = "NAME", .help = "with --to: send `X-Scope-OrgID: NAME`", .type = &pl_type_text,
     .into = &given.push.store.tenant},
    {.name = "ca", .takes = "FILE", .fallback = "the system's", .help = "with --to: certificates (PEM) that sign the "
     "store's", .type = &pl_type_text, .into = &given.push.store.ca},
    {.name = "addresses", .help = "with --to: send addresses and build-ids instead of names", .type = &pl_type_flag,
     .into = &given.push.store.no_names},
    {.name = "state", .takes = "DIRECTORY", .fallback = "none", .help = "with --to: remember in DIRECTORY what has been "
     "sent, and go on from there when `serve` is started again", .type = &pl_type_text, .into = &given.push.state},
    PL_NAMES_OPTION(given.names),
    {0},
};
/* clang-format on */

/* --- files --- */

/* The content of a file without blanks at its end. NULL: the reason has been printed. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = pl_say_memory(calloc(1, FILE_BYTES_MOST));
    size_t bytes = file ? fread(text, 1, FILE_BYTES_MOST - 1, file) : 0;
    if (!file || ferror(file)) {
        pl_say_failure("cannot read %s: %m", path);
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    while (text && bytes && strchr(" \t\r\n", text[bytes - 1]))
        text[--bytes] = 0;
    return text;
}

struct secrets {
    char *token, *certificate, *key;
};

static void free_secrets(struct secrets *secrets)
{
    free(secrets->token);
    free(secrets->certificate);
    free(secrets->key);
}

static enum pl_exit check_token(const char *token)
{
    if (strlen(token) >= TOKEN_LEAST && !strpbrk(token, " \t\r\n"))
        return PL_EXIT_OK;
    return pl_say_failure("%s: a token is one word of at least %d characters; to make one: openssl rand -hex 16",
                          given.token_file, TOKEN_LEAST);
}

static enum pl_exit read_secrets(struct secrets *out)
{
    if (!given.certificate_file != !given.key_file)
        return pl_say_usage("--tls-cert and --tls-key belong together; give both");
    if (given.token_file && !(out->token = read_file(given.token_file)))
        return PL_EXIT_FAILURE;
    if (given.certificate_file &&
        (!(out->certificate = read_file(given.certificate_file)) || !(out->key = read_file(given.key_file))))
        return PL_EXIT_FAILURE;
    return out->token ? check_token(out->token) : PL_EXIT_OK;
}

/* --- the address --- */

static enum pl_exit refuse_listen(void)
{
    return pl_say_usage("--listen %s: not an address with a port, nor a path; for example %s, [::1]:9464 or "
                        "/run/plimsoll.sock",
                        given.listen, USUAL_LISTEN);
}

static enum pl_exit parse_path(struct pl_endpoints_options *out)
{
    struct sockaddr_un *local = (struct sockaddr_un *) &out->address;
    local->sun_family = AF_UNIX;
    if (strlen(given.listen) >= sizeof local->sun_path)
        return pl_say_usage("--listen %s: a path of a socket has at most %zu characters", given.listen,
                            sizeof local->sun_path - 1);
    strcpy(local->sun_path, given.listen);
    out->address_bytes = sizeof *local;
    out->loopback = true;
    return PL_EXIT_OK;
}

static bool parse_port(const char *text, uint16_t *port)
{
    size_t digits = strspn(text, "0123456789");
    long number = digits && digits < 6 && !text[digits] ? atol(text) : -1;
    *port = htons((uint16_t) number);
    return number >= 0 && number <= UINT16_MAX;
}

static enum pl_exit parse_listen(struct pl_endpoints_options *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *) &out->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *) &out->address;
    const char *colon = strrchr(given.listen, ':');
    char host[64];
    if (strchr(given.listen, '/'))
        return parse_path(out);
    bool bracket = *given.listen == '[' && colon && colon[-1] == ']';
    size_t bytes = colon ? (size_t) (colon - given.listen) - 2 * bracket : sizeof host;
    if (bytes >= sizeof host)
        return refuse_listen();
    snprintf(host, sizeof host, "%.*s", (int) bytes, given.listen + bracket);
    if (!bracket && inet_pton(AF_INET, host, &four->sin_addr) == 1 && parse_port(colon + 1, &four->sin_port)) {
        four->sin_family = AF_INET;
        out->address_bytes = sizeof *four;
        out->loopback = ntohl(four->sin_addr.s_addr) >> 24 == 127;
        return PL_EXIT_OK;
    }
    if (bracket && inet_pton(AF_INET6, host, &six->sin6_addr) == 1 && parse_port(colon + 1, &six->sin6_port)) {
        six->sin6_family = AF_INET6;
        out->address_bytes = sizeof *six;
        out->loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
        return PL_EXIT_OK;
    }
    return refuse_listen();
}

static enum pl_exit check_reach(const struct pl_endpoints_options *how)
{
    if (how->loopback || given.insecure || (how->token && how->certificate))
        return PL_EXIT_OK;
    return pl_say_usage("--listen %s reaches beyond this machine: add --token-file, --tls-cert and --tls-key, or "
                        "--insecure",
                        given.listen);
}

/* --- serving --- */

static enum pl_exit start(const struct pl_endpoints_options *how, struct pl_endpoints **out)
{
    int error = pl_endpoints_start(how, out);
    if (error == -ELIBACC)
        return pl_say_failure("cannot serve without " PL_HTTP_LIBRARY "; install libmicrohttpd");
    if (error && how->certificate)
        return pl_say_failure("cannot serve on %s with %s and %s: %s", given.listen, given.certificate_file,
                              given.key_file, strerror(-error));
    return error ? pl_say_failure("cannot serve on %s: %s", given.listen, strerror(-error)) : PL_EXIT_OK;
}

/* Called before the server's thread starts, which inherits the mask. */
static int block_signals(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &ending, SFD_CLOEXEC);
}

/* Sends in a process of its own: a slow store keeps no scraper waiting, and each remembers by itself what it has told.
 * Returns its pid, 0 if nothing is to be sent. */
static pid_t start_sending(struct pl_simplify *rules, int signals)
{
    pid_t parent = getpid(), child = given.push.store.to ? fork() : 0;
    if (child || !given.push.store.to)
        return child;
    if (!prctl(PR_SET_PDEATHSIG, SIGTERM) && getppid() == parent)
        _exit(pl_rounds(&given.push, rules, signals));
    _exit(PL_EXIT_FAILURE);
}

/* Serving goes on without the one that sends. */
static void notice_end(struct pollfd *event, pid_t child)
{
    int status;
    if (!event->revents || waitpid(child, &status, WNOHANG) != child)
        return;
    pl_say("nothing is sent any more: the process that sends has ended");
    event->fd = -1;
}

static void work(struct pl_endpoints *endpoints, int signals, struct pl_simplify *rules, pid_t sends)
{
    struct pl_fleet fleet = {.rules = rules};
    struct pollfd event[] = {{.fd = signals, .events = POLLIN},
                             {.fd = pl_endpoints_event(endpoints), .events = POLLIN},
                             {.fd = sends > 0 ? (int) syscall(SYS_pidfd_open, sends, 0) : -1, .events = POLLIN}};
    int process = event[2].fd;
    do {
        int wait_ms = pl_endpoints_work(endpoints, &fleet);
        if (poll(event, 3, wait_ms) < 0 && errno != EINTR)
            break;
        notice_end(&event[2], sends);
    } while (!event[0].revents);
    if (event[2].fd >= 0) {
        kill(sends, SIGTERM);
        waitpid(sends, NULL, 0);
    }
    if (process >= 0)
        close(process);
    pl_fleet_free(&fleet);
}

static enum pl_exit serve(const struct pl_endpoints_options *how)
{
    struct pl_endpoints *endpoints;
    struct pl_simplify *rules;
    struct pl_names_options names = {.file = given.names};
    enum pl_exit status = pl_names_read(&names, &rules);
    if (status != PL_EXIT_OK)
        return status;
    int signals = block_signals();
    pid_t sends = start_sending(rules, signals); /* before there are threads */
    status = sends < 0 ? pl_say_failure("cannot start a process that sends: %m") : start(how, &endpoints);
    if (status == PL_EXIT_OK) {
        puts(pl_endpoints_url(endpoints));
        pl_say_flush();
        work(endpoints, signals, rules, sends);
        pl_endpoints_stop(endpoints);
    } else {
        pl_names_forget(rules);
        if (sends > 0)
            kill(sends, SIGTERM);
    }
    close(signals);
    return status;
}

static int serve_main(int argc, char **argv)
{
    struct secrets secrets = {0};
    struct pl_endpoints_options how = {.loopback = false};
    if (argc)
        return pl_say_usage("serve takes no arguments; it serves all processes that `%s ls` lists; to see one: %s view "
                            "%s",
                            pl_say_self(), pl_say_self(), argv[0]);
    enum pl_exit status = read_secrets(&secrets);
    how.token = secrets.token;
    how.certificate = secrets.certificate;
    how.key = secrets.key;
    status = status == PL_EXIT_OK ? parse_listen(&how) : status;
    status = status == PL_EXIT_OK ? check_reach(&how) : status;
    if (status == PL_EXIT_OK && given.push.store.to)
        status = pl_sender_check(&given.push.store);
    status = status == PL_EXIT_OK ? serve(&how) : status;
    free_secrets(&secrets);
    return status;
}

const struct pl_command pl_command_serve = {
    .name = "serve",
    .arguments = "",
    .summary = "serve profiles and metrics of all processes, for Prometheus, Parca, Pyroscope and go tool pprof",
    .details =
        "Serves the profiles of all processes that `plimsoll ls` lists, to programs that scrape: /debug/pprof/heap, "
        "/debug/pprof/allocs and /debug/pprof/delta_heap, by ?pid=PID or ?service=NAME, also with ?seconds=N for what "
        "changes in N seconds; /metrics in OpenMetrics text; /targets/pprof and /targets/metrics for Prometheus's HTTP "
        "service discovery; / is a page that lists the processes. docs/fleet.md shows how to set up scrapers.\n"
        "\n"
        "A service is a process's OTEL_SERVICE_NAME, or the name of its program. Processes are looked at when "
        "somebody asks; between questions `serve` does nothing. It needs no privileges for processes of its own user; "
        "only root sees all, also those in containers.\n"
        "\n"
        "With --to, a process of its own also sends the profiles of all processes to a store: see `plimsoll help "
        "push`.\n"
        "\n"
        "It prints its address to stdout. On loopback, profiles are served to programs of the same user and of root, "
        "and metrics to all users of the machine; with --token-file to those who have the token. Beyond loopback it "
        "needs a token and TLS, unless --insecure is given.",
    .examples = "plimsoll serve\n"
                "plimsoll serve --to otlp+http://127.0.0.1:4318 --state /var/lib/plimsoll\n"
                "plimsoll serve --listen /run/plimsoll.sock",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = serve_main,
};
