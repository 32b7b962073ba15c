// Steps: how far a run is, in a folder, so that another process can go on from there to the same
// file. What goes is recorded once it is decided; each network has a checkpoint of its own
// (train/run/loop/checkpoint.h), which is complete after its last epoch.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/prune/choice.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {

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
