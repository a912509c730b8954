/*
 * A pass of the program. It replaces the exact Gelu of a model by the faster
 * approximation with tanh, and runs after a pass of the library.
 *
 *   cc own_pass.c $(pkg-config --cflags --libs ferrum_mem) -o own_pass
 */
#include <ferrum_mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If a call failed, prints the error message of the library and exits. */
static void check(ferrum_status status) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "%s failed with %s: %s\n", error.function,
            ferrum_status_name(status), error.message);
    exit(1);
}

/* y = Gelu(x) */
static const char definition[] =
    "{\"metadata\":{\"name\":\"gelu\",\"version\":\"1\",\"model_type\":"
    "\"gelu\","
    "\"architecture_family\":\"custom\"},"
    "\"architecture\":{\"name\":\"gelu\",\"dimensions\":{\"vocab_size\":1,"
    "\"hidden_size\":4,\"num_layers\":1,\"num_heads\":1,"
    "\"max_sequence_length\":1}},"
    "\"parameters\":[],\"layers\":["
    "{\"name\":\"x\",\"layer_type\":\"Input\",\"inputs\":[],\"parameters\":[],"
    "\"outputs\":[{\"name\":\"x\",\"shape\":[-1,4],\"dtype\":\"f32\"}]},"
    "{\"name\":\"y\",\"layer_type\":\"Gelu\",\"parameters\":[],"
    "\"config\":{\"approximate\":\"none\"},"
    "\"inputs\":[{\"name\":\"in\",\"shape\":[-1,4],\"dtype\":\"f32\"}],"
    "\"outputs\":[{\"name\":\"y\",\"shape\":[-1,4],\"dtype\":\"f32\"}]}],"
    "\"graph\":{\"inputs\":[\"x\"],\"outputs\":[\"y\"],"
    "\"edges\":[{\"source\":\"x\",\"target\":\"y\"}],\"nodes\":["
    "{\"id\":\"x\",\"layer_name\":\"x\",\"metadata\":{\"dims\":[\"batch\",\"\"]"
    "}},"
    "{\"id\":\"y\",\"layer_name\":\"y\"}]}}";

static const char exact[] = "\"approximate\":\"none\"";
static const char fast[] = "\"approximate\":\"tanh\"";

static ferrum_status is_applicable(const ferrum_pass_call *call,
                                   uint32_t *is_applicable_out,
                                   void *user_data) {
    (void)user_data;
    *is_applicable_out = strstr(call->definition_json, exact) != NULL;
    return FERRUM_OK;
}

static ferrum_status apply(const ferrum_pass_call *call, void *user_data) {
    (void)user_data;
    char *changed = malloc(call->definition_bytes + 1);
    if (changed == NULL)
        return FERRUM_ERROR_OUT_OF_MEMORY;
    strcpy(changed, call->definition_json);
    int count = 0;
    for (char *at = changed; (at = strstr(at, exact)) != NULL; count++)
        memcpy(at, fast, strlen(fast)); /* both are of one length */
    char warning[80];
    snprintf(warning, sizeof warning, "%d Gelu approximated", count);
    ferrum_status status = call->warn(call->call, warning);
    if (status == FERRUM_OK)
        status = call->replace(call->call, changed, call->definition_bytes);
    free(changed); /* the library has copied it */
    return status;
}

/* Prints whether a text is in the result. */
static void receive(const char *result_json, uint64_t result_bytes,
                    void *text) {
    (void)result_bytes;
    puts(strstr(result_json, text) != NULL ? (char *)text : "missing");
}

int main(void) {
    const char *dependencies[] = {"fold_constants"};
    ferrum_pass pass = FERRUM_PASS_INIT;
    pass.name = "fast_gelu";
    pass.dependencies = dependencies;
    pass.dependency_count = 1;
    pass.is_applicable = is_applicable;
    pass.apply = apply;
    ferrum_registration registration;
    check(ferrum_init(NULL));
    check(ferrum_pass_register(&pass, &registration));

    /* Without a build, and in a build. */
    const char passes[] = "[\"fold_constants\", \"fast_gelu\"]";
    char wanted[] = "\"warnings\":[\"1 Gelu approximated\"]";
    check(ferrum_definition_optimize(definition, sizeof definition - 1, passes,
                                     sizeof passes - 1, receive, wanted));

    const char options[] = "{\"passes\": [\"fold_constants\", \"fast_gelu\"]}";
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    ferrum_elastic_pool_config limits = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    ferrum_build_request request = FERRUM_BUILD_REQUEST_INIT;
    ferrum_executor executor;
    check(ferrum_device_open("cpu:0", &config.device));
    check(ferrum_compute_open(&config, &request.compute));
    check(ferrum_elastic_pool_create(config.device, &limits,
                                     &request.elastic_pool));
    request.definition_json = definition;
    request.definition_bytes = sizeof definition - 1;
    request.options_json = options;
    request.options_bytes = sizeof options - 1;
    check(ferrum_executor_build(&request, &executor));
    static char text[1 << 14];
    size_t length;
    check(
        ferrum_executor_definition_json(executor, text, sizeof text, &length));
    puts(strstr(text, fast) != NULL ? "built with tanh" : "missing");

    /* The program gives a name that does not exist. */
    const char wrong[] = "[\"fast_gleu\"]";
    if (ferrum_definition_optimize(definition, sizeof definition - 1, wrong,
                                   sizeof wrong - 1, receive,
                                   wanted) == FERRUM_ERROR_NOT_FOUND)
        puts("no pass has this name");

    check(ferrum_executor_destroy(executor, 0));
    check(ferrum_elastic_pool_destroy(request.elastic_pool, 0));
    check(ferrum_compute_close(request.compute, 0));
    check(ferrum_device_close(config.device, 0));
    check(ferrum_registration_remove(registration));
    check(ferrum_shutdown(0));
    return 0;
}
