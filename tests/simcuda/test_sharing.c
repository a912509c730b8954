/* Handles that two processes share, and access of one device to the memory
 * of another. */
#include <sys/socket.h>

#include "mapping.h"

/* Starts the other process before this process opens the driver, and
 * connects the two by pipes. */
typedef struct Pair {
    int to_child[2], to_parent[2];
    pid_t child;
} Pair;

static Pair pair;

static void tell(int fd, const void *data, size_t size) {
    EXPECT(write(fd, data, size) == (ssize_t)size);
}

static void hear(int fd, void *data, size_t size) {
    EXPECT(read(fd, data, size) == (ssize_t)size);
}

static void with_child(void (*run)(void)) {
    EXPECT(pipe(pair.to_child) == 0 && pipe(pair.to_parent) == 0);
    pair.child = fork();
    if (pair.child == 0) {
        alarm(30);
        run();
        exit(0);
    }
}

static void child_is_well(void) {
    int status = 1;
    EXPECT(waitpid(pair.child, &status, 0) == pair.child && status == 0);
}

static void opens_memory(void) {
    CUipcMemHandle handle, wrong;
    CUdeviceptr a, again, b;
    CUcontext made;
    unsigned char byte;
    hear(pair.to_child[0], &handle, sizeof handle);
    begin();
    memset(&wrong, 0, sizeof wrong);
    INVALID(cuIpcOpenMemHandle(&a, wrong, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    INVALID(cuIpcOpenMemHandle(&a, handle, 0));
    OK(cuIpcOpenMemHandle(&a, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    EXPECT(again == a);
    /* Only one context of a device may open the memory of another process. */
    OK(cuCtxCreate(&made, 0, 0));
    BREAKS(CUDA_ERROR_INVALID_HANDLE,
           cuIpcOpenMemHandle(&b, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuCtxDestroy(made));
    OK(cuMemcpyDtoH(&byte, a + 999, 1));
    EXPECT(byte == 17);
    INVALID(cuMemsetD8(a, 1, 1001));
    OK(cuMemsetD8(a + 999, 18, 1));
    OK(cuCtxSynchronize());
    INVALID(cuMemFree(a));
    INVALID(cuIpcCloseMemHandle(a + 8));
    OK(cuIpcCloseMemHandle(a));
    OK(cuMemcpyDtoH(&byte, a + 999, 1));
    OK(cuIpcCloseMemHandle(a));
    INVALID(cuIpcCloseMemHandle(a));
    INVALID(cuMemcpyDtoH(&byte, a, 1));
    end();
}

static void memory_between_processes(void) {
    with_child(opens_memory);
    begin();
    CUipcMemHandle handle, none;
    CUdeviceptr a, b;
    unsigned char byte;
    OK(cuMemAlloc(&a, 1000));
    OK(cuMemsetD8(a, 17, 1000));
    OK(cuCtxSynchronize());
    /* The handle is of the whole allocation. */
    GIVES(CUDA_SUCCESS, cuIpcGetMemHandle(&handle, a + 5));
    OK(cuIpcGetMemHandle(&handle, a));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT,
           cuIpcOpenMemHandle(&b, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuMemAllocManaged(&b, 100, CU_MEM_ATTACH_GLOBAL));
    INVALID(cuIpcGetMemHandle(&none, b));
    OK(cuMemFree(b));
    tell(pair.to_child[1], &handle, sizeof handle);
    child_is_well();
    OK(cuMemcpyDtoH(&byte, a + 999, 1));
    EXPECT(byte == 18);
    OK(cuMemFree(a));
    end();
}

static void gone(void) {
    CUipcMemHandle handle;
    CUdeviceptr a;
    hear(pair.to_child[0], &handle, sizeof handle);
    begin();
    INVALID(cuIpcOpenMemHandle(&a, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    end();
}

static void memory_that_is_gone(void) {
    with_child(gone);
    begin();
    CUipcMemHandle handle;
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 1000));
    OK(cuIpcGetMemHandle(&handle, a));
    OK(cuMemFree(a));
    tell(pair.to_child[1], &handle, sizeof handle);
    child_is_well();
    end();
}

static void waits_for_event(void) {
    CUipcEventHandle handle;
    CUevent event;
    char word = 0;
    hear(pair.to_child[0], &handle, sizeof handle);
    begin();
    OK(cuIpcOpenEventHandle(&event, handle));
    GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    tell(pair.to_parent[1], &word, 1);
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy(event));
    end();
}

static void events_between_processes(void) {
    with_child(waits_for_event);
    begin();
    static Gate gate = GATE_INIT;
    CUipcEventHandle handle;
    CUevent event, plain;
    CUstream stream;
    char word;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    BREAKS(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&handle, plain));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    OK(cuIpcGetEventHandle(&handle, event));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenEventHandle(&plain, handle));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuEventRecord(event, stream));
    tell(pair.to_child[1], &handle, sizeof handle);
    hear(pair.to_parent[0], &word, 1);
    gate_open(&gate);
    child_is_well();
    OK(cuEventDestroy(event));
    OK(cuEventDestroy(plain));
    OK(cuStreamDestroy(stream));
    end();
}

static void event_gone(void) {
    CUipcEventHandle handle;
    CUevent event;
    hear(pair.to_child[0], &handle, sizeof handle);
    ((char *)&handle)[sizeof(int) * 2 + 4] ^= 64;
    begin();
    BREAKS(CUDA_ERROR_MAP_FAILED, cuIpcOpenEventHandle(&event, handle));
    end();
}

/* A handle that names a file which its process does not have. */
static void event_that_is_gone(void) {
    with_child(event_gone);
    begin();
    CUipcEventHandle handle;
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    OK(cuIpcGetEventHandle(&handle, event));
    tell(pair.to_child[1], &handle, sizeof handle);
    child_is_well();
    OK(cuEventDestroy(event));
    end();
}

static void leaves_open(void) {
    CUipcMemHandle handle;
    CUdeviceptr a;
    hear(pair.to_child[0], &handle, sizeof handle);
    begin();
    OK(cuIpcOpenMemHandle(&a, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
    exit(0);
}

static void leak_opened(void) {
    int status = 0;
    with_child(leaves_open);
    begin();
    CUipcMemHandle handle;
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 1000));
    OK(cuIpcGetMemHandle(&handle, a));
    tell(pair.to_child[1], &handle, sizeof handle);
    EXPECT(waitpid(pair.child, &status, 0) == pair.child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == LEAKS);
    OK(cuMemFree(a));
    end();
    _exit(LEAKS);
}

/* --- pages by descriptor ----------------------------------------------------- */

/* Receives the descriptor through a socket, as another process would.
 * Returns -1 if the socket is closed. */
static int take_descriptor(int from) {
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof room};
    int fd = -1;
    if (recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL)
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static void give_descriptor(int to, int fd) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))];
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof room};
    memset(room, 0, sizeof room);
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(part), &fd, sizeof fd);
    EXPECT(sendmsg(to, &message, 0) == 1);
}

/* Starts the other process before this process opens the driver. The other
 * process receives a descriptor. Returns the socket to it. */
static int with_descriptor(void (*run)(int fd)) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pair.child = fork();
    if (pair.child == 0) {
        alarm(30);
        close(ends[0]);
        int fd = take_descriptor(ends[1]);
        if (fd >= 0)
            run(fd);
        exit(fd < 0);
    }
    close(ends[1]);
    return ends[0];
}

static void uses_descriptor(int fd) {
    CUmemGenericAllocationHandle handle;
    unsigned char byte;
    begin();
    OK(cuMemImportFromShareableHandle(
        &handle, (void *)(intptr_t)fd,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CUdeviceptr at = reserve(PAGE);
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(allow(at, PAGE, 0, 3));
    OK(cuMemcpyDtoH(&byte, at + 77, 1));
    EXPECT(byte == 42);
    OK(cuMemsetD8(at + 77, 43, 1));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, PAGE));
    end();
}

static void shared_by_descriptor(void) {
    int fd;
    unsigned char byte = 0;
    int to = with_descriptor(uses_descriptor);
    begin();
    CUmemGenericAllocationHandle handle, plain = create(PAGE), none;
    CUmemAllocationProp prop = properties(0, true);
    OK(cuMemCreate(&handle, PAGE, &prop, 0));
    INVALID(cuMemExportToShareableHandle(
        &fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    INVALID(cuMemImportFromShareableHandle(
        &none, (void *)(intptr_t)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUmemFabricHandle nothing = {{0}};
    int fabric = 0;
    OK(cuDeviceGetAttribute(
        &fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0));
    if (fabric)
        BREAKS(CUDA_ERROR_NOT_SUPPORTED,
               cuMemImportFromShareableHandle(&none, &nothing,
                                              CU_MEM_HANDLE_TYPE_FABRIC));
    OK(cuMemExportToShareableHandle(
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUdeviceptr at = reserve(PAGE);
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(allow(at, PAGE, 0, 3));
    OK(cuMemsetD8(at + 77, 42, 1));
    OK(cuCtxSynchronize());
    give_descriptor(to, fd);
    child_is_well();
    OK(cuMemcpyDtoH(&byte, at + 77, 1));
    EXPECT(byte == 43);
    close(fd);
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemRelease(handle));
    OK(cuMemRelease(plain));
    OK(cuMemAddressFree(at, PAGE));
    end();
}

static CUmemGenericAllocationHandle import(int fd) {
    CUmemGenericAllocationHandle handle = 0;
    OK(cuMemImportFromShareableHandle(
        &handle, (void *)(intptr_t)fd,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return handle;
}

/* A descriptor can be imported several times, also after its creator has
 * released the memory. What was imported cannot be exported. */
static void imported_memory_is_not_exported(void) {
    int fd, none;
    unsigned char byte = 0;
    begin();
    CUmemGenericAllocationHandle handle, first, second;
    CUmemAllocationProp prop = properties(0, true), of;
    OK(cuMemCreate(&handle, PAGE, &prop, 0));
    OK(cuMemExportToShareableHandle(
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemGetAllocationPropertiesFromHandle(&of, handle));
    EXPECT(of.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    first = import(fd);
    OK(cuMemGetAllocationPropertiesFromHandle(&of, first));
    EXPECT(of.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE);
    EXPECT(of.type == CU_MEM_ALLOCATION_TYPE_PINNED);
    EXPECT(of.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    EXPECT(of.location.id == 0);
    INVALID(cuMemExportToShareableHandle(
        &none, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemRelease(handle));
    INVALID(cuMemExportToShareableHandle(
        &none, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    int copy = dup(fd);
    close(fd);
    second = import(copy);
    CUdeviceptr at = reserve(2 * PAGE);
    OK(cuMemMap(at, PAGE, 0, first, 0));
    OK(cuMemMap(at + PAGE, PAGE, 0, second, 0));
    OK(allow(at, 2 * PAGE, 0, 3));
    OK(cuMemsetD8(at + 77, 42, 1));
    OK(cuMemcpyDtoH(&byte, at + PAGE + 77, 1));
    EXPECT(byte == 42);
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemUnmap(at + PAGE, PAGE));
    OK(cuMemRelease(first));
    OK(cuMemRelease(second));
    first = import(copy);
    OK(cuMemMap(at, PAGE, 0, first, 0));
    OK(allow(at, PAGE, 0, 3));
    OK(cuMemcpyDtoH(&byte, at + 77, 1));
    EXPECT(byte == 42);
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemRelease(first));
    OK(cuMemAddressFree(at, 2 * PAGE));
    close(copy);
    end();
}

static void a_file_is_no_memory(void) {
    CUmemGenericAllocationHandle none;
    FILE *file = tmpfile();
    EXPECT(file != NULL);
    begin();
    BREAKS(CUDA_ERROR_UNKNOWN, cuMemImportFromShareableHandle(
                                   &none, (void *)(intptr_t)fileno(file),
                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    end();
    fclose(file);
}

/* Sees only the first device, and receives memory of the second. */
static void sees_one_device(int fd) {
    CUmemGenericAllocationHandle none;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char first[64];
    snprintf(first, sizeof first, "%s", visible != NULL ? visible : "0");
    first[strcspn(first, ",")] = 0;
    setenv("CUDA_VISIBLE_DEVICES", first, 1);
    begin();
    BREAKS(CUDA_ERROR_NOT_SUPPORTED,
           cuMemImportFromShareableHandle(
               &none, (void *)(intptr_t)fd,
               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    end();
}

static void shared_of_a_device_that_is_not_seen(void) {
    int fd;
    int to = with_descriptor(sees_one_device);
    begin();
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = properties(1, true);
    OK(cuMemCreate(&handle, PAGE, &prop, 0));
    OK(cuMemExportToShareableHandle(
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    give_descriptor(to, fd);
    child_is_well();
    close(fd);
    OK(cuMemRelease(handle));
    end();
}

/* --- peers ------------------------------------------------------------------ */

static CUcontext other;
static CUdeviceptr far;

static void prepare_peers(void) {
    begin();
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxPushCurrent(other));
    OK(cuMemAlloc(&far, 1000));
    OK(cuMemsetD8(far, 4, 1000));
    OK(cuCtxSynchronize());
    OK(cuCtxPopCurrent(NULL));
}

static void finish_peers(void) {
    OK(cuCtxPushCurrent(other));
    OK(cuMemFree(far));
    OK(cuCtxPopCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease(1));
    end();
}

static void copies_between_devices(void) {
    prepare_peers();
    CUdeviceptr near;
    CUstream stream;
    unsigned char byte;
    OK(cuMemAlloc(&near, 1000));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemcpyPeerAsync(near, context, far, other, 1000, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&byte, near + 999, 1));
    EXPECT(byte == 4);
    INVALID(cuMemcpyPeer(near, context, far + 1, other, 1000));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT,
           cuMemcpyPeer(near, NULL, far, other, 1000));
    INVALID(cuMemcpyPeer(near, other, far, context, 1000));
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(near));
    finish_peers();
}

static void access_of_peers(void) {
    int can;
    prepare_peers();
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(can == 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 0));
    EXPECT(can == 0);
    BREAKS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
    INVALID(cuMemsetD8(far, 1, 1000));
    OK(cuCtxEnablePeerAccess(other, 0));
    GIVES(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
          cuCtxEnablePeerAccess(other, 0));
    OK(cuMemsetD8(far, 1, 1000));
    INVALID(cuCtxEnablePeerAccess(other, 1));
    BREAKS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(context, 0));
    OK(cuCtxSynchronize());
    OK(cuCtxDisablePeerAccess(other));
    INVALID(cuMemsetD8(far, 1, 1000));
    finish_peers();
}

static void no_peers(void) {
    int can;
    prepare_peers();
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(can == 0);
    GIVES(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(other, 0));
    finish_peers();
}

static const Case cases[] = {
    {"memory between processes", memory_between_processes, 0, NULL},
    {"memory that is gone", memory_that_is_gone, 0, NULL},
    {"events between processes", events_between_processes, 0, NULL},
    {"an event that is gone", event_that_is_gone, 0, NULL},
    {"leaked memory of another process", leak_opened, LEAKS, NULL},
    {"shared by descriptor", shared_by_descriptor, 0, NULL},
    {"imported memory is not exported", imported_memory_is_not_exported, 0,
     NULL},
    {"a file is no memory", a_file_is_no_memory, 0, NULL},
    {"shared of a device that is not seen", shared_of_a_device_that_is_not_seen,
     0, NULL},
    {"copies between devices", copies_between_devices, 0, NULL},
    {"access of peers", access_of_peers, 0, NULL},
    {"no peers", no_peers, 0, "SIMCUDA_WITHOUT=peer"},
};

int main(void) { return RUN(cases); }
