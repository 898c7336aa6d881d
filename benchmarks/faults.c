/* Lets the n-th system call on the files of one folder fail, or kills the process there.

   Preloaded into Python: cc -shared -fPIC -O1 -o faults.so faults.c -ldl, then LD_PRELOAD=./faults.so.
   Counted are the calls that open, write, sync, cut, lock, rename, remove and close. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { FAIL, KILL, SHORT };

static char folder[PATH_MAX];
static int target, mode, number, lasting, count, full, hit;
static char name_of_hit[32];

void faults_arm(const char *where, int at, int how, int error, int stays) {
    strncpy(folder, where, sizeof folder - 1);
    target = at, mode = how, number = error, lasting = stays, count = full = hit = 0;
}
void faults_disarm(void) { folder[0] = 0; }
int faults_count(void) { return count; }
const char *faults_hit(void) { return hit ? name_of_hit : ""; }

static int ours(const char *path) {
    return folder[0] && path && !strncmp(path, folder, strlen(folder));
}
static int ours_fd(int fd) {
    char link[64], path[PATH_MAX];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return ours(path);
}
static int due(const char *name) {
    count++;
    if (!target || !(count == target || (lasting && count > target))) return 0;
    hit = 1;
    strncpy(name_of_hit, name, sizeof name_of_hit - 1);
    if (mode == KILL && strcmp(name, "write")) kill(getpid(), SIGKILL);
    errno = number;
    return 1;
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static ssize_t half(ssize_t (*put)(int, const void *, size_t, off_t), int fd, const void *data, size_t size, off_t at) {
    if (full) { full = 0; errno = ENOSPC; return -1; }
    if (!due("write")) return put(fd, data, size, at);
    if (mode == FAIL) return -1;
    ssize_t done = size > 1 ? put(fd, data, size / 2, at) : 0;
    if (mode == KILL) kill(getpid(), SIGKILL);
    full = 1;
    if (done > 0) return done;
    full = 0;
    errno = ENOSPC;
    return -1;
}
static ssize_t put_here(int fd, const void *data, size_t size, off_t at) {
    (void)at;
    REAL(write);
    return real(fd, data, size);
}
static ssize_t put_there(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    return real(fd, data, size, at);
}
ssize_t write(int fd, const void *data, size_t size) {
    return ours_fd(fd) ? half(put_here, fd, data, size, 0) : put_here(fd, data, size, 0);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return ours_fd(fd) ? half(put_there, fd, data, size, at) : put_there(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return pwrite(fd, data, size, at); }

static mode_t rights(int flags, va_list more) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; }

#define OPENS(name)                                                                                                    \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t given = rights(flags, more);                                                                            \
        va_end(more);                                                                                                  \
        REAL(name);                                                                                                    \
        return ours(path) && due("open") ? -1 : real(path, flags, given);                                              \
    }
OPENS(open)
OPENS(open64)

#define ON_FILE(name, said, arguments, call)                                                                           \
    int name arguments {                                                                                               \
        REAL(name);                                                                                                    \
        return ours_fd(fd) && due(said) ? -1 : real call;                                                              \
    }
ON_FILE(fsync, "fsync", (int fd), (fd))
ON_FILE(fdatasync, "fsync", (int fd), (fd))
ON_FILE(ftruncate, "ftruncate", (int fd, off_t size), (fd, size))
ON_FILE(ftruncate64, "ftruncate", (int fd, off_t size), (fd, size))
int flock(int fd, int how);
ON_FILE(flock, "lock", (int fd, int how), (fd, how))

#define CONTROLS(name)                                                                                                 \
    int name(int fd, int command, ...) {                                                                               \
        va_list more;                                                                                                  \
        va_start(more, command);                                                                                       \
        void *given = va_arg(more, void *);                                                                            \
        va_end(more);                                                                                                  \
        REAL(name);                                                                                                    \
        int lock = command == F_SETLK || command == F_SETLKW;                                                          \
        return lock && ours_fd(fd) && due("lock") ? -1 : real(fd, command, given);                                     \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

int rename(const char *from, const char *to) {
    REAL(rename);
    return ours(from) && due("rename") ? -1 : real(from, to);
}
int unlink(const char *path) {
    REAL(unlink);
    return ours(path) && due("unlink") ? -1 : real(path);
}
int mknod(const char *path, mode_t rights, dev_t device) {
    REAL(mknod);
    return ours(path) && due("mknod") ? -1 : real(path, rights, device);
}
int close(int fd) {
    REAL(close);
    int faulty = ours_fd(fd) && due("close"), kept = errno;
    int done = real(fd); /* a file is closed even if closing it fails */
    if (!faulty) return done;
    errno = kept;
    return -1;
}
