/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The Ringforge authors
 *
 * Loaded before the C library: makes calls that write below a folder fail, the n-th or from the n-th on.
 *
 * FAULTS_UNDER names the folder; FAULTS_CONTROL is a file of four 64-bit numbers that the test shares with the process:
 * calls seen, the first that fails (0: none), how many fail, and with which errno. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int64_t* control;
static const char* under;

__attribute__((constructor)) static void begin(void) {
    const char* path = getenv("FAULTS_CONTROL");
    under = getenv("FAULTS_UNDER");
    if (!path || !under) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
    if (fd < 0) abort();
    control = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (control == MAP_FAILED) abort();
}

static int inside(const char* path) { return strncmp(path, under, strlen(under)) == 0; }

static int of_fd(int fd) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return inside(path);
}

static int of_path(int at, const char* path) {
    char full[2 * PATH_MAX];
    if (path[0] == '/') return inside(path);
    if (at != AT_FDCWD) return of_fd(at);
    if (!getcwd(full, PATH_MAX)) return 0;
    strcat(strcat(full, "/"), path);
    return inside(full);
}

static int fails(int here) {
    if (!here) return 0;
    int64_t n = __atomic_add_fetch(&control[0], 1, __ATOMIC_SEQ_CST), first = control[1];
    if (first <= 0 || n < first || n - first >= control[2]) return 0;
    errno = (int)control[3];
    return 1;
}

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))
#define REPLACE(result, name, here, wrong, arguments, ...)                   \
    result name arguments {                                                  \
        static result(*next) arguments;                                      \
        int kept = errno;                                                    \
        if (!next) next = NEXT(result(*) arguments, #name);                  \
        if (control && fails(here)) return wrong;                            \
        errno = kept;                                                        \
        return next(__VA_ARGS__);                                            \
    }

REPLACE(ssize_t, write, of_fd(fd), -1, (int fd, const void* data, size_t size), fd, data, size)
REPLACE(ssize_t, writev, of_fd(fd), -1, (int fd, const struct iovec* parts, int count), fd, parts, count)
REPLACE(ssize_t, pwrite, of_fd(fd), -1, (int fd, const void* data, size_t size, off_t at), fd, data, size, at)
REPLACE(ssize_t, pwrite64, of_fd(fd), -1, (int fd, const void* data, size_t size, off_t at), fd, data, size, at)
REPLACE(int, fsync, of_fd(fd), -1, (int fd), fd)
REPLACE(int, fdatasync, of_fd(fd), -1, (int fd), fd)
REPLACE(int, ftruncate, of_fd(fd), -1, (int fd, off_t size), fd, size)
REPLACE(int, ftruncate64, of_fd(fd), -1, (int fd, off_t size), fd, size)
REPLACE(int, fallocate, of_fd(fd), -1, (int fd, int mode, off_t at, off_t size), fd, mode, at, size)
REPLACE(int, posix_fallocate, of_fd(fd), errno, (int fd, off_t at, off_t size), fd, at, size)
REPLACE(int, rename, of_path(AT_FDCWD, to), -1, (const char* from, const char* to), from, to)
REPLACE(int, renameat, of_path(b, to), -1, (int a, const char* from, int b, const char* to), a, from, b, to)
REPLACE(int, link, of_path(AT_FDCWD, to), -1, (const char* from, const char* to), from, to)
REPLACE(int, linkat, of_path(b, to), -1, (int a, const char* from, int b, const char* to, int how), a, from, b, to, how)
REPLACE(int, mkdir, of_path(AT_FDCWD, path), -1, (const char* path, mode_t mode), path, mode)

/* Opening counts where it makes a file. */
#define OPEN(name, makes, here, arguments, ...)                              \
    int name arguments {                                                     \
        static int(*next) arguments;                                         \
        mode_t mode = 0;                                                     \
        if (flags & (O_CREAT | __O_TMPFILE)) {                               \
            va_list more;                                                    \
            va_start(more, flags);                                           \
            mode = va_arg(more, mode_t);                                     \
            va_end(more);                                                    \
        }                                                                    \
        int kept = errno;                                                    \
        if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name);                 \
        if (control && (flags & O_CREAT) && makes && fails(here)) return -1; \
        errno = kept;                                                        \
        return next(__VA_ARGS__, mode);                                      \
    }

OPEN(open, access(path, F_OK), of_path(AT_FDCWD, path), (const char* path, int flags, ...), path, flags)
OPEN(open64, access(path, F_OK), of_path(AT_FDCWD, path), (const char* path, int flags, ...), path, flags)
OPEN(openat, faccessat(at, path, F_OK, 0), of_path(at, path), (int at, const char* path, int flags, ...), at, path, flags)
OPEN(openat64, faccessat(at, path, F_OK, 0), of_path(at, path), (int at, const char* path, int flags, ...), at, path, flags)
