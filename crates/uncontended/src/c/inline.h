/* The inlined part of every increment. */

#define UNC_EVENT_COUNT_INIT {0, {0, 0, 0, 0}}
#define UNC_NEVER UINT64_MAX
#define UNC_NOW UINT64_C(0)

#ifdef __cplusplus
extern "C" {
#endif

/* The number of events. The caller sees what happened before each of them. */
static inline uint64_t unc_event_count_value(const unc_event_count *count) {
    return __atomic_load_n(&count->version, __ATOMIC_ACQUIRE);
}

/* Whether a thread may be asleep on the count. */
static inline bool unc_event_count_has_waiters(const unc_event_count *count) {
    return (__atomic_load_n(&count->sleepers[0], __ATOMIC_RELAXED) & 1) != 0;
}

/* Follows every publication and wakes the sleepers. A compiler barrier is enough here: a thread that goes to sleep runs a
 * full barrier on every CPU. Where it cannot (UNC_PORTABLE), every publication pays for a fence. */
static inline void unc_event_count_published(const unc_event_count *count) {
#ifdef UNC_PORTABLE
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
    if (__builtin_expect(unc_event_count_has_waiters(count), 0)) unc_event_count_wake(count);
}

/* Counts events from the only thread that counts: no atomic read-modify-write. Zero events do nothing. */
static inline void unc_event_count_add(unc_event_count *count, uint64_t events) {
    if (events == 0) return;
    __atomic_store_n(&count->version, __atomic_load_n(&count->version, __ATOMIC_RELAXED) + events, __ATOMIC_RELEASE);
    unc_event_count_published(count);
}

/* Counts one event from the only thread that counts. */
static inline void unc_event_count_increment(unc_event_count *count) { unc_event_count_add(count, 1); }

/* Counts events from any of several threads, and returns the number before them. */
static inline uint64_t unc_event_count_add_many(unc_event_count *count, uint64_t events) {
    uint64_t before = __atomic_fetch_add(&count->version, events, __ATOMIC_ACQ_REL);
    if (events != 0) unc_event_count_published(count);
    return before;
}

/* Whether the count was closed. */
static inline bool unc_event_count_is_closed(const unc_event_count *count) {
    return __atomic_load_n(&count->sleepers[3], __ATOMIC_ACQUIRE) != 0;
}

#ifdef __cplusplus
}
#endif
