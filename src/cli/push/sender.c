/* SPDX-License-Identifier: MIT */
/*
 * sender.c - see sender.h.
 *
 * A connection serves one request: on a connection that is used again, libcurl may send a request twice.
 */
#include "cli/push/sender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/push/curl.h"
#include "cli/say.h"
#include "export/gzip.h"

#define TIMEOUT_MS 30000L

struct pl_sender {
    struct pl_sender_options given;
    const struct pl_store *store;
    char *url;
    CURL *curl;
    bool failing; /* the last request failed, and that has been said */
};

/* --- the store --- */

static enum pl_exit refuse_to(const char *to)
{
    return pl_say_usage("--to %s: not a store; give " PL_STORE_NAMES ", a plus sign and an address, for example "
                        "pyroscope+https://profiles.example",
                        to);
}

static enum pl_exit find_store(struct pl_sender *sender)
{
    const char *plus = sender->given.to ? strchr(sender->given.to, '+') : NULL, *url = plus ? plus + 1 : "";
    if (!sender->given.to)
        return pl_say_usage("push needs --to STORE+URL, for example --to otlp+http://127.0.0.1:4318");
    sender->store = plus ? pl_store_find(sender->given.to, (size_t) (plus - sender->given.to)) : NULL;
    if (!sender->store || (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)))
        return refuse_to(sender->given.to);
    const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');
    if (!*host || host == path)
        return refuse_to(sender->given.to);
    sender->url = path && path[1] ? pl_say_print("%s", url)
                                  : pl_say_print("%.*s%s", (int) (path ? path - url : (long) strlen(url)), url,
                                                 sender->store->path);
    return PL_EXIT_OK;
}

/* --- a request --- */

static size_t ignore(char *data, size_t size, size_t count, void *context)
{
    (void) data, (void) context;
    return size * count;
}

/* The line in the file. NULL: there is none. The caller frees it. */
static char *read_token(const struct pl_sender *sender)
{
    char token[4096] = "";
    FILE *file = fopen(sender->given.token_file, "re");
    if (!file || !fgets(token, sizeof token, file))
        pl_say("cannot read %s: %m", sender->given.token_file);
    if (file)
        fclose(file);
    token[strcspn(token, " \t\r\n")] = 0;
    return *token ? pl_say_print("Authorization: Bearer %s", token) : NULL;
}

static struct curl_slist *add_header(struct curl_slist *list, char *header)
{
    struct curl_slist *longer = header ? pl_curl.slist_append(list, header) : list;
    free(header);
    return longer;
}

static struct curl_slist *make_headers(const struct pl_sender *sender)
{
    const struct pl_store *store = sender->store;
    struct curl_slist *list = add_header(NULL, pl_say_print("Content-Type: %s", store->type));
    list = add_header(list, pl_say_print("Expect:")); /* no wait for 100 Continue */
    if (store->gzip)
        list = add_header(list, pl_say_print("Content-Encoding: gzip"));
    if (sender->given.tenant)
        list = add_header(list, pl_say_print("X-Scope-OrgID: %s", sender->given.tenant));
    return sender->given.token_file ? add_header(list, read_token(sender)) : list;
}

static void say_failure(struct pl_sender *sender, const char *why)
{
    if (!sender->failing)
        pl_say("%s: %s; what was allocated will be sent with the next request that succeeds", sender->url, why);
    sender->failing = true;
}

/* Errors that come before anything was sent. */
static bool reached_nobody(CURLcode code)
{
    static const CURLcode early[] = {CURLE_COULDNT_RESOLVE_PROXY,    CURLE_COULDNT_RESOLVE_HOST,
                                     CURLE_COULDNT_CONNECT,          CURLE_SSL_CONNECT_ERROR,
                                     CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++)
        if (early[i] == code)
            return true;
    return false;
}

/* The next request may be taken. */
static bool is_about_the_content(long status)
{
    return status == 400 || status == 413 || status == 415 || status == 422;
}

static enum pl_sent judge(struct pl_sender *sender, CURLcode code)
{
    long status = 0;
    char *type = NULL, why[160];
    if (code != CURLE_OK) {
        say_failure(sender, pl_curl.easy_strerror(code));
        return reached_nobody(code) ? PL_SENT_NOT : PL_SENT_PERHAPS;
    }
    pl_curl.easy_getinfo(sender->curl, CURLINFO_RESPONSE_CODE, &status);
    pl_curl.easy_getinfo(sender->curl, CURLINFO_CONTENT_TYPE, &type);
    bool ours = !type || !strncmp(type, sender->store->answer, strlen(sender->store->answer));
    if (status / 100 == 2 && ours) {
        if (sender->failing)
            pl_say("%s: works again", sender->url);
        sender->failing = false;
        return PL_SENT;
    }
    snprintf(why, sizeof why, status / 100 == 2 ? "not a store: it answers with %.80s" : "the store answers %.0s%ld",
             type ? type : "", status);
    say_failure(sender, why);
    return is_about_the_content(status) ? PL_SENT_REFUSED : PL_SENT_NOT;
}

static enum pl_sent post(struct pl_sender *sender, const char *body, size_t bytes)
{
    struct curl_slist *headers = make_headers(sender);
    CURL *curl = sender->curl;
    pl_curl.easy_reset(curl);
    pl_curl.easy_setopt(curl, CURLOPT_URL, sender->url);
    pl_curl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) bytes);
    pl_curl.easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    pl_curl.easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    pl_curl.easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    pl_curl.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    pl_curl.easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L); /* on a reused connection, libcurl may send it twice */
    pl_curl.easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    if (sender->given.ca)
        pl_curl.easy_setopt(curl, CURLOPT_CAINFO, sender->given.ca);
    enum pl_sent outcome = judge(sender, pl_curl.easy_perform(curl));
    pl_curl.slist_free_all(headers);
    return outcome;
}

/* --- from outside --- */

enum pl_sent pl_sender_send(struct pl_sender *sender, const struct pl_parcel *parcel, uint32_t parcels)
{
    char *body = NULL;
    size_t bytes = 0;
    FILE *memory = pl_say_memory(open_memstream(&body, &bytes));
    FILE *packed = sender->store->gzip ? pl_gzip_open(memory) : memory;
    sender->store->write(parcel, parcels, sender->given.no_names, packed);
    if (packed != memory)
        fclose(packed);
    fclose(memory);
    enum pl_sent sent = post(sender, body, bytes);
    free(body);
    return sent;
}

bool pl_sender_failing(const struct pl_sender *sender)
{
    return sender->failing;
}

enum pl_exit pl_sender_check(const struct pl_sender_options *options)
{
    struct pl_sender sender = {.given = *options};
    enum pl_exit status = find_store(&sender);
    free(sender.url);
    return status;
}

enum pl_exit pl_sender_open(const struct pl_sender_options *options, struct pl_sender **out)
{
    struct pl_sender *sender = pl_say_memory(calloc(1, sizeof *sender));
    sender->given = *options;
    enum pl_exit status = find_store(sender);
    if (status == PL_EXIT_OK && !pl_curl_load())
        status = pl_say_failure("cannot send without " PL_CURL_LIBRARY "; install libcurl");
    if (status == PL_EXIT_OK)
        sender->curl = pl_say_memory(pl_curl.easy_init());
    if (status != PL_EXIT_OK) {
        pl_sender_close(sender);
        sender = NULL;
    }
    *out = sender;
    return status;
}

void pl_sender_close(struct pl_sender *sender)
{
    if (!sender)
        return;
    if (sender->curl)
        pl_curl.easy_cleanup(sender->curl);
    free(sender->url);
    free(sender);
}
