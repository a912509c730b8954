/*
 * Lines of interpreted programs in call sites. The text of a call site is kept once,
 * and a number with the bit FM_LINES stands for it among return addresses.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "callsite.h"
#include "guard.h"

/* Largest number of texts that are kept. Only recursion makes more. */
#define FM_TEXTS_MAX (1u << 15)
#define FM_SLOTS (2 * FM_TEXTS_MAX)

/* Running callbacks hold it for reading, so that a change waits for them. */
static pthread_rwlock_t fm_lines_set = PTHREAD_RWLOCK_INITIALIZER;
static ferrum_call_site_fn fm_lines_callback;
static void *fm_lines_user_data;
/* Whether the callback runs on this thread. */
static _Thread_local bool fm_lines_asking;

/* Numbers of texts by their hash, 0 for an empty slot. Made with the first text. */
static pthread_mutex_t fm_texts_mu = PTHREAD_MUTEX_INITIALIZER;
static uint32_t *fm_slots;
static char **fm_texts;
static uint32_t fm_text_count;

static uint64_t fm_text_hash(const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != 0; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static bool fm_texts_ready(void) {
    if (fm_slots == NULL)
        fm_slots = calloc(FM_SLOTS, sizeof *fm_slots);
    if (fm_texts == NULL)
        fm_texts = calloc(FM_TEXTS_MAX + 1, sizeof *fm_texts);
    return fm_slots != NULL && fm_texts != NULL;
}

/* The number of a text, from 1 on; 0 where there is no room for it. */
static uint32_t fm_text_number(const char *text) {
    uint64_t slot = fm_text_hash(text) % FM_SLOTS;
    uint32_t number = 0;
    pthread_mutex_lock(&fm_texts_mu);
    if (fm_texts_ready()) {
        while (fm_slots[slot] != 0 &&
               strcmp(fm_texts[fm_slots[slot]], text) != 0)
            slot = (slot + 1) % FM_SLOTS;
        number = fm_slots[slot];
        if (number == 0 && fm_text_count < FM_TEXTS_MAX) {
            char *kept = strdup(text);
            if (kept != NULL) {
                number = ++fm_text_count;
                fm_texts[number] = kept;
                fm_slots[slot] = number;
            }
        }
    }
    pthread_mutex_unlock(&fm_texts_mu);
    return number;
}

uintptr_t fm_lines_take(void) {
    if (fm_lines_asking)
        return 0;
    char text[FM_LINES_BYTES_MAX + 1];
    size_t length = 0;
    pthread_rwlock_rdlock(&fm_lines_set);
    if (fm_lines_callback != NULL) {
        fm_lines_asking = true;
        length =
            fm_lines_callback(text, FM_LINES_BYTES_MAX, fm_lines_user_data);
        fm_lines_asking = false;
    }
    pthread_rwlock_unlock(&fm_lines_set);
    if (length == 0 || length > FM_LINES_BYTES_MAX)
        return 0;
    text[length] = 0;
    if (text[0] == 0)
        return 0;
    uint32_t number = fm_text_number(text);
    return number == 0 ? 0 : FM_LINES | number;
}

const char *fm_lines_text(uintptr_t address) {
    if ((address & FM_LINES) == 0)
        return NULL;
    pthread_mutex_lock(&fm_texts_mu);
    const char *text = fm_texts[address & ~FM_LINES];
    pthread_mutex_unlock(&fm_texts_mu);
    return text;
}

ferrum_status ferrum_call_site_set_callback(ferrum_call_site_fn callback,
                                            void *user_data) {
    if (fm_lines_asking)
        return fm_fail(__func__, FERRUM_ERROR_INVALID_STATE,
                       "the callback of call sites must not call the library");
    FM_ENTER();
    pthread_rwlock_wrlock(&fm_lines_set);
    fm_lines_callback = callback;
    fm_lines_user_data = user_data;
    pthread_rwlock_unlock(&fm_lines_set);
    return FERRUM_OK;
}
