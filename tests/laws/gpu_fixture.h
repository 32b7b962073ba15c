// Laws of GPUs, whatever their API: every operator that the device supports agrees with its
// reference, and networks answer as on the CPU. All cases are one graph, hence one program: drivers
// that compile kernels on the CPU take a second to begin.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "fixture.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/gpu/plan/options.h"
#include "shoal/model/passes/passes.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/trainer/trainer.h"
#include "shoal/train/step/trainer/update_graph.h"
#include "small_network.h"

namespace shoal::laws {

inline constexpr int kCases = 2;               // of each operator
inline constexpr size_t kLeastOperators = 60;  // that are supported

// Plain layers, residual ones, and attention.
inline const auto kNetworks = testing::Values("lenet5", "resnet20", "encoder");

struct Cases {
  Graph graph;
  std::vector<Tensor> feeds, want;
  std::vector<std::string> names;  // by output
  std::set<const Operator*> operators;
};

// Adds a case to the graph; all inputs that may be fed are inputs of the graph. Every second case
// has its weights as constants.
inline void add_case(const Device& device, const Operator& op, const Case& c, bool constant_weights,
                     Cases& cases) {
  Graph trial;  // a graph cannot lose a node
  const auto add_to = [&](Graph& graph, std::vector<Tensor>& feeds) {
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const Tensor& t = c.inputs[i];
      if (!t.defined()) {
        inputs.push_back(kNoValue);
      } else if (op.reads_value(i) || (i > 0 && constant_weights)) {
        inputs.push_back(graph.add_constant("w", t));
      } else {
        inputs.push_back(graph.add_input("x", t.type()));
        feeds.push_back(t);
      }
    }
    return *graph.add_node(op, inputs, c.attributes, std::vector<std::string>(c.outputs));
  };
  std::vector<Tensor> dropped;
  add_to(trial, dropped);
  if (!device.supports(trial, trial.nodes()[0])) return;
  for (ValueId id : add_to(cases.graph, cases.feeds)) {
    cases.graph.mark_output(id);
    cases.names.push_back(std::string(op.name) + " " + describe(c));
  }
  for (Tensor& t : evaluate(node_of(op, c), c.inputs)) cases.want.push_back(std::move(t));
  cases.operators.insert(&op);
}

inline Cases draw_cases(const Device& device) {
  Cases cases;
  for (const Source& source : sources()) {
    if (source.op->random) continue;
    Rng rng(7);
    for (int i = 0; i < kCases; ++i) {
      add_case(device, *source.op, source.draw(rng), i % 2 == 1, cases);
    }
  }
  return cases;
}

inline void expect_as_the_reference(Device& device) {
  const Cases cases = draw_cases(device);
  EXPECT_GE(cases.operators.size(), kLeastOperators);
  auto executable = device.compile(cases.graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (int run = 0; run < 2; ++run) {  // the second finds what the first left behind
    std::vector<Tensor> got(cases.want.size());
    const Status status = (*executable)->run(cases.feeds, got, {});
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(cases.names[i]);
      expect_same(got[i], cases.want[i], 1e-5f);
    }
  }
}

// The outputs of a device by itself.
inline std::vector<Tensor> outputs_on(Device& device, const Graph& graph,
                                      const std::vector<Tensor>& inputs) {
  auto executable = device.compile(graph);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  std::vector<Tensor> outputs(graph.outputs().size());
  const Status status = (*executable)->run(inputs, outputs, {});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(crossings_of(**executable).values, 0) << "the fallback had to help";
  return outputs;
}

// A network of the zoo, narrow and on small images, but with all its layers.
inline void expect_network_as_on_the_cpu(std::unique_ptr<Device> gpu, const std::string& name) {
  const auto hybrid = make_hybrid_device(std::move(gpu), make_reference_device());
  const auto network = small_network(name, 2, 0.125);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const Graph graph = *passes::optimize(*network);
  std::vector<Tensor> inputs;
  Rng rng(3);
  for (ValueId id : graph.inputs()) inputs.push_back(random_tensor(rng, graph[id].type.shape));
  const std::vector<Tensor> got = outputs_on(*hybrid, graph, inputs),
                            want = outputs_on(*make_reference_device(), graph, inputs);
  for (size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i], 1e-4f);
}

// A step of training a small network, the optimiser's update included: scores, loss, statistics,
// weights and memories after it.
inline Graph training_step(const std::string& name, const train::OptimizerOptions& optimizer) {
  const auto network = small_network(name, 4, 0.25);
  EXPECT_TRUE(network.ok()) << network.status().message();
  const auto step = train::make_step_graph(*network);
  EXPECT_TRUE(step.ok()) << step.status().message();
  return train::add_update(step->graph, step->parameters.size(), optimizer)->graph;
}

inline const train::OptimizerOptions kSgd{.rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f};
inline const train::OptimizerOptions kAdam{
    .rule = train::OptimizerOptions::Rule::kAdam, .rate = 0.1f, .max_norm = 1};

// The device takes every node of a step, so that nothing crosses.
inline void expect_whole_steps(const Device& device) {
  for (const char* name : {"lenet5", "convnet", "resnet20", "vgg16cifar"}) {
    for (const train::OptimizerOptions& optimizer : {kSgd, kAdam}) {
      const auto work = train::step_work(*small_network(name, 4, 0.25), {}, optimizer, device);
      ASSERT_TRUE(work.ok()) << work.status().message();
      EXPECT_GT(work->macs, 0) << name;
      for (const std::string& place : work->elsewhere) ADD_FAILURE() << name << ": " << place;
    }
  }
}

inline void expect_step_as_the_reference(std::unique_ptr<Device> gpu, const std::string& name,
                                         const train::OptimizerOptions& optimizer) {
  const auto hybrid = make_hybrid_device(std::move(gpu), make_reference_device());
  const Graph graph = training_step(name, optimizer);
  std::vector<Tensor> inputs;
  Rng rng(5);
  for (ValueId id : graph.inputs()) {
    const auto& [shape, dtype] = std::pair(graph[id].type.shape, graph[id].type.dtype);
    const bool is_memory = graph[id].name.ends_with(".square");
    inputs.push_back(dtype == DType::kI64
                         ? Tensor::of<int64_t>(shape, random_ints(rng, 4, 0, 9))
                         : random_tensor(rng, shape, is_memory ? 0.1f : -0.5f, 0.5f));
  }
  const std::vector<Tensor> got = outputs_on(*hybrid, graph, inputs),
                            want = outputs_on(*make_reference_device(), graph, inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(graph[graph.outputs()[i]].name);
    expect_same(got[i], want[i], 1e-4f);
  }
}

// Several steps of a trainer whose state stays on the device, as of one on the CPU.
inline void expect_training_as_on_the_cpu(std::unique_ptr<Device> gpu) {
  const auto hybrid = make_hybrid_device(std::move(gpu), make_reference_device());
  const auto value = hybrid->upload(Tensor({DType::kF32, {2}}));
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->host(), nullptr) << "the state would travel in each step";
  const auto cpu = make_reference_device();
  const auto network = small_network("lenet5", 4, 0.25);
  const auto make = [&](Device& device, bool on_device) {
    return train::Trainer::create(device, *network,
                                  {.optimizer = kAdam, .update_on_device = on_device});
  };
  auto got = make(*hybrid, true), want = make(*cpu, false);
  ASSERT_TRUE(got.ok() && want.ok()) << got.status().message();
  Rng rng(9);
  for (int step = 0; step < 3; ++step) {
    const Tensor images = random_tensor(rng, (*network)[network->inputs()[0]].type.shape);
    const Tensor labels = Tensor::of<int64_t>({4}, random_ints(rng, 4, 0, 9));
    const auto loss = got->step(images, std::span(&labels, 1), 0.01);
    const auto wanted = want->step(images, std::span(&labels, 1), 0.01);
    ASSERT_TRUE(loss.ok() && wanted.ok()) << loss.status().message();
    EXPECT_NEAR(*loss, *wanted, 1e-4f * *wanted) << step;
  }
  ASSERT_TRUE(got->fetch().ok());
  for (size_t i = 0; i < want->weights().size(); ++i) {
    SCOPED_TRACE(want->parameters()[i]);
    expect_same(got->weights()[i], want->weights()[i], 1e-4f);
  }
}

inline std::string local_memory_name(const testing::TestParamInfo<GpuLocalMemory>& param) {
  return param.param == GpuLocalMemory::kOn ? "On" : "Off";
}

}  // namespace shoal::laws
