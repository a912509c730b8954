/*
 * Thread caches: the records of leased blocks, and the table that finds them by
 * address.
 *
 * Readers take no lock. An entry keeps its place while its block is leased. The
 * entries between a block's first place and its actual place never become empty.
 * So a search for a leased block always finds it. Growing moves everything, with
 * the threads stopped.
 */
#include <string.h>
#include <sys/mman.h>

#include "parts.h"

/* The number of entries of a table is a power of two, or 1.25, 1.5 or 1.75
 * times that. With powers of two alone, a table can be twice as large as
 * necessary, with two more entries for each block. */
#define FM_TABLE_MIN 512
#define FM_TABLE_MAX (UINT32_C(1) << 24)

/* The number of records in one cache line. */
#define FM_RUN 4

/* So many blocks have a cache line each for their records, so that threads
 * that use few blocks do not slow each other down. Further records share
 * lines, because they would take too much memory otherwise. With many more
 * blocks than that, threads seldom meet in a line, and the first records share
 * their lines too. */
#define FM_ALONE 4096
#define FM_ALONE_UNTIL (8 * FM_ALONE)

/* Records and tables use mmap, because their pages return to the system when
 * they are freed. malloc would keep the memory of the smaller arrays, which is
 * as much again. The pages are zero. */
static void *fm_pages_get(size_t bytes) {
    /* With one flag more than the Go runtime's own requests, which have a
     * reserve. */
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* While the system unmaps pages, no other thread of the process can map any.
 * So at most this many bytes are unmapped at a time. */
#define FM_UNMAP_BYTES ((size_t)8 << 20)

static void fm_pages_free(void *pages, size_t bytes) {
    for (size_t at = 0; pages != NULL && at < bytes; at += FM_UNMAP_BYTES)
        munmap((char *)pages + at,
               bytes - at < FM_UNMAP_BYTES ? bytes - at : FM_UNMAP_BYTES);
}

/* Three of four entries of the table may be used. While the table is small,
 * only half as many may be used, so that the first entry that is read is
 * usually the right one. */
#define FM_TABLE_SMALL 16384

static uint32_t fm_table_bound(uint64_t size) {
    return (uint32_t)(size <= FM_TABLE_SMALL ? size / 8 * 3 : size / 4 * 3);
}

static uint32_t fm_table_after(const struct fm_cache *cache, uint32_t at) {
    return at + 1 == cache->table_size ? 0 : at + 1;
}

static uint32_t fm_table_before(const struct fm_cache *cache, uint32_t at) {
    return (at == 0 ? (uint32_t)cache->table_size : at) - 1;
}

static uint32_t fm_table_entry(const struct fm_cache *cache, uint32_t at) {
    return atomic_load_explicit(&cache->table[at], memory_order_relaxed);
}

static void fm_table_place(struct fm_cache *cache, uint64_t address,
                           uint32_t index) {
    uint64_t hash = fm_hash(address);
    uint32_t at = (uint32_t)fm_table_home(cache, hash);
    uint32_t entry;
    while ((entry = fm_table_entry(cache, at)) != 0 && entry != FM_ENTRY_GONE)
        at = fm_table_after(cache, at);
    cache->entries += entry == 0;
    uint32_t mark = (uint32_t)hash & ~FM_INDEX_MASK;
    atomic_store_explicit(&cache->table[at], mark | index,
                          memory_order_release);
}

/* Makes room for as many records as the table may have blocks. The array
 * moves, so the threads are stopped. */
static bool fm_records_grow(struct fm_cache *cache, uint32_t leased) {
    uint32_t alone = leased < FM_ALONE ? leased : FM_ALONE;
    uint32_t records = FM_RUN + leased + (FM_RUN - 1) * alone;
    if (records <= cache->records)
        return true;
    records = (records + FM_RUN - 1) / FM_RUN * FM_RUN;
    struct fm_block *blocks = fm_pages_get(records * sizeof *blocks);
    if (blocks == NULL)
        return false;
    /* Record 0 and the others in its line are never used. */
    if (cache->records == 0)
        cache->fresh = FM_RUN, cache->squeezed = FM_RUN;
    else
        memcpy(blocks, cache->blocks, cache->fresh * sizeof *blocks);
    fm_pages_free(cache->blocks, cache->records * sizeof *blocks);
    cache->blocks = blocks;
    cache->records = records;
    return true;
}

/* Replaces the table by one with size entries, without the entries of blocks
 * that were removed. */
static bool fm_table_rebuild(struct fm_cache *cache, uint32_t size) {
    _Atomic uint32_t *table = fm_pages_get(size * sizeof *table);
    if (table == NULL)
        return false;
    fm_stop_begin();
    bool grown = fm_records_grow(cache, fm_table_bound(size));
    if (grown) {
        fm_pages_free((void *)cache->table, cache->table_size * sizeof *table);
        cache->table = table;
        cache->table_size = size;
        cache->entries = 0;
        for (uint32_t i = 1; i < cache->fresh; i++)
            if (fm_is_block(fm_address(cache, i)))
                fm_table_place(cache, fm_address(cache, i), i);
    }
    fm_stop_end();
    if (!grown)
        fm_pages_free((void *)table, size * sizeof *table);
    return grown;
}

/* The smallest size for so many blocks; 0 if no table can have so many. */
static uint32_t fm_table_size_for(uint64_t blocks) {
    for (uint32_t power = FM_TABLE_MIN; power <= FM_TABLE_MAX; power *= 2)
        for (uint32_t quarters = 4; quarters < 8; quarters++) {
            uint32_t size = power / 4 * quarters;
            if (fm_table_bound(size) >= blocks)
                return size <= FM_TABLE_MAX ? size : 0;
        }
    return 0;
}

bool fm_table_reserve(struct fm_cache *cache, uint32_t count) {
    uint64_t wanted = (uint64_t)cache->leased + cache->promised + count;
    uint64_t used = (uint64_t)cache->entries + cache->promised + count;
    if (used <= fm_table_bound(cache->table_size))
        return true;
    /* Room for an eighth more, so that the table is not full again at once. */
    uint32_t size = fm_table_size_for(wanted + wanted / 8);
    return size != 0 && fm_table_rebuild(cache, size);
}

/* A late thread that still reads the record finds no block in it. It may write
 * the meta, but not the address, which names the next record. */
static void fm_record_drop(struct fm_cache *cache, uint32_t index) {
    atomic_store_explicit(&cache->blocks[index].address,
                          FM_ADDRESS_NONE | cache->dropped,
                          memory_order_relaxed);
    fm_meta_set(cache, index, FM_HOLDER_NOBODY);
    cache->dropped = index;
    cache->dropped_count++;
}

/* The number of dropped records for which the threads are stopped. */
#define FM_DROPPED_MANY 1024

/* Makes the dropped records available again. A thread that has found a record
 * by its block may still write the meta for that block. After the threads were
 * stopped, it has done so. */
static void fm_records_settle(struct fm_cache *cache) {
    fm_stop_begin();
    fm_stop_end();
    cache->spare = cache->dropped;
    cache->dropped = cache->dropped_count = 0;
}

/* Takes a record that is kept for another lane. There is one if no other
 * record is left and there is room for a block. */
static uint32_t fm_record_steal(struct fm_cache *cache) {
    struct fm_store *lane = cache->stores;
    while (lane->run_left == 0)
        lane = lane->next_of_all;
    return lane->run_first + --lane->run_left;
}

/* Chooses a record: one of the lane's run, one that is available again, or the
 * first of a new run. */
static uint32_t fm_record_take(struct fm_cache *cache, struct fm_store *lane) {
    if (lane != NULL && lane->run_left > 0) {
        lane->run_left--;
        return lane->run_first++;
    }
    if (cache->spare == 0 &&
        (cache->dropped_count >= FM_DROPPED_MANY ||
         (cache->dropped != 0 && cache->fresh == cache->records)))
        fm_records_settle(cache);
    if (cache->spare != 0) {
        uint32_t index = cache->spare;
        cache->spare = (uint32_t)fm_address(cache, index);
        return index;
    }
    if (cache->fresh > FM_ALONE_UNTIL &&
        cache->squeezed < FM_ALONE * FM_RUN - 1) {
        cache->squeezed += 1 + ((cache->squeezed + 1) % FM_RUN == 0);
        return cache->squeezed;
    }
    if (cache->fresh == cache->records)
        return fm_record_steal(cache);
    uint32_t index = cache->fresh;
    bool alone = index < FM_ALONE * FM_RUN;
    uint32_t count =
        alone || (lane != NULL && index % FM_RUN == 0) ? FM_RUN : 1;
    /* There is room for whole runs. */
    for (; count > 0; count--)
        atomic_store_explicit(&cache->blocks[cache->fresh++].address, 0,
                              memory_order_relaxed);
    if (!alone && lane != NULL) {
        lane->run_first = index + 1;
        lane->run_left = cache->fresh - index - 1;
    }
    return index;
}

void fm_table_end_run(struct fm_store *lane) {
    for (; lane->run_left > 0; lane->run_left--)
        fm_record_drop(lane->cache, lane->run_first++);
}

uint32_t fm_table_enter(struct fm_cache *cache, uint64_t address, uint64_t meta,
                        struct fm_store *lane) {
    uint32_t index = fm_record_take(cache, lane);
    struct fm_block *block = &cache->blocks[index];
    atomic_store_explicit(&block->meta, meta, memory_order_relaxed);
    atomic_store_explicit(&block->address, address, memory_order_relaxed);
    fm_table_place(cache, address, index);
    cache->leased++;
    return index;
}

/* Makes an entry empty, if the entry after it is empty, and also the unused
 * entries before it, which were kept only because of an entry behind them. */
static void fm_table_clear(struct fm_cache *cache, uint32_t at) {
    _Atomic uint32_t *table = cache->table;
    atomic_store_explicit(&table[at], FM_ENTRY_GONE, memory_order_relaxed);
    if (fm_table_entry(cache, fm_table_after(cache, at)) != 0)
        return;
    for (; fm_table_entry(cache, at) == FM_ENTRY_GONE;
         at = fm_table_before(cache, at)) {
        atomic_store_explicit(&table[at], 0, memory_order_relaxed);
        cache->entries--;
    }
}

void fm_table_remove(struct fm_cache *cache, uint32_t index) {
    struct fm_block *block = &cache->blocks[index];
    uint64_t hash =
        fm_hash(atomic_load_explicit(&block->address, memory_order_relaxed));
    uint32_t at = (uint32_t)fm_table_home(cache, hash);
    while ((fm_table_entry(cache, at) & FM_INDEX_MASK) != index)
        at = fm_table_after(cache, at);
    fm_table_clear(cache, at);
    fm_record_drop(cache, index);
    cache->leased--;
}

void fm_table_free(struct fm_cache *cache) {
    fm_pages_free((void *)cache->table,
                  cache->table_size * sizeof *cache->table);
    fm_pages_free(cache->blocks, cache->records * sizeof *cache->blocks);
}
