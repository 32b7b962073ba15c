// The checks FQ-1 to FQ-6 and C6 of docs/references.md, on synthetic streams with brute force as
// the control.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/video/query/ask.h"
#include "shoal/video/query/classifier.h"
#include "shoal/video/query/index.h"
#include "shoal/video/query/labels.h"

namespace shoal::query {
namespace {

constexpr int64_t kClasses = 12;
constexpr size_t kExits = 3, kFeatures = 16;

// What a stream is like.
struct StreamOptions {
  uint32_t seed = 1;
  size_t objects = 3000;
  std::vector<double> errors = {0.12, 0.08, 0.05};  // how often each exit's best class is wrong
  double sure = 6, doubt = 0.7;                     // margins of right and of wrong answers
};

struct Seen {  // an object in a frame
  int64_t frame;
  size_t object;
  std::vector<float> features;
};

// Objects of classes by Zipf's law, each in some successive frames, and what exits say of them.
struct SyntheticVideo {
  std::vector<Example> objects;
  std::vector<Seen> seen;
  int64_t frames = 0;

  std::vector<int64_t> frames_with(int64_t label) const {
    std::set<int64_t> all;
    for (const Seen& one : seen) {
      if (objects[one.object].label == label) all.insert(one.frame);
    }
    return {all.begin(), all.end()};
  }
};

ExitScores draw_scores(const StreamOptions& options, int64_t label, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  ExitScores scores;
  for (size_t j = 0; j < kExits; ++j) {
    std::vector<float> row(kClasses);
    for (float& x : row) x = static_cast<float>(0.3 * normal(rng));
    const bool wrong = uniform(rng) < options.errors[j];
    const auto other =
        static_cast<size_t>((label + 1 + int64_t(rng() % (kClasses - 1))) % kClasses);
    const auto best = wrong ? other : static_cast<size_t>(label);
    row[best] += static_cast<float>((wrong ? options.doubt : options.sure) *
                                    (1 + 0.3 * std::abs(normal(rng))));
    if (wrong) {
      row[static_cast<size_t>(label)] +=
          static_cast<float>(options.doubt * (0.5 + 0.5 * uniform(rng)));
    }
    scores.push_back(row);
  }
  return scores;
}

std::vector<float> unit(std::vector<float> v) {
  double sum = 0;
  for (float x : v) sum += double{x} * x;
  for (float& x : v) x = static_cast<float>(x / std::sqrt(sum));
  return v;
}

SyntheticVideo make_video(const StreamOptions& options) {
  std::mt19937 rng(options.seed);
  std::normal_distribution<float> normal;
  std::vector<double> weights;
  for (int64_t c = 0; c < kClasses; ++c) weights.push_back(1 / std::pow(double(c + 1), 1.2));
  std::discrete_distribution<int64_t> zipf(weights.begin(), weights.end());
  SyntheticVideo video;
  for (size_t i = 0; i < options.objects; ++i) {
    const int64_t label = zipf(rng);
    video.objects.push_back({draw_scores(options, label, rng), label});
    std::vector<float> features(kFeatures);
    for (float& x : features) x = normal(rng);
    const int64_t begin = video.frames;
    const int64_t length = 3 + int64_t(rng() % 12);
    for (int64_t f = 0; f < length; ++f) {
      std::vector<float> now = unit(features);
      for (float& x : now) x += 0.02F * normal(rng);
      video.seen.push_back({begin + f, i, unit(now)});
    }
    video.frames += 1 + int64_t(rng() % 8);  // the next one may come before this one is gone
  }
  std::ranges::stable_sort(video.seen, {}, &Seen::frame);
  video.frames = video.seen.back().frame + 1;
  return video;
}

Index index_of(const SyntheticVideo& video, const LabelConfig& config) {
  Indexer indexer({.distance = 0.1});
  for (const Seen& one : video.seen) {
    const ExitScores& scores = video.objects[one.object].scores;
    indexer.add(one.frame, labels_of(scores, config), one.features, answers_of(scores));
  }
  return {.source = "synthetic",
          .frames = video.frames,
          .classes = kClasses,
          .clusters = indexer.clusters()};
}

// The expensive network is always right about the object that a cluster began with.
ExpensiveFunction truth_of(const SyntheticVideo& video) {
  return [&video](const Cluster& cluster) -> Result<int64_t> {
    for (const Seen& one : video.seen) {
      if (one.frame != cluster.first) continue;
      const Example& object = video.objects[one.object];
      if (answers_of(object.scores) == cluster.exits) return object.label;
    }
    return Status(Code::kNotFound, "no object");
  };
}

TEST(Labels, AreAUnionWithoutDuplicates) {  // FQ-1
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    const Example one{draw_scores({}, int64_t(rng() % kClasses), rng), 0};
    const LabelConfig config{.k = 1 + rng() % 6, .first = rng() % 2, .exits = 1 + rng() % 2};
    const std::vector<int64_t> labels = labels_of(one.scores, config);
    std::set<int64_t> expected;
    for (size_t j = config.first; j < config.first + config.exits; ++j) {
      std::vector<int64_t> order(kClasses);
      for (size_t c = 0; c < order.size(); ++c) order[c] = int64_t(c);
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
        return one.scores[j][size_t(a)] > one.scores[j][size_t(b)];
      });
      expected.insert(order.begin(), order.begin() + std::ptrdiff_t(config.k));
    }
    EXPECT_EQ(labels, std::vector<int64_t>(expected.begin(), expected.end()));
    EXPECT_GE(labels.size(), config.k);
    EXPECT_LE(labels.size(), config.k * config.exits);
  }
  const std::vector<float> row = {1, 3, 2};
  EXPECT_EQ(labels_of({row, row, row}, {.k = 2, .exits = 3}), (std::vector<int64_t>{1, 2}));
}

TEST(Labels, OfSeveralExitsAreFewer) {  // FQ-2
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const SyntheticVideo video = make_video({.seed = seed});
    const auto prefixes = choose_labels(video.objects, LabelChoice::kPrefixes);
    const auto single = choose_labels(video.objects, LabelChoice::kOneExit);
    ASSERT_TRUE(prefixes && single);
    EXPECT_GE(prefixes->recall, 0.99);
    EXPECT_GE(single->recall, 0.99);
    EXPECT_LT(1.3 * double(prefixes->entries), double(single->entries));
  }
  EXPECT_FALSE(choose_labels(make_video({}).objects, LabelChoice::kOneExit, 1.1).has_value());
}

TEST(Ask, IsRightWithFewCalls) {  // C6, FQ-4, FQ-6
  const auto thresholds = thresholds_from(make_video({.seed = 100}).objects);
  ASSERT_TRUE(thresholds.ok());
  size_t clusters = 0, calls = 0;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const SyntheticVideo video = make_video({.seed = seed});
    const Index index = index_of(video, {.k = 1, .exits = 3});
    double precision = 0, recall = 0;
    for (int64_t label = 0; label < kClasses; ++label) {
      const auto found = ask(index, label, *thresholds, truth_of(video));
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(found->calls, calls_needed(index, label, *thresholds));
      EXPECT_EQ(found->clusters, found->calls + found->accepted + found->rejected);
      clusters += found->clusters;
      calls += found->calls;
      const Retrieval figures = retrieval(found->frames, video.frames_with(label));
      precision += figures.precision / kClasses;
      recall += figures.recall / kClasses;
    }
    EXPECT_GE(precision, 0.99) << seed;
    EXPECT_GE(recall, 0.99) << seed;
  }
  EXPECT_GE(double(clusters), 10 * double(calls));
}

TEST(Ask, TakesFewerCallsTheLowerTheThresholds) {  // FQ-3, FQ-4
  const SyntheticVideo video = make_video({.seed = 2, .objects = 600});
  const Index index = index_of(video, {.k = 1, .exits = 3});
  for (int64_t label = 0; label < 3; ++label) {
    const auto plain = ask(index, label, {}, truth_of(video));
    const std::vector<double> never(kExits, exits::kNever);
    const auto with_never = ask(index, label, never, truth_of(video));
    ASSERT_TRUE(plain.ok() && with_never.ok());
    EXPECT_EQ(with_never->frames, plain->frames);
    EXPECT_EQ(plain->calls, plain->clusters);
    size_t last = plain->calls;
    for (const double threshold : {0.999, 0.99, 0.9, 0.5, 0.0}) {
      const size_t calls = calls_needed(index, label, std::vector<double>(kExits, threshold));
      EXPECT_LE(calls, last);
      last = calls;
    }
    EXPECT_EQ(last, 0u);
  }
}

TEST(Ask, LeavesWeakExitsOff) {  // FQ-5
  // Wrong answers are as sure as right ones.
  const StreamOptions weak{
      .seed = 3, .objects = 600, .errors = {0.5, 0.5, 0.5}, .sure = 3, .doubt = 3};
  const SyntheticVideo video = make_video(weak);
  const auto thresholds = thresholds_from(video.objects);
  ASSERT_TRUE(thresholds.ok());
  const Index index = index_of(video, {.k = 3, .exits = 3});
  for (int64_t label = 0; label < 4; ++label) {
    const auto found = ask(index, label, *thresholds, truth_of(video));
    ASSERT_TRUE(found.ok());
    EXPECT_LE(found->calls, found->clusters);
    EXPECT_GE(double(found->calls), 0.9 * double(found->clusters));
    const Retrieval figures = retrieval(found->frames, video.frames_with(label));
    EXPECT_GE(figures.precision, 0.98);
  }
  EXPECT_FALSE(thresholds_from({}, {.precision = 2}).ok());
}

TEST(Index, IsTheSameAfterWritingAndReadingAndSurvivesHostileText) {
  const SyntheticVideo video = make_video({.seed = 4, .objects = 12});
  Index index = index_of(video, {.k = 2, .exits = 3});
  index.source = "a \"b\"\n\xC3\xA9";
  index.thresholds = {0.9, exits::kNever, 0.123456789};
  index.frames = 1000;
  for (int64_t f = 900; f < 1000; ++f) index.clusters[0].frames.push_back(f);
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(save(index, folder.path() / "i").ok());
  const auto read = load_index(folder.path() / "i");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, index);

  std::mt19937 rng(4);
  size_t refused = 0;
  const std::string text = to_text(index);
  for (int round = 0; round < 2000; ++round) {
    std::string hostile = text;
    const size_t at = rng() % text.size();
    switch (rng() % 3) {
      case 0:
        hostile.resize(at);
        break;
      case 1:
        hostile[at] = static_cast<char>(rng());
        break;
      default:
        hostile.insert(at, text.substr(rng() % text.size(), rng() % 40));
    }
    const auto parsed = parse_index(hostile);
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.status().code(), Code::kCorrupt) << parsed.status().message();
      ++refused;
      continue;
    }
    EXPECT_EQ(*parse_index(to_text(*parsed)), *parsed);
  }
  EXPECT_GT(refused, 1000u);
}

TEST(Indexer, KeepsClustersThatNoLongerGrow) {
  Indexer indexer({.distance = 0.1, .open = 2});
  const std::vector<int64_t> label = {5};
  const auto add = [&](int64_t frame, float x) {
    indexer.add(frame, label, std::vector<float>{x}, {{5, 0.5}});
  };
  for (const auto& [frame, x] :
       {std::pair<int64_t, float>{0, 0}, {1, 9}, {1, 0}, {2, 20}, {3, 9}, {4, 0}}) {
    add(frame, x);
  }
  // The third opens after 9 was joined longest ago; 9 and then 0 begin anew.
  std::vector<std::vector<int64_t>> frames;
  for (const Cluster& one : indexer.clusters()) frames.push_back(one.frames);
  EXPECT_EQ(frames, (std::vector<std::vector<int64_t>>{{0, 1}, {1}, {2}, {3}, {4}}));
  EXPECT_EQ(indexer.entries(), 6u);
}

TEST(Classifier, GivesScoresOfAModel) {
  const auto model = open_model("zoo:convnet");
  const auto device = make_reference_device();
  auto classifier = Classifier::open(*model, *device, {.stretch = true});
  ASSERT_TRUE(classifier.ok()) << classifier.status().message();
  const auto scores = classifier->scores(Tensor({DType::kU8, {20, 30, 3}}));
  ASSERT_TRUE(scores.ok()) << scores.status().message();
  ASSERT_EQ(scores->size(), 1u);
  EXPECT_EQ((*scores)[0].size(), 10u);
  EXPECT_FALSE(Classifier::open(*open_model("zoo:seq2seq"), *device, {}).ok());
}

}  // namespace
}  // namespace shoal::query
