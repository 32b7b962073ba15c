#include "cancel_on_signals.h"

#include <csignal>

namespace shoal::cli {
namespace {

std::atomic<bool> cancelled = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // else no signal handler may set it

}  // namespace

const std::atomic<bool>* cancel_on_signals() {
  for (int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int number) {
      cancelled = true;
      std::signal(number, SIG_DFL);
    });
  }
  return &cancelled;
}

}  // namespace shoal::cli
