// Records every change of the files below FAULTS_ROOT, and injects faults there. For LD_PRELOAD.
//
// FAULTS_LOG is the log. Each record is written before the recorded call returns, so a client that has
// a response finds all changes before that response in the log. `src/durability/log.rs` reads it.
// FAULTS_CONTROL is a file with one fault per line: `enospc`, `erofs`, `eio-fsync`, or `clock SECONDS`.
// Replace it by a rename. Faults spare the folder `sandbox`, the platform, whose changes are recorded.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, RESIZE, WRITE, SYNC, FAILED_SYNC, SYNC_FOLDER, RENAME, REMOVE, FOLDER, LINK, SYNC_ALL };
// Little endian, followed by both paths and the data.
struct header { uint32_t size, kind; uint64_t inode, number; uint32_t path_size, other_size; };
struct control { int enospc, erofs, eio_fsync; long clock; };

static char root[PATH_MAX];
static size_t root_size;
static const char *control_file;
static int log_fd = -1;
// Held during each recorded call, so that the log has the order of the calls.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t records;

static void die(const char *reason) { perror(reason), abort(); }
__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("FAULTS_ROOT"), *log = getenv("FAULTS_LOG");
    if (!folder || !log) return;
    unsetenv("LD_PRELOAD");  // The log has the changes of one process.
    if (!realpath(folder, root)) die("FAULTS_ROOT");
    log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) die("FAULTS_LOG");
    control_file = getenv("FAULTS_CONTROL"), root_size = strlen(root);
}

static struct control control(void) {
    static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
    static struct control known;
    static ino_t seen;
    struct stat now;
    int kept = errno;
    pthread_mutex_lock(&reading);
    if (control_file && stat(control_file, &now) == 0 && now.st_ino != seen) {
        char text[1024] = {0};
        int fd = syscall(SYS_openat, AT_FDCWD, control_file, O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0 || read(fd, text, sizeof text - 1) < 0 || fstat(fd, &now) < 0) die("FAULTS_CONTROL");
        syscall(SYS_close, fd);
        const char *clock = strstr(text, "clock ");
        known = (struct control){strstr(text, "enospc") != 0, strstr(text, "erofs") != 0,
                                 strstr(text, "eio-fsync") != 0, clock ? strtol(clock + 6, 0, 10) : 0};
        seen = now.st_ino;
    }
    struct control result = known;
    pthread_mutex_unlock(&reading);
    return errno = kept, result;
}

// The part of an absolute path below the root; null if the path is elsewhere.
static const char *below(const char *path) {
    if (!root_size || strncmp(path, root, root_size) != 0) return 0;
    return path[root_size] == '/' ? path + root_size + 1 : path[root_size] ? 0 : path + root_size;
}

static const char *named(int folder, const char *name, char *path) {
    char link[32];
    if (name[0] == '/') return below(name);
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0 || PATH_MAX <= size + 1 + strlen(name)) return 0;
    path[size] = '/';
    return strcpy(path + size + 1, name), below(path);
}

// The path of an open file or folder. After an unlink, the path ends in " (deleted)".
static const char *opened(int fd, struct stat *found, char *path) {
    char link[32];
    int kept = errno;
    ssize_t size = -1;
    if (root_size && fstat(fd, found) == 0 && (S_ISREG(found->st_mode) || S_ISDIR(found->st_mode))) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        size = readlink(link, path, PATH_MAX - 1);
    }
    errno = kept;
    return size < 0 ? 0 : (path[size] = 0, below(path));
}

#define OPENED(fd) \
    char buffer[PATH_MAX]; \
    struct stat found; \
    const char *path = opened(fd, &found, buffer)
static int spared(const char *path) { return strncmp(path, "sandbox", 7) == 0 && (path[7] == '/' || path[7] == 0); }

// The error of a call that changes this path; 0 without a fault.
static int fault(const char *path, int needs_space) {
    struct control now = control();
    if (spared(path)) return 0;
    return now.erofs ? EROFS : now.enospc && needs_space ? ENOSPC : 0;
}

static void record(uint32_t kind, uint64_t inode, uint64_t number, const char *path, const char *other,
                   const struct iovec *data, size_t data_size) {
    int kept = errno;
    size_t paths[] = {strlen(path), strlen(other)}, size = sizeof(struct header) + paths[0] + paths[1] + data_size;
    struct header header = {size, kind, inode, number, paths[0], paths[1]};
    char *whole = malloc(size), *end;
    if (!whole) die("no memory");
    end = mempcpy(mempcpy(mempcpy(whole, &header, sizeof header), path, paths[0]), other, paths[1]);
    for (size_t part; data_size; data_size -= part, data++)
        end = mempcpy(end, data->iov_base, part = data->iov_len < data_size ? data->iov_len : data_size);
    if (syscall(SYS_write, log_fd, whole, size) != (long)size) die("FAULTS_LOG");
    free(whole);
    records++, errno = kept;
}

// Takes the lock, and makes `call` unless a fault prevents it.
#define GUARDED(error, call) (pthread_mutex_lock(&lock), (prevented = (error)) ? (errno = prevented, -1) : (call))
static long unlocked(long result) { return pthread_mutex_unlock(&lock), result; }

static int open_file(int folder, const char *name, int flags, mode_t mode) {
    char buffer[PATH_MAX];
    struct stat found;
    const char *path = named(folder, name, buffer);
    int changes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC), prevented;
    if (!path || !changes) return syscall(SYS_openat, folder, name, flags, mode);
    int is_new, fd = GUARDED((is_new = fstatat(folder, name, &found, 0) != 0, fault(path, is_new)),
                             syscall(SYS_openat, folder, name, flags, mode));
    if (0 <= fd && is_new && fstat(fd, &found) == 0) record(CREATE, found.st_ino, 0, path, "", 0, 0);
    if (0 <= fd && !is_new && flags & O_TRUNC) record(RESIZE, found.st_ino, 0, path, "", 0, 0);
    return unlocked(fd);
}

// `at` is negative for the position of the descriptor.
static ssize_t write_file(int fd, const struct iovec *data, int count, off_t at) {
    OPENED(fd);
    long call = at < 0 ? SYS_writev : SYS_pwritev, prevented;
    if (!path) return syscall(call, fd, data, count, at, 0);
    ssize_t size = GUARDED(fault(path, 1), syscall(call, fd, data, count, at, 0));
    if (0 < size) {
        off_t end = at < 0 ? lseek(fd, 0, SEEK_CUR) : at + size;
        if (fcntl(fd, F_GETFL) & O_APPEND && fstat(fd, &found) == 0) end = found.st_size;
        record(WRITE, found.st_ino, end - size, path, "", data, size);
    }
    return unlocked(size);
}

static int sync_file(int fd, long call) {
    OPENED(fd);
    if (!path) return syscall(call, fd);
    pthread_mutex_lock(&lock);
    uint64_t before = unlocked(records);  // Whether later changes are synced is unknown.
    int result = control().eio_fsync && !spared(path) ? (errno = EIO, -1) : syscall(call, fd);
    pthread_mutex_lock(&lock);
    uint32_t kind = S_ISDIR(found.st_mode) ? SYNC_FOLDER : result ? FAILED_SYNC : SYNC;
    if (result == 0 || kind == FAILED_SYNC) record(kind, found.st_ino, before, path, "", 0, 0);
    return unlocked(result);
}

// `other` is null for a call with one path.
static int change_names(uint32_t kind, long call, int folder, const char *name, int to, const char *other, int flags) {
    char buffer[PATH_MAX], second[PATH_MAX];
    const char *path = named(folder, name, buffer), *target = other ? named(to, other, second) : "";
    long third = other ? to : flags, prevented;
    if (!path && (!other || !target)) return syscall(call, folder, name, third, other, flags);
    if (!path || !target) die("a file is moved across FAULTS_ROOT");
    int result = GUARDED(fault(path, kind == FOLDER || kind == LINK),
                         syscall(call, folder, name, third, other, flags));
    if (result == 0) record(kind, 0, 0, path, target, 0, 0);
    return unlocked(result);
}

// On 64-bit machines, the functions with 64 in their names are the others.
#define ALSO(name) __typeof__(name) name##64 __attribute__((alias(#name)))
#define OPEN(folder, name) \
    va_list rest; \
    va_start(rest, flags); \
    int fd = open_file(folder, name, flags, flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0); \
    va_end(rest); \
    return fd
int open(const char *name, int flags, ...) { OPEN(AT_FDCWD, name); }
int openat(int folder, const char *name, int flags, ...) { OPEN(folder, name); }
int creat(const char *name, mode_t mode) { return open_file(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
ALSO(open); ALSO(openat); ALSO(creat);
#define ONE(data, size) &(struct iovec){(void *)(data), size}, 1
ssize_t write(int fd, const void *data, size_t size) { return write_file(fd, ONE(data, size), -1); }
ssize_t writev(int fd, const struct iovec *data, int count) { return write_file(fd, data, count, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_file(fd, ONE(data, size), at); }
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t at) { return write_file(fd, data, count, at); }
ALSO(pwrite); ALSO(pwritev);
int ftruncate(int fd, off_t size) {
    OPENED(fd);
    int prevented;
    if (!path) return syscall(SYS_ftruncate, fd, size);
    int result = GUARDED(fault(path, 0), syscall(SYS_ftruncate, fd, size));
    if (result == 0) record(RESIZE, found.st_ino, size, path, "", 0, 0);
    return unlocked(result);
}
ALSO(ftruncate);
int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }
int syncfs(int fd) {
    OPENED(fd);
    if (!path) return syscall(SYS_syncfs, fd);
    pthread_mutex_lock(&lock);
    uint64_t before = unlocked(records);
    int result = control().eio_fsync ? (errno = EIO, -1) : syscall(SYS_syncfs, fd);
    pthread_mutex_lock(&lock);
    if (result == 0) record(SYNC_ALL, 0, before, path, "", 0, 0);
    return unlocked(result);
}
// Callers fall back to `write`.
ssize_t copy_file_range(int in, off_t *at, int to, off_t *to_at, size_t size, unsigned flags) {
    OPENED(to);
    return path ? (errno = EINVAL, -1) : syscall(SYS_copy_file_range, in, at, to, to_at, size, flags);
}
ssize_t sendfile(int to, int in, off_t *at, size_t size) {
    OPENED(to);
    return path ? (errno = EINVAL, -1) : syscall(SYS_sendfile, to, in, at, size);
}
ALSO(sendfile);
int renameat2(int folder, const char *name, int to, const char *other, unsigned flags) {
    return change_names(RENAME, SYS_renameat2, folder, name, to, other, flags);
}
int renameat(int folder, const char *name, int to, const char *other) { return renameat2(folder, name, to, other, 0); }
int rename(const char *name, const char *other) { return renameat2(AT_FDCWD, name, AT_FDCWD, other, 0); }
int linkat(int folder, const char *name, int to, const char *other, int flags) {
    return change_names(LINK, SYS_linkat, folder, name, to, other, flags);
}
int link(const char *name, const char *other) { return linkat(AT_FDCWD, name, AT_FDCWD, other, 0); }
int unlinkat(int at, const char *name, int flags) { return change_names(REMOVE, SYS_unlinkat, at, name, 0, 0, flags); }
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int mkdirat(int at, const char *name, mode_t mode) { return change_names(FOLDER, SYS_mkdirat, at, name, 0, 0, mode); }
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += control().clock;
    return result;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int result = syscall(SYS_gettimeofday, time, zone);
    if (result == 0) time->tv_sec += control().clock;
    return result;
}
time_t time(time_t *at) {
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now), at ? *at = now.tv_sec : now.tv_sec;
}
