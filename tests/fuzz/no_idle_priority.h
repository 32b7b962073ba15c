// Keeps a fuzzer's threads running on a machine that other fuzzers keep busy.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shoal {

// Gives up the privilege to leave idle priority, for this thread and those it starts, so that
// run_at_low_priority() does not use it: compiling would take seconds where all cores are busy.
inline void give_up_idle_priority() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return;
  constexpr unsigned kBit = 1U << CAP_SYS_NICE;
  sets[0].effective &= ~kBit;
  sets[0].permitted &= ~kBit;
  static_cast<void>(::syscall(SYS_capset, &header, sets));
}

}  // namespace shoal
