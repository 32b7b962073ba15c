// ElementwiseChain: compiles the steps of a chain to a program for chain_loop.h, and runs it over
// runs as long as the strides of its inputs allow.
#include "shoal/cpu/elementwise/chain_loop.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/movement/strided.h"
#include "shoal/ops/ops.h"

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
#include "shoal/cpu/elementwise/vector_functions.inc"
  };
  const auto* row = std::ranges::find(kTable, op, &Row::op);
  SHOAL_CHECK(row != std::end(kTable));
  return *row;
}

// Every result has one reader. If that is the next step, the result stays the running value;
// otherwise it is stored until it is loaded.
ChainProgram program_of(const KernelSpec& spec) {
  const std::vector<ChainStep> steps = steps_of(spec.node);
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

Walk<kOperands> walk_of(const KernelSpec& spec) {
  const Shape& y = spec.outputs[0].shape;
  std::array<ops::Strides, kOperands> strides;
  strides.fill(ops::strides_of(y));
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    strides[i + 1] = ops::broadcast_strides(spec.shape(i), y);
  }
  return make_walk<kOperands>(y, strides);
}

class ChainKernel : public Kernel {
 public:
  explicit ChainKernel(const KernelSpec& spec) : program_(program_of(spec)), walk_(walk_of(spec)) {}

  void run(const KernelArgs& args) const override {
    const auto strides = walk_.steps();
    std::array<int64_t, kMaxChainInputs> steps;
    std::copy_n(strides.begin() + 1, kMaxChainInputs, steps.begin());
    for_each_run(walk_, args.pool, [&](const std::array<int64_t, kOperands>& at, int64_t n) {
      std::array<const float*, kMaxChainInputs> inputs{};
      for (size_t i = 0; i < program_.inputs; ++i) inputs[i] = args.input(i) + at[i + 1];
      run_chain(program_, inputs, steps, args.output(0) + at[0], n);
    });
  }

 private:
  const ChainProgram program_;
  const Walk<kOperands> walk_;
};

std::unique_ptr<Kernel> make_chain(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<ChainKernel>(spec);
}

}  // namespace

std::vector<Provider> chain_kernels() { return {{&elementwise_chain, "chain", make_chain}}; }

}  // namespace shoal::cpu
