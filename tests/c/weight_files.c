#include "weight_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

void weight_file_write(const char *path, uint64_t big_bytes) {
    char header[512];
    int length = snprintf(
        header, sizeof header,
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"b\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[24,40]},"
        "\"big\":{\"dtype\":\"U8\",\"shape\":[%llu],"
        "\"data_offsets\":[40,%llu]}}",
        (unsigned long long)big_bytes, (unsigned long long)big_bytes + 40);
    while (length % 8 != 0)
        header[length++] = ' ';
    const uint64_t size = (uint64_t)length;
    const float a[6] = {0, 1, 2, 3, 4, 5};
    const int64_t b[2] = {7, -8};
    unsigned char *big = malloc(big_bytes + 1);
    for (uint64_t i = 0; i < big_bytes; i++)
        big[i] = (unsigned char)(i % 251);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(&size, sizeof size, 1, file) != 1 ||
        fwrite(header, size, 1, file) != 1 ||
        fwrite(a, sizeof a, 1, file) != 1 ||
        fwrite(b, sizeof b, 1, file) != 1 ||
        fwrite(big, 1, big_bytes, file) != big_bytes || fclose(file) != 0) {
        perror(path);
        exit(70);
    }
    free(big);
}

int weight_folder_make(char folder[64], char file[96], uint64_t big_bytes) {
    strcpy(folder, "/tmp/ferrum-test-weights-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(file, 96, "%s/model.safetensors", folder);
    weight_file_write(file, big_bytes);
    return 0;
}

int weight_folder_end(const char *folder, const char *file) {
    remove(file);
    return rmdir(folder);
}

ferrum_weights weight_file_open(const char *path) {
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    source.path = path;
    ferrum_weights weights;
    MUST(ferrum_weights_open(&source, &weights));
    return weights;
}

ferrum_status weight_file_load(ferrum_weights weights, ferrum_pool pool,
                               const char *order, ferrum_tensor_set *set_out) {
    ferrum_weights_memory memory = {0};
    memory.pool = pool;
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.memories = &memory;
    request.memory_count = 1;
    request.specs_json = order;
    request.specs_bytes = order == NULL ? 0 : strlen(order);
    return ferrum_weights_load(weights, &request, set_out);
}

int weight_leaks(const char *kind) {
    static char text[1 << 16];
    char wanted[64];
    size_t length;
    MUST(ferrum_leak_report_json(text, sizeof text, &length));
    snprintf(wanted, sizeof wanted, "\"kind\":\"%s\"", kind);
    int found = 0;
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++)
        found++;
    return found;
}
