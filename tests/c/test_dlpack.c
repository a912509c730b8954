/*
 * The header's promises about DLPack. The structs are declared here as a
 * program has them from dlpack.h. An export is a view of the memory until its
 * deleter is called, on any thread and at any time; an import owns the struct
 * and calls its deleter once, or never after an error.
 */
#include "asserts.h"
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

static fixture f;
static atomic_int deleted;

static int set_up(void **state) {
    (void)state;
    atomic_store(&deleted, 0);
    fixture_make(&f);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static ferrum_tensor make(ferrum_pool pool, ferrum_dtype dtype) {
    ferrum_weights_memory memory = {.pool = pool};
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_create(&memory, dtype, (int64_t[]){2, 3}, 2,
                                   default_stream, &tensor));
    return tensor;
}

static ferrum_dlpack exported(ferrum_tensor tensor, uint32_t versioned) {
    ferrum_dlpack dlpack = FERRUM_DLPACK_INIT;
    assert_ok(ferrum_tensor_to_dlpack(tensor, versioned, &dlpack));
    assert_int_equal(dlpack.is_versioned, versioned);
    assert_non_null(dlpack.managed);
    return dlpack;
}

static DLTensor *content(const ferrum_dlpack *dlpack) {
    return dlpack->is_versioned
               ? &((DLManagedTensorVersioned *)dlpack->managed)->dl_tensor
               : &((DLManagedTensor *)dlpack->managed)->dl_tensor;
}

static void delete(const ferrum_dlpack *dlpack) {
    DLManagedTensor *old = dlpack->managed;
    DLManagedTensorVersioned *new = dlpack->managed;
    if (dlpack->is_versioned)
        new->deleter(new);
    else
        old->deleter(old);
}

static void *delete_there(void *dlpack) {
    delete(dlpack);
    return NULL;
}

static void test_exports(void **state) {
    (void)state;
    static const float six[] = {0, 1, 2, 3, 4, 5};
    for (uint32_t versioned = 0; versioned < 2; versioned++) {
        ferrum_pool pool;
        assert_ok(ferrum_pool_create(f.device, NULL, &pool));
        ferrum_tensor tensor = make(pool, FERRUM_DTYPE_F32), turned, part;
        assert_ok(ferrum_tensor_write(tensor, six, sizeof six, default_stream));
        assert_ok(ferrum_tensor_permute(tensor, (int32_t[]){1, 0}, 2, &turned));
        assert_ok(ferrum_tensor_narrow(turned, 0, 1, 2, &part));
        ferrum_dlpack dlpack = exported(part, versioned);
        const ferrum_tensor all[] = {tensor, turned, part};
        for (int i = 0; i < 3; i++)
            assert_ok(ferrum_tensor_destroy(all[i]));
        const DLTensor *found = content(&dlpack);
        assert_int_equal(found->device_type, 1);
        assert_int_equal(found->device_id, 0);
        assert_int_equal(found->ndim, 2);
        assert_int_equal(found->code, 2);
        assert_int_equal(found->bits, 32);
        assert_int_equal(found->lanes, 1);
        assert_int_equal(found->byte_offset, 0);
        assert_int_equal(found->shape[0], 2);
        assert_int_equal(found->shape[1], 2);
        assert_int_equal(found->strides[0], 1);
        assert_int_equal(found->strides[1], 3);
        assert_true(*(float *)found->data == 1);
        if (versioned) {
            const DLManagedTensorVersioned *managed = dlpack.managed;
            assert_int_equal(managed->major, 1);
            assert_int_equal(managed->flags, 0);
        }
        assert_status(ferrum_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
        char *report = text_of(ferrum_leak_report_json);
        assert_non_null(strstr(report, "exported to DLPack"));
        free(report);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, delete_there, &dlpack),
                         0);
        pthread_join(thread, NULL);
        assert_ok(ferrum_pool_destroy(pool, 0));
    }
}

static void test_what_is_not_exported(void **state) {
    (void)state;
    ferrum_dlpack dlpack = FERRUM_DLPACK_INIT;
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_Q8_0, (int64_t[]){32},
                                   1, default_stream, &tensor));
    assert_status(ferrum_tensor_to_dlpack(tensor, 1, &dlpack),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_message("q8_0");
    assert_null(dlpack.managed);
    assert_ok(ferrum_tensor_destroy(tensor));
}

/* An import that counts the calls of its deleter. */
typedef struct {
    DLManagedTensorVersioned managed;
    float values[8];
    int64_t shape[9], strides[9];
} foreign;

static void count_deletion(DLManagedTensorVersioned *managed) {
    assert_true(managed->manager_ctx == managed);
    atomic_fetch_add(&deleted, 1);
}

static ferrum_dlpack foreign_make(foreign *of) {
    *of = (foreign){.managed = {.major = 1,
                                .minor = 3,
                                .deleter = count_deletion,
                                .dl_tensor = {.device_type = 1,
                                              .ndim = 2,
                                              .code = 2,
                                              .bits = 32,
                                              .lanes = 1}},
                    .values = {0, 1, 2, 3, 4, 5, 6, 7},
                    .shape = {2, 3},
                    .strides = {4, 1}};
    of->managed.manager_ctx = &of->managed;
    of->managed.dl_tensor.data = of->values;
    of->managed.dl_tensor.byte_offset = 4;
    of->managed.dl_tensor.shape = of->shape;
    of->managed.dl_tensor.strides = of->strides;
    ferrum_dlpack dlpack = FERRUM_DLPACK_INIT;
    dlpack.is_versioned = 1;
    dlpack.managed = &of->managed;
    return dlpack;
}

static void test_imports(void **state) {
    (void)state;
    foreign of;
    ferrum_dlpack dlpack = foreign_make(&of);
    ferrum_tensor tensor, view;
    float got[6];
    assert_ok(ferrum_tensor_from_dlpack((ferrum_device){0}, &dlpack, &tensor));
    assert_ok(ferrum_tensor_read(tensor, got, sizeof got, default_stream));
    assert_memory_equal(got, ((float[]){1, 2, 3, 5, 6, 7}), sizeof got);
    assert_ok(ferrum_tensor_narrow(tensor, 0, 0, 1, &view));
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(atomic_load(&deleted), 0);
    assert_ok(ferrum_tensor_fill(view, 9, f.stream));
    assert_ok(ferrum_tensor_destroy(view));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_int_equal(atomic_load(&deleted), 1);
    assert_true(of.values[1] == 9 && of.values[4] == 4);

    /* Read-only, without strides, backwards, on a named device. */
    dlpack = foreign_make(&of);
    of.managed.flags = 1;
    of.managed.dl_tensor.strides = NULL;
    assert_ok(ferrum_tensor_from_dlpack(f.other_device, &dlpack, &tensor));
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(tensor, &desc));
    assert_string_equal(desc.device, "cpu:1");
    assert_int_equal(desc.flags,
                     FERRUM_ELEMENTS_CONTIGUOUS | FERRUM_ELEMENTS_READ_ONLY);
    assert_status(ferrum_tensor_fill(tensor, 0, f.other_stream),
                  FERRUM_ERROR_PERMISSION_DENIED);
    ferrum_dlpack again = FERRUM_DLPACK_INIT;
    assert_status(ferrum_tensor_to_dlpack(tensor, 0, &again),
                  FERRUM_ERROR_UNSUPPORTED);
    again = exported(tensor, 1);
    assert_int_equal(((DLManagedTensorVersioned *)again.managed)->flags, 1);
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(atomic_load(&deleted), 1);
    delete(&again);
    assert_int_equal(atomic_load(&deleted), 2);

    dlpack = foreign_make(&of);
    of.managed.dl_tensor.byte_offset = 28;
    of.strides[0] = -4;
    of.strides[1] = -1;
    assert_ok(ferrum_tensor_from_dlpack(f.device, &dlpack, &tensor));
    assert_ok(ferrum_tensor_read(tensor, got, sizeof got, default_stream));
    assert_memory_equal(got, ((float[]){7, 6, 5, 3, 2, 1}), sizeof got);
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(atomic_load(&deleted), 3);

    /* A struct of this library, in the old form. */
    tensor = make(f.pool, FERRUM_DTYPE_BF16);
    dlpack = exported(tensor, 0);
    assert_int_equal(content(&dlpack)->code, 4);
    assert_ok(ferrum_tensor_from_dlpack(f.device, &dlpack, &view));
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_ok(ferrum_tensor_fill(view, 2, default_stream));
    uint16_t halves[6];
    assert_ok(ferrum_tensor_read(view, halves, sizeof halves, default_stream));
    assert_int_equal(halves[5], 0x4000);
    assert_ok(ferrum_tensor_destroy(view));
}

#define REFUSED(change, want, says)                                           \
    dlpack = foreign_make(&of);                                               \
    change;                                                                   \
    assert_status(ferrum_tensor_from_dlpack(device, &dlpack, &tensor), want); \
    assert_message(says);                                                     \
    assert_int_equal(tensor.id, 0);                                           \
    assert_int_equal(atomic_load(&deleted), 0)

static void test_wrong_imports(void **state) {
    (void)state;
    foreign of;
    ferrum_dlpack dlpack;
    ferrum_tensor tensor = {1};
    ferrum_device device = {0};
    DLTensor *t = &of.managed.dl_tensor;
    REFUSED(dlpack.managed = NULL, FERRUM_ERROR_NULL_POINTER, "managed");
    REFUSED(of.managed.major = 2, FERRUM_ERROR_UNSUPPORTED, "version 2");
    REFUSED(t->ndim = -1, FERRUM_ERROR_INVALID_ARGUMENT, "-1 dimensions");
    REFUSED(t->ndim = 9, FERRUM_ERROR_INVALID_ARGUMENT, "9 dimensions");
    REFUSED(t->shape = NULL, FERRUM_ERROR_INVALID_ARGUMENT, "no shape");
    REFUSED(t->byte_offset = UINT64_MAX, FERRUM_ERROR_OVERFLOW, "offset");
    REFUSED(t->byte_offset = 2, FERRUM_ERROR_INVALID_ALIGNMENT, "4 bytes");
    REFUSED(t->lanes = 2, FERRUM_ERROR_UNSUPPORTED, "2 lanes");
    REFUSED(t->code = 3, FERRUM_ERROR_UNSUPPORTED, "code 3");
    REFUSED(t->bits = 24, FERRUM_ERROR_UNSUPPORTED, "24 bits");
    REFUSED(t->device_type = 4, FERRUM_ERROR_UNSUPPORTED, "device type 4");
    REFUSED(t->device_type = 2, FERRUM_ERROR_INVALID_STATE, "cuda:0");
    REFUSED(t->data = NULL;
            t->byte_offset = 0, FERRUM_ERROR_INVALID_ADDRESS, "0");
    REFUSED(t->data = (void *)4096;
            t->byte_offset = 0, FERRUM_ERROR_INVALID_ADDRESS, "readable");
    REFUSED(of.shape[0] = -1, FERRUM_ERROR_INVALID_ARGUMENT, "-1");
    REFUSED(of.shape[0] = of.shape[1] = INT64_MAX, FERRUM_ERROR_OVERFLOW, "");
    REFUSED(of.strides[0] = INT64_MIN / 2, FERRUM_ERROR_OVERFLOW, "");
    device = f.device;
    REFUSED(t->device_type = 2, FERRUM_ERROR_INVALID_ARGUMENT, "device type 2");
}

/* The deleter outlives everything: the pool, the device, the library, and in a
 * forked child the whole process. */
static void test_late_deleters(void **state) {
    (void)state;
    ferrum_dlpack left[4];
    for (int round = 0; round < 4; round++) {
        ferrum_pool pool;
        assert_ok(ferrum_init(NULL));
        assert_ok(ferrum_device_open("cpu:0", &f.device));
        assert_ok(ferrum_pool_create(f.device, NULL, &pool));
        ferrum_tensor tensor = make(pool, FERRUM_DTYPE_F32);
        left[round] = exported(tensor, round % 2);
        assert_ok(ferrum_tensor_destroy(tensor));
        assert_status(ferrum_device_close(f.device, 0), FERRUM_ERROR_BUSY);
        if (round == 0) {
            pid_t child = fork();
            if (child == 0) {
                delete(&left[0]);
                _exit(0);
            }
            int status;
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        if (round == 1) {
            assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
            delete(&left[1]);
            assert_ok(ferrum_device_close(f.device, 0));
        }
        if (round == 2)
            assert_ok(ferrum_device_close(f.device, FERRUM_FORCE));
        assert_ok(ferrum_shutdown(round == 0 || round == 3 ? FERRUM_FORCE : 0));
    }
    delete(&left[0]);
    delete(&left[2]);
    assert_ok(ferrum_init(NULL));
    delete(&left[3]);
    assert_ok(ferrum_shutdown(0));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_exports),
        CASE(test_what_is_not_exported),
        CASE(test_imports),
        CASE(test_wrong_imports),
        cmocka_unit_test(test_late_deleters),
    };
    return cmocka_run_group_tests_name("dlpack", tests, NULL, NULL);
}
