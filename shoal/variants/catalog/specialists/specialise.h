// Specialise: a small network for the classes that are seen now, in seconds, and a cascade to the
// general network [Han 2016]. Only a linear head learns, on features that are computed once and
// kept on disk. Where none are kept, those of the classes come first, and the head learns; those of
// other classes, which serve the next head, come after it.
//
//   catalog::SpecialiseOptions options{.classes = {0, 3, 5}, .cache = "features"};
//   options.recipe.data = "mnist";
//   options.recipe.format = "idx";
//   SHOAL_ASSIGN(const fit::JudgedData data, fit::open_judged_data(options.recipe));
//   SHOAL_ASSIGN(const auto made, catalog::specialise(*device, model, nullptr, data, options));
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_data.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// A value.
struct SpecialiseOptions {
  std::vector<int64_t> classes = {};  // that are seen now
  double other = 0.1;                 // share of images of other classes; 0: there are none
  // Images of each class that the head learns from, where there are more; 0: all. Few are enough
  // for a head, and where no features are kept, to compute those of all takes longer than to learn.
  int64_t per_class = 0;
  // Where the body ends whose features the head reads: a value by name; "head": the input of the
  // last layer; "auto": about a third of the network's work.
  std::string at = "auto";
  double max_drop = 0.5;             // points that the cascade may lose on held-out examples
  fit::TrainingOptions recipe = {};  // how the head learns, without augmentation
  std::filesystem::path cache = {};  // a folder for features; empty: they are not kept
  std::filesystem::path out = {};    // the special network as ONNX; empty: none
  bool controls = false;             // compare with learning without cache, and of all layers
};

// What the comparison says.
struct SpecialiseControls {
  double seconds_warm = 0;   // with features from disk
  double seconds_full = 0;   // all layers of the general network, the same recipe, all images
  double top1_full = 0;      // of that on test examples of the stream, as SpecialiseResult::top1
  double weights_error = 0;  // the largest difference to the head that learned without a cache
};

// All that a run found out. Accuracy is in percent, on test examples.
struct SpecialiseResult {
  std::string at;               // the value whose features the head reads
  double top1 = 0;              // of the special network alone, "another class" among them
  double top1_general = 0;      // of the general network on the same examples
  int64_t macs = 0;             // of the special network for an image
  int64_t macs_general = 0;     // of the general one
  double threshold = 0;         // from which probability on the special network answers
  exits::Figures cascade;       // on test examples: the special network, then the general one
  exits::Figures held_out;      // on the examples that calibrated
  bool warm = false;            // features were in the cache
  double seconds_features = 0;  // to compute or read them
  double seconds_head = 0;      // until the head has learned
  double seconds_rest = 0;      // after that: features of other classes, for the next head
  std::optional<SpecialiseControls> controls;
};

// Makes a network for options.classes: the body of `model`, and a head whose last output is
// "another class" if there are such. `general` answers where it does not; null: `model`. The file
// names its classes and the threshold in metadata_props (shoal.classes, shoal.threshold). Held-out
// examples calibrate, test examples only judge. Fails as model, data, device and files do, and with
// kInvalidArgument for options without a meaning.
Result<SpecialiseResult> specialise(Device& device, const Model& model, const Model* general,
                                    const fit::JudgedData& data, const SpecialiseOptions& options,
                                    const fit::TrainingCallbacks& callbacks = {});

// Fails with kInvalidArgument if options contradict each other or have no meaning.
Status check(const SpecialiseOptions& options);

}  // namespace shoal::catalog

#pragma GCC visibility pop
