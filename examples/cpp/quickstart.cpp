// A first C++ program. It uses owning types, a copy on a stream, standard
// containers in a pool, and an allocation that fails.
//
//   c++ -std=c++17 quickstart.cpp $(pkg-config --cflags --libs ferrum_mem)

#include <ferrum_mem.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

void copy_on_a_stream(const ferrum::device &device) {
    auto manager = device.create_manager();
    auto prompt = manager.alloc(MiB), cache = manager.alloc(MiB);
    const std::string text = "tokens on their way";
    prompt.write(0, text.data(), text.size());

    auto stream = device.create_stream();
    ferrum::memory::copy_async(ferrum::transfer(prompt, cache, text.size()),
                               stream.get());
    stream.call([] { std::puts("the copy is done"); });
    stream.synchronize();

    std::string back(text.size(), ' ');
    cache.read(0, &back[0], back.size());
    std::printf("copied on a stream: \"%s\"\n", back.c_str());
}

void containers_in_a_pool(const ferrum::device &device) {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.name = "containers";
    config.initial_size_bytes = 8 * MiB;
    config.max_size_bytes = 16 * MiB;
    auto pool = device.create_pool(&config);
    ferrum::pool_resource resource(device, pool);
    std::pmr::vector<double> numbers(100000, 1.5, &resource);
    std::printf(
        "%zu numbers at %p, %llu bytes live in the pool\n", numbers.size(),
        static_cast<void *>(numbers.data()),
        static_cast<unsigned long long>(pool.statistics().allocated.current));

    // A function with the prefix try_ returns an error as a value ...
    auto block = pool.try_alloc(20 * MiB);
    if (!block)
        std::printf("20 MiB more: %s\n", ferrum_status_name(block.status()));
    // ... and the other functions throw an exception.
    try {
        pool.free(4242);
    } catch (const ferrum::error &error) {
        std::printf("a made-up address: %s\n", error.what());
    }
}

} // namespace

int main() {
    try {
        ferrum::library library;
        auto device = ferrum::device::open("cpu:0");
        copy_on_a_stream(device);
        containers_in_a_pool(device);
        device.reset();
        library.stop();
    } catch (const ferrum::error &error) {
        std::fprintf(stderr, "%s: %s\n", error.why().function.c_str(),
                     error.what());
        return 1;
    }
    return 0;
}
