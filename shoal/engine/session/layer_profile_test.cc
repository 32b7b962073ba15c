#include "shoal/engine/session/layer_profile.h"

#include <gtest/gtest.h>

#include "shoal/engine/session/model.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/program/encode_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal {
namespace {

// Runs like the reference device, but node n takes n + 1 milliseconds in the first run, and twice
// as long in each run after it.
class TimedExecutable : public Executable {
 public:
  TimedExecutable(std::unique_ptr<Executable> inner, bool traces)
      : inner_(std::move(inner)), traces_(traces) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    SHOAL_TRY(inner_->run(inputs, outputs, {}));
    if (options.trace == nullptr || !traces_) return {};
    std::chrono::milliseconds at{0};
    for (size_t n = 0; n < graph().nodes().size(); ++n) {
      const auto end = at + milliseconds_ * static_cast<int>(n + 1);
      options.trace->push_back({n, at, end});
      at = end;
    }
    milliseconds_ *= 2;
    return {};
  }
  const Graph& graph() const override { return inner_->graph(); }
  MemoryUse memory() const override { return inner_->memory(); }
  const KernelInfo& kernel_of(size_t) const override { return kernel_; }

 private:
  const std::unique_ptr<Executable> inner_;
  const bool traces_;
  const KernelInfo kernel_{"timed", {1, "slower", 2}};
  std::chrono::milliseconds milliseconds_{1};
};

class TimedDevice : public Device {
 public:
  explicit TimedDevice(bool traces = true) : traces_(traces) {}
  const DeviceInfo& info() const override { return inner_->info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto inner, inner_->compile(graph));
    return std::unique_ptr<Executable>(new TimedExecutable(std::move(inner), traces_));
  }

 private:
  const std::unique_ptr<Device> inner_ = make_reference_device();
  const bool traces_;
};

Graph two_layers() {
  return *parse_text(
      "input x f32[1,2]\nconst w f32[2,3] = ones\nh = MatMul(x, w)\ny = Relu(h)\noutput y\n",
      ops::find);
}

const Session::Tensors kInput = {{"x", Tensor::of<float>({1, 2}, {1, -1})}};

TEST(LayerProfile, NamesEveryLayerAndTakesTheMedianOfItsTimes) {
  TimedDevice device;
  auto session = Session::open(two_layers(), device, {.optimize = false});
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto profile = profile_layers(*session, kInput, 3);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  ASSERT_EQ(profile->layers.size(), 2u);
  const LayerTime& product = profile->layers[0];
  EXPECT_EQ(product.op, "MatMul");
  EXPECT_EQ(product.name, "MatMul h");
  EXPECT_EQ(product.output, "f32[1,3]");
  EXPECT_EQ(product.macs, 6);
  EXPECT_EQ(product.kernel.name, "timed");
  EXPECT_EQ(product.kernel.timing.runner_up, "slower");
  EXPECT_EQ(product.median_ms, 2) << "of 1, 2 and 4";
  EXPECT_EQ(profile->layers[1].op, "Relu");
  EXPECT_EQ(profile->layers[1].median_ms, 4) << "of 2, 4 and 8";
}

TEST(LayerProfile, SumsLayers) {
  LayerProfile profile;
  EXPECT_EQ(profile.most_threads(), 1);
  const auto add = [&](const char* kernel, int threads, int64_t macs, double ms) {
    LayerTime layer{.name = "", .op = "", .output = "", .macs = macs, .median_ms = ms};
    layer.kernel.name = kernel;
    layer.kernel.threads = threads;
    profile.layers.push_back(std::move(layer));
  };
  add("direct", 2, 10, 1);
  add("reorder", 3, 0, 0.5);
  add("direct", 1, 5, 2);
  EXPECT_EQ(profile.macs(), 15);
  EXPECT_EQ(profile.total_ms(), 3.5);
  EXPECT_EQ(profile.most_threads(), 3);
  EXPECT_EQ(profile.ms_by_kernel(),
            (std::map<std::string, double>{{"direct", 3}, {"reorder", 0.5}}));
}

TEST(Transfers, AreTimedBothWays) {
  const auto device = make_reference_device();
  const Session::Tensors some = {{"x", Tensor({DType::kF32, {4}})}};
  EXPECT_EQ(*transfer_ms(*device, {}, {}), 0);
  EXPECT_GT(*transfer_ms(*device, some, {}), 0);
  EXPECT_GT(*transfer_ms(*device, {}, some), 0);
}

TEST(LayerProfile, HasTheEventsOfTheLastRun) {
  TimedDevice device;
  auto session = Session::open(two_layers(), device, {.optimize = false});
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto profile = profile_layers(*session, kInput, 2);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  ASSERT_EQ(profile->events.size(), 2u);
  using std::chrono::milliseconds;
  EXPECT_EQ(profile->events[0].end - profile->events[0].begin, milliseconds(2));
  EXPECT_EQ(profile->events[1].layer, 1u);
  EXPECT_EQ(profile->events[1].begin, milliseconds(2));
  EXPECT_EQ(profile->events[1].end, milliseconds(6));
}

// How many elements are not zero is known only when they are there: the model runs in two stages.
TEST(LayerProfile, PutsStagesOneAfterTheOther) {
  using namespace onnx::testing;
  TimedDevice device;
  const auto bytes = std::make_shared<const std::string>(
      model_of(graph({{onnx::testing::kInput, value_info("x", kFloat, {"4"})},
                      {onnx::testing::kInput, value_info("z", kFloat, {"4"})},
                      {kNode, node("Relu", {"x"}, {"r"})},
                      {kNode, node("NonZero", {"r"}, {"n"})},
                      {kNode, node("Transpose", {"n"}, {"t"})},
                      {kNode, node("GatherND", {"z", "t"}, {"g"})},
                      {kNode, node("Neg", {"g"}, {"y"})},
                      {kOutput, value_info("y", kFloat, {"n"})}}))
          .bytes());
  const auto model = parse_model(bytes, std::as_bytes(std::span(*bytes)));
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto session = model->session(device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const Tensor x = Tensor::of<float>({4}, {1, 0, 2, 0});
  const auto profile = profile_layers(*session, {{"x", x}, {"z", x}}, 1);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->layers.front().op, "Relu");
  EXPECT_EQ(profile->layers.back().op, "Neg");
  ASSERT_EQ(profile->events.size(), profile->layers.size());
  for (size_t i = 1; i < profile->events.size(); ++i) {
    EXPECT_EQ(profile->events[i].layer, i);
    EXPECT_EQ(profile->events[i].begin, profile->events[i - 1].end);
  }
}

TEST(LayerProfile, IsRefusedWhereADeviceGivesNoTimes) {
  TimedDevice device(/*traces=*/false);
  auto session = Session::open(two_layers(), device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_EQ(profile_layers(*session, kInput, 1).status().code(), Code::kUnsupported);
}

TEST(LayerProfile, FailsAsTheSessionDoes) {
  TimedDevice device;
  auto session = Session::open(two_layers(), device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_EQ(profile_layers(*session, {}, 1).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal
