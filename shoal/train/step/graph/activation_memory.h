// A training step in less memory: activations of the forward pass are recomputed in the backward
// pass, or stored as bfloat16 in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// A step's graph as forward and backward pass, and the values that the backward pass reads of the
// forward pass.

// The place of a value in a vector that has one element per value.
inline size_t at(ValueId id) { return static_cast<size_t>(id); }

class ForwardBackward {
 public:
  // The forward pass ends with the node that computes `loss`. REQUIRES: `step` outlives this.
  ForwardBackward(const Graph& step, ValueId loss);

  const Graph& graph() const { return step_; }
  size_t forward() const { return forward_; }  // nodes of the forward pass, which come first
  const Node& maker(ValueId id) const { return step_.nodes()[maker_[at(id)]]; }
  size_t maker_index(ValueId id) const { return maker_[at(id)]; }
  int64_t bytes(ValueId id) const { return static_cast<int64_t>(step_[id].type.bytes()); }

  // Whether a forward node makes the value and gives the same when repeated.
  bool can_be_repeated(ValueId id) const {
    return id != kNoValue && maker_[at(id)] != kNobody && !is_output_[at(id)] &&
           !maker(id).op->random;
  }

  // The values that the backward pass reads and that can be repeated, in node order.
  const std::vector<ValueId>& saved() const { return saved_; }

 private:
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  void find_saved();

  const Graph& step_;
  size_t forward_ = 0;
  std::vector<size_t> maker_;  // per value: the node of the forward pass
  std::vector<bool> is_output_;
  std::vector<ValueId> saved_;
};

// The memory for the values of a graph, as laid out by the device that will run it.
using BytesOf = std::function<Result<int64_t>(const Graph&)>;

// Recomputation (Chen et al. 2016, "Training deep nets with sublinear memory cost"): the step
// within `limit` bytes, with as little recomputed as the search finds. The forward pass ends with
// the node that computes `loss`. A repeated node has the same inputs, so results are the same, bit
// by bit. kExhausted if the limit is too low; the message names the smallest that was found.
Result<Graph> recompute(const Graph& step, ValueId loss, int64_t limit, const BytesOf& bytes_of);

// The step with its saved activations stored as bfloat16 between the passes. Arithmetic and weights
// stay f32; what the backward pass reads is rounded to 8 significant bits. Loss and scores are the
// same, bit by bit.
Result<Graph> store_bf16(const Graph& step, ValueId loss);

}  // namespace shoal::train
