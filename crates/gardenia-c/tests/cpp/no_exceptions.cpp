// The header without exceptions: compiled with -fno-exceptions.

#include "gardenia.hpp"

#include <cstdio>

int main() {
    auto seen = gardenia::filter::try_make("blocked items=1000 fpp=1e-6");
    if (!seen) return 1;
    auto inserted = seen->try_insert("rose");
    auto found = seen->try_contains("rose"), absent = seen->try_contains("tulip");
    auto refused = seen->try_remove("rose");
    if (!inserted || !*inserted || !found || !*found || !absent || *absent) return 1;
    if (refused || refused.error().status != GARDENIA_UNSUPPORTED) return 1;
    std::puts("no exceptions: passed");
}
