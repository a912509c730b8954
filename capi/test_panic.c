//go:build ferrum_test_exports

/* A way to provoke a panic in Go, in a library that is built for tests only. */
#include "_cgo_export.h"
#include "guard.h"

FERRUM_API ferrum_status ferrum_test_panic(uint32_t in_worker);

ferrum_status ferrum_test_panic(uint32_t in_worker) {
    FM_ENTER();
    FM_RETURN(fmgo_test_panic(in_worker));
}
