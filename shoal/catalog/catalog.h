// Catalog: one network in several widths, in a folder. The weights of the widest are stored once;
// every other variant is made of its first channels (compress/nest.h) and has small parts of its
// own: biases, and what norms learn and measure.
//
//   FOLDER/index.json       what each variant costs and how often it is right
//   FOLDER/largest.onnx     the widest variant, an ordinary model
//   FOLDER/own.safetensors  the own parts of the others, "NAME/WEIGHT"
//
//   SHOAL_ASSIGN(const catalog::Catalog all, catalog::read_catalog("lenet.variants"));
//   SHOAL_ASSIGN(const LoadedGraph small,
//                catalog::open_variant("lenet.variants", all.variants.back().name));
//
// The files may come from anybody: all that they say is checked when it is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/compress/nest.h"
#include "shoal/compress/target.h"
#include "shoal/models/model.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// What it costs to have and to run a variant for one example, and how often it is right.
struct VariantFigures {
  double top1 = 0;           // percent, on test examples
  double held_out_top1 = 0;  // on the examples that choose
  double ms = 0;             // of a run; 0: not measured
  compress::Size size = {};  // multiply-accumulates, parameters, bytes of all constants
  int64_t memory = 0;        // bytes of constants and of the values of a run
  double millijoules = 0;    // of a run, by energy_model()

  friend bool operator==(const VariantFigures&, const VariantFigures&) = default;
};

// One of the networks.
struct Variant {
  std::string name;              // "v0": letters, digits, '-' and '_'
  compress::Widths widths = {};  // of what is narrower than in the widest
  VariantFigures figures = {};

  friend bool operator==(const Variant&, const Variant&) = default;
};

// The index of a folder. The widest variant comes first.
struct Catalog {
  std::vector<Variant> variants;
};

// The energy of a run in millijoules: 4.6 pJ for a multiply-accumulate in f32 and 160 pJ for a byte
// from memory, each byte of `memory` once (45 nm, ISSCC 2014). It compares variants; it
// is no measurement.
double millijoules_of(const compress::Size& size, int64_t memory);
std::string_view energy_model();

// The variants that no other one dominates: of two, one is as often right on held-out examples and
// costs no more multiply-accumulates, bytes and memory, and is better in one of these. The widest
// stays, because it has the weights. Pure.
std::vector<Variant> without_dominated(const std::vector<Variant>& variants);

// Own parts of a variant, by the names of constants.
using OwnParts = std::map<std::string, Tensor>;

// A network of the widths of a variant: the first units of the widest, with its own parts. Fails
// with kInvalidArgument if they are those of another network.
Result<Graph> narrowed(const Graph& widest, const compress::Widths& widths, const OwnParts& own);

// A variant as the index has it, a JSON object: its name, its widths and its figures.
std::string to_json(const Variant& variant);

// Index and own parts in a folder that has largest.onnx already. `own` has one element per variant,
// the first being empty.
Status write_catalog(const std::filesystem::path& folder, const Catalog& catalog,
                     const std::vector<OwnParts>& own);

// The index of a folder. kNotFound where there is none, kCorrupt where it says what cannot be.
Result<Catalog> read_catalog(const std::filesystem::path& folder);

// A variant for batches of this size. kNotFound for another name; fails as read_catalog(), the
// model and narrowed() do.
Result<LoadedGraph> open_variant(const std::filesystem::path& folder, std::string_view name,
                                 int64_t batch = 1);

}  // namespace shoal::catalog

#pragma GCC visibility pop
