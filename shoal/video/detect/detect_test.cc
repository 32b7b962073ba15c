#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <random>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/video/detect/cells.h"
#include "shoal/video/detect/detector.h"

namespace shoal::detect {
namespace {

using Dims = std::vector<int64_t>;

Box random_box(std::mt19937& rng, float side) {
  std::uniform_real_distribution<float> at(0, side);
  const float x = at(rng), y = at(rng), u = at(rng), v = at(rng);
  return {std::min(x, u), std::min(y, v), std::max(x, u) + 1, std::max(y, v) + 1};
}

TEST(Overlap, IsASymmetricShare) {
  EXPECT_FLOAT_EQ(overlap({0, 0, 2, 2}, {1, 1, 3, 3}), 1.F / 7);
  EXPECT_EQ(overlap({0, 0, 1, 1}, {1, 0, 2, 1}), 0);
  EXPECT_EQ(overlap({0, 0, 0, 0}, {0, 0, 0, 0}), 0);
  std::mt19937 rng(1);
  for (int i = 0; i < 1000; ++i) {
    const Box a = random_box(rng, 20), b = random_box(rng, 20);
    EXPECT_EQ(overlap(a, b), overlap(b, a));
    EXPECT_GE(overlap(a, b), 0);
    EXPECT_LE(overlap(a, b), 1.00001F);
    EXPECT_NEAR(overlap(a, a), 1, 1e-6);
  }
}

// What is kept is in order and apart; what is dropped has a better one that covers it.
TEST(Suppression, KeepsTheBestAndDropsWhatTheyCover) {
  std::mt19937 rng(2);
  std::uniform_real_distribution<float> score(0, 1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Detection> all;
    for (int i = 0; i < 60; ++i) {
      all.push_back({static_cast<int64_t>(rng() % 3), score(rng), random_box(rng, 10), {}});
    }
    all.push_back({0, NAN, {0, 0, 10, 10}, {}});
    const Suppression suppression{.least_score = 0.2F, .most_overlap = 0.4F};
    const auto kept = suppress(all, suppression);
    const auto covered_by = [&](const Detection& detection, const Detection& by) {
      return by.label == detection.label &&
             overlap(by.box, detection.box) > suppression.most_overlap;
    };
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_GE(kept[i].score, suppression.least_score);
      for (size_t j = 0; j < i; ++j) {
        EXPECT_GE(kept[j].score, kept[i].score);
        EXPECT_FALSE(covered_by(kept[i], kept[j]));
      }
    }
    for (const Detection& one : all) {
      if (!(one.score >= suppression.least_score) || std::ranges::find(kept, one) != kept.end())
        continue;
      EXPECT_TRUE(std::ranges::any_of(
          kept, [&](const Detection& by) { return by.score >= one.score && covered_by(one, by); }));
    }
  }
  EXPECT_EQ(suppress(std::vector<Detection>(9, {0, 1, {0, 0, 1, 1}, {}}), {.most = 3}).size(), 1u);
}

// One box, planted where a head would have it.
struct Planted {
  HeadKind kind;
  std::vector<Tensor> outputs;
  Detection wanted;
};

constexpr int64_t kSide = 64, kClasses = 3;

Tensor zeros(const Dims& dims) {
  Tensor tensor({DType::kF32, Shape(dims)});
  std::ranges::fill(tensor.data<float>(), 0.F);
  return tensor;
}

// At stride 16, cell (2, 1): the centre is near (40, 24).
constexpr size_t kBefore = 64;  // cells of stride 8
constexpr size_t kCell = kBefore + 1 * 4 + 2;

std::vector<Planted> planted() {
  const auto cells = static_cast<size_t>(cells_of(kSide, kSide));
  std::vector<Planted> all;
  {
    Tensor y = zeros({1, 4 + kClasses, static_cast<int64_t>(cells)});
    const float row[] = {40, 24, 20, 10, 0, 0.9F, 0};
    for (size_t i = 0; i < 7; ++i) y.data<float>()[i * cells + kCell] = row[i];
    all.push_back({HeadKind::kYolov8, {y}, {1, 0.9F, {30, 19, 50, 29}, {}}});
  }
  {
    Tensor y = zeros({1, static_cast<int64_t>(3 * cells), 5 + kClasses});
    const float row[] = {40, 24, 20, 10, 0.5F, 0, 0.9F, 0};
    std::ranges::copy(row, y.data<float>().begin() + 8 * 17);
    all.push_back({HeadKind::kYolov5, {y}, {1, 0.45F, {30, 19, 50, 29}, {}}});
  }
  {
    Tensor y = zeros({1, static_cast<int64_t>(cells), 5 + kClasses});
    const float row[] = {0.5F, 0.5F, std::log(1.25F), std::log(0.625F), 0.5F, 0, 0.9F, 0};
    std::ranges::copy(row, y.data<float>().begin() + 8 * kCell);
    all.push_back({HeadKind::kYolox, {y}, {1, 0.45F, {30, 19, 50, 29}, {}}});
  }
  {
    Tensor y = zeros({1, 5 + kClasses, 4, 4});
    const float row[] = {1, std::atanh(0.5F), std::atanh(0.5F), 0, 0, 0, 0.9F, 0};
    for (size_t i = 0; i < 8; ++i) y.data<float>()[i * 16 + 1 * 4 + 2] = row[i];
    all.push_back({HeadKind::kFastestdet, {y}, {1, std::pow(0.9F, 0.4F), {24, 8, 56, 40}, {}}});
  }
  {
    std::vector<Tensor> outputs;
    for (const int64_t n : {64, 16, 4}) outputs.push_back(zeros({n, kClasses}));
    for (const int64_t n : {64, 16, 4}) outputs.push_back(zeros({n, 32}));
    outputs[1].data<float>()[6 * 3 + 1] = 0.9F;
    // Bin 1, or 1 and 0 alike, has all the weight.
    for (size_t e = 0; e < 4; ++e) outputs[4].data<float>()[(6 * 4 + e) * 8 + 1] = 100;
    all.push_back({HeadKind::kNanodet, outputs, {1, 0.9F, {24, 8, 56, 40}, {}}});
  }
  {
    Tensor scores = zeros({1, 10, 2}), boxes = zeros({1, 10, 4});
    scores.data<float>()[7] = 0.9F;
    const float box[] = {0.25F, 0.125F, 0.75F, 0.5F};
    std::ranges::copy(box, boxes.data<float>().begin() + 12);
    all.push_back({HeadKind::kUltraface, {scores, boxes}, {0, 0.9F, {16, 8, 48, 32}, {}}});
  }
  {
    const auto n = static_cast<int64_t>(2 * cells);
    Tensor boxes = zeros({1, n, 4}), scores = zeros({1, n, 2}), points = zeros({1, n, 10});
    scores.data<float>()[2 * (2 * 19) + 1] = 0.9F;  // stride 8, cell (3, 2), 16 pixels
    boxes.data<float>()[4 * (2 * 19)] = 5;          // half of its size to the right
    FacePoints face;
    face.fill({28, 20});
    all.push_back(
        {HeadKind::kRetinaface, {boxes, scores, points}, {0, 0.9F, {28, 12, 44, 28}, face}});
  }
  {
    Tensor scores = zeros({1, 10, 1 + kClasses + 1}), boxes = zeros({1, 10, 4});
    scores.data<float>()[5 * 3 + 2] = 0.9F;
    const float box[] = {0.25F, 0.125F, 0.75F, 0.5F};
    std::ranges::copy(box, boxes.data<float>().begin() + 12);
    all.push_back({HeadKind::kSsd, {boxes, scores}, {1, 0.9F, {16, 8, 48, 32}, {}}});
  }
  return all;
}

std::vector<TensorInfo> infos_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorInfo> infos;
  for (const Tensor& tensor : tensors) {
    TensorInfo info{.name = "y", .dtype = DType::kF32, .dims = Dims()};
    for (size_t i = 0; i < tensor.shape().rank(); ++i) info.dims->push_back(tensor.shape()[i]);
    infos.push_back(info);
  }
  return infos;
}

const TensorInfo kImage{.name = "x", .dtype = DType::kF32, .dims = Dims{1, 3, kSide, kSide}};

TEST(Heads, FindAPlantedBox) {
  for (const Planted& one : planted()) {
    SCOPED_TRACE(std::string(name_of(one.kind)));
    const auto head = recognise(std::span(&kImage, 1), infos_of(one.outputs));
    ASSERT_TRUE(head.ok()) << head.status().message();
    EXPECT_EQ(head->kind, one.kind);
    EXPECT_EQ(find_head(name_of(one.kind)), one.kind);
    const int64_t classes = one.kind == HeadKind::kSsd ? kClasses + 1 : kClasses;
    EXPECT_EQ(head->classes, one.wanted.label == 1 ? classes : 1);
    // The image is twice as wide and as high, and nothing is beside it.
    const Placement twice{.scale_x = 0.5F, .scale_y = 0.5F, .width = 128, .height = 128};
    const auto found = decode(*head, one.outputs, twice, 0.25F);
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found->size(), 1u);
    const Detection& detection = found->front();
    EXPECT_EQ(detection.label, one.wanted.label);
    EXPECT_NEAR(detection.score, one.wanted.score, 1e-5);
    EXPECT_NEAR(detection.box.left, 2 * one.wanted.box.left, 1e-3);
    EXPECT_NEAR(detection.box.top, 2 * one.wanted.box.top, 1e-3);
    EXPECT_NEAR(detection.box.right, 2 * one.wanted.box.right, 1e-3);
    EXPECT_NEAR(detection.box.bottom, 2 * one.wanted.box.bottom, 1e-3);
    ASSERT_EQ(detection.points.has_value(), one.wanted.points.has_value());
    if (detection.points) {
      EXPECT_NEAR((*detection.points)[2].x, 2 * (*one.wanted.points)[2].x, 1e-3);
    }
  }
}

constexpr double kSsdCount = 13289, kSsdEdges = 1055263342.271, kSsdScores = 648576.68206;

// Sums that NumPy gives for the same outputs: all boxes of probability 0.2 at least, each edge
// times its place; tests/watch/detectors.py has whole networks.
TEST(Heads, DecodeAnSsd300AsNumpyDoes) {
  const TensorInfo image{.name = "x", .dims = Dims{1, 3, 300, 300}};
  Tensor scores = zeros({1, 8732, 6}), boxes = zeros({1, 8732, 4});
  for (int64_t i = 0; i < 8732; ++i) {
    for (int64_t c = 0; c < 6; ++c) {
      scores.data<float>()[static_cast<size_t>(6 * i + c)] =
          static_cast<float>((i * 31 + c * 17) % 23) / 8;
    }
    for (int64_t e = 0; e < 4; ++e) {
      boxes.data<float>()[static_cast<size_t>(4 * i + e)] =
          static_cast<float>((i * 7 + e * 5) % 13) / 4 - 1.5F;
    }
  }
  const auto head = recognise(std::span(&image, 1), infos_of({scores, boxes}));
  ASSERT_TRUE(head.ok()) << head.status().message();
  EXPECT_EQ(head->kind, HeadKind::kSsd300);
  EXPECT_EQ(head->classes, 5);
  const Placement same{.width = 300, .height = 300};
  const auto sums_of = [&](const Tensor& tensor) {
    const std::vector<Tensor> outputs = {tensor, boxes};
    const auto found = decode(*head, outputs, same, 0.2F);
    EXPECT_TRUE(found.ok());
    double edges = 0, all = 0;
    for (size_t i = 0; i < found->size(); ++i) {
      const Detection& detection = (*found)[i];
      const auto place = static_cast<double>(i % 97 + 1);
      edges += place * (detection.box.left + 2 * detection.box.top + 3 * detection.box.right +
                        4 * detection.box.bottom);
      all += place * detection.score * static_cast<double>(detection.label + 1);
    }
    return std::array{static_cast<double>(found->size()), edges, all};
  };
  const auto sums = sums_of(scores);
  EXPECT_EQ(sums[0], kSsdCount);
  EXPECT_NEAR(sums[1], kSsdEdges, 1e-6 * kSsdEdges);
  EXPECT_NEAR(sums[2], kSsdScores, 1e-6 * kSsdScores);
  // Networks that end with softmax say the same.
  Tensor shares = scores;
  for (size_t i = 0; i < 8732; ++i) {
    float sum = 0;
    for (size_t c = 0; c < 6; ++c)
      sum += shares.data<float>()[6 * i + c] = std::exp(scores.data<float>()[6 * i + c]);
    for (size_t c = 0; c < 6; ++c) shares.data<float>()[6 * i + c] /= sum;
  }
  EXPECT_EQ(sums_of(shares)[0], kSsdCount);
  EXPECT_NEAR(sums_of(shares)[2], kSsdScores, 1e-5 * kSsdScores);
}

TEST(Heads, RefuseWhatIsNoDetector) {
  const auto refused = [](const TensorInfo& input, const std::vector<Dims>& outputs) {
    std::vector<TensorInfo> infos;
    for (const Dims& dims : outputs) {
      infos.push_back({.name = "y", .dtype = DType::kF32, .dims = dims});
    }
    return recognise(std::span(&input, 1), infos).status().code() == Code::kUnsupported;
  };
  EXPECT_TRUE(refused(kImage, {{1, 1000}}));
  EXPECT_TRUE(refused(kImage, {}));
  EXPECT_TRUE(refused(kImage, {{1, 4, 84}}));
  EXPECT_TRUE(refused({.name = "x", .dims = Dims{1, 10}}, {{1, 84, 84}}));
  EXPECT_TRUE(refused({.name = "x", .dims = Dims{1, 3, -1, -1}}, {{1, 84, 84}}));
  EXPECT_TRUE(refused({.name = "x"}, {{1, 84, 84}}));
  // Outputs of a run that are others than the model declared.
  for (const Planted& one : planted()) {
    const auto head = recognise(std::span(&kImage, 1), infos_of(one.outputs));
    std::vector<Tensor> other = one.outputs;
    other[0] = zeros({1, 7});
    EXPECT_FALSE(decode(*head, other, {}, 0.5F).ok()) << name_of(one.kind);
    other.clear();
    EXPECT_FALSE(decode(*head, other, {}, 0.5F).ok()) << name_of(one.kind);
  }
}

// A point of the image is where prepare() put it.
TEST(Preparing, KeepsThePlaceOfAPixel) {
  for (const Fit fit : {Fit::kStretch, Fit::kCentre, Fit::kCorner}) {
    Head head{.height = 64, .width = 96, .fit = fit, .pad = 7};
    head.preprocess.scale = false;
    Tensor image({DType::kU8, {120, 80, 3}});
    std::ranges::fill(image.data<uint8_t>(), uint8_t{0});
    for (int64_t y = 60; y < 90; ++y) {
      for (int64_t x = 20; x < 40; ++x) {
        for (int64_t c = 0; c < 3; ++c) {
          image.data<uint8_t>()[static_cast<size_t>((y * 80 + x) * 3 + c)] = 200;
        }
      }
    }
    const auto result = prepare(image, head);
    ASSERT_TRUE(result.ok()) << result.status().message();
    Box seen{1e9F, 1e9F, -1, -1};
    const auto pixels = result->input.data<float>();
    for (size_t y = 0; y < 64; ++y) {
      for (size_t x = 0; x < 96; ++x) {
        if (pixels[y * 96 + x] < 100) continue;
        const auto px = static_cast<float>(x), py = static_cast<float>(y);
        seen = {std::min(seen.left, px), std::min(seen.top, py), std::max(seen.right, px + 1),
                std::max(seen.bottom, py + 1)};
      }
    }
    EXPECT_EQ(result->placement.shift_x, fit == Fit::kCentre ? 26 : 0);  // of 96, 43 are shown
    const Box there = result->placement.to_image(seen);
    EXPECT_GT(overlap(there, {20, 60, 40, 90}), 0.85F) << static_cast<int>(fit);
  }
}

// COCO's own numbers by hand: two true boxes, found in order right, wrong, right.
TEST(AveragePrecision, IsThatOfCoco) {
  Precision precision;
  const Box a{0, 0, 10, 10}, b{20, 20, 30, 30}, nowhere{50, 50, 60, 60};
  precision.add({{0, 0.9F, a, {}}, {0, 0.8F, nowhere, {}}, {0, 0.7F, b, {}}}, {{0, a}, {0, b}});
  // Precision 1 up to recall 1/2 (51 of 101 places), 2/3 up to recall 1.
  EXPECT_NEAR(precision.average_precision(0, 0), 100 * (51 + 50 * 2.0 / 3) / 101, 1e-9);
  EXPECT_NEAR(precision.map50(), precision.map(), 1e-9);  // all boxes are exact
}

TEST(AveragePrecision, CountsATrueBoxOnceAndNeedsTheOverlap) {
  Precision precision;
  const Box a{0, 0, 10, 10}, shifted{0, 0, 10, 7};  // overlap 0.7
  precision.add({{0, 0.9F, shifted, {}}, {0, 0.8F, a, {}}}, {{0, a}});
  EXPECT_NEAR(precision.average_precision(0, 0), 100, 1e-9);
  EXPECT_NEAR(precision.average_precision(0, 5), 50, 1e-9);  // 0.75: the second one is right
  EXPECT_EQ(precision.average_precision(1, 0), 0);
  // The same box twice does not stand for the one that was not found.
  Precision twice;
  twice.add({{0, 0.9F, a, {}}, {0, 0.8F, a, {}}}, {{0, a}, {0, {20, 20, 30, 30}}});
  EXPECT_NEAR(twice.average_precision(0, 0), 100 * 51.0 / 101, 1e-9);
  precision.add({{2, 0.9F, a, {}}}, {});  // a class that never occurs does not count
  EXPECT_NEAR(precision.map50(), 100, 1e-9);
}

TEST(Truth, IsReadAndChecked) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const auto file = folder->path() / "a.txt";
  std::ofstream(file) << "3 0.5 0.25 0.2 0.1\n\n7 0 0 1 1 0.9\n";
  const auto truth = read_truth(file, 100, 200);
  ASSERT_TRUE(truth.ok()) << truth.status().message();
  ASSERT_EQ(truth->size(), 2u);
  EXPECT_EQ((*truth)[0].label, 3);
  EXPECT_NEAR((*truth)[0].box.top, 40, 1e-4);
  EXPECT_TRUE(read_truth(folder->path() / "none.txt", 1, 1)->empty());
  std::ofstream(file) << "3 0.5 0.25 0.2\n";
  const auto bad = read_truth(file, 100, 200);
  EXPECT_EQ(bad.status().code(), Code::kCorrupt);
  EXPECT_NE(bad.status().message().find("line 1"), std::string::npos);
  EXPECT_EQ(list_labelled_images(folder->path()).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace shoal::detect
