#include "reserve.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    _Atomic(unsigned char *) memory;
    _Atomic size_t taken;
} reserve;

/* The linker replaces every mmap in this library by the function below. */
void *__real_mmap(void *address, size_t bytes, int protection, int flags,
                  int file, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags,
                  int file, off_t offset);

/* The flags of the runtime's requests for memory of its own. No other code
 * of this library uses these flags. For its heap the runtime requests
 * addresses first. */
enum { FM_RUNTIME_FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };

int fm_reserve_make(void) {
    if (atomic_load(&reserve.memory) != NULL)
        return 0;
    void *memory = __real_mmap(NULL, FM_RESERVE_BYTES, PROT_READ | PROT_WRITE,
                               FM_RUNTIME_FLAGS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    unsigned char *none = NULL;
    if (!atomic_compare_exchange_strong(&reserve.memory, &none,
                                        (unsigned char *)memory))
        munmap(memory, FM_RESERVE_BYTES);
    return 0;
}

/* Returns untouched memory of the reserve, or NULL. Unmapping it releases
 * it to the system. */
static void *fm_reserve_take(size_t bytes) {
    unsigned char *memory = atomic_load(&reserve.memory);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (memory == NULL || bytes > FM_RESERVE_BYTES)
        return NULL;
    bytes = (bytes + page - 1) / page * page;
    size_t taken = atomic_load(&reserve.taken);
    do {
        if (bytes > FM_RESERVE_BYTES - taken)
            return NULL;
    } while (
        !atomic_compare_exchange_weak(&reserve.taken, &taken, taken + bytes));
    return memory + taken;
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags,
                  int file, off_t offset) {
    void *memory = __real_mmap(address, bytes, protection, flags, file, offset);
    if (memory != MAP_FAILED || address != NULL || flags != FM_RUNTIME_FLAGS ||
        protection != (PROT_READ | PROT_WRITE))
        return memory;
    int error = errno;
    void *taken = fm_reserve_take(bytes);
    errno = error;
    return taken == NULL ? MAP_FAILED : taken;
}
