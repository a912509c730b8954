/* ferrum_mem/fallback.h: settings, counters, trackers and generic pools. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_memory_config_preset(ferrum_memory_preset preset,
                                          ferrum_memory_config *config_out) {
    FM_ENTER();
    FM_REQUIRE(config_out);
    FM_STRUCT_OUT(config_out);
    ferrum_memory_config full = FERRUM_MEMORY_CONFIG_INIT;
    FM_RETURN_STRUCT(fmgo_memory_config_preset(preset, &full), config_out,
                     full);
}

ferrum_status ferrum_memory_config_check(const ferrum_memory_config *config) {
    FM_ENTER();
    FM_REQUIRE(config);
    ferrum_memory_config full = FERRUM_MEMORY_CONFIG_INIT;
    FM_STRUCT_IN(config, full);
    FM_RETURN(fmgo_memory_config_check(&full));
}

ferrum_status ferrum_memory_stats_ratios(const ferrum_memory_stats *stats,
                                         ferrum_memory_ratios *ratios_out) {
    FM_ENTER();
    FM_REQUIRE(ratios_out);
    FM_STRUCT_OUT(ratios_out);
    FM_REQUIRE(stats);
    ferrum_memory_stats given = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(stats, given);
    ferrum_memory_ratios full = FERRUM_MEMORY_RATIOS_INIT;
    FM_RETURN_STRUCT(fmgo_memory_stats_ratios(&given, &full), ratios_out, full);
}

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

ferrum_status ferrum_memory_stats_text(const ferrum_memory_stats *stats,
                                       char *buffer, size_t capacity,
                                       size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(stats);
    ferrum_memory_stats full = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(stats, full);
    FM_RETURN(fmgo_memory_stats_text(&full, buffer, capacity, length_out));
}

ferrum_status ferrum_buffer_id_new(uint64_t *id_out) {
    FM_ENTER();
    FM_REQUIRE(id_out);
    *id_out = 0;
    FM_RETURN(fmgo_buffer_id_new(id_out));
}

ferrum_status ferrum_buffer_id_text(uint64_t buffer_id, char *buffer,
                                    size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_buffer_id_text(buffer_id, buffer, capacity, length_out));
}

ferrum_status ferrum_tracker_create(ferrum_tracker *tracker_out) {
    FM_ENTER();
    FM_REQUIRE(tracker_out);
    tracker_out->id = 0;
    FM_LOOK();
    FM_RETURN(fmgo_tracker_create(&tracker_out->id));
}

ferrum_status ferrum_tracker_destroy(ferrum_tracker tracker) {
    FM_ENTER();
    FM_RETURN(fmgo_tracker_destroy(tracker.id));
}

ferrum_status ferrum_tracker_track(ferrum_tracker tracker,
                                   const ferrum_buffer_metadata *metadata) {
    FM_ENTER();
    FM_REQUIRE(metadata);
    ferrum_buffer_metadata given = *metadata;
    FM_RETURN(fmgo_tracker_track(tracker.id, &given));
}

ferrum_status ferrum_tracker_untrack(ferrum_tracker tracker, uint64_t buffer_id,
                                     ferrum_buffer_metadata *metadata_out) {
    FM_ENTER();
    ferrum_buffer_metadata found;
    memset(&found, 0, sizeof(found));
    if (metadata_out != NULL)
        *metadata_out = found;
    ferrum_status status = fmgo_tracker_untrack(tracker.id, buffer_id, &found);
    if (status == FERRUM_OK && metadata_out != NULL)
        *metadata_out = found;
    FM_RETURN(status);
}

ferrum_status ferrum_tracker_get(ferrum_tracker tracker, uint64_t buffer_id,
                                 ferrum_buffer_metadata *metadata_out) {
    FM_ENTER();
    FM_REQUIRE(metadata_out);
    memset(metadata_out, 0, sizeof(*metadata_out));
    FM_RETURN(fmgo_tracker_get(tracker.id, buffer_id, metadata_out));
}

ferrum_status ferrum_tracker_get_all(ferrum_tracker tracker,
                                     ferrum_buffer_metadata *metadata_out,
                                     size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(metadata_out);
    FM_RETURN(
        fmgo_tracker_get_all(tracker.id, metadata_out, capacity, count_out));
}

ferrum_status ferrum_tracker_find_old(ferrum_tracker tracker, uint64_t age_ns,
                                      ferrum_buffer_metadata *metadata_out,
                                      size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(metadata_out);
    FM_RETURN(fmgo_tracker_find_old(tracker.id, age_ns, metadata_out, capacity,
                                    count_out));
}

ferrum_status ferrum_tracker_get_totals(ferrum_tracker tracker,
                                        ferrum_tracker_totals *totals_out) {
    FM_ENTER();
    FM_REQUIRE(totals_out);
    FM_STRUCT_OUT(totals_out);
    ferrum_tracker_totals full = FERRUM_TRACKER_TOTALS_INIT;
    FM_RETURN_STRUCT(fmgo_tracker_get_totals(tracker.id, &full), totals_out,
                     full);
}

ferrum_status ferrum_tracker_clear(ferrum_tracker tracker) {
    FM_ENTER();
    FM_RETURN(fmgo_tracker_clear(tracker.id));
}

ferrum_status ferrum_generic_pool_create(const ferrum_memory_config *config,
                                         ferrum_generic_pool *pool_out) {
    FM_ENTER();
    FM_REQUIRE(pool_out);
    pool_out->id = 0;
    ferrum_memory_config full = FERRUM_MEMORY_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    FM_LOOK();
    FM_RETURN(fmgo_generic_pool_create(&full, &pool_out->id));
}

ferrum_status ferrum_generic_pool_destroy(ferrum_generic_pool pool,
                                          uint32_t flags) {
    FM_ENTER();
    FM_RETURN(fmgo_generic_pool_destroy(pool.id, flags));
}

ferrum_status ferrum_generic_pool_record_allocation(
    ferrum_generic_pool pool, uint64_t size_bytes, const ferrum_buffer_use *use,
    uint64_t *id_out) {
    FM_ENTER();
    FM_REQUIRE(id_out);
    *id_out = 0;
    ferrum_buffer_use full = FERRUM_BUFFER_USE_INIT;
    if (use != NULL)
        FM_STRUCT_IN(use, full);
    FM_RETURN(fmgo_generic_pool_record_allocation(pool.id, size_bytes, &full,
                                                  id_out));
}

ferrum_status ferrum_generic_pool_try_get(ferrum_generic_pool pool,
                                          uint64_t min_bytes,
                                          const ferrum_buffer_use *use,
                                          ferrum_buffer_lease *lease_out,
                                          uint32_t *found_out) {
    FM_ENTER();
    FM_REQUIRE(lease_out);
    memset(lease_out, 0, sizeof(*lease_out));
    FM_REQUIRE(found_out);
    *found_out = 0;
    ferrum_buffer_use full = FERRUM_BUFFER_USE_INIT;
    if (use != NULL)
        FM_STRUCT_IN(use, full);
    FM_RETURN(fmgo_generic_pool_try_get(pool.id, min_bytes, &full, lease_out,
                                        found_out));
}

ferrum_status ferrum_generic_pool_return(ferrum_generic_pool pool,
                                         const ferrum_buffer_lease *lease,
                                         uint32_t *kept_out) {
    FM_ENTER();
    FM_REQUIRE(kept_out);
    *kept_out = 0;
    FM_REQUIRE(lease);
    ferrum_buffer_lease given = *lease;
    FM_RETURN(fmgo_generic_pool_return(pool.id, &given, kept_out));
}

ferrum_status ferrum_generic_pool_add_free(ferrum_generic_pool pool,
                                           uint64_t buffer,
                                           uint64_t size_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_generic_pool_add_free(pool.id, buffer, size_bytes));
}

ferrum_status ferrum_generic_pool_drain(ferrum_generic_pool pool,
                                        ferrum_buffer_lease *leases_out,
                                        size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(leases_out);
    FM_RETURN(
        fmgo_generic_pool_drain(pool.id, leases_out, capacity, count_out));
}

ferrum_status ferrum_generic_pool_get_pooled_count(ferrum_generic_pool pool,
                                                   uint64_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    FM_RETURN(fmgo_generic_pool_get_pooled_count(pool.id, count_out));
}

ferrum_status ferrum_generic_pool_get_stats(ferrum_generic_pool pool,
                                            ferrum_memory_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    ferrum_memory_stats full = FERRUM_MEMORY_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_generic_pool_get_stats(pool.id, &full), stats_out,
                     full);
}

ferrum_status
ferrum_generic_pool_record_cpu_fallback(ferrum_generic_pool pool) {
    FM_ENTER();
    FM_RETURN(fmgo_generic_pool_record_cpu_fallback(pool.id));
}

ferrum_status ferrum_generic_pool_get_tracker(ferrum_generic_pool pool,
                                              ferrum_tracker *tracker_out) {
    FM_ENTER();
    FM_REQUIRE(tracker_out);
    tracker_out->id = 0;
    FM_RETURN(fmgo_generic_pool_get_tracker(pool.id, &tracker_out->id));
}
