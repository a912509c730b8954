#include "release.h"

void fm_call_release(ferrum_release_fn release, uintptr_t user_data) {
    release((void *)user_data);
}
