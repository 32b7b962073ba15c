// Scores of exits for tests, of images with known class probabilities.
#pragma once

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "shoal/engine/run/scores.h"
#include "shoal/shrink/exits/thresholds/drop_calibration.h"

namespace shoal::exits::testing {

inline constexpr size_t kKnownClasses = 10;
inline const std::vector<int64_t> kMacs{28, 22, 25, 25};

struct World {
  ExitScores scores = {};
  std::vector<std::vector<double>> truth = {};  // per image: of each class, given all that is seen
};

// An image of class y has noise of its own size s: an exit that looked for the time t has the mean
// m of what it saw, 1 where c = y, plus noise s B(t) / t for each class, with a Brownian motion B.
// The evidence is m t / s^2, whose softmax is true; exits overstate it, later ones more, by a
// factor per image. Their top-1 is 75, 81, 83 and 84 %.
inline World drawn(size_t images, std::mt19937& rng) {
  constexpr double kTimes[] = {1, 1.4, 1.6, 1.65}, kOverstated[] = {1.1, 1.35, 1.5, 1.7};
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<size_t> any(0, kKnownClasses - 1);
  World world;
  world.scores.classes = kKnownClasses;
  world.scores.exits.resize(std::size(kTimes));
  for (size_t i = 0; i < images; ++i) {
    const size_t label = any(rng);
    world.scores.labels.push_back(static_cast<int64_t>(label));
    const double noise = 0.4 * std::exp(0.6 * normal(rng));
    std::vector<double> motion(kKnownClasses);
    std::vector<float> evidence(kKnownClasses);
    double before = 0;
    for (size_t e = 0; e < std::size(kTimes); ++e) {
      const double time = kTimes[e], factor = kOverstated[e] * std::exp(0.25 * normal(rng));
      for (size_t c = 0; c < kKnownClasses; ++c) {
        motion[c] += noise * std::sqrt(time - before) * normal(rng);
        const double seen = (c == label ? time : 0) + motion[c];
        evidence[c] = static_cast<float>(seen / (noise * noise));
        world.scores.exits[e].push_back(static_cast<float>(factor * double{evidence[c]}));
      }
      before = time;
    }
    world.truth.push_back(fit::softmax(evidence));
  }
  return world;
}

// Points that exits lose against the last classifier, by the true probabilities; and the mean work.
struct Lost {
  double points = 0, macs = 0;
};
inline Lost lost(const World& world, std::span<const double> scales,
                 std::span<const double> thresholds) {
  const ExitScores scores = scaled(world.scores, scales);
  const size_t exits = thresholds.size();
  Lost lost;
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const auto best = [&](size_t e) {
      return static_cast<size_t>(fit::best_class(scores.of(e, i)));
    };
    size_t e = 0;
    double macs = static_cast<double>(kMacs[0]);
    while (e < exits && fit::softmax(scores.of(e, i))[best(e)] < thresholds[e]) {
      macs += static_cast<double>(kMacs[++e]);
    }
    lost.points += 100 * (world.truth[i][best(exits)] - world.truth[i][best(e)]);
    lost.macs += macs;
  }
  const auto images = static_cast<double>(scores.labels.size());
  return {lost.points / images, lost.macs / images};
}

}  // namespace shoal::exits::testing
