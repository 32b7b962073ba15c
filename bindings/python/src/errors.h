// Status -> Python exception: shoal.Error or the subclass of its code (shoal/_errors.py).
#pragma once

#include <utility>

#include "shoal/base/status.h"

namespace shoal::python {

// REQUIRES: `status` is not OK; the GIL is held.
[[noreturn]] void raise(const Status& status);

inline void check(const Status& status) {
  if (!status.ok()) raise(status);
}

template <class T>
T unwrap(Result<T> result) {
  if (!result.ok()) raise(result.status());
  return *std::move(result);
}

}  // namespace shoal::python
