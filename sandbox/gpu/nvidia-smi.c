/* Copyright (c) 2026, kpro.sglang contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * TEST EQUIPMENT: an nvidia-smi that asks libnvidia-ml.so.1, as the original does, and prints what it answers: the bare
 * table, -L, --version, -q -x, --query-gpu= and --query-compute-apps=. Messages and exit codes are the original's.
 */
#define _DEFAULT_SOURCE /* see nvml.c */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { MAX_PROCESSES = 128 };
typedef unsigned long long u64;
typedef void *device;
struct memory_v2 { unsigned version; u64 total, reserved, free, used; };
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
struct process { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; };

static void *library;
static char version[96] = "N/A", cuda[16] = "N/A";

static void *call(const char *name)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "nvidia-smi (sandbox): the library has no %s\n", name);
        exit(13);
    }
    return address;
}
#define NVML(name, ...) ((int (*)())call(#name))(__VA_ARGS__)

static const char *error_text(int rc) { return ((const char *(*)(int))call("nvmlErrorString"))(rc); }

/* The exit status is the NVML code, cut to 255 for "unknown". */
static int status(int rc) { return rc > 255 ? 255 : rc; }

static int initialise(void)
{
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) {
        puts("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is "
             "properly installed and present in your system.\nPlease also try adding directory that contains libnvidia-ml.so to "
             "your system PATH.");
        return 12;
    }
    int rc = NVML(nvmlInitWithFlags, 0u);
    if (rc == 9)
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
             "driver is installed and running.\n");
    else if (rc) {
        printf("Failed to initialize NVML: %s\n", error_text(rc));
        if (rc == 18 && !NVML(nvmlSystemGetNVMLVersion, version, (unsigned)sizeof version)) {
            char *own = strchr(version, '.'); /* "13.580.159.04" is printed as 580.159 */
            char *end = own ? strchr(own + 1, '.') : NULL;
            end = end ? strchr(end + 1, '.') : NULL;
            if (end)
                *end = 0;
            printf("NVML library version: %s\n", own ? own + 1 : version);
        }
    } else {
        int number = 0;
        NVML(nvmlSystemGetDriverVersion, version, (unsigned)sizeof version);
        NVML(nvmlSystemGetCudaDriverVersion_v2, &number);
        snprintf(cuda, sizeof cuda, "%d.%d", number / 1000, number % 1000 / 10);
    }
    return status(rc);
}

struct row { unsigned index, minor; device handle; struct memory_v2 memory; struct pci pci; char uuid[96], name[96]; int major, cc_minor; unsigned persistence; };

/* Reads one card; on failure prints the original's sentence and returns its exit status. */
static int read_row(unsigned index, struct row *r)
{
    memset(r, 0, sizeof *r);
    r->index = index;
    int rc = NVML(nvmlDeviceGetHandleByIndex_v2, index, &r->handle);
    r->memory.version = sizeof r->memory | 2u << 24;
    if (!rc)
        rc = NVML(nvmlDeviceGetMemoryInfo_v2, r->handle, &r->memory);
    if (rc) {
        printf("Unable to determine the device handle for GPU%u: %s.%s\n", index, error_text(rc),
               rc == 15 ? "  Reboot the system to recover this GPU" : "");
        return status(rc);
    }
    NVML(nvmlDeviceGetPciInfo_v3, r->handle, &r->pci);
    NVML(nvmlDeviceGetUUID, r->handle, r->uuid, (unsigned)sizeof r->uuid);
    NVML(nvmlDeviceGetName, r->handle, r->name, (unsigned)sizeof r->name);
    NVML(nvmlDeviceGetMinorNumber, r->handle, &r->minor);
    NVML(nvmlDeviceGetPersistenceMode, r->handle, &r->persistence);
    NVML(nvmlDeviceGetCudaComputeCapability, r->handle, &r->major, &r->cc_minor);
    return 0;
}

static unsigned processes(struct row *r, int graphics, struct process *found)
{
    unsigned n = MAX_PROCESSES;
    int rc = graphics ? NVML(nvmlDeviceGetGraphicsRunningProcesses_v3, r->handle, &n, found)
                      : NVML(nvmlDeviceGetComputeRunningProcesses_v3, r->handle, &n, found);
    return rc ? 0 : n;
}

static void process_name(unsigned pid, char *name, size_t size)
{
    if (NVML(nvmlSystemGetProcessName, pid, name, (unsigned)size))
        snprintf(name, size, "[Not Found]");
}

static int gpu_field(struct row *r, const char *f, char *out, size_t size, const char **unit)
{
    *unit = "";
    const char *plain = NULL;
    u64 mib = 0;
    if (!strncmp(f, "memory.", 7)) {
        const char *kind = f + 7;
        mib = !strcmp(kind, "total") ? r->memory.total : !strcmp(kind, "used") ? r->memory.used
            : !strcmp(kind, "free") ? r->memory.free : !strcmp(kind, "reserved") ? r->memory.reserved : ~0ull;
        if (mib == ~0ull)
            return 0;
        *unit = " MiB";
        snprintf(out, size, "%llu", mib >> 20);
        return 1;
    }
    if (!strcmp(f, "index")) return snprintf(out, size, "%u", r->index), 1;
    if (!strcmp(f, "count")) { unsigned n = 0; NVML(nvmlDeviceGetCount_v2, &n); return snprintf(out, size, "%u", n), 1; }
    if (!strcmp(f, "compute_cap")) return snprintf(out, size, "%d.%d", r->major, r->cc_minor), 1;
    if (!strcmp(f, "utilization.gpu") || !strcmp(f, "utilization.memory")) return *unit = " %", snprintf(out, size, "0"), 1;
    if (!strcmp(f, "temperature.gpu")) return snprintf(out, size, "40"), 1;
    if (!strcmp(f, "uuid") || !strcmp(f, "gpu_uuid")) plain = r->uuid;
    else if (!strcmp(f, "name") || !strcmp(f, "gpu_name")) plain = r->name;
    else if (!strcmp(f, "pci.bus_id") || !strcmp(f, "gpu_bus_id")) plain = r->pci.bus_id;
    else if (!strcmp(f, "driver_version")) plain = version;
    else if (!strcmp(f, "persistence_mode")) plain = r->persistence ? "Enabled" : "Disabled";
    else if (!strcmp(f, "mig.mode.current")) plain = "[N/A]";
    else if (!strcmp(f, "ecc.mode.current")) plain = "Disabled";
    else if (!strcmp(f, "ecc.errors.uncorrected.volatile.total")) plain = "[N/A]";
    return plain ? snprintf(out, size, "%s", plain), 1 : 0;
}

static int app_field(struct row *r, struct process *p, const char *f, char *out, size_t size, const char **unit)
{
    *unit = "";
    if (!strcmp(f, "pid")) return snprintf(out, size, "%u", p->pid), 1;
    if (!strcmp(f, "process_name") || !strcmp(f, "name")) return process_name(p->pid, out, size), 1;
    if (!strcmp(f, "used_gpu_memory") || !strcmp(f, "used_memory")) return *unit = " MiB", snprintf(out, size, "%llu", p->used >> 20), 1;
    return !strcmp(f, "gpu_uuid") || !strcmp(f, "gpu_name") || !strcmp(f, "gpu_bus_id") ? gpu_field(r, f, out, size, unit) : 0;
}

enum what { CHECK, HEADER, VALUES };

/* Prints one CSV line of titles or values, or only checks the fields: 2 at one that is not known, as the original. */
static int line(struct row *r, struct process *p, const char *list, int apps, enum what what, int units)
{
    char fields[2048], value[1024], *save = NULL;
    const char *unit, *separator = "";
    struct process none = { 0 };
    snprintf(fields, sizeof fields, "%s", list);
    for (char *f = strtok_r(fields, ",", &save); f; f = strtok_r(NULL, ",", &save)) {
        if (!(apps ? app_field(r, p ? p : &none, f, value, sizeof value, &unit) : gpu_field(r, f, value, sizeof value, &unit))) {
            printf("Field \"%s\" is not a valid field to query.\n\n", f);
            return 2;
        }
        if (what == CHECK)
            continue;
        if (what == HEADER)
            printf("%s%s%s", separator, f, !*unit ? "" : unit[1] == '%' ? " [%]" : " [MiB]");
        else
            printf("%s%s%s", separator, value, units ? unit : "");
        separator = ", ";
    }
    if (what != CHECK)
        putchar('\n');
    return 0;
}

static int csv(struct row *rows, unsigned n, const char *list, int apps, const char *format)
{
    int units = !strstr(format, "nounits");
    if (strncmp(format, "csv", 3)) {
        puts("\"--format=\" switch is missing a value. The valid value is csv.");
        return 2;
    }
    if (line(&rows[0], NULL, list, apps, CHECK, units))
        return 2;
    if (!strstr(format, "noheader"))
        line(&rows[0], NULL, list, apps, HEADER, units);
    for (unsigned i = 0; i < n; i++) {
        struct process found[MAX_PROCESSES];
        unsigned k = apps ? processes(&rows[i], 0, found) : 1;
        for (unsigned j = 0; j < k; j++)
            line(&rows[i], apps ? &found[j] : NULL, list, apps, VALUES, units);
    }
    return 0;
}

static void xml_text(const char *s)
{
    for (; *s; s++)
        *s == '&' ? fputs("&amp;", stdout) : *s == '<' ? fputs("&lt;", stdout) : *s == '>' ? fputs("&gt;", stdout) : putchar(*s);
}

static int xml(struct row *rows, unsigned n)
{
    printf("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v13.dtd\">\n<nvidia_smi_log>\n"
           "\t<driver_version>%s</driver_version>\n\t<cuda_version>%s</cuda_version>\n\t<attached_gpus>%u</attached_gpus>\n", version, cuda, n);
    for (unsigned i = 0; i < n; i++) {
        struct row *r = &rows[i];
        printf("\t<gpu id=\"%s\">\n\t\t<product_name>%s</product_name>\n\t\t<persistence_mode>%s</persistence_mode>\n"
               "\t\t<mig_mode>\n\t\t\t<current_mig>N/A</current_mig>\n\t\t\t<pending_mig>N/A</pending_mig>\n\t\t</mig_mode>\n"
               "\t\t<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>\n\t\t<uuid>%s</uuid>\n\t\t<minor_number>%u</minor_number>\n",
               r->pci.bus_id, r->name, r->persistence ? "Enabled" : "Disabled", r->uuid, r->minor);
        printf("\t\t<fb_memory_usage>\n\t\t\t<total>%llu MiB</total>\n\t\t\t<reserved>%llu MiB</reserved>\n\t\t\t<used>%llu MiB</used>\n"
               "\t\t\t<free>%llu MiB</free>\n\t\t</fb_memory_usage>\n\t\t<processes>\n", r->memory.total >> 20, r->memory.reserved >> 20,
               r->memory.used >> 20, r->memory.free >> 20);
        for (int graphics = 0; graphics < 2; graphics++) {
            struct process found[MAX_PROCESSES];
            unsigned k = processes(r, graphics, found);
            for (unsigned j = 0; j < k; j++) {
                char name[1024];
                process_name(found[j].pid, name, sizeof name);
                printf("\t\t\t<process_info>\n\t\t\t\t<gpu_instance_id>N/A</gpu_instance_id>\n"
                       "\t\t\t\t<compute_instance_id>N/A</compute_instance_id>\n\t\t\t\t<pid>%u</pid>\n\t\t\t\t<type>%c</type>\n"
                       "\t\t\t\t<process_name>", found[j].pid, graphics ? 'G' : 'C');
                xml_text(name);
                printf("</process_name>\n\t\t\t\t<used_memory>%llu MiB</used_memory>\n\t\t\t</process_info>\n", found[j].used >> 20);
            }
        }
        puts("\t\t</processes>\n\t</gpu>");
    }
    puts("</nvidia_smi_log>");
    return 0;
}

static int table(struct row *rows, unsigned n)
{
    char now[64];
    time_t seconds = time(NULL);
    strftime(now, sizeof now, "%a %b %e %H:%M:%S %Y", localtime(&seconds));
    printf("%s       \n"
           "+-----------------------------------------------------------------------------------------+\n"
           "| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-8s |\n"
           "+-----------------------------------------+------------------------+----------------------+\n"
           "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
           "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
           "|                                         |                        |               MIG M. |\n"
           "|=========================================+========================+======================|\n", now, version, version, cuda);
    for (unsigned i = 0; i < n; i++)
        printf("| %3u  %-24.24s %9s | %18s Off |                  Off |\n"
               "| 30%%   40C    P8             20W /  300W | %7lluMiB / %6lluMiB |      0%%      Default |\n"
               "|                                         |                        |                  N/A |\n"
               "+-----------------------------------------+------------------------+----------------------+\n",
               rows[i].index, rows[i].name, rows[i].persistence ? "On " : "Off", rows[i].pci.bus_id, rows[i].memory.used >> 20,
               rows[i].memory.total >> 20);
    puts("\n+-----------------------------------------------------------------------------------------+\n"
         "| Processes:                                                                              |\n"
         "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
         "|        ID   ID                                                               Usage      |\n"
         "|=========================================================================================|");
    unsigned listed = 0;
    for (unsigned i = 0; i < n; i++) {
        struct process found[MAX_PROCESSES];
        unsigned k = processes(&rows[i], 0, found);
        for (unsigned j = 0; j < k; j++, listed++) {
            char name[1024];
            process_name(found[j].pid, name, sizeof name);
            printf("| %4u   N/A  N/A %16u      C   %-34.34s %7lluMiB |\n", rows[i].index, found[j].pid, name, found[j].used >> 20);
        }
    }
    if (!listed)
        puts("|  No running processes found                                                             |");
    puts("+-----------------------------------------------------------------------------------------+");
    return 0;
}

int main(int argc, char **argv)
{
    const char *gpu_fields = NULL, *app_fields = NULL, *format = "csv", *only = NULL;
    int list = 0, as_xml = 0, show_version = 0, query = 0, rc;
    for (int i = 1; i < argc; i++) {
        char *a = argv[i];
        if (!strncmp(a, "--query-gpu=", 12)) gpu_fields = a + 12;
        else if (!strncmp(a, "--query-compute-apps=", 21)) app_fields = a + 21;
        else if (!strncmp(a, "--format=", 9)) format = a + 9;
        else if (!strncmp(a, "--id=", 5)) only = a + 5;
        else if (!strcmp(a, "-i") && i + 1 < argc) only = argv[++i];
        else if (!strcmp(a, "-L") || !strcmp(a, "--list-gpus")) list = 1;
        else if (!strcmp(a, "-q") || !strcmp(a, "--query")) query = 1;
        else if (!strcmp(a, "-x") || !strcmp(a, "--xml-format")) as_xml = 1;
        else if (!strcmp(a, "--version")) show_version = 1;
        else {
            printf("ERROR: Option %s is not recognized. Please run 'nvidia-smi -h'.\n\n", a);
            return 255;
        }
    }
    if ((rc = initialise()))
        return rc;
    if (show_version) {
        printf("NVIDIA-SMI version  : %s\nNVML version        : %.7s\nDRIVER version      : %s\nCUDA Version        : %s\n", version, version, version, cuda);
        return 0;
    }
    struct row rows[16];
    unsigned count = 0, n = 0;
    rc = NVML(nvmlDeviceGetCount_v2, &count);
    for (unsigned i = 0; !rc && i < count && n < 16; i++) {
        if ((rc = read_row(i, &rows[n])))
            return rc;
        char index[16];
        snprintf(index, sizeof index, "%u", i);
        if (!only || !strcmp(only, index) || !strcmp(only, rows[n].uuid) || !strcasecmp(only, rows[n].pci.bus_id))
            n++;
    }
    if (!n) {
        puts("No devices were found");
        return 6;
    }
    if (list) {
        for (unsigned i = 0; i < n; i++)
            printf("GPU %u: %s (UUID: %s)\n", rows[i].index, rows[i].name, rows[i].uuid);
        return 0;
    }
    if (query && as_xml) return xml(rows, n);
    if (gpu_fields) return csv(rows, n, gpu_fields, 0, format);
    if (app_fields) return csv(rows, n, app_fields, 1, format);
    return table(rows, n);
}
