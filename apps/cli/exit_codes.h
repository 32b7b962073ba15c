// Exit codes of failures. The same library code can be the fault of a flag, a file, a model or
// another machine, depending on the operation.
#pragma once

#include "cli.h"

namespace shoal::cli {

enum class Doing {
  kRun,      // of a model that was opened
  kTrain,    // opens models, data and checkpoints
  kUseData,  // evaluates or calibrates, with a model that was opened
  kConnect,  // to the workers of a cluster
  kTalk,     // with workers, or with a cluster that is to be joined
};

Exit exit_of(Doing doing, const Status& status);

inline Outcome fail(Doing doing, const Status& status) {
  return fail(exit_of(doing, status), status);
}

// Returns from the enclosing function with `exit_code` if `expr` (a Status) failed.
#define SHOAL_TRY_OR_EXIT(exit_code, expr) \
  SHOAL_TRY_OR_EXIT_(SHOAL_CONCAT(shoal_status_, __LINE__), exit_code, expr)
#define SHOAL_TRY_OR_EXIT_(status, exit_code, expr)        \
  if (const ::shoal::Status status = (expr); !status.ok()) \
  return ::shoal::cli::fail(exit_code, status)

}  // namespace shoal::cli
