/* Functions of managers that are more than checks and a call. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

/* Entries of ferrum_manager_config.pool_configs. */
#define FM_POOL_CONFIGS \
    (sizeof((ferrum_manager_config *)0)->pool_configs / sizeof(void *))

ferrum_status ferrum_manager_create(ferrum_device device,
                                    const ferrum_manager_config *config,
                                    ferrum_manager *manager_out) {
    FM_ENTER();
    FM_REQUIRE(manager_out);
    manager_out->id = 0;
    ferrum_manager_config full = FERRUM_MANAGER_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    ferrum_pool_config pools[FM_POOL_CONFIGS];
    for (size_t i = 0; i < FM_POOL_CONFIGS; i++) {
        pools[i] = (ferrum_pool_config)FERRUM_POOL_CONFIG_INIT;
        const ferrum_pool_config *pool_config = full.pool_configs[i];
        if (pool_config == NULL)
            continue;
        FM_STRUCT_IN(pool_config, pools[i]);
        full.pool_configs[i] = &pools[i];
    }
    FM_LOOK();
    FM_RETURN(fmgo_manager_create(device.id, &full, &manager_out->id));
}

ferrum_status
ferrum_manager_defragment(ferrum_manager manager,
                          ferrum_defragmentation_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_defragmentation_stats full = FERRUM_DEFRAGMENTATION_STATS_INIT;
    FM_RETURN_STRUCT(
        fmgo_manager_defragment_within(manager.id, FERRUM_WAIT_FOREVER, &full),
        stats_out, full);
}

ferrum_status ferrum_manager_import_pages(ferrum_manager manager,
                                          const ferrum_page_import *pages,
                                          ferrum_memory *memory_out) {
    FM_ENTER();
    FM_REQUIRE(memory_out);
    memory_out->id = 0;
    FM_REQUIRE(pages);
    ferrum_page_import full = FERRUM_PAGE_IMPORT_INIT;
    FM_STRUCT_IN(pages, full);
    if (full.count > 0 && full.descriptors == NULL)
        return fm_null(__func__, "pages->descriptors");
    FM_RETURN(fmgo_manager_import_pages(manager.id, &full, &memory_out->id));
}
