#include "shoal/base/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace shoal {
namespace {

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

Status system_status(int error) {
  return Status(code_of(error), std::generic_category().message(error));
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "shoal: internal error: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace shoal
