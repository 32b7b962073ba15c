#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/shrink/branches/branch_networks.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::branch {
namespace {

// Noise of the size that the network takes.
class Noise : public Dataset {
 public:
  size_t size() const override { return 96; }
  Result<Example> at(size_t index) const override {
    Tensor image({DType::kU8, {32, 32, 3}});
    const RandomStream random(1, index);
    for (size_t i = 0; i < image.bytes().size(); ++i) {
      image.data<uint8_t>()[i] = static_cast<uint8_t>(random.below(256, i));
    }
    return Example{image, 0};
  }
  std::string place(size_t) const override { return "noise"; }
};

class BegunBranches : public ::testing::Test {
 protected:
  static shrink::NetworkForBatch network() {
    return [](int64_t batch) -> Result<LoadedGraph> {
      SHOAL_ASSIGN(Graph graph, zoo::build("resnet20", {.batch = batch, .width = 0.5}));
      return LoadedGraph{std::move(graph), {"y"}};
    };
  }
  Graph begun(const BranchOptions& options) {
    const auto weights = weights_of_branches(*device_, network(), options, Noise(), {});
    EXPECT_TRUE(weights.ok()) << weights.status().message();
    return *train::with_constants(make_branches(network()(1)->graph, options)->graph, *weights);
  }
  // The largest difference of answers on some noise, by the largest answer.
  double distance(const Graph& a, const Graph& b) {
    double most = 0, largest = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Tensor x(a[a.inputs()[0]].type);
      fill_uniform(x.data<float>(), RandomStream(9, seed), 0, 1);  // as the examples are
      const Tensor of_a = answer(a, x), of_b = answer(b, x);
      for (size_t i = 0; i < of_a.data<float>().size(); ++i) {
        const double y = of_a.data<float>()[i];
        most = std::max(most, std::abs(y - static_cast<double>(of_b.data<float>()[i])));
        largest = std::max(largest, std::abs(y));
      }
    }
    return most / largest;
  }
  Tensor answer(const Graph& graph, const Tensor& x) {
    std::vector<Tensor> y(1);
    SHOAL_CHECK((*device_->compile(graph))->run(std::span(&x, 1), y, {}).ok());
    return y[0];
  }

  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1, .tune = Tune::kOff});
};

// Branches that are the whole network each answer as it does, and so does their mean.
TEST_F(BegunBranches, AnswerAsTheNetworkWhereTheyHaveAllOfIt) {
  const Graph whole = network()(1)->graph;
  const BranchOptions options{.widths = equal_widths(2), .fatten = 100, .merge = Merge::kConcat};
  EXPECT_LT(distance(whole, begun(options)), 1e-3);
}

TEST_F(BegunBranches, AreNearerToTheNetworkThanItsOwnWeightsAre) {
  const Graph whole = network()(1)->graph;
  const BranchOptions options{.widths = equal_widths(2), .fatten = 60, .merge = Merge::kConcat};
  EXPECT_LT(distance(whole, begun(options)),
            0.7 * distance(whole, make_branches(whole, options)->graph));
}

// Each group has its best unit in one branch, the next in another one, and so on.
TEST(Shares, DealOutTheBestUnits) {
  const Graph graph = *zoo::build("resnet20");
  const compress::Groups groups = *compress::find_groups(graph);
  BranchOptions options{.widths = equal_widths(4)};
  for (size_t unit = 0; unit < groups.units.size(); ++unit) {
    options.worth.push_back(static_cast<double>(RandomStream(3, unit).below(1 << 20, 0)));
  }
  for (size_t branch = 0; branch < 4; ++branch) {
    const std::vector<size_t> gone = units_without(groups, options, branch);
    for (const compress::Group& group : groups.groups) {
      std::vector<double> left, all;
      for (size_t unit = group.begin; unit < group.end; ++unit) {
        all.push_back(options.worth[unit]);
        if (std::ranges::find(gone, unit) == gone.end()) left.push_back(options.worth[unit]);
      }
      std::ranges::sort(all, std::greater());
      ASSERT_EQ(left.size(), all.size() / 4);
      EXPECT_EQ(*std::ranges::max_element(left), all[branch]);
    }
  }
}

}  // namespace
}  // namespace shoal::branch
