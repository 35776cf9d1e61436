/* Records between processes, one of which dies, from C and from C++. Exits with 0 if all of it holds. */
#include <uncontended_lib.h>

#include "require.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPACITY = 1024, RECORDS = 3000 };

/* Memory that this process and those that it forks share. */
static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
}

static unc_shared_records *attach(void *memory, size_t bytes) {
    unc_shared_records *records = NULL;
    REQUIRE(unc_shared_records_attach(memory, bytes, &records) == UNC_STATUS_OK);
    return records;
}

static void ended(pid_t child) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void write_all(void *memory, size_t bytes) {
    unc_shared_records *records = attach(memory, bytes);
    unc_record_producer *producer;
    REQUIRE(unc_shared_records_producer(records, &producer) == UNC_STATUS_OK);
    unc_shared_records_detach(records);
    for (uint32_t number = 0; number < RECORDS; number++)
        REQUIRE(unc_records_push(producer, &number, sizeof number, UNC_NEVER) == UNC_STATUS_OK);
    unc_records_close_producer(producer);
}

/* Dies with the role, after it has released some records, and without releasing the last one that it read. */
static void read_some(void *memory, size_t bytes, uint32_t count) {
    unc_record_consumer *consumer;
    const void *found;
    size_t length;
    REQUIRE(unc_shared_records_consumer(attach(memory, bytes), &consumer) == UNC_STATUS_OK);
    for (uint32_t number = 0; number <= count; number++) {
        REQUIRE(unc_records_read(consumer, &found, &length, UNC_NEVER) == UNC_STATUS_OK);
        if (number < count) REQUIRE(unc_records_release(consumer) == UNC_STATUS_OK);
    }
}

static void a_dead_consumer_is_replaced(void) {
    size_t bytes = unc_shared_records_bytes(CAPACITY), length, skipped = 9;
    void *memory = map(bytes);
    unc_shared_records *records;
    unc_record_consumer *consumer;
    uint32_t number;
    REQUIRE(unc_shared_records_create(memory, bytes, CAPACITY, &records) == UNC_STATUS_OK);
    pid_t reader = fork();
    if (reader == 0) {
        read_some(memory, bytes, 10);
        _exit(0);
    }
    pid_t writer = fork();
    if (writer == 0) {
        write_all(memory, bytes);
        _exit(0);
    }
    ended(reader);
    REQUIRE(unc_shared_records_consumer(records, &consumer) == UNC_STATUS_DIED);
    REQUIRE(unc_shared_records_take_over(records, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_shared_records_take_over(records, &consumer) == UNC_STATUS_HELD);
    REQUIRE(unc_records_pop(consumer, &number, sizeof number, &length, UNC_NEVER) == UNC_STATUS_OK);
    REQUIRE(number == 10 && length == sizeof number);
    for (uint32_t next = 11; next < RECORDS; next++) {
        REQUIRE(unc_records_pop(consumer, &number, sizeof number, NULL, UNC_NEVER) == UNC_STATUS_OK && number == next);
    }
    ended(writer);
    /* Open until a process closes it. */
    REQUIRE(unc_records_pop(consumer, &number, sizeof number, NULL, UNC_NOW) == UNC_STATUS_EMPTY);
    REQUIRE(unc_records_unblock(consumer, &skipped) == UNC_STATUS_OK && skipped == 0);
    unc_shared_records_close(records);
    REQUIRE(unc_records_pop(consumer, &number, sizeof number, NULL, UNC_NEVER) == UNC_STATUS_CLOSED);
    unc_records_close_consumer(consumer);
    REQUIRE(unc_shared_records_consumer(records, &consumer) == UNC_STATUS_CLOSED);
    unc_shared_records_detach(records);
    REQUIRE(munmap(memory, bytes) == 0);
}

/* Its claim holds up the records after it, until it is skipped. */
static void a_dead_claim_is_skipped(void) {
    size_t bytes = unc_shared_records_bytes(CAPACITY), skipped = 0, length;
    void *memory = map(bytes), *claimed;
    unc_shared_records *records;
    unc_record_producer *producer;
    unc_record_consumer *consumer;
    char letter;
    REQUIRE(unc_shared_records_create(memory, bytes, CAPACITY, &records) == UNC_STATUS_OK);
    REQUIRE(unc_shared_records_consumer(records, &consumer) == UNC_STATUS_OK);
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(unc_shared_records_producer(attach(memory, bytes), &producer) == UNC_STATUS_OK);
        REQUIRE(unc_records_claim(producer, 20, &claimed, UNC_NEVER) == UNC_STATUS_OK);
        _exit(0);
    }
    ended(child);
    REQUIRE(unc_shared_records_producer(records, &producer) == UNC_STATUS_OK);
    REQUIRE(unc_records_push(producer, "x", 1, UNC_NEVER) == UNC_STATUS_OK);
    REQUIRE(unc_records_pop(consumer, &letter, 1, &length, UNC_NOW) == UNC_STATUS_EMPTY);
    REQUIRE(unc_records_unblock(consumer, &skipped) == UNC_STATUS_OK && skipped == 32);
    REQUIRE(unc_records_pop(consumer, &letter, 1, &length, UNC_NOW) == UNC_STATUS_OK && letter == 'x');
    unc_records_close_producer(producer);
    unc_records_close_consumer(consumer);
    unc_shared_records_detach(records);
    REQUIRE(munmap(memory, bytes) == 0);
}

static void every_status(void) {
    size_t bytes = unc_shared_records_bytes(CAPACITY);
    char *memory = (char *)map(2 * bytes);
    unc_shared_records *records = NULL;
    unc_record_producer *producer;
    unc_record_consumer *consumer;
    REQUIRE(unc_shared_records_bytes(0) == 0 && unc_shared_records_bytes(SIZE_MAX) == 0);
    REQUIRE(unc_shared_records_attach(memory, bytes, &records) == UNC_STATUS_NO_RING);
    REQUIRE(unc_shared_records_create(NULL, bytes, CAPACITY, &records) == UNC_STATUS_INVALID);
    REQUIRE(unc_shared_records_create(memory + 8, bytes, CAPACITY, &records) == UNC_STATUS_INVALID);
    REQUIRE(unc_shared_records_create(memory, bytes, CAPACITY, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_shared_records_create(memory, bytes - 1, CAPACITY, &records) == UNC_STATUS_TOO_SMALL);
    REQUIRE(unc_shared_records_create(memory, bytes, 0, &records) == UNC_STATUS_ZERO_CAPACITY);
    REQUIRE(unc_shared_records_create(memory, bytes, SIZE_MAX, &records) == UNC_STATUS_TOO_LARGE);
    REQUIRE(unc_shared_records_attach(NULL, bytes, &records) == UNC_STATUS_INVALID && records == NULL);
    REQUIRE(unc_shared_records_create(memory, bytes, CAPACITY, &records) == UNC_STATUS_OK);
    memory[16] = 77; /* the size */
    unc_shared_records *other = NULL;
    REQUIRE(unc_shared_records_attach(memory, bytes, &other) == UNC_STATUS_CORRUPT && other == NULL);
    REQUIRE(unc_shared_records_producer(NULL, &producer) == UNC_STATUS_INVALID);
    REQUIRE(unc_shared_records_producer(records, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_shared_records_consumer(NULL, &consumer) == UNC_STATUS_INVALID);
    REQUIRE(unc_shared_records_consumer(records, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_shared_records_take_over(NULL, &consumer) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_unblock(NULL, NULL) == UNC_STATUS_INVALID);
    unc_shared_records_close(NULL);
    unc_shared_records_detach(NULL);
    unc_shared_records_detach(records);
    REQUIRE(munmap(memory, 2 * bytes) == 0);
}

int main(void) {
    a_dead_consumer_is_replaced();
    a_dead_claim_is_skipped();
    every_status();
    printf("%s\n", unc_backend());
    return 0;
}
