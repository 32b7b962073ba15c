#include "shoal/model/onnx/bind/binder.h"

#include <algorithm>

#include "shoal/base/text/printable.h"
#include "shoal/model/ops/ops.h"

namespace shoal::onnx {
namespace {

// The most elements that one node may read and write. A shape has eight elements; the tables that
// exporters compute from shapes (positions, masks, anchors) are well below this.
constexpr int64_t kMaxElements = int64_t{1} << 20;

// An input for an operator that reads types only.
Tensor without_elements(const TensorType& type) { return Tensor::view(type, nullptr, nullptr); }

}  // namespace

std::optional<std::vector<Tensor>> ConstantFolder::fold(const Node& node,
                                                        std::span<const Operand> operands,
                                                        std::span<const TensorType> types) {
  // `linear_time` is what bounds the work by the number of elements: a Conv or a large pool could
  // take hours on few of them.
  if (node.op->random || !node.op->linear_time) return std::nullopt;
  const bool types_only = node.op->reads_types_only;
  int64_t elements = 0;
  for (const TensorType& type : types) elements += type.shape.count();
  std::vector<Tensor> inputs, outputs;
  for (const Operand& operand : operands) {
    if (operand.given && operand.value == nullptr && !types_only) return std::nullopt;
    inputs.push_back(!operand.given ? Tensor()
                     : types_only   ? without_elements(operand.type)
                                    : *operand.value);
    elements += operand.given && !types_only ? operand.type.shape.count() : 0;
  }
  if (elements > kMaxElements || elements > elements_left_) return std::nullopt;
  elements_left_ -= elements;
  for (const TensorType& type : types) outputs.emplace_back(type);
  node.op->reference(node, inputs, outputs);
  return outputs;
}

namespace {

// Outputs that exist only in training stay unbound, which is an error only if a step reads one.
Status not_computed() {
  return Status(Code::kUnsupported, "reads a value that is computed only in training");
}

}  // namespace

Binder::Binder(std::shared_ptr<const Model> model)
    : model_(std::move(model)), program_(model_->program()), bindings_(program_.slots.size()) {
  for (const Tensor& tensor : program_.constants) constants_.push_back({tensor});
  for (size_t i = 0; i < bindings_.size(); ++i) {
    const int32_t constant = program_.slots[i].constant;
    if (constant >= 0) bindings_[i] = {Binding::kConstant, constant};
  }
}

// All inputs must be bound before the first step: a step sees either a type or elements, and never
// a promise of them.
void Binder::start(const KnownValues& inputs) {
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    const std::string& name = model_->inputs()[i].name;
    const auto it = inputs.find(name);
    if (it != inputs.end()) bind_known(program_.inputs[i], name, it->second);
  }
  for (const Step& step : program_.main.steps) todo_.push_back({&step});
  for (size_t i = 0; i < program_.main.results.size(); ++i) missing_outputs_.push_back(i);
}

Status Binder::resume(const PendingModel& rest, const KnownValues& known) {
  for (const auto& [slot, tensor] : rest.constants_) bind_constant(slot, tensor);
  for (size_t i = 0; i < rest.reads_.size(); ++i) {
    const std::string& name = rest.reads_[i];
    const auto it = known.find(name);
    if (it == known.end()) return invalid("the type of " + printable(name) + " is missing");
    const bool wanted = std::ranges::binary_search(rest.wanted_, rest.read_slots_[i]);
    if (wanted && !it->second.value) {
      return invalid("the elements of " + printable(name) + " are missing");
    }
    bind_known(rest.read_slots_[i], name, it->second);
  }
  todo_ = rest.pending_;
  missing_outputs_ = rest.outputs_;
  return {};
}

Result<Bound> Binder::run() {
  for (const Pending& pending : todo_) SHOAL_TRY(bind_pending(pending));
  if (defers_sequence_) {
    return Status(Code::kUnsupported, "a sequence is read in a way that only a run can know");
  }
  Bound bound;
  std::shared_ptr<PendingModel> rest = make_rest();
  SHOAL_TRY(export_outputs(bound, *rest));
  if (!rest->pending_.empty()) {
    SHOAL_TRY(export_reads(bound, *rest));
    bound.rest = std::move(rest);
  }
  bound.graph = std::move(graph_);
  return bound;
}

void Binder::bind_constant(Slot slot, Tensor tensor) {
  at(slot) = {Binding::kConstant, static_cast<int32_t>(constants_.size())};
  constants_.push_back({std::move(tensor)});
}

void Binder::bind_known(Slot slot, const std::string& name, const Known& known) {
  if (known.value) return bind_constant(slot, *known.value);
  bind_value(slot, graph_.add_input(name, known.type));
}

void Binder::bind_output(Slot slot, const Term& term) {
  if (term.slot != kNoSlot) return bind_alias(term.slot, slot);
  if (term.id != kNoValue) return bind_value(slot, term.id);
  bind_constant(slot, term.constant);
}

Status Binder::bind_pending(const Pending& pending) {
  if (pending.step == nullptr) {
    bind_alias(pending.from, pending.to);
    return {};
  }
  Status status = bind_step(*pending.step);
  return status.ok() ? status : status.at(program_.place_of(*pending.step));
}

// `to` becomes another name for `from`, or waits for it.
void Binder::bind_alias(Slot from, Slot to) {
  at(to) = at(from);
  if (at(from).kind == Binding::kDeferred) deferred_.push_back({nullptr, from, to});
}

void Binder::defer(const Step& step) {
  defers_sequence_ |= are_sequences(step.inputs) || are_sequences(step.captures);
  deferred_.push_back({&step});
  for (Slot slot : step.outputs) {
    if (slot != kNoSlot) at(slot).kind = Binding::kDeferred;
  }
}

Status Binder::bind_step(const Step& step) {
  // A step waits if one of its inputs does, so the deferred steps are closed under "reads the
  // output of".
  bool waits = false;
  for (Slot slot : step.inputs) {
    if (slot == kNoSlot) continue;
    if (at(slot).kind == Binding::kNone) return not_computed();
    waits |= at(slot).kind == Binding::kDeferred;
  }
  if (waits) return defer(step), Status();
  if (loop_depth_ > 0 && --loop_steps_left_ < 0) {
    return Status(Code::kExhausted, "loops are too long to be unrolled");
  }
  const bool is_onnx = step.domain.empty();
  if ((is_onnx && is_sequence_operator(step.op)) || are_sequences(step.inputs)) {
    return bind_sequence_step(step);
  }
  if (!step.branches.empty()) return bind_blocks(step);
  // A rewrite that needs elements which are not known ends with an error and leaves the slots here.
  // The step is deferred then, and nodes that it has added already are dead code of this stage.
  wanted_by_step_.clear();
  auto outputs = make_nodes(draft_of(step), step.domain, step.opset, *this);
  if (!wanted_by_step_.empty()) {
    wanted_.insert(wanted_by_step_.begin(), wanted_by_step_.end());
    return defer(step), Status();
  }
  if (!outputs.ok()) return outputs.status();
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot || i >= outputs->size()) continue;
    bind_output(step.outputs[i], (*outputs)[i]);
  }
  return {};
}

Status Binder::bind_blocks(const Step& step) {
  if (step.op == "If") return bind_if(step);
  const bool waits = std::ranges::any_of(
      step.captures, [&](Slot slot) { return at(slot).kind == Binding::kDeferred; });
  if (waits) return defer(step), Status();
  return step.op == "Loop" ? bind_loop(step) : bind_scan(step);
}

Status Binder::bind_if(const Step& step) {
  const Term condition = term_of(step.inputs[0]);
  if (condition.type.dtype != DType::kBool || condition.type.shape.count() != 1) {
    return invalid("the condition of an If is one bool, not " + to_string(condition.type));
  }
  if (!condition.constant.defined()) {
    wanted_.insert(condition.slot);
    return defer(step), Status();
  }
  // Only the branch that is taken is bound. The other may have types that do not fit, as long as it
  // is not taken.
  const Block& branch = step.branches[condition.constant.data<bool>()[0] ? 0 : 1];
  for (const Step& inner : branch.steps) SHOAL_TRY(bind_pending({&inner}));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] != kNoSlot) bind_alias(branch.results[i], step.outputs[i]);
  }
  return {};
}

Draft Binder::draft_of(const Step& step) {
  Draft draft;
  draft.op = step.op;
  draft.attributes = step.attributes;
  for (Slot slot : step.inputs) draft.inputs.push_back(slot == kNoSlot ? Term() : term_of(slot));
  for (Slot slot : step.outputs) draft.outputs.push_back(slot == kNoSlot ? "" : graph_name(slot));
  if (!step.name.text.empty()) draft.name = program_.text(step.name);
  return draft;
}

Term Binder::term_of(Slot slot) {
  const Binding binding = at(slot);
  const int64_t narrow = program_.slots[static_cast<size_t>(slot)].narrow;
  if (binding.kind == Binding::kConstant) {
    const Constant& constant = constants_[static_cast<size_t>(binding.index)];
    return {constant.id, constant.tensor.type(), constant.tensor, slot, narrow};
  }
  SHOAL_CHECK(binding.kind == Binding::kValue);
  const auto id = static_cast<ValueId>(binding.index);
  return {id, graph_[id].type, Tensor(), slot, narrow};
}

ValueId Binder::value_of(Slot slot) {
  const Binding binding = at(slot);
  if (binding.kind == Binding::kValue) return static_cast<ValueId>(binding.index);
  SHOAL_CHECK(binding.kind == Binding::kConstant);
  Constant& constant = constants_[static_cast<size_t>(binding.index)];
  if (constant.id == kNoValue) constant.id = graph_.add_constant(graph_name(slot), constant.tensor);
  return constant.id;
}

// A constant is added to the graph when the first node that is not folded reads it, and only once.
ValueId Binder::value_of(const Term& term, const std::string& made_for) {
  if (!term.given() || term.id != kNoValue) return term.id;
  if (term.slot != kNoSlot) return value_of(term.slot);
  return graph_.add_constant(made_for, term.constant);
}

// Inputs and outputs keep the exact name of the file. Other names are for messages and profiles.
std::string Binder::graph_name(Slot slot) const {
  const SlotInfo& info = program_.slots[static_cast<size_t>(slot)];
  return info.named && info.name.text.size() <= 256 ? std::string(info.name.text)
                                                    : program_.text(info.name);
}

Result<Tensor> Binder::elements(const Term& term) {
  if (term.constant.defined()) return term.constant;
  if (!term.given()) return invalid("an input is missing");
  if (term.slot == kNoSlot) {
    return Status(Code::kUnsupported, "an argument depends on data in a way not supported here");
  }
  wanted_by_step_.push_back(term.slot);
  return invalid("elements are needed that are not known yet");
}

Result<std::vector<Term>> Binder::emit(Draft draft) {
  const Operator* op = ops::find(draft.op);
  if (op == nullptr) return Status(Code::kUnsupported, draft.op + " is not supported");
  // Trailing inputs that are left out are dropped, as Graph does, so that both see the same arity.
  while (!draft.inputs.empty() && !draft.inputs.back().given()) draft.inputs.pop_back();
  Status unknown;
  std::vector<Operand> operands;
  for (size_t i = 0; i < draft.inputs.size(); ++i) {
    const Term& term = draft.inputs[i];
    // All value inputs are asked for before the first failure ends the rewrite, so that one more
    // stage is enough for all of them.
    if (term.given() && op->reads_value(i) && unknown.ok()) unknown = elements(term).status();
    operands.push_back(
        {term.given(), term.type, term.constant.defined() ? &term.constant : nullptr});
  }
  if (!unknown.ok()) return unknown;
  const Node node{op, std::vector(operands.size(), kNoValue),
                  std::vector(draft.outputs.size(), kNoValue), draft.attributes, draft.name};
  SHOAL_ASSIGN(const std::vector<TensorType> types, infer(node, operands));
  std::vector<Term> terms;
  // Shape arithmetic is computed here, so that later steps of this stage know its elements.
  if (auto folded = folder_.fold(node, operands, types)) {
    for (Tensor& tensor : *folded) terms.push_back(Term::of(std::move(tensor)));
    return terms;
  }
  std::vector<ValueId> inputs;
  const std::string stem = draft.outputs[0].empty() ? draft.op : draft.outputs[0];
  for (size_t i = 0; i < draft.inputs.size(); ++i) {
    inputs.push_back(value_of(draft.inputs[i], stem + ".input" + std::to_string(i)));
  }
  SHOAL_ASSIGN(const std::vector<ValueId> ids,
               graph_.add_node(*op, std::move(inputs), std::move(draft.attributes),
                               std::move(draft.outputs), std::move(draft.name)));
  for (size_t i = 0; i < ids.size(); ++i) terms.push_back({ids[i], types[i], Tensor(), kNoSlot});
  return terms;
}

// The inputs of deferred steps. Each is either known for good, and kept as a constant, or a value
// of this stage that its graph has to give out.
std::shared_ptr<PendingModel> Binder::make_rest() {
  auto rest = std::make_shared<PendingModel>();
  rest->model_ = model_;
  rest->pending_ = deferred_;
  rest->wanted_.assign(wanted_.begin(), wanted_.end());
  std::set<Slot> seen;
  auto read = [&](Slot slot) {
    if (slot == kNoSlot || !seen.insert(slot).second) return;
    const Binding binding = at(slot);
    if (binding.kind == Binding::kConstant) {
      const auto index = static_cast<size_t>(binding.index);
      if (index >= program_.constants.size() ||
          program_.slots[static_cast<size_t>(slot)].constant < 0) {
        rest->constants_.emplace_back(slot, constants_[index].tensor);
      }
    } else if (binding.kind == Binding::kValue) {
      rest->read_slots_.push_back(slot);
      rest->reads_.push_back(program_.unique_name(slot));
    }
  };
  for (const Pending& pending : deferred_) {
    if (pending.step == nullptr) continue;
    std::ranges::for_each(pending.step->inputs, read);
    std::ranges::for_each(pending.step->captures, read);
  }
  return rest;
}

Status Binder::export_outputs(Bound& bound, PendingModel& rest) {
  for (size_t index : missing_outputs_) {
    const Slot slot = program_.main.results[index];
    if (at(slot).kind == Binding::kDeferred) {
      rest.outputs_.push_back(index);
      continue;
    }
    const ModelOutput& output = model_->outputs()[index];
    if (at(slot).kind == Binding::kNone) return not_computed().at(printable(output.name));
    if (at(slot).kind == Binding::kSequence) {
      return Status(Code::kUnsupported, "is a sequence, not a tensor").at(printable(output.name));
    }
    const ValueId id = value_of(slot);
    if (output.type && output.type->dtype != graph_[id].type.dtype) {
      return invalid("output " + printable(output.name) + " is declared as " +
                     to_string(*output.type) + ", but is " + to_string(graph_[id].type));
    }
    graph_.mark_output(id);
    bound.outputs.push_back(output.name);
  }
  return {};
}

Status Binder::export_reads(Bound& bound, const PendingModel& rest) {
  std::set<std::string> taken;  // names that stand for a value of the model's own graph
  for (const ModelOutput& output : model_->outputs()) taken.insert(output.name);
  for (const ModelInput& input : model_->inputs()) taken.insert(input.name);
  std::set<std::string> at_hand(bound.outputs.begin(), bound.outputs.end());
  for (ValueId id : graph_.inputs()) at_hand.insert(graph_[id].name);
  for (size_t i = 0; i < rest.reads_.size(); ++i) {
    const Slot slot = rest.read_slots_[i];
    const std::string& name = rest.reads_[i];
    // Generated names contain "@" and a slot number. A file may use such a name, too, and the
    // caller could not tell the two values apart.
    if (!taken.insert(name).second && !program_.slots[static_cast<size_t>(slot)].named) {
      return invalid("the name " + printable(name) + " stands for two values");
    }
    if (wanted_.contains(slot)) bound.wanted.push_back(name);
    if (!at_hand.insert(name).second) continue;
    graph_.mark_output(value_of(slot));
    bound.outputs.push_back(name);
  }
  return {};
}

}  // namespace shoal::onnx
