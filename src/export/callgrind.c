/* SPDX-License-Identifier: MIT */
/*
 * callgrind.c - what each function and line allocates, and who calls whom, for KCachegrind and callgrind_annotate.
 *
 * The format has self costs of lines, and calls from a line to a function with their inclusive cost. So stacks are
 * split into edges, and two things have to be decided.
 *
 * If a function is in a stack several times, only the first call to it has a cost, and the others have none. So the
 * costs of all calls to a function add up to what was allocated below it, and never to more than the whole. The other
 * calls are still there, for tools that look for cycles.
 *
 * How often a function was called is not known: `calls=` is how many allocations were made below the call.
 *
 * Everything is called from one function, "(everything)": readers take the costs of its calls for those of the program,
 * and could not compute the share of an outermost function without it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/label.h"
#include "export/pairs.h"
#include "export/wording.h"
#include "reader/base/grow.h"
#include "reader/describe.h"

#define EVERYTHING "(everything)"
#define UNKNOWN "???" /* valgrind's word */

struct cost {
    int64_t value[PL_METRIC_COUNT];
};

/* From a line to a function. */
struct edge {
    uint32_t line;
    uint32_t callee;
    uint32_t row; /* the last row that had it, plus 1 */
    int64_t calls;
    struct cost cost;
};

struct graph {
    const struct pl_flat *flat;
    uint32_t root_line;    /* that of EVERYTHING, after all others */
    struct cost *self;     /* by line */
    struct pl_pairs pairs; /* line and callee of each edge, in the order of `edge` */
    struct edge *edge;
    uint32_t edges, room;
    uint32_t *entered; /* by function: the last row that had it, plus 1 */
};

/* --- from stacks to edges --- */

static struct edge *edge_between(struct graph *graph, uint32_t line, uint32_t callee)
{
    uint32_t number = pl_pairs_number(&graph->pairs, line, callee);
    if (number == graph->edges) {
        graph->edge = pl_grow(graph->edge, number, &graph->room, sizeof *graph->edge);
        graph->edge[graph->edges++] = (struct edge){.line = line, .callee = callee};
    }
    return &graph->edge[number];
}

static void add_cost(struct cost *to, const int64_t value[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        to->value[m] += value[m];
}

static void add_row(struct graph *graph, uint32_t number, uint32_t *line)
{
    const struct pl_flat_row *row = &graph->flat->row[number];
    uint32_t lines = pl_flat_stack(graph->flat, row->stack, line), caller = graph->root_line;
    for (uint32_t i = 0; i < lines; caller = line[i++]) {
        uint32_t callee = graph->flat->line[line[i]].function;
        struct edge *edge = edge_between(graph, caller, callee);
        if (edge->row != number + 1)
            edge->calls += row->value[PL_METRIC_ALLOC_OBJECTS];
        if (graph->entered[callee] != number + 1)
            add_cost(&edge->cost, row->value);
        edge->row = graph->entered[callee] = number + 1;
    }
    add_cost(&graph->self[caller], row->value);
}

static void make_graph(struct graph *graph, const struct pl_flat *flat)
{
    *graph = (struct graph){.flat = flat, .root_line = flat->lines, .pairs = pl_pairs_new()};
    graph->self = pl_grow_zeroed(flat->lines + 1ull, sizeof *graph->self);
    graph->entered = pl_grow_zeroed(flat->functions + 1ull, sizeof *graph->entered);
    uint32_t *line = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *line);
    for (uint32_t i = 0; i < flat->rows; i++)
        add_row(graph, i, line);
    free(line);
}

static void free_graph(struct graph *graph)
{
    pl_pairs_free(&graph->pairs);
    free(graph->entered);
    free(graph->edge);
    free(graph->self);
}

/* --- names, written out once --- */

enum name_kind {
    OBJECT,
    FILE_NAME,
    FUNCTION,
    NAME_KINDS,
};

struct writer {
    FILE *out;
    const struct graph *graph;
    const uint32_t *file; /* by function: pl_wording_files() */
    bool *said[NAME_KINDS];
    enum pl_metric order[PL_METRIC_COUNT];
    int metrics;
};

/* Names have numbers; the first time, the name follows its number. Readers skip blanks there, so blanks at the start of
 * a name are made visible. */
static void put_name(const struct writer *writer, const char *word, enum name_kind kind, uint32_t number,
                     const char *name)
{
    fprintf(writer->out, "%s=(%" PRIu32 ")", word, number + 1);
    if (!writer->said[kind][number]) {
        char *clean = pl_label_clean(name);
        size_t blanks = strspn(clean, " ");
        fputc(' ', writer->out);
        for (size_t i = 0; i < blanks; i++)
            fputs("␠", writer->out);
        fputs(clean + blanks, writer->out);
        free(clean);
    }
    fputc('\n', writer->out);
    writer->said[kind][number] = true;
}

static void put_function(const struct writer *writer, uint32_t number, const char *const words[NAME_KINDS])
{
    const struct pl_flat *flat = writer->graph->flat;
    bool code = number < flat->functions && flat->function[number].module != PL_FLAT_NONE;
    uint32_t module = code ? flat->function[number].module : flat->profile->modules;
    const char *object = code ? flat->profile->module[module].path : "", *file = "", *name = EVERYTHING;
    if (number < flat->functions) {
        file = flat->function[number].file;
        name = flat->function[number].name;
    }
    put_name(writer, words[OBJECT], OBJECT, module, *object ? object : UNKNOWN);
    put_name(writer, words[FILE_NAME], FILE_NAME, *file ? writer->file[number] : flat->functions,
             *file ? file : UNKNOWN);
    put_name(writer, words[FUNCTION], FUNCTION, number, name);
}

static void put_caller(const struct writer *writer, uint32_t function)
{
    static const char *const words[] = {[OBJECT] = "ob", [FILE_NAME] = "fl", [FUNCTION] = "fn"};
    fputc('\n', writer->out);
    put_function(writer, function, words);
}

static void put_callee(const struct writer *writer, uint32_t function)
{
    static const char *const words[] = {[OBJECT] = "cob", [FILE_NAME] = "cfi", [FUNCTION] = "cfn"};
    put_function(writer, function, words);
}

/* --- lines and calls --- */

static uint32_t line_number(const struct graph *graph, uint32_t line)
{
    return line == graph->root_line ? 0 : graph->flat->line[line].line;
}

static uint32_t function_of(const struct graph *graph, uint32_t line)
{
    return line == graph->root_line ? graph->flat->functions : graph->flat->line[line].function;
}

static void put_values(const struct writer *writer, const int64_t value[PL_METRIC_COUNT])
{
    for (int i = 0; i < writer->metrics; i++)
        fprintf(writer->out, " %" PRId64, value[writer->order[i]]);
    fputc('\n', writer->out);
}

static void put_cost(const struct writer *writer, uint32_t line, const struct cost *cost)
{
    fprintf(writer->out, "%" PRIu32, line_number(writer->graph, line));
    put_values(writer, cost->value);
}

/* With `calls=0`, the next line would count as the function's self cost. */
static void put_edge(const struct writer *writer, const struct edge *edge)
{
    put_callee(writer, edge->callee);
    fprintf(writer->out, "calls=%" PRId64 " %" PRIu32 "\n", edge->calls > 0 ? edge->calls : 1,
            writer->graph->flat->function[edge->callee].start_line);
    put_cost(writer, edge->line, &edge->cost);
}

static bool is_nothing(const struct cost *cost)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (cost->value[m])
            return false;
    return true;
}

/* Lines that only call have a cost of 0: annotating a file in which no line has one confuses callgrind_annotate. */
static void put_self(const struct writer *writer, uint32_t line)
{
    if (is_nothing(&writer->graph->self[line]))
        fprintf(writer->out, "%" PRIu32 " 0\n", line_number(writer->graph, line));
    else
        put_cost(writer, line, &writer->graph->self[line]);
}

static int compare_lines(const struct graph *graph, uint32_t a, uint32_t b)
{
    uint32_t first = function_of(graph, a), second = function_of(graph, b);
    if (first != second)
        return first < second ? -1 : 1;
    first = line_number(graph, a);
    second = line_number(graph, b);
    return (first > second) - (first < second);
}

static int by_function(const void *left, const void *right, void *graph)
{
    return compare_lines(graph, *(const uint32_t *) left, *(const uint32_t *) right);
}

static int by_caller(const void *left, const void *right, void *graph)
{
    const struct edge *a = left, *b = right;
    int order = compare_lines(graph, a->line, b->line);
    return order ? order : (a->callee > b->callee) - (a->callee < b->callee);
}

/* A function with all its lines, then the next. Each line has its own cost first, then its calls. */
static void put_graph(const struct writer *writer, struct graph *graph)
{
    uint32_t lines = graph->flat->lines + 1, next = 0, function = UINT32_MAX;
    uint32_t *line = pl_grow_zeroed(lines, sizeof *line);
    for (uint32_t i = 0; i < lines; i++)
        line[i] = i;
    qsort_r(line, lines, sizeof *line, by_function, graph);
    if (graph->edges)
        qsort_r(graph->edge, graph->edges, sizeof *graph->edge, by_caller, graph);
    for (uint32_t i = 0; i < lines; i++) {
        bool calls = next < graph->edges && graph->edge[next].line == line[i];
        if (!calls && is_nothing(&graph->self[line[i]]))
            continue;
        if (function_of(graph, line[i]) != function)
            put_caller(writer, function = function_of(graph, line[i]));
        put_self(writer, line[i]);
        for (; next < graph->edges && graph->edge[next].line == line[i]; next++)
            put_edge(writer, &graph->edge[next]);
    }
    free(line);
}

/* --- the whole --- */

/* Tools sort by the first metric. */
static void choose_order(struct writer *writer, enum pl_metric first)
{
    int at = 0;
    writer->order[at++] = first;
    for (int m = 0; m < writer->metrics; m++)
        if (m != (int) first)
            writer->order[at++] = (enum pl_metric) m;
}

static void put_head(const struct writer *writer, const struct pl_profile *profile,
                     const struct pl_export_options *options)
{
    char *command = pl_wording_command(profile), *subtitle = pl_label_subtitle(profile, options);
    fprintf(writer->out,
            "# callgrind format\nversion: 1\ncreator: plimsoll " PL_EXPORT_VERSION "\npid: %" PRIu32
            "\ncmd: %s\ndesc: %s\n",
            profile->header.pid, command, subtitle);
    fputs("positions: line\n", writer->out);
    for (int i = 0; i < writer->metrics; i++) {
        const struct pl_metric_info *info = pl_describe_metric(profile, writer->order[i]);
        fprintf(writer->out, "event: %s : %s\n", info->key, info->help);
    }
    fputs("events:", writer->out);
    for (int i = 0; i < writer->metrics; i++)
        fprintf(writer->out, " %s", pl_metric_info[writer->order[i]].key);
    fputs("\nsummary:", writer->out);
    put_values(writer, options->flat->total);
    free(subtitle);
    free(command);
}

void pl_export_callgrind(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    const struct pl_flat *flat = options->flat;
    struct graph graph;
    make_graph(&graph, flat);
    uint32_t *file = pl_wording_files(flat);
    struct writer writer = {.out = out, .graph = &graph, .file = file, .metrics = pl_profile_metrics(profile)};
    writer.said[OBJECT] = pl_grow_zeroed(profile->modules + 1ull, sizeof(bool));
    writer.said[FILE_NAME] = pl_grow_zeroed(flat->functions + 1ull, sizeof(bool));
    writer.said[FUNCTION] = pl_grow_zeroed(flat->functions + 1ull, sizeof(bool));
    choose_order(&writer, options->metric);
    put_head(&writer, profile, options);
    put_graph(&writer, &graph);
    fputs("\ntotals:", out);
    put_values(&writer, flat->total);
    for (int i = 0; i < NAME_KINDS; i++)
        free(writer.said[i]);
    free(file);
    free_graph(&graph);
}
