/* The start and the end of every call: counting, delays, faults, the state
 * and the context that the call needs, and the list of broken rules. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FAULTS = 64, MAX_VIOLATIONS = 256, MAX_DELAYS = 32 };

typedef struct Fault {
    char name[64];
    uint64_t n; /* remaining calls; 0: every call */
    CUresult code;
} Fault;

_Thread_local bool in_callback;
static Fault faults[MAX_FAULTS];
static int fault_count;
static struct {
    char name[64];
    unsigned microseconds;
} delays[MAX_DELAYS];
static int delay_count;
static CallSite *sites;
static uint64_t all_calls;
static char violations[MAX_VIOLATIONS][256];
static size_t violation_count;
static uint64_t *forgiven;
static size_t forgiven_count, forgiven_room;

bool error_is_sticky(CUresult code) {
    switch (code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}

static bool set_fault(const char *name, uint64_t n, int code) {
    if (fault_count == MAX_FAULTS || strlen(name) >= sizeof faults->name)
        return false;
    Fault *fault = &faults[fault_count++];
    strcpy(fault->name, name);
    fault->n = n;
    fault->code = (CUresult)code;
    return true;
}

static void set_delay(const char *name, unsigned microseconds) {
    if (delay_count < MAX_DELAYS && strlen(name) < sizeof delays->name) {
        strcpy(delays[delay_count].name, name);
        delays[delay_count++].microseconds = microseconds;
    }
}

/* SIMCUDA_FAULT is NAME:N:CODE,...  SIMCUDA_DELAY is NAME:MICROSECONDS,... */
static void read_environment(void) {
    static bool done;
    if (done)
        return;
    done = true;
    const char *texts[] = {getenv("SIMCUDA_FAULT"), getenv("SIMCUDA_DELAY")};
    char copy[1024], name[64];
    for (int which = 0; which < 2; which++) {
        char *rest = copy;
        if (texts[which] == NULL)
            continue;
        snprintf(copy, sizeof copy, "%s", texts[which]);
        for (char *word; (word = strsep(&rest, ",")) != NULL;) {
            unsigned long long first = 0;
            int code = 0;
            int got = sscanf(word, "%63[^:]:%llu:%d", name, &first, &code);
            if (got != (which == 0 ? 3 : 2)) {
                fprintf(stderr, "simcuda: %s is not understood\n", word);
                abort();
            }
            if (which == 0)
                set_fault(name, first, code);
            else
                set_delay(name, (unsigned)first);
        }
    }
}

/* Returns the code of the fault that is due. Every call counts down all
 * faults whose name matches. */
static CUresult fault_due(const char *name, bool worker) {
    CUresult due = CUDA_SUCCESS;
    for (int i = 0; i < fault_count; i++) {
        Fault *fault = &faults[i];
        bool any = !worker && strcmp(fault->name, "*") == 0;
        if (!any && strcmp(fault->name, name) != 0)
            continue;
        if (fault->n > 1) {
            fault->n--;
            continue;
        }
        if (due == CUDA_SUCCESS)
            due = fault->code;
        if (fault->n == 1)
            *fault = faults[--fault_count], i--;
    }
    return due;
}

bool fault_of_worker(CUresult *code) {
    *code = fault_due("async", true);
    return *code != CUDA_SUCCESS;
}

void forgive(uint64_t key) {
    if (forgiven_count == forgiven_room) {
        forgiven_room = forgiven_room == 0 ? 64 : 2 * forgiven_room;
        forgiven = realloc(forgiven, forgiven_room * sizeof *forgiven);
        if (forgiven == NULL)
            abort();
    }
    forgiven[forgiven_count++] = key;
}

bool is_forgiven(uint64_t key) {
    for (size_t i = 0; i < forgiven_count; i++)
        if (forgiven[i] == key)
            return true;
    return false;
}

static void enter_site(CallSite *site, const char *name) {
    if (site->name == NULL) {
        site->name = name;
        site->next = sites;
        sites = site;
    }
    site->calls++;
    all_calls++;
    unsigned wait_us = 0;
    for (int i = 0; i < delay_count; i++)
        if (strcmp(delays[i].name, "*") == 0 ||
            strcmp(delays[i].name, name) == 0)
            wait_us += delays[i].microseconds;
    if (wait_us != 0) {
        pthread_mutex_unlock(&sim.lock);
        usleep(wait_us);
        pthread_mutex_lock(&sim.lock);
    }
}

CUresult call_begin(CallSite *site, const char *name, unsigned flags,
                    uint64_t key) {
    pthread_mutex_lock(&sim.lock);
    read_environment();
    enter_site(site, name);
    Context *context = context_current();
    CUresult code = fault_due(name, false);
    if (code != CUDA_SUCCESS) {
        if (error_is_sticky(code) && context != NULL)
            context_spoil(context, code);
    } else if (in_callback) {
        code = fail(name, CUDA_ERROR_NOT_PERMITTED,
                    "a function of the host calls the driver");
    } else if ((flags & NO_INIT) == 0 && !sim.initialised) {
        code = fail(name, CUDA_ERROR_NOT_INITIALIZED, "before cuInit");
    } else if ((flags & IN_CONTEXT) != 0) {
        if (context == NULL)
            code = fail(name, CUDA_ERROR_INVALID_CONTEXT,
                        "no context is current on this thread");
        else if (!context->object.alive)
            code = fail(name, CUDA_ERROR_CONTEXT_IS_DESTROYED,
                        "the current context was destroyed");
        else if ((flags & EVEN_SPOILT) == 0)
            code = context->sticky;
    }
    if (code == CUDA_SUCCESS && (flags & UNSAFE) != 0)
        code = capture_forbids(name);
    if (code != CUDA_SUCCESS) {
        if ((flags & IS_RELEASE) != 0 && code != CUDA_ERROR_INVALID_CONTEXT)
            forgive(key);
        pthread_mutex_unlock(&sim.lock);
    }
    return code;
}

/* A call that call_begin rejected does not hold the lock. */
void call_end(const CUresult *result) {
    if (*result == CUDA_SUCCESS)
        pthread_mutex_unlock(&sim.lock);
}

CUresult rule_broken(Rule *rule, const char *call, CUresult code,
                     const char *format, ...) {
    rule->broken++;
    size_t slot = violation_count++;
    if (slot >= MAX_VIOLATIONS)
        return code;
    int length =
        snprintf(violations[slot], sizeof *violations, "%s %d: ", call, code);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(violations[slot] + length, sizeof *violations - (size_t)length,
              format, arguments);
    va_end(arguments);
    return code;
}

/* --- functions for tests --------------------------------------------------- */

uint64_t simcuda_calls(const char *name) {
    pthread_mutex_lock(&sim.lock);
    uint64_t calls = 0;
    if (name == NULL || strcmp(name, "*") == 0)
        calls = all_calls;
    else
        for (CallSite *site = sites; site != NULL; site = site->next)
            if (strcmp(site->name, name) == 0)
                calls += site->calls;
    pthread_mutex_unlock(&sim.lock);
    return calls;
}

int simcuda_fault(const char *name, uint64_t n, int code) {
    pthread_mutex_lock(&sim.lock);
    bool done = set_fault(name, n, code);
    pthread_mutex_unlock(&sim.lock);
    return done ? 0 : -1;
}

void simcuda_clear_faults(void) {
    pthread_mutex_lock(&sim.lock);
    fault_count = 0;
    contexts_recover();
    pthread_mutex_unlock(&sim.lock);
}

int simcuda_faults_left(void) {
    pthread_mutex_lock(&sim.lock);
    int left = fault_count;
    pthread_mutex_unlock(&sim.lock);
    return left;
}

void simcuda_delay(const char *name, unsigned microseconds) {
    pthread_mutex_lock(&sim.lock);
    set_delay(name, microseconds);
    pthread_mutex_unlock(&sim.lock);
}

size_t simcuda_violations(char *text, size_t size) {
    pthread_mutex_lock(&sim.lock);
    size_t count = violation_count, used = 0;
    if (size > 0)
        *text = 0;
    for (size_t i = 0; i < count && i < MAX_VIOLATIONS && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s\n", violations[i]);
    pthread_mutex_unlock(&sim.lock);
    return count;
}

void simcuda_clear_violations(void) {
    pthread_mutex_lock(&sim.lock);
    violation_count = 0;
    pthread_mutex_unlock(&sim.lock);
}
