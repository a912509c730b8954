/* ferrum_mem/pools.h: the debug mode of pools. */
#include "_cgo_export.h"
#include "guard.h"

ferrum_status ferrum_pool_check(ferrum_pool pool) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_check(pool.id));
}
