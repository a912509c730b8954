/* The list of rules for tests: all rules, and how often each was broken. */
#include "rulebook.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

extern Rule __start_simcuda_rules[], __stop_simcuda_rules[];

static bool same(const Rule *one, const Rule *other) {
    return strcmp(one->file, other->file) == 0 &&
           strcmp(one->text, other->text) == 0;
}

static bool is_first(const Rule *rule) {
    for (const Rule *at = __start_simcuda_rules; at < rule; at++)
        if (same(at, rule))
            return false;
    return true;
}

static uint64_t times_broken(const Rule *rule) {
    uint64_t broken = 0;
    for (const Rule *at = rule; at < __stop_simcuda_rules; at++)
        if (same(at, rule))
            broken += at->broken;
    return broken;
}

size_t simcuda_rules(char *text, size_t size) {
    size_t count = 0, used = 0;
    pthread_mutex_lock(&sim.lock);
    for (const Rule *at = __start_simcuda_rules; at < __stop_simcuda_rules;
         at++) {
        if (!is_first(at))
            continue;
        count++;
        const char *name = strrchr(at->file, '/');
        if (used < size)
            used +=
                (size_t)snprintf(text + used, size - used, "%llu %s: %s\n",
                                 (unsigned long long)times_broken(at),
                                 name != NULL ? name + 1 : at->file, at->text);
    }
    pthread_mutex_unlock(&sim.lock);
    return count;
}
