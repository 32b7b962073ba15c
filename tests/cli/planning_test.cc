// Flags of plans as options of the planner.
#include "apps/cli/planning.h"

#include <gtest/gtest.h>

#include "shoal/plan/device_presets.h"

namespace shoal::cli {
namespace {

using plan::Cut;

// The flags, or their error.
class Flags {
 public:
  explicit Flags(std::vector<std::string> words) {
    Command app("", "plan");
    flags_.add_to(app);
    words.insert(words.begin(), "zoo:lenet5");
    testing::internal::CaptureStderr();
    refused_ = app.parse(std::move(words)).has_value();
    error_ = testing::internal::GetCapturedStderr();
  }
  bool refused() const { return refused_; }
  const std::string& error() const { return error_; }
  const PlanFlags& flags() const { return flags_; }
  plan::PlanOptions options() const {
    EXPECT_FALSE(refused_) << error_;
    return options_of(flags_);
  }

 private:
  PlanFlags flags_;
  bool refused_ = false;
  std::string error_;
};

TEST(PlanFlags, ThatAreNotGivenAreThePlannersDefaults) {
  const plan::PlanOptions wanted, given = Flags({}).options();
  EXPECT_TRUE(given.cuts.empty());
  EXPECT_FALSE(given.forced);
  EXPECT_TRUE(given.excluded.empty());
  EXPECT_EQ(given.most_nodes, wanted.most_nodes);
  EXPECT_EQ(given.survive, 0);
  EXPECT_EQ(given.wait_seconds, 0);
  EXPECT_EQ(given.wire.smallest, plan::WireFormat::kF32);
}

TEST(PlanFlags, ReachTheOptions) {
  const plan::PlanOptions given = Flags({"--fuse", "3", "--exclude", "1,2", "--survive", "1",
                                         "--wait", "250", "--wire", "f16", "--error", "0.5"})
                                      .options();
  EXPECT_EQ(given.most_nodes, 3u);
  EXPECT_EQ(given.excluded, (std::vector<int>{1, 2}));
  EXPECT_EQ(given.survive, 1);
  EXPECT_EQ(given.wait_seconds, 0.25);
  EXPECT_EQ(given.wire.smallest, plan::WireFormat::kF16);
  EXPECT_FALSE(given.forced);
}

TEST(PlanFlags, ForceASplit) {
  for (const auto& [name, cut] :
       {std::pair("none", Cut::kNone), std::pair("rows", Cut::kRows),
        std::pair("columns", Cut::kColumns), std::pair("inputs", Cut::kInputs),
        std::pair("grid", Cut::kGrid), std::pair("channels", Cut::kChannels),
        std::pair("batch", Cut::kBatch), std::pair("clusters", Cut::kClusters)}) {
    const plan::PlanOptions given = Flags({"--split", name}).options();
    EXPECT_TRUE(given.forced);
    EXPECT_EQ(given.cuts, std::vector<Cut>{cut}) << name;
  }
}

TEST(PlanFlags, MustGoTogether) {
  for (const char* split : {"stages", "replicas"}) {
    EXPECT_TRUE(Flags({"--split", split}).refused());
    EXPECT_FALSE(Flags({"--split", split, "--objective", "throughput"}).refused());
  }
  EXPECT_TRUE(Flags({"--split", "rows", "--objective", "throughput"}).refused());
  EXPECT_FALSE(Flags({"--split", "none", "--objective", "throughput"}).refused());
  EXPECT_TRUE(Flags({"--wire", "f16"}).refused());
  EXPECT_TRUE(Flags({"--wait", "5"}).refused());
  EXPECT_TRUE(Flags({"--survive", "3"}).refused());
}

TEST(PlanFlags, MakePlansOfTheModelThatTheyName) {
  const PlanFlags flags = Flags({"--exclude", "2"}).flags();
  const auto planned = make_planned(
      flags, plan::uniform_cluster(3, *plan::find_device("pi4"), *plan::find_link("gigabit")));
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  EXPECT_EQ(planned->model, "zoo:lenet5");
  EXPECT_EQ(planned->options.excluded, std::vector<int>{2});
}

}  // namespace
}  // namespace shoal::cli
