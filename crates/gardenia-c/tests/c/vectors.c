/* The conformance vectors. Writes each file as DIRECTORY/NUMBER.gdn and prints NUMBER SHA256, for a script that hashes them. */

#include "check.h"
#include "vectors.h"

#include <pthread.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static size_t key_of(const struct rule *rule, int number, char *key, size_t room) {
    size_t place = strcspn(rule->format, "%");
    int written = rule->format[place] == '\0'
                      ? snprintf(key, room, "%s", rule->format)
                      : snprintf(key, room, "%.*s%d%s", (int)place, rule->format, number, rule->format + place + 2);
    return (size_t)written;
}

/* Calls with every key of some rules. */
#define EACH_KEY(rules, key, len, work)                                                                               \
    for (const struct rule *rule_ = (rules); rule_->format != NULL; rule_++)                                          \
        for (int number_ = rule_->from; number_ < rule_->to; number_++) {                                             \
            char key[64];                                                                                             \
            size_t len = key_of(rule_, number_, key, sizeof key);                                                     \
            work                                                                                                      \
        }

static void run(const struct vector *vector, int number, const char *directory) {
    char *filled = NULL, path[4096];
    OK(gardenia_spec_filled(vector->asked, &filled));
    CHECK(strcmp(filled, vector->filled) == 0);
    gardenia_free_string(filled);
    if (vector->bytes != 0) {
        gardenia_size size;
        OK(gardenia_spec_size(vector->asked, &size));
        CHECK(size.bytes == vector->bytes && size.file_bytes == vector->file_bytes);
        CHECK(vector->fpp < 0 ? isnan(size.fpp) : fabs(size.fpp - vector->fpp) <= 1e-9 * vector->fpp);
    }
    gardenia_filter *filter = NULL;
    OK(gardenia_new(vector->asked, NULL, &filter));
    CHECK(strcmp(gardenia_kind_name(filter), vector->kind) == 0);
    EACH_KEY(vector->keys, key, len, {
        if (vector->modulo != 0) {
            OK(gardenia_insert_value(filter, key, len, (uint32_t)number_ * (uint32_t)vector->times % (uint32_t)vector->modulo));
        } else {
            CHECK(gardenia_insert(filter, key, len) >= 0);
        }
    })
    EACH_KEY(vector->excluded, key, len, { OK(gardenia_exclude(filter, key, len)); })
    OK(gardenia_finish(filter, NULL, NULL));
    snprintf(path, sizeof path, "%s/%d.gdn", directory, number);
    OK(gardenia_save(filter, path));
    printf("%d %s\n", number, vector->file_sha256);

    /* The same answers from memory, from the file and from the mapped file. */
    gardenia_filter *opened = NULL, *mapped = NULL;
    OK(gardenia_open(path, NULL, &opened));
    OK(gardenia_open_mapped(path, NULL, &mapped));
    gardenia_filter *asked[3] = {filter, opened, mapped};
    for (int form = 0; form < 3; form++) {
        size_t at = 0;
        EACH_KEY(vector->probes, key, len, {
            CHECK(gardenia_contains(asked[form], key, len) == vector->found[at] - '0');
            CHECK(gardenia_contains_digest(asked[form], gardenia_digest(asked[form], key, len)) == vector->found[at] - '0');
            if (vector->counts != NULL) {
                uint64_t count = 0;
                OK(gardenia_count(asked[form], key, len, &count));
                CHECK(count == vector->counts[at]);
            }
            if (vector->values != NULL) {
                uint32_t value = 0;
                int there = gardenia_get_value(asked[form], key, len, &value);
                CHECK(there == (vector->values[at] >= 0));
                CHECK(there == 0 || value == vector->values[at]);
            }
            at++;
        })
        CHECK(at == strlen(vector->found));
        if (vector->estimated_items >= 0) {
            gardenia_info info = {.struct_size = sizeof info};
            OK(gardenia_get_info(asked[form], &info));
            CHECK(fabs(info.estimated_items - vector->estimated_items) <= 1e-9 * (1 + vector->estimated_items));
        }
    }
    OK(gardenia_free(mapped));
    OK(gardenia_free(opened));
    OK(gardenia_free(filter));
}

enum { THREADS = 4 };

struct part { gardenia_filter *filter; const struct vector *vector; int number; };

static void *insert_part(void *argument) {
    struct part *part = argument;
    EACH_KEY(part->vector->keys, key, len, {
        if (number_ % THREADS == part->number) CHECK(gardenia_insert(part->filter, key, len) >= 0);
    })
    return NULL;
}

/* A kind with the ability `share` is filled by several threads at once: the same file, unless the order of keys matters to it. */
static int run_threads(const struct vector *vector) {
    gardenia_filter *filter = NULL, *alone = NULL;
    OK(gardenia_new(vector->asked, NULL, &filter));
    if (gardenia_can(filter, "share") != 1) {
        OK(gardenia_free(filter));
        return 0;
    }
    OK(gardenia_share(filter));
    struct part parts[THREADS];
    pthread_t threads[THREADS];
    for (int number = 0; number < THREADS; number++) {
        parts[number] = (struct part){filter, vector, number};
        CHECK(pthread_create(&threads[number], NULL, insert_part, &parts[number]) == 0);
    }
    for (int number = 0; number < THREADS; number++) CHECK(pthread_join(threads[number], NULL) == 0);
    OK(gardenia_unshare(filter));
    OK(gardenia_new(vector->asked, NULL, &alone));
    EACH_KEY(vector->keys, key, len, {
        CHECK(gardenia_insert(alone, key, len) >= 0);
        CHECK(gardenia_can(filter, "forget") == 1 || gardenia_contains(filter, key, len) == 1);
    })
    if (gardenia_can(filter, "forget") == 0) {
        uint8_t *bytes[2] = {NULL, NULL};
        size_t lengths[2] = {0, 0};
        OK(gardenia_to_bytes(filter, &bytes[0], &lengths[0]));
        OK(gardenia_to_bytes(alone, &bytes[1], &lengths[1]));
        CHECK(lengths[0] == lengths[1] && memcmp(bytes[0], bytes[1], lengths[0]) == 0);
        for (int which = 0; which < 2; which++) gardenia_free_bytes(bytes[which], lengths[which]);
    }
    OK(gardenia_free(alone));
    OK(gardenia_free(filter));
    return 1;
}

/* Every kind of the library's table that is made from a spec has vectors. */
static int every_kind(void) {
    static const char mark[] = "\"holds_keys\":true,\"name\":\"";
    char *json = NULL;
    OK(gardenia_kinds_json(&json));
    int kinds = 0;
    for (const char *at = strstr(json, mark); at != NULL; at = strstr(at, mark)) {
        at += sizeof mark - 1;
        size_t len = strcspn(at, "\""), number = 0;
        while (number < COUNT(vectors) && (strlen(vectors[number].kind) != len || memcmp(vectors[number].kind, at, len) != 0)) number++;
        if (number == COUNT(vectors)) fprintf(stderr, "no vector is of the kind %.*s\n", (int)len, at);
        CHECK(number < COUNT(vectors));
        kinds++;
    }
    gardenia_free_string(json);
    return kinds;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(every_kind() >= 20);
    for (size_t number = 0; number < COUNT(vectors); number++) run(&vectors[number], (int)number, argv[1]);
    int shared = 0;
    for (size_t number = 0; number < COUNT(vectors); number++) shared += run_threads(&vectors[number]);
    CHECK(shared >= 3);
    for (size_t at = 0; at < COUNT(hasher_specs); at++) {
        uint8_t secret[16];
        for (int byte = 0; byte < 16 && hasher_secrets[at][0] != '\0'; byte++) {
            unsigned value = 0;
            CHECK(sscanf(hasher_secrets[at] + 2 * byte, "%2x", &value) == 1);
            secret[byte] = (uint8_t)value;
        }
        gardenia_filter *filter = NULL;
        OK(gardenia_new(hasher_specs[at], hasher_secrets[at][0] == '\0' ? NULL : secret, &filter));
        for (size_t number = 0; number < COUNT(key_vectors); number++) {
            const struct key *key = &key_vectors[number];
            CHECK(gardenia_digest(filter, key->bytes, key->len) == key->digests[at]);
            CHECK(!key->is_integer || gardenia_digest_u64(filter, key->integer) == key->digests[at]);
        }
        OK(gardenia_free(filter));
    }
    fprintf(stderr, "vectors: %d checks of %zu filters, %d of them shared by threads, and %zu keys passed\n", checks, COUNT(vectors), shared,
            COUNT(key_vectors));
    return 0;
}
