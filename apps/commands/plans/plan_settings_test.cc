#include "apps/commands/plans/plan_settings.h"

#include <gtest/gtest.h>

#include <set>

#include "shoal/base/text/setting_testing.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {
namespace {

PlanSettings of(const std::string& objective, const std::string& split) {
  PlanSettings settings;
  settings.objective = objective;
  settings.split = split;
  return settings;
}

PlanSettings exclusive_on(const std::string& network) {
  PlanSettings settings;
  settings.network = network;
  settings.exclusive = true;
  return settings;
}

PlanSettings verified(const std::string& objective, int survive) {
  PlanSettings settings = of(objective, "any");
  settings.survive = survive;
  settings.verify = 10;
  return settings;
}

PlanSettings searched(const std::string& search) {
  PlanSettings settings;
  settings.search = search;
  return settings;
}

TEST(PlanSettings, AreThePlannersDefaults) {
  const plan::PlanOptions options = PlanSettings().options();
  EXPECT_TRUE(PlanSettings().check().ok());
  EXPECT_FALSE(options.forced);
  EXPECT_EQ(options.most_nodes, plan::PlanOptions().most_nodes);
  EXPECT_EQ(options.wire.smallest, plan::WireFormat::kF32);
  EXPECT_TRUE(PlanSettings().stream_options().stages);
  EXPECT_TRUE(PlanSettings().stream_options().replicas);
}

TEST(PlanSettings, RefuseWhatDoesNotGoTogether) {
  for (const PlanSettings& settings :
       {of("latency", "stages"), of("throughput", "rows"), exclusive_on("mpi"),
        verified("latency", 0), verified("throughput", 1)}) {
    EXPECT_EQ(settings.check().code(), Code::kInvalidArgument);
  }
  for (const PlanSettings& settings :
       {of("throughput", "stages"), of("throughput", "none"), of("latency", "rows"),
        exclusive_on("own"), verified("latency", 1)}) {
    EXPECT_TRUE(settings.check().ok());
  }
}

TEST(PlanSettings, OfStreamsChooseStagesOrReplicas) {
  const PlanSettings stages = of("throughput", "stages");
  EXPECT_TRUE(stages.stream_options().stages);
  EXPECT_FALSE(stages.stream_options().replicas);
  EXPECT_TRUE(stages.is_forced());
  EXPECT_FALSE(stages.options().forced) << "no cut of a value";
  const PlanSettings none = of("throughput", "none");
  EXPECT_FALSE(none.stream_options().stages || none.stream_options().replicas || none.is_forced());
}

TEST(PlanSettings, SearchByLevelsWhereAskedOrLarge) {
  const auto cluster = [](size_t workers) {
    return plan::uniform_cluster(workers, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  };
  EXPECT_FALSE(PlanSettings().is_by_levels(cluster(4), {}));
  EXPECT_TRUE(PlanSettings().is_by_levels(cluster(100), {}));
  EXPECT_FALSE(searched("flat").is_by_levels(cluster(100), {}));
  EXPECT_TRUE(searched("levels").is_by_levels(cluster(4), {}));
}

TEST(PlanSettings, AreCheckedAgainstTheWorkersThatThereAre) {
  plan::ClusterProfile cluster =
      plan::uniform_cluster(3, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  PlanSettings settings;
  settings.survive = 1;
  settings.excluded = {0};
  EXPECT_TRUE(check_survival(settings, cluster).ok());
  cluster.workers[1].present = false;
  EXPECT_EQ(check_survival(settings, cluster).code(), Code::kInvalidArgument);
  settings.survive = 0;
  EXPECT_TRUE(check_survival(settings, cluster).ok());
}

TEST(NetworkNames, OfANetworkCountBeforeThoseOfDevices) {
  PlanSettings settings;
  EXPECT_EQ(board_of(settings, "board:cpu"), "cpu");
  EXPECT_EQ(board_of(settings, "pi4"), "");
  settings.network = "own";
  EXPECT_EQ(board_of(settings, "board:cpu"), "");
  settings.network = "board:reference";
  EXPECT_EQ(board_of(settings, "pi4"), "reference");
}

TEST(NetworkNames, AreKnown) {
  EXPECT_EQ(board_in("board:cpu+opencl:0"), "cpu+opencl:0");
  EXPECT_EQ(board_in("pi4"), "");
  for (const char* name : {"own", "mpi", "board:cpu"}) EXPECT_TRUE(is_network_name(name)) << name;
  for (const char* name : {"", "board:", "others"}) EXPECT_FALSE(is_network_name(name)) << name;
}

PlanSettings on_cluster() {
  PlanSettings plan;
  plan.network = "own";
  return plan;
}

TEST(PlaceSettings, AreDescribed) {
  PlaceSettings settings;
  expect_described(settings_of(settings));
}

TEST(PlaceSettings, PlaceSeveralStreamsOfAClusterByThemselves) {
  const PlaceSettings automatic;
  EXPECT_TRUE(automatic.is_whole(on_cluster(), 2, false));
  EXPECT_FALSE(automatic.is_whole(on_cluster(), 1, false));
  EXPECT_FALSE(automatic.is_whole(on_cluster(), 2, true));
  EXPECT_FALSE(automatic.is_whole({}, 2, false));
  EXPECT_TRUE(PlaceSettings{.place = "whole"}.is_whole(on_cluster(), 1, false));
  EXPECT_FALSE(PlaceSettings{.place = "split"}.is_whole(on_cluster(), 2, false));
}

TEST(PlaceSettings, RefuseWhatTheyDoNotGoWith) {
  const PlaceSettings whole{.place = "whole"};
  EXPECT_TRUE(whole.check(on_cluster(), false).ok());
  EXPECT_FALSE(whole.check({}, false).ok()) << "there is no cluster";
  EXPECT_FALSE(whole.check(on_cluster(), true).ok());
  PlanSettings plan = on_cluster();
  plan.survive = 1;
  EXPECT_FALSE(whole.check(plan, false).ok());
  EXPECT_TRUE(PlaceSettings().check(plan, true).ok());
  plan = on_cluster();
  plan.objective = "throughput";
  EXPECT_FALSE(whole.check(plan, false).ok());
  plan = on_cluster();
  plan.split = "rows";
  EXPECT_FALSE(whole.check(plan, false).ok());
}

}  // namespace
}  // namespace shoal::config

namespace shoal::plan {
namespace {

TEST(PlanWords, NameEveryCutOnce) {
  std::set<Cut> seen;
  for (const std::string& name : cut_names()) {
    PlanOptions options;
    force_cut(name, options);
    EXPECT_TRUE(options.forced);
    ASSERT_EQ(options.cuts.size(), 1u);
    const Cut cut = *options.cuts.begin();
    EXPECT_EQ(name, cut == Cut::kNone ? "none" : name_of(cut));
    EXPECT_TRUE(seen.insert(cut).second) << name;
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(Cut::kClusters) + 1) << "the last of them";
}

TEST(PlanWords, NameEveryWireFormat) {
  const auto names = wire_format_names();
  EXPECT_EQ(names, (std::vector<std::string>{"f32", "f16", "int8"}));
  for (const std::string& name : names) EXPECT_EQ(name_of(find_wire_format(name)), name);
}

}  // namespace
}  // namespace shoal::plan
