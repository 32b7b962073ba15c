// Exit codes of failures between machines.
#include "exit_codes.h"

namespace shoal::cli {

Exit exit_of(const Status& status) {
  switch (status.code()) {
    case Code::kDeadline:
      return Exit::kTimeout;
    case Code::kExhausted:
      return Exit::kResources;
    case Code::kUnavailable:
    case Code::kUnsupported:  // another version
      return Exit::kNetwork;
    default:  // what a certificate that is refused gives
      return Exit::kAuth;
  }
}

}  // namespace shoal::cli
