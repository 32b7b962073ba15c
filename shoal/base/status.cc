#include "shoal/base/status.h"

#include <cstdio>
#include <cstdlib>

namespace shoal {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "shoal: internal error: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace shoal
