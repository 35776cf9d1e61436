/* Executes itself while it has three more threads: `executes_itself TIMES THREAD WAIT`, TIMES times, each time from its
 * first thread (THREAD is 0) or from another one (1). Until then these threads sleep or, where WAIT is 1, wait for a
 * condition. At last, three threads take turns at a mutex, for 2 ms each. Each program
 * lives long enough to be met. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static char **words;
static void again(void) {
    char times[16];
    usleep(600000);
    snprintf(times, sizeof times, "%d", atoi(words[1]) - 1);
    execl("/proc/self/exe", words[0], times, words[2], words[3], (char *)NULL);
    _exit(3);
}
static void *stays(void *executes) {
    if (executes) again();
    if (*words[3] == '0') pause();
    pthread_mutex_lock(&lock);
    while (1) pthread_cond_wait(&never, &lock);
    return NULL;
}
static void *takes_turns(void *unused) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        usleep(2000);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(int count, char **given) {
    pthread_t threads[3];
    if (count != 4) return 2;
    words = given;
    int is_last = *words[1] == '0', by_another = *words[2] == '1';
    for (int i = 0; i < 3; i++) {
        void *word = !is_last && by_another && i == 1 ? words : NULL;
        pthread_create(&threads[i], NULL, is_last ? takes_turns : stays, word);
    }
    if (!is_last && !by_another) again();
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    usleep(600000);
    return 0;
}
