// Mischief: lets mishaps happen to the workers of an arena, and sees to it that all is well again.
#pragma once

#include <functional>

#include "arena.h"
#include "mishap.h"

namespace shoal::cli {

class Mischief {
 public:
  explicit Mischief(Arena& arena) : arena_(arena) {}

  // Before the request to which it is to happen: nobody gets past its point unnoticed.
  void prepare(const Mishap& mishap);
  // Calls `begins` when it does, where a request takes so long, and returns when the worker is
  // there again and has all that it had. Always on the same thread: processes that it starts live
  // as long as that.
  // False: nobody got to the point of it, and it happened all the same.
  Result<bool> happen(const Mishap& mishap, std::chrono::duration<double> request,
                      const std::function<void()>& begins);

 private:
  bool lie_in_wait();
  void begin(const Mishap& mishap);
  Status end(const Mishap& mishap);

  void partition(const Mishap& mishap, bool on);
  void flap(const Mishap& mishap);
  void delay(const Mishap& mishap, std::chrono::milliseconds by);
  void damage(int worker, int peer, bool comes_in);
  void until_damaged(const Mishap& mishap);
  void slow_down(int worker);
  void signal(int worker, int number);
  void sleep(std::chrono::milliseconds time) const;
  std::vector<int> peers_of(const Mishap& mishap) const;

  Arena& arena_;
};

}  // namespace shoal::cli
