// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
//
// The tests make every generated call in both of its forms. One form returns a failure, and
// the other form throws the same failure. The object has no handle, so each call on the
// object fails.
#include <gtest/gtest.h>

#include <type_traits>

#include "ferrum_mem.hpp"

namespace {

template <class Returned, class Thrown>
ferrum_status both(const char *call, Returned returned, Thrown thrown) {
    const ferrum_status status = returned().status();
    ferrum_status caught = FERRUM_OK;
    try {
        thrown();
    } catch (const ferrum::error &why) {
        caught = why.status();
    }
    EXPECT_EQ(status, caught) << call;
    return status;
}

#define BOTH(scope, ...)                                       \
    both(                                                      \
        #__VA_ARGS__, [&] { return scope try_##__VA_ARGS__; }, \
        [&] { (void)(scope __VA_ARGS__); })
#define REFUSED(...) \
    EXPECT_NE(BOTH(object., __VA_ARGS__), FERRUM_OK) << #__VA_ARGS__

template <class Class, template <class> class Calls>
constexpr bool has = std::is_base_of_v<Calls<Class>, Class>;

static_assert(has<ferrum::compute, ferrum::compute_calls>);
TEST(CppCalls, test_compute) {
    ferrum::library started;
    ferrum::compute object;
    BOTH(object., open(ferrum_compute_config{}));
    REFUSED(manager());
    REFUSED(capabilities_json());
    REFUSED(status_json());
    REFUSED(synchronize(std::chrono::nanoseconds{}));
    BOTH(object., backends_json());
    BOTH(object., find_json("none"));
    REFUSED(compute_plan_json_("none", std::uint32_t{}, "none"));
}

static_assert(has<ferrum::device, ferrum::device_calls>);
TEST(CppCalls, test_device) {
    ferrum::library started;
    ferrum::device object;
    BOTH(object., can_fit("none", std::uint64_t{}));
    BOTH(object., open("none"));
    REFUSED(info());
    REFUSED(synchronize(std::chrono::nanoseconds{}));
    REFUSED(set_limit(std::uint64_t{}));
    REFUSED(measure_bandwidth());
    REFUSED(memory_info());
    REFUSED(recent_memory_info(std::chrono::nanoseconds{}));
    REFUSED(statistics());
    REFUSED(create_stream());
    REFUSED(default_stream());
    REFUSED(create_pool(nullptr));
    REFUSED(owner(ferrum_address{}));
    REFUSED(call_site_json(ferrum_address{}));
    REFUSED(create_manager(nullptr));
    REFUSED(page_sizes());
    REFUSED(create_vpool(ferrum_vpool_config{}));
    REFUSED(create_elastic_pool(nullptr));
    REFUSED(adopt_stream(ferrum_foreign_stream{}));
    REFUSED(adopt_event(std::uint64_t{}));
    BOTH(object., open_native("none", std::uint64_t{}));
    REFUSED(native());
    REFUSED(grant_peer(ferrum_device{}));
    REFUSED(share_memory(ferrum_address{}, std::uint64_t{}));
    REFUSED(open_event(ferrum_shared_event{}));
}

static_assert(has<ferrum::elastic_pool, ferrum::elastic_pool_calls>);
TEST(CppCalls, test_elastic_pool) {
    ferrum::library started;
    ferrum::elastic_pool object;
    REFUSED(register_model("none", ferrum_model_config{}));
    REFUSED(unregister_model("none", std::uint32_t{}));
    REFUSED(alloc_batch("none", nullptr, std::size_t{}, nullptr));
    REFUSED(alloc_batch("none", std::vector<ferrum_byte_range>(1), nullptr));
    REFUSED(free("none", std::uint64_t{}, std::uint64_t{}, ferrum_stream{}));
    REFUSED(free_batch("none", nullptr, std::size_t{}, ferrum_stream{}));
    REFUSED(
        free_batch("none", std::vector<ferrum_byte_range>(1), ferrum_stream{}));
    REFUSED(record_stream("none", std::uint64_t{}, std::uint64_t{},
                          ferrum_stream{}));
    REFUSED(
        record_stream_batch("none", nullptr, std::size_t{}, ferrum_stream{}));
    REFUSED(record_stream_batch("none", std::vector<ferrum_byte_range>(1),
                                ferrum_stream{}));
    REFUSED(is_mapped("none", std::uint64_t{}, std::uint64_t{}));
    REFUSED(model_info("none"));
    REFUSED(set_model_limits("none", ferrum_model_limits{}));
    REFUSED(info());
    REFUSED(statistics());
    REFUSED(models_json());
    REFUSED(set_limit(std::uint64_t{}));
    REFUSED(compact());
    REFUSED(trim(std::uint64_t{}));
    REFUSED(synchronize(std::chrono::nanoseconds{}));
    REFUSED(pause());
    REFUSED(resume());
    REFUSED(sleep_model("none", nullptr));
    REFUSED(wake_model("none", nullptr));
    REFUSED(is_model_asleep("none", "none"));
}

static_assert(has<ferrum::event, ferrum::event_calls>);
TEST(CppCalls, test_event) {
    ferrum::library started;
    ferrum::event object;
    REFUSED(is_ready());
    REFUSED(synchronize(std::chrono::nanoseconds{}));
    REFUSED(elapsed(ferrum_event{}));
    REFUSED(native());
}

static_assert(has<ferrum::executor, ferrum::executor_calls>);
TEST(CppCalls, test_executor) {
    ferrum::library started;
    ferrum::executor object;
    REFUSED(plan_json("none"));
    REFUSED(info_json());
    REFUSED(definition_json());
    REFUSED(export_onnx("none", std::uint32_t{}));
    REFUSED(report_json());
    REFUSED(sleep(nullptr));
    REFUSED(wake(nullptr));
    REFUSED(add_name("none"));
    BOTH(object., find("none"));
    BOTH(object., remove_name("none"));
}

static_assert(has<ferrum::fallback_buffer, ferrum::fallback_buffer_calls>);
TEST(CppCalls, test_fallback_buffer) {
    ferrum::library started;
    ferrum::fallback_buffer object;
    REFUSED(info());
    REFUSED(address(ferrum_buffer_location{}));
    REFUSED(move(ferrum_buffer_location{}));
    REFUSED(pin());
    REFUSED(unpin());
    REFUSED(write(std::uint64_t{}, nullptr, std::uint64_t{}));
    REFUSED(read(std::uint64_t{}, nullptr, std::uint64_t{}));
}

static_assert(has<ferrum::fallback_manager, ferrum::fallback_manager_calls>);
TEST(CppCalls, test_fallback_manager) {
    ferrum::library started;
    ferrum::fallback_manager object;
    REFUSED(backend_name());
    REFUSED(fallback_stats());
    REFUSED(memory());
    REFUSED(pressure());
    REFUSED(clear_pool());
    REFUSED(shrink());
    REFUSED(tracker());
    REFUSED(alloc(ferrum_buffer_request{}));
    REFUSED(return_buffers());
    REFUSED(adopt(ferrum_buffer_location{}, ferrum_address{},
                  ferrum_buffer_request{}));
}

static_assert(has<ferrum::generic_pool<int>, ferrum::generic_pool_calls>);
TEST(CppCalls, test_generic_pool) {
    ferrum::library started;
    ferrum::generic_pool<int> object;
    REFUSED(pooled_count());
    REFUSED(record_cpu_fallback());
    REFUSED(tracker());
}

static_assert(has<ferrum::kv_cache, ferrum::kv_cache_calls>);
TEST(CppCalls, test_kv_cache) {
    ferrum::library started;
    ferrum::kv_cache object;
    BOTH(object., create(ferrum_kv_cache_config{}, ferrum_weights_memory{},
                         ferrum_pool{}, ferrum_stream{}));
    REFUSED(hash_tokens(std::uint64_t{}, nullptr, std::size_t{}));
    REFUSED(hash_tokens(std::uint64_t{}, std::vector<std::int32_t>(1)));
    REFUSED(find(nullptr, std::size_t{}));
    REFUSED(find(std::vector<std::uint64_t>(1)));
    REFUSED(allocate(nullptr, std::size_t{}, nullptr, std::size_t{}, nullptr,
                     std::size_t{}));
    REFUSED(allocate(std::vector<std::uint32_t>(1),
                     std::vector<std::uint32_t>(1),
                     std::vector<std::uint64_t>(1)));
    REFUSED(append(nullptr, std::size_t{}, nullptr, std::size_t{}));
    REFUSED(
        append(std::vector<std::uint64_t>(1), std::vector<std::uint32_t>(1)));
    REFUSED(publish(nullptr, std::size_t{}, nullptr, std::size_t{}, nullptr,
                    std::size_t{}));
    REFUSED(publish(std::vector<std::uint64_t>(1),
                    std::vector<std::uint32_t>(1),
                    std::vector<std::uint64_t>(1)));
    REFUSED(fork(nullptr, std::size_t{}));
    REFUSED(fork(std::vector<std::uint64_t>(1)));
    REFUSED(truncate(nullptr, std::size_t{}, nullptr, std::size_t{}));
    REFUSED(
        truncate(std::vector<std::uint64_t>(1), std::vector<std::uint32_t>(1)));
    REFUSED(free(nullptr, std::size_t{}));
    REFUSED(free(std::vector<std::uint64_t>(1)));
    REFUSED(swap_out(nullptr, std::size_t{}));
    REFUSED(swap_out(std::vector<std::uint64_t>(1)));
    REFUSED(swap_in(nullptr, std::size_t{}));
    REFUSED(swap_in(std::vector<std::uint64_t>(1)));
    REFUSED(block_tables(nullptr, std::size_t{}, std::uint64_t{}));
    REFUSED(block_tables(std::vector<std::uint64_t>(1), std::uint64_t{}));
    REFUSED(lengths(nullptr, std::size_t{}));
    REFUSED(lengths(std::vector<std::uint64_t>(1)));
    REFUSED(plane(std::uint32_t{}, bool{}));
    REFUSED(plane_tensor(std::uint32_t{}, bool{}));
    REFUSED(trim(std::uint64_t{}));
    REFUSED(stats());
}

static_assert(has<ferrum::manager, ferrum::manager_calls>);
TEST(CppCalls, test_manager) {
    ferrum::library started;
    ferrum::manager object;
    REFUSED(configure_pool(ferrum_memory_type{}, ferrum_pool_config{}));
    REFUSED(statistics());
    REFUSED(alloc(std::uint64_t{}));
    REFUSED(alloc_with(ferrum_allocation_request{}));
    REFUSED(defragment());
    REFUSED(defragment_within(std::chrono::nanoseconds{}));
    REFUSED(create_mapping(ferrum_manager{}, ferrum_link_request{}));
    REFUSED(adopt(ferrum_adoption{}));
    REFUSED(import_pages(ferrum_page_import{}));
    REFUSED(import_memory(ferrum_shared_memory{}, "none"));
}

static_assert(has<ferrum::memory, ferrum::memory_calls>);
TEST(CppCalls, test_memory) {
    ferrum::library started;
    ferrum::memory object;
    REFUSED(handle_info());
    REFUSED(pin());
    REFUSED(unpin());
    BOTH(object., copy(ferrum_transfer{}));
    BOTH(object., copy_async(ferrum_transfer{}, ferrum_stream{}));
    REFUSED(write(std::uint64_t{}, nullptr, std::uint64_t{}));
    REFUSED(read(std::uint64_t{}, nullptr, std::uint64_t{}));
    BOTH(object., fill_async(ferrum_fill{}, ferrum_stream{}));
    REFUSED(prefetch(ferrum_device{}, ferrum_stream{}));
    REFUSED(set_usage_hint(ferrum_usage_hint{}));
    REFUSED(usage_hints());
    REFUSED(access_stats());
}

static_assert(has<ferrum::monitor, ferrum::monitor_calls>);
TEST(CppCalls, test_monitor) {
    ferrum::library started;
    ferrum::monitor object;
    REFUSED(pressure(std::chrono::nanoseconds{}));
    REFUSED(levels(std::chrono::nanoseconds{}));
    REFUSED(info_json(std::chrono::nanoseconds{}));
    REFUSED(collect());
}

static_assert(has<ferrum::placement, ferrum::placement_calls>);
TEST(CppCalls, test_placement) {
    ferrum::library started;
    ferrum::placement object;
    BOTH(object., create("none"));
    REFUSED(name());
    REFUSED(select(ferrum_placement_request{}));
    REFUSED(explain_json(ferrum_placement_request{}));
}

static_assert(has<ferrum::pool, ferrum::pool_calls>);
TEST(CppCalls, test_pool) {
    ferrum::library started;
    ferrum::pool object;
    REFUSED(alloc(std::uint64_t{}, ferrum_stream{}));
    REFUSED(alloc_with(ferrum_pool_request{}));
    REFUSED(free(ferrum_address{}, ferrum_stream{}));
    REFUSED(free_sized(ferrum_address{}, std::uint64_t{}, ferrum_stream{}));
    REFUSED(free_batch(nullptr, std::size_t{}, ferrum_stream{}));
    REFUSED(free_batch(std::vector<ferrum_address>(1), ferrum_stream{}));
    REFUSED(record_stream(ferrum_address{}, ferrum_stream{}));
    REFUSED(record_stream_batch(nullptr, std::size_t{}, ferrum_stream{}));
    REFUSED(
        record_stream_batch(std::vector<ferrum_address>(1), ferrum_stream{}));
    REFUSED(usable_size(ferrum_address{}));
    REFUSED(capture_begin(ferrum_stream{}, std::uint64_t{}));
    REFUSED(capture_end(std::uint64_t{}));
    REFUSED(capture_release(std::uint64_t{}, ferrum_stream{}));
    REFUSED(capture_info(std::uint64_t{}));
    REFUSED(reset(ferrum_stream{}));
    REFUSED(check());
    REFUSED(trim(std::uint64_t{}));
    REFUSED(set_limit(std::uint64_t{}));
    REFUSED(set_min_held(std::uint64_t{}));
    REFUSED(set_release_threshold(std::uint64_t{}));
    REFUSED(info());
    REFUSED(statistics());
}

static_assert(has<ferrum::sequence, ferrum::sequence_calls>);
TEST(CppCalls, test_sequence) {
    ferrum::library started;
    ferrum::sequence object;
    REFUSED(run(ferrum_stream{}));
}

static_assert(has<ferrum::stream, ferrum::stream_calls>);
TEST(CppCalls, test_stream) {
    ferrum::library started;
    ferrum::stream object;
    REFUSED(synchronize(std::chrono::nanoseconds{}));
    REFUSED(is_ready());
    REFUSED(copy_batch(nullptr, std::size_t{}));
    REFUSED(copy_batch(std::vector<ferrum_address_copy>(1)));
    REFUSED(record_event());
    REFUSED(wait_event(ferrum_event{}));
    REFUSED(native());
    REFUSED(share_event());
}

static_assert(has<ferrum::tensor, ferrum::tensor_calls>);
TEST(CppCalls, test_tensor) {
    ferrum::library started;
    ferrum::tensor object;
    BOTH(object., create(ferrum_weights_memory{}, ferrum_dtype{}, nullptr,
                         std::size_t{}, ferrum_stream{}));
    REFUSED(narrow(std::int32_t{}, std::int64_t{}, std::int64_t{}));
    REFUSED(
        slice(std::int32_t{}, std::int64_t{}, std::int64_t{}, std::int64_t{}));
    REFUSED(permute(nullptr, std::size_t{}));
    REFUSED(permute(std::vector<std::int32_t>(1)));
    REFUSED(reshape(nullptr, std::size_t{}));
    REFUSED(reshape(std::vector<std::int64_t>(1)));
    REFUSED(expand(nullptr, std::size_t{}));
    REFUSED(expand(std::vector<std::int64_t>(1)));
    REFUSED(copy(ferrum_tensor{}, ferrum_stream{}));
    REFUSED(to(ferrum_weights_memory{}, ferrum_dtype{}, ferrum_stream{}));
    REFUSED(read(nullptr, std::uint64_t{}, ferrum_stream{}));
    REFUSED(write(nullptr, std::uint64_t{}, ferrum_stream{}));
    REFUSED(fill(double{}, ferrum_stream{}));
    REFUSED(describe());
}

static_assert(has<ferrum::tensor_set, ferrum::tensor_set_calls>);
TEST(CppCalls, test_tensor_set) {
    ferrum::library started;
    ferrum::tensor_set object;
    REFUSED(wait(std::chrono::nanoseconds{}));
    REFUSED(cancel());
    REFUSED(progress());
    REFUSED(count());
    REFUSED(tensor(std::uint64_t{}));
    REFUSED(tensor_name(std::uint64_t{}));
    REFUSED(find("none"));
    REFUSED(tensors_json());
    REFUSED(check());
}

static_assert(has<ferrum::tracker, ferrum::tracker_calls>);
TEST(CppCalls, test_tracker) {
    ferrum::library started;
    ferrum::tracker object;
    BOTH(object., create());
    REFUSED(track(ferrum_buffer_metadata{}));
    REFUSED(untrack(std::uint64_t{}));
    REFUSED(all());
    REFUSED(find_old(std::chrono::nanoseconds{}));
    REFUSED(totals());
    REFUSED(clear());
}

static_assert(has<ferrum::vpool, ferrum::vpool_calls>);
TEST(CppCalls, test_vpool) {
    ferrum::library started;
    ferrum::vpool object;
    REFUSED(alloc(std::uint64_t{}, std::uint64_t{}));
    REFUSED(alloc_with(ferrum_vpool_request{}));
    REFUSED(alloc_batch(nullptr, std::size_t{}, nullptr));
    REFUSED(alloc_batch(std::vector<ferrum_byte_range>(1), nullptr));
    REFUSED(free(std::uint64_t{}, std::uint64_t{}, ferrum_stream{}));
    REFUSED(free_batch(nullptr, std::size_t{}, ferrum_stream{}));
    REFUSED(free_batch(std::vector<ferrum_byte_range>(1), ferrum_stream{}));
    REFUSED(record_stream(std::uint64_t{}, std::uint64_t{}, ferrum_stream{}));
    REFUSED(record_stream_batch(nullptr, std::size_t{}, ferrum_stream{}));
    REFUSED(record_stream_batch(std::vector<ferrum_byte_range>(1),
                                ferrum_stream{}));
    REFUSED(is_mapped(std::uint64_t{}, std::uint64_t{}));
    REFUSED(info());
    REFUSED(statistics());
    REFUSED(compact());
    REFUSED(trim(std::uint64_t{}));
    REFUSED(set_limit(std::uint64_t{}));
    REFUSED(synchronize(std::chrono::nanoseconds{}));
    REFUSED(pause());
    REFUSED(resume());
    REFUSED(sleep(nullptr));
    REFUSED(wake(nullptr));
    REFUSED(is_asleep("none"));
    REFUSED(export_fabric(std::uint64_t{}, std::uint64_t{}));
}

static_assert(has<ferrum::weights, ferrum::weights_calls>);
TEST(CppCalls, test_weights) {
    ferrum::library started;
    ferrum::weights object;
    REFUSED(metadata_json());
    BOTH(object., capabilities_json());
    REFUSED(find("none"));
}

TEST(CppCalls, test_functions) {
    ferrum::library started;
    BOTH(ferrum::, backends_json());
    BOTH(ferrum::, backends_refresh());
    BOTH(ferrum::, backends_summary());
    BOTH(ferrum::, backend_best());
    BOTH(ferrum::, backend_select(ferrum_backend{}, std::uint64_t{}));
    BOTH(ferrum::, host_info());
    BOTH(ferrum::, snapshot_json());
    BOTH(ferrum::, leak_report_json());
    BOTH(ferrum::, pressure_level_of(ferrum_pressure_profile{}, std::uint64_t{},
                                     std::uint64_t{}));
    BOTH(ferrum::,
         pressure_from_utilization(ferrum_pressure_profile{}, double{}));
    BOTH(ferrum::, estimate_model_memory(ferrum_model_shape{}));
    BOTH(ferrum::, estimate_kv_cache_memory(ferrum_kv_cache_shape{}));
    BOTH(ferrum::, estimate_inference_memory(ferrum_model_shape{}));
    BOTH(ferrum::, estimate_file_json("none", nullptr));
    BOTH(ferrum::, estimate_config_json("none", nullptr));
    BOTH(ferrum::, buffer_id_new());
    BOTH(ferrum::, buffer_id_text(std::uint64_t{}));
    BOTH(ferrum::, round_up_power_of_2(std::uint64_t{}));
    BOTH(ferrum::, size_class(std::uint64_t{}));
    BOTH(ferrum::, f32_bytes(std::uint64_t{}));
    BOTH(ferrum::, f16_bytes(std::uint64_t{}));
    BOTH(ferrum::, layers_json());
    BOTH(ferrum::, model_export_json("none"));
    BOTH(ferrum::, model_export_onnx("none", "none", std::uint32_t{}));
    BOTH(ferrum::, definition_export_onnx("none", ferrum_weights{}, "none",
                                          std::uint32_t{}));
    BOTH(ferrum::, model_validate_json("none"));
    BOTH(ferrum::, definition_validate_json("none"));
    BOTH(ferrum::, builder_info_json());
    BOTH(ferrum::, build_estimate_json("none"));
    BOTH(ferrum::, executors_json());
}

} // namespace
