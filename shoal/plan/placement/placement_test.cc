#include "shoal/plan/placement/placement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "shoal/model/ops/ops.h"
#include "shoal/plan/placement/cluster_placer.h"

namespace shoal::placement {
namespace {

using Rng = std::mt19937;

double uniform(Rng& rng, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(rng);
}

size_t below(Rng& rng, size_t bound) { return rng() % bound; }

// Machines and cameras, some of them alike; loads around one.
Problem random_problem(Rng& rng, size_t machines, size_t cameras) {
  Problem problem{.objective = below(rng, 2) == 0 ? Objective::kLatency : Objective::kEnergy};
  for (size_t m = 0; m < machines; ++m) {
    if (m > 0 && below(rng, 3) == 0) {
      problem.machines.push_back(problem.machines.back());
      continue;
    }
    problem.machines.push_back({.name = "m" + std::to_string(m),
                                .link = {.latency_seconds = uniform(rng, 0, 1e-2),
                                         .bytes_per_second = uniform(rng, 1e6, 1e7),
                                         .medium = below(rng, 2) == 0 ? plan::kOwnWire : 0},
                                .cores = below(rng, 4) == 0 ? 2.0 : 1.0,
                                .watts = below(rng, 3) == 0 ? 0 : uniform(rng, 1, 10),
                                .joules_per_byte = uniform(rng, 0, 1e-6),
                                .present = below(rng, 8) != 0});
  }
  for (size_t c = 0; c < cameras; ++c) {
    if (c > 0 && below(rng, 3) == 0) {
      problem.cameras.push_back(problem.cameras.back());
      continue;
    }
    Camera camera{.name = "c" + std::to_string(c),
                  .origin = static_cast<int>(below(rng, machines)),
                  .listener = static_cast<int>(below(rng, machines)),
                  .rate = uniform(rng, 1, 20),
                  .activity = uniform(rng, 0.1, 1),
                  .latest_seconds = below(rng, 2) == 0 ? kCannot : uniform(rng, 0.05, 0.5)};
    for (std::vector<double>& seconds : camera.seconds) {
      for (size_t m = 0; m < machines; ++m) {
        const size_t kind = below(rng, 6);
        // Machines that are alike are so for cameras, too, now and then.
        const bool as_before = m > 0 && below(rng, 2) == 0;
        seconds.push_back(as_before   ? seconds.back()
                          : kind == 0 ? kCannot
                          : kind == 1 ? 0
                                      : uniform(rng, 1e-3, 0.1));
      }
    }
    for (double& bytes : camera.bytes) bytes = below(rng, 4) == 0 ? 0 : uniform(rng, 0, 1e5);
    problem.cameras.push_back(camera);
  }
  return problem;
}

// All places that a camera can have.
std::vector<Places> places_of(const Problem& problem, size_t camera) {
  const auto count = static_cast<int>(problem.machines.size());
  std::vector<Places> all;
  Problem alone = problem;
  alone.cameras = {problem.cameras[camera]};
  for (int code = 0; code < count * count * count * count; ++code) {
    const Places places = {code % count, code / count % count, code / count / count % count,
                           code / count / count / count};
    if (evaluate(alone, {places}).ok()) all.push_back(places);
  }
  if (all.empty()) all.push_back(kUnplaced);
  return all;
}

// The best of all placements, one after the other.
Score best_of_all(const Problem& problem) {
  std::vector<std::vector<Places>> all;
  for (size_t c = 0; c < problem.cameras.size(); ++c) all.push_back(places_of(problem, c));
  std::vector<size_t> index(all.size());
  std::vector<Places> places(all.size());
  std::optional<Score> best;
  for (;;) {
    for (size_t c = 0; c < all.size(); ++c) places[c] = all[c][index[c]];
    const Score score = evaluate(problem, places)->score;
    if (!best || is_better(score, *best, problem.objective)) best = score;
    size_t c = 0;
    while (c < all.size() && ++index[c] == all[c].size()) index[c++] = 0;
    if (c == all.size()) return *best;
  }
}

std::vector<Places> places_of(const Placement& placement) {
  std::vector<Places> all;
  for (const Expected& one : placement.cameras) all.push_back(one.places);
  return all;
}

// Boards that are alike look at the cameras of one machine.
Problem boards(size_t cameras, size_t count, double seconds) {
  Problem problem;
  problem.machines.push_back({.name = "here", .link = {2e-4, 1e8}, .cores = 4});
  std::vector<double> here(count + 1, kCannot), look(count + 1, seconds);
  here[0] = 0.002;
  look[0] = kCannot;
  for (size_t m = 0; m < count; ++m) {
    problem.machines.push_back({.name = "pi" + std::to_string(m), .link = {2e-4, 1e8}});
  }
  for (size_t c = 0; c < cameras; ++c) {
    problem.cameras.push_back({.name = "c" + std::to_string(c),
                               .rate = 30,
                               .seconds = {here, here, look, here},
                               .bytes = {0, 0, 1e6, 1e5, 0}});
  }
  return problem;
}

Problem random_boards(Rng& rng) {
  Problem problem = boards(6, 3, 0);
  for (size_t c = 0; c < problem.cameras.size(); ++c) {
    Camera& camera = problem.cameras[c];
    const double seconds = uniform(rng, 0.01, 0.1);
    for (double& one : camera.seconds[2]) one = std::isfinite(one) ? seconds : one;
    camera.rate = uniform(rng, 5, 30);
    if (c > 0 && below(rng, 4) == 0) camera = problem.cameras[c - 1];
  }
  return problem;
}

TEST(Placement, IsTheBestOfAll) {
  Rng rng(1);
  constexpr std::array<std::array<size_t, 2>, 4> kSizes = {{{2, 3}, {3, 2}, {3, 1}, {2, 2}}};
  constexpr int kRounds = 96;  // 32 of boards, and 16 of each size that is drawn at random
  size_t short_of_time = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto [machines, cameras] = kSizes[static_cast<size_t>(round) % kSizes.size()];
    const Problem problem =
        round % 3 == 0 ? random_boards(rng) : random_problem(rng, machines, cameras);
    const Placement made = *place(problem);
    ASSERT_TRUE(made.optimal);
    const Score best = best_of_all(problem);
    EXPECT_FALSE(is_better(best, made.score, problem.objective))
        << "round " << round << ": " << best.shortfall << " " << best.slowdown << " " << best.late
        << " " << best.latency_seconds << " " << best.watts << " beats " << made.score.shortfall
        << " " << made.score.slowdown << " " << made.score.late << " " << made.score.latency_seconds
        << " " << made.score.watts;
    short_of_time += best.shortfall > 1 ? 1 : 0;
    // What it says is what evaluate() says.
    const Placement said = *evaluate(problem, places_of(made));
    for (size_t c = 0; c < problem.cameras.size(); ++c) {
      EXPECT_DOUBLE_EQ(made.cameras[c].rate, said.cameras[c].rate);
      EXPECT_DOUBLE_EQ(made.cameras[c].latency_seconds, said.cameras[c].latency_seconds);
      EXPECT_FALSE(made.cameras[c].why.empty());
    }
  }
  EXPECT_GT(short_of_time, 10u);  // so that both kinds are tried
  EXPECT_LT(short_of_time, kRounds - 10u);
}

// One server and a board beside the camera, by hand.
TEST(Placement, CountsWhatTheHeadOfTheFileSays) {
  Problem problem;
  problem.machines = {{.name = "board", .link = {0.001, 1e6}, .watts = 2, .joules_per_byte = 1e-6},
                      {.name = "server", .link = {0.002, 4e6}, .cores = 2, .watts = 50}};
  const Camera camera{.name = "door",
                      .rate = 10,
                      .activity = 0.5,
                      .seconds = {{{0.004, 0.001}, {0.001, 0.001}, {0.15, 0.02}, {0, 0}}},
                      .bytes = {0, 0, 30'000, 1'000, 0}};
  problem.cameras = {camera, camera};
  for (double rate : {2.0, 10.0}) {
    for (Camera& one : problem.cameras) one.rate = rate;
    const Placement remote = *evaluate(problem, {{0, 0, 1, 0}, {0, 0, 0, 0}});
    // Two messages of 31 KB at 1 MB/s, the larger latency twice; two visits to the board, which the
    // network of the other camera keeps busy.
    const double base = 0.005 + 0.02 + 0.031 + 2 * 0.002;
    const double load = 2 * rate * 0.005 + rate / 2 * 0.15;
    const double moment = rate * 2 * (0.004 * 0.004 + 0.001 * 0.001) + rate / 2 * 0.15 * 0.15;
    const double wait = rate == 2 ? moment / (2 * (1 - load)) : 0.155;
    EXPECT_NEAR(remote.loads[0], load, 1e-12);
    EXPECT_NEAR(remote.loads[1], rate / 2 * 0.02 / 2, 1e-12);
    EXPECT_NEAR(remote.cameras[0].latency_seconds, base + 2 * wait, 1e-12);
    EXPECT_NEAR(remote.cameras[0].rate, rate, 1e-12);
    EXPECT_NEAR(remote.cameras[0].joules, 2 * 0.005 + 0.5 * (50 * 0.02 + 31'000 * 1e-6), 1e-12);
  }
  // Both on the board: it has 1.6 times the work of a second.
  const Placement board = *evaluate(problem, {{0, 0, 0, 0}, {0, 0, 0, 0}});
  EXPECT_NEAR(board.cameras[0].rate, 10 / 1.6, 1e-9);
  EXPECT_NEAR(board.score.shortfall, 1.6, 1e-12);
  const Placement made = *place(problem);
  EXPECT_EQ(place_of(made.cameras[0].places, Stage::kNetwork), 1);
  problem.objective = Objective::kEnergy;
  const Placement frugal = *place(problem);
  EXPECT_EQ(place_of(frugal.cameras[0].places, Stage::kNetwork) +
                place_of(frugal.cameras[1].places, Stage::kNetwork),
            1);  // the board can have one of them
  EXPECT_EQ(frugal.cameras[0].why.substr(0, 3), "on ");
}

std::vector<size_t> counts_of(const Placement& placement, size_t machines) {
  std::vector<size_t> counts(machines);
  for (const Expected& one : placement.cameras) {
    ++counts[static_cast<size_t>(place_of(one.places, Stage::kNetwork))];
  }
  std::ranges::sort(counts);
  return counts;
}

// Eight cameras on four boards; one board is lost: only its cameras move, and evenly.
TEST(Placement, MovesTheCamerasOfAMachineThatIsLost) {
  Problem problem = boards(8, 4, 0.06);
  const Placement before = *place(problem);
  EXPECT_TRUE(before.optimal);
  EXPECT_EQ(counts_of(before, 5), (std::vector<size_t>{0, 2, 2, 2, 2}));
  EXPECT_NEAR(before.cameras[0].rate, 1 / 0.12, 1e-9);
  problem.machines[2].present = false;
  const Placement after = *place(problem, {.previous = places_of(before)});
  EXPECT_EQ(counts_of(after, 5), (std::vector<size_t>{0, 0, 2, 3, 3}));
  for (size_t c = 0; c < 8; ++c) {
    if (before.cameras[c].places[2] == 2) continue;
    EXPECT_EQ(after.cameras[c].places, before.cameras[c].places);
  }
  for (Machine& machine : problem.machines) machine.present = &machine == &problem.machines[0];
  const Placement none = *place(problem, {.previous = places_of(after)});
  EXPECT_EQ(none.cameras[0].places, kUnplaced);
  EXPECT_EQ(none.cameras[0].rate, 0);
  EXPECT_EQ(none.cameras[0].why, "no machine can");
}

// 64 cameras with different networks on 16 boards: none falls behind unless all must.
TEST(Placement, SpreadsManyCameras) {
  Rng rng(3);
  Problem problem = boards(64, 16, 0.06);
  problem.machines[0].link.bytes_per_second = 1e12;
  problem.machines[0].cores = 100;
  double work = 0;
  for (Camera& camera : problem.cameras) {
    const double seconds = uniform(rng, 0.005, 0.03);
    for (double& one : camera.seconds[2]) {
      if (std::isfinite(one)) one = seconds;
    }
    camera.rate = uniform(rng, 5, 15);
    work += camera.rate * seconds;
  }
  for (double scale : {1.0, 2.0}) {
    for (Camera& camera : problem.cameras) camera.rate *= scale;
    const Placement made = *place(problem);
    EXPECT_LE(made.score.shortfall, std::max(1.0, 1.02 * work * scale / 16));
  }
}

TEST(Placement, RefusesNumbersThatAreNone) {
  const auto refused = [](auto change) {
    Problem problem = boards(1, 1, 0.1);
    change(problem);
    return place(problem).status().code() == Code::kInvalidArgument;
  };
  EXPECT_FALSE(refused([](Problem&) {}));
  EXPECT_TRUE(refused([](Problem& p) { p.cameras[0].origin = 2; }));
  EXPECT_TRUE(refused([](Problem& p) { p.cameras[0].seconds[1].pop_back(); }));
  EXPECT_TRUE(refused([](Problem& p) { p.cameras[0].seconds[0][0] = std::nan(""); }));
  EXPECT_TRUE(refused([](Problem& p) { p.cameras[0].rate = -1; }));
  EXPECT_TRUE(refused([](Problem& p) { p.machines[0].link.bytes_per_second = 0; }));
  EXPECT_TRUE(refused([](Problem& p) { p.machines[1].cores = 0; }));
}

TEST(ClusterPlacer, LearnsFromFramesAndFollowsTheWorkers) {
  Graph network;
  const ValueId x = network.add_input("x", {DType::kF32, {1, 3, 32, 32}});
  network.mark_output(*network.add(ops::relu, {x}));
  plan::ClusterProfile cluster;
  for (double speed : {1e6, 1e6, 3e6}) {
    cluster.workers.push_back(
        plan::uniform_worker("w" + std::to_string(cluster.workers.size()), speed, speed));
    cluster.links.emplace_back();
  }
  ClusterPlacer placer({.names = {"a", "b", "c", "d", "e"}, .rate = 100, .cores = 2});
  EXPECT_EQ(placer.news(), "") << "nothing is placed";
  const auto count = [](const std::vector<int>& workers, int worker) {
    return std::ranges::count(workers, worker);
  };
  const std::vector<int> first = placer.place(network, cluster, {0, 1, 2});
  EXPECT_EQ(count(first, 2), 3);  // three times as fast
  EXPECT_EQ(count(first, 0), 1);
  EXPECT_EQ(placer.changes(), 1u);
  EXPECT_EQ(placer.latest().workers[0], "w" + std::to_string(first[0]));
  EXPECT_EQ(placer.news(), text_of(placer.latest(), {"a", "b", "c", "d", "e"}));
  EXPECT_EQ(placer.place(network, cluster, {0, 1, 2}), first);
  EXPECT_EQ(placer.changes(), 1u);
  EXPECT_EQ(placer.news(), "") << "nothing has moved since";
  const std::vector<int> second = placer.place(network, cluster, {0, 1});
  EXPECT_EQ(count(second, 2), 0);
  EXPECT_EQ(placer.changes(), 2u);
  EXPECT_NE(placer.news(), "");
  // The gate lets nothing of four streams through: the fifth has a worker for itself.
  for (int i = 0; i < 500; ++i) {
    for (size_t s = 0; s < 5; ++s) placer.note(s, s == 4, 1e-4);
  }
  const std::vector<int> third = placer.place(network, cluster, {0, 1});
  EXPECT_EQ(count(third, third[4]), 1);
  EXPECT_EQ(placer.place(network, cluster, {}), std::vector<int>(5, kNowhere));
}

TEST(Decisions, AreInWordsAndForScripts) {
  ClusterPlacer::Decision made{.placement = {.cameras = {{.rate = 12.5,
                                                          .latency_seconds = 0.02,
                                                          .joules = 1.5,
                                                          .why = "it is the fastest"},
                                                         {.why = "no machine can"}}},
                               .workers = {"w1", ""}};
  EXPECT_EQ(text_of(made, {"door", "yard"}),
            "door: on w1, 12.5 frames/s and 20 ms expected; it is the fastest\n"
            "yard: no machine can\n");
  EXPECT_EQ(to_json(made, 0).dump(),
            R"({"expected_fps":12.5,"expected_joules":1.5,"expected_latency_ms":20.0,)"
            R"("network":"w1","optimal":true,"why":"it is the fastest"})");
  EXPECT_EQ(to_json(made, 2).dump(), "null");
}

}  // namespace
}  // namespace shoal::placement
