/* Counters of pools, whose sum may be written over one of them. */
#include "_cgo_export.h"
#include "guard.h"

ferrum_status ferrum_memory_stats_merge(const ferrum_memory_stats *stats,
                                        const ferrum_memory_stats *other,
                                        ferrum_memory_stats *merged_out) {
    FM_ENTER();
    FM_REQUIRE(stats);
    FM_REQUIRE(other);
    FM_REQUIRE(merged_out);
    ferrum_memory_stats one = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(stats, one);
    ferrum_memory_stats two = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(other, two);
    FM_STRUCT_OUT(merged_out);
    ferrum_memory_stats full = FERRUM_MEMORY_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_memory_stats_merge(&one, &two, &full), merged_out,
                     full);
}
