/* ferrum_mem/devices.h: which backends there are and which to take. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "backends_gen.h"
#include "discovery.h"
#include "guard.h"
#include "guest.h"

extern char **environ;

size_t fm_library_path(char *buffer, size_t capacity) {
    Dl_info info;
    if (dladdr((void *)&ferrum_backend_name, &info) == 0 ||
        info.dli_fname == NULL)
        return 0;
    char real[PATH_MAX];
    const char *path = realpath(info.dli_fname, real);
    size_t length = path == NULL ? 0 : strlen(path);
    if (length == 0 || length >= capacity)
        return 0;
    memcpy(buffer, path, length + 1);
    return length;
}

char **fm_environment(void) { return environ; }

static const struct {
    const char *name, *display;
} backends[] = {
#define FM_BACKEND(name, display) {name, display},
    FM_BACKENDS(FM_BACKEND)
#undef FM_BACKEND
};

static int is_backend(ferrum_backend backend) {
    return backend >= 0 && backend < (int)(sizeof backends / sizeof *backends);
}

const char *ferrum_backend_name(ferrum_backend backend) {
    return is_backend(backend) ? backends[backend].name : "";
}

const char *ferrum_backend_display_name(ferrum_backend backend) {
    return is_backend(backend) ? backends[backend].display : "";
}

ferrum_status ferrum_backends_refresh(void) {
    FM_ENTER();
    FM_RETURN(fmgo_backends_refresh());
}

ferrum_status ferrum_backends_summary(char *buffer, size_t capacity,
                                      size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_backends_summary(buffer, capacity, length_out));
}

ferrum_status ferrum_backend_best(ferrum_backend *backend_out) {
    FM_ENTER();
    FM_REQUIRE(backend_out);
    *backend_out = FERRUM_BACKEND_AUTO;
    FM_RETURN(fmgo_backend_best(backend_out));
}

ferrum_status ferrum_backend_select(ferrum_backend preference,
                                    uint64_t required_bytes,
                                    ferrum_backend_choice *choice_out) {
    FM_ENTER();
    FM_REQUIRE(choice_out);
    FM_STRUCT_OUT(choice_out);
    ferrum_backend_choice full = FERRUM_BACKEND_CHOICE_INIT;
    FM_RETURN_STRUCT(fmgo_backend_select(preference, required_bytes, &full),
                     choice_out, full);
}

ferrum_status ferrum_backend_open(ferrum_backend preference,
                                  uint64_t required_bytes,
                                  ferrum_device *device_out,
                                  ferrum_backend_choice *choice_out) {
    FM_ENTER();
    FM_REQUIRE(device_out);
    device_out->id = 0;
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_backend_choice full = FERRUM_BACKEND_CHOICE_INIT;
    FM_LOOK();
    if (choice_out == NULL)
        FM_RETURN(fmgo_backend_open(preference, required_bytes, &device_out->id,
                                    &full));
    FM_STRUCT_OUT(choice_out);
    FM_RETURN_STRUCT(
        fmgo_backend_open(preference, required_bytes, &device_out->id, &full),
        choice_out, full);
}

ferrum_status ferrum_device_can_fit(const char *id, uint64_t bytes,
                                    uint32_t *fits_out) {
    FM_ENTER();
    FM_REQUIRE(fits_out);
    *fits_out = 0;
    FM_REQUIRE(id);
    FM_RETURN(fmgo_device_can_fit((char *)id, bytes, fits_out));
}

ferrum_status ferrum_host_get_info(ferrum_host_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_host_info full = FERRUM_HOST_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_host_get_info(&full), info_out, full);
}

ferrum_status ferrum_round_up_power_of_2(uint64_t n, uint64_t *result_out) {
    FM_ENTER();
    FM_REQUIRE(result_out);
    *result_out = 0;
    FM_RETURN(fmgo_round_up_power_of_2(n, result_out));
}

ferrum_status ferrum_size_class(uint64_t size_bytes,
                                uint64_t *class_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(class_bytes_out);
    *class_bytes_out = 0;
    FM_RETURN(fmgo_size_class(size_bytes, class_bytes_out));
}

ferrum_status ferrum_f32_bytes(uint64_t count, uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_RETURN(fmgo_f32_bytes(count, bytes_out));
}

ferrum_status ferrum_f16_bytes(uint64_t count, uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_RETURN(fmgo_f16_bytes(count, bytes_out));
}
