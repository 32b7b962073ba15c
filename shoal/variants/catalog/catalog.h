// Catalog: variants of one network, in a folder that can be copied. Most are widths of one network:
// the weights of the widest are stored once; the others use its first channels
// (shrink/compress/units/nest.h), with biases and norm parameters of their own. Other variants,
// such as a network in 8 bits, have a file.
//
//   FOLDER/index.json       what each variant costs and how often it is right
//   FOLDER/largest.onnx     the widest variant, an ordinary model
//   FOLDER/own.safetensors  the own parts of other widths, "NAME/WEIGHT"
//   FOLDER/NAME.onnx        a variant that is no width of the widest
//
//   SHOAL_ASSIGN(const catalog::Catalog all, catalog::read_catalog("lenet.variants"));
//   SHOAL_ASSIGN(const LoadedGraph small,
//                catalog::open_variant("lenet.variants", all.variants.back().name));
//
// The files are not trusted: all that they say is checked when it is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/compress/units/nest.h"
#include "shoal/shrink/compress/units/target.h"

#pragma GCC visibility push(default)

namespace shoal::catalog {

// The costs of a variant for one example, and its accuracy.
struct VariantFigures {
  double top1 = 0;           // percent, on test examples
  double held_out_top1 = 0;  // on the examples that choose
  double ms = 0;             // of a run; 0: not measured
  compress::Size size = {};  // multiply-accumulates, parameters, bytes of all constants
  int64_t memory = 0;        // bytes of constants and of the values of a run
  double millijoules = 0;    // of a run, by energy_model()

  friend bool operator==(const VariantFigures&, const VariantFigures&) = default;
};

// Of a network for a few classes (specialise.h); the widest answers the rest.
struct Special {
  std::vector<int64_t> classes = {};  // its outputs; one more is "another class"
  double threshold = 0;               // the probability from which on it answers
  double falls = 0;                   // share of examples that the widest answers
  double precision = 0;               // percent of the others that it answers right

  friend bool operator==(const Special&, const Special&) = default;
};

// One of the networks.
struct Variant {
  std::string name;              // "v0": letters, digits, '-' and '_'
  compress::Widths widths = {};  // of what is narrower than in the widest
  VariantFigures figures = {};  // of a special network: accuracy with the widest, other classes too
  std::string method = "nested";        // how it was made, for people
  bool has_file = false;                // NAME.onnx; otherwise it is a width of the widest
  std::optional<Special> special = {};  // it knows a few classes only

  friend bool operator==(const Variant&, const Variant&) = default;
};

// The index of a folder. The widest variant comes first.
struct Catalog {
  std::vector<Variant> variants;
};

// The energy of a run in millijoules: 4.6 pJ for a multiply-accumulate in f32, 0.3 pJ for each of
// the `int8_macs` among them, and 160 pJ for each byte of `memory`, read once (45 nm, ISSCC 2014).
// For comparing variants; not a measurement.
double millijoules_of(const compress::Size& size, int64_t memory, int64_t int8_macs = 0);
std::string_view energy_model();

// The variants not dominated by another, which is as accurate on held-out examples, costs no more
// bytes, memory, energy and time, and is better in one of these. Unmeasured times are compared by
// multiply-accumulates; measured differences below 5 % are noise. The widest stays, because it has
// the weights; special networks are not compared. Pure.
std::vector<Variant> without_dominated(const std::vector<Variant>& variants);

// Own parts of a variant, by the names of constants.
using OwnParts = std::map<std::string, Tensor>;

// The network of a variant's widths: the first units of the widest, with its own parts.
// kInvalidArgument if these are of another network.
Result<Graph> narrowed(const Graph& widest, const compress::Widths& widths, const OwnParts& own);

// The own parts of a width in a folder. Fails as files do.
Result<OwnParts> read_own_parts(const std::filesystem::path& folder, std::string_view name);

// Whether a variant may have this name: letters, digits, '-' and '_', 64 at most.
bool is_variant_name(std::string_view name);

// A variant as the index has it, a JSON object: its name, its widths and its figures.
std::string to_json(const Variant& variant);
// The index on one line.
std::string to_json(const Catalog& catalog);
// Parses an index. kCorrupt for impossible contents.
Result<Catalog> parse_catalog(std::string_view text);

// Index and own parts in a folder that has all ONNX files already. `own` has one element per
// variant, the first being empty.
Status write_catalog(const std::filesystem::path& folder, const Catalog& catalog,
                     const std::vector<OwnParts>& own);

// The index of a folder. kNotFound if there is none, kCorrupt for impossible contents.
Result<Catalog> read_catalog(const std::filesystem::path& folder);

// A variant for batches of this size. kNotFound for another name; fails as read_catalog(), the
// model and narrowed() do.
Result<LoadedGraph> open_variant(const std::filesystem::path& folder, std::string_view name,
                                 int64_t batch = 1);
// The same where the index was read already.
Result<LoadedGraph> open_variant(const std::filesystem::path& folder, const Variant& variant,
                                 int64_t batch = 1);

// A width is written to a temporary file, which is deleted with the model. Fails as open_variant()
// does.
Result<Model> model_of(const std::filesystem::path& folder, const Variant& variant);

}  // namespace shoal::catalog

#pragma GCC visibility pop
