// The library of an API, its errors, and owners of its objects.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "shoal/base/processes/parts.h"
#include "shoal/base/status.h"

namespace shoal::gpu {

// Opens the first of these files that exists; kUnavailable if there is none, with a hint how to
// install it. It is never closed: drivers keep threads.
Result<void*> open_library(Part part, std::initializer_list<const char*> files);

// Looks up a function. False if the library lacks it.
template <class F>
bool find_function(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

// An error with its own text and code.
struct CallError {
  int64_t number;
  Code code;
  std::string_view text;
};

// The failure of a call that returned `error`: from the table, or kInternal.
Status failure_of(std::string_view api, std::span<const CallError> known, int64_t error,
                  std::string_view what);

// Owns an object of an API. `Release` holds what the object was made with, such as the table of
// functions, and is called with the object at the end.
template <class T, class Release>
class Handle {
 public:
  Handle() = default;
  Handle(Release release, T object) : release_(std::move(release)), object_(object) {}
  Handle(Handle&& other) noexcept { *this = std::move(other); }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(release_, other.release_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != T{}) release_(object_);
  }

  T get() const { return object_; }

 private:
  Release release_{};
  T object_{};
};

}  // namespace shoal::gpu
