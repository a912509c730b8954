/*
 * Multiplies two matrices. It opens the CPU backend, makes tensors around
 * arrays of the program, runs MatMul, and prints the product.
 *
 *   cc matmul.c $(pkg-config --cflags --libs ferrum_mem) -o matmul
 */
#include <ferrum_mem.h>

#include <stdio.h>
#include <stdlib.h>

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

/* The library calls it when it no longer uses an array. */
static void released(void *array) { printf("released %s\n", (char *)array); }

static ferrum_tensor matrix(ferrum_device device, float *values, int64_t rows,
                            int64_t columns, char *name) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_F32;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.rank = 2;
    desc.shape[0] = rows;
    desc.shape[1] = columns;
    ferrum_tensor tensor;
    check(ferrum_tensor_wrap(device, (ferrum_address)(uintptr_t)values,
                             (uint64_t)(rows * columns) * sizeof *values, &desc,
                             released, name, &tensor));
    return tensor;
}

int main(void) {
    static float a[2][3] = {{1, 2, 3}, {4, 5, 6}};
    static float b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    static char names[2][2] = {"a", "b"};
    float product[2][2];
    ferrum_device device;
    check(ferrum_init(NULL));
    check(ferrum_device_open("cpu:0", &device));

    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    ferrum_compute compute;
    ferrum_op matmul;
    check(ferrum_compute_open(&config, &compute));
    check(ferrum_op_prepare(compute, "MatMul", "", 0, 0, &matmul));

    ferrum_tensor inputs[] = {matrix(device, a[0], 2, 3, names[0]),
                              matrix(device, b[0], 3, 2, names[1])};
    ferrum_tensor output = {0}; /* the library makes it */
    ferrum_stream stream = {0}; /* the default stream of the device */
    check(ferrum_op_run(matmul, inputs, 2, &output, 1, stream));
    check(ferrum_tensor_read(output, product, sizeof product, stream));
    for (int row = 0; row < 2; row++)
        printf("%g %g\n", product[row][0], product[row][1]);

    check(ferrum_tensor_destroy(output));
    check(ferrum_tensor_destroy(inputs[0]));
    check(ferrum_tensor_destroy(inputs[1]));
    check(ferrum_op_destroy(matmul));
    check(ferrum_compute_close(compute, 0));
    check(ferrum_device_close(device, 0));
    check(ferrum_shutdown(0));
    return 0;
}
