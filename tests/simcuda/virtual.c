/* Virtual memory: reserved addresses, physical memory, mappings of physical
 * memory to addresses, and access. */
#include "internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool there_is_none(void) { return sim.config.without_vmm; }
#define NEED_VMM()       \
    if (there_is_none()) \
    return CUDA_ERROR_NOT_SUPPORTED

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment,
                             CUdeviceptr hint, unsigned long long flags) {
    SIM_CALL(0);
    NEED_VMM();
    if (out == NULL || size == 0 || size % PAGE_UNIT != 0 || flags != 0 ||
        (alignment & (alignment - 1)) != 0)
        return INVALID("ptr is NULL, or size %zu, alignment %zu, flags %llu",
                       size, alignment, flags);
    if (alignment < PAGE_UNIT)
        alignment = PAGE_UNIT;
    /* A device without `alignment` must never return a larger alignment by
     * chance. */
    size_t shift =
        sim.config.without_alignment && alignment > PAGE_UNIT ? PAGE_UNIT : 0;
    CUdeviceptr place = range_place(size + shift, alignment, hint);
    if (place == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    place += shift;
    Range *range = range_add(RANGE_RESERVED, place, size);
    range->made_by = __func__;
    *out = place;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
    SIM_CALL_KEY(UNSAFE | IS_RELEASE, address);
    NEED_VMM();
    Range *range = range_find(address);
    if (range == NULL || range->kind != RANGE_RESERVED ||
        range->address != address || range->size != size)
        return INVALID("0x%llx, %zu bytes, is not what was reserved", address,
                       size);
    if (range->mapping_count != 0)
        return INVALID("0x%llx still has %zu mappings", address,
                       range->mapping_count);
    range_remove(range);
    return CUDA_SUCCESS;
}

static CUresult look_at(const CUmemAllocationProp *prop, const char *call,
                        Device **device) {
    if (prop == NULL || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "prop is NULL, of type %d or location type %d",
                    prop == NULL ? 0 : (int)prop->type,
                    prop == NULL ? 0 : (int)prop->location.type);
    for (size_t i = 0; i < sizeof prop->allocFlags.reserved; i++)
        if (prop->allocFlags.reserved[i] != 0)
            return fail(call, CUDA_ERROR_INVALID_VALUE,
                        "a reserved byte of prop is not 0");
    if (prop->win32HandleMetaData != NULL)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "win32HandleMetaData is not NULL");
    CUmemAllocationHandleType handles = prop->requestedHandleTypes;
    if ((handles & ~(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
                     CU_MEM_HANDLE_TYPE_FABRIC)) != 0)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "requestedHandleTypes is %d", (int)handles);
    if (((handles & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0 &&
         sim.config.without_fd) ||
        ((handles & CU_MEM_HANDLE_TYPE_FABRIC) != 0 &&
         sim.config.without_fabric) ||
        (prop->allocFlags.gpuDirectRDMACapable != 0 && sim.config.without_rdma))
        return CUDA_ERROR_NOT_SUPPORTED;
    return device_find(prop->location.id, call, device);
}

CUresult
cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
                              CUmemAllocationGranularity_flags option) {
    SIM_CALL(0);
    NEED_VMM();
    Device *device;
    CUresult code = look_at(prop, __func__, &device);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || (unsigned)option > 1)
        return INVALID("granularity is NULL or option is %d", (int)option);
    *out = PAGE_UNIT;
    return CUDA_SUCCESS;
}

/* Memory that can be shared has a file of its own, named for the device
 * that may import it. All other memory of a device is in one file. */
static bool back_physical(Physical *physical) {
    Device *device = physical->device;
    char name[64];
    if (physical->exportable) {
        snprintf(name, sizeof name, "simcuda-physical-%d", device->number);
        physical->fd = memfd_create(name, MFD_CLOEXEC);
        return physical->fd >= 0 &&
               ftruncate(physical->fd, (off_t)physical->size) == 0;
    }
    if (device->physical_fd < 0) {
        device->physical_fd = memfd_create("simcuda-device", MFD_CLOEXEC);
        if (device->physical_fd < 0 ||
            ftruncate(device->physical_fd, (off_t)1 << 45) != 0)
            return false;
    }
    physical->fd = device->physical_fd;
    physical->offset = device->physical_end;
    device->physical_end += physical->size;
    return true;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
                     const CUmemAllocationProp *prop,
                     unsigned long long flags) {
    SIM_CALL(0);
    NEED_VMM();
    Device *device;
    CUresult code = look_at(prop, __func__, &device);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || size == 0 || size % PAGE_UNIT != 0 || flags != 0)
        return INVALID("handle is NULL, or size %zu, flags %llu", size, flags);
    if (!device_take(device, size) &&
        (!pools_make_room(device, size) || !device_take(device, size)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    Physical *physical =
        object_new(KIND_PHYSICAL, sizeof *physical, NULL, __func__);
    physical->object.size = physical->size = size;
    physical->device = device;
    physical->properties = *prop;
    physical->references = 1;
    physical->exportable = prop->requestedHandleTypes != 0;
    if (!back_physical(physical)) {
        device_give(device, size);
        object_end(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = physical->object.handle;
    return CUDA_SUCCESS;
}

static void drop_physical(Physical *physical) {
    if (physical->references != 0 || physical->mappings != 0)
        return;
    if (physical->fd == physical->device->physical_fd)
        fallocate(physical->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)physical->offset, (off_t)physical->size);
    else
        close(physical->fd);
    if (!physical->imported)
        device_give(physical->device, physical->size);
    physical->fd = -1;
}

static CUresult find(CUmemGenericAllocationHandle handle, const char *call,
                     Physical **found) {
    Physical *physical = object_find(KIND_PHYSICAL, (void *)(uintptr_t)handle);
    *found = physical;
    if (physical == NULL || !physical->object.alive)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "handle 0x%llx is not a handle of a page, or was released",
                    handle);
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    SIM_CALL_KEY(UNSAFE | IS_RELEASE, handle);
    NEED_VMM();
    Physical *physical;
    CUresult code = find(handle, __func__, &physical);
    if (code != CUDA_SUCCESS)
        return code;
    if (--physical->references == 0)
        object_end(physical);
    drop_physical(physical);
    return CUDA_SUCCESS;
}

CUresult
cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                       CUmemGenericAllocationHandle handle) {
    SIM_CALL(0);
    NEED_VMM();
    Physical *physical;
    CUresult code = find(handle, __func__, &physical);
    if (code != CUDA_SUCCESS)
        return code;
    if (prop == NULL)
        return INVALID("prop is NULL");
    *prop = physical->properties;
    return CUDA_SUCCESS;
}

/* --- mappings --------------------------------------------------------------- */

/* The first mapping that ends after the address. */
static size_t position(const Range *range, CUdeviceptr address) {
    size_t low = 0, high = range->mapping_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const Mapping *mapping = &range->mappings[middle];
        if (mapping->address + mapping->size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const Mapping *mapping_at(const Range *range, CUdeviceptr address) {
    size_t at = position(range, address);
    return at < range->mapping_count && range->mappings[at].address <= address
               ? &range->mappings[at]
               : NULL;
}

bool mapping_is_open(const Mapping *mapping) {
    for (int i = 0; i < MAX_DEVICES && mapping != NULL; i++)
        if (mapping->access[i] != 0)
            return true;
    return false;
}

/* Most wrong arguments are an operation that is not supported. */
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    SIM_CALL(UNSAFE);
    NEED_VMM();
    Physical *physical;
    CUresult code = find(handle, __func__, &physical);
    if (code != CUDA_SUCCESS)
        return code;
    if (flags != 0)
        return INVALID("flags is %llu", flags);
    if (offset != 0)
        return FAIL(CUDA_ERROR_NOT_SUPPORTED, "offset is %zu", offset);
    if (size == 0 || size % PAGE_UNIT != 0 || address % PAGE_UNIT != 0 ||
        size > physical->size)
        return FAIL(CUDA_ERROR_NOT_SUPPORTED,
                    "0x%llx, %zu bytes, of a handle of %zu", address, size,
                    physical->size);
    Range *range = range_find(address);
    if (range == NULL || range->kind != RANGE_RESERVED)
        return FAIL(CUDA_ERROR_NOT_SUPPORTED, "0x%llx is not reserved",
                    address);
    if (size > range->size - (address - range->address))
        return INVALID("0x%llx, %zu bytes, is more than what was reserved",
                       address, size);
    if (mapping_at(range, address) != NULL)
        return FAIL(CUDA_ERROR_NOT_SUPPORTED, "0x%llx is mapped already",
                    address);
    size_t at = position(range, address);
    if (at < range->mapping_count &&
        range->mappings[at].address < address + size)
        return INVALID("0x%llx, %zu bytes, runs into a mapping", address, size);
    if (!range_back(address, size, physical->fd, physical->offset))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (range->mapping_count == range->mapping_room) {
        range->mapping_room =
            range->mapping_room == 0 ? 8 : 2 * range->mapping_room;
        range->mappings = realloc(range->mappings, range->mapping_room *
                                                       sizeof *range->mappings);
        if (range->mappings == NULL)
            abort();
    }
    memmove(&range->mappings[at + 1], &range->mappings[at],
            (range->mapping_count++ - at) * sizeof *range->mappings);
    range->mappings[at] = (Mapping){address, size, physical, {0}};
    physical->mappings++;
    return CUDA_SUCCESS;
}

/* Finds the mappings that cover a range of addresses exactly, without a gap. */
static CUresult whole(CUdeviceptr address, size_t size, const char *call,
                      Range **found, size_t *first, size_t *count) {
    Range *range = range_find(address);
    if (size == 0 || range == NULL || range->kind != RANGE_RESERVED)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "0x%llx, %zu bytes, is not reserved", address, size);
    CUdeviceptr next = address;
    *found = range;
    *first = position(range, address);
    for (*count = 0; next < address + size; (*count)++) {
        const Mapping *mapping = &range->mappings[*first + *count];
        if (*first + *count == range->mapping_count || mapping->address != next)
            return fail(call, CUDA_ERROR_INVALID_VALUE,
                        "0x%llx, %zu bytes, is not whole mappings: a gap or a "
                        "part at 0x%llx",
                        address, size, next);
        next += mapping->size;
    }
    if (next != address + size)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "0x%llx, %zu bytes, ends inside a mapping", address, size);
    return CUDA_SUCCESS;
}

static void drop_mapping(Mapping *mapping) {
    range_unback(mapping->address, mapping->size);
    mapping->physical->mappings--;
    drop_physical(mapping->physical);
}

/* Does not wait: work that still uses the addresses faults. */
CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
    SIM_CALL_KEY(UNSAFE | IS_RELEASE, address);
    NEED_VMM();
    Range *range;
    size_t first, count;
    CUresult code = whole(address, size, __func__, &range, &first, &count);
    if (code != CUDA_SUCCESS)
        return code;
    for (size_t i = first; i < first + count; i++)
        drop_mapping(&range->mappings[i]);
    memmove(&range->mappings[first], &range->mappings[first + count],
            (range->mapping_count - first - count) * sizeof *range->mappings);
    range->mapping_count -= count;
    return CUDA_SUCCESS;
}

void mappings_drop(Range *range) {
    for (size_t i = 0; i < range->mapping_count; i++)
        drop_mapping(&range->mappings[i]);
    range->mapping_count = 0;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size,
                        const CUmemAccessDesc *given, size_t given_count) {
    SIM_CALL(UNSAFE);
    NEED_VMM();
    Range *range;
    size_t first, count;
    if (given == NULL || given_count == 0)
        return INVALID("desc is NULL or count is %zu", given_count);
    CUresult code = whole(address, size, __func__, &range, &first, &count);
    for (size_t i = 0; i < given_count && code == CUDA_SUCCESS; i++) {
        unsigned flags = given[i].flags;
        int id = given[i].location.id;
        if (given[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || id < 0 ||
            id >= sim.device_count || (flags != 0 && flags != 1 && flags != 3))
            return INVALID("desc[%zu] has location type %d of %d, flags %u", i,
                           (int)given[i].location.type, id, flags);
        if (sim.config.without_protection && flags != 3)
            return INVALID("desc[%zu]: this driver gives no protection %u", i,
                           flags);
        for (size_t j = first; j < first + count && code == CUDA_SUCCESS; j++)
            if (range->mappings[j].physical->device != &sim.devices[id] &&
                sim.config.without_peer)
                code = INVALID("device %d can not reach the memory", id);
    }
    for (size_t i = 0; i < given_count && code == CUDA_SUCCESS; i++)
        for (size_t j = first; j < first + count; j++)
            range->mappings[j].access[given[i].location.id] = given[i].flags;
    return code;
}

CUresult cuMemGetAccess(unsigned long long *flags,
                        const CUmemLocation *location, CUdeviceptr address) {
    SIM_CALL(0);
    NEED_VMM();
    Device *device;
    const Range *range = range_find(address);
    const Mapping *mapping = range == NULL ? NULL : mapping_at(range, address);
    if (flags == NULL || location == NULL || mapping == NULL ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return INVALID("flags or location is NULL, or 0x%llx is not mapped",
                       address);
    FIND_DEVICE(location->id, &device);
    *flags = mapping->access[device->ordinal];
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out,
                                     void *address) {
    SIM_CALL(0);
    NEED_VMM();
    const Range *range = range_find((CUdeviceptr)(uintptr_t)address);
    const Mapping *mapping =
        range == NULL ? NULL
                      : mapping_at(range, (CUdeviceptr)(uintptr_t)address);
    if (out == NULL || mapping == NULL)
        return INVALID("handle is NULL or %p is not mapped", address);
    mapping->physical->references++;
    mapping->physical->object.alive = true;
    *out = mapping->physical->object.handle;
    return CUDA_SUCCESS;
}

/* --- sharing by file descriptor and fabric handle --------------------------- */

/* The contents of a fabric handle: a process, a descriptor of that process,
 * and the inode of the file. The inode shows that the descriptor still
 * names the same file. The fabric has one host, which is this one. */
typedef struct FabricTicket {
    char mark[8];
    int pid, fd;
    uint64_t inode;
} FabricTicket;
_Static_assert(sizeof(FabricTicket) <= sizeof(CUmemFabricHandle), "it fits");

static const char fabric_mark[8] = "simfabr";

static uint64_t inode_of(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 ? (uint64_t)about.st_ino : 0;
}

static void write_fabric_handle(const Physical *physical,
                                CUmemFabricHandle *out) {
    FabricTicket ticket = {
        .pid = getpid(), .fd = physical->fd, .inode = inode_of(physical->fd)};
    memcpy(ticket.mark, fabric_mark, sizeof ticket.mark);
    memset(out, 0, sizeof *out);
    memcpy(out, &ticket, sizeof ticket);
}

/* A descriptor of the memory that a handle names, or -1. */
static int open_fabric_handle(const CUmemFabricHandle *handle) {
    FabricTicket ticket;
    char path[64];
    memcpy(&ticket, handle, sizeof ticket);
    if (memcmp(ticket.mark, fabric_mark, sizeof ticket.mark) != 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket.pid, ticket.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && inode_of(fd) != ticket.inode) {
        close(fd);
        return -1;
    }
    return fd;
}

CUresult cuMemExportToShareableHandle(void *out,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type,
                                      unsigned long long flags) {
    SIM_CALL(0);
    NEED_VMM();
    Physical *physical;
    CUresult code = find(handle, __func__, &physical);
    if (code != CUDA_SUCCESS)
        return code;
    if (out == NULL || flags != 0 ||
        (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
         type != CU_MEM_HANDLE_TYPE_FABRIC))
        return INVALID("shareableHandle is NULL, type %d or flags %llu",
                       (int)type, flags);
    if (physical->imported)
        return INVALID("the memory was imported, and its creator exports it");
    if ((physical->properties.requestedHandleTypes & type) == 0)
        return INVALID("the memory was not created to be exported so");
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        write_fabric_handle(physical, out);
        return CUDA_SUCCESS;
    }
    int fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out,
                                        void *shared,
                                        CUmemAllocationHandleType type) {
    SIM_CALL(0);
    NEED_VMM();
    int fd = (int)(intptr_t)shared, number = -1;
    char link[64], target[128] = "";
    bool fabric = type == CU_MEM_HANDLE_TYPE_FABRIC;
    if (out == NULL ||
        (!fabric && type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return INVALID("handle is NULL or type is %d", (int)type);
    if (fabric && sim.config.without_fabric)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (fabric && (shared == NULL || (fd = open_fabric_handle(shared)) < 0))
        return FAIL(CUDA_ERROR_NOT_SUPPORTED,
                    "the fabric handle names no memory");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, target, sizeof target - 1) < 0 ||
        sscanf(target, "/memfd:simcuda-physical-%d", &number) != 1) {
        if (fabric)
            close(fd);
        struct stat about;
        if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
            return FAIL(CUDA_ERROR_UNKNOWN, "%d is the descriptor of a file",
                        fd);
        return INVALID("%d is not a descriptor of exported memory", fd);
    }
    Device *device = NULL;
    for (int i = 0; i < sim.device_count; i++)
        if (sim.devices[i].number == number)
            device = &sim.devices[i];
    if (device == NULL) {
        if (fabric)
            close(fd);
        return FAIL(CUDA_ERROR_NOT_SUPPORTED,
                    "the memory is of device %d, which is not visible", number);
    }
    Physical *physical =
        object_new(KIND_PHYSICAL, sizeof *physical, NULL, __func__);
    physical->fd = fabric ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    physical->object.size = physical->size =
        (size_t)lseek(physical->fd, 0, SEEK_END);
    physical->device = device;
    physical->references = 1;
    /* Imported memory names no type of handle (driver 580). */
    physical->imported = true;
    physical->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    physical->properties.location =
        (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal};
    *out = physical->object.handle;
    return CUDA_SUCCESS;
}
