/* Graphs: the result of a capture, its executable copies, and their launch
 * in one of the orders that the edges allow. */
#include "internal.h"

#include <stdlib.h>

typedef struct GraphExec {
    Object object;
    Graph *graph;
    uint64_t random;
    Place last;
} GraphExec;

Graph *graph_new(const char *call) {
    Graph *graph = object_new(KIND_GRAPH, sizeof *graph, NULL, call);
    graph->references = 1;
    return graph;
}

/* Takes ownership of the operation. Returns the number of the node,
 * starting with 0. */
size_t graph_add(Graph *graph, Op *op, size_t first, size_t second) {
    if (graph->count == graph->room) {
        graph->room = graph->room == 0 ? 16 : 2 * graph->room;
        graph->nodes =
            realloc(graph->nodes, graph->room * sizeof *graph->nodes);
        if (graph->nodes == NULL)
            abort();
    }
    graph->nodes[graph->count] = (Node){op, {first, second}};
    return graph->count++;
}

/* Whether a path along the edges leads back from one node to another, or to
 * 0, the start. One pass is enough, because each edge leads to a lower
 * number. */
bool graph_reaches(const Graph *graph, size_t from, size_t to) {
    if (to == 0)
        return true;
    bool *reached = calloc(graph->count + 1, sizeof *reached);
    if (reached == NULL)
        abort();
    reached[from] = true;
    for (size_t i = from; i > 0; i--)
        if (reached[i])
            for (int j = 0; j < 2; j++)
                reached[graph->nodes[i - 1].after[j]] = true;
    bool found = reached[to];
    free(reached);
    return found;
}

/* Memory that the capture allocated is freed with the last graph that can
 * use it. */
void graph_drop(Graph *graph) {
    if (--graph->references != 0)
        return;
    object_end(graph);
    for (size_t i = 0; i < graph->count; i++)
        op_free(graph->nodes[i].op);
    for (size_t i = 0; i < graph->memory_count; i++) {
        Range *range = range_find(graph->memory[i]);
        if (range == NULL || range->graph != graph)
            continue;
        range_unback(range->page, range->pages_size);
        device_give(range->device, range->charged);
        range_remove(range);
    }
    free(graph->nodes);
    free(graph->memory);
    graph->nodes = NULL;
    graph->memory = NULL;
    graph->count = graph->memory_count = 0;
}

static CUresult find(CUgraph handle, const char *call, Graph **found) {
    Graph *graph = object_find(KIND_GRAPH, handle);
    *found = graph;
    if (graph == NULL || !graph->object.alive || graph->object.hidden)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "hGraph %p is not a live graph", (void *)handle);
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
    SIM_CALL_KEY(IS_RELEASE, (uintptr_t)handle);
    Graph *graph;
    CUresult code = find(handle, __func__, &graph);
    if (code != CUDA_SUCCESS)
        return code;
    /* Executable graphs keep the contents of the graph, but its handle ends
     * here. */
    graph->object.hidden = true;
    graph_drop(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
    SIM_CALL(0);
    Graph *graph;
    CUresult code = find(handle, __func__, &graph);
    if (code != CUDA_SUCCESS)
        return code;
    if (count == NULL)
        return INVALID("numNodes is NULL");
    if (nodes != NULL)
        for (size_t i = 0; i < *count; i++)
            nodes[i] =
                i < graph->count
                    ? (CUgraphNode)(uintptr_t)(graph->object.handle + 1 + i)
                    : NULL;
    if (nodes == NULL || *count > graph->count)
        *count = graph->count;
    return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle,
                            unsigned long long flags, const char *call) {
    Graph *graph;
    CUresult code = find(handle, call, &graph);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || flags > 15)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "phGraphExec is NULL or flags is 0x%llx", flags);
    GraphExec *exec = object_new(KIND_GRAPH_EXEC, sizeof *exec, NULL, call);
    exec->graph = graph;
    exec->random = sim.config.seed + exec->object.handle;
    graph->references++;
    *out = (CUgraphExec)(uintptr_t)exec->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph,
                               CUgraphNode *error_node, char *log,
                               size_t size) {
    SIM_CALL(0);
    if (error_node != NULL)
        *error_node = NULL;
    if (log != NULL && size > 0)
        *log = 0;
    return instantiate(out, graph, 0, __func__);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                     unsigned long long flags) {
    SIM_CALL(0);
    return instantiate(out, graph, flags, __func__);
}

static CUresult find_exec(CUgraphExec handle, const char *call,
                          GraphExec **found) {
    GraphExec *exec = object_find(KIND_GRAPH_EXEC, handle);
    *found = exec;
    if (exec == NULL || !exec->object.alive)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "hGraphExec %p is not a live executable graph",
                    (void *)handle);
    return CUDA_SUCCESS;
}

/* Waits for the launches, because the memory that they use may be freed now. */
CUresult cuGraphExecDestroy(CUgraphExec handle) {
    SIM_CALL_KEY(IS_RELEASE, (uintptr_t)handle);
    GraphExec *exec;
    CUresult code = find_exec(handle, __func__, &exec);
    if (code != CUDA_SUCCESS)
        return code;
    object_end(exec);
    if (exec->last.stream != NULL)
        place_wait(exec->last);
    graph_drop(exec->graph);
    return CUDA_SUCCESS;
}

static bool may_follow(const Node *node, const bool *queued) {
    for (int i = 0; i < 2; i++)
        if (node->after[i] != 0 && !queued[node->after[i] - 1])
            return false;
    return true;
}

/* Queues the nodes in a random order that the edges allow, so that a
 * missing edge shows in the results. */
static CUresult queue_all(GraphExec *exec, Stream *stream) {
    const Graph *graph = exec->graph;
    bool *queued = calloc(graph->count + 1, sizeof *queued);
    CUresult code = CUDA_SUCCESS;
    if (queued == NULL)
        abort();
    for (size_t left = graph->count; left > 0 && code == CUDA_SUCCESS; left--) {
        size_t at = next_random(&exec->random) % graph->count;
        while (queued[at] || !may_follow(&graph->nodes[at], queued))
            at = (at + 1) % graph->count;
        queued[at] = true;
        Op *op = op_copy(graph->nodes[at].op);
        if (exec->last.stream != NULL && left == graph->count)
            op_after(op, exec->last);
        code = stream_submit(stream, op);
    }
    free(queued);
    return code;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    GraphExec *exec;
    FIND_STREAM(stream_handle, &stream);
    CUresult code = find_exec(handle, __func__, &exec);
    if (code != CUDA_SUCCESS)
        return code;
    code = queue_all(exec, stream);
    if (code == CUDA_SUCCESS && stream->capture == NULL)
        exec->last = (Place){stream, stream->submitted};
    return code;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
    SIM_CALL(IN_CONTEXT);
    Stream *stream;
    GraphExec *exec;
    FIND_STREAM(stream_handle, &stream);
    return find_exec(handle, __func__, &exec);
}
