// Loop and Scan, unrolled: every round is bound as if the file had its nodes one after another. So
// the number of rounds has to be known when the loop is bound; a Loop whose count is an input, or
// follows from data before it, waits for a stage that knows it.
#include <algorithm>
#include <limits>

#include "shoal/model/onnx/bind/binder.h"
#include "shoal/model/ops/require.h"

namespace shoal::onnx {
namespace {

Status unsupported(std::string message) { return Status(Code::kUnsupported, std::move(message)); }

std::vector<int64_t> list(const Step& step, std::string_view key, size_t size) {
  const auto it = step.attributes.find(key);
  const auto* given =
      it == step.attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&it->second);
  std::vector<int64_t> values = given == nullptr ? std::vector<int64_t>() : *given;
  values.resize(size, 0);
  return values;
}

// The inputs of a Scan are states and then tensors that are read slice by slice; its outputs are
// states and then slices that are put together.
struct ScanForm {
  size_t states;
  std::vector<int64_t> in_axes, in_reversed, out_axes, out_reversed;
};

Result<ScanForm> form_of(const Step& step) {
  const Block& body = step.branches[0];
  const auto it = step.attributes.find("num_scan_inputs");
  const auto* number = it == step.attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
  const auto inputs = static_cast<int64_t>(step.inputs.size());
  if (number == nullptr || *number < 1 || *number > inputs) return invalid("has no scan inputs");
  const auto states = static_cast<size_t>(inputs - *number);
  if (body.inputs.size() != step.inputs.size() || body.results.size() < states ||
      step.outputs.size() > body.results.size()) {
    return invalid("the body does not have the inputs and outputs of its Scan");
  }
  const size_t slices = body.results.size() - states, scans = step.inputs.size() - states;
  return ScanForm{
      states, list(step, "scan_input_axes", scans), list(step, "scan_input_directions", scans),
      list(step, "scan_output_axes", slices), list(step, "scan_output_directions", slices)};
}

}  // namespace

// A value of a round, which outlives the binding of its slot.
Result<Term> Binder::detached(Slot slot) {
  if (slot == kNoSlot || at(slot).kind == Binding::kNone) return invalid("a value is missing");
  if (at(slot).kind == Binding::kSequence) {
    return unsupported("a sequence where a tensor is read");
  }
  Term term = term_of(slot);
  term.slot = kNoSlot;
  return term;
}

Status Binder::bind_round(const Block& body, std::span<const Term> inputs) {
  if (--loop_steps_left_ < 0) {
    return Status(Code::kExhausted, "loops are too long to be unrolled");
  }
  for (size_t i = 0; i < inputs.size(); ++i) bind_output(body.inputs[i], inputs[i]);
  const size_t deferred = deferred_.size();
  ++loop_depth_;
  Status status;
  for (size_t i = 0; i < body.steps.size() && status.ok(); ++i) {
    status = bind_pending({&body.steps[i]});
  }
  --loop_depth_;
  if (!status.ok()) return status;
  if (deferred_.size() > deferred) {
    return unsupported("shapes inside a loop depend on data that the loop computes");
  }
  return {};
}

// Slices along a new axis, in the order of the rounds or in the other.
Result<Term> Binder::stacked(std::vector<Term> slices, int64_t axis, bool reversed) {
  if (slices.empty()) return unsupported("a loop without rounds has no slices to put together");
  if (reversed) std::ranges::reverse(slices);
  for (Term& slice : slices) {
    SHOAL_ASSIGN(slice, emit_one("Unsqueeze", {slice, Term::ints({axis})}));
  }
  return emit_one("Concat", std::move(slices), {{"axis", axis}});
}

void Binder::bind_outputs(const Step& step, std::span<const Term> outputs) {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] != kNoSlot) bind_output(step.outputs[i], outputs[i]);
  }
}

Status Binder::bind_scan(const Step& step) {
  const Block& body = step.branches[0];
  SHOAL_ASSIGN(const ScanForm form, form_of(step));
  std::vector<Term> inputs;
  for (Slot slot : step.inputs) {
    SHOAL_ASSIGN(Term input, detached(slot));
    inputs.push_back(std::move(input));
  }
  int64_t rounds = -1;
  for (size_t i = form.states; i < inputs.size(); ++i) {
    const size_t scan = i - form.states;
    SHOAL_ASSIGN(const size_t axis, ops::require_axis(form.in_axes[scan], inputs[i].rank()));
    const int64_t size = inputs[i].type.shape[axis];
    if (rounds >= 0 && size != rounds) return invalid("scan inputs differ in length");
    rounds = size;
  }
  std::vector<Term> values(inputs.begin(),
                           inputs.begin() + static_cast<std::ptrdiff_t>(form.states));
  std::vector<std::vector<Term>> slices(body.results.size() - form.states);
  for (int64_t round = 0; round < rounds; ++round) {
    values.resize(form.states);
    for (size_t i = form.states; i < inputs.size(); ++i) {
      const size_t scan = i - form.states;
      const int64_t at = form.in_reversed[scan] != 0 ? rounds - 1 - round : round;
      SHOAL_ASSIGN(Term slice,
                   emit_one("Gather", {inputs[i], Term::of(Tensor::of<int64_t>({}, {at}))},
                            {{"axis", form.in_axes[scan]}}));
      values.push_back(std::move(slice));
    }
    SHOAL_TRY(bind_round(body, values));
    for (size_t i = 0; i < body.results.size(); ++i) {
      SHOAL_ASSIGN(Term result, detached(body.results[i]));
      (i < form.states ? values[i] : slices[i - form.states].emplace_back()) = std::move(result);
    }
  }
  values.resize(form.states);
  for (size_t i = 0; i < slices.size() && values.size() < step.outputs.size(); ++i) {
    SHOAL_ASSIGN(Term all,
                 stacked(std::move(slices[i]), form.out_axes[i], form.out_reversed[i] != 0));
    values.push_back(std::move(all));
  }
  bind_outputs(step, values);
  return {};
}

// The elements of the count or the condition of a Loop. If they are not known, the step waits.
std::optional<Tensor> Binder::known_or_wanted(Slot slot) {
  const Term term = term_of(slot);
  if (term.constant.defined()) return term.constant;
  wanted_.insert(slot);
  return std::nullopt;
}

Status Binder::bind_loop(const Step& step) {
  const Block& body = step.branches[0];
  const size_t states = step.inputs.size() < 2 ? 0 : step.inputs.size() - 2;
  if (step.inputs.size() < 2 || body.inputs.size() != states + 2 ||
      body.results.size() < states + 1 || step.outputs.size() + 1 > body.results.size()) {
    return invalid("the body does not have the inputs and outputs of its Loop");
  }
  int64_t rounds = std::numeric_limits<int64_t>::max();
  bool goes_on = true;
  if (step.inputs[0] != kNoSlot) {
    const auto count = known_or_wanted(step.inputs[0]);
    if (!count) return defer(step), Status();
    if (count->dtype() != DType::kI64 || count->count() != 1) return invalid("counts by one i64");
    rounds = count->data<int64_t>()[0];
  }
  if (step.inputs[1] != kNoSlot) {
    const auto condition = known_or_wanted(step.inputs[1]);
    if (!condition) return defer(step), Status();
    if (condition->dtype() != DType::kBool || condition->count() != 1) {
      return invalid("the condition of a Loop is one bool");
    }
    goes_on = condition->data<bool>()[0];
  }
  std::vector<Term> values(2);
  for (size_t i = 0; i < states; ++i) {
    SHOAL_ASSIGN(Term state, detached(step.inputs[i + 2]));
    values.push_back(std::move(state));
  }
  std::vector<std::vector<Term>> slices(body.results.size() - states - 1);
  for (int64_t round = 0; round < rounds && goes_on; ++round) {
    values[0] = Term::of(Tensor::of<int64_t>({}, {round}));
    values[1] = Term::of(Tensor::of<bool>({}, {true}));
    SHOAL_TRY(bind_round(body, values));
    SHOAL_ASSIGN(const Term condition, detached(body.results[0]));
    if (!condition.constant.defined() || condition.type.dtype != DType::kBool ||
        condition.type.shape.count() != 1) {
      return unsupported("the rounds of a Loop end by data that the loop computes");
    }
    goes_on = condition.constant.data<bool>()[0];
    for (size_t i = 1; i < body.results.size(); ++i) {
      SHOAL_ASSIGN(Term result, detached(body.results[i]));
      (i <= states ? values[i + 1] : slices[i - states - 1].emplace_back()) = std::move(result);
    }
  }
  std::vector<Term> outputs(values.begin() + 2, values.end());
  for (size_t i = 0; i < slices.size() && outputs.size() < step.outputs.size(); ++i) {
    SHOAL_ASSIGN(Term all, stacked(std::move(slices[i]), 0, false));
    outputs.push_back(std::move(all));
  }
  bind_outputs(step, outputs);
  return {};
}

}  // namespace shoal::onnx
