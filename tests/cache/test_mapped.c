/*
 * Lost pages of a mapped file, with each kind of SIGBUS handler that a program
 * can have. A read of a lost page in a watched mapping returns zeros. For every
 * other page the signal has the same effect as without the watch; each check
 * tests that too. Every check runs in a process of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "mappedfiles/mapped.h"

enum { PAGE = 4096, PAGES = 64 };

/* ---------------------------------------------------------------- a file */

struct mapping {
    int fd;
    volatile unsigned char *bytes;
    size_t size;
    struct fm_mapped *watch;
};

/* A file of sevens, or of holes, mapped to be read. */
static struct mapping map(size_t size, bool has_holes) {
    struct mapping m = {.size = size};
    char path[] = "/tmp/ferrum_mapped_XXXXXX";
    m.fd = mkstemp(path);
    CHECK(m.fd >= 0 && unlink(path) == 0);
    CHECK(ftruncate(m.fd, (off_t)size) == 0);
    char sevens[PAGE];
    memset(sevens, 7, sizeof sevens);
    for (size_t at = 0; !has_holes && at < size; at += PAGE)
        CHECK(pwrite(m.fd, sevens, PAGE, (off_t)at) == PAGE);
    m.bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, m.fd, 0);
    CHECK(m.bytes != MAP_FAILED);
    return m;
}

static void watch(struct mapping *m) {
    m->watch = fm_mapped_watch((uintptr_t)m->bytes, m->size, m->fd);
    CHECK(m->watch != NULL && !fm_mapped_is_damaged(m->watch));
}

static void end(struct mapping *m) {
    if (m->watch != NULL)
        fm_mapped_end(m->watch);
    CHECK(munmap((void *)m->bytes, m->size) == 0);
    close(m->fd);
}

/* ------------------------------------------------- handlers of the program */

static volatile sig_atomic_t calls;
static volatile uintptr_t called_for;
static struct sigaction program_former;

/* Maps the lost page again, so that the program continues. */
static void map_again(uintptr_t address) {
    called_for = address;
    calls = calls + 1;
    if (mmap((void *)(address & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        _exit(90);
}

static void with_info(int number, siginfo_t *info, void *context) {
    if (number != SIGBUS || context == NULL || info->si_code <= 0)
        _exit(91);
    map_again((uintptr_t)info->si_addr);
}

static volatile unsigned char *volatile expected_fault;
static void plain(int number) {
    if (number != SIGBUS)
        _exit(92);
    map_again((uintptr_t)expected_fault);
}

static void count_only(int number) {
    (void)number;
    calls = calls + 1;
}

/* Installed later than the watch, it calls the handler before it. */
static void chained(int number, siginfo_t *info, void *context) {
    calls = calls + 1;
    program_former.sa_sigaction(number, info, context);
}

static void install(void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaddset(&action.sa_mask, SIGUSR2);
    CHECK(sigaction(SIGBUS, &action, &program_former) == 0);
}

static void install_info(void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = flags | SA_SIGINFO;
    CHECK(sigaction(SIGBUS, &action, &program_former) == 0);
}

/* Uses a lost page of a watched mapping, which no handler may see. */
static void lose_watched_page(void) {
    struct mapping m = map(PAGES * PAGE, false);
    watch(&m);
    CHECK(ftruncate(m.fd, 3 * PAGE + 5) == 0);
    int before = calls;
    errno = 4321;
    CHECK(m.bytes[3 * PAGE + 4] == 7 && m.bytes[3 * PAGE + 5] == 0);
    CHECK(!fm_mapped_is_damaged(m.watch));
    CHECK(m.bytes[9 * PAGE + 1] == 0 && errno == 4321);
    CHECK(fm_mapped_is_damaged(m.watch) && calls == before);
    for (size_t at = 0; at < m.size; at++)
        CHECK(m.bytes[at] == (at < 3 * PAGE + 5 ? 7 : 0));
    end(&m);
}

/* Uses a lost page of a mapping that is not watched. */
static void lose_other_page(void) {
    struct mapping m = map(PAGES * PAGE, false);
    CHECK(ftruncate(m.fd, PAGE) == 0);
    expected_fault = m.bytes + 9 * PAGE;
    CHECK(m.bytes[9 * PAGE] == 0);
    end(&m);
}

/* --------------------------------------------------------------- processes */

/* Runs a check in a process of its own, and returns how that ended. */
static int run_alone(void (*check)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        alarm(120);
        check();
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void run_well(void (*check)(void)) {
    int status = run_alone(check);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run_until_signal(void (*check)(void)) {
    int status = run_alone(check);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

/* ------------------------------------------------------------------ checks */

static void default_then_watched(void) {
    install(SIG_DFL, 0);
    lose_watched_page();
    lose_watched_page();
}
static void default_then_other(void) {
    default_then_watched();
    lose_other_page();
}
static void default_then_sent(void) {
    default_then_watched();
    raise(SIGBUS);
}
static void ignored_then_sent(void) {
    install(SIG_IGN, 0);
    lose_watched_page();
    CHECK(raise(SIGBUS) == 0);
    lose_watched_page();
}
static void ignored_then_other(void) {
    ignored_then_sent();
    lose_other_page();
}
static void ended_watch(void) {
    install(SIG_DFL, 0);
    struct mapping m = map(PAGES * PAGE, false);
    watch(&m);
    fm_mapped_end(m.watch);
    CHECK(ftruncate(m.fd, 0) == 0);
    CHECK(m.bytes[0] == 0);
}

static void without_a_handler(void) {
    run_well(default_then_watched);
    run_until_signal(default_then_other);
    run_until_signal(default_then_sent);
    run_well(ignored_then_sent);
    run_until_signal(ignored_then_other);
    run_until_signal(ended_watch);
}

static void info_before(void) {
    install_info(with_info, 0);
    lose_watched_page();
    lose_other_page();
    CHECK(calls == 1 && called_for == (uintptr_t)expected_fault);
    lose_watched_page();
    lose_other_page();
    CHECK(calls == 2);
}
static void plain_before(void) {
    install(plain, SA_NODEFER);
    lose_watched_page();
    lose_other_page();
    CHECK(calls == 1);
    struct sigaction now;
    CHECK(sigaction(SIGBUS, NULL, &now) == 0);
    CHECK((now.sa_flags & SA_NODEFER) != 0 && (now.sa_flags & SA_ONSTACK) != 0);
    CHECK(sigismember(&now.sa_mask, SIGUSR2) == 1);
}
static void sent_before(void) {
    install(count_only, 0);
    lose_watched_page();
    CHECK(raise(SIGBUS) == 0 && calls == 1);
    lose_watched_page();
    CHECK(raise(SIGBUS) == 0 && calls == 2);
}
static void once_before(void) {
    install(plain, (int)SA_RESETHAND);
    lose_watched_page();
    lose_other_page();
    CHECK(calls == 1);
    lose_watched_page();
}
static void once_before_twice(void) {
    once_before();
    lose_other_page();
}

static void with_a_handler_before(void) {
    run_well(info_before);
    run_well(plain_before);
    run_well(sent_before);
    run_well(once_before);
    run_until_signal(once_before_twice);
}

static void chained_after(void) {
    install(SIG_DFL, 0);
    lose_watched_page();
    install_info(chained, SA_ONSTACK);
    struct mapping m = map(PAGES * PAGE, false);
    watch(&m);
    CHECK(ftruncate(m.fd, PAGE) == 0);
    CHECK(m.bytes[PAGE] == 0 && fm_mapped_is_damaged(m.watch) && calls == 1);
    end(&m);
}
static void chained_after_then_other(void) {
    chained_after();
    lose_other_page();
}
/* A handler that does not call the one before gets everything. */
static void sole_after(void) {
    lose_watched_page();
    install_info(with_info, 0);
    struct mapping m = map(PAGES * PAGE, false);
    watch(&m);
    CHECK(ftruncate(m.fd, PAGE) == 0);
    CHECK(m.bytes[PAGE] == 0 && calls == 1 && !fm_mapped_is_damaged(m.watch));
    end(&m);
}

static void with_a_handler_after(void) {
    run_well(chained_after);
    run_until_signal(chained_after_then_other);
    run_well(sole_after);
}

/* A file of 1 GiB without any page left, read in a scattered order. The system
 * allows fewer mappings than it has pages. */
static void lose_many_pages(void) {
    struct mapping m = map((size_t)1 << 30, true);
    watch(&m);
    CHECK(ftruncate(m.fd, 0) == 0);
    uint64_t state = 1;
    for (int n = 0; n < 200000; n++)
        CHECK(m.bytes[random_next(&state) % m.size] == 0);
    CHECK(fm_mapped_is_damaged(m.watch));
    end(&m);
}

static void many_pages_are_gone(void) { run_well(lose_many_pages); }

/* Threads watch and use mappings, while others lose pages of theirs. */
enum { THREADS = 4, ROUNDS = 200 };

static void *map_and_lose(void *number) {
    uint64_t state = 1 + (uint64_t)(uintptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        struct mapping m = map(PAGES * PAGE, false);
        watch(&m);
        size_t left = random_next(&state) % PAGES;
        CHECK(ftruncate(m.fd, (off_t)(left * PAGE)) == 0);
        for (size_t page = PAGES; page-- > 0;)
            CHECK(m.bytes[page * PAGE] == (page < left ? 7 : 0));
        CHECK(fm_mapped_is_damaged(m.watch));
        end(&m);
    }
    return NULL;
}

static void *share_and_lose(void *mapping) {
    struct mapping *m = mapping;
    for (size_t at = 0; at < m->size; at += PAGE)
        CHECK(m->bytes[at] == 0);
    return NULL;
}

static void lose_on_threads(void) {
    pthread_t threads[THREADS];
    for (uintptr_t n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, map_and_lose, (void *)n) == 0);
    for (int n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    struct mapping m = map(PAGES * PAGE, false);
    watch(&m);
    CHECK(ftruncate(m.fd, 0) == 0);
    for (int n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, share_and_lose, &m) == 0);
    for (int n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    end(&m);
}

static void threads_lose_pages(void) { run_well(lose_on_threads); }

/* A watch that gets no memory leaves nothing, and the next one works. */
static void watch_without_memory(void) {
    struct mapping m = map(PAGE, false);
    allocations_left = 0;
    errno = 0;
    CHECK(fm_mapped_watch((uintptr_t)m.bytes, m.size, m.fd) == NULL);
    CHECK(errno == ENOMEM);
    allocations_left = -1;
    end(&m);
    lose_watched_page();
}

static void memory_is_missing(void) { run_well(watch_without_memory); }

int main(void) {
    static const struct test tests[] = {
        TEST(without_a_handler),    TEST(with_a_handler_before),
        TEST(with_a_handler_after), TEST(many_pages_are_gone),
        TEST(threads_lose_pages),   TEST(memory_is_missing),
    };
    return run_tests(tests, sizeof tests / sizeof *tests);
}
