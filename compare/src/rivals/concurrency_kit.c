/* Calls of Concurrency Kit's event count, made where its inline functions can be inlined. */
#include <ck_ec.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int gettime(const struct ck_ec_ops *ops, struct timespec *out)
{
	(void)ops;
	return clock_gettime(CLOCK_MONOTONIC, out);
}

static void wait_on(const void *address, uint32_t expected, const struct timespec *deadline)
{
	syscall(SYS_futex, address, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, deadline, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

static void wait32(const struct ck_ec_wait_state *state, const uint32_t *address, uint32_t expected,
		   const struct timespec *deadline)
{
	(void)state;
	wait_on(address, expected, deadline);
}

static void wait64(const struct ck_ec_wait_state *state, const uint64_t *address, uint64_t expected,
		   const struct timespec *deadline)
{
	(void)state;
	wait_on(address, (uint32_t)expected, deadline);
}

static void wake(const void *address)
{
	syscall(SYS_futex, address, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
}

static void wake32(const struct ck_ec_ops *ops, const uint32_t *address)
{
	(void)ops;
	wake(address);
}

static void wake64(const struct ck_ec_ops *ops, const uint64_t *address)
{
	(void)ops;
	wake(address);
}

static const struct ck_ec_ops ops = {
	.gettime = gettime, .wait32 = wait32, .wait64 = wait64, .wake32 = wake32, .wake64 = wake64};
static const struct ck_ec_mode single = {.ops = &ops, .single_producer = true};
static const struct ck_ec_mode many = {.ops = &ops, .single_producer = false};

/* Each count is alone on its cache lines. */
#define FORM(NAME, BITS, MODE)                                                                           \
	void *unc_ck_new_##NAME(void)                                                                    \
	{                                                                                                \
		struct ck_ec##BITS *ec = aligned_alloc(128, 128);                                        \
		if (ec != NULL)                                                                          \
			ck_ec##BITS##_init(ec, 0);                                                       \
		return ec;                                                                               \
	}                                                                                                \
	void unc_ck_publish_##NAME(void *ec, uint64_t *slots, uint64_t words, uint64_t mask, uint64_t n) \
	{                                                                                                \
		if (words == 1) {                                                                        \
			for (uint64_t i = 0; i < n; i++) {                                               \
				__atomic_store_n(&slots[i & mask], i, __ATOMIC_RELAXED);                 \
				ck_ec##BITS##_inc(ec, &MODE);                                            \
			}                                                                                \
			return;                                                                          \
		}                                                                                        \
		for (uint64_t i = 0; i < n; i++) {                                                       \
			for (int word = 0; word < 8; word++)                                             \
				__atomic_store_n(&slots[8 * (i & mask) + word], i, __ATOMIC_RELAXED);    \
			ck_ec##BITS##_inc(ec, &MODE);                                                    \
		}                                                                                        \
	}                                                                                                \
	void unc_ck_inc_##NAME(void *ec)                                                                 \
	{                                                                                                \
		ck_ec##BITS##_inc(ec, &MODE);                                                            \
	}                                                                                                \
	uint64_t unc_ck_value_##NAME(void *ec)                                                           \
	{                                                                                                \
		return ck_ec##BITS##_value(ec);                                                          \
	}                                                                                                \
	void unc_ck_wait_##NAME(void *ec, uint64_t old)                                                  \
	{                                                                                                \
		ck_ec##BITS##_wait(ec, &MODE, old, NULL);                                                \
	}

FORM(sp32, 32, single)
FORM(mp32, 32, many)
FORM(sp64, 64, single)
FORM(mp64, 64, many)
