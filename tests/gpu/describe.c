/* Prints as JSON which driver and devices exist, for the head of results:
 *
 *   describe [LIBRARY]          if there is no device, the status is 1 and the
 *                               output has the reason
 *   describe release FILE       the release of the driver, from a file in the form
 *                               of /proc/driver/nvidia/version
 *   describe hold LIBRARY       holds a context on each device that several
 *                               programs may use. It prints "held" and ends when
 *                               stdin ends. Without it the driver would start
 *                               again for each program */
#include <ctype.h>
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *library;

/* Prints text of the driver, without control characters and quotes. */
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

/* Finds the first word of a line that is a number with points, such as
 * "570.86.15". It follows "Kernel Module", or "Kernel Module for x86_64" if
 * the kernel module is the open one. */
static void find_release(char *line, char *release, size_t size) {
    release[0] = 0;
    for (char *rest = line, *word; (word = strtok_r(rest, " \t\n", &rest));)
        if (isdigit((unsigned char)word[0]) && strchr(word, '.') != NULL &&
            word[strspn(word, "0123456789.")] == 0) {
            snprintf(release, size, "%s", word);
            return;
        }
}

/* Reads the release of the driver, because no call of the driver returns it. */
static void read_release(const char *path, char *release, size_t size) {
    char line[256];
    FILE *file = fopen(path, "r");
    release[0] = 0;
    if (file == NULL)
        return;
    if (fgets(line, sizeof line, file) != NULL)
        find_release(line, release, size);
    fclose(file);
}

static void put_release(void) {
    char release[64];
    read_release("/proc/driver/nvidia/version", release, sizeof release);
    printf(", \"driver_release\": ");
    put(release);
}

static int start(const char *path, int *devices) {
    typedef CUresult (*Number)(int *);
    typedef CUresult (*Start)(unsigned);
    library = dlopen(path, RTLD_NOW);
    if (library == NULL)
        return fails(path, dlerror());
    CALL(Start, "cuInit", 0);
    CALL(Number, "cuDeviceGetCount", devices);
    return 0;
}

static int hold(const char *path) {
    typedef CUresult (*Attribute)(int *, CUdevice_attribute, CUdevice);
    typedef CUresult (*Retain)(CUcontext *, CUdevice);
    typedef CUresult (*Release)(CUdevice);
    int devices = 0, modes[64] = {0};
    if (start(path, &devices) != 0)
        return 1;
    for (int i = 0; i < devices && i < 64; i++) {
        CUcontext context;
        CALL(Attribute, "cuDeviceGetAttribute", &modes[i],
             CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, i);
        if (modes[i] == CU_COMPUTEMODE_DEFAULT)
            CALL(Retain, "cuDevicePrimaryCtxRetain", &context, i);
    }
    printf("held\n");
    fflush(stdout);
    char end;
    while (read(STDIN_FILENO, &end, 1) > 0)
        ;
    for (int i = 0; i < devices && i < 64; i++)
        if (modes[i] == CU_COMPUTEMODE_DEFAULT)
            CALL(Release, "cuDevicePrimaryCtxRelease_v2", i);
    return 0;
}

int main(int count, char **words) {
    typedef CUresult (*Number)(int *);
    int version = 0, devices = 0;
    if (count == 3 && strcmp(words[1], "release") == 0) {
        char release[64];
        read_release(words[2], release, sizeof release);
        return puts(release) < 0;
    }
    if (count == 3 && strcmp(words[1], "hold") == 0)
        return hold(words[2]);
    if (start(count > 1 ? words[1] : "libcuda.so.1", &devices) != 0)
        return 1;
    CALL(Number, "cuDriverGetVersion", &version);
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
