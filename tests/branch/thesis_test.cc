// The parameter totals of the thesis [Hadidi 2021, 5.1].
#include <gtest/gtest.h>

#include <cmath>

#include "shoal/model/zoo/zoo.h"
#include "shoal/shrink/branches/make_branches.h"
#include "thesis_networks.h"

namespace shoal::branch {
namespace {

Graph branched(const Graph& graph, const BranchOptions& options) {
  auto made = make_branches(graph, options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(made->graph) : Graph();
}

int64_t parameters_of(const Graph& graph, size_t branches, double fatten = 0) {
  return parameters(branched(graph, {.widths = equal_widths(branches), .fatten = fatten}));
}

double thousands(int64_t parameters) { return std::round(static_cast<double>(parameters) / 1e3); }

// With the merge that each network has there.
TEST(Thesis, HasTheseParameters) {
  const Graph lenet = lenet5_of_1998(), cifar10 = cifarnet(10), cifar100 = cifarnet(100);
  EXPECT_EQ(parameters(lenet), 61'706);
  EXPECT_EQ(parameters(cifar10), 797'962);
  const int64_t of_lenet[] = {31'466, 16'094, 8'834};
  const int64_t of_cifar10[] = {401'738, 203'626, 104'570};
  const int64_t of_cifar100[] = {410'468, 208'036, 106'820};
  for (size_t i = 0; i < 3; ++i) {
    const size_t branches = size_t{2} << i;
    EXPECT_EQ(parameters_of(lenet, branches), of_lenet[i]);
    EXPECT_EQ(parameters_of(cifar10, branches), of_cifar10[i]);
    EXPECT_EQ(parameters_of(cifar100, branches), of_cifar100[i]);
  }
}

TEST(Thesis, HasTheseParametersForTheOtherMerge) {
  const auto with = [](const Graph& graph, size_t branches, Merge merge) {
    return parameters(branched(graph, {.widths = equal_widths(branches), .merge = merge}));
  };
  EXPECT_EQ(with(lenet5_of_1998(), 8, Merge::kSum), 8'134);
  EXPECT_EQ(with(cifarnet(10), 8, Merge::kConcat), 106'250);
  EXPECT_EQ(with(cifarnet(100), 4, Merge::kConcat), 222'436);
}

// These are known in thousands.
TEST(Thesis, HasTheseParametersOfLargeNetworks) {
  const Graph vggs = vgg_s(100), alexnet = alexnet_v2(), vgg = vgg16();
  EXPECT_EQ(parameters(vggs), 76'152'548);
  EXPECT_EQ(parameters(alexnet), 50'303'912);
  EXPECT_EQ(parameters(vgg), 138'357'544);
  EXPECT_EQ(thousands(parameters_of(vggs, 2)), 38'088);
  EXPECT_EQ(thousands(parameters_of(vggs, 4)), 19'056);
  EXPECT_EQ(thousands(parameters_of(vggs, 8)), 9'540);
  EXPECT_EQ(thousands(parameters_of(alexnet, 8)), 6'317);
  EXPECT_EQ(thousands(parameters_of(alexnet, 8, 40)), 12'108);
  EXPECT_EQ(thousands(parameters_of(vgg, 8)), 17'308);
  const Graph fat = branched(vgg, {.widths = equal_widths(8), .fatten = 40});
  EXPECT_EQ(thousands(parameters(fat)), 33'778);
  int64_t work = 0;
  for (const Node& node : fat.nodes()) work += macs(fat, node);
  EXPECT_EQ(std::round(static_cast<double>(work) / 1e6), 3'866);
}

TEST(Thesis, HasTheseParametersOfResidualNetworks) {
  const Graph small = *zoo::build("resnet18");
  EXPECT_EQ(thousands(parameters_of(small, 2)), 6'111);
  EXPECT_EQ(thousands(parameters_of(small, 4)), 3'321);
  EXPECT_EQ(thousands(parameters_of(small, 8)), 1'927);
  const BranchOptions fat{.widths = equal_widths(8), .fatten = 40, .round_down = true};
  EXPECT_EQ(thousands(parameters(branched(*zoo::build("resnet50"), fat))), 8'604);
}

}  // namespace
}  // namespace shoal::branch
