/* A program in phases. One lock's holds make some phases longer than the other work in them does; the program knows
 * by how much, which is what it would be shorter by without these holds.
 *
 * `queue`: three threads hold the lock in turn, and meet a fourth one that works alone, at a barrier made of a condition.
 *   No thread waits for the last one of the three to hold it.
 * `apart`: the main thread holds the lock and comes last; the others wait for it in another function.
 * `counts`: the main thread tells two workers to begin, and waits until both are done: the last one wakes it. In every
 *   other phase one of them holds the lock. */
#include "truth.h"

enum { PHASES = 15, HOLD_MS = 10, ALONE_MS = 20, LONG_MS = 30, OTHER_MS = 25, SHORT_MS = 2, MOST = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_came = PTHREAD_COND_INITIALIZER, told = PTHREAD_COND_INITIALIZER;
static const char *mode;
static int members, came, round_of, left;
static _Atomic int is_over;
/* When holders had done their holds in each phase, and when the others their work. */
static _Atomic int64_t held_ns[PHASES], other_ns[PHASES];

static int is_mode(const char *name) { return strcmp(mode, name) == 0; }

static void note(_Atomic int64_t *at) {
    int64_t now = now_ns(), before = *at;
    while (before < now && !atomic_compare_exchange_weak(at, &before, now)) {}
}

NOINLINE static void hold(int ms) {
    pthread_mutex_lock(&lock);
    nap_ms(ms);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

static void arrive(void) {
    pthread_mutex_lock(&gate);
    int round = round_of;
    if (++came == members) {
        came = 0;
        round_of++;
        pthread_cond_broadcast(&all_came);
    }
    while (round_of == round) pthread_cond_wait(&all_came, &gate);
    pthread_mutex_unlock(&gate);
}

/* Takes the lock now and then until it is told to end: without it, nobody would wait for the long holds. */
static void *looks(void *unused) {
    while (!is_over) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        nap_ms(1);
    }
    return unused;
}

NOINLINE static void holder_arrives(void) {
    arrive();
    __asm__ volatile("");
}

NOINLINE static void other_arrives(void) {
    arrive();
    __asm__ volatile("");
}

static void *holds(void *unused) {
    for (int i = 0; i < PHASES; i++) {
        hold(HOLD_MS);
        note(&held_ns[i]);
        other_arrives();
    }
    return unused;
}

static void *works(void *ms) {
    for (int i = 0; i < PHASES; i++) {
        nap_ms((int)(intptr_t)ms);
        note(&other_ns[i]);
        other_arrives();
    }
    return NULL;
}

static void queue(void) {
    members = MOST;
    pthread_t threads[MOST] = {start(works, (void *)ALONE_MS)};
    for (int i = 1; i < MOST; i++) threads[i] = start(holds, NULL);
    for (int i = 0; i < MOST; i++) pthread_join(threads[i], NULL);
}

static void apart(void) {
    members = 3;
    pthread_t threads[] = {start(works, (void *)OTHER_MS), start(works, (void *)OTHER_MS), start(looks, NULL)};
    for (int i = 0; i < PHASES; i++) {
        hold(LONG_MS);
        note(&held_ns[i]);
        holder_arrives();
    }
    for (int i = 0; i < 3; i++) {
        if (i == 2) is_over = 1;
        pthread_join(threads[i], NULL);
    }
}

NOINLINE static void next(int phase) {
    pthread_mutex_lock(&gate);
    while (round_of == phase) pthread_cond_wait(&told, &gate);
    pthread_mutex_unlock(&gate);
    __asm__ volatile("");
}

NOINLINE static void is_done(void) {
    pthread_mutex_lock(&gate);
    if (--left == 0) pthread_cond_signal(&all_came);
    pthread_mutex_unlock(&gate);
    __asm__ volatile("");
}

static void *holds_or_works(void *unused) {
    for (int i = 0; i < PHASES; i++) {
        next(i);
        if (i % 2 == 0) hold(LONG_MS);
        if (i % 2 == 1) nap_ms(OTHER_MS);
        note(i % 2 == 0 ? &held_ns[i] : &other_ns[i]);
        is_done();
    }
    return unused;
}

static void *works_or_rests(void *unused) {
    for (int i = 0; i < PHASES; i++) {
        next(i);
        nap_ms(i % 2 == 0 ? OTHER_MS : SHORT_MS);
        note(&other_ns[i]);
        is_done();
    }
    return unused;
}

static void counts(void) {
    pthread_t threads[] = {start(holds_or_works, NULL), start(works_or_rests, NULL), start(looks, NULL)};
    for (int i = 0; i < PHASES; i++) {
        nap_ms(1); /* Lets both wait: of one that finds that it may begin, nothing is recorded. */
        pthread_mutex_lock(&gate);
        round_of++;
        left = 2;
        pthread_cond_broadcast(&told);
        while (left > 0) pthread_cond_wait(&all_came, &gate);
        pthread_mutex_unlock(&gate);
    }
    for (int i = 0; i < 3; i++) {
        if (i == 2) is_over = 1;
        pthread_join(threads[i], NULL);
    }
}

int main(int count, char **arguments) {
    REQUIRE(count > 1);
    mode = arguments[1];
    if (is_mode("queue")) queue();
    if (is_mode("apart")) apart();
    if (is_mode("counts")) counts();
    long long saved = 0;
    for (int i = 0; i < PHASES; i++) {
        if (held_ns[i] > other_ns[i]) saved += held_ns[i] - other_ns[i];
    }
    REQUIRE(saved > 0);
    expect("culprit", &lock, "function = hold");
    expect("culprit", &lock, "gain(hold) >= %lld", saved * 2 / 3);
    /* On a busy machine, a thread may wake late by these. */
    expect("culprit", &lock, "gain(hold) <= %lld", saved * 4 / 3 + PHASES * 3 * MS);
    return 0;
}
