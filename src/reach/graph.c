/* SPDX-License-Identifier: MIT */
/* graph.c - see graph.h. */
#include "reach/graph.h"

#include <stdlib.h>

bool pl_graph_begin(struct pl_graph *graph, uint32_t nodes)
{
    *graph = (struct pl_graph){.nodes = nodes, .first = malloc((nodes + 1ull) * sizeof *graph->first)};
    if (graph->first)
        graph->first[0] = 0;
    return graph->first;
}

void pl_graph_reach(struct pl_graph *graph, uint32_t node)
{
    while (graph->last < node)
        graph->first[++graph->last] = graph->edges;
}

void pl_graph_add(struct pl_graph *graph, uint32_t from, uint32_t to)
{
    pl_graph_reach(graph, from);
    if (graph->edges > graph->first[from] && graph->to[graph->edges - 1] == to)
        return;
    if (graph->edges == graph->room) {
        uint64_t room = graph->room ? graph->room + graph->room / 2 : 1u << 16;
        uint32_t *more = realloc(graph->to, room * sizeof *more);
        graph->full |= !more;
        if (!more)
            return;
        graph->to = more;
        graph->room = room;
    }
    graph->to[graph->edges++] = to;
}

bool pl_graph_end(struct pl_graph *graph)
{
    pl_graph_reach(graph, graph->nodes);
    return !graph->full;
}

void pl_graph_free(struct pl_graph *graph)
{
    free(graph->first);
    free(graph->to);
    *graph = (struct pl_graph){0};
}
