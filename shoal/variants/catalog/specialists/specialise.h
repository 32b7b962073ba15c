// Specialise: a small network for the current classes, in seconds, and a cascade to the general
// network [Han 2016]. Only a linear head is trained, on features that are cached on disk. If none
// are cached, those of the classes are computed first and the head is trained; those of other
// classes, for later heads, follow.
//
//   catalog::SpecialiseOptions options{.classes = {0, 3, 5}, .cache = "features"};
//   options.recipe.data = "mnist";
//   options.recipe.format = "idx";
//   SHOAL_ASSIGN(const fit::JudgedData data, fit::open_judged_data(options.recipe));
//   SHOAL_ASSIGN(const auto made, catalog::specialise(*device, model, nullptr, data, options));
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/variants/catalog/catalog.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// A value.
struct SpecialiseOptions {
  std::vector<int64_t> classes = {};  // that are seen now
  double other = 0.1;                 // share of images of other classes; 0: there are none
  // Training images per class, at most; 0: all. Few are enough for a head, and computing features
  // takes longer than training.
  int64_t per_class = 0;
  // The value whose features the head reads: a name; "head": the input of the last layer; "auto":
  // at about a third of the network's work.
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
// "another class" if options.other is above 0. `general` answers otherwise; null: `model`.
// metadata_props of the file have the classes and the threshold (shoal.classes, shoal.threshold).
// Held-out examples calibrate, test examples only evaluate. Fails as model, data, device and files
// do; kInvalidArgument for options that make no sense.
Result<SpecialiseResult> specialise(Device& device, const Model& model, const Model* general,
                                    const fit::JudgedData& data, const SpecialiseOptions& options,
                                    const fit::TrainingCallbacks& callbacks = {});

// Fails with kInvalidArgument if options contradict each other or have no meaning.
Status check(const SpecialiseOptions& options);

// SpecialMaker: makes networks for the current classes while a server runs [Han 2016]. The first
// computes features and keeps them; later ones take seconds.
//
//   catalog::SpecialMaker maker({.folder = "lenet", .how = how, .device = [] { ... }});
//   SHOAL_ASSIGN(const catalog::Variant made, maker.make({0, 3}, "special.onnx"));

// A network for how.classes, in the file how.out, as a variant of a catalog with this widest one;
// figures are of test examples. Fails as specialise() does.
Result<Variant> make_special(const shrink::ShrinkDevices& devices, const Model& widest,
                             const fit::JudgedData& data, std::string name,
                             const SpecialiseOptions& options,
                             const fit::TrainingCallbacks& callbacks = {});

// What a maker works with.
struct SpecialMakerOptions {
  std::filesystem::path folder = {};  // of the catalog
  SpecialiseOptions how = {};         // its recipe has the data; classes and file are not read
  std::optional<fit::JudgedData> data = {};  // nothing: that of the recipe, when it is needed
  // Makes the training device when first needed, on the thread whose priority it shares.
  std::function<Result<std::unique_ptr<Device>>()> device = nullptr;
};

// Not thread-safe.
class SpecialMaker {
 public:
  // Nothing is read before the first network is made.
  explicit SpecialMaker(SpecialMakerOptions options)
      : options_(std::move(options)), data_(options_.data) {}

  // Trains and writes a network for these classes. Fails as specialise() does, and with kCancelled
  // soon after `cancel` is set.
  Result<Variant> make(std::vector<int64_t> classes, const std::filesystem::path& file,
                       const std::atomic<bool>* cancel = nullptr);

 private:
  Status prepare();

  const SpecialMakerOptions options_;
  std::unique_ptr<Device> device_;
  std::optional<Model> widest_;
  std::optional<fit::JudgedData> data_;
};

}  // namespace shoal::catalog

#pragma GCC visibility pop
