/* SPDX-License-Identifier: MIT */
/*
 * endpoints.c - checks requests, and passes them to the thread that answers.
 *
 * A request must pass all checks, in order. With a token, every client must send it. Without one, the server listens on
 * loopback or on a socket of our own: profiles are for processes of our own user and root, whom the kernel names, and
 * figures without names of functions are for everybody on the machine. A page of another site in the user's browser is
 * refused in both cases.
 *
 * A job belongs to the server's thread, except while it is in the queue: then it belongs to the answering thread, and
 * its connection is suspended.
 */
#include "cli/serve/endpoints.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/proc.h"
#include "cli/say.h"
#include "cli/serve/answers.h"
#include "page/http.h"
#include "page/listener.h"
#include "page/reply.h"

#define HOST_BYTES 64
#define SECONDS_MOST 3600
#define JOBS_MOST 64 /* waiting at the same time, those for ?seconds=N included */

struct job {
    struct job *next;
    struct MHD_Connection *connection;
    const struct endpoint *endpoint;
    struct pl_question question;
    struct pl_answer answer;
    bool done;
};

struct pl_endpoints {
    struct MHD_Daemon *daemon;
    struct pl_clients clients;
    const char *token;
    bool loopback, local_socket;
    uint16_t port;
    char host[2][HOST_BYTES]; /* the accepted values of Host, on loopback */
    char url[HOST_BYTES + 16];
    char *socket_path;
    struct pl_place_served place;
    pthread_mutex_t lock; /* protects `jobs`, `job_count` and `stopping` */
    struct job *jobs;
    unsigned job_count;
    bool stopping;
    int event;
};

/* --- the table --- */

#define TEXT_HTML "text/html; charset=utf-8"
#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

static const struct endpoint {
    const char *path;
    const char *type;
    const char *file; /* as which a browser saves it; NULL: it shows it */
    bool open;        /* to all users of the machine: it has no names of functions */
    pl_answer_function *answer;
} table[] = {
    {"/", TEXT_HTML, NULL, false, pl_answer_index},
    {"/debug/pprof/", TEXT_HTML, NULL, false, pl_answer_index},
    {"/debug/pprof/heap", "application/octet-stream", "heap", false, pl_answer_heap},
    {"/debug/pprof/allocs", "application/octet-stream", "allocs", false, pl_answer_allocs},
    {"/debug/pprof/delta_heap", "application/octet-stream", "delta_heap", false, pl_answer_delta_heap},
    {"/metrics", OPENMETRICS, NULL, true, pl_answer_metrics},
    {"/targets/metrics", "application/json", NULL, true, pl_answer_targets_metrics},
    {"/targets/pprof", "application/json", NULL, true, pl_answer_targets_pprof},
};

static const struct endpoint *find_endpoint(const char *path)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].path, path))
            return &table[i];
    return NULL;
}

/* --- checks --- */

struct request {
    const struct pl_endpoints *endpoints;
    struct MHD_Connection *connection;
    const char *method;
    const struct endpoint *endpoint; /* NULL: there is none of this path */
};

/* A token protects by itself; without one, another site could make a browser send requests here by a name of its own.
 */
static bool has_our_host(const struct request *request)
{
    const struct pl_endpoints *endpoints = request->endpoints;
    return !endpoints->loopback || endpoints->local_socket || endpoints->token ||
           pl_reply_says(request->connection, "Host", endpoints->host[0]) ||
           pl_reply_says(request->connection, "Host", endpoints->host[1]);
}

static bool comes_from_us(const struct request *request)
{
    return pl_reply_comes_from_us(request->connection);
}

static bool only_gets(const struct request *request)
{
    return pl_reply_only_gets(request->method);
}

/* Takes as long for a wrong token as for the right one. */
static bool same_secret(const char *given, const char *token)
{
    size_t bytes = strlen(token), given_bytes = strlen(given);
    unsigned difference = bytes != given_bytes;
    for (size_t i = 0; i < bytes; i++)
        difference |= (unsigned char) token[i] ^ (unsigned char) (i < given_bytes ? given[i] : 0);
    return difference == 0;
}

static bool has_token(const struct request *request)
{
    static const char scheme[] = "Bearer ";
    struct pl_reply_values given = pl_reply_header(request->connection, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!request->endpoints->token)
        return true;
    return given.count == 1 && !strncasecmp(given.value, scheme, strlen(scheme)) &&
           same_secret(given.value + strlen(scheme), request->endpoints->token);
}

static bool is_known(const struct request *request)
{
    return request->endpoint;
}

static bool may_see_it(const struct request *request)
{
    const struct pl_endpoints *endpoints = request->endpoints;
    if (endpoints->token || !endpoints->loopback || endpoints->local_socket || request->endpoint->open)
        return true;
    const union MHD_ConnectionInfo *info =
        pl_http.get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    uint32_t user = info ? pl_clients_user(info->client_addr, endpoints->port) : PL_CLIENTS_UNKNOWN;
    return user == geteuid() || user == 0;
}

static const struct check {
    bool (*passes)(const struct request *request);
    unsigned status;
    const char *why;
} checks[] = {
    {has_our_host, MHD_HTTP_FORBIDDEN, "This is plimsoll serve. Use the address that it printed.\n"},
    {comes_from_us, MHD_HTTP_FORBIDDEN, "This is plimsoll serve. It refuses requests from other sites.\n"},
    {only_gets, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are allowed.\n"},
    {has_token, MHD_HTTP_UNAUTHORIZED, "Send the token: Authorization: Bearer TOKEN.\n"},
    {is_known, MHD_HTTP_NOT_FOUND, "Not found.\n"},
    {may_see_it, MHD_HTTP_FORBIDDEN, "Other users need a token: see `plimsoll help serve`.\n"},
};

/* --- questions --- */

/* Undoes %20 and +, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++, to++) {
        unsigned character;
        if (*text == '%' && isxdigit((unsigned char) text[1]) && isxdigit((unsigned char) text[2]) &&
            sscanf(text + 1, "%2x", &character) == 1 && character) {
            *to = (char) character;
            text += 2;
        } else {
            *to = *text;
            if (*text == '+')
                *to = ' ';
        }
    }
    *to = 0;
}

static bool read_number(const char *text, int64_t most, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 9 || text[digits])
        return false;
    *out = atoll(text);
    return *out > 0 && *out <= most;
}

/* An argument that is not ours is ignored, as Go's handlers do: scrapers send some of their own. */
static enum MHD_Result read_argument(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct pl_question *question = context;
    (void) kind;
    value = value ? value : "";
    if (!strcmp(name, "pid") && !read_number(value, INT32_MAX, &question->pid))
        question->wrong = "invalid value for \"pid\" - must be a positive integer\n";
    if (!strcmp(name, "seconds") && !read_number(value, SECONDS_MOST, &question->seconds))
        question->wrong = "invalid value for \"seconds\" - must be a positive integer, at most 3600\n";
    if (!strcmp(name, "debug") && strcmp(value, "0"))
        question->wrong = "\"debug\" is not supported: use `go tool pprof`\n";
    if (!strcmp(name, "service")) {
        free(question->service);
        question->service = pl_say_print("%s", value);
        unescape(question->service);
    }
    return MHD_YES;
}

static struct job *new_job(const struct request *request)
{
    struct job *job = pl_say_memory(calloc(1, sizeof *job));
    job->connection = request->connection;
    job->endpoint = request->endpoint;
    job->question.pid = -1;
    job->answer.status = MHD_HTTP_OK;
    pl_http.get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, read_argument, &job->question);
    return job;
}

static void free_job(struct job *job)
{
    pl_seen_free(job->answer.before);
    free(job->answer.body);
    free(job->question.service);
    free(job);
}

/* --- the server's thread --- */

static enum MHD_Result send_answer(struct job *job)
{
    struct pl_answer *answer = &job->answer;
    if (answer->why)
        return pl_reply_refuse(job->connection, answer->status, answer->why);
    struct MHD_Response *response =
        pl_http.create_response_from_buffer(answer->bytes, answer->body, MHD_RESPMEM_MUST_COPY);
    if (response && job->endpoint->file) {
        char disposition[64];
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%s%s\"", job->endpoint->file,
                 job->question.seconds ? "-delta" : "");
        pl_http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, disposition);
    }
    return pl_reply(job->connection, MHD_HTTP_OK, job->endpoint->type, response);
}

/* Puts a job into the queue. False: there are too many, or we are ending. */
static bool enqueue(struct pl_endpoints *endpoints, struct job *job)
{
    pthread_mutex_lock(&endpoints->lock);
    bool room = endpoints->job_count < JOBS_MOST && !endpoints->stopping;
    if (room) {
        job->next = endpoints->jobs;
        endpoints->jobs = job;
        endpoints->job_count++;
        pl_http.suspend_connection(job->connection);
    }
    pthread_mutex_unlock(&endpoints->lock);
    if (room)
        eventfd_write(endpoints->event, 1);
    return room;
}

static enum MHD_Result take(struct pl_endpoints *endpoints, struct job *job, void **state)
{
    if (!job->question.wrong && enqueue(endpoints, job))
        return MHD_YES;
    unsigned status = job->question.wrong ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_SERVICE_UNAVAILABLE;
    const char *why = job->question.wrong ? job->question.wrong : "Too many requests are waiting.\n";
    enum MHD_Result result = pl_reply_refuse(job->connection, status, why);
    *state = endpoints;
    free_job(job);
    return result;
}

/* From the moment that a job is in the queue, the other thread may finish it. `done` was set before the connection was
 * resumed, so it is only looked at here, before anything is put into the queue. */
static enum MHD_Result go_on(struct pl_endpoints *endpoints, struct job *job, void **state)
{
    if (!job->done)
        return take(endpoints, job, state);
    enum MHD_Result result = send_answer(job);
    *state = endpoints;
    free_job(job);
    return result;
}

/* libmicrohttpd calls this with the headers of a request, at its end, and again when a suspended one is resumed.
 * `state` is NULL the first time, then the job. */
static enum MHD_Result serve(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                             const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    struct pl_endpoints *endpoints = context;
    struct request request = {endpoints, connection, method, find_endpoint(path)};
    (void) version, (void) upload;
    if (*state == endpoints || *upload_bytes)
        return MHD_NO;
    if (*state)
        return go_on(endpoints, *state, state);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!checks[i].passes(&request))
            return pl_reply_refuse(connection, checks[i].status, checks[i].why);
    *state = new_job(&request);
    return MHD_YES;
}

/* --- the answering thread --- */

void pl_answer_write(struct pl_answer *answer, void (*write)(void *context, FILE *out), void *context)
{
    FILE *memory = pl_say_memory(open_memstream(&answer->body, &answer->bytes));
    write(context, memory);
    if (fclose(memory)) {
        answer->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        answer->why = "Out of memory.\n";
    }
}

static void finish(struct pl_endpoints *endpoints, struct job *job)
{
    pthread_mutex_lock(&endpoints->lock);
    for (struct job **at = &endpoints->jobs; *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            break;
        }
    endpoints->job_count--;
    pthread_mutex_unlock(&endpoints->lock);
    job->done = true;
    pl_http.resume_connection(job->connection);
}

/* The next job that is due; NULL: none is. `wait_ms` gets the time until the next one. */
static struct job *next_job(struct pl_endpoints *endpoints, int *wait_ms)
{
    struct job *due = NULL;
    uint64_t now_ns = pl_proc_now_ns();
    *wait_ms = -1;
    pthread_mutex_lock(&endpoints->lock);
    for (struct job *job = endpoints->jobs; job; job = job->next) {
        int left_ms = job->answer.due_ns > now_ns ? (int) ((job->answer.due_ns - now_ns) / 1000000u) + 1 : 0;
        if (!left_ms)
            due = job; /* the last in the list came first */
        else if (*wait_ms < 0 || left_ms < *wait_ms)
            *wait_ms = left_ms;
    }
    pthread_mutex_unlock(&endpoints->lock);
    return due;
}

int pl_endpoints_work(struct pl_endpoints *endpoints, struct pl_fleet *fleet)
{
    eventfd_t events;
    int wait_ms;
    eventfd_read(endpoints->event, &events);
    for (struct job *job; (job = next_job(endpoints, &wait_ms));) {
        pl_fleet_look(fleet);
        job->endpoint->answer(fleet, &job->question, &endpoints->place, &job->answer);
        if (!job->answer.due_ns)
            finish(endpoints, job);
    }
    return wait_ms;
}

/* --- start and stop --- */

/* The address as clients name it: without the zone, and in brackets if it is one of IPv6. */
static void name_address(struct pl_endpoints *endpoints, const struct sockaddr_storage *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *four = (const struct sockaddr_in *) address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *) address;
    bool is_six = address->ss_family == AF_INET6;
    inet_ntop(address->ss_family, is_six ? (const void *) &six->sin6_addr : (const void *) &four->sin_addr, text,
              sizeof text);
    snprintf(endpoints->host[0], HOST_BYTES, is_six ? "[%s]:%u" : "%s:%u", text, endpoints->port);
    snprintf(endpoints->host[1], HOST_BYTES, "localhost:%u", endpoints->port);
}

static int open_socket(struct pl_endpoints *endpoints, const struct pl_endpoints_options *options)
{
    const struct sockaddr_un *local = (const struct sockaddr_un *) &options->address;
    struct stat status;
    endpoints->local_socket = options->address.ss_family == AF_UNIX;
    if (endpoints->local_socket && !lstat(local->sun_path, &status) && S_ISSOCK(status.st_mode))
        unlink(local->sun_path); /* of an agent that was killed */
    mode_t mask = umask(0177);   /* for ourselves only */
    int fd = pl_listener_bind(options->address.ss_family, (const struct sockaddr *) &options->address,
                              options->address_bytes);
    umask(mask);
    if (fd < 0)
        return fd;
    if (endpoints->local_socket) {
        endpoints->socket_path = pl_say_print("%s", local->sun_path);
        snprintf(endpoints->host[0], HOST_BYTES, "localhost");
        return fd;
    }
    endpoints->port = pl_listener_port(fd);
    name_address(endpoints, &options->address);
    return fd;
}

static struct pl_endpoints *new_endpoints(const struct pl_endpoints_options *options)
{
    struct pl_endpoints *endpoints = pl_say_memory(calloc(1, sizeof *endpoints));
    pthread_mutex_init(&endpoints->lock, NULL);
    endpoints->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    endpoints->token = options->token;
    endpoints->loopback = options->loopback;
    endpoints->place = (struct pl_place_served){endpoints->host[0], options->certificate != NULL};
    return endpoints;
}

static void free_endpoints(struct pl_endpoints *endpoints)
{
    if (endpoints->socket_path)
        unlink(endpoints->socket_path);
    free(endpoints->socket_path);
    close(endpoints->event);
    pthread_mutex_destroy(&endpoints->lock);
    free(endpoints);
}

int pl_endpoints_start(const struct pl_endpoints_options *options, struct pl_endpoints **out)
{
    if (!pl_http_load())
        return -ELIBACC;
    struct pl_endpoints *endpoints = new_endpoints(options);
    int fd = open_socket(endpoints, options);
    if (fd >= 0) {
        struct pl_listener listener = {fd,   &endpoints->clients,  serve,       endpoints,
                                       true, options->certificate, options->key};
        endpoints->daemon = pl_listener_start(&listener);
    }
    if (!endpoints->daemon) {
        int error = fd < 0 ? fd : errno ? -errno : -EIO;
        if (fd >= 0)
            close(fd);
        free_endpoints(endpoints);
        return error;
    }
    if (!endpoints->local_socket)
        snprintf(endpoints->url, sizeof endpoints->url, "%s://%s", options->certificate ? "https" : "http",
                 endpoints->host[0]);
    *out = endpoints;
    return 0;
}

/* Suspended connections must be resumed before the server stops. */
void pl_endpoints_stop(struct pl_endpoints *endpoints)
{
    pthread_mutex_lock(&endpoints->lock);
    endpoints->stopping = true;
    pthread_mutex_unlock(&endpoints->lock);
    while (endpoints->jobs) {
        struct job *job = endpoints->jobs;
        job->answer.status = MHD_HTTP_SERVICE_UNAVAILABLE;
        job->answer.why = "The server is stopping.\n";
        finish(endpoints, job);
    }
    pl_http.stop_daemon(endpoints->daemon);
    free_endpoints(endpoints);
}

const char *pl_endpoints_url(const struct pl_endpoints *endpoints)
{
    return endpoints->local_socket ? endpoints->socket_path : endpoints->url;
}

int pl_endpoints_event(const struct pl_endpoints *endpoints)
{
    return endpoints->event;
}
