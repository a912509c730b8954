// A process imports its own pages, and what the host does not support, in C++.
#include <gtest/gtest.h>

#include <cstring>
#include <unistd.h>
#include <vector>

#include "ferrum_mem.hpp"

namespace {

constexpr std::uint64_t page = 64 << 10;

class CppSharing : public ::testing::Test {
  protected:
    ferrum::vpool pool(ferrum_backing backing) const {
        ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
        config.capacity_bytes = 4 * page;
        config.page_bytes = page;
        config.backing = backing;
        // No page may be created, because it could get the number of a closed
        // descriptor.
        config.ready_pages = 0;
        return host.create_vpool(config);
    }
    ferrum::library library;
    ferrum::device host = ferrum::device::open("cpu:0");
};

TEST_F(CppSharing, test_imported_pages_are_the_same) {
    ferrum::vpool made = pool(FERRUM_BACKING_SHAREABLE);
    ferrum::manager manager = host.create_manager();
    ferrum_address address = made.alloc(0, 2 * page);
    std::vector<std::int32_t> files = made.export_pages(0, 2 * page);
    ASSERT_EQ(files.size(), 2u);
    ferrum_page_import pages = FERRUM_PAGE_IMPORT_INIT;
    pages.descriptors = files.data();
    pages.count = files.size();
    pages.page_bytes = page;
    {
        ferrum::memory block = manager.import_pages(pages);
        for (std::int32_t file : files)
            close(file);
        block.write(page - 2, "both", 4);
        EXPECT_EQ(
            std::memcmp(reinterpret_cast<const char *>(address) + page - 2,
                        "both", 4),
            0);
    }
    EXPECT_EQ(manager.try_import_pages(pages).status(),
              FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(made.try_export(0, 3 * page).status(), FERRUM_ERROR_NOT_MAPPED);
    made.free(0, 2 * page);
}

TEST_F(CppSharing, test_host_lacks_shared_memory) {
    ferrum::manager manager = host.create_manager();
    ferrum::stream stream = host.create_stream();
    ferrum::event event = stream.record_event();
    ferrum_shared_event shared = FERRUM_SHARED_EVENT_INIT;
    ferrum_shared_memory memory = FERRUM_SHARED_MEMORY_INIT;
    for (ferrum_status status :
         {host.try_native().status(), stream.try_native().status(),
          event.try_native().status(), host.try_share_memory(4096, 8).status(),
          stream.try_share_event().status(),
          host.try_open_event(shared).status(),
          host.try_adopt_event(5).status(),
          manager.try_import_memory(memory).status()})
        EXPECT_EQ(status, FERRUM_ERROR_UNSUPPORTED);
    EXPECT_EQ(host.try_grant_peer(host).status(),
              FERRUM_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ferrum::device::try_open_native("cpu:0", 5).status(),
              FERRUM_ERROR_ALREADY_EXISTS);
}

} // namespace
