/* The cases of tests/simcuda as scripted sequences against any driver: with
 * -DTRACE the macros of rules.h write down what each call gives, where they
 * otherwise insist on it. Each case runs in a process of its own. A call that
 * ends its process, or hangs, is written down as such, and the case runs again
 * without it. The lines of a case are the same from run to run: a call that is
 * made again with the same result is written once.
 *
 * TRACE_RULES names a file for the rules that each line has broken, which only
 * the simulated driver knows. */
#ifndef GPU_TRACE_H
#define GPU_TRACE_H

#include <sys/mman.h>

#pragma weak simcuda_others_take
#pragma weak simcuda_leaks
#pragma weak simcuda_violations
#pragma weak simcuda_rules
#pragma weak simcuda_register_kernel
#pragma weak simcuda_kernel_memory

enum {
    TRACE_LINES = 400,
    TRACE_TEXT = 400,
    TRACE_SKIPS = 32,
    TRACE_SECONDS = 15
};

/* What the processes of a case share. Role 0 is the case's own process, 1 one
 * that it has started. */
typedef struct Trace {
    pid_t main_process;
    int at_line[2];
    char at_text[2][TRACE_TEXT];
    int skipped[2][TRACE_SKIPS], skips[2];
    /* "call -> result", with the rules that it broke behind a tab */
    char lines[2][TRACE_LINES][2 * TRACE_TEXT];
    int places[2][TRACE_LINES]; /* source lines: a loop's are written once */
    int count[2];
} Trace;

static Trace *trace;
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int trace_place;
static char trace_rules_before[1 << 15];

static inline int trace_role(void) { return getpid() != trace->main_process; }

/* False for a call that is to be left out. */
static inline bool trace_before(int line, const char *text) {
    int role = trace_role();
    if (strstr(text, "simcuda_") != NULL)
        return false;
    for (int i = 0; i < trace->skips[role]; i++)
        if (trace->skipped[role][i] == line)
            return false;
    trace->at_line[role] = trace_place = line;
    snprintf(trace->at_text[role], TRACE_TEXT, "%s", text);
    return true;
}

/* The rules whose counts differ from those before, with " | " between. */
static inline void trace_rules(char *out, size_t size) {
    static char now[sizeof trace_rules_before];
    *out = 0;
    if (simcuda_rules == NULL)
        return;
    simcuda_rules(now, sizeof now);
    const char *old = trace_rules_before;
    size_t used = 0;
    for (const char *at = now; *at != 0;) {
        size_t length = strcspn(at, "\n"), old_length = strcspn(old, "\n");
        const char *text = memchr(at, ' ', length);
        if (old_length > 0 && text != NULL && used < size &&
            (length != old_length || memcmp(at, old, length) != 0))
            used += (size_t)snprintf(
                out + used, size - used, "%s%.*s", used > 0 ? " | " : "",
                (int)(length - (size_t)(text + 1 - at)), text + 1);
        at += length + (at[length] != 0);
        old += old_length + (old[old_length] != 0);
    }
    memcpy(trace_rules_before, now, sizeof now);
}

static inline void trace_line(int role, int place, const char *text,
                              const char *result, const char *rules) {
    char line[2 * TRACE_TEXT];
    snprintf(line, sizeof line, "%.380s -> %.80s\t%.300s", text, result, rules);
    pthread_mutex_lock(&trace_lock);
    bool known = trace->count[role] == TRACE_LINES;
    size_t shown = strcspn(line, "\t");
    for (int i = 0; i < trace->count[role] && !known; i++)
        known = trace->places[role][i] == place &&
                strncmp(trace->lines[role][i], line, shown + 1) == 0;
    if (!known) {
        trace->places[role][trace->count[role]] = place;
        strcpy(trace->lines[role][trace->count[role]++], line);
    }
    pthread_mutex_unlock(&trace_lock);
}

static inline void trace_after(const char *text, const char *result) {
    char rules[300];
    int role = trace_role();
    pthread_mutex_lock(&trace_lock);
    trace->at_line[role] = 0;
    snprintf(trace->at_text[role], TRACE_TEXT, "after %.380s", text);
    trace_rules(rules, sizeof rules);
    pthread_mutex_unlock(&trace_lock);
    trace_line(role, trace_place, text, result, rules);
}

static inline const char *trace_name(CUresult code, char *other) {
    const char *name = NULL;
    if (cuGetErrorName(code, &name) == CUDA_SUCCESS && name != NULL)
        return name;
    sprintf(other, "error %d", (int)code);
    return other;
}

static inline void trace_code(const char *text, int got, int wanted,
                              bool must) {
    char other[32];
    trace_after(text, trace_name((CUresult)got, other));
    if (must && got != wanted) {
        trace_line(trace_role(), 0, "the case", "ends: it can not go on", "");
        _exit(0);
    }
}

#define TRACE_CALL(wanted, call, must)                             \
    do {                                                           \
        if (trace_before(__LINE__, #call))                         \
            trace_code(#call, (int)(call), (int)(wanted), (must)); \
        else if (must)                                             \
            _exit(0);                                              \
    } while (0)
#define EXPECT(condition)                                        \
    do {                                                         \
        if (trace_before(__LINE__, #condition))                  \
            trace_after(#condition, (condition) ? "yes" : "no"); \
    } while (0)
/* A matter of timing, which is not written down. */
#define SHOWS(condition) \
    do {                 \
        if (condition)   \
            break;       \
    } while (0)
#define GIVES(code, call) TRACE_CALL(code, call, false)
#define OK(call) TRACE_CALL(CUDA_SUCCESS, call, true)
#define BREAKS(code, call) TRACE_CALL(code, call, false)

static inline void trace_run(const Case *one) {
    trace->main_process = getpid();
    setenv("SIMCUDA_LEAKS", "", 1);
    alarm(TRACE_SECONDS);
    if (simcuda_rules != NULL)
        simcuda_rules(trace_rules_before, sizeof trace_rules_before);
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    one->run();
    _exit(0);
}

/* Runs a case, and again without the calls that ended it. */
static inline void trace_case(const Case *one) {
    for (int tries = 0, hangs = 0; tries < TRACE_SKIPS && hangs < 2; tries++) {
        char how[64];
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            trace_run(one);
        if (child < 0 || waitpid(child, &status, 0) != child || status == 0)
            return;
        if (WIFEXITED(status))
            snprintf(how, sizeof how, "the process ends with status %d",
                     WEXITSTATUS(status));
        else if (WTERMSIG(status) == SIGALRM)
            hangs++, snprintf(how, sizeof how, "hangs");
        else
            snprintf(how, sizeof how, "%s", strsignal(WTERMSIG(status)));
        trace_line(0, trace->at_line[0], trace->at_text[0], how, "");
        if (trace->at_line[0] == 0)
            return;
        /* What was written so far is written again, up to that call. */
        trace->skipped[0][trace->skips[0]++] = trace->at_line[0];
    }
}

/* Cases of a simulated driver that is set up in a way that no device is. Those
 * that take peers from it are put to whatever devices there are. */
static inline bool trace_leaves_out(const Case *one) {
    return one->status == LEAKS ||
           (one->environment != NULL &&
            strcmp(one->environment, "SIMCUDA_WITHOUT=peer") != 0);
}

static inline int trace_cases(const Case *cases, size_t count,
                              const char *file) {
    const char *rules_path = getenv("TRACE_RULES");
    FILE *rules = rules_path != NULL ? fopen(rules_path, "a") : NULL;
    const char *name = strrchr(file, '/');
    trace = mmap(NULL, sizeof *trace, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trace == MAP_FAILED || (rules_path != NULL && rules == NULL))
        return 1;
    name = name != NULL ? name + 1 : file;
    for (size_t i = 0; i < count; i++) {
        if (trace_leaves_out(&cases[i]))
            continue;
        memset(trace, 0, sizeof *trace);
        trace_case(&cases[i]);
        printf("case %.*s: %s\n", (int)strcspn(name, "."), name, cases[i].name);
        for (int role = 0; role < 2; role++)
            for (int j = 0; j < trace->count[role]; j++) {
                char *line = trace->lines[role][j];
                size_t shown = strcspn(line, "\t");
                printf("  %s%.*s\n",
                       role == 0 ? "" : "other process: ", (int)shown, line);
                if (rules != NULL && line[shown] != 0 && line[shown + 1] != 0)
                    fprintf(rules, "%.*s: %s\t%s%.*s\t%s\n",
                            (int)strcspn(name, "."), name, cases[i].name,
                            role == 0 ? "" : "other process: ", (int)shown,
                            line, line + shown + 1);
            }
    }
    if (rules != NULL)
        fclose(rules);
    return 0;
}
#define RUN(cases) trace_cases(cases, sizeof cases / sizeof *(cases), __FILE__)

#endif
