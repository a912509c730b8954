/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_manager.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_MANAGER_HPP
#define FERRUM_MEM_CALLS_MANAGER_HPP

#include "../memory.hpp"
#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_manager, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class manager_calls {
  public:
    /**
     * Sets the pool settings of a memory type from now on. Live blocks of the
     * type stay in their pool until they are freed. New blocks come from a pool
     * with the new settings.
     */
    result<done> try_configure_pool(ferrum_memory_type memory_type,
                                    const ferrum_pool_config &config) const {
        return detail::outcome(
            ferrum_manager_configure_pool(handle(), memory_type, &config));
    }
    void configure_pool(ferrum_memory_type memory_type,
                        const ferrum_pool_config &config) const {
        try_configure_pool(memory_type, config).value();
    }

    /** Returns the counters of a manager: the sum over its pools. */
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics statistics_out = FERRUM_STATISTICS_INIT;
        const ferrum_status status =
            ferrum_manager_get_statistics(handle(), &statistics_out);
        return detail::outcome(status, statistics_out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }

    /** Allocates a block of type FERRUM_MEMORY_GENERAL. */
    result<memory> try_alloc(std::uint64_t size_bytes) const {
        ferrum_memory memory_out{};
        const ferrum_status status =
            ferrum_manager_alloc(handle(), size_bytes, &memory_out);
        return detail::made<memory>(status, memory_out);
    }
    memory alloc(std::uint64_t size_bytes) const {
        return try_alloc(size_bytes).value();
    }

    /** Allocates a block as described by the request. */
    result<memory>
    try_alloc_with(const ferrum_allocation_request &request) const {
        ferrum_memory memory_out{};
        const ferrum_status status =
            ferrum_manager_alloc_with(handle(), &request, &memory_out);
        return detail::made<memory>(status, memory_out);
    }
    memory alloc_with(const ferrum_allocation_request &request) const {
        return try_alloc_with(request).value();
    }

    /**
     * Moves blocks so that pages become free (segments, in segmented pools). It
     * starts with the pages that cost least, and releases unused memory of the
     * manager's pools to the system. It moves only blocks with
     * FERRUM_ALLOCATE_RELOCATABLE that are not pinned, not mapped, and were not
     * used on a stream with queued work. A move changes the address of a block;
     * its handle, contents, tag and age stay. No pool grows for it.
     */
    result<ferrum_defragmentation_stats> try_defragment() const {
        ferrum_defragmentation_stats stats_out =
            FERRUM_DEFRAGMENTATION_STATS_INIT;
        const ferrum_status status =
            ferrum_manager_defragment(handle(), &stats_out);
        return detail::outcome(status, stats_out);
    }
    ferrum_defragmentation_stats defragment() const {
        return try_defragment().value();
    }

    /**
     * The same as ferrum_manager_defragment, within a time budget. After the
     * budget ends, the call starts no further move and gives up a running move
     * at the next 8 MiB of its copy. The call releases unused memory in any
     * case. A second call for the same manager waits for the first one, within
     * its own budget.
     */
    result<ferrum_defragmentation_stats>
    try_defragment_within(std::chrono::nanoseconds budget) const {
        ferrum_defragmentation_stats stats_out =
            FERRUM_DEFRAGMENTATION_STATS_INIT;
        const ferrum_status status = ferrum_manager_defragment_within(
            handle(), detail::nanoseconds(budget), &stats_out);
        return detail::outcome(status, stats_out);
    }
    ferrum_defragmentation_stats
    defragment_within(std::chrono::nanoseconds budget) const {
        return try_defragment_within(budget).value();
    }

    /**
     * Allocates two blocks of FERRUM_MEMORY_MAPPED, for managers of two
     * devices, that are the same memory. What one device writes, the other
     * reads; streams and events give the order. The counters of the first
     * manager contain the memory. It is released to the first manager when both
     * blocks are freed, in either order. Destroying the first manager with
     * FERRUM_FORCE ends both blocks. The pair holds first and second.
     */
    result<std::pair<memory, memory>>
    try_create_mapping(ferrum_manager second,
                       const ferrum_link_request &request) const {
        ferrum_memory first_out{};
        ferrum_memory second_out{};
        const ferrum_status status = ferrum_manager_create_mapping(
            handle(), second, &request, &first_out, &second_out);
        return detail::made<std::pair<memory, memory>>(status, first_out,
                                                       second_out);
    }
    std::pair<memory, memory>
    create_mapping(ferrum_manager second,
                   const ferrum_link_request &request) const {
        return try_create_mapping(second, request).value();
    }

    /**
     * Gives a handle to external memory. The block is used like any other block
     * and counts as live. It is in the counters of no pool, and it is never
     * moved or freed: ferrum_memory_free only ends the handle, and returns
     * FERRUM_ERROR_BUSY while queued work uses the block. The memory must stay
     * valid until then. Destroying the manager with FERRUM_FORCE waits for that
     * work.
     */
    result<memory> try_adopt(const ferrum_adoption &adoption) const {
        ferrum_memory memory_out{};
        const ferrum_status status =
            ferrum_manager_adopt(handle(), &adoption, &memory_out);
        return detail::made<memory>(status, memory_out);
    }
    memory adopt(const ferrum_adoption &adoption) const {
        return try_adopt(adoption).value();
    }

    /**
     * Maps pages of another process, or of this one, as a readable and writable
     * block at an address of the manager's device
     * (ferrum_memory_get_handle_info). The block is used like any other block
     * and counts as adopted memory. ferrum_memory_free ends it, and returns
     * FERRUM_ERROR_BUSY while queued work uses it. One descriptor or handle can
     * be imported several times. Only the process that created the pages can
     * export them.
     */
    result<memory> try_import_pages(const ferrum_page_import &pages) const {
        ferrum_memory memory_out{};
        const ferrum_status status =
            ferrum_manager_import_pages(handle(), &pages, &memory_out);
        return detail::made<memory>(status, memory_out);
    }
    memory import_pages(const ferrum_page_import &pages) const {
        return try_import_pages(pages).value();
    }

    /**
     * Opens memory that another process shared, as a block. The block is used
     * like any other block and counts as adopted memory. ferrum_memory_free
     * ends it, and returns FERRUM_ERROR_BUSY while queued work uses it.
     */
    result<memory> try_import_memory(const ferrum_shared_memory &shared,
                                     detail::c_text tag = nullptr) const {
        ferrum_memory memory_out{};
        const ferrum_status status = ferrum_manager_import_memory(
            handle(), &shared, tag.data(), &memory_out);
        return detail::made<memory>(status, memory_out);
    }
    memory import_memory(const ferrum_shared_memory &shared,
                         detail::c_text tag = nullptr) const {
        return try_import_memory(shared, tag).value();
    }

  private:
    ferrum_manager handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_MANAGER_HPP */
