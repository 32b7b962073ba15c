// Exit codes of failures. One code of the library can be the fault of a flag, a file, a model or
// another machine, depending on what was being done.
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

}  // namespace shoal::cli
