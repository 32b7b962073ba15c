// The JSON of an index. nlohmann-json throws, so that parsing is in one try block. Names become
// parts of names of tensors only, never of paths.
#include "shoal/catalog/catalog.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "shoal/base/atomic_file.h"
#include "shoal/base/file.h"
#include "shoal/base/printable.h"
#include "shoal/compress/groups.h"
#include "shoal/compress/remove.h"
#include "shoal/data/safetensors.h"
#include "shoal/fit/network.h"
#include "shoal/train/rebuild.h"

namespace shoal::catalog {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr size_t kMostVariants = 64, kMostBytes = 4'000'000;  // of an index
constexpr size_t kLongestName = 64;
constexpr double kMacJoules = 4.6e-12, kByteJoules = 160e-12;

std::filesystem::path index_in(const std::filesystem::path& folder) {
  return folder / "index.json";
}
std::filesystem::path own_in(const std::filesystem::path& folder) {
  return folder / "own.safetensors";
}

json json_of(const Variant& variant) {
  const VariantFigures& f = variant.figures;
  return {{"name", variant.name},
          {"widths", variant.widths},
          {"top1", f.top1},
          {"held_out_top1", f.held_out_top1},
          {"ms", f.ms},
          {"macs", f.size.macs},
          {"parameters", f.size.parameters},
          {"bytes", f.size.bytes},
          {"memory", f.memory},
          {"millijoules", f.millijoules}};
}

Variant variant_from(const json& j) {
  return {
      .name = j.at("name"),
      .widths = j.at("widths").get<compress::Widths>(),
      .figures = {
          .top1 = j.at("top1"),
          .held_out_top1 = j.at("held_out_top1"),
          .ms = j.at("ms"),
          .size = {.macs = j.at("macs"), .parameters = j.at("parameters"), .bytes = j.at("bytes")},
          .memory = j.at("memory"),
          .millijoules = j.at("millijoules")}};
}

bool is_name(const std::string& name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !name.empty() && name.size() <= kLongestName &&
         name.find_first_not_of(kLetters) == std::string::npos;
}

bool is_sane(const VariantFigures& f) {
  const auto is_percent = [](double x) { return x >= 0 && x <= 100; };
  const auto is_cost = [](double x) { return x >= 0 && std::isfinite(x); };
  return is_percent(f.top1) && is_percent(f.held_out_top1) && is_cost(f.ms) &&
         is_cost(f.millijoules) && f.size.macs >= 0 && f.size.parameters >= 0 &&
         f.size.bytes >= 0 && f.memory >= 0;
}

// At least as good in everything, and better in one.
bool dominates(const VariantFigures& a, const VariantFigures& b) {
  const bool no_worse = a.held_out_top1 >= b.held_out_top1 && a.size.macs <= b.size.macs &&
                        a.size.bytes <= b.size.bytes && a.memory <= b.memory;
  return no_worse && (a.held_out_top1 > b.held_out_top1 || a.size.macs < b.size.macs ||
                      a.size.bytes < b.size.bytes || a.memory < b.memory);
}

}  // namespace

double millijoules_of(const compress::Size& size, int64_t memory) {
  return 1e3 *
         (kMacJoules * static_cast<double>(size.macs) + kByteJoules * static_cast<double>(memory));
}

std::string_view energy_model() {
  return "4.6 pJ per multiply-accumulate + 160 pJ per byte of memory, each once (45 nm, ISSCC "
         "2014)";
}

std::vector<Variant> without_dominated(const std::vector<Variant>& variants) {
  std::vector<Variant> left;
  for (size_t i = 0; i < variants.size(); ++i) {
    const bool is_dominated = std::ranges::any_of(variants, [&](const Variant& other) {
      return dominates(other.figures, variants[i].figures);
    });
    if (i == 0 || !is_dominated) left.push_back(variants[i]);
  }
  return left;
}

Result<Graph> narrowed(const Graph& widest, const compress::Widths& widths, const OwnParts& own) {
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(widest));
  SHOAL_ASSIGN(const std::vector<size_t> units, compress::units_beyond(widest, groups, widths));
  SHOAL_ASSIGN(const Graph narrow, compress::remove(widest, groups, units));
  return train::with_constants(narrow, own);
}

std::string to_json(const Variant& variant) { return json_of(variant).dump(); }

Status write_catalog(const std::filesystem::path& folder, const Catalog& catalog,
                     const std::vector<OwnParts>& own) {
  SHOAL_CHECK(own.size() == catalog.variants.size());
  TensorFile file;
  json variants = json::array();
  for (size_t i = 0; i < own.size(); ++i) {
    const Variant& variant = catalog.variants[i];
    variants.push_back(json_of(variant));
    for (const auto& [name, tensor] : own[i]) file.tensors[variant.name + "/" + name] = tensor;
  }
  const json index = {
      {"format", kFormat}, {"energy_model", std::string(energy_model())}, {"variants", variants}};
  SHOAL_TRY(write_safetensors(own_in(folder), file));
  return write_file(index_in(folder), index.dump(1) + "\n");
}

Result<Catalog> read_catalog(const std::filesystem::path& folder) {
  const auto corrupt = [&](const std::string& what) {
    return Status(Code::kCorrupt, index_in(folder).string() + ": " + what);
  };
  SHOAL_ASSIGN(const auto file, MappedFile::open(index_in(folder)));
  if (file->bytes().size() > kMostBytes) return corrupt("it is too long");
  Catalog catalog;
  try {
    const auto* text = reinterpret_cast<const char*>(file->bytes().data());
    const json index = json::parse(text, text + file->bytes().size());
    if (index.at("format") != kFormat) return corrupt("it is of another version");
    const json& variants = index.at("variants");
    if (!variants.is_array() || variants.empty() || variants.size() > kMostVariants) {
      return corrupt("the number of variants is out of range");
    }
    for (const json& one : variants) catalog.variants.push_back(variant_from(one));
  } catch (const json::exception&) {
    return corrupt("no index, or a damaged one");
  }
  std::set<std::string> names;
  for (const Variant& variant : catalog.variants) {
    if (!is_name(variant.name)) return corrupt("no name: " + printable(variant.name));
    if (!names.insert(variant.name).second) return corrupt(variant.name + " is there twice");
    if (!is_sane(variant.figures)) return corrupt(variant.name + " has figures that cannot be");
  }
  if (!catalog.variants[0].widths.empty()) return corrupt("the first variant is not the widest");
  return catalog;
}

Result<LoadedGraph> open_variant(const std::filesystem::path& folder, std::string_view name,
                                 int64_t batch) {
  SHOAL_ASSIGN(const Catalog catalog, read_catalog(folder));
  const auto variant = std::ranges::find(catalog.variants, name, &Variant::name);
  if (variant == catalog.variants.end()) {
    return Status(Code::kNotFound,
                  folder.string() + ": there is no variant " + printable(std::string(name)));
  }
  SHOAL_ASSIGN(const Model model, open_model((folder / "largest.onnx").string()));
  SHOAL_ASSIGN(LoadedGraph loaded, fit::load_for_batch(model, batch));
  SHOAL_ASSIGN(TensorFile file, read_safetensors(own_in(folder)));
  OwnParts own;
  const std::string prefix = variant->name + "/";
  for (auto& [key, tensor] : file.tensors) {
    if (key.starts_with(prefix)) own[key.substr(prefix.size())] = std::move(tensor);
  }
  auto graph = narrowed(loaded.graph, variant->widths, own);
  if (!graph.ok()) return graph.status().at(variant->name);
  loaded.graph = *std::move(graph);
  return loaded;
}

}  // namespace shoal::catalog
