// What is shared and split, as the scheduler is told: laws over networks that are drawn.
#include "shoal/serve/engine/task_loader.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/base/math/random.h"
#include "shoal/engine/shared_layers/split_network.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/serve/engine/model_part.h"
#include "shoal/serve/engine/shared_layers.h"

namespace shoal::serve {
namespace {

// Convolutions with weights of these seeds, each followed by a pool, and a head of another.
Graph network(const std::vector<uint64_t>& seeds, uint64_t head, int64_t stride = 1) {
  Graph graph;
  const auto weights = [&](const Shape& shape, uint64_t seed) {
    Tensor tensor({DType::kF32, shape});
    fill_normal(tensor.data<float>(), RandomStream(seed, 0), 0.1);
    return graph.add_constant("w", std::move(tensor));
  };
  ValueId x = graph.add_input("image", {DType::kF32, {1, 4, 8, 8}});
  for (const uint64_t seed : seeds) {
    x = *graph.add(
        ops::conv, {x, weights({4, 4, 3, 3}, seed)},
        {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    x = *graph.add(ops::max_pool, {x},
                   {{"kernel_shape", std::vector<int64_t>{stride, stride}},
                    {"strides", std::vector<int64_t>{stride, stride}}});
  }
  x = *graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}});
  graph.mark_output(*graph.add(ops::gemm, {x, weights({5, graph[x].type.shape[1]}, head)},
                               {{"transB", int64_t{1}}}));
  return *passes::optimize(graph);
}

TEST(SharedGroups, TakeOneVariantOfATaskAndSaveWhatTheyShare) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::vector<std::optional<Graph>>> networks;
    schedule::Catalog catalog;
    std::vector<std::vector<std::vector<uint64_t>>> seeds;
    for (size_t t = 0; t < 2 + random() % 2; ++t) {
      networks.emplace_back();
      seeds.emplace_back();
      schedule::Task task{.name = "t" + std::to_string(t)};
      for (size_t i = 0; i < 1 + random() % 2; ++i) {
        std::vector<uint64_t>& own = seeds.back().emplace_back();
        for (int layer = 0; layer < 3; ++layer) own.push_back(random() % 2);
        networks.back().emplace_back(network(own, 100 + random()));
        task.options.push_back({.variant = "v" + std::to_string(i),
                                .accuracy = 0.5,
                                .ms = 10,
                                .joules = 2,
                                .bytes = prefix::work_of(*networks.back().back()).bytes});
      }
      catalog.tasks.push_back(std::move(task));
    }
    const schedule::Catalog before = catalog;
    const auto groups = find_shared_groups(networks);
    ASSERT_LE(groups.size(), 4U);
    std::vector<std::vector<int>> used;
    for (const auto& task : networks) used.emplace_back(task.size(), 0);
    for (const SharedGroup& group : groups) {
      ASSERT_GE(group.members.size(), 2U);
      add_fragment(group, networks, catalog);
      const schedule::Fragment& fragment = catalog.fragments.back();
      // As many layers as all members have in common.
      size_t common = 0;
      const auto& first = seeds[group.members[0].task][group.members[0].option];
      for (bool same = true; same && common < 3; common += same ? 1 : 0) {
        for (const schedule::OptionId id : group.members) {
          same = same && seeds[id.task][id.option][common] == first[common];
        }
      }
      ASSERT_GE(common, 1U);
      EXPECT_EQ(prefix::work_of(group.networks.prefix).macs,
                static_cast<int64_t>(common) * 4 * 4 * 9 * 64);
      for (const schedule::OptionId id : group.members) {
        EXPECT_EQ(++used[id.task][id.option], 1) << "a variant is in two groups";
        const schedule::Option& now = catalog.tasks[id.task].options[id.option];
        const schedule::Option& alone = before.tasks[id.task].options[id.option];
        EXPECT_NEAR(now.joules + fragment.joules, alone.joules, 1e-9);
        EXPECT_NEAR(now.ms + fragment.ms, alone.ms, 1e-9);
        EXPECT_EQ(now.bytes + fragment.bytes, alone.bytes);
        EXPECT_EQ(now.fragment, catalog.fragments.size() - 1);
      }
    }
    EXPECT_TRUE(schedule::check(catalog).ok());
    // Where two tasks have a first layer in common, something is shared.
    bool shares = false;
    for (const auto& one : seeds[0]) {
      for (size_t t = 1; t < seeds.size(); ++t) {
        for (const auto& other : seeds[t]) shares = shares || one[0] == other[0];
      }
    }
    EXPECT_TRUE(!shares || !groups.empty());
  }
}

TEST(SplitOptions, AreTheOneThatSavesMostAndTheFastest) {
  const Graph whole = network({1, 2, 3}, 4, 2);
  const schedule::Option here{.variant = "v", .accuracy = 0.9, .ms = 100, .joules = 5};
  const auto points = prefix::split_points(whole);
  ASSERT_GE(points.size(), 2U);
  for (const double speed : {1.0, 100.0}) {
    for (const double rate : {100.0, 1e9}) {
      const schedule::Cloud cloud{.bytes_per_second = rate, .speed = speed};
      const auto options = split_options(here, whole, cloud);
      ASSERT_FALSE(options.empty());
      double joules = 1e9, ms = 1e9;
      for (const schedule::Option& one : options) {
        EXPECT_EQ(one.place, schedule::Place::kSplit);
        EXPECT_EQ(one.accuracy, here.accuracy);
        joules = std::min(joules, one.joules);
        ms = std::min(ms, one.ms);
      }
      const double all = static_cast<double>(prefix::work_of(whole).macs);
      for (const prefix::SplitPoint& point : points) {
        const schedule::Option any =
            in_split(here, cloud,
                     {.nodes = point.nodes,
                      .share = static_cast<double>(point.first.macs) / all,
                      .bytes = point.first.bytes,
                      .sent_bytes = static_cast<double>(point.sent_bytes)});
        EXPECT_GE(any.joules, joules - 1e-9);
        EXPECT_GE(any.ms, ms - 1e-9);
      }
    }
  }
}

TEST(ModelPart, IsKnownByItsName) {
  for (const bool is_first : {true, false}) {
    const ModelPart part{"ten.v0", is_first, 12};
    const auto read = parse_part(name_of(part));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->whole, "ten.v0");
    EXPECT_EQ(read->is_first, is_first);
    EXPECT_EQ(read->nodes, 12U);
  }
  for (const char* other : {"ten.v0", ".first3", "ten.first", "ten.first03", "ten.rest-1",
                            "ten.rest99999999999999999999", "ten.rest3x", ""}) {
    EXPECT_FALSE(parse_part(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace shoal::serve
