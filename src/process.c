/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a waiting process exits with when the one in the background is gone without a word. */
enum { DIED_SILENTLY = 1, FIRST_FREE_FD = 3, PID_ROOM = 32, LOG_MODE = 0640, PID_MODE = 0644 };

/* errno's status, once the message says what failed. */
static enum status failed(struct buffer *message, const char *what, const char *name) {
    int error = errno;
    enum status written = buffer_printf(message, "cannot %s %s: %s", what, name, strerror(error));
    return written == ST_OK ? status_from_errno(error) : written;
}

/* ---- descriptors and background ---- */

void process_open_standard(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDWR); /* meant to be inherited: no O_CLOEXEC */
    } while (fd >= 0 && fd < FIRST_FREE_FD);
    if (fd >= FIRST_FREE_FD) {
        close(fd);
    }
}

/* In the process that was started: exits with what the background process reports. */
_Noreturn static void wait_for_report(int from) {
    unsigned char status = DIED_SILENTLY;
    ssize_t n;
    sigset_t none;
    sigemptyset(&none); /* whoever is tired of waiting may leave */
    sigprocmask(SIG_SETMASK, &none, NULL);
    do {
        n = read(from, &status, 1);
    } while (n < 0 && errno == EINTR);
    _exit(n == 1 ? status : DIED_SILENTLY);
}

enum status process_daemonize(int *report) {
    int ends[2];
    *report = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return status_from_errno(errno);
    }
    pid_t child = fork();
    if (child > 0) {
        close(ends[1]);
        wait_for_report(ends[0]);
    }
    if (child == 0) {
        close(ends[0]);
        /* The second fork leaves a process that leads no session and can get no terminal. */
        if (setsid() < 0 || (child = fork()) < 0) {
            _exit(DIED_SILENTLY);
        }
        if (child > 0) {
            _exit(0);
        }
        *report = ends[1];
        return ST_OK;
    }
    enum status status = status_from_errno(errno);
    close(ends[0]);
    close(ends[1]);
    return status;
}

void process_report(int *report, int exit_status) {
    unsigned char byte = (unsigned char)exit_status;
    ssize_t n;
    if (*report < 0) {
        return;
    }
    do {
        n = write(*report, &byte, 1);
    } while (n < 0 && errno == EINTR);
    close(*report); /* if it could not be written, the end of the pipe says that something is wrong */
    *report = -1;
}

static void point_at(int fd, const char *path, int flags) {
    int opened = open(path, flags | O_CLOEXEC, LOG_MODE);
    if (opened >= 0) {
        dup2(opened, fd);
        close(opened);
    }
}

void process_redirect(const char *path) {
    bool file = path[0] != '\0';
    point_at(STDIN_FILENO, "/dev/null", O_RDONLY);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        point_at(fd, file ? path : "/dev/null", file ? O_WRONLY | O_APPEND | O_CREAT : O_WRONLY);
    }
}

/* ---- user ---- */

static bool is_empty(const char *path) {
    bool empty = true;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return false;
    }
    for (const struct dirent *entry = readdir(dir); entry != NULL && empty; entry = readdir(dir)) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    closedir(dir);
    return empty;
}

static enum status give_dir(const char *path, const struct passwd *to, struct buffer *message) {
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return failed(message, "make", path);
    }
    if (is_empty(path) && chown(path, to->pw_uid, to->pw_gid) != 0) {
        return failed(message, "give away", path);
    }
    return ST_OK;
}

static enum status give_log(const char *path, const struct passwd *to, struct buffer *message) {
    int fd = path[0] != '\0' ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, LOG_MODE) : -1;
    if (fd < 0) {
        return ST_OK; /* one that is there is as its owner wants it; a bad name is told of by the logger */
    }
    enum status status = fchown(fd, to->pw_uid, to->pw_gid) != 0 ? failed(message, "give away", path) : ST_OK;
    close(fd);
    return status;
}

enum status process_become(const char *user, const char *data_dir, const char *log_file, struct buffer *message) {
    if (geteuid() != 0) {
        return ST_OK;
    }
    errno = 0;
    const struct passwd *to = getpwnam(user);
    if (to == NULL) {
        errno = errno != 0 ? errno : ENOENT;
        return failed(message, "find the user", user);
    }
    enum status status = give_dir(data_dir, to, message);
    if (status == ST_OK) {
        status = give_log(log_file, to, message);
    }
    if (status != ST_OK) {
        return status;
    }
    if (initgroups(user, to->pw_gid) != 0 || setgid(to->pw_gid) != 0 || setuid(to->pw_uid) != 0) {
        return failed(message, "become", user);
    }
    return ST_OK;
}

/* ---- limits ---- */

uint64_t process_raise_descriptors(uint64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return wanted;
    }
    if (limit.rlim_cur < wanted) {
        struct rlimit raised = {wanted, limit.rlim_max > wanted ? limit.rlim_max : wanted};
        if (setrlimit(RLIMIT_NOFILE, &raised) != 0) {
            /* Only root may go over the hard limit. */
            raised = (struct rlimit){limit.rlim_max, limit.rlim_max};
            (void)setrlimit(RLIMIT_NOFILE, &raised);
        }
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}

/* The limit is for core files.  Handlers that the kernel pipes cores to do not heed it; for them no memory is marked to
 * be dumped.  PR_SET_DUMPABLE would do both, but also hide /proc/PID from whoever watches the server. */
void process_forbid_core(void) {
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "0", 1);
        close(fd);
    }
}

/* ---- pid file ---- */

enum status process_write_pid(const char *path, struct buffer *message) {
    char fresh[PATH_MAX];
    char text[PID_ROOM];
    int n = snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    int fd = n > 0 && (size_t)n < sizeof fresh ? open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, PID_MODE) : -1;
    if (fd < 0) {
        return failed(message, "write the pid file", path);
    }
    n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    bool written = write(fd, text, (size_t)n) == n;
    if (close(fd) != 0 || !written || rename(fresh, path) != 0) {
        enum status status = failed(message, "write the pid file", path);
        unlink(fresh);
        return status;
    }
    return ST_OK;
}

void process_remove_pid(const char *path) {
    char text[PID_ROOM] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n > 0 && strtol(text, NULL, 10) == (long)getpid()) {
        unlink(path);
    }
}
