// RunAlone: while one exists, no other thread helps with the loops of the thread that made it, in
// any ThreadPool. For work that is shorter than it is worth waking others for.
#pragma once

namespace shoal {

class RunAlone {
 public:
  RunAlone() { ++count; }
  ~RunAlone() { --count; }
  RunAlone(const RunAlone&) = delete;
  RunAlone& operator=(const RunAlone&) = delete;

  // Whether the calling thread has one.
  static bool is_wanted() { return count > 0; }

 private:
  static inline thread_local int count = 0;
};

}  // namespace shoal
