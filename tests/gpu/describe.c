/* Says as JSON which driver and devices there are, for the head of results:
 * describe [LIBRARY]. The status is 1, and the reason is there, if there is no
 * device. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;

/* The driver's own text: with quotes and control characters left out. */
static void put(const char *text) {
    putchar('"');
    for (; *text != 0; text++)
        if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
            putchar(*text);
    putchar('"');
}

static int fails(const char *what, const char *why) {
    printf("{\"devices\": [], \"reason\": ");
    char text[600];
    snprintf(text, sizeof text, "%s: %s", what, why);
    put(text);
    printf("}\n");
    return 1;
}

#define CALL(type, name, ...)                                         \
    do {                                                              \
        type function;                                                \
        char code_text[32];                                           \
        *(void **)&function = dlsym(library, name);                   \
        if (function == NULL)                                         \
            return fails(name, "the library does not have it");       \
        CUresult code = function(__VA_ARGS__);                        \
        snprintf(code_text, sizeof code_text, "CUDA error %d", code); \
        if (code != CUDA_SUCCESS)                                     \
            return fails(name, code_text);                            \
    } while (0)

typedef struct Card {
    char name[128], address[32];
    size_t bytes;
    int major, minor, multiprocessors;
} Card;

static int look(CUdevice device, Card *card) {
    typedef CUresult (*Attribute)(int *, CUdevice_attribute, CUdevice);
    typedef CUresult (*Text)(char *, int, CUdevice);
    typedef CUresult (*Total)(size_t *, CUdevice);
    CALL(Text, "cuDeviceGetName", card->name, sizeof card->name, device);
    CALL(Text, "cuDeviceGetPCIBusId", card->address, sizeof card->address,
         device);
    CALL(Total, "cuDeviceTotalMem_v2", &card->bytes, device);
    CALL(Attribute, "cuDeviceGetAttribute", &card->major,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    CALL(Attribute, "cuDeviceGetAttribute", &card->minor,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    CALL(Attribute, "cuDeviceGetAttribute", &card->multiprocessors,
         CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    return 0;
}

/* What the driver itself does not say: its release, "570.86.15". */
static void put_release(void) {
    char line[256], release[64] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *at = strstr(line, "Module  ");
        if (at == NULL || sscanf(at + 8, "%63s", release) != 1)
            release[0] = 0;
        fclose(file);
    }
    printf(", \"driver_release\": ");
    put(release);
}

int main(int count, char **words) {
    typedef CUresult (*Number)(int *);
    typedef CUresult (*Start)(unsigned);
    const char *path = count > 1 ? words[1] : "libcuda.so.1";
    int version = 0, devices = 0;
    library = dlopen(path, RTLD_NOW);
    if (library == NULL)
        return fails(path, dlerror());
    CALL(Number, "cuDriverGetVersion", &version);
    CALL(Start, "cuInit", 0);
    CALL(Number, "cuDeviceGetCount", &devices);
    static Card cards[64];
    for (int i = 0; i < devices && i < 64; i++)
        if (look(i, &cards[i]) != 0)
            return 1;
    printf("{\"driver_version\": %d, \"simulated\": %s", version,
           dlsym(library, "simcuda_calls") != NULL ? "true" : "false");
    put_release();
    printf(", \"devices\": [");
    for (int i = 0; i < devices && i < 64; i++) {
        printf("%s{\"name\": ", i > 0 ? ", " : "");
        put(cards[i].name);
        printf(", \"pci\": ");
        put(cards[i].address);
        printf(", \"bytes\": %zu, \"compute_capability\": \"%d.%d\", "
               "\"multiprocessors\": %d}",
               cards[i].bytes, cards[i].major, cards[i].minor,
               cards[i].multiprocessors);
    }
    printf("]}\n");
    return devices == 0;
}
