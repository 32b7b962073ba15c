// For processes that start threads as connections come and go.
#pragma once

#include <malloc.h>

namespace shoal::cli {

// Before there are threads. Each would have a heap of its own and leave holes in it: the memory of
// a coordinator grew by 4 KB with every worker that came back.
inline void share_one_heap() {
#ifdef M_ARENA_MAX
  static_cast<void>(::mallopt(M_ARENA_MAX, 1));
#endif
}

}  // namespace shoal::cli
