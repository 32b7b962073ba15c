// How well a network does on examples that it does not learn from.
#pragma once

#include <vector>

#include "shoal/base/status.h"
#include "shoal/data/batches.h"
#include "shoal/device/device.h"

namespace shoal::cli {

struct Mistake {
  size_t example = 0;
  int64_t label = 0, answer = 0;
  double sure = 0;  // the probability of the answer
};

struct Exam {
  size_t images = 0, right = 0;
  double loss = 0;  // the mean cross-entropy
  size_t classes = 0;
  std::vector<size_t> confusions;  // [label, answer]
  std::vector<Mistake> mistakes;   // the worst, surest first

  double top1() const {
    return images == 0 ? 0 : 100.0 * static_cast<double>(right) / static_cast<double>(images);
  }
};

// How many of the first `count` rows of scores are highest at their label.
size_t count_right(const Tensor& scores, const Tensor& labels, size_t count);

// The network is for the size of the batches, which go once through the data.
Result<Exam> examine(Device& device, const Graph& network, const Batches& batches);

}  // namespace shoal::cli
