// Tracks and the gate on the synthetic scene, whose truth is known.
#include "shoal/video/watch/run/evaluation.h"

#include <gtest/gtest.h>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/video/watch/frames/scene.h"

namespace shoal::watch {
namespace {

class WatchEvaluation : public testing::Test {
 protected:
  const std::unique_ptr<Device> device_ = make_reference_device();
  detect::Detector detector_ = *detect::Detector::open(*scene_detector(), *device_);
  SceneSource source_;
};

TEST_F(WatchEvaluation, FollowsWhatTheSceneShows) {
  const track::Identities truth = *truth_of(std::string(kScene), "");
  size_t seen = 0;
  const auto result = evaluate_tracking(detector_, source_, truth, 0,
                                        {.limit = 5, .progress = [&](size_t n) { seen = n; }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(seen, 5u);
  for (const track::MotMetrics& metrics : {result->two_scores, result->plain}) {
    EXPECT_EQ(metrics.frames(), 5u);
    EXPECT_EQ(metrics.truths(), 5 * truth.at(0).size());
    EXPECT_EQ(metrics.misses(), truth.at(0).size()) << "a track is shown when it was seen twice";
    EXPECT_EQ(metrics.false_alarms() + metrics.switches(), 0u);
  }
}

TEST_F(WatchEvaluation, CountsOneClassOnly) {
  const track::Identities truth = *truth_of(std::string(kScene), "");
  const auto result = evaluate_tracking(detector_, source_, truth, /*label=*/1, {.limit = 2});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->plain.shown(), 0u);
  EXPECT_EQ(result->plain.misses(), result->plain.truths());
}

TEST_F(WatchEvaluation, OfTheGateCountsFramesThatNeedNoLook) {
  const auto result = evaluate_gate(detector_, source_, {}, {.limit = 5});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->frames, 5u);
  EXPECT_LT(result->skipped, 5u) << "the first one is looked at";
  EXPECT_GT(result->agreement.f1(), 0.9);
}

TEST_F(WatchEvaluation, EndsWhenItIsCancelled) {
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(evaluate_gate(detector_, source_, {}, {.cancel = &cancel})->frames, 0u);
}

TEST(WatchEvaluationFrames, AreThoseOfTheSourceUpToTheLimit) {
  class Endless : public FrameSource {
   public:
    Result<std::optional<Frame>> next() override { return Status(Code::kInternal, "unused"); }
  } endless;
  const SceneSource scene({.frames = 30});
  EXPECT_EQ(EvaluationOptions{}.frames_of(scene), 30u);
  EXPECT_EQ(EvaluationOptions{.limit = 7}.frames_of(scene), 7u);
  EXPECT_EQ(EvaluationOptions{.limit = 70}.frames_of(scene), 30u);
  EXPECT_EQ(EvaluationOptions{}.frames_of(endless), 0u);
  EXPECT_EQ(EvaluationOptions{.limit = 7}.frames_of(endless), 7u);
}

TEST(WatchTruth, IsWhatTheSceneShowsOrAFileSays) {
  const track::Identities scene = *truth_of(std::string(kScene), "/nowhere.txt");
  ASSERT_EQ(scene.size(), SceneOptions().frames);
  for (const size_t frame : {0U, 42U, 1999U}) {
    const auto shown = scene_truth({}, frame);
    ASSERT_EQ(scene.at(frame).size(), shown.size());
    for (size_t i = 0; i < shown.size(); ++i) {
      EXPECT_EQ(scene.at(frame)[i].box.left, shown[i].box.left) << frame;
    }
  }
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(write_file(folder.path() / "gt.txt", "3,7,10,20,5,6,1\n").ok());
  const auto read = truth_of("street.mp4", folder.path() / "gt.txt");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->at(2)[0].id, 7);
  EXPECT_FALSE(truth_of("street.mp4", folder.path() / "none.txt").ok());
}

}  // namespace
}  // namespace shoal::watch
