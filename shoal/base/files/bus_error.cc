#include "shoal/base/files/bus_error.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

namespace shoal {
namespace {

std::atomic<int> code = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // else no signal handler may read it

// Calls nothing but what a signal handler may.
void handle(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {
    ::signal(signal, SIG_DFL);  // the instruction runs again, and is fatal then
    return;
  }
  constexpr std::string_view kMessage =
      "shoal: a file became shorter while it was in use; models and weights must not be changed "
      "in place\n";
  static_cast<void>(::write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0);
  ::_exit(code);
}

}  // namespace

void exit_on_bus_error(int exit_code) {
  code = exit_code;
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace shoal
