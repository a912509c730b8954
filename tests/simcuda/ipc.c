/* Handles with which another process opens memory or an event. A handle has
 * the number of this process and of a file that the process keeps open. */
#include "internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Ticket {
    char mark[8];
    int pid, fd, device, shift;
    uint64_t size, pages_size, key[2];
} Ticket;
_Static_assert(sizeof(Ticket) <= sizeof(CUipcMemHandle), "it fits");

static const char memory_mark[8] = "simmemo", event_mark[8] = "simevnt";

static int open_ticket(const Ticket *ticket) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket->pid, ticket->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint64_t key[2] = {0, 0};
    /* The key of the handle is in the file, after the pages. */
    if (fd >= 0 && (pread(fd, key, sizeof key, (off_t)ticket->pages_size) !=
                        (ssize_t)sizeof key ||
                    memcmp(key, ticket->key, sizeof key) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int make_file(const char *name, uint64_t pages_size, uint64_t *key) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    uint64_t state = now_ns() ^ (uint64_t)getpid() << 32;
    key[0] = next_random(&state);
    key[1] = next_random(&state);
    if (fd >= 0 && (ftruncate(fd, (off_t)pages_size) != 0 ||
                    pwrite(fd, key, 16, (off_t)pages_size) != 16)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Moves an allocation into a file, because another process can map the
 * pages of a file. */
static bool share(Range *range) {
    if (range->shared_fd >= 0)
        return true;
    int fd = make_file("simcuda-shared", range->pages_size, range->ipc_key);
    if (fd < 0)
        return false;
    const char *from = range_host(range->page);
    for (size_t at = 0; at < range->pages_size; at += 4096) {
        static const char zeros[4096];
        if (memcmp(from + at, zeros, 4096) != 0 &&
            pwrite(fd, from + at, 4096, (off_t)at) != 4096) {
            close(fd);
            return false;
        }
    }
    if (!range_back(range->page, range->pages_size, fd, 0)) {
        close(fd);
        return false;
    }
    range->shared_fd = fd;
    return true;
}

void ipc_forget(Range *range) {
    if (range->shared_fd >= 0)
        close(range->shared_fd);
}

/* The handle is of the whole allocation, whichever of its addresses is given. */
CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr address) {
    SIM_CALL(IN_CONTEXT);
    Range *range = range_find(address);
    if (sim.config.without_ipc)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (out == NULL || range == NULL || range->kind != RANGE_DEVICE)
        return INVALID("pHandle is NULL, or 0x%llx is not from cuMemAlloc",
                       address);
    if (!share(range))
        return CUDA_ERROR_OUT_OF_MEMORY;
    Ticket ticket = {.pid = getpid(),
                     .fd = range->shared_fd,
                     .device = range->device->number,
                     .shift = (int)(range->address - range->page),
                     .size = range->size,
                     .pages_size = range->pages_size};
    memcpy(ticket.mark, memory_mark, sizeof ticket.mark);
    memcpy(ticket.key, range->ipc_key, sizeof ticket.key);
    memset(out, 0, sizeof *out);
    memcpy(out, &ticket, sizeof ticket);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle,
                               unsigned flags) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    Ticket ticket;
    Context *context = context_current();
    memcpy(&ticket, &handle, sizeof ticket);
    if (out == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ||
        memcmp(ticket.mark, memory_mark, sizeof ticket.mark) != 0)
        return INVALID("pdptr is NULL, Flags is %u, or the handle is not valid",
                       flags);
    if (ticket.pid == getpid())
        return FAIL(CUDA_ERROR_INVALID_CONTEXT,
                    "a handle can not be opened where it was made");
    for (size_t i = 0; i < sim.range_count; i++) {
        const Range *range = sim.ranges[i];
        if (range->kind == RANGE_IPC && range->context != context &&
            range->device == context->device &&
            range->ipc_from[0] == ticket.pid &&
            range->ipc_from[1] == ticket.device)
            return FAIL(CUDA_ERROR_INVALID_HANDLE,
                        "another context of the device has memory of that "
                        "process open");
    }
    for (size_t i = 0; i < sim.range_count; i++) {
        Range *range = sim.ranges[i];
        if (range->kind == RANGE_IPC && range->context == context &&
            memcmp(range->ipc_key, ticket.key, sizeof ticket.key) == 0) {
            range->ipc_opens++;
            *out = range->address;
            return CUDA_SUCCESS;
        }
    }
    int fd = open_ticket(&ticket);
    if (fd < 0)
        return INVALID("the memory of the handle was freed");
    CUdeviceptr page = range_place(ticket.pages_size, GRANULARITY, 0);
    if (page == 0 || !range_back(page, ticket.pages_size, fd, 0)) {
        close(fd);
        return CUDA_ERROR_MAP_FAILED;
    }
    Range *range = range_add(RANGE_IPC, page, ticket.pages_size);
    range->address = page + (CUdeviceptr)ticket.shift;
    range->size = ticket.size;
    range->context = context;
    range->device = context->device;
    range->made_by = __func__;
    range->shared_fd = fd;
    range->ipc_opens = 1;
    range->ipc_from[0] = ticket.pid;
    range->ipc_from[1] = ticket.device;
    memcpy(range->ipc_key, ticket.key, sizeof ticket.key);
    *out = range->address;
    return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    SIM_CALL_KEY(IN_CONTEXT | UNSAFE | IS_RELEASE, address);
    Range *range = range_find(address);
    if (range == NULL || range->kind != RANGE_IPC || range->address != address)
        return INVALID("0x%llx was not opened", address);
    if (--range->ipc_opens == 0) {
        uint64_t id = range->id;
        context_wait(range->context);
        range = range_find(address);
        if (range != NULL && range->id == id) {
            range_unback(range->page, range->pages_size);
            range_remove(range);
        }
    }
    return CUDA_SUCCESS;
}

/* --- events ------------------------------------------------------------------ */

static bool share_event(Event *event, int fd) {
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return false;
    event->shared = shared;
    event->shared_fd = fd;
    return true;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent handle) {
    SIM_CALL(IN_CONTEXT);
    Event *event = object_find(KIND_EVENT, handle);
    if (sim.config.without_ipc)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (out == NULL || event == NULL || !event->object.alive ||
        (event->flags & CU_EVENT_INTERPROCESS) == 0)
        return FAIL(out == NULL ? CUDA_ERROR_INVALID_VALUE
                                : CUDA_ERROR_INVALID_HANDLE,
                    "pHandle is NULL or the event is not INTERPROCESS");
    Ticket ticket = {.pid = getpid(), .size = 4096, .pages_size = 4096};
    memcpy(ticket.mark, event_mark, sizeof ticket.mark);
    if (event->shared == NULL) {
        int fd = make_file("simcuda-event", 4096, ticket.key);
        if (fd < 0 || !share_event(event, fd))
            return CUDA_ERROR_MAP_FAILED;
    } else if (pread(event->shared_fd, ticket.key, 16, 4096) != 16) {
        return CUDA_ERROR_MAP_FAILED;
    }
    ticket.fd = event->shared_fd;
    memset(out, 0, sizeof *out);
    memcpy(out, &ticket, sizeof ticket);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle) {
    SIM_CALL(IN_CONTEXT | UNSAFE);
    Ticket ticket;
    memcpy(&ticket, &handle, sizeof ticket);
    if (out == NULL || memcmp(ticket.mark, event_mark, sizeof ticket.mark) != 0)
        return FAIL(out == NULL ? CUDA_ERROR_INVALID_VALUE
                                : CUDA_ERROR_MAP_FAILED,
                    "phEvent is NULL or the handle is not valid");
    if (ticket.pid == getpid())
        return FAIL(CUDA_ERROR_INVALID_CONTEXT,
                    "a handle can not be opened where it was made");
    int fd = open_ticket(&ticket);
    if (fd < 0)
        return FAIL(CUDA_ERROR_MAP_FAILED,
                    "the event of the handle was destroyed");
    Event *event =
        object_new(KIND_EVENT, sizeof *event, context_current(), __func__);
    event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    event->foreign = true;
    if (!share_event(event, fd)) {
        object_end(event);
        close(fd);
        return CUDA_ERROR_MAP_FAILED;
    }
    *out = (CUevent)(uintptr_t)event->object.handle;
    return CUDA_SUCCESS;
}
