/* Generated from include/ferrum_mem/sleep.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_vpool_sleep(ferrum_vpool vpool,
                                 const ferrum_sleep_config *config,
                                 ferrum_sleep_report *report_out) {
    FM_ENTER();
    if (report_out != NULL)
        FM_STRUCT_OUT(report_out);
    ferrum_sleep_config config_full = FERRUM_SLEEP_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_sleep_report report_full = FERRUM_SLEEP_REPORT_INIT;
    ferrum_status status =
        fmgo_vpool_sleep(vpool.id, &config_full, &report_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (report_out != NULL)
        fm_struct_give(report_out, &report_full, sizeof report_full);
    return FERRUM_OK;
}

ferrum_status ferrum_vpool_wake(ferrum_vpool vpool,
                                const ferrum_wake_config *config,
                                ferrum_wake_report *report_out) {
    FM_ENTER();
    if (report_out != NULL)
        FM_STRUCT_OUT(report_out);
    ferrum_wake_config config_full = FERRUM_WAKE_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_wake_report report_full = FERRUM_WAKE_REPORT_INIT;
    ferrum_status status =
        fmgo_vpool_wake(vpool.id, &config_full, &report_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (report_out != NULL)
        fm_struct_give(report_out, &report_full, sizeof report_full);
    return FERRUM_OK;
}

ferrum_status ferrum_vpool_is_asleep(ferrum_vpool vpool, const char *tag,
                                     uint32_t *asleep_out) {
    FM_ENTER();
    FM_REQUIRE(asleep_out);
    *asleep_out = 0;
    FM_RETURN(fmgo_vpool_is_asleep(vpool.id, (char *)tag, asleep_out));
}

ferrum_status ferrum_elastic_pool_sleep_model(ferrum_elastic_pool pool,
                                              const char *model,
                                              const ferrum_sleep_config *config,
                                              ferrum_sleep_report *report_out) {
    FM_ENTER();
    if (report_out != NULL)
        FM_STRUCT_OUT(report_out);
    FM_REQUIRE(model);
    ferrum_sleep_config config_full = FERRUM_SLEEP_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_sleep_report report_full = FERRUM_SLEEP_REPORT_INIT;
    ferrum_status status = fmgo_elastic_pool_sleep_model(
        pool.id, (char *)model, &config_full, &report_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (report_out != NULL)
        fm_struct_give(report_out, &report_full, sizeof report_full);
    return FERRUM_OK;
}

ferrum_status ferrum_elastic_pool_wake_model(ferrum_elastic_pool pool,
                                             const char *model,
                                             const ferrum_wake_config *config,
                                             ferrum_wake_report *report_out) {
    FM_ENTER();
    if (report_out != NULL)
        FM_STRUCT_OUT(report_out);
    FM_REQUIRE(model);
    ferrum_wake_config config_full = FERRUM_WAKE_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_wake_report report_full = FERRUM_WAKE_REPORT_INIT;
    ferrum_status status = fmgo_elastic_pool_wake_model(
        pool.id, (char *)model, &config_full, &report_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (report_out != NULL)
        fm_struct_give(report_out, &report_full, sizeof report_full);
    return FERRUM_OK;
}

ferrum_status ferrum_elastic_pool_is_model_asleep(ferrum_elastic_pool pool,
                                                  const char *model,
                                                  const char *tag,
                                                  uint32_t *asleep_out) {
    FM_ENTER();
    FM_REQUIRE(asleep_out);
    *asleep_out = 0;
    FM_REQUIRE(model);
    FM_RETURN(fmgo_elastic_pool_is_model_asleep(pool.id, (char *)model,
                                                (char *)tag, asleep_out));
}
