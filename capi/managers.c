/* Managers whose configuration points to configurations of pools. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

/* The number of entries of ferrum_manager_config.pool_configs. */
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
