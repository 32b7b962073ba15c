// bind: makes a graph with concrete types of a model and the known types of its inputs.
//
// Shape arithmetic disappears on the way: values that depend only on constants and on shapes are
// computed here. Where a type depends on elements that are known only at run time (the target of a
// Reshape is an input, NonZero, NonMaxSuppression, an If on computed data), the model is cut into
// stages. A stage's graph computes as much as it can; `rest` is bound when it has run:
//
//   std::map<std::string, Tensor> live = inputs;
//   SHOAL_ASSIGN(Bound stage, bind(model, known inputs));
//   for (;;) {
//     run stage.graph; its inputs are live[name of the graph input], and
//       live[stage.outputs[i]] = output i;
//     if (!stage.rest) break;
//     std::map<std::string, Known> known;
//     for (const std::string& name : stage.rest->reads()) known[name] = {live[name].type(), {}};
//     for (const std::string& name : stage.wanted) known[name].value = live[name];
//     SHOAL_ASSIGN(stage, bind(stage.rest, known));
//   }
//   the answer is live[output.name] for every model->outputs()
//
// A stage depends only on the types and the wanted elements, so these are the key to cache it by.
// If `wanted` names inputs of the model, binding again with their elements avoids the cut.
//
// Thread safety: Model and PendingModel do not change, so any threads may bind the same one at
// once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/onnx/program/onnx_model.h"

namespace shoal::onnx {

// PendingModel: the part of a model that waits for a stage to run. It does not change once made.

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

struct Known {
  TensorType type;
  std::optional<Tensor> value;  // elements that become a constant of the graph
};

using KnownValues = std::map<std::string, Known>;

struct Bound {
  // The inputs keep their names; those given with elements are constants instead. An output may be
  // an input or a constant, and one value may be two outputs.
  Graph graph;
  // The name of each output of the graph: outputs of the model that are complete now, each in
  // exactly one stage, and values the rest reads.
  std::vector<std::string> outputs;
  // Values whose elements the rest needs; a subset of rest->reads().
  std::vector<std::string> wanted;
  std::shared_ptr<const PendingModel> rest;  // null: this was the last stage
};

// Checks the inputs against the declarations of the model: element type, rank, sizes, and that a
// symbol has one size throughout. Inputs with a default may be left out.
Result<Bound> bind(std::shared_ptr<const Model> model, const KnownValues& inputs);

// REQUIRES: `known` has the type of every name in rest->reads(), and the elements of those in
// wanted. A missing one is an error.
Result<Bound> bind(const std::shared_ptr<const PendingModel>& rest, const KnownValues& known);

// The types that a model declares for its inputs, with `size` for open dimensions. Inputs with a
// default are left out. Fails where not even a rank is declared.
Result<KnownValues> declared_inputs(const Model& model, int64_t size = 1);

}  // namespace shoal::onnx
