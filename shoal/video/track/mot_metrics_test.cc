#include "shoal/video/track/mot_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/processes/process.h"

namespace shoal::track {
namespace {

// A square of side 10 at (x, 0).
Identified at(int64_t id, float x) { return {id, {x, 0, x + 10, 10}}; }

// One object, two frames as identity 1, then two as identity 2.
TEST(MotMetrics, CountsByHand) {
  MotMetrics metrics;
  for (const int64_t id : {1, 1, 2, 2}) metrics.add({at(7, 0)}, {at(id, 1)});
  EXPECT_EQ(metrics.switches(), 1u);
  EXPECT_EQ(metrics.misses(), 0u);
  EXPECT_DOUBLE_EQ(metrics.mota(), 75);
  EXPECT_DOUBLE_EQ(metrics.idf1(), 50);  // 2 * 2 / (4 + 4)
  EXPECT_NEAR(metrics.motp(), 100 * 90.0 / 110, 1e-4);
  metrics.add({at(7, 0)}, {at(2, 6)});  // overlaps by a quarter: a miss and a false alarm
  EXPECT_EQ(metrics.misses(), 1u);
  EXPECT_EQ(metrics.false_alarms(), 1u);
  EXPECT_DOUBLE_EQ(metrics.mota(), 100 * (5 - 3) / 5.0);
  EXPECT_DOUBLE_EQ(metrics.idf1(), 40);
  // Nothing there, nothing shown; and an object that was away keeps its last identity.
  metrics.add({}, {});
  metrics.add({at(7, 0)}, {at(2, 0)});
  EXPECT_EQ(metrics.switches(), 1u);
  EXPECT_DOUBLE_EQ(MotMetrics().mota(), 0);
  EXPECT_DOUBLE_EQ(MotMetrics().idf1(), 0);
}

// A pair of the frame before stays a pair although another box fits better now.
TEST(MotMetrics, PairsStayTogether) {
  MotMetrics metrics;
  metrics.add({at(1, 0)}, {at(5, 0)});
  metrics.add({at(1, 0)}, {at(5, 3), at(6, 0)});
  EXPECT_EQ(metrics.switches(), 0u);
  EXPECT_EQ(metrics.false_alarms(), 1u);
  metrics.add({at(1, 0)}, {at(6, 0)});
  EXPECT_EQ(metrics.switches(), 1u);
}

// The most frames in which paired identities overlap, by trying all ways to pair them.
size_t best_together(const std::vector<std::vector<Identified>>& truth,
                     const std::vector<std::vector<Identified>>& shown, int64_t ids) {
  std::map<std::pair<int64_t, int64_t>, size_t> together;
  for (size_t f = 0; f < truth.size(); ++f) {
    for (const Identified& a : truth[f]) {
      for (const Identified& b : shown[f]) {
        if (detect::overlap(a.box, b.box) >= 0.5F) ++together[{a.id, b.id}];
      }
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(ids));
  std::iota(order.begin(), order.end(), 0);
  size_t best = 0;
  do {
    size_t sum = 0;
    for (size_t i = 0; i < order.size(); ++i) sum += together[{static_cast<int64_t>(i), order[i]}];
    best = std::max(best, sum);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(MotMetrics, IdentitiesArePairedAtBest) {
  std::mt19937 rng(3);
  for (int round = 0; round < 100; ++round) {
    constexpr int64_t kIds = 4;
    std::vector<std::vector<Identified>> truth(12), shown(12);
    MotMetrics metrics;
    size_t boxes = 0;
    for (size_t f = 0; f < truth.size(); ++f) {
      for (int64_t id = 0; id < kIds; ++id) {
        if (rng() % 4 != 0) truth[f].push_back(at(id, static_cast<float>(rng() % 30)));
        if (rng() % 4 != 0) shown[f].push_back(at(id, static_cast<float>(rng() % 30)));
      }
      metrics.add(truth[f], shown[f]);
      boxes += truth[f].size() + shown[f].size();
    }
    const auto together = static_cast<double>(best_together(truth, shown, kIds));
    EXPECT_NEAR(metrics.idf1(), 100 * 2 * together / static_cast<double>(boxes), 1e-9);
    EXPECT_GE(metrics.truths(), metrics.misses());
    EXPECT_EQ(metrics.truths() - metrics.misses(), metrics.shown() - metrics.false_alarms());
  }
}

// py-motmetrics on the output of a tracker that its authors give along.
TEST(MotMetrics, AgreesWithAnotherProgram) {
  const auto folder = executable_path().parent_path() / "../../../shared/data/video/mot-reference";
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) GTEST_SKIP() << "no ../shared here";
  struct Expected {
    const char* name;
    size_t frames, false_alarms, misses, switches;
    double idf1, mota;
  };
  for (const Expected& expected : {Expected{"TUD-Campus", 71, 13, 150, 7, 55.8, 52.6},
                                   Expected{"TUD-Stadtmitte", 179, 45, 452, 7, 64.5, 56.4}}) {
    const auto truth = read_identities(folder / (std::string(expected.name) + ".gt.txt"));
    const auto shown = read_identities(folder / (std::string(expected.name) + ".test.txt"));
    ASSERT_TRUE(truth.ok() && shown.ok());
    MotMetrics metrics;
    const auto of = [](const Identities& all, size_t frame) {
      const auto known = all.find(frame);
      return known == all.end() ? std::vector<Identified>() : known->second;
    };
    for (size_t f = 0; f < expected.frames; ++f) metrics.add(of(*truth, f), of(*shown, f));
    EXPECT_EQ(metrics.false_alarms(), expected.false_alarms) << expected.name;
    EXPECT_EQ(metrics.misses(), expected.misses) << expected.name;
    EXPECT_EQ(metrics.switches(), expected.switches) << expected.name;
    EXPECT_NEAR(metrics.idf1(), expected.idf1, 0.05) << expected.name;
    EXPECT_NEAR(metrics.mota(), expected.mota, 0.05) << expected.name;
  }
}

TEST(Identities, AreReadAndRefused) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const auto path = folder->path() / "gt.txt";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_identities(path);
  };
  const auto good = read("1,4,10,20,5,6,1,-1,-1,-1\r\n\n3, 4,1.5,2,3,4\n3,5,0,0,1,1,0\n");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->at(0)[0].box, (detect::Box{10, 20, 15, 26}));
  EXPECT_EQ(good->at(2).size(), 1u);  // confidence 0 does not count
  for (const char* bad : {"1,4,10,20,5\n", "0,4,1,1,1,1,1\n", "1,x,1,1,1,1,1\n", "1,4,nan,1,1,1\n",
                          "1e300,4,1,1,1,1\n", "1,1e300,1,1,1,1\n", "1,4,1,1,1,1\n1,4,2,2,2,2\n"}) {
    EXPECT_EQ(read(bad).status().code(), Code::kCorrupt) << bad;
  }
  EXPECT_EQ(read_identities(folder->path() / "none").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace shoal::track
