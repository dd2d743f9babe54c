/* SPDX-License-Identifier: MIT */
/*
 * server.c - a line server whose memory is charged to the requests that asked for it.
 *
 *   server [CLIENTS [REQUESTS]]
 *
 * One thread reads lines from all connections; a pool of workers answers them:
 *
 *   put KEY VALUE    keeps the value, until the key is put again
 *   get KEY          answers with the value
 *   list PREFIX      answers with all keys that begin so: sorted, in a copy
 *
 * Stacks cannot tell whose memory it is, since every allocation of a worker comes from the same loop. Tags can: the
 * reader enters "request" and below it the verb, and captures that with the job; the worker adopts it for as long as it
 * works on the job. Then
 *
 *   plimsoll run --exact -o server.plim -- build/examples/server/server
 *   plimsoll report --by tag server.plim
 *
 * shows that "request/put" holds what is live, and that "request/list" allocates much and keeps nothing. The clients
 * are threads of the same program, at the other ends of socket pairs.
 */
#include <plimsoll.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CLIENTS_MAX 64
#define WORKERS 3
#define SLOTS 512
#define LINE_MAX_BYTES 256

/* ---- what is kept ---- */

struct entry {
    char *key, *value;
};

static struct entry table[SLOTS];
static unsigned entries;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry *find(const char *key)
{
    for (unsigned i = 0; i < entries; i++)
        if (strcmp(table[i].key, key) == 0)
            return &table[i];
    return NULL;
}

static char *put(const char *key, const char *value)
{
    struct entry *entry = find(key);
    if (!entry && entries == SLOTS)
        return strdup("full");
    if (!entry) {
        entry = &table[entries++];
        entry->key = strdup(key);
    }
    free(entry->value); /* these bytes are now subtracted from the tag of the put that made them */
    entry->value = strdup(value);
    return strdup("ok");
}

static char *get(const char *key, const char *unused)
{
    const struct entry *entry = find(key);
    (void) unused;
    return strdup(entry ? entry->value : "none");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static char *list(const char *prefix, const char *unused)
{
    char **keys = calloc(entries + 1, sizeof *keys);
    size_t found = 0, bytes = 1;
    (void) unused;
    plimsoll_push("copy");
    for (unsigned i = 0; i < entries; i++)
        if (strncmp(table[i].key, prefix, strlen(prefix)) == 0) {
            bytes += strlen(table[i].key) + 1;
            keys[found++] = strdup(table[i].key);
        }
    plimsoll_pop();
    qsort(keys, found, sizeof *keys, by_text);
    char *answer = calloc(1, bytes + 1);
    for (size_t i = 0; i < found; i++) {
        strcat(strcat(answer, keys[i]), " ");
        free(keys[i]);
    }
    free(keys);
    return answer;
}

static const struct verb {
    const char *name;
    char *(*answer)(const char *first, const char *second);
} verbs[] = {{"put", put}, {"get", get}, {"list", list}};
#define VERBS (sizeof verbs / sizeof *verbs)

/* ---- jobs ---- */

struct job {
    struct job *next;
    const struct verb *verb;
    plimsoll_context context; /* the tag that the worker is to be charged to */
    int connection;
    char line[LINE_MAX_BYTES];
};

static struct job *first, **last = &first;
static int no_more;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;

static void enqueue(struct job *job)
{
    pthread_mutex_lock(&queue_lock);
    no_more |= !job;
    if (job) {
        *last = job;
        last = &job->next;
    }
    pthread_cond_broadcast(&queue_changed);
    pthread_mutex_unlock(&queue_lock);
}

static struct job *dequeue(void)
{
    pthread_mutex_lock(&queue_lock);
    while (!first && !no_more)
        pthread_cond_wait(&queue_changed, &queue_lock);
    struct job *job = first;
    if (job && !(first = job->next))
        last = &first;
    pthread_mutex_unlock(&queue_lock);
    return job;
}

static void answer(const struct job *job)
{
    char key[LINE_MAX_BYTES] = "", value[LINE_MAX_BYTES] = "";
    sscanf(job->line, "%*s %255s %255[^\n]", key, value);
    pthread_mutex_lock(&table_lock);
    char *text = job->verb->answer(key, value);
    pthread_mutex_unlock(&table_lock);
    struct iovec parts[] = {{text, strlen(text)}, {"\n", 1}};
    if (writev(job->connection, parts, 2) < 0)
        perror("server");
    free(text);
}

static void *work(void *number)
{
    char name[16];
    snprintf(name, sizeof name, "worker-%d", *(const int *) number);
    pthread_setname_np(pthread_self(), name);
    for (struct job *job; (job = dequeue());) {
        plimsoll_context before = plimsoll_adopt(job->context);
        answer(job);
        free(job);
        plimsoll_adopt(before);
    }
    return NULL;
}

/* ---- reading ---- */

static void accept_line(int connection, const char *line)
{
    for (const struct verb *verb = verbs; verb < verbs + VERBS; verb++) {
        size_t bytes = strlen(verb->name);
        if (strncmp(line, verb->name, bytes) != 0 || line[bytes] != ' ')
            continue;
        plimsoll_push("request");
        plimsoll_push(verb->name);
        struct job *job = calloc(1, sizeof *job);
        job->verb = verb;
        job->context = plimsoll_capture();
        job->connection = connection;
        snprintf(job->line, sizeof job->line, "%s", line);
        enqueue(job);
        plimsoll_pop();
        plimsoll_pop();
    }
}

/* Clients wait for each answer, so there is one whole line to be read, or the end. */
static int read_line(int connection)
{
    char line[LINE_MAX_BYTES];
    ssize_t bytes = read(connection, line, sizeof line - 1);
    if (bytes <= 0)
        return 0;
    line[bytes] = 0;
    accept_line(connection, line);
    return 1;
}

static void serve(struct pollfd *connection, unsigned clients)
{
    for (unsigned open = clients; open;) {
        if (poll(connection, clients, -1) < 0)
            continue;
        for (unsigned i = 0; i < clients; i++)
            if (connection[i].revents && !read_line(connection[i].fd)) {
                connection[i].fd = -connection[i].fd - 1; /* poll() ignores it from now on */
                open--;
            }
    }
    enqueue(NULL);
}

/* ---- clients ---- */

struct client {
    pthread_t thread;
    int connection;
    unsigned number, requests;
};

static void ask(const struct client *client, const char *line, size_t bytes)
{
    char text[4096];
    if (write(client->connection, line, bytes) != (ssize_t) bytes)
        return;
    for (ssize_t more; (more = read(client->connection, text, sizeof text)) > 0;)
        if (memchr(text, '\n', (size_t) more))
            return;
}

static void *be_client(void *argument)
{
    const struct client *client = argument;
    char line[LINE_MAX_BYTES];
    pthread_setname_np(pthread_self(), "client");
    for (unsigned i = 0; i < client->requests; i++) {
        unsigned key = (client->number * 7 + i) % 40;
        int bytes = i % 5 == 0   ? snprintf(line, sizeof line, "list key-%u\n", key % 4)
                    : i % 2 == 0 ? snprintf(line, sizeof line, "put key-%u %0*u\n", key, 20 + (int) key, i)
                                 : snprintf(line, sizeof line, "get key-%u\n", key);
        ask(client, line, (size_t) bytes);
    }
    close(client->connection);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct client client[CLIENTS_MAX];
    static struct pollfd connection[CLIENTS_MAX];
    static int number[WORKERS];
    pthread_t worker[WORKERS];
    unsigned clients = argc > 1 ? (unsigned) atoi(argv[1]) : 8, requests = argc > 2 ? (unsigned) atoi(argv[2]) : 500;
    if (clients < 1 || clients > CLIENTS_MAX)
        return 2;
    for (int i = 0; i < WORKERS; i++) {
        number[i] = i + 1;
        if (pthread_create(&worker[i], NULL, work, &number[i]))
            return 1;
    }
    for (unsigned i = 0; i < clients; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
            return 1;
        connection[i] = (struct pollfd){.fd = pair[0], .events = POLLIN};
        client[i] = (struct client){.connection = pair[1], .number = i, .requests = requests};
        if (pthread_create(&client[i].thread, NULL, be_client, &client[i]))
            return 1;
    }
    serve(connection, clients);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(worker[i], NULL);
    for (unsigned i = 0; i < clients; i++)
        pthread_join(client[i].thread, NULL);
    printf("%u requests, %u keys\n", clients * requests, entries);
    return 0;
}
