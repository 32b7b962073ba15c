// A network of two layers and generated examples, for simulations and tests that are not about what
// is learned.
#pragma once

#include <cstdint>

#include "shoal/model/graph/graph.h"
#include "shoal/train/distributed/run/worker_session.h"

namespace shoal::learn {

struct SmallTask {
  int64_t samples = 2, inputs = 5, hidden = 4, classes = 3;  // samples: of a micro-batch
  bool has_norm = false;                                     // behind the first layer

  Graph network() const;
  Result<MicroBatch> examples(int64_t step, int64_t number) const;
  WorkerSession::Source source() const {
    return [task = *this](int64_t step, int64_t number) { return task.examples(step, number); };
  }
};

}  // namespace shoal::learn
