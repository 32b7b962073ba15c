// Makes a catalog of nested variants: what shrink::shrink() would remove in several steps, as
// widths of one network that train together.
//
//   shrink::ShrinkOptions options{.target = {.macs = 0.1}, .recipe = shrink::usual_recipe(),
//                                 .out = "lenet.variants"};
//   SHOAL_ASSIGN(const auto made, catalog::make_variants({*device, *device}, model, data, 5,
//   options));
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/variants/catalog/catalog.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// All that a run found out.
struct VariantsResult {
  Catalog catalog;                     // as it was written
  std::vector<std::string> dominated;  // variants that were left out
  double top1_before = 0;              // of the network as it was given, on test examples
  int64_t folder_bytes = 0;            // of all files
  int64_t largest_bytes = 0;           // of the widest variant's file
  int64_t epochs = 0;                  // that all of them learned for
  double seconds = 0;                  // in all
};

// Chooses `count` widths from the given network to options.target, sorts the units of each group,
// trains all widths together (sandwich.h) by options.recipe, drops dominated variants, and writes
// the catalog to the folder options.out. Held-out examples choose, test examples only evaluate.
// Fails as shrink::shrink() does; kUnsupported if the network's answers depend on the order of
// units; kInvalidArgument for max_drop, int8, controls, resume or sensitivity, and for methods that
// train first or drop blocks. options.steps is not read.
Result<VariantsResult> make_variants(const shrink::ShrinkDevices& devices, const Model& model,
                                     const fit::JudgedData& data, size_t count,
                                     const shrink::ShrinkOptions& options,
                                     const shrink::ShrinkCallbacks& callbacks = {});

}  // namespace shoal::catalog

#pragma GCC visibility pop
