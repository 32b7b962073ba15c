// Queries about a video find what an expensive classifier finds that sees every frame.
#include "shoal/video/query/video_query.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "shoal/engine/device/device.h"
#include "shoal/engine/run/scores.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/frames/scene.h"

namespace shoal::query {
namespace {

constexpr uint64_t kFrames = 6;

class VideoQuery : public testing::Test {
 protected:
  VideoQuery() : model_(*open_model(std::string(kDigitsModel))) {}
  Classifier classifier() {
    return *Classifier::open(model_, *device_, {.stretch = true, .channels = 1});
  }
  // The frames of each class.
  std::map<int64_t, std::vector<int64_t>> truth() {
    Classifier all = classifier();
    std::map<int64_t, std::vector<int64_t>> frames;
    const auto source = *watch::open_source(source_);
    for (int64_t i = 0; i < int64_t{kFrames}; ++i) {
      const auto scores = *all.scores((**source->next()).image);
      frames[fit::best_class(scores.back())].push_back(i);
    }
    return frames;
  }

  const std::unique_ptr<Device> device_ = make_reference_device();
  const Model model_;
  const std::string source_{watch::kScene};
};

TEST_F(VideoQuery, FindsWhatTheExpensiveClassifierSeesInEveryFrame) {
  Classifier cheap = classifier(), expensive = classifier();
  const auto wanted = truth();
  for (Classifier* calibrating : {static_cast<Classifier*>(nullptr), &expensive}) {
    const auto result = index_video(
        cheap, calibrating,
        {.source = source_, .frames = kFrames, .every = 3, .k = 1, .clusters = {.distance = 0}});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->index.frames, int64_t{kFrames});
    EXPECT_EQ(result->index.classes, 10);
    EXPECT_EQ(result->index.thresholds.empty(), calibrating == nullptr);
    EXPECT_GE(result->entries, kFrames);
    for (int64_t label = 0; label < 10; ++label) {
      const auto found = ask_video(result->index, label, {}, expensive);
      ASSERT_TRUE(found.ok()) << found.status().message();
      const auto right = wanted.find(label);
      EXPECT_EQ(found->frames, right == wanted.end() ? std::vector<int64_t>() : right->second);
      EXPECT_LE(found->calls, found->clusters);
    }
  }
}

TEST_F(VideoQuery, SaysWhatIsMissing) {
  Classifier one = classifier();
  EXPECT_FALSE(index_video(one, nullptr, {.source = "/nowhere/at/all.png"}).ok());
  const std::atomic<bool> cancelled = true;
  const auto none = index_video(one, nullptr, {.source = source_, .cancel = &cancelled});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->index.frames, 0);
  Index longer{.source = source_, .frames = 1 << 20, .classes = 10};
  longer.clusters = {{.label = 3, .first = 1 << 20, .frames = {1 << 20}}};
  EXPECT_EQ(ask_video(longer, 3, {}, one, &cancelled).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::query
