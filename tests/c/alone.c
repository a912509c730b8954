#include "alone.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT_MAX = 1 << 16, HANGS_AFTER_S = 150 };

/* The output of a check, and how its process ended. */
typedef struct {
    int status;
    int hung;
    char output[OUTPUT_MAX];
} alone_outcome;

static void alone_child(const alone_check *check, int output) {
    dup2(output, 1);
    dup2(output, 2);
    if (output > 2)
        close(output);
    if (check->environment != NULL) {
        char *copy = strdup(check->environment);
        char *value = strchr(copy, '=');
        *value++ = 0;
        setenv(copy, value, 1);
    }
    if (check->before != NULL)
        check->before();
    execl("/proc/self/exe", program_invocation_name, check->name, (char *)NULL);
    _exit(127);
}

static void alone_wait(pid_t pid, alone_outcome *outcome) {
    for (int waited = 0; waited < HANGS_AFTER_S * 200; waited++) {
        if (waitpid(pid, &outcome->status, WNOHANG) == pid)
            return;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &outcome->status, 0);
    outcome->hung = 1;
}

static int alone_start(const alone_check *check, alone_outcome *outcome) {
    memset(outcome, 0, sizeof *outcome);
    char path[] = "/tmp/ferrum_alone_XXXXXX";
    int output = mkstemp(path);
    if (output < 0)
        return -1;
    unlink(path);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        alone_child(check, output);
    if (pid > 0)
        alone_wait(pid, outcome);
    ssize_t length = pread(output, outcome->output, OUTPUT_MAX - 1, 0);
    outcome->output[length > 0 ? length : 0] = 0;
    close(output);
    return pid > 0 ? 0 : -1;
}

/* Prints what went wrong. Returns 1 for passed, 0 for failed, or
 * ALONE_SKIPPED. */
static int alone_judge(const alone_check *check, const alone_outcome *outcome) {
    if (WIFEXITED(outcome->status) && !outcome->hung) {
        int code = WEXITSTATUS(outcome->status);
        if (code == 0)
            return 1;
        if (code == ALONE_SKIPPED) {
            printf("skipped %s: %s", check->name, outcome->output);
            return ALONE_SKIPPED;
        }
        fprintf(stderr, "FAILED %s: exit status %d\n", check->name, code);
    } else {
        fprintf(stderr, "FAILED %s: %s %d\n", check->name,
                outcome->hung ? "hung, killed by" : "signal",
                WTERMSIG(outcome->status));
    }
    fprintf(stderr, "%.4000s\n", outcome->output);
    return 0;
}

int alone_main(int argc, char **argv, const alone_check *checks, size_t count) {
    if (argc == 2) {
        for (size_t i = 0; i < count; i++)
            if (strcmp(checks[i].name, argv[1]) == 0) {
                checks[i].run();
                return 0;
            }
        fprintf(stderr, "no check %s\n", argv[1]);
        return 2;
    }
    static alone_outcome outcome;
    size_t passed = 0, failed = 0, skipped = 0;
    for (size_t i = 0; i < count; i++) {
        if (alone_start(&checks[i], &outcome) != 0) {
            fprintf(stderr, "FAILED %s: did not start\n", checks[i].name);
            failed++;
            continue;
        }
        int verdict = alone_judge(&checks[i], &outcome);
        passed += verdict == 1;
        failed += verdict == 0;
        skipped += verdict == ALONE_SKIPPED;
    }
    printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
    return failed != 0;
}
