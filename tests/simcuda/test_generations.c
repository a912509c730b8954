/* What each generation exports and returns. This program does not link with
 * a driver: each case opens its own. */
#include "rules.h"

#include <dlfcn.h>

static void *library;

/* The environment of the case names the generation. */
static void open_library(void) {
    char path[128];
    snprintf(path, sizeof path, "build/test/simcuda/%s/libcuda.so.1",
             getenv("GENERATION"));
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        FAILED("%s", dlerror());
}

static bool has(const char *name) { return dlsym(library, name) != NULL; }

typedef CUresult (*Init)(unsigned);
typedef CUresult (*Version)(int *);
typedef CUresult (*Look1)(const char *, void **, int, cuuint64_t);
typedef CUresult (*Look2)(const char *, void **, int, cuuint64_t,
                          CUdriverProcAddressQueryResult *);

static void names_and_version(void) {
    int version = 0, wanted = atoi(getenv("GENERATION"));
    open_library();
    OK(((Version)dlsym(library, "cuDriverGetVersion"))(&version));
    EXPECT(version == wanted);
    OK(((Init)dlsym(library, "cuInit"))(0));
    EXPECT(has("cuMemAlloc_v2") && has("cuMemAllocAsync") && has("cuMemMap"));
    /* Later drivers still export the forms that later forms replace. */
    EXPECT(has("cuMemPrefetchAsync") && has("cuMemAdvise"));
    EXPECT(has("cuDeviceGetUuid") && has("cuEventElapsedTime"));
    EXPECT(has("cuCtxCreate_v2"));
    EXPECT(has("cuStreamGetCaptureInfo_v2") == (wanted >= 11030));
    EXPECT(has("cuCtxCreate_v4") == (wanted >= 12050));
    EXPECT(has("cuGetProcAddress") == (wanted >= 11030));
    EXPECT(has("cuGetProcAddress_v2") == (wanted >= 12000));
    EXPECT(has("cuDeviceGetUuid_v2") == (wanted >= 11040));
    EXPECT(has("cuCtxGetId") == (wanted >= 12000));
    EXPECT(has("cuMemPrefetchAsync_v2") == (wanted >= 12020));
    EXPECT(has("cuMemAdvise_v2") == (wanted >= 12020));
    EXPECT(has("cuStreamGetCaptureInfo_v3") == (wanted >= 12030));
    EXPECT(has("cuEventElapsedTime_v2") == (wanted >= 12080));
    EXPECT(has("cuStreamGetDevice") == (wanted >= 12080));
    EXPECT(!has("cuMemAlloc_v3") && !has("simcuda_generation") && !has("sim"));
}

static void addresses_by_name(void) {
    int wanted = atoi(getenv("GENERATION"));
    void *found;
    CUdriverProcAddressQueryResult status;
    open_library();
    OK(((Init)dlsym(library, "cuInit"))(0));
    Look1 old = (Look1)dlsym(library, "cuGetProcAddress");
    Look2 new = (Look2)dlsym(library, "cuGetProcAddress_v2");
    OK(old("cuMemAlloc", &found, wanted, 0));
    EXPECT(found == dlsym(library, "cuMemAlloc_v2"));
    OK(new("cuMemPrefetchAsync", &found, 12010, 0, &status));
    EXPECT(found == dlsym(library, "cuMemPrefetchAsync"));
    EXPECT(status == CU_GET_PROC_ADDRESS_SUCCESS);
    OK(new("cuMemPrefetchAsync", &found, 12090, 0, &status));
    EXPECT(found == dlsym(library, wanted >= 12020 ? "cuMemPrefetchAsync_v2"
                                                   : "cuMemPrefetchAsync"));
    GIVES(CUDA_ERROR_NOT_FOUND, new("cuMemCreate", &found, 10000, 0, &status));
    EXPECT(found == NULL);
    EXPECT(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    GIVES(CUDA_ERROR_NOT_FOUND, new("cuNothing", &found, 12090, 0, &status));
    EXPECT(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    GIVES(CUDA_ERROR_NOT_FOUND, old("cuMemAlloc_v2", &found, 12090, 0));
}

/* A program that was compiled with the header of 13 gets the later forms. A
 * program that requests the forms of 12.0 still gets them. */
static void newest_addresses(void) {
    void *found;
    CUdriverProcAddressQueryResult status;
    CUcontext context_made;
    open_library();
    OK(((Init)dlsym(library, "cuInit"))(0));
    Look2 look = (Look2)dlsym(library, "cuGetProcAddress_v2");
    OK(look("cuMemPrefetchAsync", &found, 13000, 0, &status));
    EXPECT(found == dlsym(library, "cuMemPrefetchAsync_v2"));
    OK(look("cuEventElapsedTime", &found, 13000, 0, &status));
    EXPECT(found == dlsym(library, "cuEventElapsedTime_v2"));
    OK(look("cuMemAdvise", &found, 12000, 0, &status));
    EXPECT(found != NULL && found != dlsym(library, "cuMemAdvise_v2"));
    OK(look("cuCtxCreate", &found, 13000, 0, &status));
    EXPECT(found == dlsym(library, "cuCtxCreate_v4"));
    CUresult (*make)(CUcontext *, CUctxCreateParams *, unsigned, CUdevice) =
        (CUresult (*)(CUcontext *, CUctxCreateParams *, unsigned,
                      CUdevice))found;
    OK(make(&context_made, NULL, 0, 0));
    OK(((CUresult (*)(CUcontext))dlsym(library, "cuCtxDestroy_v2"))(
        context_made));
}

static void trap(void) {
    open_library();
    ((void (*)(void))dlsym(library, getenv("NAME")))();
}

static const Case cases[] = {
    {"11.2 names", names_and_version, 0, "GENERATION=11020"},
    {"12.0 names", names_and_version, 0, "GENERATION=12000"},
    {"12.4 names", names_and_version, 0, "GENERATION=12040"},
    {"12.9 names", names_and_version, 0, "GENERATION=12090"},
    {"13.0 names", names_and_version, 0, "GENERATION=13000"},
    {"13.0 addresses", newest_addresses, 0, "GENERATION=13000"},
    {"12.0 addresses", addresses_by_name, 0, "GENERATION=12000"},
    {"12.9 addresses", addresses_by_name, 0, "GENERATION=12090"},
    {"trap", trap, ABORTS, "GENERATION=11020 NAME=cuMemAlloc"},
    {"trap", trap, ABORTS, "GENERATION=12090 NAME=cuStreamDestroy"},
    {"trap", trap, ABORTS, "GENERATION=12090 NAME=cuMemcpyHtoDAsync"},
};

int main(void) { return RUN(cases); }
