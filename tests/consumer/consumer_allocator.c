/*
 * A program that uses the installed allocator for PyTorch and CuPy. It links
 * with the allocator, and also loads it by its path, as the frameworks do.
 *
 *   consumer_allocator PATH
 *
 * Needs a CUDA driver with a device.
 */
#include <dlfcn.h>
#include <stdio.h>

#include <ferrum_mem_allocator.h>

static const char *const names[] = {
    "ferrum_torch_alloc",
    "ferrum_torch_free",
    "ferrum_torch_reset",
    "ferrum_torch_record_stream",
    "ferrum_torch_begin_graph",
    "ferrum_torch_end_graph",
    "ferrum_torch_release_graphs",
    "ferrum_cupy_malloc",
    "ferrum_cupy_free",
    "ferrum_allocator_pool",
    "ferrum_allocator_trim",
};

static int failed(const char *what) {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    (void)ferrum_last_error(&error);
    fprintf(stderr, "%s: %s: %s\n", what, ferrum_status_name(error.status),
            error.message);
    return 1;
}

static int has_all_names(const char *path) {
    void *library = dlopen(path, RTLD_LAZY);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (dlsym(library, names[i]) == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 0;
        }
    return dlsym(library, "ferrum_allocator_trim") ==
           dlsym(RTLD_DEFAULT, "ferrum_allocator_trim");
}

int main(int count, char **arguments) {
    const size_t size = 1 << 20;
    ferrum_pool pool = {0};
    uint64_t released = 0;
    if (count != 2 || !has_all_names(arguments[1])) {
        fprintf(stderr, "the allocator is not whole\n");
        return 1;
    }
    void *torch = ferrum_torch_alloc((ptrdiff_t)size, 0, NULL);
    void *cupy = ferrum_cupy_malloc(NULL, size, 0);
    if (torch == NULL || cupy == NULL || torch == cupy) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    ferrum_torch_free(torch, (ptrdiff_t)size, 0, NULL);
    ferrum_cupy_free(NULL, cupy, 0);
    if (ferrum_allocator_pool(0, &pool) != FERRUM_OK || pool.id == 0)
        return failed("ferrum_allocator_pool");
    if (ferrum_allocator_trim(0, &released) != FERRUM_OK)
        return failed("ferrum_allocator_trim");
    printf("consumer_allocator: two blocks came and went\n");
    return 0;
}
