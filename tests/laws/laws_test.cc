// Every operator keeps every law of model/graph/operator.h. This file knows no operator by name.
#include <gtest/gtest.h>

#include <set>

#include "../devices/devices.h"
#include "fixture.h"
#include "shoal/engine/cpu/instruction_set.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/contraction.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {

namespace {

class Splitting : public Laws {};
class Linear : public Laws {};
class InPlace : public Laws {};
class Own : public Laws {};
class Deterministic : public Laws {};

// Cuts every axis in two: 2^rank boxes, uneven on odd sizes.
std::vector<Region> corners(const Shape& shape) {
  std::vector<Region> boxes;
  for (unsigned corner = 0; corner < (1u << shape.rank()); ++corner) {
    Region box{shape, shape};
    for (size_t d = 0; d < shape.rank(); ++d) {
      const bool high = (corner >> d & 1) != 0;
      box.begin[d] = high ? shape[d] / 2 : 0;
      box.end[d] = high ? shape[d] : shape[d] / 2;
    }
    if (box.shape().count() > 0) boxes.push_back(box);
  }
  return boxes;
}

TEST_P(Splitting, TilesPutTogetherAreTheWhole) {
  int tiles = 0;
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    const Tensor whole = evaluate(node, c.inputs)[0];
    for (const Region& box : corners(whole.shape())) {
      const auto tile = op().split(node, operands_of(c.inputs), box);
      if (!tile) continue;
      ++tiles;
      Node part = node;
      part.attributes = tile->attributes;
      std::vector<Tensor> inputs;
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        const auto constant = tile->constants.find(i);
        inputs.push_back(constant != tile->constants.end() ? constant->second
                         : c.inputs[i].defined()           ? crop(c.inputs[i], tile->inputs[i])
                                                           : Tensor());
      }
      for (size_t d = 0; d < box.begin.rank(); ++d) {
        ASSERT_LE(tile->output.begin[d], box.begin[d]);
        ASSERT_GE(tile->output.end[d], box.end[d]);
      }
      expect_same(evaluate(part, inputs)[0], crop(whole, tile->output), 1e-5f);
    }
  });
  EXPECT_GT(tiles, 0) << "no case could be split";
}

TEST_P(Linear, MeansAdditive) {
  for_each_case([&](const Case& c) {
    Case plain = c;
    const bool optional = op().min_inputs <= 2 && op().max_inputs != kAnyNumber;
    if (plain.inputs.size() > 2 && optional) plain.inputs[2] = Tensor();  // bias
    const Node node = node_of(op(), plain);
    Rng rng(99);
    const Tensor a = plain.inputs[0], b = random_tensor(rng, a.shape());
    Tensor sum(a.type());
    for (size_t k = 0; k < a.data<float>().size(); ++k) {
      sum.data<float>()[k] = a.data<float>()[k] + b.data<float>()[k];
    }
    auto f = [&](const Tensor& x) {
      std::vector<Tensor> inputs = plain.inputs;
      inputs[0] = x;
      return evaluate(node, inputs)[0];
    };
    Tensor fa = f(a);
    const Tensor fb = f(b);
    for (size_t k = 0; k < fa.data<float>().size(); ++k) fa.data<float>()[k] += fb.data<float>()[k];
    expect_same(f(sum), fa, 1e-4f);
  });
}

// A product over some of its terms, and one over the rest, add up to the product.
TEST_P(Linear, ProductsAreSumsOfTheirTerms) {
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    const auto along = ops::contraction_of(node, operands_of(c.inputs));
    if (!along) return;
    const int64_t middle = (along->length + 1) / 2;
    auto term = [&](int64_t begin, int64_t end) {
      std::vector<Tensor> inputs = c.inputs;
      for (const auto& [input, axis] :
           {std::pair(size_t{0}, along->axis), std::pair(size_t{1}, along->weight_axis)}) {
        Region region = Region::whole(inputs[input].shape());
        region.begin[axis] = begin;
        region.end[axis] = end;
        inputs[input] = crop(inputs[input], region);
      }
      if (begin > 0 && inputs.size() > 2) inputs[2] = Tensor();  // bias
      return evaluate(node, inputs)[0];
    };
    Tensor sum = term(0, middle);
    const Tensor rest = term(middle, along->length);
    ASSERT_EQ(sum.shape(), rest.shape());
    for (size_t k = 0; k < sum.data<float>().size(); ++k) {
      sum.data<float>()[k] += rest.data<float>()[k];
    }
    expect_same(evaluate(node, c.inputs)[0], sum, 1e-4f);
  });
}

TEST_P(InPlace, SharingMemoryChangesNothing) {
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    const std::vector<Tensor> want = evaluate(node, c.inputs);
    if (want[0].bytes().size() != c.inputs[0].bytes().size()) return;
    std::vector<Tensor> inputs = c.inputs, outputs;
    inputs[0] = c.inputs[0].clone();
    for (const Tensor& t : want) outputs.emplace_back(t.type());
    // Another view of input 0: reading and writing meet in the same bytes.
    auto keep = std::make_shared<Tensor>(inputs[0]);
    outputs[0] = Tensor::view(want[0].type(), keep->bytes().data(), keep);
    op().reference(node, inputs, outputs);
    for (size_t i = 0; i < want.size(); ++i) expect_same(outputs[i], want[i], 0);
  });
}

TEST_P(Laws, InferenceReadsOnlyTheValuesItNames) {
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    std::vector<Operand> operands = operands_of(c.inputs);
    auto full = op().infer(node, operands);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!op().reads_value(i)) operands[i].value = nullptr;
    }
    auto named = op().infer(node, operands);
    ASSERT_TRUE(full.ok() && named.ok());
    EXPECT_EQ(*full, *named);
  });
}

TEST_P(Own, TheExpansionComputesTheSame) {
  for_each_case([&](const Case& c) {
    Graph graph;
    std::vector<ValueId> inputs;
    for (const Tensor& t : c.inputs) {
      inputs.push_back(t.defined() ? graph.add_constant("x", t) : kNoValue);
    }
    auto outputs = op().expand(node_of(op(), c), inputs, graph);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    for (ValueId id : *outputs) graph.mark_output(id);
    auto executable = make_reference_device()->compile(graph);
    ASSERT_TRUE(executable.ok());
    std::vector<Tensor> got(outputs->size());
    ASSERT_TRUE((*executable)->run({}, got, {}).ok());
    expect_same(got[0], evaluate(node_of(op(), c), c.inputs)[0], 1e-5f);
  });
}

// Passes its input on, as a value in the device's own memory that the next node may overwrite.
const Operator kCopy = {
    .name = "Copy",
    .infer = [](const Node&, std::span<const Operand> inputs) -> Result<std::vector<TensorType>> {
      return std::vector{inputs[0].type};
    },
    .reference =
        [](const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
          std::ranges::copy(inputs[0].bytes(), outputs[0].bytes().begin());
        }};

// How a case becomes a graph: which inputs are constants, and whether input 0 is computed.
struct Form {
  bool constant_weights;
  bool computed_input;
};

Graph graph_of(const Operator& op, const Case& c, Form form, std::vector<Tensor>& feeds) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& t = c.inputs[i];
    if (!t.defined()) {
      inputs.push_back(kNoValue);
    } else if (op.reads_value(i) || (form.constant_weights && i > 0)) {
      inputs.push_back(graph.add_constant("w", t));
    } else {
      inputs.push_back(graph.add_input("x", t.type()));
      feeds.push_back(t);
    }
  }
  if (form.computed_input && inputs[0] != kNoValue && !op.reads_value(0)) {
    inputs[0] = *graph.add(kCopy, {inputs[0]});
  }
  auto outputs = graph.add_node(op, inputs, c.attributes, std::vector<std::string>(c.outputs));
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  for (ValueId id : *outputs) graph.mark_output(id);
  return graph;
}

TEST_P(Deterministic, EveryDeviceAgreesWithTheReference) {
  for (std::string_view set : cpu::instruction_sets()) {
    SCOPED_TRACE(set);
    cpu::use_instruction_set(set);
    for_each_case([&](const Case& c) {
      const std::vector<Tensor> want = evaluate(node_of(op(), c), c.inputs);
      for (const auto& device : all_devices()) {
        for (const Form form : {Form{false, false}, Form{true, false}, Form{true, true}}) {
          std::vector<Tensor> feeds;
          const Graph graph = graph_of(op(), c, form, feeds);
          auto executable = device->compile(graph);
          ASSERT_TRUE(executable.ok()) << executable.status().message();
          SCOPED_TRACE(device->info().name);
          for (int run = 0; run < 2; ++run) {  // the second finds what the first left behind
            std::vector<Tensor> got(want.size());
            ASSERT_TRUE((*executable)->run(feeds, got, {}).ok());
            for (size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i], 1e-5f);
          }
        }
      }
    });
  }
  cpu::use_instruction_set("");
}

SHOAL_LAW(Laws, op.infer != nullptr);
SHOAL_LAW(Splitting, op.split != nullptr);
SHOAL_LAW(Linear, op.linear);
SHOAL_LAW(InPlace, op.in_place);
SHOAL_LAW(Own, op.expand != nullptr);
SHOAL_LAW(Deterministic, !op.random);

// A claim without a case would be unchecked.
TEST(LawCases, CoverEveryClaim) {
  std::set<const Operator*> covered;
  for (const Source& source : sources()) covered.insert(source.op);
  for (const Operator* op : ops::all()) {
    const bool claims = op->split != nullptr || op->linear || op->in_place ||
                        op->expand != nullptr || op->elementwise.operands > 0 || op->linear_time ||
                        op->reads_types_only;
    EXPECT_TRUE(!claims || covered.contains(op)) << op->name << " claims laws but has no case";
  }
}

}  // namespace

}  // namespace shoal::laws
