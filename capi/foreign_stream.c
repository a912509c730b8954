/* Adopted streams: the function that they call, and the function with which
 * the library calls them. */
#include "_cgo_export.h"
#include "guard.h"

/* The function that the caller's stream calls. In a forked child no thread
 * could run the work. */
static void fm_foreign_work(void *work_data) {
    if (atomic_load_explicit(&fm_gate, memory_order_relaxed) < 0)
        return;
    fmgo_foreign_run((uint64_t)(uintptr_t)work_data);
}

ferrum_status fm_call_enqueue(ferrum_enqueue_fn enqueue, uint64_t work,
                              uintptr_t user_data) {
    return enqueue(fm_foreign_work, (void *)(uintptr_t)work, (void *)user_data);
}
