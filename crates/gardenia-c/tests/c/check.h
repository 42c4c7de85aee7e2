/* What all test programs share. */
#ifndef CHECK_H
#define CHECK_H

#include "gardenia.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks;

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        checks++;                                                                                                     \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s is false; last error: %s\n", __FILE__, __LINE__, #condition, gardenia_last_error()); \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define OK(call) CHECK((call) == GARDENIA_OK)

/* A call that must fail with this status, and with a message that contains these words. */
#define FAILS(call, status, words)                                                                                    \
    do {                                                                                                              \
        int fails_ = (int)(call);                                                                                     \
        CHECK(fails_ == (int)(status) || fails_ == -(int)(status));                                                   \
        CHECK(strstr(gardenia_last_error(), words) != NULL);                                                          \
    } while (0)

#endif
