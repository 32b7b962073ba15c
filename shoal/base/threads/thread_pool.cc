// Loops over a fixed set of threads, without allocation and with one atomic operation per index.
//
// A loop opens the gate, counts up the generation and wakes the workers. Each worker that enters
// the gate takes indices from its own lane first and then from the others, so that equal loops find
// their data in the same caches and a late thread's part is done by the rest. The caller works,
// too, then shuts the gate and waits for the workers inside, not for those still asleep: body_,
// context_ and the lanes change only when the gate is shut and no thread is inside.
#include "shoal/base/threads/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include "shoal/base/machine/machine.h"

namespace shoal {
namespace {

constexpr uint32_t kOpen = 1u << 31;

// About 50 microseconds: longer than the gaps between the loops of a running network, too short for
// a core kept awake to matter.
constexpr int kSpins = 1500;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ __volatile__("yield");
#endif
}

// Returns once `word` is no longer `old`.
void await_change(const std::atomic<uint32_t>& word, uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    pause();
  }
  word.wait(old, std::memory_order_acquire);
}

// A hint: if it is refused, the thread runs wherever the system puts it.
void pin_to(std::thread& thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  ::pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
}

// Everywhere but on `core`.
void keep_off(std::thread& thread, int core, const std::vector<int>& usable) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int other : usable) {
    if (other != core) CPU_SET(static_cast<size_t>(other), &set);
  }
  ::pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
}

// Threads in loops of any pool. On a separate cache line, because all threads write to it.
alignas(64) std::atomic<int> at_work{0};

thread_local int depth = 0;  // of the loops that the thread has called

// Counts the calling thread, once however deep its loops are nested.
class Caller {
 public:
  Caller() {
    if (depth++ == 0) at_work.fetch_add(1, std::memory_order_relaxed);
  }
  ~Caller() {
    if (--depth == 0) at_work.fetch_sub(1, std::memory_order_relaxed);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
};

}  // namespace

ThreadPool::ThreadPool(const ThreadPoolOptions& options) {
  usable_ = usable_cores();
  const auto available = static_cast<int>(usable_.size());
  const int count = options.threads > 0 ? options.threads : available;
  cores_ = std::max(options.cores > 0 ? options.cores : available, count);
  makes_way_ = !options.pin && count <= available;
  lanes_ = std::vector<Lane>(static_cast<size_t>(count));
  workers_.reserve(static_cast<size_t>(count - 1));
  for (int slot = 1; slot < count; ++slot) {
    workers_.emplace_back([this, slot] { serve(slot); });
    if (options.pin) pin_to(workers_.back(), usable_[static_cast<size_t>(slot % available)]);
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// Also for nested loops and for loops of several sessions: if the pool is busy, the caller runs the
// loop alone, which avoids deadlock.
void ThreadPool::run(int64_t n, Body body, const void* context) {
  if (n == 1) return body(context, 0, 0);
  if (n <= 0) return;
  const Caller caller;
  if (workers_.empty() || busy_.exchange(true, std::memory_order_acquire)) {
    for (int64_t i = 0; i < n; ++i) body(context, i, 0);
  } else {
    share_out(n, body, context);
    busy_.store(false, std::memory_order_release);
  }
}

// Linux likes to wake a thread where its waker runs. There it would wait for the very thread that
// it was to help, while another core idles: two threads as slow as one, measured.
void ThreadPool::make_way_for_caller() {
  const int core = ::sched_getcpu();
  if (core == caller_core_) return;
  caller_core_ = core;
  for (std::thread& worker : workers_) keep_off(worker, core, usable_);
}

void ThreadPool::share_out(int64_t n, Body body, const void* context) {
  if (makes_way_) make_way_for_caller();
  body_ = body;
  context_ = context;
  const auto count = static_cast<int64_t>(lanes_.size());
  for (int64_t slot = 0; slot < count; ++slot) {
    Lane& lane = lanes_[static_cast<size_t>(slot)];
    lane.next.store(slot * n / count, std::memory_order_relaxed);
    lane.end = (slot + 1) * n / count;
  }
  gate_.store(kOpen, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();

  for (int64_t i; (i = claim(0)) >= 0;) body(context, i, 0);

  // Workers still asleep find the gate shut and are not waited for.
  uint32_t inside = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while (inside != 0) {
    await_change(gate_, inside);
    inside = gate_.load(std::memory_order_acquire);
  }
}

// Relaxed is enough: lanes are published by the gate, and an index is claimed by one fetch_add. The
// load before it keeps `next` from growing without bound.
int64_t ThreadPool::claim(int slot) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[(static_cast<size_t>(slot) + i) % lanes_.size()];
    if (lane.next.load(std::memory_order_relaxed) >= lane.end) continue;
    const int64_t index = lane.next.fetch_add(1, std::memory_order_relaxed);
    if (index < lane.end) return index;
  }
  return -1;
}

void ThreadPool::serve(int slot) {
  uint32_t seen = 0;
  for (;;) {
    await_change(generation_, seen);
    if (stop_.load(std::memory_order_acquire)) return;
    seen = generation_.load(std::memory_order_acquire);
    if (!enter()) continue;
    help(slot);
    leave();
  }
}

// A hint. Threads that leave late cost time, not correctness.
bool ThreadPool::crowded() const { return at_work.load(std::memory_order_relaxed) > cores_; }

void ThreadPool::help(int slot) {
  at_work.fetch_add(1, std::memory_order_relaxed);
  while (!crowded()) {
    const int64_t index = claim(slot);
    if (index < 0) break;
    body_(context_, index, slot);
  }
  at_work.fetch_sub(1, std::memory_order_relaxed);
}

bool ThreadPool::enter() {
  uint32_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate & kOpen) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void ThreadPool::leave() {
  gate_.fetch_sub(1, std::memory_order_release);
  gate_.notify_all();
}

}  // namespace shoal
