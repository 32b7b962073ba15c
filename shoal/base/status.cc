#include "shoal/base/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace shoal {
namespace {

// Codes that a program can act on. All other errors of the system are taken as the caller's.
Code code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return Code::kExhausted;
    default:
      return Code::kInvalidArgument;
  }
}

}  // namespace

Status::Status(Code code, std::string message)
    : state_(std::make_shared<const State>(State{code, std::move(message)})) {}

Status Status::at(std::string_view place) const {
  return ok() ? *this : Status(code(), std::string(place) + ": " + state_->message);
}

Status invalid(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

Status system_status(int error) {
  return Status(code_of(error), std::generic_category().message(error));
}

// No allocation here: the process may be out of memory.
void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "shoal: internal error: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace shoal
