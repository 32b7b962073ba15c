// The JSON of an index. Names become parts of names of tensors only, never of paths.
#include "shoal/variants/catalog/catalog.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/text/json.h"
#include "shoal/base/text/printable.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/train/data/safetensors.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::catalog {
namespace {

constexpr int kFormat = 2;                                    // 1 had widths only, and can be read
constexpr size_t kMostVariants = 64, kMostBytes = 4'000'000;  // of an index
constexpr size_t kLongestName = 64;
constexpr double kMacJoules = 4.6e-12, kInt8MacJoules = 0.3e-12, kByteJoules = 160e-12;
constexpr double kSameTime = 1.05;  // times that differ by less are alike
constexpr size_t kMostClasses = 100'000;

std::filesystem::path index_in(const std::filesystem::path& folder) {
  return folder / "index.json";
}
std::filesystem::path own_in(const std::filesystem::path& folder) {
  return folder / "own.safetensors";
}

std::string file_of(const std::string& name) { return name + ".onnx"; }

Json json_of(const Variant& variant) {
  const VariantFigures& f = variant.figures;
  Json json = {
      {"name", variant.name}, {"method", variant.method},         {"widths", variant.widths},
      {"top1", f.top1},       {"held_out_top1", f.held_out_top1}, {"ms", f.ms},
      {"macs", f.size.macs},  {"parameters", f.size.parameters},  {"bytes", f.size.bytes},
      {"memory", f.memory},   {"millijoules", f.millijoules}};
  if (variant.has_file) json["file"] = file_of(variant.name);
  if (variant.special) {
    json["special"] = {{"classes", variant.special->classes},
                       {"threshold", variant.special->threshold},
                       {"falls", variant.special->falls},
                       {"precision", variant.special->precision}};
  }
  return json;
}

Json json_of(const Catalog& catalog) {
  Json variants = Json::array();
  for (const Variant& variant : catalog.variants) variants.push_back(json_of(variant));
  return {{"format", kFormat}, {"energy_model", energy_model()}, {"variants", variants}};
}

Result<Special> special_from(const Json& json) {
  Special special;
  SHOAL_TRY(json.get("classes", special.classes));
  SHOAL_TRY(json.get("threshold", special.threshold));
  SHOAL_TRY(json.get("falls", special.falls));
  SHOAL_TRY(json.get("precision", special.precision));
  return special;
}

Result<Variant> variant_from(const Json& json) {
  Variant variant;
  variant.method = "nested";
  variant.has_file = json.find("file") != nullptr;
  VariantFigures& f = variant.figures;
  SHOAL_TRY(json.get("name", variant.name));
  SHOAL_TRY(json.get("widths", variant.widths));
  SHOAL_TRY(json.get("top1", f.top1));
  SHOAL_TRY(json.get("held_out_top1", f.held_out_top1));
  SHOAL_TRY(json.get("ms", f.ms));
  SHOAL_TRY(json.get("macs", f.size.macs));
  SHOAL_TRY(json.get("parameters", f.size.parameters));
  SHOAL_TRY(json.get("bytes", f.size.bytes));
  SHOAL_TRY(json.get("memory", f.memory));
  SHOAL_TRY(json.get("millijoules", f.millijoules));
  if (json.find("method") != nullptr) SHOAL_TRY(json.get("method", variant.method));
  if (const Json* const special = json.find("special")) {
    SHOAL_ASSIGN(variant.special, special_from(*special));
  }
  return variant;
}

bool is_sane(const VariantFigures& f) {
  const auto is_percent = [](double x) { return x >= 0 && x <= 100; };
  const auto is_cost = [](double x) { return x >= 0 && std::isfinite(x); };
  return is_percent(f.top1) && is_percent(f.held_out_top1) && is_cost(f.ms) &&
         is_cost(f.millijoules) && f.size.macs >= 0 && f.size.parameters >= 0 &&
         f.size.bytes >= 0 && f.memory >= 0;
}

bool is_sane(const Special& special) {
  return !special.classes.empty() && special.classes.size() <= kMostClasses &&
         std::ranges::all_of(special.classes, [](int64_t one) { return one >= 0; }) &&
         special.threshold >= 0 && special.threshold <= exits::kNever && special.falls >= 0 &&
         special.falls <= 1 && special.precision >= 0 && special.precision <= 100;
}

// What cannot be of a variant; empty: nothing.
std::string wrong_with(const Variant& variant) {
  if (!is_variant_name(variant.name)) return "no name: " + printable(variant.name);
  if (!is_sane(variant.figures)) return variant.name + " has figures that cannot be";
  if (variant.has_file && !variant.widths.empty()) return variant.name + " has a file and widths";
  if (variant.special && (!variant.has_file || !is_sane(*variant.special))) {
    return variant.name + " has classes that cannot be";
  }
  return "";
}

// At least as good in everything, and better in one. Time does not make one better: it is measured.
bool dominates(const VariantFigures& a, const VariantFigures& b) {
  const bool timed = a.ms > 0 && b.ms > 0;
  const bool as_fast = timed ? a.ms <= kSameTime * b.ms : a.size.macs <= b.size.macs;
  const bool no_worse = a.held_out_top1 >= b.held_out_top1 && a.size.bytes <= b.size.bytes &&
                        a.memory <= b.memory && a.millijoules <= b.millijoules && as_fast;
  return no_worse &&
         (a.held_out_top1 > b.held_out_top1 || a.size.bytes < b.size.bytes || a.memory < b.memory ||
          a.millijoules < b.millijoules || (!timed && a.size.macs < b.size.macs));
}

}  // namespace

double millijoules_of(const compress::Size& size, int64_t memory, int64_t int8_macs) {
  return 1e3 * (kMacJoules * static_cast<double>(size.macs - int8_macs) +
                kInt8MacJoules * static_cast<double>(int8_macs) +
                kByteJoules * static_cast<double>(memory));
}

std::string_view energy_model() {
  return "4.6 pJ per multiply-accumulate, 0.3 pJ in 8 bits, + 160 pJ per byte of memory, each once "
         "(45 nm, ISSCC 2014)";
}

std::vector<Variant> without_dominated(const std::vector<Variant>& variants) {
  std::vector<Variant> left;
  for (size_t i = 0; i < variants.size(); ++i) {
    const bool is_dominated = std::ranges::any_of(variants, [&](const Variant& other) {
      return !other.special && dominates(other.figures, variants[i].figures);
    });
    if (i == 0 || variants[i].special || !is_dominated) left.push_back(variants[i]);
  }
  return left;
}

Result<Graph> narrowed(const Graph& widest, const compress::Widths& widths, const OwnParts& own) {
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(widest));
  SHOAL_ASSIGN(const std::vector<size_t> units, compress::units_beyond(widest, groups, widths));
  SHOAL_ASSIGN(const Graph narrow, compress::remove(widest, groups, units));
  return train::with_constants(narrow, own);
}

bool is_variant_name(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !name.empty() && name.size() <= kLongestName && name != "largest" &&
         name.find_first_not_of(kLetters) == name.npos;
}

std::string to_json(const Variant& variant) { return json_of(variant).dump(); }

std::string to_json(const Catalog& catalog) { return json_of(catalog).dump(); }

Status write_catalog(const std::filesystem::path& folder, const Catalog& catalog,
                     const std::vector<OwnParts>& own) {
  SHOAL_CHECK(own.size() == catalog.variants.size());
  TensorFile file;
  for (size_t i = 0; i < own.size(); ++i) {
    const std::string& name = catalog.variants[i].name;
    for (const auto& [weight, tensor] : own[i]) file.tensors[name + "/" + weight] = tensor;
  }
  SHOAL_TRY(write_safetensors(own_in(folder), file));
  return write_file(index_in(folder), json_of(catalog).dump(1) + "\n");
}

Result<Catalog> parse_catalog(std::string_view text) {
  const auto corrupt = [](const std::string& what) { return Status(Code::kCorrupt, what); };
  if (text.size() > kMostBytes) return corrupt("it is too long");
  const auto index = Json::parse(text);
  int64_t format = 0;
  std::vector<Json> variants;
  if (!index.ok() || !index->get("format", format).ok())
    return corrupt("no index, or a damaged one");
  if (format < 1 || format > kFormat) return corrupt("it is of another version");
  if (!index->get("variants", variants).ok() || variants.empty() ||
      variants.size() > kMostVariants) {
    return corrupt("the number of variants is out of range");
  }
  Catalog catalog;
  for (const Json& one : variants) {
    auto variant = variant_from(one);
    if (!variant.ok()) return corrupt("no index, or a damaged one");
    catalog.variants.push_back(*std::move(variant));
  }
  std::set<std::string> names;
  for (const Variant& variant : catalog.variants) {
    if (const std::string wrong = wrong_with(variant); !wrong.empty()) return corrupt(wrong);
    if (!names.insert(variant.name).second) return corrupt(variant.name + " is there twice");
  }
  return catalog;
}

Result<Catalog> read_catalog(const std::filesystem::path& folder) {
  SHOAL_ASSIGN(const auto file, MappedFile::open(index_in(folder)));
  const auto bytes = file->bytes();
  auto catalog = parse_catalog({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!catalog.ok()) return catalog.status().at(index_in(folder).string());
  const Variant& first = catalog->variants[0];
  if (first.widths.empty() && !first.has_file) return catalog;
  return Status(Code::kCorrupt,
                index_in(folder).string() + ": the first variant is not the widest");
}

Result<OwnParts> read_own_parts(const std::filesystem::path& folder, std::string_view name) {
  SHOAL_ASSIGN(TensorFile file, read_safetensors(own_in(folder)));
  OwnParts own;
  const std::string prefix = std::string(name) + "/";
  for (auto& [key, tensor] : file.tensors) {
    if (key.starts_with(prefix)) own[key.substr(prefix.size())] = std::move(tensor);
  }
  return own;
}

Result<LoadedGraph> open_variant(const std::filesystem::path& folder, const Variant& variant,
                                 int64_t batch) {
  const std::string file = variant.has_file ? file_of(variant.name) : "largest.onnx";
  SHOAL_ASSIGN(const Model model, open_model((folder / file).string()));
  SHOAL_ASSIGN(LoadedGraph loaded, fit::load_for_batch(model, batch));
  if (variant.has_file) return loaded;
  SHOAL_ASSIGN(const OwnParts own, read_own_parts(folder, variant.name));
  auto graph = narrowed(loaded.graph, variant.widths, own);
  if (!graph.ok()) return graph.status().at(variant.name);
  loaded.graph = *std::move(graph);
  return loaded;
}

Result<LoadedGraph> open_variant(const std::filesystem::path& folder, std::string_view name,
                                 int64_t batch) {
  SHOAL_ASSIGN(const Catalog catalog, read_catalog(folder));
  const auto variant = std::ranges::find(catalog.variants, name, &Variant::name);
  if (variant == catalog.variants.end()) {
    return Status(Code::kNotFound,
                  folder.string() + ": there is no variant " + printable(std::string(name)));
  }
  return open_variant(folder, *variant, batch);
}

}  // namespace shoal::catalog
