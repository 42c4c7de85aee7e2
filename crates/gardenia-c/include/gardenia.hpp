// Gardenia for C++20: handles that end themselves, keys of any usual type, and failures as values or as exceptions.
//
// Every call that can fail exists twice: try_insert() returns a result, insert() returns the value and throws
// gardenia::error. Without exceptions (-fno-exceptions) only the first form exists. All of it is inline over gardenia.h, where each
// function is documented.
#ifndef GARDENIA_HPP
#define GARDENIA_HPP

#include "gardenia.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gardenia {

/// Why a call failed.
struct failure {
    gardenia_status status;
    std::string message;
};

#if defined(__cpp_exceptions)
/// A failure as an exception.
class error : public std::runtime_error {
public:
    explicit error(const failure &why) : std::runtime_error(why.message), status_(why.status) {}
    gardenia_status status() const noexcept { return status_; }

private:
    gardenia_status status_;
};
#endif

/// A value, or why there is none; what std::expected is in C++23.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    result(failure why) : held_(std::in_place_index<1>, std::move(why)) {}

    bool has_value() const noexcept { return held_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    T &operator*() & { return std::get<0>(held_); }
    const T &operator*() const & { return std::get<0>(held_); }
    T &&operator*() && { return std::get<0>(std::move(held_)); }
    T *operator->() { return &std::get<0>(held_); }
    const T *operator->() const { return &std::get<0>(held_); }
    const failure &error() const { return std::get<1>(held_); }

    /// The value; throws gardenia::error, or aborts where there are no exceptions.
    T value() && {
        if (!has_value()) {
#if defined(__cpp_exceptions)
            throw gardenia::error(error());
#else
            std::abort();
#endif
        }
        return std::get<0>(std::move(held_));
    }

private:
    std::variant<T, failure> held_;
};

/// Of calls that return nothing.
using outcome = result<std::monostate>;

namespace detail {

inline failure last(gardenia_status status) { return {status, gardenia_last_error()}; }

inline outcome checked(gardenia_status status) {
    if (status == GARDENIA_OK) return std::monostate{};
    return last(status);
}

inline result<bool> answered(int answer) {
    if (answer < 0) return last(static_cast<gardenia_status>(-answer));
    return answer == 1;
}

inline result<std::string> text(gardenia_status status, char *text) {
    if (status != GARDENIA_OK) return last(status);
    std::string copy(text);
    gardenia_free_string(text);
    return copy;
}

} // namespace detail

/// 16 bytes that keys are hashed with, for keys that an attacker may choose.
using secret = std::array<std::uint8_t, 16>;

/// What a filter takes and promises before it is made.
inline result<gardenia_size> try_size(const std::string &spec) {
    gardenia_size size{};
    auto status = gardenia_spec_size(spec.c_str(), &size);
    if (status != GARDENIA_OK) return detail::last(status);
    return size;
}

/// The spec with everything filled in.
inline result<std::string> try_filled(const std::string &spec) {
    char *text = nullptr;
    auto status = gardenia_spec_filled(spec.c_str(), &text);
    return detail::text(status, text);
}

/// Designs for a need such as "items=1M fpp=0.1% remove", as JSON.
inline result<std::string> try_plan_json(const std::string &need) {
    char *text = nullptr;
    auto status = gardenia_plan_json(need.c_str(), &text);
    return detail::text(status, text);
}

/// The table of kinds as JSON.
inline result<std::string> try_kinds_json() {
    char *text = nullptr;
    auto status = gardenia_kinds_json(&text);
    return detail::text(status, text);
}

/// A filter of any kind. It can be moved, and is copied by clone() alone.
///
/// contains() and count() may be called by many threads; what changes the filter by one, unless it is shared.
class filter {
private:
    // Here, because its type must be known where it is called.
    template <class F>
    static auto with_pointers(std::span<const std::string_view> keys, F work) {
        std::vector<const void *> pointers;
        std::vector<std::size_t> lengths;
        pointers.reserve(keys.size());
        lengths.reserve(keys.size());
        for (auto key : keys) {
            pointers.push_back(key.data());
            lengths.push_back(key.size());
        }
        return work(gardenia_keys_pointers(pointers.data(), lengths.data(), keys.size()));
    }

public:
    using bytes = std::span<const std::byte>;
    /// Asked how far a build has come: done, all. Return false to stop.
    using progress = std::function<bool(std::uint64_t, std::uint64_t)>;

    static result<filter> try_make(const std::string &spec, const std::optional<secret> &key = {}) {
        return made([&](gardenia_filter **out) { return gardenia_new(spec.c_str(), data(key), out); });
    }
    static result<filter> try_open(const std::string &path, const std::optional<secret> &key = {}) {
        return made([&](gardenia_filter **out) { return gardenia_open(path.c_str(), data(key), out); });
    }
    /// Replace a mapped file with mv, never in place: see gardenia_open_mapped.
    static result<filter> try_open_mapped(const std::string &path, const std::optional<secret> &key = {}) {
        return made([&](gardenia_filter **out) { return gardenia_open_mapped(path.c_str(), data(key), out); });
    }
    static result<filter> try_from_bytes(bytes from, const std::optional<secret> &key = {}) {
        return made([&](gardenia_filter **out) { return gardenia_from_bytes(from.data(), from.size(), data(key), out); });
    }

#if defined(__cpp_exceptions)
    explicit filter(const std::string &spec, const std::optional<secret> &key = {}) : filter(try_make(spec, key).value()) {}
    static filter open(const std::string &path, const std::optional<secret> &key = {}) { return try_open(path, key).value(); }
    static filter open_mapped(const std::string &path, const std::optional<secret> &key = {}) {
        return try_open_mapped(path, key).value();
    }
    static filter from_bytes(bytes from, const std::optional<secret> &key = {}) { return try_from_bytes(from, key).value(); }
#endif

    filter(filter &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    filter &operator=(filter &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    filter(const filter &) = delete;
    filter &operator=(const filter &) = delete;
    ~filter() { gardenia_free(handle_); }

    /// The handle, for functions of gardenia.h. It stays this object's.
    gardenia_filter *handle() noexcept { return handle_; }
    const gardenia_filter *handle() const noexcept { return handle_; }

    // One key. Text and bytes are bytes; integers of all widths are one kind of key, of 64 bits.

    result<bool> try_insert(std::string_view key) { return detail::answered(gardenia_insert(handle_, key.data(), key.size())); }
    result<bool> try_insert(bytes key) { return detail::answered(gardenia_insert(handle_, key.data(), key.size())); }
    template <std::integral T>
    result<bool> try_insert(T key) { return detail::answered(gardenia_insert_u64(handle_, static_cast<std::uint64_t>(key))); }

    result<bool> try_contains(std::string_view key) const {
        return detail::answered(gardenia_contains(handle_, key.data(), key.size()));
    }
    result<bool> try_contains(bytes key) const { return detail::answered(gardenia_contains(handle_, key.data(), key.size())); }
    template <std::integral T>
    result<bool> try_contains(T key) const {
        return detail::answered(gardenia_contains_u64(handle_, static_cast<std::uint64_t>(key)));
    }

    result<std::uint64_t> try_count(std::string_view key) const { return counted(key.data(), key.size()); }
    result<std::uint64_t> try_count(bytes key) const { return counted(key.data(), key.size()); }
    template <std::integral T>
    result<std::uint64_t> try_count(T key) const {
        std::uint64_t count = 0;
        auto status = gardenia_count_u64(handle_, static_cast<std::uint64_t>(key), &count);
        if (status != GARDENIA_OK) return detail::last(status);
        return count;
    }

    outcome try_remove(std::string_view key) { return detail::checked(gardenia_remove(handle_, key.data(), key.size())); }
    outcome try_remove(bytes key) { return detail::checked(gardenia_remove(handle_, key.data(), key.size())); }
    template <std::integral T>
    outcome try_remove(T key) { return detail::checked(gardenia_remove_u64(handle_, static_cast<std::uint64_t>(key))); }

    outcome try_insert_value(std::string_view key, std::uint32_t value) {
        return detail::checked(gardenia_insert_value(handle_, key.data(), key.size(), value));
    }
    result<std::optional<std::uint32_t>> try_get_value(std::string_view key) const {
        std::uint32_t value = 0;
        int found = gardenia_get_value(handle_, key.data(), key.size(), &value);
        if (found < 0) return detail::last(static_cast<gardenia_status>(-found));
        return found == 1 ? std::optional<std::uint32_t>(value) : std::nullopt;
    }
    outcome try_exclude(std::string_view key) { return detail::checked(gardenia_exclude(handle_, key.data(), key.size())); }

    // Many keys.

    outcome try_insert(std::span<const std::uint64_t> keys) { return insert_many(gardenia_keys_u64(keys.data(), keys.size())); }
    outcome try_insert(std::span<const std::string_view> keys) {
        return with_pointers(keys, [&](const gardenia_keys &all) { return insert_many(all); });
    }
    result<std::vector<char>> try_contains(std::span<const std::uint64_t> keys) const {
        return contains_many(gardenia_keys_u64(keys.data(), keys.size()));
    }
    result<std::vector<char>> try_contains(std::span<const std::string_view> keys) const {
        return with_pointers(keys, [&](const gardenia_keys &all) { return contains_many(all); });
    }
    result<std::vector<std::uint64_t>> try_count(std::span<const std::uint64_t> keys) const {
        return count_many(gardenia_keys_u64(keys.data(), keys.size()));
    }
    result<std::vector<std::uint64_t>> try_count(std::span<const std::string_view> keys) const {
        return with_pointers(keys, [&](const gardenia_keys &all) { return count_many(all); });
    }

    // The whole filter.

    /// What the progress function throws stops the build, and is thrown from here.
    outcome try_finish(const progress &watch = {}) {
        struct watched {
            const progress &watch;
#if defined(__cpp_exceptions)
            std::exception_ptr thrown{};
#endif
        } context{watch};
        auto call = [](void *pointer, std::uint64_t done, std::uint64_t all) {
            auto &context = *static_cast<watched *>(pointer);
#if defined(__cpp_exceptions)
            // An exception must not cross the frames of another language.
            try {
                return context.watch(done, all);
            } catch (...) {
                context.thrown = std::current_exception();
                return false;
            }
#else
            return context.watch(done, all);
#endif
        };
        auto status = gardenia_finish(handle_, watch ? +call : nullptr, &context);
#if defined(__cpp_exceptions)
        if (context.thrown) std::rethrow_exception(context.thrown);
#endif
        return detail::checked(status);
    }
    outcome try_merge(const filter &other) { return detail::checked(gardenia_merge(handle_, other.handle_)); }
    outcome try_intersect(const filter &other) { return detail::checked(gardenia_intersect(handle_, other.handle_)); }
    outcome try_clear() { return detail::checked(gardenia_clear(handle_)); }
    outcome try_share() { return detail::checked(gardenia_share(handle_)); }
    outcome try_unshare() { return detail::checked(gardenia_unshare(handle_)); }
    outcome try_save(const std::string &path) const { return detail::checked(gardenia_save(handle_, path.c_str())); }
    result<filter> try_clone() const {
        return made([&](gardenia_filter **out) { return gardenia_clone(handle_, out); });
    }
    result<std::vector<std::byte>> try_to_bytes() const {
        std::uint8_t *data = nullptr;
        std::size_t len = 0;
        auto status = gardenia_to_bytes(handle_, &data, &len);
        if (status != GARDENIA_OK) return detail::last(status);
        auto *first = reinterpret_cast<const std::byte *>(data);
        std::vector<std::byte> copy(first, first + len);
        gardenia_free_bytes(data, len);
        return copy;
    }
    result<bool> try_can(const std::string &ability) const { return detail::answered(gardenia_can(handle_, ability.c_str())); }
    result<bool> try_is_empty() const { return detail::answered(gardenia_is_empty(handle_)); }
    result<gardenia_info> try_info() const {
        gardenia_info info{};
        info.struct_size = sizeof info;
        auto status = gardenia_get_info(handle_, &info);
        if (status != GARDENIA_OK) return detail::last(status);
        return info;
    }
    result<std::string> try_info_json() const {
        char *text = nullptr;
        auto status = gardenia_info_json(handle_, &text);
        return detail::text(status, text);
    }
    const char *kind() const { return gardenia_kind_name(handle_); }

#if defined(__cpp_exceptions)
    template <class K> bool insert(const K &key) { return try_insert(key).value(); }
    template <class K> bool contains(const K &key) const { return try_contains(key).value(); }
    template <class K> std::uint64_t count(const K &key) const { return try_count(key).value(); }
    template <class K> void remove(const K &key) { try_remove(key).value(); }
    void insert_value(std::string_view key, std::uint32_t value) { try_insert_value(key, value).value(); }
    std::optional<std::uint32_t> get_value(std::string_view key) const { return try_get_value(key).value(); }
    void exclude(std::string_view key) { try_exclude(key).value(); }
    void insert_all(std::span<const std::uint64_t> keys) { try_insert(keys).value(); }
    void insert_all(std::span<const std::string_view> keys) { try_insert(keys).value(); }
    std::vector<char> contains_all(std::span<const std::uint64_t> keys) const { return try_contains(keys).value(); }
    std::vector<char> contains_all(std::span<const std::string_view> keys) const { return try_contains(keys).value(); }
    std::vector<std::uint64_t> count_all(std::span<const std::uint64_t> keys) const { return try_count(keys).value(); }
    std::vector<std::uint64_t> count_all(std::span<const std::string_view> keys) const { return try_count(keys).value(); }
    void finish(const progress &watch = {}) { try_finish(watch).value(); }
    void merge(const filter &other) { try_merge(other).value(); }
    void intersect(const filter &other) { try_intersect(other).value(); }
    void clear() { try_clear().value(); }
    void share() { try_share().value(); }
    void unshare() { try_unshare().value(); }
    void save(const std::string &path) const { try_save(path).value(); }
    filter clone() const { return try_clone().value(); }
    std::vector<std::byte> to_bytes() const { return try_to_bytes().value(); }
    bool can(const std::string &ability) const { return try_can(ability).value(); }
    bool is_empty() const { return try_is_empty().value(); }
    gardenia_info info() const { return try_info().value(); }
    std::string info_json() const { return try_info_json().value(); }
#endif

private:
    explicit filter(gardenia_filter *handle) noexcept : handle_(handle) {}

    static const std::uint8_t *data(const std::optional<secret> &key) { return key ? key->data() : nullptr; }

    template <class F>
    static result<filter> made(F make) {
        gardenia_filter *handle = nullptr;
        auto status = make(&handle);
        if (status != GARDENIA_OK) return detail::last(status);
        return filter(handle);
    }

    result<std::uint64_t> counted(const void *key, std::size_t len) const {
        std::uint64_t count = 0;
        auto status = gardenia_count(handle_, key, len, &count);
        if (status != GARDENIA_OK) return detail::last(status);
        return count;
    }

    outcome insert_many(const gardenia_keys &keys) { return detail::checked(gardenia_insert_many(handle_, &keys, nullptr, nullptr)); }

    // A vector of char, because one of bool has no array inside.
    result<std::vector<char>> contains_many(const gardenia_keys &keys) const {
        static_assert(sizeof(bool) == 1);
        std::vector<char> found(keys.count);
        auto status = gardenia_contains_many(handle_, &keys, reinterpret_cast<bool *>(found.data()));
        if (status != GARDENIA_OK) return detail::last(status);
        return found;
    }

    result<std::vector<std::uint64_t>> count_many(const gardenia_keys &keys) const {
        std::vector<std::uint64_t> counts(keys.count);
        auto status = gardenia_count_many(handle_, &keys, counts.data());
        if (status != GARDENIA_OK) return detail::last(status);
        return counts;
    }

    gardenia_filter *handle_;
};

#if defined(__cpp_exceptions)
inline gardenia_size size(const std::string &spec) { return try_size(spec).value(); }
inline std::string filled(const std::string &spec) { return try_filled(spec).value(); }
inline std::string plan_json(const std::string &need) { return try_plan_json(need).value(); }
inline std::string kinds_json() { return try_kinds_json().value(); }
#endif

} // namespace gardenia

#endif
