/*
 * A fuzzer of the pool calls. Each file of the corpus is a script whose bytes
 * are the decisions of a program against the model of pool_model.h. Each
 * script runs unchanged, and then random mutations of the corpus run for a
 * fixed number.
 *
 *     test_pool_calls [FOLDER [MUTATIONS [SEED]]]
 *
 * A failing script is written to build/test/failed_pool_calls, to be added to
 * the corpus. Its first step that differs from the model is on stderr.
 */
#include "fixture.h"
#include "pool_model.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPTS = 256, LENGTH = 4096, STEPS = 1500 };

typedef struct {
    char name[256];
    unsigned char bytes[LENGTH];
    size_t length;
} script;

static script corpus[SCRIPTS];
static size_t count;
static uint64_t state;

static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const script *)a)->name, ((const script *)b)->name);
}

static void read_corpus(const char *folder) {
    DIR *open = opendir(folder);
    struct dirent *entry;
    while (open != NULL && (entry = readdir(open)) != NULL && count < SCRIPTS) {
        script *s = &corpus[count];
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file == NULL)
            continue;
        snprintf(s->name, sizeof s->name, "%s", entry->d_name);
        s->length = fread(s->bytes, 1, LENGTH, file);
        fclose(file);
        count++;
    }
    if (open != NULL)
        closedir(open);
    qsort(corpus, count, sizeof *corpus, by_name);
}

static int script_fails(const script *s) {
    decisions d = {s->bytes, s->length, 0, 0, STEPS};
    if (!pool_model_fails(&d, s->name))
        return 0;
    FILE *file = fopen("build/test/failed_pool_calls", "wb");
    if (file != NULL) {
        fwrite(s->bytes, 1, s->length, file);
        fclose(file);
    }
    return 1;
}

/* Changes, duplicates, removes or joins parts of scripts. */
static void mutate(script *s) {
    *s = corpus[draw(count)];
    for (uint64_t rounds = 1 + draw(8); rounds > 0; rounds--) {
        size_t at = s->length ? draw(s->length) : 0;
        size_t n = 1 + draw(32);
        const script *from = &corpus[draw(count)];
        switch (draw(4)) {
        case 0:
            for (size_t i = at; i < s->length && i < at + n; i += 1 + draw(8))
                s->bytes[i] = (unsigned char)draw(256);
            break;
        case 1:
            if (at + n < s->length) {
                memmove(s->bytes + at, s->bytes + at + n, s->length - at - n);
                s->length -= n;
            }
            break;
        case 2:
            if (s->length + n <= LENGTH) {
                memmove(s->bytes + at + n, s->bytes + at, s->length - at);
                s->length += n;
            }
            break;
        default:
            if (from->length > at) {
                memcpy(s->bytes + at, from->bytes + at, from->length - at);
                s->length = from->length;
            }
        }
    }
}

int main(int argc, char **argv) {
    uint64_t budget =
        argc > 2 ? strtoull(argv[2], NULL, 10) : 400 / SANITIZER_SHARE;
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    read_corpus(argc > 1 ? argv[1] : "tests/corpus/pool_calls");
    if (count == 0) {
        fprintf(stderr, "the corpus is empty\n");
        return 1;
    }
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = UINT64_C(512) << 20;
    MUST(ferrum_init(&config));
    pool_model_start();
    int ran = 0, failed = 0;
    for (size_t i = 0; i < count && failed == 0; i++, ran++)
        failed += script_fails(&corpus[i]);
    static script mutated;
    for (uint64_t i = 0; i < budget && failed == 0; i++, ran++) {
        mutate(&mutated);
        snprintf(mutated.name, sizeof mutated.name, "mutation %llu",
                 (unsigned long long)i);
        failed += script_fails(&mutated);
    }
    if (failed == 0) {
        pool_model_stop();
        MUST(ferrum_shutdown(0));
    }
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed != 0;
}
