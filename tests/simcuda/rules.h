/* Each case runs in a process of its own. The case states the exit status
 * of that process, which is LEAKS if the case leaks on purpose. Every other
 * case must free everything. Only the calls that a case expects to be
 * rejected may be rejected.
 *
 * With -DTRACE the same cases run with any driver, and its results are
 * recorded: tests/gpu/trace.h. */
#ifndef SIMCUDA_RULES_H
#define SIMCUDA_RULES_H

#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"

/* UNDEFINED is added to the status. The documentation does not define what
 * happens in such a case, so only the simulated driver runs it. */
enum { LEAKS = 97, ABORTS = 134, UNDEFINED = 256 };

typedef struct Case {
    const char *name;
    void (*run)(void);
    int status;
    const char *environment; /* NAME=VALUE words, or NULL */
} Case;

#define MEGABYTE ((size_t)1 << 20)
#define PAGE ((size_t)2 << 20)

/* The number of rules that the case has broken on purpose. */
static size_t broken;

#ifdef TRACE
#include "../gpu/trace.h"
#define SIMULATED (simcuda_rules != NULL)
#else
#define SIMULATED true
/* A condition that only the simulated driver guarantees. */
#define SHOWS(condition) EXPECT(condition)
#define FAILED(...)                                       \
    do {                                                  \
        fprintf(stderr, "  %s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                     \
        fputc('\n', stderr);                              \
        _exit(1);                                         \
    } while (0)
#define EXPECT(condition)             \
    do {                              \
        if (!(condition))             \
            FAILED("%s", #condition); \
    } while (0)
#define EXPECT_NOT(condition) EXPECT(!(condition))
#define GIVES(code, call)                                               \
    do {                                                                \
        int got_code = (int)(call), wanted_code = (int)(code);          \
        if (got_code != wanted_code)                                    \
            FAILED("%s gave %d, not %d", #call, got_code, wanted_code); \
    } while (0)
#define OK(call) GIVES(CUDA_SUCCESS, call)
/* The call is rejected, and the driver records a broken rule. */
#define BREAKS(code, call)                                   \
    do {                                                     \
        size_t before_call = simcuda_violations(NULL, 0);    \
        GIVES(code, call);                                   \
        if (simcuda_violations(NULL, 0) <= before_call)      \
            FAILED("%s was not written down", #call);        \
        broken += simcuda_violations(NULL, 0) - before_call; \
    } while (0)
#endif
#ifdef TRACE
/* Frees what a case has left. The call is not recorded. */
#define CLEAN(call) ((void)(call))
#else
#define CLEAN(call) OK(call)
#endif
#define INVALID(call) BREAKS(CUDA_ERROR_INVALID_VALUE, call)
#ifndef TRACE
/* Rejected like a call in BREAKS. A real driver may do anything and may
 * even end the process, because the handle is invalid or its object was
 * destroyed. */
#define OPEN(code, call) BREAKS(code, call)
#endif

static CUcontext context;

static inline void begin(void) {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

/* No rule was broken except on purpose. */
static inline void all_on_purpose(void) {
#ifndef TRACE
    char text[4096];
    size_t count = simcuda_violations(text, sizeof text);
    if (count != broken)
        FAILED("%zu rules were broken, not %zu:\n%s", count, broken, text);
#endif
}

static inline void end(void) {
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease(0));
    all_on_purpose();
}

/* A host function that blocks a stream until the case opens the gate. A
 * gate is static, because a stream of a spoiled context may pass it after
 * the case has ended. */
typedef struct Gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_open;
} Gate;
#define GATE_INIT {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false}

static inline void gate_pass(void *argument) {
    Gate *gate = argument;
    pthread_mutex_lock(&gate->lock);
    while (!gate->is_open)
        pthread_cond_wait(&gate->opened, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static inline void gate_open(Gate *gate) {
    pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

/* Runs a function on another thread and waits for it. */
static inline void on_thread(void *(*run)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0 ||
        pthread_join(thread, NULL) != 0)
        abort();
}

#ifndef TRACE
static inline int run_case(const Case *one) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char words[512], *rest = words;
        snprintf(words, sizeof words, "%s",
                 one->environment != NULL ? one->environment : "");
        for (char *word; (word = strsep(&rest, " ")) != NULL;) {
            char *value = strchr(word, '=');
            if (value != NULL) {
                *value = 0;
                setenv(word, value + 1, 1);
            }
        }
        if (one->status % UNDEFINED != 0 &&
            freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        alarm(30);
        one->run();
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int run_cases(const Case *cases, size_t count) {
    size_t failed = 0;
    for (size_t i = 0; i < count; i++) {
        int status = run_case(&cases[i]);
        if (status == cases[i].status % UNDEFINED)
            continue;
        failed++;
        printf("not ok - %s: status %d, not %d\n", cases[i].name, status,
               cases[i].status % UNDEFINED);
    }
    printf("%zu passed, %zu failed\n", count - failed, failed);
    return failed != 0;
}
#define RUN(cases) run_cases(cases, sizeof cases / sizeof *(cases))
#endif

#endif
