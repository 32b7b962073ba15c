// LeaderFollowers: threads of which one, the leader, waits for events and handles them, while its
// followers sleep (Schmidt and others, "Leader/Followers", PLoP 2000).
//
// What is soon done the leader does itself: nobody is woken, and the next event finds its data in
// the caches of the same thread. Before it does what takes long, it hands over: a follower leads
// from then on. Where something takes longer than it was thought to, a follower that looks after
// the leader takes over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace shoal {

// Thread-safe.
class LeaderFollowers {
 public:
  using Clock = std::chrono::steady_clock;

  // `patience`: how long the leader may be away after watch().
  explicit LeaderFollowers(Clock::duration patience) : patience_(patience) {}
  LeaderFollowers(const LeaderFollowers&) = delete;
  LeaderFollowers& operator=(const LeaderFollowers&) = delete;

  // What each of the threads does until stop(). While it leads, it calls lead() again and again,
  // which waits for an event and handles it. When it leads no longer, it calls finish() once,
  // which handles what is there and does not wait.
  void run(const std::function<void()>& lead, const std::function<void()>& finish);
  // Another thread leads from now on. Nothing happens if the caller does not lead.
  void hand_over();
  // A follower takes over if the caller does not return from lead() soon. Nothing happens if the
  // caller does not lead.
  void watch();
  // run() returns as soon as lead() and finish() do.
  void stop();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void follow(Lock& lock);

  const Clock::duration patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread::id leader_;                   // none: nobody leads
  std::optional<Clock::time_point> away_{};  // since when the leader is
  uint64_t watches_ = 0;                     // calls of watch()
  bool is_watched_ = false;                  // a follower looks after the leader
};

}  // namespace shoal
