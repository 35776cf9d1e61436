/* The path that sets the length of a run. One thread holds a lock in `slow`; another waits for it, and then ends, in the way
 * that the first argument names, what the main thread waits for. Meanwhile eight threads queue at another lock: they wait
 * longer, all together, but are done before. Without the hold, the run would be as long as these take.
 *
 * `flag`: the last thread to end does so for a flag, which no lock guards: what set the run's length was not seen.
 * `pace MS [THREADS GAP]`: two threads, or THREADS, hold a lock six times for MS each, and pause for GAP ms, else 1 ms,
 * after each; meanwhile twelve queue at another lock for 144 ms. Without a pause they barge in.
 * `pool`: threads have one of two permits in turn. One that gives its own back often has it again before the waiter runs.
 * `late`: a thread waits for the last of a hold that is longer than the queue, which is off the path.
 * `meets`: threads meet at a barrier, the one that holds the lock last, and one of two others a little before; `counted`: the
 *   barrier is made of a mutex and a condition.
 * `told`: a thread waits for a long hold and then for a short one, in turns; the holders run until they are told to end.
 *   `told-late`: they have ended when they are joined. */
#include "truth.h"

enum { HOLD_MS = 600, CROWD = 8, CROWD_MS = 15, MOST_PACERS = 8, PACE_TURNS = 6, QUEUE = 12, QUEUE_MS = 12 };
static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER, crowd_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t slow_one;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t posted;
static const char *mode;
static _Atomic pid_t waiter;
static _Atomic int held, outer_held, is_open;
/* When the crowd's threads were made, and when the last of them was done. */
static int64_t begun_ns;
static _Atomic int64_t crowd_done_ns;

static int is_mode(const char *name) { return strcmp(mode, name) == 0; }

NOINLINE static void slow(void) {
    if (is_mode("writer")) {
        pthread_rwlock_rdlock(&shared);
    } else {
        pthread_mutex_lock(&slow_lock);
    }
    held = 1;
    await_asleep(&waiter);
    nap_ms(HOLD_MS);
    if (is_mode("writer")) {
        pthread_rwlock_unlock(&shared);
    } else {
        pthread_mutex_unlock(&slow_lock);
    }
    __asm__ volatile("");
}

NOINLINE static void hold_crowd(void) {
    pthread_mutex_lock(&crowd_lock);
    nap_ms(CROWD_MS);
    pthread_mutex_unlock(&crowd_lock);
    __asm__ volatile("");
}

static void *slowly(void *unused) {
    slow();
    return unused;
}

static void *in_crowd(void *unused) {
    hold_crowd();
    int64_t now = now_ns(), before = crowd_done_ns;
    while (before < now && !atomic_compare_exchange_weak(&crowd_done_ns, &before, now)) {}
    return unused;
}

/* Without the slow hold, the run is as long as the crowd takes; and some of the rest, it takes to start its threads. */
static void expect_gain(void) {
    long long rest = HOLD_MS * MS - (crowd_done_ns - begun_ns);
    expect("culprit", &slow_lock, "gain(slow) >= %lld", rest * 9 / 10);
}

/* Waits for the slow lock, and lets the main thread go on. */
static void *waits(void *unused) {
    while (!held) nap_ms(1);
    if (is_mode("nested")) {
        pthread_mutex_lock(&outer);
        outer_held = 1;
    }
    waiter = my_tid();
    if (is_mode("writer")) {
        pthread_rwlock_wrlock(&shared);
        pthread_rwlock_unlock(&shared);
    } else {
        pthread_mutex_lock(&slow_lock);
        pthread_mutex_unlock(&slow_lock);
    }
    if (is_mode("nested")) pthread_mutex_unlock(&outer);
    if (is_mode("barrier")) pthread_barrier_wait(&barrier);
    if (is_mode("semaphore")) sem_post(&posted);
    if (is_mode("condition")) {
        pthread_mutex_lock(&gate);
        is_open = 1;
        pthread_cond_signal(&opened);
        pthread_mutex_unlock(&gate);
    }
    if (is_mode("exit")) {
        pthread_join(slow_one, NULL); /* It records its hold after the unlock. */
        expect_gain();
        exit(0);
    }
    return unused;
}

/* A thread that makes the one that waits. */
static void *makes(void *unused) {
    pthread_join(start(waits, NULL), NULL);
    return unused;
}

static void path(void) {
    pthread_t crowd[CROWD], makes_it;
    begun_ns = now_ns();
    slow_one = start(slowly, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&posted, 0, 0);
    for (int i = 0; i < CROWD; i++) crowd[i] = start(in_crowd, NULL);
    expect("culprit", &slow_lock, "function = slow");
    expect("culprit", &slow_lock, "path(slow) >= %lld", HOLD_MS * MS);
    expect("culprit", &crowd_lock, "gain(hold_crowd) = 0");
    makes_it = start(is_mode("made") ? makes : waits, NULL);
    if (is_mode("barrier")) pthread_barrier_wait(&barrier);
    if (is_mode("semaphore")) sem_wait(&posted);
    if (is_mode("condition")) {
        pthread_mutex_lock(&gate);
        while (!is_open) pthread_cond_wait(&opened, &gate);
        pthread_mutex_unlock(&gate);
    }
    if (is_mode("nested")) {
        while (!outer_held) nap_ms(1);
        pthread_mutex_lock(&outer);
        pthread_mutex_unlock(&outer);
    }
    pthread_join(makes_it, NULL);
    pthread_join(slow_one, NULL);
    for (int i = 0; i < CROWD; i++) pthread_join(crowd[i], NULL);
    expect_gain();
}

static int pace_ms, pacers = 2, gap_ms = 1;

NOINLINE static void hold_pace(void) {
    pthread_mutex_lock(&slow_lock);
    nap_ms(pace_ms);
    pthread_mutex_unlock(&slow_lock);
    __asm__ volatile("");
}

NOINLINE static void hold_queue(void) {
    pthread_mutex_lock(&crowd_lock);
    nap_ms(QUEUE_MS);
    pthread_mutex_unlock(&crowd_lock);
    __asm__ volatile("");
}

static void *queues(void *unused) {
    hold_queue();
    return unused;
}

static void *paces(void *unused) {
    for (int i = 0; i < PACE_TURNS; i++) {
        hold_pace();
        if (gap_ms > 0) nap_ms(gap_ms); /* Lets the other one have it. */
    }
    return unused;
}

static void pace(void) {
    pthread_t threads[QUEUE + MOST_PACERS];
    for (int i = 0; i < QUEUE; i++) threads[i] = start(queues, NULL);
    for (int i = 0; i < pacers; i++) threads[QUEUE + i] = start(paces, NULL);
    for (int i = 0; i < QUEUE + pacers; i++) pthread_join(threads[i], NULL);
    long long held = pacers * PACE_TURNS * pace_ms * MS;
    /* A thread that wakes too late to find the lock taken leaves a hold off the path. */
    expect("culprit", &slow_lock, "path(hold_pace) >= %lld", held / 2);
}

/* Looks at a flag from time to time. */
static void *looks(void *unused) {
    pthread_mutex_lock(&slow_lock); /* So that the thread is seen. */
    pthread_mutex_unlock(&slow_lock);
    while (!is_open) nap_ms(130);
    return unused;
}

/* The last thread to end does so for a flag, which no lock guards. */
static void flag(void) {
    pthread_t threads[QUEUE], last = start(looks, NULL);
    for (int i = 0; i < QUEUE; i++) threads[i] = start(queues, NULL);
    for (int i = 0; i < QUEUE; i++) pthread_join(threads[i], NULL);
    is_open = 1;
    pthread_join(last, NULL);
    expect("culprit", &crowd_lock, "function = hold_queue");
    expect("culprit", &crowd_lock, "gain(hold_queue) = null");
}

/* The long hold is work that would be done without the lock, too: less waiting gains next to nothing. */
NOINLINE static void hold_to_the_end(void) {
    pthread_mutex_lock(&slow_lock);
    nap_ms(HOLD_MS);
    is_open = 1;
    await_asleep(&waiter);
    pthread_mutex_unlock(&slow_lock);
    __asm__ volatile("");
}

static void *comes_late(void *unused) {
    while (!is_open) nap_ms(1);
    waiter = my_tid();
    pthread_mutex_lock(&slow_lock);
    pthread_mutex_unlock(&slow_lock);
    return unused;
}

static void late(void) {
    pthread_t threads[CROWD], comes = start(comes_late, NULL);
    for (int i = 0; i < CROWD; i++) threads[i] = start(in_crowd, NULL);
    hold_to_the_end();
    for (int i = 0; i < CROWD; i++) pthread_join(threads[i], NULL);
    pthread_join(comes, NULL);
    expect("culprit", &crowd_lock, "function = hold_crowd");
}

/* A thread waits for a long hold, and then for one of many short ones. Those that hold run until they are told to end. */
enum { LONG_TURNS = 20, LONG_MS = 20 };
static _Atomic int is_asked, is_held;

NOINLINE static void hold_long(void) {
    pthread_mutex_lock(&slow_lock);
    is_held = 1;
    nap_ms(LONG_MS);
    pthread_mutex_unlock(&slow_lock);
    __asm__ volatile("");
}

static void *holds_long(void *unused) {
    while (!is_open) {
        if (is_asked) {
            is_asked = 0;
            hold_long();
        } else {
            nap_ms(1);
        }
    }
    return unused;
}

static void *holds_often(void *unused) {
    while (!is_open) {
        pthread_mutex_lock(&crowd_lock);
        nap_ms(1);
        pthread_mutex_unlock(&crowd_lock);
        nap_ms(1); /* Lets the other one have it. */
    }
    return unused;
}

static void *waits_for_both(void *unused) {
    for (int i = 0; i < LONG_TURNS; i++) {
        is_held = 0;
        is_asked = 1;
        while (!is_held) nap_ms(1);
        pthread_mutex_lock(&slow_lock);
        pthread_mutex_unlock(&slow_lock);
        pthread_mutex_lock(&crowd_lock);
        pthread_mutex_unlock(&crowd_lock);
    }
    return unused;
}

static void told(void) {
    pthread_t waits = start(waits_for_both, NULL);
    pthread_t others[] = {start(holds_long, NULL), start(holds_often, NULL)};
    pthread_join(waits, NULL);
    is_open = 1;
    if (is_mode("told-late")) nap_ms(5);
    for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
    expect("culprit", &slow_lock, "function = hold_long");
    expect("culprit", &slow_lock, "path(hold_long) >= %lld", LONG_TURNS * LONG_MS * MS * 8 / 10);
    expect("culprit", &slow_lock, "gain(hold_long) >= %lld", LONG_TURNS * LONG_MS * MS * 6 / 10);
}

enum { SWIMMERS = 6, LENGTHS = 20, LENGTH_MS = 6, PERMITS = 2 };

NOINLINE static void hold_permit(void) {
    sem_wait(&posted);
    nap_ms(LENGTH_MS);
    sem_post(&posted);
    __asm__ volatile("");
}

static void *swims(void *unused) {
    for (int i = 0; i < LENGTHS; i++) {
        hold_permit();
        for (int64_t end = now_ns() + MS / 2; now_ns() < end;) {}
    }
    return unused;
}

static void pool(void) {
    pthread_t threads[SWIMMERS];
    sem_init(&posted, 0, PERMITS);
    for (int i = 0; i < SWIMMERS; i++) threads[i] = start(swims, NULL);
    for (int i = 0; i < SWIMMERS; i++) pthread_join(threads[i], NULL);
    long long held = SWIMMERS * LENGTHS * LENGTH_MS / PERMITS * MS;
    expect("culprit", &posted, "function = hold_permit");
    /* On a busy machine, some of it would have been spent in want of a CPU. */
    expect("culprit", &posted, "gain(hold_permit) >= %lld", held * 3 / 4);
}

enum { MEETINGS = 12, MEMBERS = 4, LAST_MS = 30, OTHER_MS = 24 };
/* When the last thread, and when the one before it, came to each meeting. */
static int64_t last_came_ns[MEETINGS], other_came_ns[MEETINGS];

NOINLINE static void hold_to_meet(void) {
    pthread_mutex_lock(&slow_lock);
    nap_ms(LAST_MS);
    pthread_mutex_unlock(&slow_lock);
    __asm__ volatile("");
}

static pthread_mutex_t arrivals = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_came = PTHREAD_COND_INITIALIZER;
static int came;

NOINLINE static void meet(void) {
    if (is_mode("meets")) {
        pthread_barrier_wait(&barrier);
        return;
    }
    pthread_mutex_lock(&arrivals);
    int round = came / MEMBERS;
    if (++came % MEMBERS == 0) pthread_cond_broadcast(&all_came);
    while (came / MEMBERS == round) pthread_cond_wait(&all_came, &arrivals);
    pthread_mutex_unlock(&arrivals);
}

static void *comes_last(void *unused) {
    for (int i = 0; i < MEETINGS; i++) {
        meet();
        hold_to_meet();
        last_came_ns[i] = now_ns();
    }
    return unused;
}

/* In each other round. */
static void *comes_before(void *number) {
    for (int i = 0; i < MEETINGS; i++) {
        meet();
        int is_late = i % 2 == (int)(intptr_t)number;
        nap_ms(is_late ? OTHER_MS : 1);
        if (is_late) other_came_ns[i] = now_ns();
    }
    return NULL;
}

static void *waits_and_comes(void *unused) {
    for (int i = 0; i < MEETINGS; i++) {
        meet();
        nap_ms(1);
        pthread_mutex_lock(&slow_lock);
        pthread_mutex_unlock(&slow_lock);
    }
    return unused;
}

static void meets(void) {
    pthread_barrier_init(&barrier, NULL, MEMBERS);
    pthread_t waiter = start(waits_and_comes, NULL), last = start(comes_last, NULL);
    pthread_t others[] = {start(comes_before, (void *)0), start(comes_before, (void *)1)};
    pthread_join(waiter, NULL);
    pthread_join(last, NULL);
    for (int i = 0; i < 2; i++) pthread_join(others[i], NULL); /* They have ended before. */
    long long saved = 0;
    for (int i = 0; i < MEETINGS; i++) {
        if (last_came_ns[i] > other_came_ns[i]) saved += last_came_ns[i] - other_came_ns[i];
    }
    expect("culprit", &slow_lock, "function = hold_to_meet");
    expect("culprit", &slow_lock, "gain(hold_to_meet) >= %lld", saved / 2);
    expect("culprit", &slow_lock, "gain(hold_to_meet) <= %lld", saved + MEETINGS * LAST_MS * MS / 10);
}

int main(int count, char **arguments) {
    REQUIRE(count > 1);
    mode = arguments[1];
    if (is_mode("meets") || is_mode("counted")) {
        meets();
        return 0;
    }
    if (is_mode("pool")) {
        pool();
        return 0;
    }
    if (is_mode("late")) {
        late();
        return 0;
    }
    if (is_mode("told") || is_mode("told-late")) {
        told();
        return 0;
    }
    if (is_mode("flag")) {
        flag();
        return 0;
    }
    if (count > 2) {
        pace_ms = atoi(arguments[2]);
        if (count > 4) {
            pacers = atoi(arguments[3]);
            gap_ms = atoi(arguments[4]);
            REQUIRE(pacers <= MOST_PACERS);
        }
        pace();
    } else {
        path();
    }
    return 0;
}
