/* Generated from include/ferrum_mem/fallback.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_pressure_fn(ferrum_device device,
                                       ferrum_pressure_level level,
                                       void *user_data) {
    (void)device;
    (void)level;
    (void)user_data;
}

static const struct_field fields_ferrum_memory_config[] = {
    FIELD(ferrum_memory_config, flags, FLAGS),
    FIELD(ferrum_memory_config, min_free_bytes, VALUE),
    FIELD(ferrum_memory_config, max_pooled_per_bucket, VALUE),
    FIELD(ferrum_memory_config, max_pooled_bytes, VALUE),
    FIELD(ferrum_memory_config, pre_allocate_sizes, LIST),
    FIELD(ferrum_memory_config, pre_allocate_count, VALUE)};
static const ferrum_memory_config init_ferrum_memory_config =
    FERRUM_MEMORY_CONFIG_INIT;
static const struct_type type_ferrum_memory_config = {
    sizeof(ferrum_memory_config), &init_ferrum_memory_config,
    fields_ferrum_memory_config, 6};

static const struct_field fields_ferrum_memory_stats[] = {
    FIELD(ferrum_memory_stats, reserved, RESERVED),
    FIELD(ferrum_memory_stats, total_allocated_bytes, VALUE),
    FIELD(ferrum_memory_stats, in_use_bytes, VALUE),
    FIELD(ferrum_memory_stats, pooled_bytes, VALUE),
    FIELD(ferrum_memory_stats, peak_bytes, VALUE),
    FIELD(ferrum_memory_stats, pool_hits, VALUE),
    FIELD(ferrum_memory_stats, pool_misses, VALUE),
    FIELD(ferrum_memory_stats, cpu_fallbacks, VALUE),
    FIELD(ferrum_memory_stats, active_buffers, VALUE)};
static const ferrum_memory_stats init_ferrum_memory_stats =
    FERRUM_MEMORY_STATS_INIT;
static const struct_type type_ferrum_memory_stats = {
    sizeof(ferrum_memory_stats), &init_ferrum_memory_stats,
    fields_ferrum_memory_stats, 9};

static const ferrum_memory_ratios init_ferrum_memory_ratios =
    FERRUM_MEMORY_RATIOS_INIT;
static const struct_type type_ferrum_memory_ratios = {
    sizeof(ferrum_memory_ratios), &init_ferrum_memory_ratios, NULL, 0};

static const struct_field fields_ferrum_buffer_metadata[] = {
    FIELD(ferrum_buffer_metadata, buffer_id, VALUE),
    FIELD(ferrum_buffer_metadata, size_bytes, VALUE),
    FIELD(ferrum_buffer_metadata, num_elements, VALUE),
    FIELD(ferrum_buffer_metadata, age_ns, VALUE),
    FIELD(ferrum_buffer_metadata, device, HANDLE, .kind = DEVICE,
          .is_optional = 1),
    FIELD(ferrum_buffer_metadata, location, ENUMERATION, .unknown = {-1, 2}),
    FIELD(ferrum_buffer_metadata, reserved, RESERVED)};
static const struct_type type_ferrum_buffer_metadata = {
    sizeof(ferrum_buffer_metadata), NULL, fields_ferrum_buffer_metadata, 7};

static const ferrum_tracker_totals init_ferrum_tracker_totals =
    FERRUM_TRACKER_TOTALS_INIT;
static const struct_type type_ferrum_tracker_totals = {
    sizeof(ferrum_tracker_totals), &init_ferrum_tracker_totals, NULL, 0};

static const struct_field fields_ferrum_buffer_use[] = {
    FIELD(ferrum_buffer_use, location, ENUMERATION, .unknown = {-1, 2}),
    FIELD(ferrum_buffer_use, num_elements, VALUE),
    FIELD(ferrum_buffer_use, tag, TEXT)};
static const ferrum_buffer_use init_ferrum_buffer_use = FERRUM_BUFFER_USE_INIT;
static const struct_type type_ferrum_buffer_use = {sizeof(ferrum_buffer_use),
                                                   &init_ferrum_buffer_use,
                                                   fields_ferrum_buffer_use, 3};

static const struct_field fields_ferrum_buffer_lease[] = {
    FIELD(ferrum_buffer_lease, buffer, VALUE),
    FIELD(ferrum_buffer_lease, size_bytes, VALUE),
    FIELD(ferrum_buffer_lease, buffer_id, VALUE)};
static const struct_type type_ferrum_buffer_lease = {
    sizeof(ferrum_buffer_lease), NULL, fields_ferrum_buffer_lease, 3};

static const ferrum_fallback_stats init_ferrum_fallback_stats =
    FERRUM_FALLBACK_STATS_INIT;
static const struct_type type_ferrum_fallback_stats = {
    sizeof(ferrum_fallback_stats), &init_ferrum_fallback_stats, NULL, 0};

static const struct_field fields_ferrum_buffer_request[] = {
    FIELD(ferrum_buffer_request, dtype, ENUMERATION, .unknown = {-1, 298}),
    FIELD(ferrum_buffer_request, num_elements, VALUE),
    FIELD(ferrum_buffer_request, place, ENUMERATION, .unknown = {-1, 3}),
    FIELD(ferrum_buffer_request, flags, FLAGS),
    FIELD(ferrum_buffer_request, stream, HANDLE, .kind = STREAM,
          .is_optional = 1),
    FIELD(ferrum_buffer_request, tag, TEXT)};
static const ferrum_buffer_request init_ferrum_buffer_request =
    FERRUM_BUFFER_REQUEST_INIT;
static const struct_type type_ferrum_buffer_request = {
    sizeof(ferrum_buffer_request), &init_ferrum_buffer_request,
    fields_ferrum_buffer_request, 6};

static const ferrum_fallback_buffer_info init_ferrum_fallback_buffer_info =
    FERRUM_FALLBACK_BUFFER_INFO_INIT;
static const struct_type type_ferrum_fallback_buffer_info = {
    sizeof(ferrum_fallback_buffer_info), &init_ferrum_fallback_buffer_info,
    NULL, 0};

static ferrum_status call_memory_config_preset(const argument *a) {
    return ferrum_memory_config_preset((ferrum_memory_preset)a[0].number,
                                       a[1].pointer);
}
static const parameter parameters_memory_config_preset[] = {
    PARAMETER(preset, ENUMERATION, .unknown = {-1, 4}),
    PARAMETER(config_out, STRUCT_OUT, .type = &type_ferrum_memory_config)};

static ferrum_status call_memory_config_check(const argument *a) {
    return ferrum_memory_config_check(a[0].pointer);
}
static const parameter parameters_memory_config_check[] = {
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_memory_config)};

static ferrum_status call_memory_stats_ratios(const argument *a) {
    return ferrum_memory_stats_ratios(a[0].pointer, a[1].pointer);
}
static const parameter parameters_memory_stats_ratios[] = {
    PARAMETER(stats, STRUCT_IN, .type = &type_ferrum_memory_stats),
    PARAMETER(ratios_out, STRUCT_OUT, .type = &type_ferrum_memory_ratios)};

static ferrum_status call_memory_stats_merge(const argument *a) {
    return ferrum_memory_stats_merge(a[0].pointer, a[1].pointer, a[2].pointer);
}
static const parameter parameters_memory_stats_merge[] = {
    PARAMETER(stats, STRUCT_IN, .type = &type_ferrum_memory_stats),
    PARAMETER(other, STRUCT_IN, .type = &type_ferrum_memory_stats),
    PARAMETER(merged_out, STRUCT_OUT, .type = &type_ferrum_memory_stats)};

static ferrum_status call_memory_stats_text(const argument *a) {
    return ferrum_memory_stats_text(a[0].pointer, a[1].pointer,
                                    (size_t)a[2].number, a[3].pointer);
}
static const parameter parameters_memory_stats_text[] = {
    PARAMETER(stats, STRUCT_IN, .type = &type_ferrum_memory_stats),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_buffer_id_new(const argument *a) {
    return ferrum_buffer_id_new(a[0].pointer);
}
static const parameter parameters_buffer_id_new[] = {
    PARAMETER(id_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_buffer_id_text(const argument *a) {
    return ferrum_buffer_id_text((uint64_t)a[0].number, a[1].pointer,
                                 (size_t)a[2].number, a[3].pointer);
}
static const parameter parameters_buffer_id_text[] = {
    PARAMETER(buffer_id, VALUE), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_tracker_create(const argument *a) {
    return ferrum_tracker_create(a[0].pointer);
}
static const parameter parameters_tracker_create[] = {
    PARAMETER(tracker_out, OUT, .size = sizeof(ferrum_tracker))};

static ferrum_status call_tracker_destroy(const argument *a) {
    return ferrum_tracker_destroy((ferrum_tracker){a[0].number});
}
static const parameter parameters_tracker_destroy[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER)};

static ferrum_status call_tracker_track(const argument *a) {
    return ferrum_tracker_track((ferrum_tracker){a[0].number}, a[1].pointer);
}
static const parameter parameters_tracker_track[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER),
    PARAMETER(metadata, STRUCT_IN, .type = &type_ferrum_buffer_metadata)};

static ferrum_status call_tracker_untrack(const argument *a) {
    return ferrum_tracker_untrack((ferrum_tracker){a[0].number},
                                  (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_tracker_untrack[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER), PARAMETER(buffer_id, VALUE),
    PARAMETER(metadata_out, OUT, .size = sizeof(ferrum_buffer_metadata),
              .is_optional = 1)};

static ferrum_status call_tracker_get(const argument *a) {
    return ferrum_tracker_get((ferrum_tracker){a[0].number},
                              (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_tracker_get[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER), PARAMETER(buffer_id, VALUE),
    PARAMETER(metadata_out, OUT, .size = sizeof(ferrum_buffer_metadata))};

static ferrum_status call_tracker_get_all(const argument *a) {
    return ferrum_tracker_get_all((ferrum_tracker){a[0].number}, a[1].pointer,
                                  (size_t)a[2].number, a[3].pointer);
}
static const parameter parameters_tracker_get_all[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER),
    PARAMETER(metadata_out, PLACES), PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_tracker_find_old(const argument *a) {
    return ferrum_tracker_find_old((ferrum_tracker){a[0].number},
                                   (uint64_t)a[1].number, a[2].pointer,
                                   (size_t)a[3].number, a[4].pointer);
}
static const parameter parameters_tracker_find_old[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER), PARAMETER(age_ns, VALUE),
    PARAMETER(metadata_out, PLACES), PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_tracker_get_totals(const argument *a) {
    return ferrum_tracker_get_totals((ferrum_tracker){a[0].number},
                                     a[1].pointer);
}
static const parameter parameters_tracker_get_totals[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER),
    PARAMETER(totals_out, STRUCT_OUT, .type = &type_ferrum_tracker_totals)};

static ferrum_status call_tracker_clear(const argument *a) {
    return ferrum_tracker_clear((ferrum_tracker){a[0].number});
}
static const parameter parameters_tracker_clear[] = {
    PARAMETER(tracker, HANDLE, .kind = TRACKER)};

static ferrum_status call_generic_pool_create(const argument *a) {
    return ferrum_generic_pool_create(a[0].pointer, a[1].pointer);
}
static const parameter parameters_generic_pool_create[] = {
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_memory_config,
              .is_optional = 1),
    PARAMETER(pool_out, OUT, .size = sizeof(ferrum_generic_pool))};

static ferrum_status call_generic_pool_destroy(const argument *a) {
    return ferrum_generic_pool_destroy((ferrum_generic_pool){a[0].number},
                                       (uint32_t)a[1].number);
}
static const parameter parameters_generic_pool_destroy[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL), PARAMETER(flags, FLAGS)};

static ferrum_status call_generic_pool_record_allocation(const argument *a) {
    return ferrum_generic_pool_record_allocation(
        (ferrum_generic_pool){a[0].number}, (uint64_t)a[1].number, a[2].pointer,
        a[3].pointer);
}
static const parameter parameters_generic_pool_record_allocation[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL), PARAMETER(size_bytes, VALUE),
    PARAMETER(use, STRUCT_IN, .type = &type_ferrum_buffer_use,
              .is_optional = 1),
    PARAMETER(id_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_generic_pool_try_get(const argument *a) {
    return ferrum_generic_pool_try_get((ferrum_generic_pool){a[0].number},
                                       (uint64_t)a[1].number, a[2].pointer,
                                       a[3].pointer, a[4].pointer);
}
static const parameter parameters_generic_pool_try_get[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL), PARAMETER(min_bytes, VALUE),
    PARAMETER(use, STRUCT_IN, .type = &type_ferrum_buffer_use,
              .is_optional = 1),
    PARAMETER(lease_out, OUT, .size = sizeof(ferrum_buffer_lease)),
    PARAMETER(found_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_generic_pool_return(const argument *a) {
    return ferrum_generic_pool_return((ferrum_generic_pool){a[0].number},
                                      a[1].pointer, a[2].pointer);
}
static const parameter parameters_generic_pool_return[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL),
    PARAMETER(lease, STRUCT_IN, .type = &type_ferrum_buffer_lease),
    PARAMETER(kept_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_generic_pool_add_free(const argument *a) {
    return ferrum_generic_pool_add_free((ferrum_generic_pool){a[0].number},
                                        (uint64_t)a[1].number,
                                        (uint64_t)a[2].number);
}
static const parameter parameters_generic_pool_add_free[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL), PARAMETER(buffer, VALUE),
    PARAMETER(size_bytes, VALUE)};

static ferrum_status call_generic_pool_drain(const argument *a) {
    return ferrum_generic_pool_drain((ferrum_generic_pool){a[0].number},
                                     a[1].pointer, (size_t)a[2].number,
                                     a[3].pointer);
}
static const parameter parameters_generic_pool_drain[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL),
    PARAMETER(leases_out, PLACES), PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_generic_pool_get_pooled_count(const argument *a) {
    return ferrum_generic_pool_get_pooled_count(
        (ferrum_generic_pool){a[0].number}, a[1].pointer);
}
static const parameter parameters_generic_pool_get_pooled_count[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL),
    PARAMETER(count_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_generic_pool_get_stats(const argument *a) {
    return ferrum_generic_pool_get_stats((ferrum_generic_pool){a[0].number},
                                         a[1].pointer);
}
static const parameter parameters_generic_pool_get_stats[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL),
    PARAMETER(stats_out, STRUCT_OUT, .type = &type_ferrum_memory_stats)};

static ferrum_status call_generic_pool_record_cpu_fallback(const argument *a) {
    return ferrum_generic_pool_record_cpu_fallback(
        (ferrum_generic_pool){a[0].number});
}
static const parameter parameters_generic_pool_record_cpu_fallback[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL)};

static ferrum_status call_generic_pool_get_tracker(const argument *a) {
    return ferrum_generic_pool_get_tracker((ferrum_generic_pool){a[0].number},
                                           a[1].pointer);
}
static const parameter parameters_generic_pool_get_tracker[] = {
    PARAMETER(pool, HANDLE, .kind = GENERIC_POOL),
    PARAMETER(tracker_out, OUT, .size = sizeof(ferrum_tracker))};

static ferrum_status call_fallback_manager_create(const argument *a) {
    return ferrum_fallback_manager_create((ferrum_device){a[0].number},
                                          (ferrum_device){a[1].number},
                                          a[2].pointer, a[3].pointer);
}
static const parameter parameters_fallback_manager_create[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(host, HANDLE, .kind = DEVICE),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_memory_config,
              .is_optional = 1),
    PARAMETER(manager_out, OUT, .size = sizeof(ferrum_fallback_manager))};

static ferrum_status call_fallback_manager_destroy(const argument *a) {
    return ferrum_fallback_manager_destroy(
        (ferrum_fallback_manager){a[0].number}, (uint32_t)a[1].number);
}
static const parameter parameters_fallback_manager_destroy[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(flags, FLAGS)};

static ferrum_status call_fallback_manager_get_backend_name(const argument *a) {
    return ferrum_fallback_manager_get_backend_name(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer,
        (size_t)a[2].number, a[3].pointer);
}
static const parameter parameters_fallback_manager_get_backend_name[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_fallback_manager_get_stats(const argument *a) {
    return ferrum_fallback_manager_get_stats(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer);
}
static const parameter parameters_fallback_manager_get_stats[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(stats_out, STRUCT_OUT, .type = &type_ferrum_memory_stats)};

static ferrum_status
call_fallback_manager_get_fallback_stats(const argument *a) {
    return ferrum_fallback_manager_get_fallback_stats(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer);
}
static const parameter parameters_fallback_manager_get_fallback_stats[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(stats_out, STRUCT_OUT, .type = &type_ferrum_fallback_stats)};

static ferrum_status call_fallback_manager_get_memory(const argument *a) {
    return ferrum_fallback_manager_get_memory(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer, a[2].pointer);
}
static const parameter parameters_fallback_manager_get_memory[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(total_out, OUT, .size = sizeof(uint64_t)),
    PARAMETER(free_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_fallback_manager_get_pressure(const argument *a) {
    return ferrum_fallback_manager_get_pressure(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer);
}
static const parameter parameters_fallback_manager_get_pressure[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(level_out, OUT, .size = sizeof(ferrum_pressure_level))};

static ferrum_status
call_fallback_manager_pressure_callback_add(const argument *a) {
    return ferrum_fallback_manager_pressure_callback_add(
        (ferrum_fallback_manager){a[0].number},
        (ferrum_pressure_fn)a[1].function, a[2].pointer, a[3].pointer);
}
static const parameter parameters_fallback_manager_pressure_callback_add[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_pressure_fn),
    PARAMETER(user_data, DATA),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

static ferrum_status call_fallback_manager_clear_pool(const argument *a) {
    return ferrum_fallback_manager_clear_pool(
        (ferrum_fallback_manager){a[0].number});
}
static const parameter parameters_fallback_manager_clear_pool[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER)};

static ferrum_status call_fallback_manager_shrink(const argument *a) {
    return ferrum_fallback_manager_shrink(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer);
}
static const parameter parameters_fallback_manager_shrink[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(released_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_fallback_manager_get_tracker(const argument *a) {
    return ferrum_fallback_manager_get_tracker(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer);
}
static const parameter parameters_fallback_manager_get_tracker[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(tracker_out, OUT, .size = sizeof(ferrum_tracker))};

static ferrum_status call_fallback_manager_alloc(const argument *a) {
    return ferrum_fallback_manager_alloc((ferrum_fallback_manager){a[0].number},
                                         a[1].pointer, a[2].pointer);
}
static const parameter parameters_fallback_manager_alloc[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_buffer_request),
    PARAMETER(buffer_out, OUT, .size = sizeof(ferrum_fallback_buffer))};

static ferrum_status call_fallback_manager_return_buffers(const argument *a) {
    return ferrum_fallback_manager_return_buffers(
        (ferrum_fallback_manager){a[0].number}, a[1].pointer);
}
static const parameter parameters_fallback_manager_return_buffers[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(moved_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_fallback_buffer_free(const argument *a) {
    return ferrum_fallback_buffer_free((ferrum_fallback_buffer){a[0].number},
                                       (ferrum_stream){a[1].number});
}
static const parameter parameters_fallback_buffer_free[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_fallback_buffer_get_info(const argument *a) {
    return ferrum_fallback_buffer_get_info(
        (ferrum_fallback_buffer){a[0].number}, a[1].pointer);
}
static const parameter parameters_fallback_buffer_get_info[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_fallback_buffer_info)};

static ferrum_status call_fallback_buffer_get_address(const argument *a) {
    return ferrum_fallback_buffer_get_address(
        (ferrum_fallback_buffer){a[0].number},
        (ferrum_buffer_location)a[1].number, a[2].pointer);
}
static const parameter parameters_fallback_buffer_get_address[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(location, ENUMERATION, .unknown = {-1, 2}),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_fallback_buffer_move(const argument *a) {
    return ferrum_fallback_buffer_move((ferrum_fallback_buffer){a[0].number},
                                       (ferrum_buffer_location)a[1].number);
}
static const parameter parameters_fallback_buffer_move[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(location, ENUMERATION, .unknown = {-1, 2})};

static ferrum_status call_fallback_buffer_pin(const argument *a) {
    return ferrum_fallback_buffer_pin((ferrum_fallback_buffer){a[0].number},
                                      a[1].pointer, a[2].pointer);
}
static const parameter parameters_fallback_buffer_pin[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address),
              .is_optional = 1),
    PARAMETER(location_out, OUT, .size = sizeof(ferrum_buffer_location),
              .is_optional = 1)};

static ferrum_status call_fallback_buffer_unpin(const argument *a) {
    return ferrum_fallback_buffer_unpin((ferrum_fallback_buffer){a[0].number});
}
static const parameter parameters_fallback_buffer_unpin[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER)};

static ferrum_status call_fallback_buffer_write(const argument *a) {
    return ferrum_fallback_buffer_write((ferrum_fallback_buffer){a[0].number},
                                        (uint64_t)a[1].number, a[2].pointer,
                                        (uint64_t)a[3].number);
}
static const parameter parameters_fallback_buffer_write[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(offset_bytes, VALUE), PARAMETER(source, BYTES),
    PARAMETER(size_bytes, VALUE)};

static ferrum_status call_fallback_buffer_read(const argument *a) {
    return ferrum_fallback_buffer_read((ferrum_fallback_buffer){a[0].number},
                                       (uint64_t)a[1].number, a[2].pointer,
                                       (uint64_t)a[3].number);
}
static const parameter parameters_fallback_buffer_read[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(offset_bytes, VALUE), PARAMETER(destination, BYTES),
    PARAMETER(size_bytes, VALUE)};

static ferrum_status call_fallback_buffer_take(const argument *a) {
    return ferrum_fallback_buffer_take((ferrum_fallback_buffer){a[0].number},
                                       (ferrum_buffer_location)a[1].number,
                                       a[2].pointer);
}
static const parameter parameters_fallback_buffer_take[] = {
    PARAMETER(buffer, HANDLE, .kind = FALLBACK_BUFFER),
    PARAMETER(location, ENUMERATION, .unknown = {-1, 2}),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_fallback_manager_adopt(const argument *a) {
    return ferrum_fallback_manager_adopt((ferrum_fallback_manager){a[0].number},
                                         (ferrum_buffer_location)a[1].number,
                                         (ferrum_address)a[2].number,
                                         a[3].pointer, a[4].pointer);
}
static const parameter parameters_fallback_manager_adopt[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(location, ENUMERATION, .unknown = {-1, 2}),
    PARAMETER(address, VALUE),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_buffer_request),
    PARAMETER(buffer_out, OUT, .size = sizeof(ferrum_fallback_buffer))};

static ferrum_status call_fallback_manager_release(const argument *a) {
    return ferrum_fallback_manager_release(
        (ferrum_fallback_manager){a[0].number},
        (ferrum_buffer_location)a[1].number, (ferrum_address)a[2].number,
        (ferrum_stream){a[3].number});
}
static const parameter parameters_fallback_manager_release[] = {
    PARAMETER(manager, HANDLE, .kind = FALLBACK_MANAGER),
    PARAMETER(location, ENUMERATION, .unknown = {-1, 2}),
    PARAMETER(address, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_round_up_power_of_2(const argument *a) {
    return ferrum_round_up_power_of_2((uint64_t)a[0].number, a[1].pointer);
}
static const parameter parameters_round_up_power_of_2[] = {
    PARAMETER(n, VALUE), PARAMETER(result_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_size_class(const argument *a) {
    return ferrum_size_class((uint64_t)a[0].number, a[1].pointer);
}
static const parameter parameters_size_class[] = {
    PARAMETER(size_bytes, VALUE),
    PARAMETER(class_bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_f32_bytes(const argument *a) {
    return ferrum_f32_bytes((uint64_t)a[0].number, a[1].pointer);
}
static const parameter parameters_f32_bytes[] = {
    PARAMETER(count, VALUE),
    PARAMETER(bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_f16_bytes(const argument *a) {
    return ferrum_f16_bytes((uint64_t)a[0].number, a[1].pointer);
}
static const parameter parameters_f16_bytes[] = {
    PARAMETER(count, VALUE),
    PARAMETER(bytes_out, OUT, .size = sizeof(uint64_t))};

const function arguments_fallback[] = {
    FUNCTION(memory_config_preset,
             .parameters = parameters_memory_config_preset, .count = 2,
             .is_stateless = 1),
    FUNCTION(memory_config_check, .parameters = parameters_memory_config_check,
             .count = 1, .is_stateless = 1),
    FUNCTION(memory_stats_ratios, .parameters = parameters_memory_stats_ratios,
             .count = 2, .is_stateless = 1),
    FUNCTION(memory_stats_merge, .parameters = parameters_memory_stats_merge,
             .count = 3, .is_stateless = 1),
    FUNCTION(memory_stats_text, .parameters = parameters_memory_stats_text,
             .count = 4, .is_stateless = 1),
    FUNCTION(buffer_id_new, .parameters = parameters_buffer_id_new, .count = 1,
             .is_stateless = 1),
    FUNCTION(buffer_id_text, .parameters = parameters_buffer_id_text,
             .count = 4, .is_stateless = 1),
    FUNCTION(tracker_create, .parameters = parameters_tracker_create,
             .count = 1),
    FUNCTION(tracker_destroy, .parameters = parameters_tracker_destroy,
             .count = 1),
    FUNCTION(tracker_track, .parameters = parameters_tracker_track, .count = 2),
    FUNCTION(tracker_untrack, .parameters = parameters_tracker_untrack,
             .count = 3),
    FUNCTION(tracker_get, .parameters = parameters_tracker_get, .count = 3),
    FUNCTION(tracker_get_all, .parameters = parameters_tracker_get_all,
             .count = 4),
    FUNCTION(tracker_find_old, .parameters = parameters_tracker_find_old,
             .count = 5),
    FUNCTION(tracker_get_totals, .parameters = parameters_tracker_get_totals,
             .count = 2),
    FUNCTION(tracker_clear, .parameters = parameters_tracker_clear, .count = 1),
    FUNCTION(generic_pool_create, .parameters = parameters_generic_pool_create,
             .count = 2),
    FUNCTION(generic_pool_destroy,
             .parameters = parameters_generic_pool_destroy, .count = 2),
    FUNCTION(generic_pool_record_allocation,
             .parameters = parameters_generic_pool_record_allocation,
             .count = 4),
    FUNCTION(generic_pool_try_get,
             .parameters = parameters_generic_pool_try_get, .count = 5),
    FUNCTION(generic_pool_return, .parameters = parameters_generic_pool_return,
             .count = 3),
    FUNCTION(generic_pool_add_free,
             .parameters = parameters_generic_pool_add_free, .count = 3),
    FUNCTION(generic_pool_drain, .parameters = parameters_generic_pool_drain,
             .count = 4),
    FUNCTION(generic_pool_get_pooled_count,
             .parameters = parameters_generic_pool_get_pooled_count,
             .count = 2),
    FUNCTION(generic_pool_get_stats,
             .parameters = parameters_generic_pool_get_stats, .count = 2),
    FUNCTION(generic_pool_record_cpu_fallback,
             .parameters = parameters_generic_pool_record_cpu_fallback,
             .count = 1),
    FUNCTION(generic_pool_get_tracker,
             .parameters = parameters_generic_pool_get_tracker, .count = 2),
    FUNCTION(fallback_manager_create,
             .parameters = parameters_fallback_manager_create, .count = 4),
    FUNCTION(fallback_manager_destroy,
             .parameters = parameters_fallback_manager_destroy, .count = 2,
             .waits = 1),
    FUNCTION(fallback_manager_get_backend_name,
             .parameters = parameters_fallback_manager_get_backend_name,
             .count = 4),
    FUNCTION(fallback_manager_get_stats,
             .parameters = parameters_fallback_manager_get_stats, .count = 2),
    FUNCTION(fallback_manager_get_fallback_stats,
             .parameters = parameters_fallback_manager_get_fallback_stats,
             .count = 2),
    FUNCTION(fallback_manager_get_memory,
             .parameters = parameters_fallback_manager_get_memory, .count = 3),
    FUNCTION(fallback_manager_get_pressure,
             .parameters = parameters_fallback_manager_get_pressure,
             .count = 2),
    FUNCTION(fallback_manager_pressure_callback_add,
             .parameters = parameters_fallback_manager_pressure_callback_add,
             .count = 4),
    FUNCTION(fallback_manager_clear_pool,
             .parameters = parameters_fallback_manager_clear_pool, .count = 1),
    FUNCTION(fallback_manager_shrink,
             .parameters = parameters_fallback_manager_shrink, .count = 2),
    FUNCTION(fallback_manager_get_tracker,
             .parameters = parameters_fallback_manager_get_tracker, .count = 2),
    FUNCTION(fallback_manager_alloc,
             .parameters = parameters_fallback_manager_alloc, .count = 3),
    FUNCTION(fallback_manager_return_buffers,
             .parameters = parameters_fallback_manager_return_buffers,
             .count = 2, .waits = 1),
    FUNCTION(fallback_buffer_free,
             .parameters = parameters_fallback_buffer_free, .count = 2,
             .waits = 1),
    FUNCTION(fallback_buffer_get_info,
             .parameters = parameters_fallback_buffer_get_info, .count = 2),
    FUNCTION(fallback_buffer_get_address,
             .parameters = parameters_fallback_buffer_get_address, .count = 3),
    FUNCTION(fallback_buffer_move,
             .parameters = parameters_fallback_buffer_move, .count = 2,
             .waits = 1),
    FUNCTION(fallback_buffer_pin, .parameters = parameters_fallback_buffer_pin,
             .count = 3, .waits = 1),
    FUNCTION(fallback_buffer_unpin,
             .parameters = parameters_fallback_buffer_unpin, .count = 1),
    FUNCTION(fallback_buffer_write,
             .parameters = parameters_fallback_buffer_write, .count = 4,
             .waits = 1),
    FUNCTION(fallback_buffer_read,
             .parameters = parameters_fallback_buffer_read, .count = 4,
             .waits = 1),
    FUNCTION(fallback_buffer_take,
             .parameters = parameters_fallback_buffer_take, .count = 3,
             .waits = 1),
    FUNCTION(fallback_manager_adopt,
             .parameters = parameters_fallback_manager_adopt, .count = 5),
    FUNCTION(fallback_manager_release,
             .parameters = parameters_fallback_manager_release, .count = 4),
    FUNCTION(round_up_power_of_2, .parameters = parameters_round_up_power_of_2,
             .count = 2, .is_stateless = 1),
    FUNCTION(size_class, .parameters = parameters_size_class, .count = 2,
             .is_stateless = 1),
    FUNCTION(f32_bytes, .parameters = parameters_f32_bytes, .count = 2,
             .is_stateless = 1),
    FUNCTION(f16_bytes, .parameters = parameters_f16_bytes, .count = 2,
             .is_stateless = 1),
    {.name = NULL}};
