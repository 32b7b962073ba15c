// Builds a catalog [Han 2016]: nested widths of a trained network, and variants by other methods,
// all measured, without dominated ones.
//
//   catalog::BuildOptions options{.widths = 5, .out = "lenet"};
//   options.shrink.target.macs = 0.1;
//   options.shrink.recipe = shrink::usual_recipe();
//   options.variants.push_back({.name = "v3-int8", .by = catalog::Making::kInt8, .of = "v3"});
//   SHOAL_ASSIGN(const auto built, catalog::build({*device, *device}, model, data, options));
//
// Results are kept in a folder of steps with their settings. Another run makes only what is missing
// or has other settings, so an interrupted build resumes, and variants can be added to a catalog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/variants/catalog/catalog.h"
#include "shoal/variants/catalog/specialists/specialise.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// How a variant is made that is no width of the widest.
enum class Making {
  kShrink,      // by shrink::shrink()
  kInt8,        // a width in 8 bits, calibrated on training examples
  kSpecialise,  // by specialise()
};

// A variant to be made. A value.
struct VariantRecipe {
  std::string name = {};              // of the variant
  Making by = Making::kShrink;        // how
  shrink::ShrinkOptions shrink = {};  // kShrink: files, times and controls in it are not read
  std::string of = "v0";              // kInt8: the width
  SpecialiseOptions special = {};     // kSpecialise: of the widest; files in it are not read
};

// A value.
struct BuildOptions {
  size_t widths = 0;                  // that share their weights, as make_variants(); 0: one
  shrink::ShrinkOptions shrink = {};  // how widths are found; its recipe and times are for all
  std::vector<VariantRecipe> variants = {};  // besides widths
  std::filesystem::path out = {};            // the catalog's folder
  std::filesystem::path steps = {};          // the folder of steps; empty: OUT.steps
};

// All that a build found out.
struct BuildResult {
  Catalog catalog;                     // as it was written
  std::vector<std::string> dominated;  // variants that were left out
  std::vector<std::string> kept;       // steps that an earlier run had made
  int64_t folder_bytes = 0;            // of all files
  int64_t nested_bytes = 0;            // of those that hold widths, and the index
  int64_t largest_bytes = 0;           // of the widest variant's file
  double seconds = 0;                  // of this run
};

// Makes, measures and writes the catalog, its index last. Held-out examples choose, test examples
// only evaluate. Fails as make_variants(), shrink() and specialise() do, naming the variant;
// kInvalidArgument for names that are invalid, repeated or not of a width.
Result<BuildResult> build(const shrink::ShrinkDevices& devices, const Model& model,
                          const fit::JudgedData& data, const BuildOptions& options,
                          const shrink::ShrinkCallbacks& callbacks = {});

}  // namespace shoal::catalog

#pragma GCC visibility pop
