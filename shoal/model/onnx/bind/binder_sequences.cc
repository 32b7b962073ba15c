// Sequences, as far as exporters use them: between operators of one model. A sequence is a list of
// values while a model is bound, and gone afterwards, so its length and the places that are read
// have to be known by then.
#include <algorithm>
#include <array>

#include "shoal/model/onnx/bind/binder.h"
#include "shoal/model/ops/require.h"

namespace shoal::onnx {
namespace {

int64_t integer(const Step& step, std::string_view key, int64_t fallback) {
  const auto it = step.attributes.find(key);
  const auto* value = it == step.attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
  return value == nullptr ? fallback : *value;
}

// Operators that pass on whatever they are given.
constexpr std::array<std::string_view, 3> kPassing = {"Identity", "Optional", "OptionalGetElement"};

}  // namespace

bool Binder::are_sequences(std::span<const Slot> slots) {
  return std::ranges::any_of(
      slots, [&](Slot slot) { return slot != kNoSlot && at(slot).kind == Binding::kSequence; });
}

void Binder::bind_sequence(Slot slot, Sequence sequence) {
  at(slot) = {Binding::kSequence, static_cast<int32_t>(sequences_.size())};
  sequences_.push_back(std::move(sequence));
}

Result<Binder::Sequence> Binder::sequence_of(const Step& step, size_t input) {
  const Slot slot = input < step.inputs.size() ? step.inputs[input] : kNoSlot;
  if (slot == kNoSlot || at(slot).kind != Binding::kSequence) return invalid("takes a sequence");
  return sequences_[static_cast<size_t>(at(slot).index)];
}

Result<Term> Binder::tensor_of(const Step& step, size_t input) {
  return detached(input < step.inputs.size() ? step.inputs[input] : kNoSlot);
}

// The place that an input names in a sequence of `size`, counted from the end if it is less than 0;
// `fallback` if there is no such input. The second is false if the place is not known yet.
Result<std::pair<size_t, bool>> Binder::place_in(const Step& step, size_t input, size_t size,
                                                 size_t fallback) {
  if (input >= step.inputs.size() || step.inputs[input] == kNoSlot) {
    return std::pair(fallback, true);
  }
  SHOAL_TRY(tensor_of(step, input).status());
  const auto tensor = known_or_wanted(step.inputs[input]);
  if (!tensor) return std::pair(fallback, false);
  if (!Indices::contains(tensor->dtype()) || tensor->count() != 1) {
    return invalid("a place in a sequence is one integer");
  }
  const auto n = static_cast<int64_t>(size);
  int64_t place = to_ints(*tensor)[0];
  if (place < -n || place > n) return invalid("there is no such place in the sequence");
  if (place < 0) place += n;
  return std::pair(static_cast<size_t>(place), true);
}

// The parts of x along an axis: of the sizes given, or of size 1.
Result<Binder::Sequence> Binder::parts_of(const Step& step, const Term& x, const Ints& given) {
  SHOAL_ASSIGN(const size_t axis, ops::require_axis(integer(step, "axis", 0), x.rank()));
  const int64_t length = x.type.shape[axis];
  const bool each = given.empty();
  Ints sizes = given;
  if (given.size() <= 1) {  // one number: parts of this size, the last may be smaller
    const int64_t size = each ? 1 : given[0];
    if (size < 1) return invalid("parts have a size of 1 or more");
    sizes.clear();
    for (int64_t begin = 0; begin < length; begin += size) {
      if (--loop_steps_left_ < 0) return Status(Code::kExhausted, "a sequence is too long");
      sizes.push_back(std::min(size, length - begin));
    }
  }
  if (sizes.empty()) return Sequence();
  const std::vector<std::string> names(sizes.size());
  const Attributes along = {{"axis", static_cast<int64_t>(axis)}};
  SHOAL_ASSIGN(Sequence parts, emit(Draft{"Split", {x, Term::ints(sizes)}, along, names, {}}));
  if (!each || integer(step, "keepdims", 1) != 0) return parts;
  for (Term& part : parts) {
    SHOAL_ASSIGN(part, emit_one("Squeeze", {part, Term::ints({static_cast<int64_t>(axis)})}));
  }
  return parts;
}

Status Binder::bind_split(const Step& step) {
  SHOAL_ASSIGN(const Term x, tensor_of(step, 0));
  Ints given;
  if (step.inputs.size() > 1 && step.inputs[1] != kNoSlot) {
    const auto sizes = known_or_wanted(step.inputs[1]);
    if (!sizes) return defer(step), Status();
    if (!Indices::contains(sizes->dtype())) return invalid("the sizes of parts are integers");
    // One size in a list is the size of the only part.
    given = to_ints(*sizes);
    if (sizes->shape().rank() == 1 && given.size() == 1 && x.rank() > 0) {
      SHOAL_ASSIGN(const size_t axis, ops::require_axis(integer(step, "axis", 0), x.rank()));
      if (given[0] != x.type.shape[axis]) return invalid("the sizes of parts do not add up");
    }
  }
  SHOAL_ASSIGN(Sequence parts, parts_of(step, x, given));
  bind_sequence(step.outputs[0], std::move(parts));
  return {};
}

Status Binder::bind_concat(const Step& step) {
  SHOAL_ASSIGN(Sequence parts, sequence_of(step, 0));
  if (parts.empty()) return invalid("there is nothing to put together");
  const int64_t axis = integer(step, "axis", 0);
  Term all;
  if (integer(step, "new_axis", 0) != 0) {
    SHOAL_ASSIGN(all, stacked(std::move(parts), axis, false));
  } else {
    SHOAL_ASSIGN(all, emit_one("Concat", std::move(parts), {{"axis", axis}}));
  }
  bind_output(step.outputs[0], all);
  return {};
}

// One round of the body for each element of the first sequence.
Status Binder::bind_map(const Step& step) {
  const Block& body = step.branches[0];
  SHOAL_ASSIGN(const Sequence first, sequence_of(step, 0));
  if (body.inputs.size() != step.inputs.size() || body.results.size() < step.outputs.size()) {
    return invalid("the body does not have the inputs and outputs of its SequenceMap");
  }
  std::vector<Sequence> outputs(step.outputs.size());
  for (size_t round = 0; round < first.size(); ++round) {
    std::vector<Term> inputs;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] != kNoSlot && at(step.inputs[i]).kind == Binding::kSequence) {
        SHOAL_ASSIGN(const Sequence sequence, sequence_of(step, i));
        if (sequence.size() != first.size()) return invalid("sequences differ in length");
        inputs.push_back(sequence[round]);
      } else {
        SHOAL_ASSIGN(Term tensor, tensor_of(step, i));
        inputs.push_back(std::move(tensor));
      }
    }
    SHOAL_TRY(bind_round(body, inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      SHOAL_ASSIGN(Term result, detached(body.results[i]));
      outputs[i].push_back(std::move(result));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (step.outputs[i] != kNoSlot) bind_sequence(step.outputs[i], std::move(outputs[i]));
  }
  return {};
}

Status Binder::bind_sequence_construct(const Step& step) {
  Sequence sequence;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    SHOAL_ASSIGN(Term element, tensor_of(step, i));
    sequence.push_back(std::move(element));
  }
  bind_sequence(step.outputs[0], std::move(sequence));
  return {};
}

// SequenceAt, SequenceErase and SequenceInsert.
Status Binder::bind_at_place(const Step& step) {
  SHOAL_ASSIGN(Sequence sequence, sequence_of(step, 0));
  const bool inserts = step.op == "SequenceInsert";
  const size_t size = sequence.size();
  SHOAL_ASSIGN(const auto found, place_in(step, inserts ? 2 : 1, size,
                                          inserts ? size : std::max<size_t>(size, 1) - 1));
  const auto [place, is_known] = found;
  if (!is_known) return defer(step), Status();
  if (!inserts && place >= size) return invalid("there is no such place in the sequence");
  const auto it = sequence.begin() + static_cast<std::ptrdiff_t>(place);
  if (step.op == "SequenceAt") {
    bind_output(step.outputs[0], *it);
    return {};
  }
  if (inserts) {
    SHOAL_ASSIGN(Term element, tensor_of(step, 1));
    sequence.insert(it, std::move(element));
  } else {
    sequence.erase(it);
  }
  bind_sequence(step.outputs[0], std::move(sequence));
  return {};
}

Status Binder::bind_sequence_step(const Step& step) {
  if (step.outputs[0] == kNoSlot && step.op != "SequenceMap") return invalid("has no output");
  if (step.op == "SplitToSequence") return bind_split(step);
  if (step.op == "ConcatFromSequence") return bind_concat(step);
  if (step.op == "SequenceMap") return bind_map(step);
  if (step.op == "SequenceEmpty") return bind_sequence(step.outputs[0], {}), Status();
  if (step.op == "SequenceConstruct") return bind_sequence_construct(step);
  if (step.op == "SequenceLength") {
    SHOAL_ASSIGN(const Sequence sequence, sequence_of(step, 0));
    bind_constant(step.outputs[0],
                  Tensor::of<int64_t>({}, {static_cast<int64_t>(sequence.size())}));
    return {};
  }
  if (is_sequence_operator(step.op)) return bind_at_place(step);
  // An operator on tensors that was given a sequence.
  const bool passes = std::ranges::find(kPassing, step.op) != kPassing.end();
  if (step.op == "OptionalHasElement") {
    bind_constant(step.outputs[0], Tensor::of<bool>({}, {true}));
    return {};
  }
  if (!passes) return invalid("takes a tensor, not a sequence");
  SHOAL_TRY(sequence_of(step, 0).status());
  bind_alias(step.inputs[0], step.outputs[0]);
  return {};
}

}  // namespace shoal::onnx
