// Removed equals masked: the rest of a node, and of every network of the zoo, answers as the whole
// does if the removed units are not read. This file knows no operator by name.
#include <gtest/gtest.h>

#include <string>

#include "fixture.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/nest.h"
#include "small_network.h"

namespace shoal::laws {
namespace {

constexpr double kSame = 1e-5;  // relative to the largest element
constexpr int kSets = 3;        // of units, per network; removal_law draws more

// Returns how many of the sets were removed. Others may be refused, but only with this code.
int expect_removed_equals_masked(const Graph& graph, const compress::Groups& groups, int sets,
                                 Rng& rng) {
  const auto device = make_reference_device();
  int removed = 0;
  for (int i = 0; i < sets; ++i) {
    const auto units = compress::random_units(groups, rng);
    const auto error =
        compress::removal_error(graph, groups, units, random_inputs(graph, rng), *device);
    EXPECT_TRUE(error.ok() || error.status().code() == Code::kUnsupported)
        << error.status().message();
    if (!error.ok()) continue;
    EXPECT_LE(*error, kSame) << units.size() << " units of " << groups.units.size();
    removed += units.empty() ? 0 : 1;
  }
  return removed;
}

// A node by itself. Its inputs are those of the graph, or constants but for the first one; all of
// them may lose indices, and so may the output.
Graph graph_of(const Operator& op, const Case& c, bool constants) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& t = c.inputs[i];
    const bool constant = op.reads_value(i) || (constants && i > 0);
    inputs.push_back(!t.defined() ? kNoValue
                     : constant   ? graph.add_constant("w", t)
                                  : graph.add_input("x", t.type()));
  }
  const auto outputs =
      graph.add_node(op, std::move(inputs), c.attributes, std::vector<std::string>(c.outputs));
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  for (ValueId id : *outputs) graph.mark_output(id);
  return graph;
}

class Shrinking : public Laws {};

TEST_P(Shrinking, RemovedEqualsMasked) {
  int removed = 0;
  Rng rng(11);
  for_each_case([&](const Case& c) {
    for (bool constants : {false, true}) {
      const Graph graph = graph_of(op(), c, constants);
      const auto groups = compress::find_groups(graph, compress::Ends::kFree);
      if (!groups.ok()) continue;  // quantised
      removed += expect_removed_equals_masked(graph, *groups, 3, rng);
    }
  });
  EXPECT_TRUE(removed > 0 || op().shrink == nullptr) << "no case lost anything";
}

SHOAL_LAW(Shrinking, op.split != nullptr && !op.random);

int64_t all_macs(const Graph& graph) {
  int64_t total = 0;
  for (const Node& node : graph.nodes()) total += macs(graph, node);
  return total;
}

// What was counted is what a reader of the file counts.
void expect_counted_as_written(const Graph& graph, const compress::Groups& groups,
                               const std::vector<size_t>& units) {
  const auto smaller = compress::remove(graph, groups, units);
  const auto bytes = onnx::to_onnx(*smaller);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const auto model = onnx::Model::parse(nullptr, *bytes);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto read = onnx::bind(*model, *onnx::declared_inputs(**model));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(all_macs(read->graph), *compress::macs_without(graph, groups, units));
  EXPECT_EQ(parameters(read->graph), parameters(*smaller));
  EXPECT_LT(parameters(*smaller), parameters(graph));
}

class SmallerNetworks : public testing::TestWithParam<std::string> {};

TEST_P(SmallerNetworks, RemovedEqualsMasked) {
  const auto network = small_network(GetParam(), 2, 0.25);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto groups = compress::find_groups(*network);
  ASSERT_TRUE(groups.ok()) << groups.status().message();
  EXPECT_FALSE(groups->units.empty());
  Rng rng(12);
  EXPECT_EQ(expect_removed_equals_masked(*network, *groups, kSets, rng), kSets);
  const auto half =
      compress::choose(*network, *groups, compress::magnitudes(*network, *groups), {.units = 0.5});
  ASSERT_TRUE(half.ok()) << half.status().message();
  expect_counted_as_written(*network, *groups, *half);
}

// Units in another order answer the same, and so do the first of them, by name, in a file.
TEST_P(SmallerNetworks, NestedAnswersTheSame) {
  const auto network = small_network(GetParam(), 1, 0.25);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto groups = compress::find_groups(*network);
  ASSERT_TRUE(groups.ok()) << groups.status().message();
  Rng rng(13);
  const auto device = make_reference_device();
  const auto ordered = compress::nested(*network, *groups, compress::random_worth(*groups, 1));
  ASSERT_TRUE(ordered.ok()) << ordered.status().message();
  const auto inputs = random_inputs(*network, rng);
  EXPECT_LE(relative_error(*compress::answers(*ordered, inputs, *device),
                           *compress::answers(*network, inputs, *device)),
            kSame);
  const auto bytes = onnx::to_onnx(*ordered);
  const auto model = onnx::Model::parse(nullptr, *bytes);
  const auto read = onnx::bind(*model, *onnx::declared_inputs(**model));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const auto again = compress::find_groups(read->graph);
  const auto width_of = [](const Graph& graph, const compress::Groups& all) {
    compress::Widths widths;
    for (const compress::Group& group : all.groups) {
      widths[compress::group_name(graph, all, group)] = (group.size() + 1) / 2;
    }
    return widths;
  };
  EXPECT_EQ(width_of(read->graph, *again), width_of(*network, *groups));
  EXPECT_EQ(width_of(*network, *groups).size(), groups->groups.size()) << "names are not unique";
}

// The file of a removal of nothing is the file.
TEST(Removal, OfNothingIsWrittenAsItWas) {
  const auto network = small_network("resnet18", 1, 0.25);
  const auto groups = compress::find_groups(*network);
  EXPECT_EQ(*onnx::to_onnx(*compress::remove(*network, *groups, {})), *onnx::to_onnx(*network));
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::list()) {
    // A layer between inputs and classes is all it has: nothing can be removed.
    if (entry.name != "logistic") names.emplace_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, SmallerNetworks, testing::ValuesIn(names()),
                         [](const auto& network) { return network.param; });

}  // namespace
}  // namespace shoal::laws
