// Makes a model meet a time on several devices: tries the cheapest ways first, and stops at the
// first attempt that is fast enough and accurate enough.
//
//   fit_cluster::FitOptions options{.cluster = "4xnexus5/wifi-43.8",
//                                   .time = {.share = 0.5},
//                                   .max_drop = 1,
//                                   .recipe = shrink::usual_recipe(),
//                                   .out = "fitted.onnx"};
//   options.recipe.data = "cifar10";
//   options.recipe.format = "cifar";
//   SHOAL_ASSIGN(const fit::JudgedData data, fit::open_judged_data(options.recipe));
//   SHOAL_ASSIGN(const fit_cluster::FitResult result,
//                fit_cluster::fit({*device, *device}, model, data, options));
//
// The attempts, in order: the best plan; messages in 16 and in 8 bits, the image included; a
// smaller network, reduced where the plan waits (shrink/prune/latency/tabulate.h); fully connected
// layers trained to fall into blocks (plan/sparse); narrow branches that exchange nothing, as wide
// as the time allows (shrink/branches/compare.h). Attempts add up: if messages are tried, later
// networks use the fewest bytes per message that the given network bears. Times are those of plans
// in virtual time. Test examples evaluate every attempt, and choose none of its parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/setup/training_data.h"

#pragma GCC visibility push(default)

namespace shoal::fit_cluster {

// What is tried after the plan, in this order.
enum class Way : uint8_t { kMessages, kSmaller, kClusters, kBranches };

// As in reports, "smaller network", and by command-line word, "smaller"; nullopt for any other.
std::string_view name_of(Way way);
std::optional<Way> find_way(std::string_view word);

// A value.
struct FitOptions {
  std::string cluster = "4xpi4/gigabit";     // as plan::find_cluster takes it
  shrink::TimeTarget time = {.share = 0.5};  // a share is one of the time of the best plan
  double max_drop = 1;                       // points of accuracy
  std::set<Way> ways = {Way::kMessages, Way::kSmaller, Way::kClusters, Way::kBranches};  // to try
  bool keeps_depth = false;          // branches have all residual blocks, and are narrower for it
  fit::TrainingOptions recipe = {};  // how networks learn
  std::filesystem::path out = {};    // the network as ONNX
};

// Fails with kInvalidArgument if options contradict each other or have no meaning.
Status check(const FitOptions& options);

// What was tried.
struct Attempt {
  // "plan", "f16 messages", "int8 messages", name_of(Way), or "branches, int8 messages"
  std::string name;
  double ms = 0;                    // of a request, by the best plan for it
  double bytes = 0;                 // that travel for a request
  int64_t macs = 0;                 // of the network, for one image
  std::optional<double> top1 = {};  // on the test examples, in percent; nullopt: not evaluated
  // The control of a trained network: the given one after the same training. nullopt: compare with
  // the given network.
  std::optional<double> top1_control = {};
  bool fast_enough = false, accurate_enough = false;
  std::string note = {};  // why it ended early, if it did

  // Whether this is what was wanted.
  bool meets() const { return fast_enough && accurate_enough; }
};

// All attempts.
struct FitResult {
  double target_ms = 0;
  double top1_before = 0;         // of the model as given
  std::vector<Attempt> attempts;  // in order; the last one meets the target if any does

  // Whether an attempt met the target.
  bool met() const { return !attempts.empty() && attempts.back().meets(); }
};

// Blocks until an attempt meets the target or all have failed, and writes options.out if one did.
// Fails as check(options), the model, the data and the devices do; kCancelled if the callbacks say
// so.
Result<FitResult> fit(const shrink::ShrinkDevices& devices, const Model& model,
                      const fit::JudgedData& data, const FitOptions& options,
                      const shrink::ShrinkCallbacks& callbacks = {});

}  // namespace shoal::fit_cluster

#pragma GCC visibility pop
