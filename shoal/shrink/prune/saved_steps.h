// Steps: the progress of a run in a folder, from which another process can resume it to the same
// file. Decisions are recorded; each network has a checkpoint of its own
// (train/run/loop/checkpoint.h), complete after its last epoch.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/factors/rank_front.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {

// Units that go. A value.
struct Removal {
  std::vector<size_t> units = {};  // of the groups of the network for one example, by number
  // The predicted time of a run for one example without these units; nullopt without a latency
  // table.
  std::optional<double> ms = {};
  // For methods that factorise, instead of units: the ranks of each layer, 0 if it stays
  // (factor_layers.h). Empty: all stay.
  std::vector<compress::Ranks> ranks = {};

  friend bool operator==(const Removal&, const Removal&) = default;
};

// A value.
struct Choice {
  std::vector<size_t> blocks = {};  // residual blocks that go in every round, and before it
  // Everything removed after each round: the last meets the target, earlier ones are milder. Not
  // empty.
  std::vector<Removal> rounds = {};
  std::optional<double> before_ms = {};  // Removal::ms without any removal

  friend bool operator==(const Choice&, const Choice&) = default;
};

// The removal to try instead if the last round loses `drop` points and at most `most` are allowed:
// an earlier round. Accuracy falls ever faster, so interpolating linearly is safe. If `drop` is at
// most `most`, it tells nothing, and half of the rounds is taken. Null: none. Pure; points into
// `choice`. REQUIRES: there are rounds, and most >= 0.
const Removal* milder(const Choice& choice, double drop, double most);

// The options that decide the result, as a JSON object.
std::string settings_of(const ShrinkOptions& options, const Graph& network);

// REQUIRES: nothing else uses the folder. Not thread-safe.
class Steps {
 public:
  // Resumes the run in options.steps if options.resume is set and there is one; otherwise removes
  // an earlier run there. Without a folder nothing is kept. kInvalidArgument, naming the first, if
  // that run had other settings; fails as files do.
  static Result<Steps> open(const ShrinkOptions& options, const Graph& network);

  // What goes; nullopt if that is not decided yet.
  const std::optional<Choice>& choice() const { return choice_; }
  // What the network learned before that was decided; empty: nothing.
  const Weights& weights() const { return weights_; }
  Status keep_choice(const Choice& choice, const Weights& weights = {});

  // The checkpoint of a network, by its number; empty without a folder.
  std::filesystem::path checkpoint(size_t number) const;

  // Removes the files of the completed run and, if empty, the folder.
  Status clear() const;

 private:
  Steps(std::filesystem::path folder, std::string settings)
      : folder_(std::move(folder)), settings_(std::move(settings)) {}
  Status clear_files() const;
  Status read_choice();
  Status damaged(const char* what) const;
  std::filesystem::path choice_file() const { return folder_ / "choice.safetensors"; }

  std::filesystem::path folder_;
  std::string settings_;
  std::optional<Choice> choice_;
  Weights weights_;
};

}  // namespace shoal::shrink
