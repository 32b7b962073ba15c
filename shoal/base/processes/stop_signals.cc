// Signals as events. They are blocked in all threads and taken by sigwait(3) on one, so that `stop`
// may do what no signal handler may: lock, allocate, log.
#include "shoal/base/processes/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace shoal {
namespace {

sigset_t stopping() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignals::StopSignals(std::function<void()> stop) : stop_(std::move(stop)) {
  const sigset_t set = stopping();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // here and in every thread started from now on
  thread_ = std::thread([this] { watch(); });
}

StopSignals::~StopSignals() {
  // The signal goes to the watching thread only, and wakes it up; `over_` tells it from a real one.
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void StopSignals::watch() {
  constexpr int kSignalled = 128;  // as shells say it
  const sigset_t set = stopping();
  for (bool first = true;; first = false) {
    int signal = 0;
    sigwait(&set, &signal);
    if (over_) return;
    if (!first) _exit(kSignalled + signal);
    stop_();
  }
}

}  // namespace shoal
