/* SPDX-License-Identifier: MIT */
/*
 * test_dominate.c - dominators of random graphs are those that the definition gives: d dominates n if n cannot be
 * reached without d.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "reach/dominate.h"

#define NODES_MAX 40

static uint64_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (seed >> 33) % limit;
}

struct drawn {
    struct pl_graph graph;
    uint64_t first[NODES_MAX + 1];
    uint32_t to[NODES_MAX * NODES_MAX];
};

static void draw(struct drawn *drawn, uint32_t nodes, uint32_t edges)
{
    uint32_t count[NODES_MAX] = {0}, used = 0;
    for (uint32_t e = 0; e < edges; e++)
        count[below(nodes)]++;
    for (uint32_t n = 0; n < nodes; n++) {
        drawn->first[n] = used;
        for (uint32_t e = 0; e < count[n]; e++)
            drawn->to[used++] = below(nodes); /* also itself, and the same again */
    }
    drawn->first[nodes] = used;
    drawn->graph = (struct pl_graph){.nodes = nodes, .first = drawn->first, .to = drawn->to};
}

/* Which nodes can be reached from node 0 without `without`. */
static void reach(const struct pl_graph *graph, uint32_t without, bool *reached)
{
    uint32_t stack[NODES_MAX], depth = 0;
    memset(reached, 0, graph->nodes * sizeof *reached);
    if (without == 0)
        return;
    reached[0] = true;
    stack[depth++] = 0;
    while (depth) {
        uint32_t at = stack[--depth];
        for (uint64_t e = graph->first[at]; e < graph->first[at + 1]; e++)
            if (!reached[graph->to[e]] && graph->to[e] != without)
                reached[stack[depth++] = graph->to[e]] = true;
    }
}

static void compare(const struct pl_graph *graph)
{
    uint32_t dominator[NODES_MAX], order[NODES_MAX], place[NODES_MAX];
    bool all[NODES_MAX], without[NODES_MAX][NODES_MAX];
    uint32_t count = pl_dominate(graph, dominator, order), reachable = 0;
    reach(graph, PL_GRAPH_NONE, all);
    for (uint32_t n = 0; n < graph->nodes; n++) {
        reach(graph, n, without[n]);
        reachable += all[n];
    }
    assert_int_equal(count, reachable);
    for (uint32_t i = 0; i < count; i++)
        place[order[i]] = i;
    for (uint32_t n = 0; n < graph->nodes; n++) {
        if (n == 0 || !all[n]) {
            assert_int_equal(dominator[n], PL_GRAPH_NONE);
            continue;
        }
        uint32_t d = dominator[n];
        assert_true(d < graph->nodes && d != n && !without[d][n]);
        assert_true(place[d] < place[n]);
        for (uint32_t other = 0; other < graph->nodes; other++) /* every other dominator dominates d */
            if (other != n && other != d && !without[other][n])
                assert_false(without[other][d]);
    }
}

static void dominators_of_random_graphs_are_those_of_the_definition(void **state)
{
    static struct drawn drawn;
    (void) state;
    for (int i = 0; i < 4000; i++) {
        uint32_t nodes = 1 + below(NODES_MAX);
        draw(&drawn, nodes, below(4 * nodes));
        compare(&drawn.graph);
    }
}

static void a_long_chain_needs_no_deep_stack(void **state)
{
    enum { NODES = 1000000 };
    struct pl_graph graph = {
        .nodes = NODES, .first = malloc((NODES + 1) * sizeof(uint64_t)), .to = malloc(NODES * sizeof(uint32_t))};
    uint32_t *dominator = malloc(NODES * sizeof *dominator), *order = malloc(NODES * sizeof *order);
    (void) state;
    for (uint32_t n = 0; n <= NODES; n++)
        graph.first[n] = n < NODES ? n : NODES - 1;
    for (uint32_t n = 0; n + 1 < NODES; n++)
        graph.to[n] = n + 1;
    assert_int_equal(pl_dominate(&graph, dominator, order), NODES);
    for (uint32_t n = 1; n < NODES; n++)
        assert_int_equal(dominator[n], n - 1);
    free(order);
    free(dominator);
    free(graph.first);
    free(graph.to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dominators_of_random_graphs_are_those_of_the_definition),
        cmocka_unit_test(a_long_chain_needs_no_deep_stack),
    };
    return cmocka_run_group_tests_name("dominate", tests, NULL, NULL);
}
