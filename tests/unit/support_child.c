/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support_cmocka.h"

enum { RETURNED = 42 };

static _Noreturn void run_child(void (*body)(void *), void *arg, int out) {
    prctl(PR_SET_DUMPABLE, 0); /* a wanted abort leaves no core file */
    signal(SIGABRT, SIG_DFL);  /* cmocka and the sanitizers would catch it */
    dup2(out, STDERR_FILENO);
    body(arg);
    _exit(RETURNED);
}

static void read_all(int fd, char *text, size_t room) {
    size_t length = 0;
    ssize_t n;
    while (length + 1 < room && (n = read(fd, text + length, room - 1 - length)) > 0) {
        length += (size_t)n;
    }
    text[length] = '\0';
}

int child_signal(void (*body)(void *), void *arg, char *text, size_t room) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run_child(body, arg, ends[1]);
    }
    close(ends[1]);
    read_all(ends[0], text, room);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        return WTERMSIG(status);
    }
    return WEXITSTATUS(status) == RETURNED ? 0 : -1;
}
