// ThreadPool: threads that share the iterations of loops. No allocation per loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace shoal {

struct ThreadPoolOptions {
  int threads = 0;   // the caller of a loop included; 0: one per core
  bool pin = false;  // pin each thread but the caller's to a core
  int cores = 0;     // shared by all pools of the process; 0: those it may run on
};

class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options);
  explicit ThreadPool(int threads) : ThreadPool(ThreadPoolOptions{.threads = threads}) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls f(index, slot) for every index in [0, n) and returns when all calls have returned. Each
  // thread takes the next index when it is free. `slot` in [0, threads()) identifies the calling
  // thread, for memory per thread.
  //
  // If the pool is busy, because f itself loops or another session does, the caller runs the whole
  // loop, which avoids deadlock. Callers always work; other threads leave when more threads are at
  // work than cores, over all pools of the process.
  template <class F>
  void parallel_for(int64_t n, const F& f) {
    run(
        n,
        [](const void* context, int64_t index, int slot) {
          (*static_cast<const F*>(context))(index, slot);
        },
        &f);
  }

  // Calls f(begin, end) for pieces that make up [0, n), of at least `grain` each if n is that
  // large: for loops whose iterations are too short to distribute.
  template <class F>
  void parallel_ranges(int64_t n, int64_t grain, const F& f) {
    const int64_t most = std::max<int64_t>(n / std::max<int64_t>(grain, 1), 1);
    const int64_t pieces = std::min<int64_t>(most, int64_t{kPiecesPerThread} * threads());
    if (n <= 0) return;
    if (pieces == 1 || workers_.empty()) return f(int64_t{0}, n);
    parallel_for(pieces, [&](int64_t i, int) { f(n * i / pieces, n * (i + 1) / pieces); });
  }

 private:
  using Body = void (*)(const void* context, int64_t index, int slot);

  // More pieces than threads, so that a thread that starts late or is interrupted holds up little.
  static constexpr int kPiecesPerThread = 4;

  void run(int64_t n, Body body, const void* context);
  void make_way_for_caller();
  void share_out(int64_t n, Body body, const void* context);
  void serve(int slot);
  void help(int slot);
  bool enter();
  void leave();
  bool crowded() const;
  int64_t claim(int slot);  // an unclaimed index; -1: none is left

  int cores_;

  // The loop in progress. Written before the gate opens, read only by those inside.
  Body body_ = nullptr;
  const void* context_ = nullptr;

  // The rest of each thread's part of the loop. Threads begin with their own part, whose data the
  // next loop finds in the caches of the same thread.
  struct alignas(64) Lane {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  std::vector<Lane> lanes_;
  alignas(64) std::atomic<uint32_t> gate_{0};        // open bit, and how many workers are inside
  alignas(64) std::atomic<uint32_t> generation_{0};  // counts loops; what idle workers watch
  std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};
  std::vector<int> usable_;  // cores
  bool makes_way_ = false;   // there is a core for every thread, and they are not pinned
  int caller_core_ = -1;     // where the last loop was started
  std::vector<std::thread> workers_;
};

}  // namespace shoal
