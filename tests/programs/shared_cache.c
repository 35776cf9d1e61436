// Four threads, each with a connection of its own to one database in memory, read it all the time. With the argument
// `shared`, the connections share a cache, and SQLite's documentation says that they take turns then: a connection holds
// the mutex of the shared B-tree while a statement runs. Otherwise each has a cache of its own.
//
//     cc -O2 -g -pthread tests/programs/shared_cache.c -lsqlite3 -o shared_cache
//     ./shared_cache shared FILE
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define READS 20

static char uri[4096];

static void must(int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    fprintf(stderr, "sqlite: %s\n", sqlite3_errstr(result));
    exit(1);
}

static sqlite3 *opened(void) {
    sqlite3 *db;
    must(sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL));
    return db;
}

static void *read_all(void *total) {
    sqlite3 *db = opened();
    sqlite3_stmt *sum;
    must(sqlite3_prepare_v2(db, "SELECT sum(length(v) + k % 7) FROM t", -1, &sum, NULL));
    for (int i = 0; i < READS; i++) {
        if (sqlite3_step(sum) != SQLITE_ROW) exit(2);
        *(long *)total += sqlite3_column_int64(sum, 0);
        must(sqlite3_reset(sum));
    }
    must(sqlite3_finalize(sum));
    must(sqlite3_close(db));
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) return 3;
    int is_shared = strcmp(argv[1], "shared") == 0;
    snprintf(uri, sizeof uri, "file:%s?cache=%s", argv[2], is_shared ? "shared" : "private");
    // Else its counter of memory is waited for too (examples/two_databases.c).
    must(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0));
    sqlite3 *db = opened();
    must(sqlite3_exec(db,
                      "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT);"
                      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                      "INSERT INTO t SELECT i, hex(i) FROM n",
                      NULL, NULL, NULL));
    pthread_t threads[THREADS];
    long totals[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, read_all, &totals[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    must(sqlite3_close(db));
    printf("%ld\n", totals[0]);
    return 0;
}
