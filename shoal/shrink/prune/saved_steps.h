// Steps: how far a run is, in a folder, so that another process can go on from there to the same
// file. What goes is recorded once it is decided; each network has a checkpoint of its own
// (train/run/loop/checkpoint.h), which is complete after its last epoch.
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
  // How long a run for one example takes without them where the network will run, by a latency
  // table; nothing: there is none.
  std::optional<double> ms = {};
  // In place of units, for methods that factorise: the ranks of each layer that could be, 0 for one
  // that stays (factor_layers.h). Empty: all stay.
  std::vector<compress::Ranks> ranks = {};

  friend bool operator==(const Removal&, const Removal&) = default;
};

// A value.
struct Choice {
  std::vector<size_t> blocks = {};  // residual blocks that go in every round, and before it
  // What is gone after each round on the way to the target: the last one meets it, those before are
  // milder. Not empty.
  std::vector<Removal> rounds = {};
  std::optional<double> before_ms = {};  // Removal::ms without any removal

  friend bool operator==(const Choice&, const Choice&) = default;
};

// What to remove instead, if the last round loses `drop` points and no more than `most` may be
// lost: an earlier round, of fewer units. Accuracy falls ever faster from round to round, so that
// the line from no removal to the last one is on the safe side. Where `drop` is not above `most`,
// it says nothing of what went wrong, and half of the rounds it is. Null: nothing. Pure; points
// into `choice`. REQUIRES: there are rounds, and most >= 0.
const Removal* milder(const Choice& choice, double drop, double most);

// All that decides what becomes of a network, as a JSON object.
std::string settings_of(const ShrinkOptions& options, const Graph& network);

// Nobody else uses the folder. Not thread-safe.
class Steps {
 public:
  // Takes up the run in options.steps if options.resume says so and there is one; else what an
  // earlier run left there is removed. Without a folder nothing is kept. Fails with
  // kInvalidArgument if that run had other settings, naming the first, and as files do.
  static Result<Steps> open(const ShrinkOptions& options, const Graph& network);

  // What goes; nothing if that is not decided yet.
  const std::optional<Choice>& choice() const { return choice_; }
  // What the network learned before that was decided; empty: nothing.
  const Weights& weights() const { return weights_; }
  Status keep_choice(const Choice& choice, const Weights& weights = {});

  // The checkpoint of a network, by its number; empty without a folder.
  std::filesystem::path checkpoint(size_t number) const;

  // The run is over: removes the files and, if nothing else is in it, the folder.
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
