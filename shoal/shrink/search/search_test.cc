#include "shoal/shrink/search/search.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/search/candidates.h"

namespace shoal::search {
namespace {

Space small_space() {
  Space space{.units = 4, .vertices = 24};
  space.network = {.macs = 600'000, .size = 8, .levels = 2};
  space.worker = plan::find_device("pi4")->profile();
  space.link = plan::find_link("gigabit")->profile(0);
  return space;
}

TEST(Candidates, AreTheSameTwiceAndFastestFirst) {
  const Space space = small_space();
  const auto once = fastest_candidates(space, 100, 16, 6),
             twice = fastest_candidates(space, 100, 16, 6);
  ASSERT_TRUE(once.ok()) << once.status().message();
  EXPECT_EQ(*once, *twice);
  ASSERT_EQ(once->size(), 6u);
  std::set<std::string> names;
  double before = 0;
  for (const Candidate& candidate : *once) {
    EXPECT_GE(candidate.simulated_seconds, before);
    EXPECT_TRUE(names.insert(candidate.name).second) << candidate.name;
    before = candidate.simulated_seconds;
  }
}

// Barriers cost: the same work, the same units.
TEST(Candidates, AreFasterThanNetworksWithStages) {
  const Space space = small_space();
  const auto fastest = fastest_candidates(space, 0, 24, 8);
  const auto staged = staged_control_seconds(space, 8);
  ASSERT_TRUE(fastest.ok() && staged.ok());
  EXPECT_LT(fastest->front().simulated_seconds, *staged);
}

TEST(Candidates, RefuseSpacesOutOfRange) {
  for (const auto change : {+[](Space& s) { s.units = 0; }, +[](Space& s) { s.vertices = 3; },
                            +[](Space& s) { s.link.bytes_per_second = 0; }}) {
    Space space = small_space();
    change(space);
    EXPECT_EQ(fastest_candidates(space, 0, 2, 1).status().code(), Code::kInvalidArgument);
  }
}

TEST(Front, HasNoNetworkThatAnotherBeats) {
  std::vector<Found> found = {{.name = "a", .ms = 3, .top1 = 80},
                              {.name = "b", .ms = 3, .top1 = 79},
                              {.name = "c", .ms = 2, .top1 = 79},
                              {.name = "d", .ms = 1, .top1 = 70},
                              {.name = "e", .ms = 1, .top1 = 70}};
  mark_front(found);
  std::string front;
  for (const Found& one : found) front += one.on_front ? one.name : "";
  EXPECT_EQ(front, "acde");
}

class SearchTest : public testing::Test {
 protected:
  SearchTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("shoal-search-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    Tensor images({DType::kU8, {96, 8, 8, 1}}), labels({DType::kI64, {96}});
    for (int64_t i = 0; i < 96; ++i) {
      // The class is the bright half.
      const bool low = i % 2 == 0;
      labels.data<int64_t>()[static_cast<size_t>(i)] = i % 2;
      for (int64_t p = 0; p < 64; ++p) {
        images.data<uint8_t>()[static_cast<size_t>(i * 64 + p)] =
            (p < 32) == low ? 200 : static_cast<uint8_t>(i);
      }
    }
    options_.recipe.epochs = 2;
    options_.recipe.batch = 8;
    const std::shared_ptr<const Dataset> all = *make_array_dataset(images, labels);
    data_ = *fit::make_judged_data(all, nullptr, options_.recipe);
    options_.units = 3;
    options_.macs = 300'000;
    options_.vertices = 24;
    options_.classes = 2;
    options_.drawn = 8;
    options_.simulated = 4;
    options_.trained = 2;
    options_.out = folder_;
  }
  ~SearchTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  SearchOptions options_;
  fit::JudgedData data_;
  std::unique_ptr<Device> device_ = make_reference_device();
};

TEST_F(SearchTest, WritesNetworksThatLearnedAndTakesThemAgain) {
  const auto first = search(*device_, data_, options_);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_EQ(first->found.size(), 2u);
  EXPECT_GT(first->test_top1, 60);
  EXPECT_GT(first->staged_ms, 0);
  for (const Found& found : first->found) {
    EXPECT_TRUE(open_model((folder_ / (found.name + ".onnx")).string()).ok());
  }
  size_t steps = 0;
  const auto again = search(*device_, data_, options_,
                            {.on_step = [&](auto, const fit::StepReport&) { ++steps; }});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(steps, 0u);
  EXPECT_EQ(again->test_top1, first->test_top1);
  options_.recipe.epochs = 1;  // another recipe: they learn again
  ASSERT_TRUE(search(*device_, data_, options_, {.on_step = [&](auto, const fit::StepReport&) {
                ++steps;
              }}).ok());
  EXPECT_GT(steps, 0u);
}

TEST_F(SearchTest, EndsWhenItIsCancelled) {
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(search(*device_, data_, options_, {.cancel = &cancel}).status().code(),
            Code::kCancelled);
}

TEST_F(SearchTest, RefusesOptionsWithoutMeaning) {
  options_.device = "toaster";
  EXPECT_EQ(search(*device_, data_, options_).status().code(), Code::kInvalidArgument);
  options_.device = "pi4";
  options_.out.clear();
  EXPECT_EQ(search(*device_, data_, options_).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::search
