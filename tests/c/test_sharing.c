/*
 * Pages of one process in another process, contexts of the program, native
 * handles, and peer access, on two host devices.
 */
#include "asserts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE (UINT64_C(64) << 10)
#define PAGES 3

typedef struct {
    ferrum_device devices[2];
    ferrum_manager manager;
} state;

static void start(state *s) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = UINT64_C(256) << 20;
    assert_ok(ferrum_init(&config));
    assert_ok(ferrum_device_open("cpu:0", &s->devices[0]));
    assert_ok(ferrum_device_open("cpu:1", &s->devices[1]));
    assert_ok(ferrum_manager_create(s->devices[0], NULL, &s->manager));
}

static void stop(state *s) {
    assert_ok(ferrum_manager_destroy(s->manager, 0));
    assert_ok(ferrum_device_close(s->devices[0], 0));
    assert_ok(ferrum_device_close(s->devices[1], 0));
    assert_ok(ferrum_shutdown(0));
}

static void assert_error(ferrum_status status, ferrum_status want,
                         const char *part) {
    assert_status(status, want);
    assert_message(part);
}

static int begin(void **data) {
    static state s;
    start(&s);
    *data = &s;
    return 0;
}

static int end(void **data) {
    stop(*data);
    return 0;
}

/* Descriptors of pages only. The process may open other descriptors at any
 * time. */
static int open_descriptors(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char target[64] = "";
        if (readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1) >
                0 &&
            strncmp(target, "/memfd:", 7) == 0)
            count++;
    }
    closedir(dir);
    return count;
}

static ferrum_vpool shareable(ferrum_device device) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    ferrum_vpool vpool;
    config.capacity_bytes = 8 * PAGE;
    config.page_bytes = PAGE;
    config.backing = FERRUM_BACKING_SHAREABLE;
    config.ready_pages = 0;
    config.name = "shared pages";
    assert_ok(ferrum_vpool_create(device, &config, &vpool));
    return vpool;
}

static ferrum_status import(ferrum_manager manager, const int32_t *files,
                            ferrum_memory *memory) {
    ferrum_page_import pages = FERRUM_PAGE_IMPORT_INIT;
    pages.descriptors = files;
    pages.count = PAGES;
    pages.page_bytes = PAGE;
    pages.tag = "theirs";
    return ferrum_manager_import_pages(manager, &pages, memory);
}

/* --- two processes: descriptors go through a socket --------------------------- */

static void send_files(int to, const int32_t *files) {
    char byte = 0, room[CMSG_SPACE(sizeof(int) * PAGES)] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * PAGES);
    memcpy(CMSG_DATA(head), files, sizeof(int) * PAGES);
    assert_int_equal(sendmsg(to, &message, 0), 1);
}

static void receive_files(int from, int32_t *files) {
    char byte, room[CMSG_SPACE(sizeof(int) * PAGES)] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof room};
    assert_int_equal(recvmsg(from, &message, MSG_CMSG_CLOEXEC), 1);
    memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int) * PAGES);
}

/* What this program does when it is started as the other process. A forked
 * child cannot use the library. */
static void other_process(void **data) {
    int socket = *(const int *)*data;
    state s;
    int32_t files[PAGES];
    ferrum_memory memory;
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    receive_files(socket, files);
    start(&s);
    assert_ok(import(s.manager, files, &memory));
    for (int i = 0; i < PAGES; i++)
        close(files[i]);
    assert_ok(ferrum_memory_get_handle_info(memory, &info));
    assert_int_equal(info.size_bytes, PAGES * PAGE);
    assert_int_equal(info.is_adopted, 1);
    unsigned char *bytes = (unsigned char *)(uintptr_t)info.address;
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(bytes[(uint64_t)(i + 1) * PAGE - 1], i + 1);
    bytes[0] = 99;
    /* It is used like any other block. */
    char half[8];
    assert_ok(ferrum_memory_read(memory, PAGE - 4, half, 8));
    assert_int_equal(half[3], 1);
    assert_ok(ferrum_memory_free(memory));
    stop(&s);
}

static void pages_of_another_process(void **data) {
    int sockets[2];
    state s;
    (void)data;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", sockets[1]);
        alarm(60);
        execl("/proc/self/exe", "test_sharing", number, (char *)NULL);
        _exit(127);
    }
    close(sockets[1]);
    start(&s);
    int32_t files[PAGES];
    size_t count = 0;
    ferrum_address address;
    ferrum_vpool vpool = shareable(s.devices[0]);
    assert_ok(ferrum_vpool_alloc(vpool, 2 * PAGE, PAGES * PAGE, &address));
    unsigned char *bytes = (unsigned char *)(uintptr_t)address;
    for (int i = 0; i < PAGES; i++)
        bytes[(uint64_t)(i + 1) * PAGE - 1] = (unsigned char)(i + 1);
    assert_ok(ferrum_vpool_export(vpool, 2 * PAGE, PAGES * PAGE, files, PAGES,
                                  &count));
    assert_int_equal(count, PAGES);
    send_files(sockets[0], files);
    for (int i = 0; i < PAGES; i++)
        close(files[i]);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(bytes[0], 99);
    close(sockets[0]);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    stop(&s);
}

/* --- one process ---------------------------------------------------------------- */

static void import_is_the_same_memory(void **data) {
    state *s = *data;
    int before = open_descriptors();
    ferrum_vpool vpool = shareable(s->devices[0]);
    ferrum_address address;
    ferrum_memory memory, again;
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    int32_t files[PAGES + 1] = {0};
    size_t count = 0;
    assert_ok(ferrum_vpool_alloc(vpool, 0, PAGES * PAGE, &address));
    assert_ok(
        ferrum_vpool_export(vpool, 0, PAGES * PAGE, files, PAGES + 1, &count));
    assert_int_equal(count, PAGES);
    for (int i = 0; i < PAGES; i++)
        assert_true(fcntl(files[i], F_GETFD) & FD_CLOEXEC);
    assert_ok(import(s->manager, files, &memory));
    assert_ok(import(s->manager, files, &again));
    assert_ok(ferrum_memory_write(memory, PAGE, "abc", 3));
    assert_memory_equal((char *)(uintptr_t)address + PAGE, "abc", 3);
    assert_ok(ferrum_memory_get_handle_info(again, &info));
    assert_memory_equal((char *)(uintptr_t)info.address + PAGE, "abc", 3);
    assert_string_equal(info.tag, "theirs");
    for (int i = 0; i < PAGES; i++)
        close(files[i]);

    /* An imported page still exists after the pool was destroyed. */
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    char bytes[3];
    assert_ok(ferrum_memory_read(memory, PAGE, bytes, 3));
    assert_memory_equal(bytes, "abc", 3);
    assert_error(ferrum_manager_destroy(s->manager, 0), FERRUM_ERROR_BUSY, "");
    assert_ok(ferrum_memory_free(memory));
    assert_error(ferrum_memory_free(memory), FERRUM_ERROR_INVALID_HANDLE, "");
    assert_ok(ferrum_memory_free(again));
    assert_error(import(s->manager, files, &memory),
                 FERRUM_ERROR_INVALID_ARGUMENT, "descriptor");
    assert_int_equal(memory.id, 0);
    assert_int_equal(open_descriptors(), before);
}

static void export_refuses(void **data) {
    state *s = *data;
    int before = open_descriptors();
    ferrum_vpool vpool = shareable(s->devices[0]);
    ferrum_address address;
    int32_t files[PAGES];
    size_t count = 7;
    assert_ok(ferrum_vpool_alloc(vpool, 0, PAGES * PAGE, &address));
    assert_error(
        ferrum_vpool_export(vpool, 0, PAGES * PAGE, files, PAGES - 1, &count),
        FERRUM_ERROR_BUFFER_TOO_SMALL, "for 3 pages");
    assert_int_equal(count, PAGES);
    assert_error(ferrum_vpool_export(vpool, 0, PAGES * PAGE, NULL, 0, &count),
                 FERRUM_ERROR_BUFFER_TOO_SMALL, "for 3 pages");
    assert_int_equal(count, PAGES);
    static const struct {
        uint64_t offset, size;
        ferrum_status status;
    } wrong[] = {
        {0, 0, FERRUM_ERROR_INVALID_SIZE},
        {8, PAGE, FERRUM_ERROR_INVALID_OFFSET},
        {0, PAGE - 1, FERRUM_ERROR_INVALID_OFFSET},
        {8 * PAGE, PAGE, FERRUM_ERROR_INVALID_OFFSET},
        {0, UINT64_MAX, FERRUM_ERROR_INVALID_OFFSET},
        {PAGE, PAGES * PAGE, FERRUM_ERROR_NOT_MAPPED},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        count = 7;
        assert_error(ferrum_vpool_export(vpool, wrong[i].offset, wrong[i].size,
                                         files, PAGES, &count),
                     wrong[i].status, "");
        assert_int_equal(count, 0);
    }
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    assert_int_equal(open_descriptors(), before);
}

static void peers_and_capabilities(void **data) {
    state *s = *data;
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    assert_ok(ferrum_device_get_info(s->devices[0], &info));
    assert_true(info.capabilities & FERRUM_CAPABILITY_EXPORTED_PAGES);
    assert_false(info.capabilities & FERRUM_CAPABILITY_SHARED_MEMORY);
    assert_false(info.capabilities & FERRUM_CAPABILITY_RDMA_PAGES);
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = 8 << 20;
    config.backing = FERRUM_BACKING_RDMA;
    ferrum_vpool pool;
    assert_error(ferrum_vpool_create(s->devices[0], &config, &pool),
                 FERRUM_ERROR_UNSUPPORTED, "GPUDirect RDMA");
    assert_false(info.capabilities & FERRUM_CAPABILITY_FABRIC_PAGES);
    config.backing = FERRUM_BACKING_FABRIC;
    assert_error(ferrum_vpool_create(s->devices[0], &config, &pool),
                 FERRUM_ERROR_UNSUPPORTED, "fabric handles");
    assert_ok(ferrum_device_grant_peer(s->devices[0], s->devices[1]));
    assert_ok(ferrum_device_grant_peer(s->devices[0], s->devices[1]));
    ferrum_device device;
    assert_error(ferrum_device_open("cpu:GPU-0", &device),
                 FERRUM_ERROR_INVALID_ARGUMENT, "GPU-0");
}

int main(int count, char **arguments) {
    if (count == 2) {
        int socket = atoi(arguments[1]);
        const struct CMUnitTest other[] = {
            cmocka_unit_test_prestate(other_process, &socket)};
        return cmocka_run_group_tests(other, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_another_process),
        cmocka_unit_test_setup_teardown(import_is_the_same_memory, begin, end),
        cmocka_unit_test_setup_teardown(export_refuses, begin, end),
        cmocka_unit_test_setup_teardown(peers_and_capabilities, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
