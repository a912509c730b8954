/*
 * Tensors that are mapped from a file that becomes shorter, with handlers for
 * SIGBUS of the program before and after, and without any. The lost bytes are
 * zeros and the check of the set tells it. Every other fault ends the process,
 * or reaches the program's handler, as in a process that maps no file.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "ferrum_mem.h"
#include "weight_files.h"

enum { BIG = 1 << 20, PAGE = 4096 };

static char path[64];
static volatile sig_atomic_t calls;

static void start(uint32_t flags) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = UINT64_C(256) << 20;
    config.flags = flags;
    EXPECT(ferrum_init(&config) == FERRUM_OK);
    snprintf(path, sizeof path, "/tmp/ferrum-lost-%d.safetensors",
             (int)getpid());
    weight_file_write(path, BIG);
}

/* Maps a file, and reads a part that is lost then. */
static void lose_pages(void) {
    ferrum_weights weights = weight_file_open(path);
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.flags = FERRUM_WEIGHTS_LOAD_MAP;
    ferrum_tensor_set set;
    EXPECT(ferrum_weights_load(weights, &request, &set) == FERRUM_OK);
    ferrum_tensor_info big = FERRUM_TENSOR_INFO_INIT;
    EXPECT(ferrum_tensor_set_find(set, "big", &big) == FERRUM_OK);
    const volatile unsigned char *bytes =
        (const volatile unsigned char *)(uintptr_t)big.address;
    EXPECT(bytes[1] == 1 && bytes[BIG - 1] == (BIG - 1) % 251);
    EXPECT(ferrum_tensor_set_check(set) == FERRUM_OK);
    int before = calls;
    EXPECT(truncate(path, 2 * PAGE) == 0);
    EXPECT(bytes[1] == 1);
    EXPECT(bytes[BIG - 1] == 0 && bytes[BIG / 2] == 0);
    EXPECT(ferrum_tensor_set_check(set) == FERRUM_ERROR_IO);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    EXPECT(ferrum_last_error(&error) == FERRUM_OK);
    EXPECT(strstr(error.message, path) != NULL);
    EXPECT(calls == before);
    EXPECT(ferrum_tensor_set_free(set, 0) == FERRUM_OK);
    EXPECT(ferrum_weights_close(weights, 0) == FERRUM_OK);
    weight_file_write(path, BIG);
}

/* A page of a file of the program's own that is lost. */
static volatile unsigned char *volatile other;
static void lose_other_page(void) {
    int file = open(path, O_RDWR);
    EXPECT(file >= 0);
    other = mmap(NULL, BIG, PROT_READ, MAP_SHARED, file, 0);
    EXPECT(other != MAP_FAILED && ftruncate(file, PAGE) == 0);
    other += BIG / 2;
    EXPECT(*other == 0);
}

/* The program's handler maps the page again. */
static void map_again(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    calls = calls + 1;
    void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    if (info->si_addr != (void *)other ||
        mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) != page)
        _exit(90);
}

static struct sigaction former;
static void chain(int number, siginfo_t *info, void *context) {
    calls = calls + 1;
    former.sa_sigaction(number, info, context);
}

static void install(void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    EXPECT(sigaction(SIGBUS, &action, &former) == 0);
}

/* Runs a function in a copy of this process, and returns how that ended. */
static int ending_of(void (*function)(void)) {
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        function();
        _exit(0);
    }
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid);
    return status;
}

static void end(void) { EXPECT(unlink(path) == 0); }

static void check_without_a_handler(void) {
    start(0);
    lose_pages();
    lose_pages();
    /* The fault of the program comes in a child, whose end is looked at. */
    int status = ending_of(lose_other_page);
    EXPECT(!WIFEXITED(status) || WEXITSTATUS(status) == 2);
    EXPECT(!WIFSIGNALED(status) || WTERMSIG(status) == SIGBUS ||
           WTERMSIG(status) == SIGABRT);
    end();
}

static void check_handler_before(void) {
    start(0);
    install(map_again);
    lose_pages();
    lose_other_page();
    EXPECT(calls == 1);
    end();
}

static void check_handler_before_init(void) {
    install(map_again);
    start(0);
    lose_pages();
    lose_other_page();
    EXPECT(calls == 1);
    end();
}

static void check_handler_after(void) {
    start(0);
    lose_pages();
    install(chain);
    int before = calls;
    ferrum_weights weights = weight_file_open(path);
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.flags = FERRUM_WEIGHTS_LOAD_MAP;
    ferrum_tensor_set set;
    EXPECT(ferrum_weights_load(weights, &request, &set) == FERRUM_OK);
    ferrum_tensor_info big = FERRUM_TENSOR_INFO_INIT;
    EXPECT(ferrum_tensor_set_find(set, "big", &big) == FERRUM_OK);
    EXPECT(truncate(path, 2 * PAGE) == 0);
    EXPECT(((const volatile unsigned char *)(uintptr_t)big.address)[BIG - 1] ==
           0);
    EXPECT(calls == before + 1);
    EXPECT(ferrum_tensor_set_check(set) == FERRUM_ERROR_IO);
    EXPECT(ferrum_tensor_set_free(set, 0) == FERRUM_OK);
    EXPECT(ferrum_weights_close(weights, 0) == FERRUM_OK);
    end();
}

/* The library installs nothing: the handler stays the one of the program. */
static void check_left(void) {
    start(FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS);
    install(map_again);
    ferrum_weights weights = weight_file_open(path);
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.flags = FERRUM_WEIGHTS_LOAD_MAP;
    ferrum_tensor_set set;
    EXPECT(ferrum_weights_load(weights, &request, &set) == FERRUM_OK);
    struct sigaction now;
    EXPECT(sigaction(SIGBUS, NULL, &now) == 0);
    EXPECT(now.sa_sigaction == map_again);
    EXPECT(ferrum_tensor_set_free(set, 0) == FERRUM_OK);
    EXPECT(ferrum_weights_close(weights, 0) == FERRUM_OK);
    end();
}

static const alone_check checks[] = {
    {"without_a_handler", check_without_a_handler, NULL, NULL},
    {"handler_before", check_handler_before, NULL, NULL},
    {"handler_before_init", check_handler_before_init, NULL, NULL},
    {"handler_after", check_handler_after, NULL, NULL},
    {"left", check_left, NULL, NULL},
};

int main(int argc, char **argv) {
#ifdef __SANITIZE_ADDRESS__
    /* The sanitizer has its own handlers. */
    (void)checks;
    (void)argc;
    (void)argv;
    printf("0 passed, 0 failed, %zu skipped\n", sizeof checks / sizeof *checks);
    return 0;
#else
    return alone_main(argc, argv, checks, sizeof checks / sizeof *checks);
#endif
}
