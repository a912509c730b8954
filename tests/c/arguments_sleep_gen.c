/* Generated from include/ferrum_mem/sleep.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_sleep_config[] = {
    FIELD(ferrum_sleep_config, backing, ENUMERATION, .unknown = {-1, 4097}),
    FIELD(ferrum_sleep_config, tag, TEXT),
    FIELD(ferrum_sleep_config, directory, TEXT),
    FIELD(ferrum_sleep_config, stream, HANDLE, .kind = STREAM,
          .is_optional = 1),
    FIELD(ferrum_sleep_config, timeout_ns, VALUE),
    FIELD(ferrum_sleep_config, num_streams, VALUE),
    FIELD(ferrum_sleep_config, reserved, RESERVED)};
static const ferrum_sleep_config init_ferrum_sleep_config =
    FERRUM_SLEEP_CONFIG_INIT;
static const struct_type type_ferrum_sleep_config = {
    sizeof(ferrum_sleep_config), &init_ferrum_sleep_config,
    fields_ferrum_sleep_config, 7};

static const ferrum_sleep_report init_ferrum_sleep_report =
    FERRUM_SLEEP_REPORT_INIT;
static const struct_type type_ferrum_sleep_report = {
    sizeof(ferrum_sleep_report), &init_ferrum_sleep_report, NULL, 0};

static const struct_field fields_ferrum_wake_config[] = {
    FIELD(ferrum_wake_config, num_streams, VALUE),
    FIELD(ferrum_wake_config, tag, TEXT),
    FIELD(ferrum_wake_config, timeout_ns, VALUE)};
static const ferrum_wake_config init_ferrum_wake_config =
    FERRUM_WAKE_CONFIG_INIT;
static const struct_type type_ferrum_wake_config = {
    sizeof(ferrum_wake_config), &init_ferrum_wake_config,
    fields_ferrum_wake_config, 3};

static const ferrum_wake_report init_ferrum_wake_report =
    FERRUM_WAKE_REPORT_INIT;
static const struct_type type_ferrum_wake_report = {
    sizeof(ferrum_wake_report), &init_ferrum_wake_report, NULL, 0};

static ferrum_status call_vpool_sleep(const argument *a) {
    return ferrum_vpool_sleep((ferrum_vpool){a[0].number}, a[1].pointer,
                              a[2].pointer);
}
static const parameter parameters_vpool_sleep[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_sleep_config,
              .is_optional = 1),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_sleep_report,
              .is_optional = 1)};

static ferrum_status call_vpool_wake(const argument *a) {
    return ferrum_vpool_wake((ferrum_vpool){a[0].number}, a[1].pointer,
                             a[2].pointer);
}
static const parameter parameters_vpool_wake[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_wake_config,
              .is_optional = 1),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_wake_report,
              .is_optional = 1)};

static ferrum_status call_vpool_is_asleep(const argument *a) {
    return ferrum_vpool_is_asleep((ferrum_vpool){a[0].number}, a[1].pointer,
                                  a[2].pointer);
}
static const parameter parameters_vpool_is_asleep[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(tag, TEXT, .is_optional = 1),
    PARAMETER(asleep_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_elastic_pool_sleep_model(const argument *a) {
    return ferrum_elastic_pool_sleep_model((ferrum_elastic_pool){a[0].number},
                                           a[1].pointer, a[2].pointer,
                                           a[3].pointer);
}
static const parameter parameters_elastic_pool_sleep_model[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_sleep_config,
              .is_optional = 1),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_sleep_report,
              .is_optional = 1)};

static ferrum_status call_elastic_pool_wake_model(const argument *a) {
    return ferrum_elastic_pool_wake_model((ferrum_elastic_pool){a[0].number},
                                          a[1].pointer, a[2].pointer,
                                          a[3].pointer);
}
static const parameter parameters_elastic_pool_wake_model[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_wake_config,
              .is_optional = 1),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_wake_report,
              .is_optional = 1)};

static ferrum_status call_elastic_pool_is_model_asleep(const argument *a) {
    return ferrum_elastic_pool_is_model_asleep(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer,
        a[3].pointer);
}
static const parameter parameters_elastic_pool_is_model_asleep[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(tag, TEXT, .is_optional = 1),
    PARAMETER(asleep_out, OUT, .size = sizeof(uint32_t))};

const function arguments_sleep[] = {
    FUNCTION(vpool_sleep, .parameters = parameters_vpool_sleep, .count = 3,
             .waits = 1),
    FUNCTION(vpool_wake, .parameters = parameters_vpool_wake, .count = 3,
             .waits = 1),
    FUNCTION(vpool_is_asleep, .parameters = parameters_vpool_is_asleep,
             .count = 3),
    FUNCTION(elastic_pool_sleep_model,
             .parameters = parameters_elastic_pool_sleep_model, .count = 4,
             .waits = 1),
    FUNCTION(elastic_pool_wake_model,
             .parameters = parameters_elastic_pool_wake_model, .count = 4,
             .waits = 1),
    FUNCTION(elastic_pool_is_model_asleep,
             .parameters = parameters_elastic_pool_is_model_asleep, .count = 4),
    {.name = NULL}};
