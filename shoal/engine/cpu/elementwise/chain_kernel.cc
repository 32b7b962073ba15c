// ElementwiseChain: compiles the steps of a chain to a program for elementwise.h, and runs it over
// runs as long as the strides of its inputs allow. Lone operators whose inputs repeat the last axis
// are chains of one step.
#include <utility>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr size_t kOperands = kMaxChainInputs + 1;  // the output, then the inputs

struct Row {
  const Operator* op;
  ChainOp in_order;  // the first operand is the running value
  ChainOp reversed;  // the second one is
};

const Row& row_of(const Operator* op) {
#define SHOAL_UNARY_IF(name, ...) {&ops::name, ChainOp::name, ChainOp::name},
#define SHOAL_BINARY(name, ...) {&ops::name, ChainOp::name, ChainOp::name##_reversed},
  static const Row kTable[] = {
#include "shoal/engine/cpu/elementwise/vector_functions.inc"
  };
  const auto* row = std::ranges::find(kTable, op, &Row::op);
  SHOAL_CHECK(row != std::end(kTable));
  return *row;
}

// Every result has one reader. If that is the next step, the result stays the running value;
// otherwise it is stored until it is loaded.
ChainProgram program_of(const KernelSpec& spec, const std::vector<ChainStep>& steps) {
  ChainProgram program{{}, spec.inputs.size()};
  auto emit = [&](ChainOp op, size_t value, float alpha = 0, float beta = 0) {
    program.instructions.push_back({op, static_cast<uint8_t>(value), alpha, beta});
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const ChainStep& step = steps[s];
    const size_t a = step.operands.front(), b = step.operands.back();
    const size_t running = spec.inputs.size() + s - 1;  // of no use to the first step
    const bool takes_a = s > 0 && a == running, takes_b = s > 0 && !takes_a && b == running;
    if (s > 0 && !takes_a && !takes_b) emit(ChainOp::store, running);
    if (!takes_a && !takes_b) emit(ChainOp::load, a);
    const Row& row = row_of(step.op);
    emit(takes_b ? row.reversed : row.in_order, takes_b ? a : b, step.alpha, step.beta);
  }
  return program;
}

std::array<ops::Strides, kOperands> strides_of(const KernelSpec& spec) {
  const Shape& y = spec.outputs[0].shape;
  std::array<ops::Strides, kOperands> strides;
  strides.fill(ops::strides_of(y));
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    strides[i + 1] = ops::broadcast_strides(spec.shape(i), y);
  }
  return strides;
}

// True if the last axis is short and some inputs repeat it along the axis before, as those with one
// element per channel do in [n, c, h, w, b] and [n, h, w, 3]. The others have an element for each,
// or one for all.
bool repeats_last_axis(const Walk<kOperands>& walk) {
  const size_t last = walk.shape.rank() - 1;
  if (last == 0 || walk.shape.count() == 0 || walk.shape[last] > chain_group()) return false;
  return std::ranges::all_of(walk.strides, [&](const ops::Strides& strides) {
    const bool joins = strides[last - 1] == strides[last] * walk.shape[last];
    return joins || strides[last - 1] == 0;
  });
}

// What run_chain() runs over: a part of the elements, with `pixel` of them at each position of the
// walk.
struct ChainRuns {
  explicit ChainRuns(Part<kOperands> part_of) : part(std::move(part_of)) {
    Walk<kOperands>& walk = part.walk;
    for (size_t i = 0; i < kMaxChainInputs; ++i) periods[i] = walk.steps()[i + 1] == 0;
    if (!repeats_last_axis(walk)) return;
    // The walk leaves the last axis to the loop, which sees one run instead of many short ones.
    const Walk<kOperands> whole = std::exchange(walk, {});
    const size_t last = whole.shape.rank() - 1;
    pixel = whole.shape[last];
    for (size_t d = 0; d < last; ++d) {
      walk.shape.push_back(whole.shape[d]);
      for (size_t i = 0; i < kOperands; ++i) walk.strides[i].push_back(whole.strides[i][d]);
    }
    for (size_t i = 0; i < kMaxChainInputs; ++i) {
      const bool repeats = whole.strides[i + 1][last - 1] == 0 && whole.strides[i + 1][last] == 1;
      if (repeats) periods[i] = pixel;
    }
  }

  Part<kOperands> part;
  int64_t pixel = 1;
  std::array<int64_t, kMaxChainInputs> periods = {};  // as run_chain() has them
};

class ChainKernel : public RectangleKernel {
 public:
  ChainKernel(const KernelSpec& spec, const std::vector<ChainStep>& steps)
      : program_(program_of(spec, steps)),
        shape_(spec.outputs[0].shape),
        strides_(strides_of(spec)),
        all_(Part<kOperands>{make_walk<kOperands>(shape_, strides_), {}}) {}

  void run(const KernelArgs& args) const override { run_part(args, all_); }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    for (const Rectangle& one : where) {
      run_part(args, ChainRuns(part_in<kOperands>(one, shape_, strides_)));
    }
  }

 private:
  void run_part(const KernelArgs& args, const ChainRuns& runs) const {
    const std::array<int64_t, kOperands>& first = runs.part.first;
    for_each_run(
        runs.part.walk, args.pool,
        [&](const std::array<int64_t, kOperands>& at, int64_t n) {
          std::array<const float*, kMaxChainInputs> inputs{};
          for (size_t i = 0; i < program_.inputs; ++i) {
            inputs[i] = args.input(i) + first[i + 1] + at[i + 1];
          }
          run_chain(program_, inputs, runs.periods, args.output(0) + first[0] + at[0],
                    n * runs.pixel);
        },
        runs.pixel);
  }

  const ChainProgram program_;
  const Shape shape_;
  const std::array<ops::Strides, kOperands> strides_;  // the output, then the inputs
  const ChainRuns all_;
};

std::unique_ptr<Kernel> make_chain(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<ChainKernel>(spec, steps_of(spec.node));
}

std::unique_ptr<Kernel> make_single(const KernelSpec& spec) {
  const bool fits =
      spec.all_of_type(DType::kF32) && spec.inputs.size() == 2 &&
      repeats_last_axis(make_walk<kOperands>(spec.outputs[0].shape, strides_of(spec)));
  if (!fits) return nullptr;
  return std::make_unique<ChainKernel>(spec, std::vector{ChainStep{spec.node.op, {0, 1}, 0, 0}});
}

}  // namespace

std::vector<Provider> chain_kernels() {
  std::vector<Provider> all = {{&elementwise_chain, "chain", make_chain}};
  for (const Operator* op : vector_pairs()) all.push_back({op, "chain", make_single});
  return all;
}

}  // namespace shoal::cpu
