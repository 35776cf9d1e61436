/* What the test programs have in common. */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(what)                                                   \
    do {                                                                \
        if (!(what)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);  \
            exit(1);                                                    \
        }                                                               \
    } while (0)

static inline pthread_t start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, argument) == 0);
    return thread;
}
