// Binder: one walk over the steps of a program, which makes the graph of a stage and collects the
// steps that have to wait. Used once, by one thread: start() or resume(), then run().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/opsets/normalize.h"

namespace shoal::onnx {

// Constants computed while a model is bound: shape arithmetic, within a budget that a hostile file
// cannot exceed. Larger work on constants is left to passes/.
class ConstantFolder {
 public:
  // The outputs of the node, where they follow from the known inputs and are cheap to compute.
  // `types` are the results of `infer`.
  std::optional<std::vector<Tensor>> fold(const Node& node, std::span<const Operand> operands,
                                          std::span<const TensorType> types);

 private:
  int64_t elements_left_ = int64_t{1} << 26;  // read and written, by all nodes of one bind
};

class Binder : public Emitter {
 public:
  explicit Binder(std::shared_ptr<const Model> model);

  void start(const KnownValues& inputs);
  Status resume(const PendingModel& rest, const KnownValues& known);
  Result<Bound> run();

  using Emitter::emit;
  Result<std::vector<Term>> emit(Draft draft) override;
  Result<Tensor> elements(const Term& term) override;

 private:
  // The state of a slot at this point of the walk.
  struct Binding {
    enum Kind : int32_t { kNone, kValue, kConstant, kSequence, kDeferred } kind = kNone;
    int32_t index = 0;  // a ValueId, or an index into constants_ or sequences_
  };
  struct Constant {
    Tensor tensor;
    ValueId id = kNoValue;  // set once a node that is not folded reads it
  };

  using Sequence = std::vector<Term>;
  using Ints = std::vector<int64_t>;

  Binding& at(Slot slot) { return bindings_[static_cast<size_t>(slot)]; }
  void bind_value(Slot slot, ValueId id) { at(slot) = {Binding::kValue, static_cast<int32_t>(id)}; }
  void bind_constant(Slot slot, Tensor tensor);
  void bind_known(Slot slot, const std::string& name, const Known& known);
  void bind_output(Slot slot, const Term& term);

  Status bind_pending(const Pending& pending);
  Status bind_step(const Step& step);
  Status bind_blocks(const Step& step);
  Status bind_if(const Step& step);
  Status bind_loop(const Step& step);
  Status bind_scan(const Step& step);
  Status bind_round(const Block& body, std::span<const Term> inputs);
  void bind_outputs(const Step& step, std::span<const Term> outputs);
  Result<Term> detached(Slot slot);
  Result<Term> stacked(std::vector<Term> slices, int64_t axis, bool reversed);
  std::optional<Tensor> known_or_wanted(Slot slot);
  Status bind_sequence_step(const Step& step);
  Status bind_sequence_construct(const Step& step);
  Status bind_at_place(const Step& step);
  Status bind_split(const Step& step);
  Status bind_concat(const Step& step);
  Status bind_map(const Step& step);
  void bind_sequence(Slot slot, Sequence sequence);
  bool are_sequences(std::span<const Slot> slots);  // any of them
  Result<Sequence> sequence_of(const Step& step, size_t input);
  Result<Sequence> parts_of(const Step& step, const Term& x, const Ints& given);
  Result<Term> tensor_of(const Step& step, size_t input);
  Result<std::pair<size_t, bool>> place_in(const Step& step, size_t input, size_t size,
                                           size_t fallback);
  void bind_alias(Slot from, Slot to);
  void defer(const Step& step);

  Draft draft_of(const Step& step);
  Term term_of(Slot slot);
  ValueId value_of(Slot slot);
  ValueId value_of(const Term& term, const std::string& made_for);
  std::string graph_name(Slot slot) const;

  std::shared_ptr<PendingModel> make_rest();
  Status export_outputs(Bound& bound, PendingModel& rest);
  Status export_reads(Bound& bound, const PendingModel& rest);

  std::shared_ptr<const Model> model_;
  const Program& program_;
  Graph graph_;
  ConstantFolder folder_;
  std::vector<Pending> todo_;
  std::vector<size_t> missing_outputs_;
  std::vector<Binding> bindings_;  // by slot
  std::vector<Constant> constants_;
  std::vector<Sequence> sequences_;
  bool defers_sequence_ = false;  // a step that waits reads a sequence
  std::vector<Pending> deferred_;
  std::set<Slot> wanted_;             // by the steps deferred so far
  std::vector<Slot> wanted_by_step_;  // by the step being bound
  int loop_depth_ = 0;
  int64_t loop_steps_left_ = int64_t{1} << 16;  // of all rounds of all loops
};

}  // namespace shoal::onnx
