#include "shoal/watch/watch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "shoal/base/temporary_folder.h"
#include "shoal/graph/text.h"
#include "shoal/onnx/export.h"
#include "shoal/ops/ops.h"

namespace shoal::watch {
namespace {

Tensor image_of(int64_t height, int64_t width, uint8_t level) {
  Tensor image({DType::kU8, {height, width, 3}});
  std::ranges::fill(image.data<uint8_t>(), level);
  return image;
}

void draw(Tensor& image, int64_t left, int64_t top, int64_t side, uint8_t level) {
  for (int64_t y = top; y < top + side; ++y) {
    for (int64_t x = left; x < left + side; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        image.data<uint8_t>()[static_cast<size_t>((y * image.shape()[1] + x) * 3 + c)] = level;
      }
    }
  }
}

TEST(Brightness, IsTheMeanOfASquare) {
  Tensor image = image_of(20, 36, 10);
  draw(image, 16, 0, 16, 90);
  const std::vector<float> means = brightness(image, 16);
  EXPECT_EQ(means, (std::vector<float>{10, 90, 10, 10, 10, 10}));
}

TEST(Gate, LooksOnceAndAgainWhereSomethingChanged) {
  Gate gate;
  Tensor image = image_of(64, 96, 100);
  EXPECT_TRUE(gate.decide(image).look);
  EXPECT_FALSE(gate.decide(image).look);
  draw(image, 32, 16, 16, 160);
  const GateDecision moved = gate.decide(image);
  EXPECT_TRUE(moved.look);
  EXPECT_NEAR(moved.changed, 1.0 / 24, 1e-9);
  EXPECT_FALSE(gate.decide(image).look);
  EXPECT_TRUE(gate.decide(image_of(64, 64, 100)).look);  // another size
}

// A slow change adds up; one of the light everywhere does not count.
TEST(Gate, SeesWhatChangesSlowlyAndNotTheLight) {
  Gate gate({.threshold = 6});
  Tensor image = image_of(64, 96, 100);
  gate.decide(image);
  int looks = 0;
  for (int step = 1; step <= 20; ++step) {
    draw(image, 0, 0, 16, static_cast<uint8_t>(100 + step));
    looks += gate.decide(image).look ? 1 : 0;
  }
  EXPECT_EQ(looks, 2);  // after 7 levels, and 7 more
  Gate light;
  light.decide(image_of(64, 96, 100));
  for (uint8_t level = 100; level < 160; level = static_cast<uint8_t>(level + 5)) {
    EXPECT_FALSE(light.decide(image_of(64, 96, level)).look);
  }
}

TEST(Gate, LooksAfterTheLongestTime) {
  Gate gate({.longest = 3});
  const Tensor image = image_of(32, 32, 5);
  std::string looks;
  for (int i = 0; i < 9; ++i) looks += gate.decide(image).look ? '1' : '0';
  EXPECT_EQ(looks, "100010001");
}

// A detector by hand: one box, whose score is the brightness of the image.
Model bright_detector() {
  const auto network = parse_text(R"(input x f32[1,3,64,64]
const box f32[1,5,1] = [32,32,16,16,1]
const none f32[1,5,83] = zeros
mean = ReduceMean(x) axes=[1,2,3] keepdims=0
one = Mul(box, mean)
y = Concat(one, none) axis=2
output y
)",
                                  ops::find);
  SHOAL_CHECK(network.ok());
  const auto bytes = std::make_shared<std::vector<std::byte>>(*onnx::to_onnx(*network));
  auto model = parse_model(bytes, *bytes);
  SHOAL_CHECK(model.ok());
  return *std::move(model);
}

class Frames : public FrameSource {
 public:
  explicit Frames(std::vector<std::optional<Tensor>> images) : images_(std::move(images)) {}

  Result<std::optional<Frame>> next() override {
    if (next_ == images_.size()) return std::optional<Frame>();
    const size_t number = next_++;
    if (!images_[number]) return Status(Code::kCorrupt, "a torn frame");
    return std::optional<Frame>(Frame{.number = number, .name = "f", .image = *images_[number]});
  }

 private:
  std::vector<std::optional<Tensor>> images_;
  size_t next_ = 0;
};

class Watching : public ::testing::Test {
 protected:
  // "1" for a frame that was looked at, and how many boxes it has.
  std::string run(std::vector<std::optional<Tensor>> images, const WatchOptions& options,
                  WatchResult* result = nullptr) {
    Frames source(std::move(images));
    std::string text;
    const auto done = watch(detector_, source, options,
                            {.on_frame =
                                 [&](const FrameAnswer& answer) {
                                   text += (answer.looked ? "1:" : "0:") +
                                           std::to_string(answer.seen.size()) + " ";
                                   for (const Seen& one : answer.seen) last_id_ = one.id;
                                   return Status();
                                 },
                             .on_note = [&](const std::string& note) { text += note + " "; }});
    if (!done.ok()) return std::string(done.status().message());
    if (result != nullptr) *result = *done;
    return text;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  detect::Detector detector_ = *detect::Detector::open(bright_detector(), *device_);
  const Tensor white_ = image_of(64, 64, 255), black_ = image_of(64, 64, 0);
  int64_t last_id_ = -1;
};

TEST_F(Watching, FindsObjectsInEveryFrame) {
  EXPECT_EQ(run({white_, black_, white_}, {}), "1:1 1:0 1:1 ");
  EXPECT_EQ(last_id_, 0);
  EXPECT_EQ(run({white_, white_, white_}, {.frames = 2}), "1:1 1:1 ");
}

TEST_F(Watching, DoesNotLookAgainWhereNothingChanged) {
  Tensor marked = image_of(64, 64, 255);
  draw(marked, 0, 0, 16, 0);
  WatchResult result;
  EXPECT_EQ(run({white_, white_, marked, marked}, {.gate = true}, &result), "1:1 0:1 1:1 0:1 ");
  EXPECT_EQ(result.frames, 4u);
  EXPECT_EQ(result.skipped, 2u);
  EXPECT_NEAR(result.changed, (1 + 0 + 1.0 / 16 + 0) / 4, 1e-9);
}

TEST_F(Watching, GivesObjectsAnIdentity) {
  EXPECT_EQ(run({white_, white_, white_}, {.track = true}), "1:0 1:1 1:1 ");
  EXPECT_EQ(last_id_, 1);
}

TEST_F(Watching, GoesOnAfterATornFrame) {
  EXPECT_EQ(run({white_, std::nullopt, white_}, {}), "1:1 a torn frame 1:1 ");
  EXPECT_EQ(run({std::nullopt}, {}), "a torn frame");
}

TEST(Sources, SayWhatTheyAreNot) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(open_source(folder->path()).status().code(), Code::kNotFound);
  EXPECT_EQ(open_source(folder->path() / "none.jpg").status().code(), Code::kNotFound);
  std::ofstream(folder->path() / "clip.txt") << "text";
  EXPECT_EQ(open_source(folder->path() / "clip.txt").status().code(), Code::kUnsupported);
  std::ofstream(folder->path() / "torn.jpg") << "no image";
  const auto source = open_source(folder->path());
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE((*source)->next().ok());
  EXPECT_FALSE((*source)->next()->has_value());  // and then it is over
}

}  // namespace
}  // namespace shoal::watch
