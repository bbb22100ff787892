/* Copyright (c) 2026, kpro.sglang contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * TEST EQUIPMENT: a libnvidia-ml.so.1 without a driver. README.md in this folder describes the state file, the holder
 * files and what is like the original. Struct layouts are those that nvidia-ml-py passes (NVML API 11 to 13).
 */
#define _DEFAULT_SOURCE /* not _GNU_SOURCE: glibc 2.38 and later would bind sscanf and strtoull to names that older guests lack */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15, OPERATING_SYSTEM = 17, MISMATCH = 18, UNKNOWN = 999 };
enum { MAX_GPUS = 16, MAX_PROCS = 128 };

typedef unsigned long long u64;
struct gpu { int minor; unsigned bus; u64 total, used, reserved; unsigned cc_major, cc_minor; int lost; char pci[32], uuid[80], name[96]; };
struct proc { int minor; unsigned pid; u64 used; char type; char name[256]; };
typedef struct gpu *device;

/* A handle points into gpus[], so entry i is always the card with minor i and never moves. */
static struct gpu gpus[MAX_GPUS];
static int present[MAX_GPUS], visible[MAX_GPUS], n_visible;
static struct proc procs[MAX_PROCS];
static int n_procs, init_error, initialised;
static char driver[80], cuda[16];

static const char *setting(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);
    return value && *value ? value : otherwise;
}

static const char *state_path(void) { return setting("KPRO_SANDBOX_GPU_STATE", "/var/lib/kpro-sandbox-gpu/state"); }

/* The value of "key=" in a line, up to the next blank; "name=" takes the rest of the line. */
static int field(const char *line, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *p = line; (p = strstr(p, key)); p += length) {
        if ((p != line && p[-1] != ' ' && p[-1] != '\t') || p[length] != '=')
            continue;
        p += length + 1;
        size_t n = strcmp(key, "name") ? strcspn(p, " \t\n") : strcspn(p, "\n");
        snprintf(value, size, "%.*s", (int)n, p);
        return 1;
    }
    return 0;
}

static u64 number(const char *line, const char *key, u64 otherwise)
{
    char text[32];
    return field(line, key, text, sizeof text) ? strtoull(text, NULL, 10) : otherwise;
}

static struct gpu *card(int minor)
{
    return minor >= 0 && minor < MAX_GPUS && present[minor] ? &gpus[minor] : NULL;
}

static void add_gpu(int minor, const char *line)
{
    if (minor < 0 || minor >= MAX_GPUS)
        return;
    struct gpu *g = &gpus[minor];
    char cc[16];
    present[minor] = 1;
    g->minor = minor;
    g->bus = 0x21 + 0x20 * (unsigned)(minor % 6);
    g->total = number(line, "total", 49140);
    g->used = number(line, "used", 0);
    g->reserved = number(line, "reserved", 0);
    g->lost = (int)number(line, "lost", 0);
    g->cc_major = 8, g->cc_minor = 6;
    if (field(line, "cc", cc, sizeof cc))
        sscanf(cc, "%u.%u", &g->cc_major, &g->cc_minor);
    if (!field(line, "pci", g->pci, sizeof g->pci))
        snprintf(g->pci, sizeof g->pci, "00000000:%02X:00.0", g->bus);
    sscanf(g->pci, "%*x:%x", &g->bus);
    if (!field(line, "uuid", g->uuid, sizeof g->uuid))
        snprintf(g->uuid, sizeof g->uuid, "GPU-6b70726f-0000-4000-8000-%012d", minor);
    if (!field(line, "name", g->name, sizeof g->name))
        snprintf(g->name, sizeof g->name, "NVIDIA RTX A6000");
}

/* adds: whether the memory comes on top of the card's "used" (holders) or is part of it already (proc lines). */
static void add_proc(int minor, unsigned pid, u64 used, char type, const char *name, int adds)
{
    struct gpu *g = card(minor);
    if (!g)
        return;
    if (adds)
        g->used += used;
    if (!pid || n_procs == MAX_PROCS) /* pid 0: a process outside this PID namespace: its memory counts, it is not listed */
        return;
    struct proc *p = &procs[n_procs++];
    p->minor = minor, p->pid = pid, p->used = used, p->type = type;
    snprintf(p->name, sizeof p->name, "%s", name);
}

/* A holder file counts while some process has a POSIX lock on it. The kernel translates the lock's pid for the asker. */
static void read_holder(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char text[4096], *save = NULL;
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n > 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
        text[n] = 0;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
            char name[256] = "";
            if (strncmp(line, "hold ", 5))
                continue;
            field(line, "name", name, sizeof name);
            add_proc((int)number(line, "gpu", 0), lock.l_pid > 0 ? (unsigned)lock.l_pid : 0, number(line, "used", 0), 'C', name, 1);
        }
    }
    close(fd);
}

static void read_holders(void)
{
    char folder[4096], path[8192];
    snprintf(folder, sizeof folder, "%s.holders", state_path());
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (struct dirent *e; (e = readdir(entries));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            read_holder(path);
        }
    closedir(entries);
}

static int forced_error(const char *word)
{
    static const struct { const char *word; int code; } errors[] = {
        { "none", OK }, { "no_driver", DRIVER_NOT_LOADED }, { "version_mismatch", MISMATCH }, { "no_permission", NO_PERMISSION },
        { "blocked", OPERATING_SYSTEM }, { "unknown", UNKNOWN } };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(word, errors[i].word))
            return errors[i].code;
    return UNKNOWN;
}

static void read_state(void)
{
    char line[1024], word[64];
    int any = 0;
    memset(present, 0, sizeof present);
    n_procs = 0, init_error = OK;
    snprintf(driver, sizeof driver, "580.159.04");
    snprintf(cuda, sizeof cuda, "13.0");
    FILE *f = fopen(state_path(), "re");
    while (f && fgets(line, sizeof line, f)) {
        int index = -1;
        char name[256] = "", type[8] = "C";
        if (sscanf(line, "gpu %d", &index) == 1)
            add_gpu(index, line), any = 1;
        else if (!strncmp(line, "proc ", 5)) {
            field(line, "name", name, sizeof name);
            field(line, "type", type, sizeof type);
            add_proc((int)number(line, "gpu", 0), (unsigned)number(line, "pid", 0), number(line, "used", 0), type[0], name, 0);
        } else if (sscanf(line, "driver %63s", word) == 1)
            snprintf(driver, sizeof driver, "%s", word);
        else if (sscanf(line, "cuda %15s", word) == 1)
            snprintf(cuda, sizeof cuda, "%.15s", word);
        else if (sscanf(line, "error %63s", word) == 1)
            init_error = forced_error(word);
        else if (!strncmp(line, "no_gpus", 7))
            any = 1;
    }
    if (f)
        fclose(f);
    if (!any)
        add_gpu(0, ""), add_gpu(1, "");
    read_holders();
}

/* 0, or the errno of opening the node. ENXIO and ENODEV mean a node without a driver behind it: as good as real here. */
static int node(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", setting("KPRO_SANDBOX_GPU_DEV", "/dev"), name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == ENXIO || errno == ENODEV ? 0 : errno;
}

static int refresh(void)
{
    read_state();
    if (init_error)
        return init_error;
    int denied = node("nvidiactl");
    if (denied) /* the device cgroup says EPERM, which the original reports as an unknown error; a file mode says EACCES */
        return denied == ENOENT ? DRIVER_NOT_LOADED : denied == EACCES ? NO_PERMISSION : UNKNOWN;
    n_visible = 0;
    for (int minor = 0; minor < MAX_GPUS; minor++) {
        char name[16];
        snprintf(name, sizeof name, "nvidia%d", minor);
        if (present[minor] && !node(name))
            visible[n_visible++] = minor;
    }
    return OK;
}

static int text(char *buffer, unsigned size, const char *value)
{
    if (!buffer || strlen(value) >= size)
        return buffer ? INSUFFICIENT_SIZE : INVALID_ARGUMENT;
    strcpy(buffer, value);
    return OK;
}

/* Every query reads the state anew, so that a change shows without a new nvmlInit. */
static int check(device d)
{
    if (!initialised)
        return UNINITIALIZED;
    int rc = refresh();
    return rc ? rc : !d || d < gpus || d >= gpus + MAX_GPUS ? INVALID_ARGUMENT : !card(d->minor) || d->lost ? GPU_IS_LOST : OK;
}

#define WITH_DEVICE(d) do { int rc_ = check(d); if (rc_) return rc_; } while (0)

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    int rc = refresh();
    if (!rc)
        initialised++;
    return rc;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return initialised ? initialised--, OK : UNINITIALIZED; }

const char *nvmlErrorString(int rc)
{
    switch (rc) {
    case OK: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NO_PERMISSION: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case GPU_IS_LOST: return "GPU is lost";
    case OPERATING_SYSTEM: return "GPU access blocked by the operating system";
    case MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

/* Works without nvmlInit, like the original: nvidia-smi prints it beside "version mismatch". */
int nvmlSystemGetNVMLVersion(char *buffer, unsigned size)
{
    char version[96];
    unsigned major = 0;
    read_state();
    sscanf(cuda, "%u", &major);
    snprintf(version, sizeof version, "%u.%s", major, driver);
    return text(buffer, size, version);
}
int nvmlSystemGetDriverVersion(char *buffer, unsigned size) { return initialised ? text(buffer, size, driver) : UNINITIALIZED; }
int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    int major = 0, minor = 0;
    read_state();
    sscanf(cuda, "%d.%d", &major, &minor);
    *version = 1000 * major + 10 * minor;
    return OK;
}
int nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

int nvmlSystemGetProcessName(unsigned pid, char *buffer, unsigned size)
{
    char path[64], line[1024] = "";
    if (!initialised)
        return UNINITIALIZED;
    for (int i = 0; i < n_procs; i++)
        if (procs[i].pid == pid && *procs[i].name)
            return text(buffer, size, procs[i].name);
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return NOT_FOUND;
    line[fread(line, 1, sizeof line - 1, f)] = 0; /* argv[0]: text() stops at the first NUL */
    fclose(f);
    return *line ? text(buffer, size, line) : NOT_FOUND;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    int rc = initialised ? refresh() : UNINITIALIZED;
    *count = rc ? 0 : (unsigned)n_visible;
    return rc;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *d)
{
    int rc = initialised ? refresh() : UNINITIALIZED;
    if (rc)
        return rc;
    if (index >= (unsigned)n_visible)
        return INVALID_ARGUMENT;
    *d = &gpus[visible[index]];
    return (*d)->lost ? GPU_IS_LOST : OK;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, device *d)
{
    int rc = initialised ? refresh() : UNINITIALIZED;
    for (int i = 0; !rc && i < n_visible; i++)
        if (!strcmp(gpus[visible[i]].uuid, uuid))
            return *d = &gpus[visible[i]], (*d)->lost ? GPU_IS_LOST : OK;
    return rc ? rc : NOT_FOUND;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, device *d)
{
    int rc = initialised ? refresh() : UNINITIALIZED;
    size_t length = strlen(pci);
    for (int i = 0; !rc && i < n_visible; i++) {
        const char *own = gpus[visible[i]].pci;
        if (length >= 7 && length <= strlen(own) && !strcasecmp(own + strlen(own) - length, pci)) /* domain: 4 or 8 digits */
            return *d = &gpus[visible[i]], (*d)->lost ? GPU_IS_LOST : OK;
    }
    return rc ? rc : NOT_FOUND;
}
int nvmlDeviceGetIndex(device d, unsigned *index)
{
    WITH_DEVICE(d);
    for (int i = 0; i < n_visible; i++)
        if (visible[i] == d->minor)
            return *index = (unsigned)i, OK;
    return NOT_FOUND;
}
int nvmlDeviceGetMinorNumber(device d, unsigned *minor) { WITH_DEVICE(d); *minor = (unsigned)d->minor; return OK; }
int nvmlDeviceGetName(device d, char *buffer, unsigned size) { WITH_DEVICE(d); return text(buffer, size, d->name); }
int nvmlDeviceGetUUID(device d, char *buffer, unsigned size) { WITH_DEVICE(d); return text(buffer, size, d->uuid); }

struct memory { u64 total, free, used; };
struct memory_v2 { unsigned version; u64 total, reserved, free, used; };

int nvmlDeviceGetMemoryInfo_v2(device d, struct memory_v2 *m)
{
    WITH_DEVICE(d);
    if (m->version != (sizeof *m | 2u << 24))
        return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
    u64 held = d->used + d->reserved;
    m->total = d->total << 20, m->reserved = d->reserved << 20, m->used = d->used << 20;
    m->free = held < d->total ? (d->total - held) << 20 : 0;
    return OK;
}
int nvmlDeviceGetMemoryInfo(device d, struct memory *m) /* version 1 counts what is reserved as used */
{
    struct memory_v2 all = { .version = sizeof all | 2u << 24 };
    int rc = nvmlDeviceGetMemoryInfo_v2(d, &all);
    if (!rc)
        m->total = all.total, m->free = all.free, m->used = all.used + all.reserved;
    return rc;
}

struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };

int nvmlDeviceGetPciInfo_v3(device d, struct pci *p)
{
    WITH_DEVICE(d);
    memset(p, 0, sizeof *p);
    p->bus = d->bus, p->id = 0x223010de;
    snprintf(p->bus_id, sizeof p->bus_id, "%s", d->pci);
    snprintf(p->legacy, sizeof p->legacy, "%.15s", strlen(d->pci) > 12 ? d->pci + strlen(d->pci) - 12 : d->pci);
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(device d, int *major, int *minor)
{
    WITH_DEVICE(d);
    *major = (int)d->cc_major, *minor = (int)d->cc_minor;
    return OK;
}
int nvmlDeviceGetPersistenceMode(device d, unsigned *mode) { WITH_DEVICE(d); *mode = 1; return OK; }
int nvmlDeviceGetMigMode(device d, unsigned *now, unsigned *later) { WITH_DEVICE(d); (void)now, (void)later; return NOT_SUPPORTED; }
int nvmlDeviceGetEccMode(device d, unsigned *now, unsigned *later) { WITH_DEVICE(d); *now = *later = 0; return OK; }
int nvmlDeviceGetTotalEccErrors(device d, int type, int counter, u64 *count)
{
    WITH_DEVICE(d);
    (void)type, (void)counter, (void)count;
    return NOT_SUPPORTED; /* as with ECC switched off */
}
/* 5: NVML_P2P_STATUS_NOT_SUPPORTED; two workstation cards without a bridge */
int nvmlDeviceGetP2PStatus(device a, device b, int kind, int *status) { WITH_DEVICE(a); WITH_DEVICE(b); (void)kind; *status = 5; return OK; }
/* 40: NVML_TOPOLOGY_NODE, behind different host bridges of one NUMA node */
int nvmlDeviceGetTopologyCommonAncestor(device a, device b, int *level) { WITH_DEVICE(a); WITH_DEVICE(b); *level = a == b ? 0 : 40; return OK; }
int nvmlDeviceGetNvLinkState(device d, unsigned link, unsigned *active) { WITH_DEVICE(d); (void)link, (void)active; return NOT_SUPPORTED; }

struct process { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; };

static int running(device d, char type, unsigned *count, struct process *out)
{
    WITH_DEVICE(d);
    unsigned n = 0, room = *count;
    for (int i = 0; i < n_procs; i++)
        if (procs[i].minor == d->minor && procs[i].type == type) {
            if (out && n < room)
                out[n] = (struct process){ procs[i].pid, procs[i].used << 20, ~0u, ~0u };
            n++;
        }
    *count = n;
    return n > room ? INSUFFICIENT_SIZE : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned *n, struct process *p) { return running(d, 'C', n, p); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(device d, unsigned *n, struct process *p) { return running(d, 'G', n, p); }
int nvmlDeviceGetMPSComputeRunningProcesses_v3(device d, unsigned *n, struct process *p) { return running(d, 'M', n, p); }
