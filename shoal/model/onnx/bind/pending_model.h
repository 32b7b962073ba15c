// PendingModel: the part of a model that waits for a stage to run. It does not change once made.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/model/onnx/program/onnx_model.h"

namespace shoal::onnx {

// A step that is not bound yet or, after an If was decided, an output that stands for a branch's
// result.
struct Pending {
  const Step* step = nullptr;
  Slot from = kNoSlot;
  Slot to = kNoSlot;
};

class PendingModel {
 public:
  // The values whose types bind() needs to continue.
  const std::vector<std::string>& reads() const { return reads_; }
  const std::shared_ptr<const Model>& model() const { return model_; }

 private:
  friend class Binder;

  std::shared_ptr<const Model> model_;
  std::vector<Pending> pending_;
  std::vector<std::string> reads_;  // names of read_slots_
  std::vector<Slot> read_slots_;
  std::vector<Slot> wanted_;
  std::vector<std::pair<Slot, Tensor>> constants_;  // computed by earlier stages' binding
  std::vector<size_t> outputs_;                     // of the model, by index, still missing
};

}  // namespace shoal::onnx
