// Two threads, each with an SQLite database of its own in memory. They share nothing, or so it seems:
//
//   cc -O2 -g -pthread examples/two_databases.c -lsqlite3 -o two_databases
//   unc run -- ./two_databases
//   unc compare -- ./two_databases './two_databases --no-statistics'
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rows = 200000;

static void must(int result, sqlite3 *db) {
    if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
    fprintf(stderr, "sqlite: %s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(result));
    exit(1);
}

static void *fill_and_read(void *unused) {
    sqlite3 *db;
    sqlite3_stmt *insert, *select;
    must(sqlite3_open(":memory:", &db), NULL);
    must(sqlite3_exec(db, "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT); BEGIN", NULL, NULL, NULL), db);
    must(sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?, 'a value of some length')", -1, &insert, NULL), db);
    must(sqlite3_prepare_v2(db, "SELECT v || k FROM t WHERE k = ?", -1, &select, NULL), db);
    for (int k = 0; k < rows; k++) {
        sqlite3_bind_int(insert, 1, k);
        must(sqlite3_step(insert), db);
        sqlite3_reset(insert);
        sqlite3_bind_int(select, 1, k);
        must(sqlite3_step(select), db);
        sqlite3_reset(select);
    }
    sqlite3_finalize(insert);
    sqlite3_finalize(select);
    sqlite3_close(db);
    return unused;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-statistics") == 0)
            must(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0), NULL);  // the one line
        else
            rows = atoi(argv[i]);
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, fill_and_read, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
