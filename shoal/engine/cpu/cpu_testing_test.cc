#include "shoal/engine/cpu/cpu_testing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/instruction_set.h"

namespace shoal::cpu {
namespace {

Graph graph_of(const Operator& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
               bool constant_weights, std::vector<Tensor>& feeds) {
  Graph graph;
  std::vector<ValueId> ids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) {
      ids.push_back(kNoValue);
    } else if (op.reads_value(i) || (constant_weights && i > 0)) {
      ids.push_back(graph.add_constant("w", inputs[i]));
    } else {
      ids.push_back(graph.add_input("x", inputs[i].type()));
      feeds.push_back(inputs[i]);
    }
  }
  auto output = graph.add(op, ids, attributes);
  EXPECT_TRUE(output.ok()) << output.status().message();
  graph.mark_output(*output);
  return graph;
}

bool uses_one_of(const Executable& executable, const KernelNames& kernels) {
  if (kernels.empty()) return true;
  for (size_t i = 0; i < executable.graph().nodes().size(); ++i) {
    if (std::ranges::find(kernels, executable.kernel_of(i).name) != kernels.end()) return true;
  }
  return false;
}

std::vector<Tensor> run(Device& device, const Graph& graph, const std::vector<Tensor>& feeds,
                        const KernelNames& kernels) {
  auto executable = device.compile(graph);
  EXPECT_TRUE(executable.ok());
  EXPECT_TRUE(uses_one_of(**executable, kernels)) << kernels.front() << " is not used";
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE((*executable)->run(feeds, outputs, {}).ok());
  return outputs;
}

void expect_near(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_EQ(got.type(), want.type());
  if (want.dtype() != DType::kF32) {
    const auto [a, b] = std::ranges::mismatch(got.bytes(), want.bytes());
    ASSERT_TRUE(a == got.bytes().end()) << "byte " << a - got.bytes().begin();
    return;
  }
  float top = 0;
  for (float x : want.data<float>()) top = std::max(top, std::abs(x));
  for (size_t i = 0; i < want.data<float>().size(); ++i) {
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], tolerance * top) << "element " << i;
  }
}

// On every instruction set and each of the devices.
void expect_agreement_on(std::span<const std::unique_ptr<Device>> devices, const Graph& graph,
                         const std::vector<Tensor>& feeds, const KernelNames& kernels,
                         float tolerance) {
  static const std::unique_ptr<Device> reference = make_reference_device();
  const std::vector<Tensor> want = run(*reference, graph, feeds, {});
  for (std::string_view set : instruction_sets()) {
    use_instruction_set(set);
    for (const auto& device : devices) {
      SCOPED_TRACE(std::string(set) + ", " + std::to_string(device->info().threads) + " threads, " +
                   to_string(graph[graph.inputs()[0]].type));
      const std::vector<Tensor> got = run(*device, graph, feeds, kernels);
      for (size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i], tolerance);
      if (testing::Test::HasFatalFailure()) break;
    }
  }
  use_instruction_set("");
}

void expect_agreement_by(std::string_view kernel, const Operator& op,
                         const std::vector<Tensor>& inputs, const Attributes& attributes,
                         bool constant_weights, float tolerance, KernelNames others) {
  SCOPED_TRACE(kernel);
  const std::string name(kernel);
  const std::unique_ptr<Device> devices[] = {make_cpu_device({.threads = 1, .prefer = name}),
                                             make_cpu_device({.threads = 2, .prefer = name})};
  std::vector<Tensor> feeds;
  const Graph graph = graph_of(op, inputs, attributes, constant_weights, feeds);
  others.push_back(kernel);
  expect_agreement_on(devices, graph, feeds, others, tolerance);
}

}  // namespace

Tensor random_floats(std::mt19937& rng, const Shape& shape) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor tensor({DType::kF32, shape});
  for (float& x : tensor.data<float>()) x = uniform(rng);
  return tensor;
}

void expect_agreement(const Operator& op, const std::vector<Tensor>& inputs,
                      const Attributes& attributes, const KernelNames& kernels, float tolerance) {
  static const std::unique_ptr<Device> devices[] = {make_cpu_device({.threads = 1}),
                                                    make_cpu_device({.threads = 2})};
  for (bool constant_weights : {false, true}) {
    SCOPED_TRACE(constant_weights ? "constant weights" : "weights of each run");
    std::vector<Tensor> feeds;
    const Graph graph = graph_of(op, inputs, attributes, constant_weights, feeds);
    expect_agreement_on(devices, graph, feeds, kernels, tolerance);
  }
}

Tensor random_bytes(std::mt19937& rng, DType dtype, const Shape& shape) {
  Tensor tensor({dtype, shape});
  for (std::byte& x : tensor.bytes()) x = static_cast<std::byte>(rng() & 255);
  return tensor;
}

void expect_agreement_by(std::string_view kernel, const Operator& op,
                         const std::vector<Tensor>& inputs, const Attributes& attributes,
                         float tolerance, KernelNames others) {
  expect_agreement_by(kernel, op, inputs, attributes, true, tolerance, others);
}

void expect_agreement_always_by(std::string_view kernel, const Operator& op,
                                const std::vector<Tensor>& inputs, const Attributes& attributes,
                                float tolerance) {
  for (const bool constant_weights : {false, true}) {
    SCOPED_TRACE(constant_weights ? "constant weights" : "weights of each run");
    expect_agreement_by(kernel, op, inputs, attributes, constant_weights, tolerance, {});
  }
}

void expect_agreement_of(const Graph& graph, const std::vector<Tensor>& feeds,
                         const KernelNames& kernels, float tolerance) {
  const std::unique_ptr<Device> devices[] = {make_cpu_device({.threads = 1}),
                                             make_cpu_device({.threads = 2})};
  expect_agreement_on(devices, graph, feeds, kernels, tolerance);
}

void expect_agreement_of(const Graph& graph, const KernelNames& kernels, float tolerance) {
  const std::unique_ptr<Device> devices[] = {make_cpu_device({.threads = 1}),
                                             make_cpu_device({.threads = 2})};
  std::mt19937 rng(1);
  std::vector<Tensor> feeds;
  for (ValueId id : graph.inputs()) feeds.push_back(random_floats(rng, graph[id].type.shape));
  expect_agreement_on(devices, graph, feeds, kernels, tolerance);
}

}  // namespace shoal::cpu
