/* Jobs for a few threads, each told to all of them (`all`), to one (`one`), or to all but seldom (`seldom`); or something
 * that all of them wait for (`meant`). Only the first wakes threads for nothing, at much cost. */
#include "truth.h"

enum { WORKERS = 8 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int jobs, is_over, round_;
static _Atomic int done;

static void nap_us(int us) { nanosleep(&(struct timespec){0, us * 1000}, NULL); }

NOINLINE static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!jobs && !is_over) pthread_cond_wait(&condition, &mutex);
        if (is_over) break;
        jobs--;
        pthread_mutex_unlock(&mutex);
        done++;
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

NOINLINE static void *meet(void *unused) {
    pthread_mutex_lock(&mutex);
    for (int seen = 0; !is_over; seen = round_) {
        while (round_ == seen && !is_over) pthread_cond_wait(&condition, &mutex);
        done++;
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

NOINLINE static void tell(int is_meant, int is_one) {
    pthread_mutex_lock(&mutex);
    if (is_meant) round_++;
    else jobs++;
    if (is_one) pthread_cond_signal(&condition);
    else pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const int is_one = !strcmp(argv[1], "one"), is_meant = !strcmp(argv[1], "meant");
    const int is_seldom = !strcmp(argv[1], "seldom"), told = is_seldom ? 60 : 1500;
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) threads[i] = start(is_meant ? meet : work, NULL);
    nap_ms(5);
    for (int i = 1; i <= told; i++) {
        tell(is_meant, is_one);
        while (done < (is_meant ? i * WORKERS : i)) nap_us(20);
        nap_us(is_seldom ? 20000 : 200); /* Lets all of them wait again. */
    }
    pthread_mutex_lock(&mutex);
    is_over = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    expect("condition", &condition, "class = queue");
    return 0;
}
