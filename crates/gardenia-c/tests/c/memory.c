/* Memory that is short is a status, and not the end of the process. Runs by itself: sanitizers and valgrind need more address
 * space than this program leaves. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <sys/resource.h>
#include <unistd.h>

static struct rlimit before;

/* Leaves this many bytes of address space beside those in use. */
static void leave(size_t bytes) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    struct rlimit limit = before;
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void leave_all(void) { CHECK(setrlimit(RLIMIT_AS, &before) == 0); }

int main(int argc, char **argv) {
    enum { MIB = 1 << 20, KEYS = 1 << 16 };
    static uint64_t numbers[KEYS];
    char path[4096];
    CHECK(argc == 2 && getrlimit(RLIMIT_AS, &before) == 0);
    snprintf(path, sizeof path, "%s/large.gdn", argv[1]);

    /* 64 MiB, and room for 16: copies, and what is combined with its own copy. */
    gardenia_filter *filter = NULL, *copy = NULL, *mapped = NULL;
    OK(gardenia_new("bloom bits=536870912 hashes=2", NULL, &filter));
    CHECK(gardenia_insert_u64(filter, 7) == 1);
    OK(gardenia_save(filter, path));
    OK(gardenia_open_mapped(path, NULL, &mapped));
    leave(16 * MIB);
    FAILS(gardenia_clone(filter, &copy), GARDENIA_MEMORY, "could not be allocated");
    FAILS(gardenia_clone(mapped, &copy), GARDENIA_MEMORY, "could not be allocated");
    FAILS(gardenia_merge(filter, filter), GARDENIA_MEMORY, "could not be allocated");
    FAILS(gardenia_intersect(filter, filter), GARDENIA_MEMORY, "could not be allocated");
    FAILS(gardenia_new("bloom bits=536870912 hashes=2", NULL, &copy), GARDENIA_MEMORY, "could not be allocated");
    CHECK(copy == NULL && gardenia_contains_u64(filter, 7) == 1);
    leave_all();
    OK(gardenia_clone(filter, &copy));
    OK(gardenia_merge(copy, copy));
    CHECK(gardenia_contains_u64(copy, 7) == 1 && gardenia_contains_u64(copy, 8) == 0);
    OK(gardenia_free(copy));
    OK(gardenia_free(mapped));
    OK(gardenia_free(filter));

    /* A filter that collects its keys keeps those that it has. */
    const char *specs[3] = {"fuse", "bloomier value-bits=8", "retouched fpp=10%"};
    for (int spec = 0; spec < 3; spec++) {
        OK(gardenia_new(specs[spec], NULL, &filter));
        leave(24 * MIB);
        uint64_t next = 0;
        int status = 0;
        while (status == 0 && next < (1u << 23)) {
            if (spec == 0) {
                for (int i = 0; i < KEYS; i++) numbers[i] = next + (uint64_t)i;
                gardenia_keys keys = gardenia_keys_u64(numbers, KEYS);
                status = (int)gardenia_insert_many(filter, &keys, NULL, NULL);
                next += KEYS;
            } else if (spec == 1) {
                status = (int)gardenia_insert_value(filter, &next, sizeof next, 1);
                next++;
            } else {
                status = (int)gardenia_exclude(filter, &next, sizeof next);
                next++;
            }
        }
        FAILS(status, GARDENIA_MEMORY, "could not be allocated");
        /* A copy that is changed has keys of its own. */
        leave(MIB);
        OK(gardenia_clone(filter, &copy));
        if (spec == 1) FAILS(gardenia_insert_value(copy, "rose", 4, 1), GARDENIA_MEMORY, "could not be allocated");
        leave_all();
        OK(gardenia_free(copy));
        if (spec < 2) {
            OK(gardenia_finish(filter, NULL, NULL));
            CHECK(gardenia_contains_u64(filter, 0) == 1 && gardenia_contains_u64(filter, next - KEYS - 1) == 1);
        }
        OK(gardenia_free(filter));
    }
    fprintf(stderr, "memory: %d checks passed\n", checks);
    return 0;
}
