/* What every increment runs, inlined. */

#define UNC_EVENT_COUNT_INIT {0, {0, 0, 0, 0}}
#define UNC_NEVER UINT64_MAX

#ifdef __cplusplus
extern "C" {
#endif

/* How many events there were. What happened before each of them is seen. */
static inline uint64_t unc_event_count_value(const unc_event_count *count) {
    return __atomic_load_n(&count->version, __ATOMIC_ACQUIRE);
}

/* Whether somebody may sleep at the count. */
static inline bool unc_event_count_has_waiters(const unc_event_count *count) {
    return (__atomic_load_n(&count->sleepers[0], __ATOMIC_RELAXED) & 1) != 0;
}

/* What follows every publication: wakes whoever sleeps. The compiler barrier is all the fence that is needed here: who goes
 * to sleep runs one on every CPU. */
static inline void unc_event_count_published(const unc_event_count *count) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(unc_event_count_has_waiters(count), 0)) unc_event_count_wake(count);
}

/* Counts events, from the only thread that does: no atomic read-modify-write. No events are no event. */
static inline void unc_event_count_add(unc_event_count *count, uint64_t events) {
    if (events == 0) return;
    __atomic_store_n(&count->version, __atomic_load_n(&count->version, __ATOMIC_RELAXED) + events, __ATOMIC_RELEASE);
    unc_event_count_published(count);
}

/* Counts one event, from the only thread that does. */
static inline void unc_event_count_increment(unc_event_count *count) { unc_event_count_add(count, 1); }

/* Counts events from any of several threads, and returns how many there were before. */
static inline uint64_t unc_event_count_add_many(unc_event_count *count, uint64_t events) {
    uint64_t before = __atomic_fetch_add(&count->version, events, __ATOMIC_ACQ_REL);
    if (events != 0) unc_event_count_published(count);
    return before;
}

#ifdef __cplusplus
}
#endif
