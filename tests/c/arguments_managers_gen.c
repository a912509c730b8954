/* Generated from include/ferrum_mem/managers.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_manager_config[] = {
    FIELD(ferrum_manager_config, enable_tracking, TRUTH),
    FIELD(ferrum_manager_config, enable_auto_gc, TRUTH),
    FIELD(ferrum_manager_config, enable_debug, TRUTH),
    FIELD(ferrum_manager_config, max_concurrent_transfers, VALUE)};
static const ferrum_manager_config init_ferrum_manager_config =
    FERRUM_MANAGER_CONFIG_INIT;
static const struct_type type_ferrum_manager_config = {
    sizeof(ferrum_manager_config), &init_ferrum_manager_config,
    fields_ferrum_manager_config, 4};

static const struct_field fields_ferrum_pool_config[] = {
    FIELD(ferrum_pool_config, enable_auto_expansion, TRUTH),
    FIELD(ferrum_pool_config, initial_size_bytes, VALUE),
    FIELD(ferrum_pool_config, max_size_bytes, VALUE),
    FIELD(ferrum_pool_config, growth_increment_bytes, VALUE),
    FIELD(ferrum_pool_config, alignment_bytes, VALUE),
    FIELD(ferrum_pool_config, pre_allocate, TRUTH),
    FIELD(ferrum_pool_config, enable_stats, TRUTH),
    FIELD(ferrum_pool_config, strategy, TEXT),
    FIELD(ferrum_pool_config, name, TEXT),
    FIELD(ferrum_pool_config, tracking, TRUTH),
    FIELD(ferrum_pool_config, debug, FLAGS),
    FIELD(ferrum_pool_config, thread_cache_bytes, VALUE),
    FIELD(ferrum_pool_config, min_held_bytes, VALUE),
    FIELD(ferrum_pool_config, release_threshold_bytes, VALUE),
    FIELD(ferrum_pool_config, fixed_block_bytes, VALUE),
    FIELD(ferrum_pool_config, page_bytes, VALUE),
    FIELD(ferrum_pool_config, paging, ENUMERATION, .unknown = {-1, 3}),
    FIELD(ferrum_pool_config, ready_pages, VALUE),
    FIELD(ferrum_pool_config, physical_page_bytes, VALUE),
    FIELD(ferrum_pool_config, segment_source, ENUMERATION, .unknown = {-1, 2}),
    FIELD(ferrum_pool_config, reserved, RESERVED)};
static const ferrum_pool_config init_ferrum_pool_config =
    FERRUM_POOL_CONFIG_INIT;
static const struct_type type_ferrum_pool_config = {
    sizeof(ferrum_pool_config), &init_ferrum_pool_config,
    fields_ferrum_pool_config, 21};

static const ferrum_statistics init_ferrum_statistics = FERRUM_STATISTICS_INIT;
static const struct_type type_ferrum_statistics = {
    sizeof(ferrum_statistics), &init_ferrum_statistics, NULL, 0};

static const struct_field fields_ferrum_allocation_request[] = {
    FIELD(ferrum_allocation_request, memory_type, ENUMERATION,
          .unknown = {-1, 8}),
    FIELD(ferrum_allocation_request, size_bytes, VALUE),
    FIELD(ferrum_allocation_request, alignment_bytes, VALUE),
    FIELD(ferrum_allocation_request, tag, TEXT),
    FIELD(ferrum_allocation_request, flags, FLAGS),
    FIELD(ferrum_allocation_request, reserved, RESERVED)};
static const ferrum_allocation_request init_ferrum_allocation_request =
    FERRUM_ALLOCATION_REQUEST_INIT;
static const struct_type type_ferrum_allocation_request = {
    sizeof(ferrum_allocation_request), &init_ferrum_allocation_request,
    fields_ferrum_allocation_request, 6};

static const ferrum_handle_info init_ferrum_handle_info =
    FERRUM_HANDLE_INFO_INIT;
static const struct_type type_ferrum_handle_info = {
    sizeof(ferrum_handle_info), &init_ferrum_handle_info, NULL, 0};

static const struct_field fields_ferrum_transfer[] = {
    FIELD(ferrum_transfer, reserved, RESERVED),
    FIELD(ferrum_transfer, src, HANDLE, .kind = MEMORY),
    FIELD(ferrum_transfer, dst, HANDLE, .kind = MEMORY),
    FIELD(ferrum_transfer, size_bytes, VALUE),
    FIELD(ferrum_transfer, src_offset_bytes, VALUE),
    FIELD(ferrum_transfer, dst_offset_bytes, VALUE)};
static const ferrum_transfer init_ferrum_transfer = FERRUM_TRANSFER_INIT;
static const struct_type type_ferrum_transfer = {
    sizeof(ferrum_transfer), &init_ferrum_transfer, fields_ferrum_transfer, 6};

static const struct_field fields_ferrum_fill[] = {
    FIELD(ferrum_fill, pattern_bytes, VALUE),
    FIELD(ferrum_fill, memory, HANDLE, .kind = MEMORY),
    FIELD(ferrum_fill, offset_bytes, VALUE),
    FIELD(ferrum_fill, size_bytes, VALUE),
    FIELD(ferrum_fill, pattern, VALUE),
    FIELD(ferrum_fill, reserved, RESERVED)};
static const ferrum_fill init_ferrum_fill = FERRUM_FILL_INIT;
static const struct_type type_ferrum_fill = {
    sizeof(ferrum_fill), &init_ferrum_fill, fields_ferrum_fill, 6};

static const ferrum_defragmentation_stats init_ferrum_defragmentation_stats =
    FERRUM_DEFRAGMENTATION_STATS_INIT;
static const struct_type type_ferrum_defragmentation_stats = {
    sizeof(ferrum_defragmentation_stats), &init_ferrum_defragmentation_stats,
    NULL, 0};

static ferrum_status call_manager_create(const argument *a) {
    return ferrum_manager_create((ferrum_device){a[0].number}, a[1].pointer,
                                 a[2].pointer);
}
static const parameter parameters_manager_create[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_manager_config,
              .is_optional = 1),
    PARAMETER(manager_out, OUT, .size = sizeof(ferrum_manager))};

static ferrum_status call_manager_destroy(const argument *a) {
    return ferrum_manager_destroy((ferrum_manager){a[0].number},
                                  (uint32_t)a[1].number);
}
static const parameter parameters_manager_destroy[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER), PARAMETER(flags, FLAGS)};

static ferrum_status call_manager_configure_pool(const argument *a) {
    return ferrum_manager_configure_pool((ferrum_manager){a[0].number},
                                         (ferrum_memory_type)a[1].number,
                                         a[2].pointer);
}
static const parameter parameters_manager_configure_pool[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER),
    PARAMETER(memory_type, ENUMERATION, .unknown = {-1, 8}),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_pool_config)};

static ferrum_status call_manager_get_statistics(const argument *a) {
    return ferrum_manager_get_statistics((ferrum_manager){a[0].number},
                                         a[1].pointer);
}
static const parameter parameters_manager_get_statistics[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER),
    PARAMETER(statistics_out, STRUCT_OUT, .type = &type_ferrum_statistics)};

static ferrum_status call_manager_alloc(const argument *a) {
    return ferrum_manager_alloc((ferrum_manager){a[0].number},
                                (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_manager_alloc[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER), PARAMETER(size_bytes, VALUE),
    PARAMETER(memory_out, OUT, .size = sizeof(ferrum_memory))};

static ferrum_status call_manager_alloc_with(const argument *a) {
    return ferrum_manager_alloc_with((ferrum_manager){a[0].number},
                                     a[1].pointer, a[2].pointer);
}
static const parameter parameters_manager_alloc_with[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_allocation_request),
    PARAMETER(memory_out, OUT, .size = sizeof(ferrum_memory))};

static ferrum_status call_memory_free(const argument *a) {
    return ferrum_memory_free((ferrum_memory){a[0].number});
}
static const parameter parameters_memory_free[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY)};

static ferrum_status call_memory_get_handle_info(const argument *a) {
    return ferrum_memory_get_handle_info((ferrum_memory){a[0].number},
                                         a[1].pointer);
}
static const parameter parameters_memory_get_handle_info[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_handle_info)};

static ferrum_status call_memory_pin(const argument *a) {
    return ferrum_memory_pin((ferrum_memory){a[0].number}, a[1].pointer);
}
static const parameter parameters_memory_pin[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_memory_unpin(const argument *a) {
    return ferrum_memory_unpin((ferrum_memory){a[0].number});
}
static const parameter parameters_memory_unpin[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY)};

static ferrum_status call_memory_copy(const argument *a) {
    return ferrum_memory_copy(a[0].pointer);
}
static const parameter parameters_memory_copy[] = {
    PARAMETER(transfer, STRUCT_IN, .type = &type_ferrum_transfer)};

static ferrum_status call_memory_copy_async(const argument *a) {
    return ferrum_memory_copy_async(a[0].pointer, (ferrum_stream){a[1].number});
}
static const parameter parameters_memory_copy_async[] = {
    PARAMETER(transfer, STRUCT_IN, .type = &type_ferrum_transfer),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_memory_write(const argument *a) {
    return ferrum_memory_write((ferrum_memory){a[0].number},
                               (uint64_t)a[1].number, a[2].pointer,
                               (uint64_t)a[3].number);
}
static const parameter parameters_memory_write[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY), PARAMETER(offset_bytes, VALUE),
    PARAMETER(source, BYTES), PARAMETER(size_bytes, VALUE)};

static ferrum_status call_memory_read(const argument *a) {
    return ferrum_memory_read((ferrum_memory){a[0].number},
                              (uint64_t)a[1].number, a[2].pointer,
                              (uint64_t)a[3].number);
}
static const parameter parameters_memory_read[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY), PARAMETER(offset_bytes, VALUE),
    PARAMETER(destination_out, BYTES), PARAMETER(size_bytes, VALUE)};

static ferrum_status call_memory_fill_async(const argument *a) {
    return ferrum_memory_fill_async(a[0].pointer, (ferrum_stream){a[1].number});
}
static const parameter parameters_memory_fill_async[] = {
    PARAMETER(fill, STRUCT_IN, .type = &type_ferrum_fill),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_manager_defragment(const argument *a) {
    return ferrum_manager_defragment((ferrum_manager){a[0].number},
                                     a[1].pointer);
}
static const parameter parameters_manager_defragment[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER),
    PARAMETER(stats_out, STRUCT_OUT,
              .type = &type_ferrum_defragmentation_stats)};

static ferrum_status call_manager_defragment_within(const argument *a) {
    return ferrum_manager_defragment_within(
        (ferrum_manager){a[0].number}, (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_manager_defragment_within[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER), PARAMETER(budget_ns, VALUE),
    PARAMETER(stats_out, STRUCT_OUT,
              .type = &type_ferrum_defragmentation_stats)};

const function arguments_managers[] = {
    FUNCTION(manager_create, .parameters = parameters_manager_create,
             .count = 3),
    FUNCTION(manager_destroy, .parameters = parameters_manager_destroy,
             .count = 2, .waits = 1),
    FUNCTION(manager_configure_pool,
             .parameters = parameters_manager_configure_pool, .count = 3),
    FUNCTION(manager_get_statistics,
             .parameters = parameters_manager_get_statistics, .count = 2),
    FUNCTION(manager_alloc, .parameters = parameters_manager_alloc, .count = 3),
    FUNCTION(manager_alloc_with, .parameters = parameters_manager_alloc_with,
             .count = 3),
    FUNCTION(memory_free, .parameters = parameters_memory_free, .count = 1),
    FUNCTION(memory_get_handle_info,
             .parameters = parameters_memory_get_handle_info, .count = 2),
    FUNCTION(memory_pin, .parameters = parameters_memory_pin, .count = 2),
    FUNCTION(memory_unpin, .parameters = parameters_memory_unpin, .count = 1),
    FUNCTION(memory_copy, .parameters = parameters_memory_copy, .count = 1,
             .waits = 1),
    FUNCTION(memory_copy_async, .parameters = parameters_memory_copy_async,
             .count = 2, .waits = 1),
    FUNCTION(memory_write, .parameters = parameters_memory_write, .count = 4,
             .waits = 1),
    FUNCTION(memory_read, .parameters = parameters_memory_read, .count = 4,
             .waits = 1),
    FUNCTION(memory_fill_async, .parameters = parameters_memory_fill_async,
             .count = 2),
    FUNCTION(manager_defragment, .parameters = parameters_manager_defragment,
             .count = 2, .waits = 1),
    FUNCTION(manager_defragment_within,
             .parameters = parameters_manager_defragment_within, .count = 3,
             .waits = 1),
    {.name = NULL}};
