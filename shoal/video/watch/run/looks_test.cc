#include "shoal/video/watch/run/looks.h"

#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/frames/scene.h"

namespace shoal::watch {
namespace {

constexpr size_t kStreams = 2, kFrames = 9;

class Looking : public testing::Test {
 protected:
  Looking() {
    for (size_t i = 0; i < kStreams; ++i) sources_.push_back(*open_source(std::string(kScene), {}));
  }
  Looks open(const LookOptions& options, size_t devices = 1) const {
    std::vector<std::unique_ptr<Device>> all;
    for (size_t i = 0; i < devices; ++i) all.push_back(make_cpu_device({.threads = 1}));
    auto looks = Looks::open(model_, std::move(all), kStreams, options);
    EXPECT_TRUE(looks.ok()) << looks.status().message();
    return *std::move(looks);
  }
  StreamResults watch(Looks& looks) const {
    return *watch_all(looks.streams(sources_), {.frames = kFrames}, {});
  }

  const Model model_ = *scene_detector();
  std::vector<std::unique_ptr<FrameSource>> sources_;
};

TEST_F(Looking, SharesADetectorWhereItMay) {
  Looks shared = open({});
  auto streams = shared.streams(sources_);
  ASSERT_EQ(streams.size(), kStreams);
  EXPECT_EQ(streams[0].source, sources_[0].get());
  EXPECT_EQ(streams[0].detector, streams[1].detector);
  EXPECT_EQ(shared.computed_share(1), 1);
  Looks each = open({}, kStreams);
  streams = each.streams(sources_);
  EXPECT_NE(streams[0].detector, streams[1].detector) << "they have devices of their own";
}

TEST_F(Looking, ComputesWhatChanged) {
  Looks looks = open({.delta = 1e3F});  // after the first frame, nothing
  const auto streams = looks.streams(sources_);
  EXPECT_NE(streams[0].detector, streams[1].detector) << "what is kept is of one stream";
  const StreamResults results = watch(looks);
  EXPECT_EQ(results.all.frames, kStreams * kFrames);
  EXPECT_LT(looks.computed_share(0), 1);
  EXPECT_EQ(looks.computed_share(results.each), looks.computed_share(0)) << "one device for both";
}

TEST_F(Looking, ComputesKeyFrames) {
  const auto key_frames = *keyframe::parse_key_frames("3");
  ASSERT_TRUE(key_frames.has_value());
  Looks looks = open({.key_frames = key_frames});
  EXPECT_FALSE(looks.streams(sources_)[1].see) << "nobody asked for the codec's motion";
  EXPECT_TRUE(open({.key_frames = key_frames, .motion = true}).streams(sources_)[1].see);
  const StreamResults results = watch(looks);
  const double mean = looks.computed_share(results.each);
  EXPECT_LT(mean, 1);
  EXPECT_NEAR(mean, (looks.computed_share(0) + looks.computed_share(1)) / 2, 1e-12);
}

TEST(Looks, CountNothingWhereNothingWasSeen) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(make_reference_device());
  const auto looks = Looks::open(*scene_detector(), std::move(devices), 1, {});
  EXPECT_EQ(looks->computed_share(std::vector<WatchResult>(1)), 1);
}

}  // namespace
}  // namespace shoal::watch
