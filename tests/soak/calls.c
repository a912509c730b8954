/*
 * Random calls of all functions of the header, each with one bad argument.
 * Every call must be rejected, and no object may change. Other arguments get
 * values that are unusual but allowed.
 *
 *     calls SEED COUNT [EVERY]
 *
 * After every EVERY calls (256) the program compares the state of the objects.
 * EVERY = 1 finds the call that changed it. The last line has the number of
 * calls and of rejections.
 */
#include "alone.h"
#include "hostile.h"

#include <string.h>

enum { REPORT_BYTES = 1 << 16, WHAT_BYTES = 160 };

static unsigned long seed, made;

static void fail(const attempt *a, const char *what, const char *why,
                 ferrum_status status) {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "finding: seed %lu, call %lu: %s with %s: %s (%s: %s)\n",
            seed, made, a->function->name, what, why,
            ferrum_status_name(status), error.message);
    exit(1);
}

/* The leak report without ages, and the counters of both devices. */
static void read_state(const fixture *f, char *text) {
    static const char age[] = "\"age_ns\":";
    size_t length = 0;
    MUST(ferrum_leak_report_json(text, REPORT_BYTES / 2, &length));
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        *to++ = *from;
        if ((size_t)(to - text) >= sizeof age - 1 &&
            memcmp(to - (sizeof age - 1), age, sizeof age - 1) == 0)
            from += strspn(from + 1, "0123456789");
    }
    const ferrum_device devices[] = {f->device, f->other_device};
    for (size_t i = 0; i < COUNT(devices); i++) {
        ferrum_statistics s = FERRUM_STATISTICS_INIT;
        MUST(ferrum_device_get_statistics(devices[i], &s));
        to += sprintf(to, " %llu %llu %llu %llu",
                      (unsigned long long)s.requested.current,
                      (unsigned long long)s.allocated.current,
                      (unsigned long long)s.live_blocks.current,
                      (unsigned long long)(s.allocations - s.frees));
        if (s.reserved.current !=
            s.active.current + s.cached.current + s.unusable.current)
            to += sprintf(to, " the books do not add up");
    }
}

int main(int argc, char **argv) {
    static fixture f;
    static attempt a;
    static char before[REPORT_BYTES], after[REPORT_BYTES];
    seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
    unsigned long every = argc > 3 ? strtoul(argv[3], NULL, 10) : 256;
    unsigned long refused = 0;
    char what[WHAT_BYTES] = "";
    draw_seed(seed);
    fixture_make(&f);
    read_state(&f, before);
    for (made = 0; made < count; made++) {
        attempt_prepare(&a, draw_function(), &f);
        if (draw(2) == 0)
            draw_values(&a);
        if (!draw_bad(&a, what, sizeof what))
            continue;
        ferrum_status status;
        const char *why = call_it(&a, 1, &status);
        if (why != NULL)
            fail(&a, what, why, status);
        refused++;
        if (made % every == every - 1) {
            read_state(&f, after);
            if (strcmp(before, after) != 0) {
                fprintf(stderr, "%s\n%s\n", before, after);
                fail(&a, what, "what lives has changed since the last look",
                     status);
            }
        }
    }
    fixture_end(&f);
    printf("soak calls=%lu refused=%lu\n", made, refused);
    return 0;
}
