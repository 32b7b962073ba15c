// Windows over streams: the same as from the whole stream at once, however items arrive
// [Hadidi 2021, 4.5].
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/video/windows/sliding_window.h"
#include "shoal/video/windows/temporal_pyramid.h"
#include "shoal/video/windows/window_runner.h"

namespace shoal::windows {
namespace {

// An arrival at a buffer behind workers that take turns, each of which takes a random time.
std::vector<int64_t> arrivals(size_t items, size_t replicas, double repeated, std::mt19937& rng) {
  std::vector<double> free(replicas, 0);
  std::vector<std::pair<double, int64_t>> all;
  for (size_t i = 0; i < items; ++i) {
    double& at = free[i % replicas];
    at = std::max(at, double(i)) + double(rng() % 100) / 20;
    all.emplace_back(at, int64_t(i));
    if (double(rng() % 1000) < 1000 * repeated)
      all.emplace_back(at + double(rng() % 8), int64_t(i));
  }
  std::ranges::sort(all);
  std::vector<int64_t> order;
  for (const auto& [when, tag] : all) order.push_back(tag);
  return order;
}

Tensor item_of(int64_t tag) { return Tensor::of<float>({1}, {static_cast<float>(tag)}); }

// The windows that should be there: all of items [last - size + 1, last], where lost ones are left
// out or stood for by the one before.
std::map<int64_t, std::vector<float>> expected(const WindowOptions& options, int64_t items,
                                               const std::set<int64_t>& lost) {
  std::map<int64_t, std::vector<float>> all;
  std::vector<float> run;
  for (int64_t tag = 0; tag < items; ++tag) {
    if (!lost.contains(tag)) {
      run.push_back(static_cast<float>(tag));
    } else if (options.gap == GapPolicy::kHold && !run.empty()) {
      run.push_back(run.back());
    } else {
      run.clear();
    }
    const auto size = std::ptrdiff_t(options.size);
    const bool ends = tag + 1 >= size && (tag + 1 - size) % std::ptrdiff_t(options.stride) == 0;
    if (ends && std::ssize(run) >= size) all[tag] = {run.end() - size, run.end()};
  }
  return all;
}

TEST(SlidingWindow, IsTheSameHoweverItemsArrive) {
  std::mt19937 rng(1);
  for (int round = 0; round < 400; ++round) {
    const size_t items = 20 + rng() % 60;
    WindowOptions options{.size = 1 + rng() % 9, .stride = 1 + rng() % 3, .patience = 40};
    options.gap = rng() % 2 == 0 ? GapPolicy::kDrop : GapPolicy::kHold;
    std::set<int64_t> lost;
    // Single ones, and not the last, after which nothing shows that it is missing.
    for (int64_t tag = 0; tag + 1 < int64_t(items); ++tag) {
      if (rng() % 12 == 0 && !lost.contains(tag - 1)) lost.insert(tag);
    }
    SlidingWindow window(options);
    std::map<int64_t, std::vector<float>> found;
    const auto take = [&](Result<std::vector<Window>> windows) {
      ASSERT_TRUE(windows.ok());
      for (const Window& one : *windows) {
        ASSERT_TRUE(found.empty() || found.rbegin()->first < one.last);
        for (const Tensor& item : one.items) found[one.last].push_back(item.data<float>()[0]);
      }
    };
    for (const int64_t tag : arrivals(items, 1 + rng() % 3, 0.2, rng)) {
      if (!lost.contains(tag)) {
        take(window.add(tag, item_of(tag)));
      } else if (rng() % 2 == 0) {
        take(window.lose(tag));  // somebody noticed
      }
      ASSERT_LE(window.kept(), options.size + options.patience);
    }
    take(window.finish());
    EXPECT_EQ(found, expected(options, int64_t(items), lost)) << round;
    EXPECT_EQ(window.figures().lost, lost.size());
    EXPECT_EQ(window.figures().windows, found.size());
  }
}

TEST(SlidingWindow, GivesUpOnAGapAndSaysSo) {
  SlidingWindow impatient({.size = 2, .patience = 3});
  for (const int64_t tag : {0, 2, 3, 4}) EXPECT_TRUE(impatient.add(tag, item_of(tag))->empty());
  const auto windows = impatient.add(5, item_of(5));
  ASSERT_EQ(windows->size(), 3u);  // 2-3, 3-4, 4-5
  EXPECT_EQ(windows->front().last, 3);
  EXPECT_EQ(impatient.figures().lost, 1u);
  EXPECT_EQ(impatient.figures().dropped, 2u);  // 0-1, 1-2
  EXPECT_TRUE(impatient.add(1, item_of(1))->empty());
  EXPECT_EQ(impatient.figures().late, 1u);
  // A gap of any length takes no time; one that is too long for holding is dropped.
  for (const GapPolicy gap : {GapPolicy::kDrop, GapPolicy::kHold}) {
    SlidingWindow far({.size = 2, .patience = 0, .gap = gap});
    ASSERT_TRUE(far.add(0, item_of(0)).ok());
    ASSERT_TRUE(far.add(int64_t{1} << 61, item_of(1)).ok());
    EXPECT_EQ(far.add((int64_t{1} << 61) + 1, item_of(2))->size(), 1u);
  }
  EXPECT_EQ(impatient.add(-1, item_of(0)).status().code(), Code::kInvalidArgument);
  SlidingWindow strict({.size = 2, .gap = GapPolicy::kError});
  ASSERT_TRUE(strict.add(1, item_of(1)).ok());
  EXPECT_EQ(strict.lose(0).status().code(), Code::kUnavailable);
  EXPECT_EQ(strict.finish().status().code(), Code::kUnavailable);
  EXPECT_EQ(find_gap_policy("hold"), GapPolicy::kHold);
  EXPECT_EQ(name_of(GapPolicy::kError), "error");
  EXPECT_FALSE(find_gap_policy("wait").has_value());
}

TEST(TemporalPyramid, TakesMaximaOfRanges) {
  std::vector<Tensor> items;
  for (const float x : {3.F, 1.F, 4.F, 1.F, 5.F}) items.push_back(Tensor::of<float>({2}, {x, -x}));
  const std::vector<float> maxima = temporal_pyramid(items, 2);
  EXPECT_EQ(maxima, (std::vector<float>{5, -1, 3, -1, 5, -1}));
  EXPECT_EQ(temporal_pyramid(items).size(), 30u);
}

Session session_of(const std::string& text, Device& device) {
  const auto graph = parse_text(text, ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  auto session = Session::open(*graph, device);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

std::string numbers(size_t count, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + std::to_string(normal(rng));
  return text + "]";
}

Tensor random_frame(std::mt19937& rng) {
  std::normal_distribution<float> normal;
  Tensor frame({DType::kF32, {1, 2, 6, 8}});
  for (float& x : frame.data<float>()) x = normal(rng);
  return frame;
}

TEST(WindowRunner, GivesWhatAWholeWindowGives) {
  std::mt19937 rng(2);
  const auto device = make_reference_device();
  Session features = session_of("input x f32[1,2,6,8]\nconst w f32[4,2,3,3] = " + numbers(72, rng) +
                                    "\na = Conv(x, w)\nb = Relu(a)\nc = GlobalMaxPool(b)\n"
                                    "y = Flatten(c)\noutput y\n",
                                *device);
  Session head = session_of("input x f32[1,60]\nconst w f32[60,3] = " + numbers(180, rng) +
                                "\ny = MatMul(x, w)\noutput y\n",
                            *device);
  std::vector<Tensor> frames;
  for (int i = 0; i < 40; ++i) frames.push_back(random_frame(rng));
  constexpr size_t kSize = 15;
  for (const size_t replicas : {1u, 2u, 3u}) {
    WindowRunner runner(head, {.window = {.size = kSize}, .pyramid_levels = 4});
    std::vector<WindowAnswer> answers;
    const auto take = [&](Result<std::vector<WindowAnswer>> some) {
      ASSERT_TRUE(some.ok()) << some.status().message();
      answers.insert(answers.end(), some->begin(), some->end());
    };
    for (const int64_t tag : arrivals(frames.size(), replicas, 0.1, rng)) {
      if (tag == 17) continue;  // lost
      take(runner.add(tag, *features_of(features, frames[size_t(tag)])));
    }
    take(runner.finish());
    std::vector<int64_t> tags;
    for (const WindowAnswer& one : answers) {
      tags.push_back(one.last);
      // From the frames of the window alone.
      std::vector<Tensor> items;
      for (size_t i = size_t(one.last) + 1 - kSize; i <= size_t(one.last); ++i) {
        items.push_back(*features_of(features, frames[i]));
      }
      const std::vector<float> maxima = temporal_pyramid(items);
      Tensor input({DType::kF32, {1, 60}});
      std::ranges::copy(maxima, input.data<float>().begin());
      const Tensor want = *features_of(head, input);
      for (size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(one.scores.data<float>()[k], want.data<float>()[k], 1e-4);
      }
    }
    EXPECT_EQ(tags, (std::vector<int64_t>{14, 15, 16, 32, 33, 34, 35, 36, 37, 38, 39}));
  }
  WindowRunner runner(head, {});
  EXPECT_TRUE(runner.add(0, item_of(0)).ok());
  EXPECT_EQ(runner.add(1, random_frame(rng)).status().code(), Code::kInvalidArgument);
}

TEST(WindowRunner, StacksItemsForClipModels) {
  const Tensor a = Tensor::of<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  const Tensor b = Tensor::of<float>({1, 2, 1, 2}, {5, 6, 7, 8});
  const std::vector<Tensor> items = {a, b};
  const auto clip = stacked(items, 2);
  ASSERT_TRUE(clip.ok());
  EXPECT_EQ(clip->shape(), (Shape{1, 2, 2, 2}));
  const auto elements = clip->data<float>();
  EXPECT_EQ(std::vector<float>(elements.begin(), elements.end()),
            (std::vector<float>{1, 2, 5, 6, 3, 4, 7, 8}));
  EXPECT_FALSE(stacked(items, 4).ok());
  EXPECT_FALSE(stacked({}, 0).ok());
  const auto device = make_reference_device();
  Session head = session_of("input x f32[1,2,2,2]\ny = Relu(x)\noutput y\n", *device);
  WindowRunner runner(head, {.window = {.size = 2}, .pyramid_levels = 0, .stack_axis = 2});
  EXPECT_TRUE(runner.add(1, b)->empty());
  const auto answers = runner.add(0, a);
  ASSERT_TRUE(answers.ok());
  ASSERT_EQ(answers->size(), 1u);
  EXPECT_EQ((*answers)[0].scores.shape(), (Shape{1, 2, 2, 2}));
}

}  // namespace
}  // namespace shoal::windows
