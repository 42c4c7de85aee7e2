// The C++ header, by the behaviour that libbf's unit tests ask of its filters, restated as calls and answers; and where
// docs/libbf.md says that libbf is wrong, the right answer. Argument: a directory for files.

#include "gardenia.hpp"

#include <cmath>
#include <cstdio>
#include <sstream>
#include <thread>

static int checks;

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        checks++;                                                                               \
        if (!(condition)) {                                                                     \
            std::fprintf(stderr, "%s:%d: %s is false; last error: %s\n", __FILE__, __LINE__, #condition, gardenia_last_error()); \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (0)

using gardenia::filter;

// The behaviour that libbf's unit tests ask of its filters, as calls and answers: +key inserts, -key removes, !key is a removal that
// is refused, key=n counts n, key>n counts at least n, ?key is there, ~key is not, @ clears. `differs` says where docs/libbf.md has libbf give another answer.
struct restated {
    const char *spec, *calls, *differs;
};
static const restated table[] = {
    // basic
    {"bloom bits=640 hashes=4", "~foo +foo ?foo +bar +baz ?bar ?baz ~qux @ ~foo ~bar", nullptr},
    {"bloom items=100 fpp=0.8", "+foo +bar +baz +qux ?foo ?bar ?baz ?qux @ ~foo ~qux", nullptr},
    {"bloom bits=640 hashes=4 scheme=double", "+foo ?foo ~bar +bar ?bar", nullptr},
    {"bloom bits=640 hashes=4 scheme=partition", "+foo ?foo ~bar +bar ?bar", nullptr},
    {"bloom bits=9592 hashes=7", "+012345678901234567890123456789012345a ~012345678901234567890123456789012345b", "keys over 36 bytes"},
    // counting
    {"counting cells=1000 hashes=3 width=2", "foo=0 +foo foo=1 +foo +foo foo=3 +foo foo=3 bar=0", nullptr},
    {"counting cells=1000 hashes=3 width=8", "+bar +bar +bar -bar bar=2 -bar -bar bar=0 ~bar +foo foo=1 @ foo=0", nullptr},
    {"counting cells=1000 hashes=3 width=8", "!foo foo=0 +bar !foo bar=1", "removing what is not there"},
    {"counting cells=1000 hashes=3 width=2", "+foo +foo +foo +foo !foo foo=3", nullptr},
    // spectral: minimum increase, and recurring minimum
    {"spectral-mi cells=1000 hashes=5 width=8", "+foo +foo +foo +foo +foo +bar +bar +baz foo=5 bar=2 baz=1 qux=0 @ foo=0", nullptr},
    {"spectral-mi cells=1000 hashes=5 width=8", "+foo +foo !foo foo=2", "minimum increase removes"},
    {"spectral-rm cells=1000 hashes=5 width=8", "+foo +foo +foo +bar foo=3 bar=1 qux=0 -foo foo=2 -bar bar=0", nullptr},
    {"spectral-rm cells=1000 hashes=5 width=8", "+foo !bar foo=1 bar=0", "removing what is not there"},
    {"spectral-rm cells=60 hashes=3 width=8",
     "+a +b +c +d +e +f +g +h +i +j +a +b +c +d +e +f +g +h +i +j +a +b +c +d +e +f +g +h +i +j a>3 b>3 c>3 d>3 e>3 f>3 g>3 h>3 i>3 j>3",
     "no marker for keys of the second table"},
    // bitwise
    {"bitwise items=100 fpp=1e-4", "foo=0 +foo foo=1 +foo foo=2 +bar bar=1 +foo +foo +foo foo=5 baz=0 @ foo=0", nullptr},
    {"bitwise items=10 fpp=1e-2",
     "+a +b +c +d +e +f +g +h +i +j +a +b +c +d +e +f +g +h +i +j +a +b +c +d +e +f +g +h +i +j a>3 b>3 c>3 d>3 e>3 f>3 g>3 h>3 i>3 j>3",
     "a carry erases bits of other keys"},
    // A²: clearing also begins its window again
    {"a2 items=3 fpp=1e-6", "+foo ?foo +bar ?foo ?bar ~baz @ ~foo ~bar", nullptr},
    {"a2 items=3 fpp=1e-6", "+a +b @ +c +d +e ?c ?d ?e", "clearing keeps the count"},
    // stable
    {"stable cells=1000 hashes=3 width=2 decrements=5", "~foo +foo ?foo +bar ?bar @ ~foo ~bar", nullptr},
    {"stable cells=1000 hashes=3 width=3 decrements=500", "+foo +foo +foo +foo +foo ?foo ~bar ~baz ~qux", "cells lowered below zero"},
};

static void run_table() {
    for (const auto &[spec, calls, differs] : table) {
        filter made(spec);
        std::istringstream words(calls);
        for (std::string word; words >> word;) {
            std::string key = word.substr(1);
            bool right = true;
            switch (word[0]) {
            case '+': made.insert(key); break;
            case '-': made.remove(key); break;
            case '!': right = !made.try_remove(key); break;
            case '?': right = made.contains(key); break;
            case '~': right = !made.contains(key); break;
            case '@': made.clear(); break;
            default: {
                auto place = word.find_first_of("=>");
                std::uint64_t number = place == std::string::npos ? 0 : std::stoull(word.substr(place + 1)), count = made.count(word.substr(0, place));
                right = place != std::string::npos && (word[place] == '=' ? count == number : count >= number);
            }
            }
            checks++;
            if (!right) {
                std::fprintf(stderr, "%s: %s: %s is wrong%s%s\n", spec, calls, word.c_str(), differs ? "; libbf: " : "", differs ? differs : "");
                std::exit(1);
            }
        }
    }
}

// A basic filter finds what was added, and is empty after clear(); libbf counts lookups as 0 or 1.
static void basic() {
    for (const char *spec : {"bloom bits=640 hashes=4", "bloom items=100 fpp=0.8", "bloom bits=640 hashes=4 scheme=double",
                             "bloom bits=640 hashes=4 scheme=partition"}) {
        filter seen(spec);
        CHECK(!seen.contains("foo"));
        CHECK(seen.insert("foo"));
        CHECK(seen.insert("bar") || seen.contains("bar"));
        seen.insert("baz");
        seen.insert(42);
        seen.insert(4711u);
        CHECK(seen.contains("foo") && seen.contains("bar") && seen.contains("baz") && seen.contains(42ull) && seen.contains(std::int8_t(42)));
        seen.clear();
        CHECK(!seen.contains("foo") && seen.is_empty());
    }
    // A moved filter keeps its keys.
    filter first("bloom bits=640 hashes=4");
    first.insert("foo");
    filter second(std::move(first));
    CHECK(second.contains("foo"));
    filter third("bloom bits=640 hashes=4");
    third = std::move(second);
    CHECK(third.contains("foo"));
    // libbf hashes at most 36 bytes of a key: longer keys are told apart here.
    std::string long_key(99, 'x');
    third.insert(long_key + "0");
    CHECK(third.contains(long_key + "0") && !third.contains(long_key + "1") && !third.contains(long_key.substr(0, 36)));
    // Bytes of zero at the end belong to a key.
    third.insert("nul");
    CHECK(!third.contains(std::string_view("nul\0", 4)));
    // And its seeds 0 and 1 are one function.
    filter zero("bloom items=100 fpp=1e-6 seed=0"), one("bloom items=100 fpp=1e-6 seed=1");
    CHECK(gardenia_digest(zero.handle(), "foo", 3) != gardenia_digest(one.handle(), "foo", 3));
}

// A counting filter counts to its top and stays there; removal lowers.
static void counting() {
    filter seen("counting cells=100 hashes=3 width=2");
    for (int i = 0; i < 3; i++) seen.insert("foo");
    CHECK(seen.count("foo") == 3);
    seen.insert("foo");
    CHECK(seen.count("foo") == 3); // the top of two bits
    filter wide("counting cells=1000 hashes=3 width=8");
    for (int i = 0; i < 3; i++) wide.insert("bar");
    wide.remove("bar");
    CHECK(wide.count("bar") == 2 && wide.count("foo") == 0);
    wide.remove("bar");
    wide.remove("bar");
    CHECK(!wide.contains("bar"));
    // libbf lowers cells below a key that is not there: here nothing changes.
    wide.insert("bar");
    CHECK(!wide.try_remove("foo") && wide.count("bar") == 1);
}

// Spectral filters count; minimum increase cannot remove, recurring minimum can.
static void spectral() {
    for (const char *spec : {"spectral-mi cells=1000 hashes=5 width=8", "spectral-ms cells=1000 hashes=5 width=8",
                             "spectral-rm cells=1000 hashes=5 width=8"}) {
        filter seen(spec);
        for (int i = 0; i < 5; i++) seen.insert("foo");
        for (int i = 0; i < 2; i++) seen.insert("bar");
        seen.insert("baz");
        CHECK(seen.count("foo") == 5 && seen.count("bar") == 2 && seen.count("baz") == 1 && seen.count("qux") == 0);
    }
    filter increase("spectral-mi cells=1000 hashes=5 width=8"), recurring("spectral-rm cells=1000 hashes=5 width=8");
    increase.insert("foo");
    auto refused = increase.try_remove("foo");
    CHECK(!refused && refused.error().status == GARDENIA_UNSUPPORTED);
    recurring.insert("foo");
    recurring.insert("foo");
    recurring.remove("foo");
    CHECK(recurring.count("foo") == 1);
}

// A bitwise filter counts without a limit.
static void bitwise() {
    filter seen("bitwise items=100 fpp=1e-4");
    for (int i = 0; i < 1000; i++) seen.insert("foo");
    seen.insert("bar");
    CHECK(seen.count("foo") == 1000 && seen.count("bar") == 1 && seen.count("baz") == 0);
}

// An A² filter finds the last keys and forgets old ones.
static void a2() {
    filter seen("a2 items=100 fpp=1e-6");
    for (int key = 0; key < 1000; key++) {
        seen.insert(key);
        for (int last = std::max(0, key - 99); last <= key; last += 33) CHECK(seen.contains(last));
    }
    int forgotten = 0;
    for (int key = 0; key < 700; key++) forgotten += !seen.contains(key);
    CHECK(forgotten == 700);
}

// A stable filter never fills: absent keys stay mostly absent in an endless stream.
static void stable() {
    filter seen("stable items=1000 fpp=1%");
    int found = 0;
    for (int key = 0; key < 200000; key++) {
        seen.insert(key);
        CHECK(seen.contains(key));
    }
    for (int key = 1000000; key < 1010000; key++) found += seen.contains(key);
    // 1 % of 10,000 is 100, with a standard deviation of 10; five of them.
    CHECK(found <= 150);
    seen.clear();
    CHECK(!seen.contains(199999));
}

// The rest of the header: batches, values, files, failures as values and as exceptions.
static void header(const std::string &directory) {
    std::vector<std::uint64_t> numbers(20000);
    for (std::size_t at = 0; at < numbers.size(); at++) numbers[at] = at;
    std::span<const std::uint64_t> all(numbers), half = all.first(10000);
    filter seen("blocked items=10000 fpp=1e-9");
    seen.insert_all(half);
    auto found = seen.contains_all(all);
    for (std::size_t at = 0; at < found.size(); at++) CHECK(found[at] == (at < 10000));
    std::vector<std::string_view> words{"rose", "tulip", "rose", ""};
    filter counts("count-min epsilon=0.001 delta=0.001");
    counts.insert_all(words);
    CHECK((counts.count_all(words) == std::vector<std::uint64_t>{2, 1, 2, 1}));

    filter map("bloomier value-bits=8");
    map.insert_value("rose", 7);
    map.finish([](std::uint64_t done, std::uint64_t all) { return done <= all; });
    CHECK(map.get_value("rose") == 7u);

    filter stopped("ribbon fpp=1%");
    stopped.insert(7);
    bool caught = false;
    try {
        stopped.finish([](std::uint64_t, std::uint64_t) -> bool { throw std::runtime_error("enough"); });
    } catch (const std::runtime_error &error) {
        caught = std::string_view(error.what()) == "enough";
    }
    CHECK(caught);
    stopped.finish();
    CHECK(stopped.contains(7));

    filter counted("counting items=100");
    counted.insert(7);
    counted.insert(7);
    CHECK(counted.count(7) == 2 && counted.count(8u) == 0);

    std::string path = directory + "/cpp.gdn";
    seen.save(path);
    auto bytes = seen.to_bytes();
    auto opened = filter::open(path), mapped = filter::open_mapped(path), copied = filter::from_bytes(bytes), cloned = mapped.clone();
    for (const filter *form : {&opened, &mapped, &copied, &cloned}) CHECK(form->contains(9999) && !form->contains(10000));
    CHECK(std::string_view(opened.kind()) == "blocked" && opened.can("merge") && std::fabs(opened.info().estimated_items - 10000) < 500);
    CHECK(opened.info_json().find("\"kind\":\"blocked\"") != std::string::npos);

    auto wrong = filter::try_make("rose items=10");
    CHECK(!wrong && wrong.error().status == GARDENIA_SPEC && wrong.error().message.find("rose") != std::string::npos);
    bool thrown = false;
    try {
        filter("blocked");
    } catch (const gardenia::error &error) {
        thrown = error.status() == GARDENIA_SPEC && std::string_view(error.what()).find("items") != std::string_view::npos;
    }
    CHECK(thrown);
    CHECK(gardenia::size("counting items=1000 fpp=1%").bytes == 4800);
    CHECK(gardenia::filled("bloom items=1000").find("hashes=7") != std::string::npos);
    CHECK(gardenia::plan_json("items=1000 fixed").find("ribbon") != std::string::npos);
    CHECK(gardenia::kinds_json().find("golomb") != std::string::npos);

    filter shared("blocked items=2000 fpp=1e-6");
    shared.share();
    std::thread other([&] { for (int key = 0; key < 1000; key++) shared.insert(key); });
    for (int key = 1000; key < 2000; key++) shared.insert(key);
    other.join();
    shared.unshare();
    for (int key = 0; key < 2000; key++) CHECK(shared.contains(key));
    filter left("blocked items=100"), right("blocked items=100");
    left.insert("rose");
    right.insert("tulip");
    left.merge(right);
    CHECK(left.contains("tulip"));
    left.intersect(right);
    CHECK(left.contains("tulip") && !left.contains("rose"));
    filter keyed("bloom items=100", gardenia::secret{1, 2, 3});
    keyed.insert("rose");
    CHECK(keyed.contains("rose"));
}

int main(int, char **arguments) {
    run_table();
    basic();
    counting();
    spectral();
    bitwise();
    a2();
    stable();
    header(arguments[1]);
    std::fprintf(stderr, "garden: %d checks passed\n", checks);
}
