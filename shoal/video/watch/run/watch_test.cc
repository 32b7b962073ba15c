#include "shoal/video/watch/run/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/onnx/program/encode_testing.h"
#include "shoal/model/ops/ops.h"
#include "shoal/video/watch/frames/key_frames.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/frames/scene.h"

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

constexpr GateOptions kSmallSquares{.side = 16, .threshold = 6};

TEST(Gate, LooksOnceAndAgainWhereSomethingChanged) {
  Gate gate(kSmallSquares);
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
  Gate gate(kSmallSquares);
  Tensor image = image_of(64, 96, 100);
  gate.decide(image);
  int looks = 0;
  for (int step = 1; step <= 20; ++step) {
    draw(image, 0, 0, 16, static_cast<uint8_t>(100 + step));
    looks += gate.decide(image).look ? 1 : 0;
  }
  EXPECT_EQ(looks, 2);  // after 7 levels, and 7 more
  Gate light(kSmallSquares);
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

// Of the answers of watch().
struct MotMetricsOf {
  track::MotMetrics sum;

  void add(const std::vector<track::Identified>& truth, const FrameAnswer& answer) {
    std::vector<track::Identified> shown;
    for (const Seen& seen : answer.seen) shown.push_back({seen.id, seen.detection.box});
    sum.add(truth, shown);
  }
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
                                   for (const Seen& seen : answer.seen) last_id_ = seen.id;
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
  const WatchOptions options{.gate = true, .gate_options = {.side = 16}};
  EXPECT_EQ(run({white_, white_, marked, marked}, options, &result), "1:1 0:1 1:1 0:1 ");
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

// Frames that are there only after n questions, each after the one before.
class SlowFrames : public FrameSource {
 public:
  SlowFrames(size_t frames, size_t questions) : left_(frames), questions_(questions) {}

  bool ready(std::chrono::milliseconds) override { return ++asked_ > questions_; }
  Result<std::optional<Frame>> next() override {
    asked_ = 0;
    if (left_ == 0) return std::optional<Frame>();
    --left_;
    return std::optional<Frame>(Frame{.number = taken_++, .image = image_of(64, 64, 0)});
  }

 private:
  size_t left_, questions_, asked_ = 0, taken_ = 0;
};

class Streams : public Watching {
 protected:
  // The streams in the order of their answers, and how many frames each had.
  std::string run(std::vector<std::unique_ptr<FrameSource>> sources, const WatchOptions& options) {
    std::vector<Stream> streams;
    for (const auto& source : sources) streams.push_back({source.get(), &detector_});
    std::string text;
    const auto results =
        watch_all(streams, options, {.on_frame = [&](const FrameAnswer& frame_answer) {
                    text += std::to_string(frame_answer.source);
                    EXPECT_TRUE(frame_answer.image.defined());
                    return Status();
                  }});
    if (!results.ok()) return std::string(results.status().message());
    size_t sum = 0;
    for (const WatchResult& watch_result : results->each) {
      sum += watch_result.frames;
      text += " " + std::to_string(watch_result.frames);
    }
    EXPECT_EQ(results->all.frames, sum);
    return text;
  }

  template <class... Source>
  static std::vector<std::unique_ptr<FrameSource>> list(Source... sources) {
    std::vector<std::unique_ptr<FrameSource>> all;
    (all.push_back(std::make_unique<Source>(std::move(sources))), ...);
    return all;
  }
};

TEST_F(Streams, HaveTheirTurnsAndDoNotWaitForEachOther) {
  EXPECT_EQ(run(list(SlowFrames(2, 0), SlowFrames(4, 0), SlowFrames(3, 0)), {}), "012012121 2 4 3");
  EXPECT_EQ(run(list(SlowFrames(4, 0), SlowFrames(2, 1)), {}), "001001 4 2");
  EXPECT_EQ(run(list(SlowFrames(9, 0), SlowFrames(9, 0)), {.frames = 2}), "0101 2 2");
  // One that breaks ends neither the others nor, alone, with success.
  EXPECT_EQ(run(list(Frames({std::nullopt}), SlowFrames(2, 0)), {}), "11 0 2");
  EXPECT_EQ(run(list(Frames({std::nullopt}), Frames({std::nullopt})), {}), "a torn frame");
}

// Gives its frames only while another one is asked, too.
class SociableFrames : public FrameSource {
 public:
  SociableFrames(std::atomic<int>& arrived, int wanted) : arrived_(arrived), wanted_(wanted) {}

  Result<std::optional<Frame>> next() override {
    if (taken_ == 3) return std::optional<Frame>();
    ++arrived_;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (arrived_ < (taken_ + 1) * wanted_) {
      if (std::chrono::steady_clock::now() > deadline) {
        --arrived_;
        return std::optional<Frame>();  // nobody came
      }
      std::this_thread::yield();
    }
    return std::optional<Frame>(
        Frame{.number = static_cast<size_t>(taken_++), .image = image_of(64, 64, 0)});
  }

 private:
  std::atomic<int>& arrived_;
  const int wanted_;
  int taken_ = 0;
};

TEST_F(Streams, AreWatchedAtOnce) {
  std::atomic<int> arrived = 0;
  const std::string answers =
      run(list(SociableFrames(arrived, 3), SociableFrames(arrived, 3), SociableFrames(arrived, 3)),
          {.at_once = true});
  EXPECT_EQ(answers.substr(9), " 3 3 3");
  // A failure of what takes the answers ends all of them.
  Frames a({white_, white_}), b({white_, white_});
  const std::vector<Stream> streams = {{&a, &detector_}, {&b, &detector_}};
  const auto full = [](const FrameAnswer&) { return Status(Code::kExhausted, "full"); };
  EXPECT_EQ(watch_all(streams, {.at_once = true}, {.on_frame = full}).status().message(), "full");
}

// A device some of whose runs fail, as those of a cluster do that has lost a worker.
class FailingDevice : public Device {
 public:
  const DeviceInfo& info() const override { return inner_->info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto inner, inner_->compile(graph));
    return std::unique_ptr<Executable>(std::make_unique<Failing>(std::move(inner), *this));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override { return inner_->memory_of(graph); }

  int failures = 0;           // to come
  std::vector<int64_t> rows;  // of the images of all other runs

 private:
  class Failing : public Executable {
   public:
    Failing(std::unique_ptr<Executable> inner, FailingDevice& device)
        : inner_(std::move(inner)), device_(device) {}
    Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options) override {
      if (device_.failures-- > 0) return Status(Code::kUnavailable, "lost");
      device_.rows.push_back(inputs[0].shape()[2]);
      return inner_->run(inputs, outputs, options);
    }
    const Graph& graph() const override { return inner_->graph(); }
    MemoryUse memory() const override { return inner_->memory(); }
    const KernelInfo& kernel_of(size_t node) const override { return inner_->kernel_of(node); }

   private:
    const std::unique_ptr<Executable> inner_;
    FailingDevice& device_;
  };

  const std::unique_ptr<Device> inner_ = make_reference_device();
};

// Frames in which the detector fails are left out, for a while; with the gate, the next is looked
// at even if nothing has changed.
TEST(Watch, GoesOnWhenADetectorIsBack) {
  FailingDevice device;
  auto detector = detect::Detector::open(bright_detector(), device);
  ASSERT_TRUE(detector.ok()) << detector.status().message();
  const auto run = [&](std::chrono::milliseconds detector_timeout) {
    std::string text;
    device.failures = 2;
    Frames frames(std::vector<std::optional<Tensor>>(4, image_of(64, 64, 255)));
    const WatchOptions options{
        .gate = true, .detector_timeout = detector_timeout, .gate_options = {.side = 16}};
    const auto result = watch(*detector, frames, options,
                              {.on_frame =
                                   [&](const FrameAnswer& frame_answer) {
                                     text += std::to_string(frame_answer.frame) +
                                             (frame_answer.looked ? "! " : " ");
                                     return Status();
                                   },
                               .on_note = [&](const std::string& note) { text += note + " "; }});
    return result.ok() ? text : std::string(result.status().message());
  };
  EXPECT_EQ(run(std::chrono::minutes(1)), "lost lost 2! 3 ");
  EXPECT_EQ(run(std::chrono::milliseconds(0)), "lost");
}

// Identities and the gate are of a stream: two that show the same do not disturb each other.
TEST_F(Streams, KeepTheirOwnStates) {
  const Tensor grey = image_of(64, 64, 158);  // a score of 0.62
  const WatchOptions options{.gate = true, .track = true, .gate_options = {.side = 16}};
  std::vector<std::string> looks(3);
  Frames a({grey, grey, grey}), b({black_, black_, black_}), c({white_, white_, white_});
  const std::vector<Stream> streams = {{&a, &detector_}, {&b, &detector_}, {&c, &detector_}};
  ASSERT_TRUE(watch_all(streams, options,
                        {.on_frame =
                             [&](const FrameAnswer& frame_answer) {
                               looks[frame_answer.source] += frame_answer.looked ? '1' : '0';
                               return Status();
                             }})
                  .ok());
  EXPECT_EQ(looks[0], "110");  // the second look confirms what was seen
  EXPECT_EQ(looks[1], "100");
  EXPECT_EQ(looks[2], "100");  // sure at once
}

// A head of yolox on brightness: the score of a cell is its mean. One that has planes as constants
// takes its one size only.
Model cells_detector(bool has_planes) {
  using namespace onnx::testing;
  const auto shape = [](const char* name) {
    return tensor<int64_t>(name, kInt64, {3}, {1, 6, -1});
  };
  std::vector<float> weights(18, 0);
  for (size_t c = 0; c < 3; ++c) weights[12 + c] = 1.0F / 765;
  const auto pool = [](const char* from, const char* to, int64_t side) {
    return node("AveragePool", {from}, {to},
                {ints("kernel_shape", {side, side}), ints("strides", {side, side})});
  };
  const auto head = [](const char* from, const char* cells, const char* shape_of, const char* to) {
    return std::pair(node("Conv", {from, "w", "b"}, {cells}),
                     node("Reshape", {cells, shape_of}, {to}));
  };
  const auto [conv8, flat8] = head("p8", "c8", "s8", "f8");
  const auto [conv16, flat16] = head("p16", "c16", "s16", "f16");
  const auto [conv32, flat32] = head("p32", "c32", "s32", "f32");
  const Message network =
      graph({{kInput, value_info("x", kFloat, {"1", "3", "64", "64"})},
             {kOutput, value_info("y", kFloat, {"1", "84", "6"})},
             {kInitializer, tensor<float>("w", kFloat, {6, 3, 1, 1}, weights)},
             {kInitializer, tensor<float>("b", kFloat, {6}, {0.5F, 0.5F, 0, 0, 0, 1})},
             {kInitializer, shape("s8")},
             {kInitializer, shape("s16")},
             {kInitializer, shape("s32")},
             {kInitializer, tensor<float>("plane", kFloat, {1, 1, has_planes ? 64 : 1, 1},
                                          std::vector<float>(has_planes ? 64 : 1, 0))},
             {kNode, node("Add", {"x", "plane"}, {"x0"})},
             {kNode, pool("x0", "p8", 8)},
             {kNode, pool("p8", "p16", 2)},
             {kNode, pool("p16", "p32", 2)},
             {kNode, conv8},
             {kNode, flat8},
             {kNode, conv16},
             {kNode, flat16},
             {kNode, conv32},
             {kNode, flat32},
             {kNode, node("Concat", {"f8", "f16", "f32"}, {"all"}, {integer("axis", 2)})},
             {kNode, node("Transpose", {"all"}, {"y"}, {ints("perm", {0, 2, 1})})}});
  const auto owner = std::make_shared<const std::string>(model_of(network).bytes());
  auto model = parse_model(owner, std::as_bytes(std::span<const char>(*owner)));
  SHOAL_CHECK(model.ok());
  return *std::move(model);
}

// What is found does not depend on rows beside the image.
TEST(Rectangles, LeaveOutWhatTheImageDoesNotFill) {
  Tensor image = image_of(100, 256, 20);  // 25 of 64 rows
  draw(image, 64, 32, 32, 250);
  const auto rows_with = [&](bool has_planes) {
    FailingDevice device;
    const Model model = cells_detector(has_planes);
    auto whole = detect::Detector::open(model, device);
    auto part = detect::Detector::open_rectangular(model, device);
    SHOAL_CHECK(whole.ok() && part.ok());
    device.rows.clear();
    const auto wanted = whole->find(image, {.least_score = 0.6F});
    const auto found = part->find(image, {.least_score = 0.6F});
    SHOAL_CHECK(wanted.ok() && found.ok());
    EXPECT_EQ(*found, *wanted);
    EXPECT_EQ(found->size(), 1u);
    EXPECT_TRUE(part->find(image_of(256, 256, 20)).ok());
    return device.rows;
  };
  EXPECT_EQ(rows_with(false), (std::vector<int64_t>{64, 32, 64}));
  EXPECT_EQ(rows_with(true), (std::vector<int64_t>{64, 64, 64}));
}

// While expectations hold, more may change before the next look; when they fail, less.
TEST(Gate, LearnsHowMuchMayChange) {
  Gate gate(kSmallSquares);
  Tensor image = image_of(64, 96, 100);
  int frame = 0;
  const auto looks = [&](const Agreement& shown) {
    int count = 0;
    for (int i = 0; i < 200; ++i, ++frame) {
      draw(image, 16 * (frame % 6), 16 * (frame / 6 % 4), 16, static_cast<uint8_t>(frame * 37));
      if (!gate.decide(image).look) continue;
      ++count;
      gate.learn(shown);
    }
    return count;
  };
  EXPECT_EQ(looks({.same = 4, .different = 4}), 200);
  EXPECT_LT(looks({.same = 10, .different = 0}), 120);
  looks({.same = 4, .different = 4});
  EXPECT_GT(looks({.same = 4, .different = 4}), 180);
}

// Where nothing changes, looks that show what was expected come ever more rarely.
TEST(Gate, RestsLongerWhereNothingIsNew) {
  Gate gate({.first_rest = 2, .longest = 9});
  const Tensor image = image_of(64, 64, 5);
  std::string looks;
  for (int i = 0; i < 30; ++i) {
    const bool look = gate.decide(image).look;
    looks += look ? '1' : '0';
    if (look) gate.learn(i < 18 ? Agreement{.same = 2} : Agreement{.different = 2});
  }
  EXPECT_EQ(looks, "100100001000000001000000000100");
}

TEST(Agreement, PairsBoxesOfOneClass) {
  const detect::Detection a{1, 0.9F, {0, 0, 10, 10}, {}}, moved{1, 0.5F, {2, 0, 12, 10}, {}};
  const detect::Detection far{1, 0.9F, {8, 0, 18, 10}, {}}, other{2, 0.9F, {0, 0, 10, 10}, {}};
  EXPECT_EQ(compare({a}, {moved}).f1(), 1);
  EXPECT_EQ(compare({a}, {far}).f1(), 0);
  EXPECT_EQ(compare({a}, {other}).f1(), 0);
  EXPECT_EQ(compare({a, far}, {moved}).f1(), 2.0 / 3);
  EXPECT_EQ(compare({}, {}).f1(), 1);
  Agreement sum = compare({a}, {a});
  sum += compare({a}, {});
  EXPECT_EQ(sum.f1(), 2.0 / 3);
}

// The whole of it without a file: the detector finds every square, and frames in which nothing
// moves are not looked at.
TEST(Scene, IsFoundFollowedAndMostlySkipped) {
  const SceneOptions options{.frames = 400, .episode = 100};
  const auto model = scene_detector();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto device = make_reference_device();
  auto detector = detect::Detector::open(*model, *device);
  ASSERT_TRUE(detector.ok()) << detector.status().message();
  SceneSource source(options);
  const WatchOptions watching{.gate = true, .track = true, .frames = 120};
  MotMetricsOf metrics;
  const auto result =
      watch(*detector, source, watching, {.on_frame = [&](const FrameAnswer& frame_answer) {
        metrics.add(scene_truth(options, frame_answer.frame), frame_answer);
        return Status();
      }});
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result->skipped, 70u);
  EXPECT_LT(result->macs_share(), 0.5);
  EXPECT_GT(metrics.sum.mota(), 95);
  EXPECT_EQ(metrics.sum.switches(), 0u);
}

// A square that moves is where it is, in frames between key frames, too.
TEST(KeyFrames, CarryTheDetectorThroughAScene) {
  const auto device = make_reference_device();
  const auto model = scene_detector();
  ASSERT_TRUE(model.ok());
  auto every = detect::Detector::open(*model, *device);
  auto some = open_key_frame_detector(*model, *device, **keyframe::parse_key_frames("4"));
  ASSERT_TRUE(every.ok());
  ASSERT_TRUE(some.ok()) << some.status().message();
  SceneSource source({.frames = 12, .episode = 12, .activity = 1});
  Agreement agreement;
  while (const auto frame = *source.next()) {
    const auto position = some->detector.find(frame->image), expected = every->find(frame->image);
    ASSERT_TRUE(position.ok() && expected.ok());
    EXPECT_EQ(expected->size(), 4u);
    agreement += compare(*position, *expected);
    for (const detect::Detection& detection : *expected) {
      const auto is_there = [&](const detect::Detection& other) {
        return overlap(detection.box, other.box) > 0.8F;
      };
      EXPECT_TRUE(std::ranges::any_of(*position, is_there)) << frame->number;
    }
  }
  EXPECT_EQ(agreement.f1(), 1);
  EXPECT_LT(some->pipeline->macs_share(), 1);
}

TEST(Sources, SayWhatTheyAreNot) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(open_source(folder->path()).status().code(), Code::kNotFound);
  EXPECT_EQ(open_source(folder->path() / "none.jpg").status().code(), Code::kNotFound);
  std::ofstream(folder->path() / "clip.txt") << "text";
  const auto text = open_source(folder->path() / "clip.txt");
  EXPECT_TRUE(text.ok() ? !(*text)->next().ok() : text.status().code() == Code::kUnsupported);
  std::ofstream(folder->path() / "torn.jpg") << "no image";
  EXPECT_EQ(open_sources({std::string(kScene), folder->path()})->size(), 2u);
  EXPECT_EQ(open_sources({std::string(kScene), folder->path() / "none.jpg"}).status().code(),
            Code::kNotFound);
  const auto source = open_source(folder->path());
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE((*source)->next().ok());
  EXPECT_FALSE((*source)->next()->has_value());  // and then it is over
}

}  // namespace
}  // namespace shoal::watch
