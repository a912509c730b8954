/* Runs the cases of tests/simcuda as scripted sequences with any driver.
 * With -DTRACE the macros of rules.h record what each call returns. Without
 * it they require a result. Each case runs in a process of its own. A call
 * that ends its process or hangs is recorded as such, and the case runs
 * again without that call. A call whose result is not defined (OPEN) gets a
 * run of its own that ends with the call, so that no other call depends on
 * it. The lines of a case are the same in each run: a call that is repeated
 * with the same result is recorded once.
 *
 * A case for a special kind of device (its environment) runs only on
 * devices of that kind. TRACE_DEADLINE is a time in seconds since 1970.
 * After it no case begins. TRACE_SECONDS limits one run of a case (20). Two
 * variables work only with the simulated driver. TRACE_RULES names a file
 * for the rules that each line has broken. With TRACE_ALL every case runs,
 * with its environment. */
#ifndef GPU_TRACE_H
#define GPU_TRACE_H

#include <sys/mman.h>
#include <time.h>

#pragma weak simcuda_others_take
#pragma weak simcuda_calls
#pragma weak simcuda_pageable_copies
#pragma weak simcuda_deepest_queue
#pragma weak simcuda_leaks
#pragma weak simcuda_violations
#pragma weak simcuda_rules
#pragma weak simcuda_register_kernel
#pragma weak simcuda_kernel_memory

enum {
    TRACE_LINES = 400,
    TRACE_TEXT = 400,
    TRACE_SKIPS = 32,
};

/* Memory that the processes of a case share. Role 0 is the process of the
 * case. Role 1 is a process that the case has started. */
typedef struct Trace {
    pid_t main_process;
    int at_line[2];
    char at_text[2][TRACE_TEXT];
    int skipped[2][TRACE_SKIPS], skips[2];
    /* The open calls of the case, and the open call of this run, or 0. */
    int open[TRACE_SKIPS], opens, only;
    /* "call -> result", a tab, and the rules that the call broke */
    char lines[2][TRACE_LINES][2 * TRACE_TEXT];
    int places[2][TRACE_LINES]; /* source lines: loops repeat them */
    int count[2];
} Trace;

#define TRACE_IS_OPEN ", open"

static Trace *trace;
static int trace_seconds = 20; /* the limit for one run of a case */
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int trace_place;
static char trace_rules_before[1 << 15];

/* Identifies the place of a call. The file is part of it, because a header
 * has the same line numbers. */
#define TRACE_PLACE (__LINE__ + 1000 * (int)sizeof __FILE__)

static inline int trace_role(void) { return getpid() != trace->main_process; }

/* Returns false for a call that this run leaves out. */
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

/* Writes the rules whose counts have changed since the last call, separated
 * by " | ". */
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
    if (trace->only != 0 && place != trace->only)
        return;
    snprintf(line, sizeof line, "%.380s -> %.80s\t%.300s", text, result, rules);
    pthread_mutex_lock(&trace_lock);
    bool known = trace->count[role] == TRACE_LINES;
    size_t shown = strcspn(line, "\t");
    for (int i = 0; i < trace->count[role] && !known; i++) {
        char *other = trace->lines[role][i];
        known = trace->places[role][i] == place &&
                strncmp(other, line, shown + 1) == 0;
        if (known && *rules != 0 && strstr(other + shown, rules) == NULL &&
            strlen(other) + strlen(rules) + 4 < sizeof line)
            strcat(strcat(other, other[shown + 1] != 0 ? " | " : ""), rules);
    }
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

/* The first run only finds the open calls and leaves them out. */
static inline bool trace_open(int place, const char *text) {
    if (trace_role() != 0)
        return false;
    if (trace->only != 0)
        return trace->only == place && trace_before(place, text);
    for (int i = 0; i < trace->opens; i++)
        if (trace->open[i] == place)
            return false;
    if (trace->opens < TRACE_SKIPS)
        trace->open[trace->opens++] = place;
    return false;
}

static inline void trace_open_code(const char *text, int got) {
    char other[32], result[100];
    snprintf(result, sizeof result, "%s" TRACE_IS_OPEN,
             trace_name((CUresult)got, other));
    trace_after(text, result);
    _exit(0);
}

#define OPEN(code, call)                         \
    do {                                         \
        if (trace_open(TRACE_PLACE, #call))      \
            trace_open_code(#call, (int)(call)); \
    } while (0)
#define TRACE_CALL(wanted, call, must)                             \
    do {                                                           \
        if (trace_before(TRACE_PLACE, #call))                      \
            trace_code(#call, (int)(call), (int)(wanted), (must)); \
        else if (must)                                             \
            _exit(0);                                              \
    } while (0)
#define EXPECT(condition)                                        \
    do {                                                         \
        if (trace_before(TRACE_PLACE, #condition))               \
            trace_after(#condition, (condition) ? "yes" : "no"); \
    } while (0)
/* The macro of a condition that must be false. It records the condition too. */
#define EXPECT_NOT(condition)                                    \
    do {                                                         \
        if (trace_before(TRACE_PLACE, #condition))               \
            trace_after(#condition, (condition) ? "yes" : "no"); \
    } while (0)
/* A condition that depends on timing, so it is not recorded. */
#define SHOWS(condition) \
    do {                 \
        if (condition)   \
            break;       \
    } while (0)
#define GIVES(code, call) TRACE_CALL(code, call, false)
#define OK(call) TRACE_CALL(CUDA_SUCCESS, call, true)
#define BREAKS(code, call) TRACE_CALL(code, call, false)

static inline void trace_run(const Case *one) {
    char words[512], *rest = words;
    trace->main_process = getpid();
    setpgid(0, 0);
    snprintf(words, sizeof words, "%s",
             one->environment != NULL && getenv("TRACE_ALL") != NULL
                 ? one->environment
                 : "");
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        char *value = strchr(word, '=');
        if (value != NULL) {
            *value = 0;
            setenv(word, value + 1, 1);
        }
    }
    setenv("SIMCUDA_LEAKS", "", 1);
    alarm((unsigned)trace_seconds);
    if (simcuda_rules != NULL)
        simcuda_rules(trace_rules_before, sizeof trace_rules_before);
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    one->run();
    _exit(0);
}

/* Waits for a process. If the alarm of the process does not end it, the
 * process is killed. Returns false if it still does not end, as can happen
 * inside a driver. Then it is left behind. */
static inline bool trace_wait(pid_t child, int *status) {
    const int step_us = 500;
    bool ended = false;
    for (long waited_us = 0; !ended; waited_us += step_us) {
        ended = waitpid(child, status, WNOHANG) == child;
        if (waited_us / 1000000 > trace_seconds + 10)
            break;
        if (waited_us == (trace_seconds + 5) * 1000000L)
            kill(-child, SIGKILL);
        if (!ended)
            usleep(step_us);
    }
    /* Kill the processes that the case has started and has not waited for. */
    kill(-child, SIGKILL);
    return ended;
}

/* Runs a case. Returns false if the case reached its end. Otherwise how
 * describes what happened. */
static inline bool trace_breaks(const Case *one, char *how, size_t size) {
    int status = 0;
    fflush(NULL);
    trace->at_line[0] = trace->at_line[1] = 0;
    pid_t child = fork();
    if (child == 0)
        trace_run(one);
    if (child < 0)
        snprintf(how, size, "no process could be started");
    else if (!trace_wait(child, &status))
        snprintf(how, size, "hangs, and can not be killed");
    else if (status == 0)
        return false;
    else if (WIFEXITED(status))
        snprintf(how, size, "the process ends with status %d",
                 WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGKILL)
        snprintf(how, size, "hangs");
    else
        snprintf(how, size, "%s", strsignal(WTERMSIG(status)));
    return true;
}

/* Runs a case. Runs it again without the calls that ended its process. Then
 * runs it once for each open call. */
static inline void trace_case(const Case *one) {
    char how[100];
    for (int tries = 0, hangs = 0; tries < TRACE_SKIPS && hangs < 2; tries++) {
        if (!trace_breaks(one, how, sizeof how - sizeof TRACE_IS_OPEN))
            break;
        hangs += strncmp(how, "hangs", 5) == 0;
        trace_line(0, trace->at_line[0], trace->at_text[0], how, "");
        if (trace->at_line[0] == 0)
            break;
        /* The next run records the earlier calls again, up to this call. */
        trace->skipped[0][trace->skips[0]++] = trace->at_line[0];
    }
    for (int i = 0; i < trace->opens; i++) {
        trace->only = trace->open[i];
        if (trace_breaks(one, how, sizeof how - sizeof TRACE_IS_OPEN) &&
            trace->at_line[0] == trace->only)
            trace_line(0, trace->only, trace->at_text[0],
                       strcat(how, TRACE_IS_OPEN), "");
    }
    trace->only = 0;
}

/* --- what devices lack ------------------------------------------------------- */

static const struct {
    const char *name;
    CUdevice_attribute attribute;
} trace_features[] = {
    {"managed", CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    {"concurrent", CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
    {"vmm", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
    {"fd", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
    {"pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
    {"mapped", CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
    {"unified", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {"register", CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
};

/* Runs in a process of its own. It writes the missing features with commas,
 * as in SIMCUDA_WITHOUT. An old driver, as in SIMCUDA_DRIVER_VERSION, is
 * added as a feature that it lacks. */
static inline void trace_look(char *lacks) {
    int value = 1, version = 0, count = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuDriverGetVersion(&version) != 0 ||
        cuDeviceGetCount(&count) != CUDA_SUCCESS)
        _exit(1);
    for (size_t i = 0; i < sizeof trace_features / sizeof *trace_features; i++)
        if (cuDeviceGetAttribute(&value, trace_features[i].attribute, 0) ==
                CUDA_SUCCESS &&
            value == 0)
            strcat(strcat(lacks, ","), trace_features[i].name);
    if (count > 1 && cuDeviceCanAccessPeer(&value, 0, 1) == CUDA_SUCCESS &&
        value == 0)
        strcat(lacks, ",peer");
    if (version < 11040)
        strcat(lacks, ",allocation in captures");
    _exit(0);
}

static inline void trace_describe(char *lacks) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        alarm((unsigned)trace_seconds);
        trace_look(lacks);
    }
    if (child < 0 || !trace_wait(child, &status) || status != 0)
        *lacks = 0;
}

/* Whether the device lacks what the environment tells a simulated driver to
 * lack. lacks begins with a comma. */
static inline bool trace_is_such(const char *environment, const char *lacks) {
    char name[64] = ",";
    if (strcmp(environment, "SIMCUDA_DRIVER_VERSION=11020") == 0)
        return strstr(lacks, ",allocation in captures") != NULL;
    if (sscanf(environment, "SIMCUDA_WITHOUT=%60s", name + 1) != 1)
        return false;
    const char *at = strstr(lacks, name);
    return at != NULL &&
           strspn(at + strlen(name), ",") == (at[strlen(name)] != 0);
}

static inline bool trace_is_special(const Case *one, const char *lacks) {
    return one->status >= UNDEFINED ||
           (one->environment != NULL &&
            !trace_is_such(one->environment, lacks));
}

static inline void trace_print(const char *name, const Case *one, FILE *rules,
                               bool special) {
    char title[300];
    snprintf(title, sizeof title, "%.*s: %s", (int)strcspn(name, "."), name,
             one->name);
    printf("case %s\n", title);
    for (int role = 0; role < 2; role++)
        for (int i = 0; i < trace->count[role]; i++) {
            char *line = trace->lines[role][i];
            const char *who = role == 0 ? "" : "other process: ";
            size_t shown = strcspn(line, "\t");
            printf("  %s%.*s\n", who, (int)shown, line);
            if (rules != NULL && line[shown] != 0 && line[shown + 1] != 0)
                fprintf(rules, "%s\t%s%.*s\t%s\t%s\n", title, who, (int)shown,
                        line, line + shown + 1, special ? "special" : "usual");
        }
    fflush(NULL);
}

static inline int trace_cases(const Case *cases, size_t count,
                              const char *file) {
    const char *rules_path = getenv("TRACE_RULES"),
               *deadline = getenv("TRACE_DEADLINE"),
               *seconds = getenv("TRACE_SECONDS");
    FILE *rules = rules_path != NULL ? fopen(rules_path, "a") : NULL;
    const char *name = strrchr(file, '/');
    char lacks[TRACE_TEXT];
    trace = mmap(NULL, sizeof *trace, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trace == MAP_FAILED || (rules_path != NULL && rules == NULL))
        return 1;
    if (seconds != NULL)
        trace_seconds = atoi(seconds);
    trace_describe(trace->at_text[0]);
    strcpy(lacks, trace->at_text[0]);
    printf("# without: %s\n", *lacks != 0 ? lacks + 1 : "nothing");
    for (size_t i = 0; i < count; i++) {
        bool special = trace_is_special(&cases[i], lacks);
        if (cases[i].status % UNDEFINED == LEAKS ||
            (special && getenv("TRACE_ALL") == NULL))
            continue;
        memset(trace, 0, sizeof *trace);
        if (deadline == NULL || time(NULL) < atoll(deadline))
            trace_case(&cases[i]);
        else
            trace_line(0, 0, "the case", "is not run: out of time", "");
        trace_print(name != NULL ? name + 1 : file, &cases[i], rules, special);
    }
    if (rules != NULL)
        fclose(rules);
    return 0;
}
#define RUN(cases) trace_cases(cases, sizeof cases / sizeof *(cases), __FILE__)

#endif
