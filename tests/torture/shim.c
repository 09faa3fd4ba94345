/*
 * Stands between a program and the C library (LD_PRELOAD) and sees every write, sync, truncation and change of names
 * below one folder: it can keep them in a journal, of which crash images are made, and make one of them fail, or kill
 * the program there. Built by shim.py, which has its Python side; see docs/reference/torture.md.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 4096
enum { WRITE = 1, SYNC = 2, TRUNCATE = 4, OPEN = 8, NAMES = 16, READ_ONLY = 32 };
enum { FAIL = 0, SHORT = 1, KILL = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *root;
static char *paths[FILES];
static unsigned char *journal;
static size_t journal_size, journal_room;
static int recording;
static long seen;
static int fail_classes, fail_errno, fail_sticky, fail_how;
static long fail_at;

#define REAL(name) \
    static __typeof__(name) *real_##name; \
    if (!real_##name) real_##name = dlsym(RTLD_NEXT, #name)

struct record {
    uint8_t kind;
    uint8_t failed;
    uint16_t path_size;
    uint32_t data_size;
    int64_t number;
};

static void keep(char kind, int failed, const char *path, int64_t number, const void *data, size_t size) {
    if (!recording) return;
    struct record record = {(uint8_t)kind, (uint8_t)failed, (uint16_t)strlen(path), (uint32_t)size, number};
    size_t need = journal_size + sizeof record + record.path_size + size;
    if (need > journal_room) {
        journal_room = 2 * need;
        journal = realloc(journal, journal_room);
        if (!journal) abort();
    }
    memcpy(journal + journal_size, &record, sizeof record);
    memcpy(journal + journal_size + sizeof record, path, record.path_size);
    if (size) memcpy(journal + journal_size + sizeof record + record.path_size, data, size);
    journal_size = need;
}

static int watched(const char *path) {
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

/* What is wrong with this call: 0 nothing, else the errno. */
static int judge(int class) {
    if (!(fail_classes & class)) return 0;
    seen++;
    if (!fail_at || seen < fail_at || (seen > fail_at && !fail_sticky)) return 0;
    if (fail_how == KILL && class != WRITE) raise(SIGKILL);
    return fail_errno;
}

/* --- for the Python side */

void torture_watch(const char *folder) {
    pthread_mutex_lock(&lock);
    free(root);
    root = folder ? strdup(folder) : NULL;
    pthread_mutex_unlock(&lock);
}

void torture_record(int on) {
    recording = on;
    if (on) journal_size = 0;
}

void torture_fail(int classes, long at, int error, int sticky, int how) {
    fail_classes = classes;
    fail_at = at;
    fail_errno = error;
    fail_sticky = sticky;
    fail_how = how;
    seen = 0;
}

long torture_seen(void) { return seen; }

void torture_mark(int64_t number) { keep('M', 0, "", number, NULL, 0); }

size_t torture_journal(unsigned char **start) {
    *start = journal;
    return journal_size;
}

__attribute__((constructor)) static void from_environment(void) {
    const char *folder = getenv("TORTURE_ROOT"), *at = getenv("TORTURE_KILL");
    if (!folder || !at) return;
    torture_watch(folder);
    torture_fail(WRITE | SYNC | TRUNCATE | NAMES, atol(at), EIO, 0, KILL);
}

/* --- what is interposed */

static int opened(int file, const char *path, int flags, int fresh) {
    if (file >= 0 && file < FILES && watched(path)) {
        free(paths[file]);
        paths[file] = strdup(path);
        if (fresh) keep('C', 0, path, 0, NULL, 0);
        else if (flags & O_TRUNC) keep('T', 0, path, 0, NULL, 0);
    }
    return file;
}

#define OPEN_AS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if (!watched(path)) return real_##name(path, flags, mode); \
        pthread_mutex_lock(&lock); \
        int fresh = flags & O_CREAT && access(path, F_OK) != 0; \
        int error = 0; \
        if ((flags & O_ACCMODE) != O_RDONLY) error = judge(fresh ? OPEN | READ_ONLY : READ_ONLY); \
        int file = -1; \
        if (error) errno = error; \
        else file = opened(real_##name(path, flags, mode), path, flags, fresh); \
        pthread_mutex_unlock(&lock); \
        return file; \
    }
OPEN_AS(open)
OPEN_AS(open64)

int close(int file) {
    REAL(close);
    if (file >= 0 && file < FILES && paths[file]) {
        pthread_mutex_lock(&lock);
        free(paths[file]);
        paths[file] = NULL;
        pthread_mutex_unlock(&lock);
    }
    return real_close(file);
}

static const char *path_of(int file) {
    return file >= 0 && file < FILES && paths[file] && watched(paths[file]) ? paths[file] : NULL;
}

/* How much of a write of *size* bytes is let through; sets *error* if it fails instead. */
static size_t admit(size_t size, int *error) {
    *error = judge(WRITE);
    if (!*error) return size;
    int first = seen == fail_at;
    if (fail_how == FAIL || !first || size < 2) {
        if (fail_how == KILL) raise(SIGKILL);
        return 0;
    }
    *error = 0;
    return size / 2;
}

ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    const char *path = path_of(file);
    if (!path) return real_write(file, data, size);
    pthread_mutex_lock(&lock);
    struct stat status;
    fstat(file, &status);
    int64_t at = fcntl(file, F_GETFL) & O_APPEND ? status.st_size : lseek(file, 0, SEEK_CUR);
    int error;
    size_t part = admit(size, &error);
    ssize_t written = -1;
    if (error) errno = error;
    else {
        written = real_write(file, data, part);
        if (written > 0) keep('W', 0, path, at, data, (size_t)written);
        if (part < size && fail_how == KILL) raise(SIGKILL);
    }
    pthread_mutex_unlock(&lock);
    return written;
}

#define PWRITE_AS(name, offset_type) \
    ssize_t name(int file, const void *data, size_t size, offset_type at) { \
        REAL(name); \
        const char *path = path_of(file); \
        if (!path) return real_##name(file, data, size, at); \
        pthread_mutex_lock(&lock); \
        int error; \
        size_t part = admit(size, &error); \
        ssize_t written = -1; \
        if (error) errno = error; \
        else { \
            written = real_##name(file, data, part, at); \
            if (written > 0) keep('W', 0, path, at, data, (size_t)written); \
            if (part < size && fail_how == KILL) raise(SIGKILL); \
        } \
        pthread_mutex_unlock(&lock); \
        return written; \
    }
PWRITE_AS(pwrite, off_t)
PWRITE_AS(pwrite64, off64_t)

#define SYNC_AS(name) \
    int name(int file) { \
        REAL(name); \
        const char *path = path_of(file); \
        if (!path) return real_##name(file); \
        pthread_mutex_lock(&lock); \
        int error = judge(SYNC); \
        keep('S', error != 0, path, 0, NULL, 0); \
        if (error) errno = error; \
        pthread_mutex_unlock(&lock); \
        return error ? -1 : 0; \
    }
SYNC_AS(fsync)
SYNC_AS(fdatasync)

#define TRUNCATE_AS(name, offset_type) \
    int name(int file, offset_type size) { \
        REAL(name); \
        const char *path = path_of(file); \
        if (!path) return real_##name(file, size); \
        pthread_mutex_lock(&lock); \
        int error = judge(TRUNCATE), answer = -1; \
        if (error) errno = error; \
        else if ((answer = real_##name(file, size)) == 0) keep('T', 0, path, size, NULL, 0); \
        pthread_mutex_unlock(&lock); \
        return answer; \
    }
TRUNCATE_AS(ftruncate, off_t)
TRUNCATE_AS(ftruncate64, off64_t)

int unlink(const char *path) {
    REAL(unlink);
    if (!watched(path)) return real_unlink(path);
    pthread_mutex_lock(&lock);
    int error = judge(NAMES), answer = -1;
    if (error) errno = error;
    else if ((answer = real_unlink(path)) == 0) keep('U', 0, path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return answer;
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    if (!watched(path)) return real_mkdir(path, mode);
    pthread_mutex_lock(&lock);
    int error = access(path, F_OK) == 0 ? 0 : judge(NAMES), answer = -1;
    if (error) errno = error;
    else if ((answer = real_mkdir(path, mode)) == 0) keep('K', 0, path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return answer;
}
