// How glibc's allocator serves threads and connections that come and go.
#pragma once

#include <malloc.h>

namespace shoal {

// Lets all threads allocate from one arena. By default each thread gets its own and leaves holes in
// it when it ends: the memory of a coordinator grew by 4 KB with every worker that came back.
// REQUIRES: no other thread has been started.
inline void use_one_malloc_arena() {
#ifdef M_ARENA_MAX
  static_cast<void>(::mallopt(M_ARENA_MAX, 1));
#endif
}

// Returns free pages to the system. Takes milliseconds, during which other allocating threads wait.
inline void give_back_free_pages() {
#ifdef __GLIBC__
  static_cast<void>(::malloc_trim(0));
#endif
}

}  // namespace shoal
