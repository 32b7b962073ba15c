// SpecialMaker: networks for the classes that are seen now, made while a server runs [Han 2016].
// Features are computed by the first one that is made, and kept: the others take seconds.
//
//   catalog::SpecialMaker maker({.folder = "lenet", .how = how, .device = [] { ... }});
//   SHOAL_ASSIGN(const catalog::Variant made, maker.make({0, 3}, "special.onnx"));
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
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/variants/catalog/catalog.h"
#include "shoal/variants/catalog/specialists/specialise.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// A network for how.classes, in the file how.out, as a variant of a catalog with this widest one:
// its figures are those of test examples. Fails as specialise() does.
Result<Variant> make_special(const shrink::ShrinkDevices& devices, const Model& widest,
                             const fit::JudgedData& data, std::string name,
                             const SpecialiseOptions& how,
                             const fit::TrainingCallbacks& callbacks = {});

// What a maker works with.
struct SpecialMakerOptions {
  std::filesystem::path folder = {};  // of the catalog
  SpecialiseOptions how = {};         // its recipe has the data; classes and file are not read
  std::optional<fit::JudgedData> data = {};  // nothing: that of the recipe, when it is needed
  // Makes the device that learns, when it is needed first: on a thread whose priority it shares.
  std::function<Result<std::unique_ptr<Device>>()> device = nullptr;
};

// Not thread-safe.
class SpecialMaker {
 public:
  // Nothing is read before the first network is made.
  explicit SpecialMaker(SpecialMakerOptions options)
      : options_(std::move(options)), data_(options_.data) {}

  // A network for these classes, in this file. Fails as specialise() does, and with kCancelled soon
  // after `cancel` is set.
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
