/* Every function, and wrong use of each. Argument: a directory for files. */

#include "check.h"

#include <pthread.h>

static bool stop_at_once(void *context, uint64_t done, uint64_t all) {
    (void)all;
    *(int *)context += 1;
    return done > 0;
}

static bool count_calls(void *context, uint64_t done, uint64_t all) {
    CHECK(done <= all);
    *(int *)context += 1;
    return true;
}

static gardenia_filter *made(const char *spec) {
    gardenia_filter *filter = NULL;
    OK(gardenia_new(spec, NULL, &filter));
    return filter;
}

static void single_keys(void) {
    gardenia_filter *filter = made("counting items=1000 fpp=1e-6 width=16");
    CHECK(gardenia_is_empty(filter) == 1);
    CHECK(gardenia_insert(filter, "rose", 4) == 1 && gardenia_insert(filter, "rose", 4) == 0);
    CHECK(gardenia_insert_u64(filter, 7) == 1 && gardenia_contains_u64(filter, 7) == 1 && gardenia_contains_u64(filter, 8) == 0);
    uint64_t digest = gardenia_digest(filter, "lily", 4);
    CHECK(gardenia_insert_digest(filter, digest) == 1 && gardenia_contains(filter, "lily", 4) == 1);
    CHECK(gardenia_digest_u64(filter, 7) == gardenia_digest(filter, "\7\0\0\0\0\0\0\0", 8));
    CHECK(gardenia_insert(filter, NULL, 0) == 1 && gardenia_contains(filter, "", 0) == 1);
    uint64_t count = 0;
    OK(gardenia_count(filter, "rose", 4, &count));
    CHECK(count == 2);
    OK(gardenia_count_u64(filter, 7, &count));
    CHECK(count == 1);
    OK(gardenia_count_u64(filter, 8, &count));
    CHECK(count == 0);
    OK(gardenia_count_digest(filter, gardenia_digest(filter, "rose", 4), &count));
    CHECK(count == 2);
    FAILS(gardenia_count_u64(filter, 7, NULL), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_count_digest(NULL, 7, &count), GARDENIA_ARGUMENT, "NULL");
    OK(gardenia_remove(filter, "rose", 4));
    OK(gardenia_remove_u64(filter, 7));
    OK(gardenia_remove_digest(filter, digest));
    CHECK(gardenia_contains(filter, "rose", 4) == 1 && gardenia_contains_u64(filter, 7) == 0 && gardenia_contains_digest(filter, digest) == 0);
    FAILS(gardenia_remove(filter, "thistle", 7), GARDENIA_ABSENT, "not in the filter");
    OK(gardenia_clear(filter));
    CHECK(gardenia_is_empty(filter) == 1 && gardenia_contains(filter, "rose", 4) == 0);
    OK(gardenia_free(filter));
}

static void batches(void) {
    enum { KEYS = 10000 };
    static uint64_t numbers[2 * KEYS], digests[KEYS];
    static bool answers[2 * KEYS];
    static uint64_t counts[2 * KEYS];
    static char text[KEYS * 8];
    static int32_t narrow[KEYS + 1];
    static int64_t wide[KEYS + 1];
    static const void *pointers[KEYS];
    static size_t lengths[KEYS];
    for (int i = 0; i < 2 * KEYS; i++) numbers[i] = (uint64_t)i * 3;
    int used = 0;
    for (int i = 0; i < KEYS; i++) {
        narrow[i] = used, wide[i] = used, pointers[i] = text + used;
        lengths[i] = (size_t)sprintf(text + used, "k%d", i);
        used += (int)lengths[i];
    }
    narrow[KEYS] = used, wide[KEYS] = used;

    gardenia_filter *filter = made("counting items=20000 fpp=1e-9 width=16");
    gardenia_keys keys = gardenia_keys_u64(numbers, KEYS);
    size_t inserted = 0;
    OK(gardenia_insert_many(filter, &keys, answers, &inserted));
    CHECK(inserted == KEYS && answers[0] && answers[KEYS - 1]);
    keys = gardenia_keys_u64(numbers, 2 * KEYS);
    OK(gardenia_contains_many(filter, &keys, answers));
    OK(gardenia_count_many(filter, &keys, counts));
    for (int i = 0; i < 2 * KEYS; i++) CHECK(answers[i] == (i < KEYS) && counts[i] == (i < KEYS));
    for (int i = 0; i < KEYS; i++) digests[i] = gardenia_digest_u64(filter, numbers[i]);
    keys = gardenia_keys_digests(digests, KEYS);
    OK(gardenia_contains_many(filter, &keys, answers));
    for (int i = 0; i < KEYS; i++) CHECK(answers[i]);

    /* The same strings in three layouts. */
    gardenia_keys layouts[3] = {gardenia_keys_pointers(pointers, lengths, KEYS), gardenia_keys_offsets32(text, narrow, KEYS),
                                gardenia_keys_offsets64(text, wide, KEYS)};
    for (int layout = 0; layout < 3; layout++) {
        OK(gardenia_clear(filter));
        OK(gardenia_insert_many(filter, &layouts[layout], NULL, NULL));
        for (int other = 0; other < 3; other++) {
            OK(gardenia_contains_many(filter, &layouts[other], answers));
            for (int i = 0; i < KEYS; i++) CHECK(answers[i]);
        }
        CHECK(gardenia_contains(filter, "k17", 3) == 1 && gardenia_contains(filter, "k10000", 6) == 0);
    }

    /* Nothing, and wrong offsets, pointers and layouts. */
    keys = gardenia_keys_offsets32(NULL, NULL, 0);
    OK(gardenia_contains_many(filter, &keys, NULL));
    narrow[5] = 1 << 20;
    keys = gardenia_keys_offsets32(text, narrow, KEYS);
    FAILS(gardenia_contains_many(filter, &keys, answers), GARDENIA_ARGUMENT, "key 5 would begin at 1048576");
    wide[0] = -1;
    keys = gardenia_keys_offsets64(text, wide, KEYS);
    FAILS(gardenia_insert_many(filter, &keys, NULL, &inserted), GARDENIA_ARGUMENT, "key 0");
    CHECK(inserted == 0);
    pointers[3] = NULL;
    keys = gardenia_keys_pointers(pointers, lengths, KEYS);
    FAILS(gardenia_contains_many(filter, &keys, answers), GARDENIA_ARGUMENT, "key 3");
    keys.layout = 99;
    FAILS(gardenia_contains_many(filter, &keys, answers), GARDENIA_ARGUMENT, "layout 99");
    keys = gardenia_keys_u64(NULL, 3);
    FAILS(gardenia_contains_many(filter, &keys, answers), GARDENIA_ARGUMENT, "NULL");
    keys = gardenia_keys_u64(numbers, (size_t)-1);
    FAILS(gardenia_contains_many(filter, &keys, answers), GARDENIA_ARGUMENT, "length");
    keys = gardenia_keys_u64(numbers, 3);
    FAILS(gardenia_contains_many(filter, &keys, NULL), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_contains_many(filter, NULL, answers), GARDENIA_ARGUMENT, "NULL");
    OK(gardenia_free(filter));

    /* A filter that is full says how many went in, and keeps them. */
    filter = made("cuckoo items=100 fpp=1%");
    keys = gardenia_keys_u64(numbers, KEYS);
    FAILS(gardenia_insert_many(filter, &keys, answers, &inserted), GARDENIA_FULL, "full");
    CHECK(inserted >= 100 && inserted < KEYS);
    keys = gardenia_keys_u64(numbers, inserted);
    OK(gardenia_contains_many(filter, &keys, answers));
    for (size_t i = 0; i < inserted; i++) CHECK(answers[i]);
    OK(gardenia_free(filter));
}

static void static_kinds(void) {
    gardenia_filter *filter = made("ribbon fpp=0.1%"), *copy = NULL;
    CHECK(strcmp(gardenia_kind_name(filter), "ribbon") == 0 && gardenia_can(filter, "fixed") == 1);
    CHECK(gardenia_is_empty(filter) == 1);
    for (uint64_t key = 0; key < 1000; key++) CHECK(gardenia_insert_u64(filter, key) == 1);
    CHECK(gardenia_is_empty(filter) == 0);
    FAILS(gardenia_contains_u64(filter, 1), GARDENIA_UNSUPPORTED, "gardenia_finish");
    OK(gardenia_clone(filter, &copy));
    int calls = 0;
    FAILS(gardenia_finish(filter, stop_at_once, &calls), GARDENIA_CANCELLED, "asked to stop");
    CHECK(calls == 1);
    OK(gardenia_finish(filter, count_calls, &calls));
    CHECK(calls >= 3); /* one of them stopped the first attempt */
    OK(gardenia_finish(filter, NULL, NULL));
    OK(gardenia_finish(copy, NULL, NULL));
    for (uint64_t key = 0; key < 1000; key++) CHECK(gardenia_contains_u64(filter, key) == 1 && gardenia_contains_u64(copy, key) == 1);
    FAILS(gardenia_insert_u64(filter, 1), GARDENIA_UNSUPPORTED, "static");
    FAILS(gardenia_clear(filter), GARDENIA_UNSUPPORTED, "static");
    OK(gardenia_free(copy));
    OK(gardenia_free(filter));

    filter = made("bloomier value-bits=8");
    /* Without a value it would be found with the value 0. */
    FAILS(gardenia_insert(filter, "tulip", 5), GARDENIA_UNSUPPORTED, "gardenia_insert_value");
    FAILS(gardenia_insert_u64(filter, 7), GARDENIA_UNSUPPORTED, "gardenia_insert_value");
    OK(gardenia_insert_value(filter, "rose", 4, 7));
    OK(gardenia_insert_value(filter, "lily", 4, 200));
    FAILS(gardenia_insert(filter, "tulip", 5), GARDENIA_UNSUPPORTED, "value");
    OK(gardenia_finish(filter, NULL, NULL));
    uint32_t value = 0;
    CHECK(gardenia_get_value(filter, "lily", 4, &value) == 1 && value == 200);
    OK(gardenia_free(filter));
    filter = made("bloomier value-bits=2");
    OK(gardenia_insert_value(filter, "rose", 4, 7));
    FAILS(gardenia_finish(filter, NULL, NULL), GARDENIA_SPEC, "does not fit");
    OK(gardenia_free(filter));
}

/* Keys can be excluded where forgetting others for it is what the kind promises, and nowhere else. */
static void exclusion(void) {
    const char *others[4] = {"fuse", "ribbon fpp=0.1%", "golomb fpp=0.1%", "bloomier value-bits=8"};
    for (int kind = 0; kind < 4; kind++) {
        gardenia_filter *filter = made(others[kind]);
        FAILS(gardenia_exclude(filter, "x", 1), GARDENIA_UNSUPPORTED, "retouched");
        OK(gardenia_free(filter));
    }
    gardenia_filter *filter = made("retouched fpp=10%");
    for (uint64_t key = 0; key < 1000; key++) CHECK(gardenia_insert_u64(filter, key) == 1);
    for (uint64_t key = 1000; key < 2000; key++) OK(gardenia_exclude(filter, &key, sizeof key));
    OK(gardenia_finish(filter, NULL, NULL));
    CHECK(strcmp(gardenia_kind_name(filter), "retouched") == 0);
    for (uint64_t key = 1000; key < 2000; key++) CHECK(gardenia_contains(filter, &key, sizeof key) == 0);
    OK(gardenia_free(filter));
}

static bool stop_at_the_second_call(void *context, uint64_t done, uint64_t all) {
    CHECK(done <= all);
    return ++*(int *)context < 2;
}

/* A build of 150 ms and more: its progress function is called on the way, and can stop it there. */
static void long_builds(void) {
    enum { KEYS = 2000000 };
    uint64_t *numbers = malloc(KEYS * sizeof *numbers);
    CHECK(numbers != NULL);
    for (uint64_t i = 0; i < KEYS; i++) numbers[i] = i;
    gardenia_filter *filter = made("ribbon fpp=1e-8");
    gardenia_keys keys = gardenia_keys_u64(numbers, KEYS);
    OK(gardenia_insert_many(filter, &keys, NULL, NULL));
    int calls = 0;
    FAILS(gardenia_finish(filter, stop_at_the_second_call, &calls), GARDENIA_CANCELLED, "asked to stop");
    CHECK(calls == 2);
    calls = 0;
    OK(gardenia_finish(filter, count_calls, &calls)); /* the keys are still there */
    CHECK(calls >= 3); /* at the start, at least once on the way, at the end */
    CHECK(gardenia_contains_u64(filter, 0) == 1 && gardenia_contains_u64(filter, KEYS - 1) == 1);
    OK(gardenia_free(filter));
    free(numbers);
}

static void whole_filters(const char *directory) {
    char path[4096], other_path[4096];
    snprintf(path, sizeof path, "%s/whole.gdn", directory);
    snprintf(other_path, sizeof other_path, "%s/copy.gdn", directory);
    gardenia_filter *mon = made("blocked items=1000 fpp=1e-6"), *tue = made("blocked items=1000 fpp=1e-6"), *small = made("blocked items=10");
    CHECK(gardenia_insert(mon, "rose", 4) == 1 && gardenia_insert(mon, "lily", 4) == 1 && gardenia_insert(tue, "lily", 4) == 1 && gardenia_insert(tue, "iris", 4) == 1);
    FAILS(gardenia_merge(mon, small), GARDENIA_MISMATCH, "same spec");
    gardenia_filter *both = NULL;
    OK(gardenia_clone(mon, &both));
    OK(gardenia_merge(both, tue));
    OK(gardenia_merge(both, both));
    CHECK(gardenia_contains(both, "rose", 4) == 1 && gardenia_contains(both, "iris", 4) == 1);
    OK(gardenia_intersect(mon, tue));
    CHECK(gardenia_contains(mon, "lily", 4) == 1 && gardenia_contains(mon, "rose", 4) == 0);
    gardenia_filter *stable = made("stable cells=1000 hashes=3 decrements=1");
    FAILS(gardenia_merge(stable, stable), GARDENIA_UNSUPPORTED, "cannot merge");
    FAILS(gardenia_remove(mon, "lily", 4), GARDENIA_UNSUPPORTED, "cannot remove");
    uint64_t count = 0;
    FAILS(gardenia_count(mon, "lily", 4, &count), GARDENIA_UNSUPPORTED, "cannot count");
    uint32_t value = 0;
    FAILS(gardenia_get_value(mon, "lily", 4, &value), GARDENIA_UNSUPPORTED, "bloomier");
    OK(gardenia_free(stable));

    gardenia_info info = {.struct_size = sizeof info};
    OK(gardenia_get_info(both, &info));
    CHECK(info.planned_items == 1000 && info.memory_bytes > 0 && info.fill > 0 && info.fpp < 1e-6 && fabs(info.estimated_items - 3) < 0.5);
    info.struct_size = 8;
    FAILS(gardenia_get_info(both, &info), GARDENIA_ARGUMENT, "struct_size");
    char *json = NULL;
    OK(gardenia_info_json(both, &json));
    CHECK(strstr(json, "\"kind\":\"blocked\"") != NULL && strstr(json, "\"spec\":\"blocked items=1000") != NULL);
    gardenia_free_string(json);
    CHECK(gardenia_can(both, "merge") == 1 && gardenia_can(both, "remove") == 0);
    FAILS(gardenia_can(both, "fly"), GARDENIA_ARGUMENT, "no ability is called");

    /* Files and bytes. */
    OK(gardenia_save(both, path));
    OK(gardenia_verify(path));
    gardenia_filter *opened = NULL, *mapped = NULL, *copied = NULL, *from_bytes = NULL;
    OK(gardenia_open(path, NULL, &opened));
    OK(gardenia_open_mapped(path, NULL, &mapped));
    OK(gardenia_clone(mapped, &copied));
    uint8_t *bytes = NULL;
    size_t len = 0;
    OK(gardenia_to_bytes(mapped, &bytes, &len));
    OK(gardenia_from_bytes(bytes, len, NULL, &from_bytes));
    gardenia_filter *forms[5] = {opened, mapped, copied, from_bytes, both};
    for (int form = 0; form < 5; form++) {
        CHECK(gardenia_contains(forms[form], "rose", 4) == 1 && gardenia_contains(forms[form], "thistle", 7) == 0);
        CHECK(strcmp(gardenia_kind_name(forms[form]), "blocked") == 0 && gardenia_is_empty(forms[form]) == 0);
        OK(gardenia_save(forms[form], other_path));
    }
    FAILS(gardenia_insert(mapped, "x", 1), GARDENIA_UNSUPPORTED, "gardenia_open");
    bytes[len / 2] ^= 1;
    gardenia_filter *damaged = NULL;
    FAILS(gardenia_from_bytes(bytes, len, NULL, &damaged), GARDENIA_DECODE, "");
    FAILS(gardenia_from_bytes(bytes, 20, NULL, &damaged), GARDENIA_DECODE, "");
    FAILS(gardenia_from_bytes("rose", 4, NULL, &damaged), GARDENIA_DECODE, "");
    CHECK(damaged == NULL);
    gardenia_free_bytes(bytes, len);
    for (int form = 0; form < 5; form++) OK(gardenia_free(forms[form]));
    FAILS(gardenia_open("/does/not/exist", NULL, &damaged), GARDENIA_IO, "");
    FAILS(gardenia_save(mon, "/does/not/exist/f.gdn"), GARDENIA_IO, "");
    FAILS(gardenia_verify("/does/not/exist"), GARDENIA_IO, "");
    OK(gardenia_free(mon));
    OK(gardenia_free(tue));
    OK(gardenia_free(small));

    /* A secret is needed to ask. */
    uint8_t secret[16] = {1, 2, 3}, wrong[16] = {3, 2, 1};
    gardenia_filter *keyed = NULL;
    OK(gardenia_new("bloom items=100", secret, &keyed));
    CHECK(gardenia_insert(keyed, "rose", 4) == 1);
    OK(gardenia_save(keyed, path));
    FAILS(gardenia_open(path, NULL, &damaged), GARDENIA_DECODE, "secret");
    FAILS(gardenia_open(path, wrong, &damaged), GARDENIA_DECODE, "secret");
    OK(gardenia_open(path, secret, &opened));
    OK(gardenia_open_mapped(path, secret, &mapped));
    OK(gardenia_clone(mapped, &copied));
    CHECK(gardenia_contains(opened, "rose", 4) == 1 && gardenia_contains(mapped, "rose", 4) == 1 && gardenia_contains(copied, "rose", 4) == 1);
    OK(gardenia_free(keyed));
    OK(gardenia_free(opened));
    OK(gardenia_free(mapped));
    OK(gardenia_free(copied));
}

struct part { gardenia_filter *filter; uint64_t from, to; int news; };

static void *insert_part(void *argument) {
    struct part *part = argument;
    for (uint64_t key = part->from; key < part->to; key++) {
        int answer = gardenia_insert_u64(part->filter, key);
        CHECK(answer >= 0);
        part->news += answer;
        CHECK(gardenia_contains_u64(part->filter, key) == 1);
    }
    return NULL;
}

static void *fail_in_a_thread(void *argument) {
    (void)argument;
    FAILS(gardenia_contains(NULL, "x", 1), GARDENIA_ARGUMENT, "NULL");
    return NULL;
}

static void threads(void) {
    const char *kinds[3] = {"blocked items=40000 fpp=1e-6", "bloom items=40000 fpp=1e-6", "a2 items=40000 fpp=1e-6"};
    for (int kind = 0; kind < 3; kind++) {
        gardenia_filter *filter = made(kinds[kind]);
        OK(gardenia_share(filter));
        char kind_name[8] = {0};
        memcpy(kind_name, kinds[kind], strcspn(kinds[kind], " "));
        CHECK(strcmp(gardenia_kind_name(filter), kind_name) == 0 && gardenia_is_empty(filter) == 1);
        struct part parts[4];
        pthread_t ids[4];
        for (int thread = 0; thread < 4; thread++) {
            parts[thread] = (struct part){filter, (uint64_t)thread * 10000, (uint64_t)thread * 10000 + 10000, 0};
            CHECK(pthread_create(&ids[thread], NULL, insert_part, &parts[thread]) == 0);
        }
        int news = 0;
        for (int thread = 0; thread < 4; thread++) {
            CHECK(pthread_join(ids[thread], NULL) == 0);
            news += parts[thread].news;
        }
        CHECK(news >= 39900 && news <= 40000 && gardenia_is_empty(filter) == 0);
        FAILS(gardenia_clear(filter), GARDENIA_UNSUPPORTED, "gardenia_unshare");
        OK(gardenia_unshare(filter));
        OK(gardenia_unshare(filter));
        for (uint64_t key = 0; key < 40000; key++) CHECK(gardenia_contains_u64(filter, key) == 1);
        OK(gardenia_free(filter));
    }
    gardenia_filter *cuckoo = made("cuckoo items=10");
    FAILS(gardenia_share(cuckoo), GARDENIA_UNSUPPORTED, "cannot share");
    CHECK(gardenia_insert(cuckoo, "rose", 4) == 1);
    OK(gardenia_free(cuckoo));

    /* Messages belong to threads. */
    gardenia_filter *none = NULL;
    FAILS(gardenia_new("rose items=1", NULL, &none), GARDENIA_SPEC, "rose");
    pthread_t id;
    CHECK(pthread_create(&id, NULL, fail_in_a_thread, NULL) == 0 && pthread_join(id, NULL) == 0);
    CHECK(strstr(gardenia_last_error(), "rose") != NULL);
}

static void wrong_use(void) {
    gardenia_filter *filter = NULL;
    FAILS(gardenia_new(NULL, NULL, &filter), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_new("blocked items=10", NULL, NULL), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_new("\xff", NULL, &filter), GARDENIA_ARGUMENT, "UTF-8");
    FAILS(gardenia_new("blocked items=many", NULL, &filter), GARDENIA_SPEC, "at character 8");
    FAILS(gardenia_new("blocked", NULL, &filter), GARDENIA_SPEC, "items");
    FAILS(gardenia_new("blocked items=10 width=3", NULL, &filter), GARDENIA_SPEC, "width");
    FAILS(gardenia_new("ribbon fpp=7", NULL, &filter), GARDENIA_SPEC, "fpp");
    CHECK(gardenia_new("bloom bits=4e15 hashes=1", NULL, &filter) != GARDENIA_OK);
    CHECK(filter == NULL);
    char *text = NULL;
    gardenia_size size;
    FAILS(gardenia_spec_filled("rose", &text), GARDENIA_SPEC, "rose");
    FAILS(gardenia_spec_size("rose", &size), GARDENIA_SPEC, "rose");
    FAILS(gardenia_plan_json("items=1M colour=red", &text), GARDENIA_SPEC, "colour");
    FAILS(gardenia_plan_json("items=1M remove fixed", &text), GARDENIA_SPEC, "remove");
    FAILS(gardenia_contains(NULL, "x", 1), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_insert(NULL, "x", 1), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_merge(NULL, NULL), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_clone(NULL, &filter), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_finish(NULL, NULL, NULL), GARDENIA_ARGUMENT, "NULL");
    CHECK(gardenia_kind_name(NULL) == NULL && gardenia_digest(NULL, "x", 1) == 0);
    OK(gardenia_free(NULL));
    gardenia_free_string(NULL);
    gardenia_free_bytes(NULL, 0);
    filter = made("bloom items=10");
    FAILS(gardenia_contains(filter, NULL, 3), GARDENIA_ARGUMENT, "NULL");
    FAILS(gardenia_insert(filter, "x", (size_t)-1), GARDENIA_ARGUMENT, "length");
    FAILS(gardenia_exclude(filter, "x", 1), GARDENIA_UNSUPPORTED, "retouched");
    FAILS(gardenia_insert_value(filter, "x", 1, 1), GARDENIA_UNSUPPORTED, "bloomier");
    OK(gardenia_free(filter));
    FAILS(gardenia_free(filter), GARDENIA_ARGUMENT, "freed before");
    CHECK(strcmp(gardenia_status_name(-3), "GARDENIA_FULL") == 0 && strcmp(gardenia_status_name(GARDENIA_OK), "GARDENIA_OK") == 0);
    CHECK(strcmp(gardenia_status_name(99), "unknown status") == 0);
}

/* Kinds that are not asked by the digest of a key: types of the Rust library, and of the command. */
static void kinds_without_digests(void) {
    const char *specs[5] = {"count-sketch epsilon=1% delta=1%", "distance-sensitive items=100 fpp=1% space=jaccard near=0.1 far=0.8", "top",
                            "range-count-min epsilon=1% delta=1%", "split items=1000 fpp=1%"};
    gardenia_filter *filter = NULL;
    for (int kind = 0; kind < 5; kind++) {
        FAILS(gardenia_new(specs[kind], NULL, &filter), GARDENIA_SPEC, "not held in memory as others are");
        CHECK(filter == NULL);
    }
    const char *files[7] = {"count-sketch", "distance-hamming", "distance-jaccard", "range-count-min", "top", "top-exact", "distance-hamming-keyed"};
    char path[4096];
    for (int file = 0; file < 7; file++) {
        snprintf(path, sizeof path, "%s/%s.gdn", GOLDEN, files[file]);
        OK(gardenia_verify(path));
        FAILS(gardenia_open(path, NULL, &filter), GARDENIA_DECODE, "not one that can be asked for keys");
        FAILS(gardenia_open_mapped(path, NULL, &filter), GARDENIA_DECODE, "not one that can be asked for keys");
        CHECK(filter == NULL);
    }
    snprintf(path, sizeof path, "%s/bloom.gdn", GOLDEN);
    OK(gardenia_open(path, NULL, &filter));
    OK(gardenia_free(filter));
}

static void planning(void) {
    CHECK(strlen(gardenia_version()) >= 5);
    char *text = NULL;
    OK(gardenia_plan_json("items=1M fpp=0.1% remove", &text));
    CHECK(strstr(text, "\"kind\":\"cuckoo\"") != NULL && strstr(text, "\"spec\":\"") != NULL);
    gardenia_free_string(text);
    OK(gardenia_kinds_json(&text));
    CHECK(strstr(text, "\"name\":\"blocked\"") != NULL && strstr(text, "\"name\":\"fpp\"") != NULL);
    gardenia_free_string(text);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    single_keys();
    batches();
    static_kinds();
    exclusion();
    long_builds();
    whole_filters(argv[1]);
    threads();
    wrong_use();
    kinds_without_digests();
    planning();
    fprintf(stderr, "functions: %d checks passed\n", checks);
    return 0;
}
