// Shared by the fuzzers of workers and coordinators.
#pragma once

#include <cstdio>

namespace shoal {

[[noreturn]] inline void fail(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  __builtin_trap();
}

}  // namespace shoal
