#include "shoal/base/thread_pool.h"

namespace shoal {
namespace {

constexpr uint32_t kOpen = 1u << 31;

// About 50 microseconds: longer than the gaps between the loops of a running network, shorter
// than what anyone would notice of a core kept awake.
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

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace

ThreadPool::ThreadPool(int threads) {
  const int count = threads > 0 ? threads : cores();
  workers_.reserve(static_cast<size_t>(count - 1));
  for (int slot = 1; slot < count; ++slot) workers_.emplace_back([this, slot] { serve(slot); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t n, Body body, const void* context) {
  if (n <= 0) return;
  if (n == 1 || workers_.empty() || busy_.exchange(true, std::memory_order_acquire)) {
    for (int64_t i = 0; i < n; ++i) body(context, i, 0);
    return;
  }
  body_ = body;
  context_ = context;
  n_ = n;
  next_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();

  take_turns(0);

  // Those still asleep find the gate shut and are not waited for.
  uint32_t inside = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while (inside != 0) {
    await_change(gate_, inside);
    inside = gate_.load(std::memory_order_acquire);
  }
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::serve(int slot) {
  uint32_t seen = 0;
  for (;;) {
    await_change(generation_, seen);
    if (stop_.load(std::memory_order_acquire)) return;
    seen = generation_.load(std::memory_order_acquire);
    if (!enter()) continue;
    take_turns(slot);
    leave();
  }
}

void ThreadPool::take_turns(int slot) {
  for (;;) {
    const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= n_) return;
    body_(context_, index, slot);
  }
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
