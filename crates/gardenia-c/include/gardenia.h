#ifndef GARDENIA_H
#define GARDENIA_H

/* Made by cbindgen from crates/gardenia-c/src: do not edit. UPDATE_HEADER=1 cargo test -p gardenia-c header */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Layout of `gardenia_keys`: integers of 64 bits. `data` points to `uint64_t`.
#define GARDENIA_KEYS_U64 0

// Layout of `gardenia_keys`: digests that `gardenia_digest` returned. `data` points to `uint64_t`.
#define GARDENIA_KEYS_DIGESTS 1

// Layout of `gardenia_keys`: separate byte strings. `data` points to `const void *`, `extents` to their lengths as `size_t`.
#define GARDENIA_KEYS_POINTERS 2

// Layout of `gardenia_keys`: byte strings one after another, as in Arrow. `data` points to the bytes, `extents` to
// `count + 1` offsets as `int32_t`.
#define GARDENIA_KEYS_OFFSETS32 3

// Layout of `gardenia_keys`: as `GARDENIA_KEYS_OFFSETS32`, with offsets as `int64_t`.
#define GARDENIA_KEYS_OFFSETS64 4

// What a call returns. Functions that answer yes or no return 1 or 0, and a failure as its negative number.
typedef enum gardenia_status {
  // The call did what it says.
  GARDENIA_OK = 0,
  // A NULL pointer, a handle that was freed, text that is not UTF-8, or offsets that decrease.
  GARDENIA_ARGUMENT = 1,
  // A spec or a need that cannot be read or built. The message names the option to change.
  GARDENIA_SPEC = 2,
  // The filter holds no further keys, or no further copies of this one.
  GARDENIA_FULL = 3,
  // Filters of this kind, or in this state, cannot do that.
  GARDENIA_UNSUPPORTED = 4,
  // The key is not in the filter, or cannot be removed for certain.
  GARDENIA_ABSENT = 5,
  // The two filters differ in size, seed or kind.
  GARDENIA_MISMATCH = 6,
  // The bytes are not a filter, or are corrupted, or need a secret.
  GARDENIA_DECODE = 7,
  // The file system refused.
  GARDENIA_IO = 8,
  // The memory cannot be allocated.
  GARDENIA_MEMORY = 9,
  // The progress function asked to stop.
  GARDENIA_CANCELLED = 10,
  // A fault of the library. Please report it.
  GARDENIA_INTERNAL = 11,
} gardenia_status;

// A filter. Its content is private; one of the functions that make filters returns a pointer to it, and `gardenia_free`
// ends it.
typedef struct gardenia_filter gardenia_filter;

// Many keys. The functions `gardenia_keys_…` fill it in; it owns nothing.
typedef struct gardenia_keys {
  // One of `GARDENIA_KEYS_…`.
  uint32_t layout;
  // Number of keys.
  size_t count;
  // The keys, or pointers to them.
  const void *data;
  // Lengths or offsets; NULL for integers and digests.
  const void *extents;
} gardenia_keys;

// Called while a filter is built, at least every 100 ms, with how many of all steps are done: some kinds tell only when they
// begin and when they are done. Return false to stop. It runs in the thread that called `gardenia_finish`.
typedef bool (*gardenia_progress)(void *context, uint64_t done, uint64_t all);

// What a filter takes and promises before it is made.
typedef struct gardenia_size {
  // Bytes of memory; of kinds that grow, of their first part.
  uint64_t bytes;
  // Bytes of a file.
  uint64_t file_bytes;
  // The false-positive rate once the planned keys are in; NaN if none are planned.
  double fpp;
} gardenia_size;

// Facts about a filter. Set `struct_size` to `sizeof(gardenia_info)` before the call: a later version of the library, whose
// struct may be longer, then writes no more than the program has room for.
typedef struct gardenia_info {
  // Bytes of this struct, as the caller knows it.
  size_t struct_size;
  // Number of the kind, as in files.
  uint32_t kind;
  // Probes per key; 0 if the kind has none.
  uint32_t hashes;
  // Number of cells.
  uint64_t cells;
  // Bytes that the cells take.
  uint64_t memory_bytes;
  // Keys that it was planned for; 0 if it was made by its size.
  uint64_t planned_items;
  // False-positive rate that it was planned for; 0 if it was made by its size.
  double planned_fpp;
  // The current false-positive rate.
  double fpp;
  // The share of cells that are set.
  double fill;
  // How many distinct keys it holds, estimated; NaN if the kind cannot tell.
  double estimated_items;
} gardenia_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The message of the last failure in this thread, in English. It is valid until the next failure in this thread.
//
// Thread safety: any thread may call it at any time.
// Ownership: the text belongs to the library.
const char *gardenia_last_error(void);

// The name of a status, such as "GARDENIA_FULL"; also of the negative number that a yes-or-no function returned.
//
// Thread safety: any thread may call it at any time.
// Ownership: the text belongs to the library.
const char *gardenia_status_name(int status);

// The version of the library, such as "0.1.0".
//
// Thread safety: any thread may call it at any time.
// Ownership: the text belongs to the library.
const char *gardenia_version(void);

// `count` integers of 64 bits. Negative numbers are those of two's complement: the key of −1 is that of 2⁶⁴ − 1.
//
// Thread safety: any thread may call it at any time.
// Ownership: the result points to the caller's memory, which must outlive its use.
struct gardenia_keys gardenia_keys_u64(const uint64_t *keys,
                                       size_t count);

// `count` digests that `gardenia_digest` returned for a filter with the same seed.
//
// Thread safety: any thread may call it at any time.
// Ownership: the result points to the caller's memory, which must outlive its use.
struct gardenia_keys gardenia_keys_digests(const uint64_t *digests, size_t count);

// `count` byte strings at separate addresses, and their lengths.
//
// Thread safety: any thread may call it at any time.
// Ownership: the result points to the caller's memory, which must outlive its use.
struct gardenia_keys gardenia_keys_pointers(const void *const *keys,
                                            const size_t *lengths,
                                            size_t count);

// `count` byte strings in one buffer. Key i begins at `offsets[i]` and ends before `offsets[i + 1]`, so that there are
// `count + 1` offsets.
//
// Thread safety: any thread may call it at any time.
// Ownership: the result points to the caller's memory, which must outlive its use.
struct gardenia_keys gardenia_keys_offsets32(const void *data,
                                             const int32_t *offsets,
                                             size_t count);

// As `gardenia_keys_offsets32`, with offsets of 64 bits.
//
// Thread safety: any thread may call it at any time.
// Ownership: the result points to the caller's memory, which must outlive its use.
struct gardenia_keys gardenia_keys_offsets64(const void *data,
                                             const int64_t *offsets,
                                             size_t count);

// Makes an empty filter from a spec: a kind and its options, such as "blocked items=1M fpp=0.1%".
//
// `gardenia_kinds_json` lists kinds and options. A kind that is built from all its keys at once (fuse, ribbon, golomb,
// bloomier, …) collects what is inserted until `gardenia_finish`.
//
// `secret`: NULL, or 16 bytes that keys are hashed with, for keys that an attacker may choose.
// `out`: receives the filter, which `gardenia_free` ends.
//
// Thread safety: any thread may call it at any time.
// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
//
// # Safety
// `spec` ends with NUL, `secret` is NULL or has 16 bytes, `out` is room for a pointer.
enum gardenia_status gardenia_new(const char *spec,
                                  const uint8_t *secret,
                                  struct gardenia_filter **out);

// Builds a filter that has been collecting its keys. Filters of other kinds are finished from the start, and nothing happens.
//
// If it fails, the filter still has its keys. `progress` may be NULL; `context` is handed to it. With a progress function the
// filter is built in a thread of its own. When that function returns false this call ends at once; the thread goes on with its
// share of memory until its step is done, and its result is dropped.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: `context` stays the caller's.
//
// # Safety
// `filter` is a filter that no other call uses; `progress` may be called with `context`.
enum gardenia_status gardenia_finish(struct gardenia_filter *filter,
                                     gardenia_progress progress,
                                     void *context);

// Reads a filter of any kind from a file into memory, and verifies every checksum.
//
// `secret`: NULL, or the 16 bytes that the filter was made with.
//
// Thread safety: any thread may call it at any time.
// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
//
// # Safety
// `file` ends with NUL, `secret` is NULL or has 16 bytes, `out` is room for a pointer.
enum gardenia_status gardenia_open(const char *file,
                                   const uint8_t *secret,
                                   struct gardenia_filter **out);

// Maps a file: it opens at once, and pages are read when they are asked for. The filter can be asked, not changed.
//
// Checksums of the payload are not verified: `gardenia_verify` does. Replace a mapped file with `mv`, never in place: if
// another process truncates it, the next query ends this process with SIGBUS, and if it is overwritten, answers are wrong.
//
// Thread safety: any thread may call it at any time.
// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
//
// # Safety
// That of `gardenia_open`, and nobody changes the file while it is mapped.
enum gardenia_status gardenia_open_mapped(const char *file,
                                          const uint8_t *secret,
                                          struct gardenia_filter **out);

// Reads a filter of any kind from the bytes of a file, and verifies every checksum. The bytes are copied.
//
// Thread safety: any thread may call it at any time.
// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
//
// # Safety
// There are `len` bytes at `data`; `secret` is NULL or has 16 bytes; `out` is room for a pointer.
enum gardenia_status gardenia_from_bytes(const void *data,
                                         size_t len,
                                         const uint8_t *secret,
                                         struct gardenia_filter **out);

// Verifies every checksum of a file without keeping it in memory.
//
// Thread safety: any thread may call it at any time.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `file` ends with NUL.
enum gardenia_status gardenia_verify(const char *file);

// Copies a filter. The copy of a mapped file is in memory of its own.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
//
// # Safety
// `filter` is a filter; `out` is room for a pointer.
enum gardenia_status gardenia_clone(const struct gardenia_filter *filter,
                                    struct gardenia_filter **out);

// Lets many threads call the `gardenia_insert…` functions on one filter at the same time; nothing is copied. For kinds with
// the ability "share". Saving, merging and the like wait for `gardenia_unshare`.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses.
enum gardenia_status gardenia_share(struct gardenia_filter *filter);

// Ends what `gardenia_share` began, after the threads have ended. Nothing happens to a filter that is not shared.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses.
enum gardenia_status gardenia_unshare(struct gardenia_filter *filter);

// Ends a filter. NULL is ignored; a filter that was freed before is reported, as long as its address has not been used again.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: the filter ends here.
//
// # Safety
// No other call uses the filter, now or later.
enum gardenia_status gardenia_free(struct gardenia_filter *filter);

// Saves a filter to a file. A file that is there is replaced when the new one is whole, so that readers see one or the other.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; `file` ends with NUL.
enum gardenia_status gardenia_save(const struct gardenia_filter *filter,
                                   const char *file);

// The bytes of a file with this filter. `gardenia_free_bytes` frees them.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: the caller frees `*data` with `gardenia_free_bytes`.
//
// # Safety
// `filter` is a filter; `data` and `len` are room for a pointer and a length.
enum gardenia_status gardenia_to_bytes(const struct gardenia_filter *filter,
                                       uint8_t **data,
                                       size_t *len);

// Frees what `gardenia_to_bytes` returned. NULL is ignored.
//
// Thread safety: any thread may call it at any time.
// Ownership: the bytes end here.
//
// # Safety
// They came from `gardenia_to_bytes` together, and are not used afterwards.
void gardenia_free_bytes(uint8_t *data, size_t len);

// Frees a text that a function of this library returned in a `char **`. NULL is ignored.
//
// Thread safety: any thread may call it at any time.
// Ownership: the text ends here.
//
// # Safety
// It came from there, and is not used afterwards.
void gardenia_free_string(char *text);

// The spec with everything filled in that was left open: what another program needs to build the same filter.
//
// Thread safety: any thread may call it at any time.
// Ownership: the caller frees `*out` with `gardenia_free_string`.
//
// # Safety
// `spec` ends with NUL; `out` is room for a pointer.
enum gardenia_status gardenia_spec_filled(const char *spec,
                                          char **out);

// What a filter of this spec takes, before any memory is allocated.
//
// Thread safety: any thread may call it at any time.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `spec` ends with NUL; `out` is room for the result.
enum gardenia_status gardenia_spec_size(const char *spec, struct gardenia_size *out);

// The digest of a key for this filter: what the `…_digest` functions accept, so that a key is hashed once for many filters
// with the same seed. 0 if the filter is NULL.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; there are `len` bytes at `key`.
uint64_t gardenia_digest(const struct gardenia_filter *filter,
                         const void *key,
                         size_t len);

// The same of an integer.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter.
uint64_t gardenia_digest_u64(const struct gardenia_filter *filter, uint64_t key);

// Adds a key. 1 if it was certainly absent before, 0 if it may have been there, a negative status if it fails.
//
// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses (or a shared one); there are `len` bytes at `key`.
int gardenia_insert(struct gardenia_filter *filter,
                    const void *key,
                    size_t len);

// Adds an integer; see `gardenia_insert`.
//
// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// That of `gardenia_insert`.
int gardenia_insert_u64(struct gardenia_filter *filter,
                        uint64_t key);

// Adds the key with this digest; see `gardenia_insert`.
//
// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// That of `gardenia_insert`.
int gardenia_insert_digest(struct gardenia_filter *filter,
                           uint64_t digest);

// Adds a key with a value, to a map (kind bloomier) that is still collecting.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// That of `gardenia_insert`.
enum gardenia_status gardenia_insert_value(struct gardenia_filter *filter,
                                           const void *key,
                                           size_t len,
                                           uint32_t value);

// Names a key that the filter must not find, for a filter (kind retouched) that is still collecting.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// That of `gardenia_insert`.
enum gardenia_status gardenia_exclude(struct gardenia_filter *filter,
                                      const void *key,
                                      size_t len);

// Adds many keys in order, several times as fast as one by one in a filter beyond the cache.
//
// `was_new`: NULL, or room for `keys->count` answers. `inserted`: NULL, or room for how many keys went in: all, unless it
// fails; those before the failure stay in the filter.
//
// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses (or a shared one); the pointers in `keys` are as its layout says.
enum gardenia_status gardenia_insert_many(struct gardenia_filter *filter,
                                          const struct gardenia_keys *keys,
                                          bool *was_new,
                                          size_t *inserted);

// Whether a key may be in the filter: 1 if it may, 0 if it certainly is not, a negative status if it fails.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; there are `len` bytes at `key`.
int gardenia_contains(const struct gardenia_filter *filter,
                      const void *key,
                      size_t len);

// Whether an integer may be in the filter; see `gardenia_contains`.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// That of `gardenia_contains`.
int gardenia_contains_u64(const struct gardenia_filter *filter, uint64_t key);

// Whether the key with this digest may be in the filter; see `gardenia_contains`.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// That of `gardenia_contains`.
int gardenia_contains_digest(const struct gardenia_filter *filter, uint64_t digest);

// Whether each of many keys may be in the filter. `found` has room for `keys->count` answers.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; the pointers in `keys` are as its layout says.
enum gardenia_status gardenia_contains_many(const struct gardenia_filter *filter,
                                            const struct gardenia_keys *keys,
                                            bool *found);

// How often a key was inserted, by the filter's estimate. For kinds with the ability "count".
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; there are `len` bytes at `key`; `count` is room for the result.
enum gardenia_status gardenia_count(const struct gardenia_filter *filter,
                                    const void *key,
                                    size_t len,
                                    uint64_t *count);

// How often an integer was inserted; see `gardenia_count`.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; `count` is room for the result.
enum gardenia_status gardenia_count_u64(const struct gardenia_filter *filter,
                                        uint64_t key,
                                        uint64_t *count);

// How often the key with this digest was inserted; see `gardenia_count`.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; `count` is room for the result.
enum gardenia_status gardenia_count_digest(const struct gardenia_filter *filter,
                                           uint64_t digest,
                                           uint64_t *count);

// How often each of many keys was inserted. `counts` has room for `keys->count` numbers.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; the pointers in `keys` are as its layout says.
enum gardenia_status gardenia_count_many(const struct gardenia_filter *filter,
                                         const struct gardenia_keys *keys,
                                         uint64_t *counts);

// The value of a key in a map (kind bloomier). 1 if the key may be in the map, 0 if it certainly is not, a negative status if it fails.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; there are `len` bytes at `key`; `value` is room for the result.
int gardenia_get_value(const struct gardenia_filter *filter,
                       const void *key,
                       size_t len,
                       uint32_t *value);

// Removes a key once. Only remove what was inserted: removing another key can hide one that is there. For kinds with the
// ability "remove".
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses; there are `len` bytes at `key`.
enum gardenia_status gardenia_remove(struct gardenia_filter *filter,
                                     const void *key,
                                     size_t len);

// Removes an integer once; see `gardenia_remove`.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses.
enum gardenia_status gardenia_remove_u64(struct gardenia_filter *filter, uint64_t key);

// Removes the key with this digest once; see `gardenia_remove`.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses.
enum gardenia_status gardenia_remove_digest(struct gardenia_filter *filter, uint64_t digest);

// Merges the keys of `other` into `filter`: afterwards it answers as if all keys of both had been inserted. `other` stays as
// it is. For kinds with the ability "merge", and filters made from the same spec.
//
// Thread safety: one thread, and no other call on `filter` meanwhile; `other` may be asked.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses; `other` is a filter. They may be the same.
enum gardenia_status gardenia_merge(struct gardenia_filter *filter,
                                    const struct gardenia_filter *other);

// Keeps the keys that are in both filters: every key of both is still found, at a higher false-positive rate than that of a
// filter built from the common keys. For kinds with the ability "intersect".
//
// Thread safety: one thread, and no other call on `filter` meanwhile; `other` may be asked.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// That of `gardenia_merge`.
enum gardenia_status gardenia_intersect(struct gardenia_filter *filter,
                                        const struct gardenia_filter *other);

// Removes all keys, and keeps size and options. A filter that is collecting its keys forgets them; one that was built from
// all its keys at once cannot be cleared.
//
// Thread safety: one thread, and no other call on the filter meanwhile.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter that no other call uses.
enum gardenia_status gardenia_clear(struct gardenia_filter *filter);

// Whether the filter can do something: 1 or 0, or a negative status. Abilities are words such as "insert", "remove", "count",
// "merge", "share"; `gardenia_kinds_json` lists those of each kind.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; `ability` ends with NUL.
int gardenia_can(const struct gardenia_filter *filter,
                 const char *ability);

// Facts about a filter, as a struct.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter; `out` is a struct with `struct_size` set.
enum gardenia_status gardenia_get_info(const struct gardenia_filter *filter,
                                       struct gardenia_info *out);

// Facts about a filter as JSON. Fields are added in later versions, never renamed or removed.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: the caller frees `*out` with `gardenia_free_string`.
//
// # Safety
// `filter` is a filter; `out` is room for a pointer.
enum gardenia_status gardenia_info_json(const struct gardenia_filter *filter, char **out);

// The name of the filter's kind, such as "blocked". It lives as long as the program. NULL if the filter is NULL.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: the text belongs to the library.
//
// # Safety
// `filter` is a filter.
const char *gardenia_kind_name(const struct gardenia_filter *filter);

// The table of kinds as JSON: name, number, what it is in a sentence, abilities and options of each; and of each option what
// it means and accepts.
//
// Thread safety: any thread may call it at any time.
// Ownership: the caller frees `*out` with `gardenia_free_string`.
//
// # Safety
// `out` is room for a pointer.
enum gardenia_status gardenia_kinds_json(char **out);

// Designs for a need, the best first, as JSON: "items=1M fpp=0.1% remove memory=20MiB". Each has a `spec` for `gardenia_new`.
//
// If no design fits, the status is `GARDENIA_SPEC`, and the message names the needs that conflict.
//
// Thread safety: any thread may call it at any time.
// Ownership: the caller frees `*out` with `gardenia_free_string`.
//
// # Safety
// `need` ends with NUL; `out` is room for a pointer.
enum gardenia_status gardenia_plan_json(const char *need,
                                        char **out);

// Whether the filter holds no keys: 1 or 0, or a negative status.
//
// Thread safety: any number of threads may call it on one filter.
// Ownership: arguments stay the caller's, and are used during the call only.
//
// # Safety
// `filter` is a filter.
int gardenia_is_empty(const struct gardenia_filter *filter);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GARDENIA_H */
