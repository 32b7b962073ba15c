// One network with exits against as many networks as it has classifiers, each of which is cut off
// at one exit [Huynh 2019, 5]: all answers to the same images, in batches. One JSON line.
//
//   C_exits = C_backbone + sum C_head(i),   C_separate = sum (C_backbone(i) + C_head(i))
//
//   bench_exits MODEL BATCH TURNS THREADS SHARE...
//
// An exit is as near as the network allows to each share of its work. Both take turns on the same
// images; times are medians. Answers are compared bit by bit.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/tensor/random_tensor.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/shrink/exits/network/heads.h"
#include "shoal/shrink/exits/network/places.h"
#include "shoal/shrink/exits/network/with_outputs.h"

namespace shoal::exits {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string model;
  int64_t batch = 32;
  int turns = 5, threads = 1;
  std::vector<double> shares = {};
};

double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

template <class Work>
Result<double> ms_of(Work work) {
  const auto begin = Clock::now();
  SHOAL_TRY(work());
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Result<MultiExit> network_for(const Arguments& arguments, int64_t batch) {
  SHOAL_ASSIGN(const Graph network, zoo::build(arguments.model, {.batch = batch}));
  SHOAL_ASSIGN(const std::vector<ValueId> places, places_at(network, arguments.shares));
  SHOAL_ASSIGN(WithHeads made,
               add_heads(network, places, {.kind = HeadOptions::Kind::kPool, .aggregate = false}));
  return std::move(made.network);
}

int64_t macs_of(const Graph& graph) {
  int64_t sum = 0;
  for (const Node& node : graph.nodes()) sum += macs(graph, node);
  return sum;
}

// A network up to one classifier.
struct Single {
  std::unique_ptr<Executable> executable;
  int64_t macs = 0;
  std::vector<double> ms = {};
};

// In the order of exits, the last classifier last.
Result<std::vector<Single>> separate(Device& device, const MultiExit& network) {
  std::vector<Single> all;
  for (size_t i = 0; i <= network.exits.size(); ++i) {
    const size_t output = i == network.exits.size() ? 0 : i + 1;
    const ValueId scores = network.graph.outputs()[output];
    SHOAL_ASSIGN(const Graph one, with_outputs(network.graph, std::span(&scores, 1)));
    SHOAL_ASSIGN(const Graph optimised, passes::optimize(one));
    Single& single = all.emplace_back();
    single.macs = macs_of(one);
    SHOAL_ASSIGN(single.executable, device.compile(optimised));
  }
  return all;
}

Result<std::vector<Tensor>> all_exits(const Runner& runner, const Tensor& images) {
  SHOAL_ASSIGN(Progress progress, runner.start(images));
  std::vector<Tensor> scores;
  for (size_t i = 0; i < runner.stage_macs().size(); ++i) {
    SHOAL_ASSIGN(Tensor own, runner.advance(progress));
    scores.push_back(std::move(own));
  }
  return scores;
}

Status compare(const Arguments& arguments) {
  const auto device = make_cpu_device({.threads = arguments.threads});
  SHOAL_ASSIGN(const MultiExit network, network_for(arguments, arguments.batch));
  SHOAL_ASSIGN(std::vector<Single> singles, separate(*device, network));
  SHOAL_ASSIGN(const Runner runner, Runner::create(*device, [&](int64_t batch) {
                 return network_for(arguments, batch);
               }));
  std::mt19937 rng(1);
  TensorType type = runner.input_type();
  type.shape[0] = arguments.batch;
  std::vector<double> together;
  bool identical = true;
  for (int turn = 0; turn <= arguments.turns; ++turn) {  // the first one compiles
    const Tensor images = random_tensor(type, rng);
    std::vector<Tensor> scores;
    SHOAL_ASSIGN(const double ms, ms_of([&]() -> Status {
                   SHOAL_ASSIGN(scores, all_exits(runner, images));
                   return {};
                 }));
    if (turn > 0) together.push_back(ms);
    for (size_t i = 0; i < singles.size(); ++i) {
      std::vector<Tensor> outputs(1);
      SHOAL_ASSIGN(const double own, ms_of([&] {
                     return singles[i].executable->run(std::span(&images, 1), outputs, {});
                   }));
      if (turn > 0) singles[i].ms.push_back(own);
      identical = identical && std::ranges::equal(outputs[0].bytes(), scores[i].bytes());
    }
  }
  double sum = 0;
  int64_t macs = 0;
  std::string each, shares;
  for (const Single& single : singles) {
    sum += median(single.ms);
    macs += single.macs;
    char text[64];
    std::snprintf(text, sizeof text, "%.2f", median(single.ms));
    each += (each.empty() ? "" : ",") + std::string(text);
    std::snprintf(text, sizeof text, "%.3f",
                  static_cast<double>(single.macs) / static_cast<double>(singles.back().macs));
    shares += (shares.empty() ? "" : ",") + std::string(text);
  }
  const auto whole = static_cast<double>(macs_of(network.graph));
  std::printf(
      "{\"bench\":\"exits\",\"model\":\"%s\",\"batch\":%lld,\"threads\":%d,\"turns\":%d,"
      "\"macs\":[%s],\"separate_ms\":[%s],\"separate_sum_ms\":%.2f,\"exits_ms\":%.2f,"
      "\"ratio\":%.3f,\"cost_model\":%.3f,\"identical\":%s}\n",
      arguments.model.c_str(), static_cast<long long>(arguments.batch), arguments.threads,
      arguments.turns, shares.c_str(), each.c_str(), sum, median(together), sum / median(together),
      static_cast<double>(macs) / whole, identical ? "true" : "false");
  return {};
}

}  // namespace
}  // namespace shoal::exits

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s MODEL BATCH TURNS THREADS SHARE...\n", argv[0]);
    return 2;
  }
  shoal::exits::Arguments arguments{argv[1], std::atoll(argv[2]), std::atoi(argv[3]),
                                    std::atoi(argv[4])};
  for (int i = 5; i < argc; ++i) arguments.shares.push_back(std::atof(argv[i]));
  const shoal::Status status = shoal::exits::compare(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
