// A barrier for exceptions of the standard library.
#pragma once

#include <new>
#include <stdexcept>
#include <system_error>

#include "shoal/base/status.h"

namespace shoal::cluster {

// Calls `what`, which returns a Status. kExhausted if memory or threads run out: the standard
// library throws then, and a message of a peer may be the reason. Every thread of a worker that
// acts on messages has one such barrier.
template <class What>
Status catch_exhaustion(What&& what) {
  try {
    return what();
  } catch (const std::bad_alloc&) {
    return Status(Code::kExhausted, "out of memory");
  } catch (const std::length_error&) {
    return Status(Code::kExhausted, "out of memory");
  } catch (const std::system_error&) {
    return Status(Code::kExhausted, "no thread is to be had");
  }
}

}  // namespace shoal::cluster
