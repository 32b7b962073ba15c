// The two ways of a step of training, forward and back, and which values go from one to the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::train {

// The place of a value in a vector that has one element per value.
inline size_t at(ValueId id) { return static_cast<size_t>(id); }

class ForwardBackward {
 public:
  // The way forward ends with the node that makes `loss`. The step outlives this.
  ForwardBackward(const Graph& step, ValueId loss);

  const Graph& step() const { return step_; }
  size_t forward() const { return forward_; }  // nodes; the rest is the way back
  const Node& maker(ValueId id) const { return step_.nodes()[maker_[at(id)]]; }
  size_t maker_index(ValueId id) const { return maker_[at(id)]; }
  int64_t bytes(ValueId id) const { return static_cast<int64_t>(step_[id].type.bytes()); }

  // Made on the way forward by nodes that make the same thing when asked again.
  bool can_be_repeated(ValueId id) const {
    return id != kNoValue && maker_[at(id)] != kNobody && !is_output_[at(id)] &&
           !maker(id).op->random;
  }

  // What the way back reads and could have computed for it, in the order it is made.
  const std::vector<ValueId>& saved() const { return saved_; }

 private:
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  void find_saved();

  const Graph& step_;
  size_t forward_ = 0;
  std::vector<size_t> maker_;  // per value: the node of the way forward
  std::vector<bool> is_output_;
  std::vector<ValueId> saved_;
};

}  // namespace shoal::train
