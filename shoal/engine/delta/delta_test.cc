// Laws of delta inference, over random networks and random changes: what is computed by tiles is
// what is computed whole; what nothing reads is not computed; thresholds bound the error.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/executable.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/delta/changes.h"
#include "shoal/engine/delta/delta_device.h"
#include "shoal/engine/delta/delta_testing.h"
#include "shoal/engine/delta/policy.h"
#include "shoal/model/ops/ops.h"

namespace shoal {
namespace {

using cpu::Rectangle;
using delta::draw;
using delta::random_floats;
using delta::Rng;

// Draws a feed-forward network layer by layer.
class RandomNetwork {
 public:
  explicit RandomNetwork(Rng& rng) : rng_(rng) {
    const int64_t side = draw(rng, 20, 56);
    x_ = graph_.add_input("x", {DType::kF32, {1, 3, side, side + draw(rng, 0, 9)}});
    add_conv(draw(rng, 1, 2) * 8);
    for (int64_t i = draw(rng, 3, 7); i > 0; --i) add_layer();
    graph_.mark_output(x_);
    // Depends on everything.
    graph_.mark_output(*graph_.add(ops::global_average_pool, {x_}));
  }
  const Graph& graph() const { return graph_; }

 private:
  const Shape& shape() const { return graph_[x_].type.shape; }

  void add_layer() {
    const int64_t kind = draw(rng_, 0, 7);
    const bool is_large = std::min(shape()[2], shape()[3]) >= 6;
    if (kind <= 2) return add_conv(draw(rng_, 8, 40));
    if (kind == 3) return add_depthwise();
    if (kind == 4 && is_large) return add_pool();
    if (kind == 5) return add_residual();
    if (kind == 6) return add_concat();
    if (kind == 7 && shape()[2] < 40) return add_resize();
    x_ = *graph_.add(ops::sigmoid, {x_});
  }

  ValueId convolved(int64_t filters, int64_t groups, int64_t kernel, int64_t stride) {
    const int64_t in = shape()[1] / groups, pad = draw(rng_, 0, kernel / 2);
    const float deviation = 1 / std::sqrt(static_cast<float>(in * kernel * kernel));
    const ValueId w =
        graph_.add_constant("w", random_floats(rng_, {filters, in, kernel, kernel}, deviation));
    const ValueId b = graph_.add_constant("b", random_floats(rng_, {filters}, 0.1F));
    const bool fits = std::min(shape()[2], shape()[3]) + 2 * pad >= kernel;
    const int64_t all = fits ? pad : kernel / 2;
    Attributes attributes = {{"group", groups},
                             {"strides", std::vector{stride, stride}},
                             {"pads", std::vector{all, all, all, all}}};
    if (draw(rng_, 0, 1) == 0) attributes["activation"] = std::string("Relu");
    return *graph_.add(ops::fused_conv, {x_, w, b}, std::move(attributes));
  }
  void add_conv(int64_t filters) {
    x_ = convolved(filters, 1, 1 + 2 * draw(rng_, 0, 2), draw(rng_, 1, 2));
  }
  void add_depthwise() {
    x_ = convolved(shape()[1], shape()[1], 3 + 2 * draw(rng_, 0, 1), draw(rng_, 1, 2));
  }
  void add_pool() {
    const Operator& op = draw(rng_, 0, 1) == 0 ? ops::max_pool : ops::average_pool;
    const int64_t kernel = draw(rng_, 2, 3);
    x_ = *graph_.add(op, {x_},
                     {{"kernel_shape", std::vector{kernel, kernel}},
                      {"strides", std::vector<int64_t>{2, 2}},
                      {"pads", std::vector<int64_t>{1, 0, 1, 0}}});
  }
  void add_residual() {
    const ValueId before = x_;
    const int64_t channels = shape()[1];
    const ValueId w =
        graph_.add_constant("w", random_floats(rng_, {channels, channels, 3, 3}, 0.1F));
    const ValueId y =
        *graph_.add(ops::fused_conv, {x_, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    x_ = *graph_.add(ops::add, {y, before});
  }
  void add_concat() {
    const ValueId y = *graph_.add(ops::relu, {x_});
    x_ = *graph_.add(ops::concat, {x_, y}, {{"axis", int64_t{1}}});
  }
  void add_resize() {
    const ValueId scales = graph_.add_constant("scales", Tensor::of<float>({4}, {1, 1, 2, 2}));
    x_ = *graph_.add(ops::resize, {x_, kNoValue, scales},
                     {{"mode", std::string("nearest")},
                      {"coordinate_transformation_mode", std::string("asymmetric")},
                      {"nearest_mode", std::string("floor")}});
  }

  Rng& rng_;
  Graph graph_;
  ValueId x_;
};

// Draws new elements for a rectangle of all channels.
void change(Rng& rng, Tensor& image) {
  const Shape& shape = image.shape();
  const int64_t top = draw(rng, 0, shape[2] - 1), left = draw(rng, 0, shape[3] - 1);
  const int64_t bottom = draw(rng, top + 1, std::min(shape[2], top + 10));
  const int64_t right = draw(rng, left + 1, std::min(shape[3], left + 10));
  const Region box{{0, 0, top, left}, {1, shape[1], bottom, right}};
  paste(random_floats(rng, box.shape()), box, image);
}

std::vector<Tensor> run(Executable& executable, const Tensor& input) {
  std::vector<Tensor> outputs(executable.graph().outputs().size());
  SHOAL_CHECK(executable.run(std::span(&input, 1), outputs, {}).ok());
  return outputs;
}

std::unique_ptr<Executable> compile(Device& device, const Graph& graph) {
  auto executable = device.compile(graph);
  SHOAL_CHECK(executable.ok());
  return *std::move(executable);
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

bool nearly_same(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.data<float>(), b.data<float>(),
                            [](float x, float y) { return std::abs(x - y) <= 1e-3F; });
}

class RandomNetworks : public testing::TestWithParam<unsigned> {};

TEST_P(RandomNetworks, GiveTheSameByTiles) {
  Rng rng(GetParam());
  const RandomNetwork network(rng);
  const int threads = static_cast<int>(draw(rng, 1, 2));
  const auto cpu = make_cpu_device({.threads = threads});
  DeltaDevice device(make_cpu_device({.threads = threads}),
                     {.tile = draw(rng, 1, 8), .most_changed = 1, .adapts = false});
  const auto whole = compile(*cpu, network.graph());
  const auto delta = compile(device, network.graph());
  Tensor image = random_floats(rng, network.graph()[network.graph().inputs()[0]].type.shape);
  for (int frame = 0; frame < 8; ++frame) {
    for (int64_t i = draw(rng, 0, 2); frame > 0 && i > 0; --i) change(rng, image);
    const std::vector<Tensor> wanted = run(*whole, image), found = run(*delta, image);
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(same_elements(wanted[i], found[i])) << "frame " << frame << ", output " << i;
    }
    const double after = device.statistics().macs;
    EXPECT_TRUE(same_elements(run(*delta, image)[0], wanted[0])) << "again, frame " << frame;
    EXPECT_EQ(device.statistics().macs, after) << "nothing changed, frame " << frame;
  }
  EXPECT_LT(device.statistics().macs_share(), 0.9);
}

// Some tiles whose sides are multiples of a unit.
delta::TileMask random_mask(Rng& rng, const Shape& shape, int64_t unit) {
  delta::Grid grid = delta::plane_of(shape);
  grid.tile_height = unit * draw(rng, 1, 3);
  grid.tile_width = unit * draw(rng, 1, 3);
  delta::TileMask mask(grid);
  for (int64_t n = draw(rng, 1, 4); n > 0; --n) {
    mask.set(draw(rng, 0, grid.rows() - 1), draw(rng, 0, grid.columns() - 1));
  }
  return mask;
}

constexpr float kUntouched = -12345;

// Elements of tiles that are set differ by this much at most, and others are untouched.
void expect_in(const delta::TileMask& mask, const Tensor& wanted, const Tensor& found, float most,
               const std::string& what) {
  const delta::Grid& grid = mask.grid();
  const int64_t inner = wanted.shape().count(4, wanted.shape().rank());
  for (int64_t e = 0; e < wanted.count(); ++e) {
    const int64_t column = e / inner % grid.width, row = e / inner / grid.width % grid.height;
    const bool inside = mask.at(row / grid.tile_height, column / grid.tile_width);
    const auto at = static_cast<size_t>(e);
    ASSERT_NEAR(found.data<float>()[at], inside ? wanted.data<float>()[at] : kUntouched,
                inside ? most : 0)
        << what << " at " << row << ", " << column;
  }
}

// Every kernel that computes rectangles computes them as the whole, to the bit where they begin and
// end at multiples of its granule, and writes nothing else.
TEST_P(RandomNetworks, HaveKernelsThatStayInTheirRectangles) {
  Rng rng(GetParam());
  const RandomNetwork network(rng);
  const auto device = make_cpu_device({.threads = static_cast<int>(draw(rng, 1, 2))});
  const auto executable = compile(*device, network.graph());
  const auto& cpu = dynamic_cast<const cpu::CpuExecutable&>(*executable);
  const std::unique_ptr<cpu::Frame> frame = *cpu::make_frame(0, cpu.scratch_bytes());
  for (size_t i = 0; i < cpu.steps().size(); ++i) {
    const Node& node = cpu.graph().nodes()[i];
    const cpu::CpuExecutable::Step& step = cpu.steps()[i];
    const auto* kernel = dynamic_cast<const cpu::RectangleKernel*>(step.kernel.get());
    if (kernel == nullptr) continue;
    std::vector<Tensor> inputs;
    for (const ValueId id : node.inputs) {
      inputs.push_back(id == kNoValue             ? Tensor()
                       : cpu.graph()[id].constant ? cpu.constants()[static_cast<size_t>(id)]
                                                  : random_floats(rng, cpu.graph()[id].type.shape));
    }
    Tensor wanted(cpu.graph()[node.outputs[0]].type), found(wanted.type());
    step.kernel->run({inputs, std::span(&wanted, 1), frame->scratch.get(), *step.pool});
    for (const int64_t unit : {kernel->granule(), int64_t{1}}) {
      const delta::TileMask mask = random_mask(rng, wanted.shape(), unit);
      const float most = unit == kernel->granule() ? 0 : 1e-3F;
      std::ranges::fill(found.data<float>(), kUntouched);
      kernel->run_in({inputs, std::span(&found, 1), frame->scratch.get(), *step.pool},
                     mask.rectangles());
      expect_in(mask, wanted, found, most, step.info.name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNetworks, testing::Range(0U, 16U));

// Convolutions of many channels, so that their outputs are compared, too. All are outputs.
Graph convolutions(Rng& rng, int count) {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 16, 16, 16}});
  for (int i = 0; i < count; ++i) {
    const ValueId w = graph.add_constant("w", random_floats(rng, {16, 16, 3, 3}, 0.1F));
    x = *graph.add(ops::fused_conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    graph.mark_output(x);
  }
  return graph;
}
Graph one_convolution(Rng& rng) { return convolutions(rng, 1); }

double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  for (const float x : tensor.data<float>()) sum += static_cast<double>(x * x);
  return std::sqrt(sum / static_cast<double>(tensor.count()));
}

// A value is off by e * s at most, an input by a fifth of that, and a convolution makes that of its
// input sum |w| times as much.
TEST(DeltaDevice, DoesNotDriftWhileTheLightChangesSlowly) {
  Rng rng(7);
  const Graph graph = one_convolution(rng);
  constexpr float kThreshold = 0.05F;
  DeltaDevice device(make_cpu_device({.threads = 1}),
                     {.threshold = kThreshold, .most_changed = 1, .adapts = false});
  const auto cpu = make_cpu_device({.threads = 1});
  const auto delta = compile(device, graph), whole = compile(*cpu, graph);
  Tensor image = random_floats(rng, {1, 16, 16, 16});
  double of_weights = 0;  // the largest sum of a filter
  const auto w = graph[graph.nodes()[0].inputs[1]].constant->data<float>();
  for (size_t m = 0; m < 16; ++m) {
    double sum = 0;
    for (size_t i = 0; i < 144; ++i) sum += std::abs(static_cast<double>(w[m * 144 + i]));
    of_weights = std::max(of_weights, sum);
  }
  const double bound = kThreshold * (0.2 * of_weights * root_mean_square(image) +
                                     root_mean_square(run(*whole, image)[0])) +
                       1e-4;
  double largest = 0;
  for (int frame = 0; frame < 200; ++frame) {
    const Tensor wanted = run(*whole, image)[0], found = run(*delta, image)[0];
    for (size_t i = 0; i < wanted.data<float>().size(); ++i) {
      const double error =
          std::abs(static_cast<double>(wanted.data<float>()[i] - found.data<float>()[i]));
      largest = std::max(largest, error);
    }
    for (float& x : image.data<float>()) x += kThreshold / 50;
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0);  // it does keep what hardly changed
  EXPECT_LT(device.statistics().macs_share(), 0.5);
}

TEST(DeltaDevice, HoldsInputsToAFifthOfTheThreshold) {
  Rng rng(18);
  constexpr float kThreshold = 0.5F;
  DeltaDevice device(make_cpu_device({.threads = 1}),
                     {.threshold = kThreshold, .most_changed = 1, .adapts = false});
  const auto delta = compile(device, one_convolution(rng));
  Tensor image = random_floats(rng, {1, 16, 16, 16});
  const auto most = static_cast<float>(kThreshold * root_mean_square(image));
  run(*delta, image);
  const double first = device.statistics().macs;
  image.data<float>()[37] += 0.15F * most;
  run(*delta, image);
  EXPECT_EQ(device.statistics().macs, first);
  image.data<float>()[37] += 0.15F * most;  // it adds up
  run(*delta, image);
  EXPECT_GT(device.statistics().macs, first);
}

// Also where a kernel computes pixels around those that changed, what a layer has computed is what
// it gives of the values kept before it, up to e * s.
TEST(DeltaDevice, KeepsOnlyWhatLaterLayersHaveSeen) {
  Rng rng(17);
  const Graph both = convolutions(rng, 2);
  Graph second;
  const ValueId h = second.add_input("h", {DType::kF32, {1, 16, 16, 16}});
  const ValueId w = second.add_constant("w", *both[both.nodes()[1].inputs[1]].constant);
  second.mark_output(
      *second.add(ops::fused_conv, {h, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
  constexpr float kThreshold = 0.2F;
  DeltaDevice device(make_cpu_device({.threads = 1}),
                     {.threshold = kThreshold, .most_changed = 1, .adapts = false});
  const auto cpu = make_cpu_device({.threads = 1});
  const auto delta = compile(device, both), whole = compile(*cpu, second);
  Tensor image = random_floats(rng, {1, 16, 16, 16});
  const double bound = kThreshold * root_mean_square(run(*delta, image)[1]) + 1e-4;
  for (int frame = 0; frame < 300; ++frame) {
    const auto pixel = static_cast<size_t>(37 * draw(rng, 0, 6));  // one of a few: that adds up
    for (size_t c = 0; c < 16; ++c) image.data<float>()[c * 256 + pixel] += 0.25F;
    const std::vector<Tensor> kept = run(*delta, image);
    const Tensor given = run(*whole, kept[0])[0];
    double largest = 0;
    for (size_t i = 0; i < given.data<float>().size(); ++i) {
      const float error = std::abs(given.data<float>()[i] - kept[1].data<float>()[i]);
      largest = std::max(largest, static_cast<double>(error));
    }
    ASSERT_LE(largest, bound) << "frame " << frame;
  }
  EXPECT_LT(device.statistics().macs_share(), 0.7);
}

TEST(DeltaDevice, ForgetsWhenAsked) {
  Rng rng(8);
  const Graph graph = one_convolution(rng);
  DeltaDevice device(make_cpu_device({.threads = 1}), {.adapts = false});
  const auto delta = compile(device, graph);
  const Tensor image = random_floats(rng, {1, 16, 16, 16});
  for (int i = 0; i < 3; ++i) run(*delta, image);
  EXPECT_EQ(device.statistics().whole_runs, 1U);
  device.reset();
  for (int i = 0; i < 3; ++i) run(*delta, image);
  EXPECT_EQ(device.statistics().whole_runs, 2U);
  EXPECT_EQ(device.statistics().runs, 6U);
}

// A run that was cancelled half-way leaves nothing that a later one would take for complete.
TEST(DeltaDevice, ForgetsWhatWasNotCompleted) {
  Rng rng(9);
  const Graph graph = one_convolution(rng);
  DeltaDevice device(make_cpu_device({.threads = 1}), {.most_changed = 1, .adapts = false});
  const auto delta = compile(device, graph);
  Tensor image = random_floats(rng, {1, 16, 16, 16});
  run(*delta, image);
  change(rng, image);
  std::stop_source stop;
  stop.request_stop();
  std::vector<Tensor> outputs(1);
  EXPECT_EQ(delta->run(std::span(&image, 1), outputs, {.cancel = stop.get_token()}).code(),
            Code::kCancelled);
  const auto cpu = make_cpu_device({.threads = 1});
  EXPECT_TRUE(same_elements(run(*delta, image)[0], run(*compile(*cpu, graph), image)[0]));
}

// A scene cut is computed whole, and so is what follows while all moves; then tiles again.
TEST(DeltaDevice, ComputesWholeFramesWhereAllChanges) {
  Rng rng(10);
  const Graph graph = one_convolution(rng);
  DeltaDevice device(make_cpu_device({.threads = 1}), {.adapts = false});
  const auto delta = compile(device, graph);
  const auto cpu = make_cpu_device({.threads = 1});
  const auto whole = compile(*cpu, graph);
  const auto check = [&](const Tensor& image, size_t whole_runs) {
    EXPECT_TRUE(same_elements(run(*delta, image)[0], run(*whole, image)[0]));
    EXPECT_EQ(device.statistics().whole_runs, whole_runs);
  };
  Tensor image = random_floats(rng, {1, 16, 16, 16});
  check(image, 1);
  for (size_t i = 0; i < 3; ++i) {
    image = random_floats(rng, {1, 16, 16, 16});
    check(image, 2 + i);
  }
  change(rng, image);
  check(image, 4);
  change(rng, image);
  check(image, 4);
}

// Blocks whose histograms are equal keep their outputs; all of what they reach is computed.
TEST(DeltaDevice, TakesBlocksWhoseHistogramsChanged) {
  Rng rng(13);
  const Graph graph = one_convolution(rng);
  double now = 0;
  DeltaDevice device(make_cpu_device({.threads = 1}),
                     {.adapts = false,
                      .histograms = HistogramOptions{.ttl_ms = 100},
                      .now_ms = [&] { return now; }});
  const auto delta = compile(device, graph);
  const auto cpu = make_cpu_device({.threads = 1});
  const auto whole = compile(*cpu, graph);
  Tensor image = random_floats(rng, {1, 16, 16, 16});
  run(*delta, image);
  std::swap(image.data<float>()[0], image.data<float>()[1]);  // in one block
  EXPECT_FALSE(nearly_same(run(*delta, image)[0], run(*whole, image)[0]));
  EXPECT_NEAR(device.statistics().macs_share(), 0.5, 1e-9);
  now = 101;
  EXPECT_TRUE(nearly_same(run(*delta, image)[0], run(*whole, image)[0]));
  const Region corner{{0, 0, 0, 0}, {1, 16, 2, 2}};
  paste(random_floats(rng, corner.shape(), 9), corner, image);
  EXPECT_TRUE(nearly_same(run(*delta, image)[0], run(*whole, image)[0]));
  EXPECT_LT(device.statistics().macs_share(), 0.75);
}

// Frames in which all blocks change, and which are computed whole, leave nothing behind that is
// taken for what it was.
TEST(DeltaDevice, TakesBlocksThatChangedWhileFramesWereWhole) {
  Rng rng(14);
  const Graph graph = one_convolution(rng);
  DeltaDevice device(make_cpu_device({.threads = 1}),
                     {.adapts = false, .histograms = HistogramOptions()});
  const auto delta = compile(device, graph);
  const auto cpu = make_cpu_device({.threads = 1});
  const auto whole = compile(*cpu, graph);
  Tensor image = random_floats(rng, {1, 16, 16, 16});
  for (int frame = 0; frame < 60; ++frame) {
    const int64_t rows = std::min<int64_t>(draw(rng, 0, 16), 8);  // half of the time all of them
    const Region some{{0, 0, 0, 0}, {1, 16, 2 * rows, 16}};
    if (rows > 0) paste(random_floats(rng, some.shape()), some, image);
    EXPECT_TRUE(nearly_same(run(*delta, image)[0], run(*whole, image)[0])) << "frame " << frame;
  }
  EXPECT_GT(device.statistics().whole_runs, 5U);
  EXPECT_LT(device.statistics().whole_runs, 40U);
}

// Where tiles save nothing, they are tried ever more seldom; where they do, they stay. Whole frames
// take ten milliseconds; the first three are timed.
TEST(DeltaPolicy, GivesUpTilesThatLoseAndTriesThemAgain) {
  for (const auto& [share, ms] : {std::pair(0.9, 5.0), std::pair(0.3, 11.0)}) {
    delta::Policy policy(0.8, true);
    const auto frame = [&](double share_now, double ms_now) {
      const bool whole = policy.is_whole(0.5);
      whole ? policy.computed_whole(10) : policy.computed_tiles(share_now, ms_now);
      return whole ? '.' : 'x';
    };
    std::string lost, won;
    for (int i = 0; i < 50; ++i) lost += frame(share, ms);
    EXPECT_EQ(lost, "x...xxxx........xxxx................xxxx..........");
    while (frame(0.8, 9) != 'x') {
    }
    for (int i = 0; i < 100; ++i) won += frame(0.8, 9);
    EXPECT_EQ(won, std::string(100, 'x'));
    EXPECT_TRUE(policy.is_whole(0.9));
  }
}

// A layer is compared where that leaves something out, and else ever more seldom.
TEST(DeltaPolicy, ComparesWhereItPays) {
  delta::Checking checking;
  const auto runs = [&](double kept, int count) {
    std::string trace;
    for (int i = 0; i < count; ++i) {
      const bool compares = checking.next();
      if (compares) checking.compared(kept);
      trace += compares ? 'x' : '.';
    }
    return trace;
  };
  EXPECT_EQ(runs(0.5, 10), "xxxxxxxxxx");
  EXPECT_EQ(runs(0.1, 31), "x....x........x................");
  EXPECT_EQ(runs(0.5, 4), "xxxx");
  EXPECT_EQ(runs(0.1, 7), "x....x.");
}

}  // namespace
}  // namespace shoal
