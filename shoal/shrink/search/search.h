// Architecture search for several devices: which wiring of layers gives the best accuracy for its
// time on a given number of units ([Hadidi 2021, 5.2]; candidates.h).
//
//   search::SearchOptions options{.out = "found"};
//   options.recipe.data = "cifar10";
//   options.recipe.format = "cifar";
//   SHOAL_ASSIGN(const fit::JudgedData data, fit::open_judged_data(options.recipe));
//   SHOAL_ASSIGN(const search::SearchResult result, search::search(*device, data, options));
//   std::printf("%s: %.2f %%\n", result.found[0].name.c_str(), result.test_top1);
//
// Cheap steps come first: all candidates are estimated, some simulated, few trained. Each trained
// network is written at once, as NAME.onnx with its figures, and a search with the same options
// resumes from these. Held-out examples choose; test examples evaluate the chosen one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_data.h"

#pragma GCC visibility push(default)

namespace shoal::search {

// A value.
struct SearchOptions {
  size_t units = 8;
  std::string device = "pi4", link = "gigabit";  // presets of every unit and its link
  int64_t macs = 20'000'000;                     // for one image
  size_t vertices = 40;
  int64_t classes = 10;
  // The networks that are estimated, simulated, and learn.
  size_t drawn = 200, simulated = 40, trained = 8;
  double minutes = 0;  // no network begins to learn after this time; 0: no limit
  // The training recipe. Model, teacher, files, patience and frozen weights are not read.
  fit::TrainingOptions recipe = {};
  std::filesystem::path out = {};  // a folder for the networks
};

// Fails with kInvalidArgument for numbers out of range and unknown presets.
Status check(const SearchOptions& options);

// A network that has learned.
struct Found {
  std::string name;
  double ms = 0;    // of an answer on the units, simulated
  double top1 = 0;  // on held-out examples, in percent
  int64_t macs = 0, parameters = 0;
  bool on_front = false;  // no other is as good on both counts and better on one
};

// What a search found.
struct SearchResult {
  std::vector<Found> found;  // the most accurate first
  double test_top1 = 0;      // of found[0]
  // The fastest candidate, and the median of networks with barriers between stages.
  double fastest_ms = 0, staged_ms = 0;
  size_t drawn = 0, simulated = 0;
  double seconds = 0;
};

// Marks the networks that no other beats.
void mark_front(std::vector<Found>& found);

// All are optional, and called on the thread that searches.
struct SearchCallbacks {
  std::function<void(size_t done, size_t total)> on_candidate = {};
  std::function<void(std::string_view network, const fit::StepReport&)> on_step = {};
  std::function<void(const std::string&)> on_note = {};  // a line for the user
  const std::atomic<bool>* cancel = nullptr;             // as in fit::TrainingCallbacks
};

// Blocks until the search is over. Fails as check(options), the data and the device do; kCancelled
// if the callbacks say so. Trained networks stay.
Result<SearchResult> search(Device& device, const fit::JudgedData& data,
                            const SearchOptions& options, const SearchCallbacks& callbacks = {});

}  // namespace shoal::search

#pragma GCC visibility pop
