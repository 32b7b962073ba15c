// A build: the widths, then each other variant, then the folder. A step is a file or a folder in
// STEPS and, written after it, a record STEPS/NAME.step of three lines: its settings, the names of
// dominated variants, and an index of its results. Times are not in it: they are measured last, of
// all variants in turn.
#include "shoal/variants/catalog/builder/build.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/text/json_text.h"
#include "shoal/shrink/prune/saved_steps.h"
#include "shoal/shrink/retraining/in_eight_bits.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/variants/catalog/figures.h"
#include "shoal/variants/catalog/make_variants.h"
#include "shoal/variants/catalog/specialists/specialise.h"

namespace shoal::catalog {
namespace {

using fit::NetworkForBatch;
namespace fs = std::filesystem;

constexpr const char *kWidths = "widths", *kLargest = "largest.onnx";

int64_t bytes_of(const fs::path& file) {
  std::error_code unknown;
  const auto size = fs::file_size(file, unknown);
  return unknown ? 0 : static_cast<int64_t>(size);
}

Status copy_file_to(const fs::path& from, const fs::path& to) {
  SHOAL_ASSIGN(const auto file, MappedFile::open(from));
  SHOAL_ASSIGN(AtomicFile target, AtomicFile::create(to));
  SHOAL_TRY(target.write(file->bytes()));
  return target.commit();
}

struct Record {
  std::string settings = {};
  std::vector<std::string> dominated = {};
  Catalog catalog = {};
};

std::string text_of(const Record& record) {
  std::string names;
  for (const std::string& name : record.dominated) names += (names.empty() ? "" : " ") + name;
  return record.settings + "\n" + names + "\n" + to_json(record.catalog) + "\n";
}

// nullopt if there is no readable record: the step is made again then.
std::optional<Record> read_record(const fs::path& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return std::nullopt;
  const auto bytes = (*file)->bytes();
  std::istringstream text(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Record record;
  std::string names, index;
  if (!std::getline(text, record.settings) || !std::getline(text, names) ||
      !std::getline(text, index)) {
    return std::nullopt;
  }
  std::istringstream words(names);
  for (std::string name; words >> name;) record.dominated.push_back(name);
  auto catalog = parse_catalog(index);
  if (!catalog.ok()) return std::nullopt;
  record.catalog = *std::move(catalog);
  return record;
}

std::string text_of(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string method_of(const VariantRecipe& recipe) {
  if (recipe.by == Making::kInt8) return "int8 of " + recipe.of;
  if (recipe.by == Making::kSpecialise) return "specialise " + text_of(recipe.special.classes);
  return std::string(name_of(recipe.shrink.importance)) + (recipe.shrink.int8 ? ",int8" : "");
}

class Build {
 public:
  Build(const shrink::ShrinkDevices& devices, const Model& model, const fit::JudgedData& data,
        const BuildOptions& options, const shrink::ShrinkCallbacks& callbacks)
      : devices_(devices),
        model_(model),
        given_(shrink::as_given(model)),
        data_(data),
        options_(options),
        steps_(options.steps.empty() ? fs::path(options.out.string() + ".steps") : options.steps),
        callbacks_(callbacks) {}

  Result<BuildResult> run() {
    const auto begin = std::chrono::steady_clock::now();
    SHOAL_TRY(make_folder(steps_));
    SHOAL_ASSIGN(const LoadedGraph loaded, given_(1));
    SHOAL_TRY(make_widths(loaded.graph));
    for (const VariantRecipe& recipe : options_.variants) {
      const Status result = make(recipe, loaded.graph);
      if (!result.ok()) return result.at(recipe.name);
    }
    SHOAL_TRY(measure());
    SHOAL_TRY(write());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    result_.seconds = taken.count();
    return std::move(result_);
  }

 private:
  fs::path record_of(const std::string& name) const { return steps_ / (name + ".step"); }
  fs::path file_of(const std::string& name) const { return steps_ / (name + ".onnx"); }
  fs::path widths() const { return steps_ / kWidths; }

  // Whether a step was made before, and is taken as it is.
  bool is_known(const std::string& name, const fs::path& made, const std::string& settings) {
    auto record = read_record(record_of(name));
    std::error_code error;
    if (!record || record->settings != settings || !fs::exists(made, error)) return false;
    result_.kept.push_back(name);
    if (callbacks_.on_note) callbacks_.on_note(name + ": made before");
    take(*std::move(record));
    return true;
  }

  void take(Record record) {
    std::ranges::move(record.catalog.variants, std::back_inserter(all_));
    std::ranges::move(record.dominated, std::back_inserter(result_.dominated));
  }

  Status keep(const std::string& name, Record record) {
    SHOAL_TRY(write_file(record_of(name), text_of(record)));
    take(std::move(record));
    return {};
  }

  Status make_widths(const Graph& graph) {
    shrink::ShrinkOptions shrink_options = options_.shrink;
    shrink_options.out = widths();
    shrink_options.measure_seconds = 0;
    const std::string settings =
        std::to_string(options_.widths) + settings_of(shrink_options, graph);
    if (is_known(kWidths, widths() / kLargest, settings)) return {};
    Record record{.settings = settings};
    if (options_.widths > 0) {
      SHOAL_ASSIGN(
          VariantsResult variants_result,
          make_variants(devices_, model_, data_, options_.widths, shrink_options, callbacks_));
      record.catalog = std::move(variants_result.catalog);
      record.dominated = std::move(variants_result.dominated);
    } else {
      Variant only{.name = "v0", .method = "as given"};
      SHOAL_ASSIGN(only.figures, figures_of(devices_, given_, data_, recipe()));
      record.catalog.variants = {std::move(only)};
      SHOAL_TRY(make_folder(widths()));
      SHOAL_TRY(fit::export_network(given_, widths() / kLargest));
      SHOAL_TRY(write_catalog(widths(), record.catalog, {{}}));
    }
    return keep(kWidths, std::move(record));
  }

  Status make(const VariantRecipe& recipe, const Graph& one) {
    if (callbacks_.cancel != nullptr && callbacks_.cancel->load()) {
      return Status(Code::kCancelled, "interrupted");
    }
    const std::string settings = settings_of(recipe, one);
    if (is_known(recipe.name, file_of(recipe.name), settings)) return {};
    if (callbacks_.on_note) callbacks_.on_note("makes " + recipe.name);
    Variant variant{.name = recipe.name, .method = method_of(recipe), .has_file = true};
    switch (recipe.by) {
      case Making::kShrink:
        SHOAL_TRY(shrunk(recipe));
        break;
      case Making::kInt8:
        SHOAL_TRY(in_int8(recipe));
        break;
      case Making::kSpecialise:
        SHOAL_TRY(specialised(recipe, variant));
        break;
    }
    if (!variant.special) {  // as others will see it: from the file
      SHOAL_ASSIGN(const Model file, open_model(file_of(recipe.name).string()));
      SHOAL_ASSIGN(variant.figures,
                   figures_of(devices_, shrink::as_given(file), data_, this->recipe()));
    }
    return keep(recipe.name, {.settings = settings, .catalog = {{variant}}});
  }

  Status shrunk(const VariantRecipe& recipe) const {
    shrink::ShrinkOptions options = recipe.shrink;
    options.out = file_of(recipe.name);
    options.steps = steps_ / (recipe.name + ".steps");
    options.controls = options.sensitivity = false;
    options.measure_seconds = 0;
    options.resume = true;
    auto made = shrink::shrink(devices_, model_, data_, options, callbacks_);
    if (made.status().code() != Code::kInvalidArgument) return made.status();
    options.resume = false;  // the run that was interrupted had other settings
    return shrink::shrink(devices_, model_, data_, options, callbacks_).status();
  }

  Status in_int8(const VariantRecipe& recipe) const {
    const auto width = std::ranges::find(all_, recipe.of, &Variant::name);
    if (width == all_.end() || width->has_file) {
      return invalid("there is no width " + recipe.of +
                     ", or it was left out because another one dominates it");
    }
    const NetworkForBatch network = network_of(*width);
    SHOAL_ASSIGN(compress::Int8Choice choice,
                 shrink::int8_for(devices_.learns, network, *data_.data.training, this->recipe()));
    return fit::export_network(shrink::in_eight_bits(network, std::move(choice)),
                               file_of(recipe.name));
  }

  Status specialised(const VariantRecipe& recipe, Variant& variant) const {
    SHOAL_ASSIGN(const Model widest, open_model((widths() / kLargest).string()));
    SpecialiseOptions options = recipe.special;
    options.out = file_of(recipe.name);
    if (!options.recipe.data.empty())
      options.cache = steps_ / "features";  // which knows files of data
    options.controls = false;
    options.recipe.loss.distill = 0;  // a head has no teacher
    const fit::TrainingCallbacks callbacks{
        .on_step =
            [&](const fit::StepReport& step) {
              if (callbacks_.on_step) {
                callbacks_.on_step({recipe.name, 0, 1, step, step.seconds_left});
              }
            },
        .on_note = callbacks_.on_note,
        .cancel = callbacks_.cancel};
    SHOAL_ASSIGN(Variant made,
                 make_special(devices_, widest, data_, recipe.name, options, callbacks));
    made.method = variant.method;
    variant = std::move(made);
    return {};
  }

  const fit::TrainingOptions& recipe() const { return options_.shrink.recipe; }

  // What a step depends on besides its name. The widths come before all others.
  std::string settings_of(const shrink::ShrinkOptions& options, const Graph& one) const {
    return json_text(options_.shrink.recipe.data.string()) + shrink::settings_of(options, one);
  }

  std::string settings_of(const VariantRecipe& recipe, const Graph& one) const {
    if (recipe.by == Making::kShrink) return settings_of(recipe.shrink, one);
    shrink::ShrinkOptions options = options_.shrink;
    if (recipe.by == Making::kSpecialise) options.recipe = recipe.special.recipe;
    const SpecialiseOptions& special = recipe.special;
    return method_of(recipe) + " " + json_number(special.other) + " " + json_text(special.at) +
           " " + json_number(special.max_drop) + " " + std::to_string(special.per_class) + " " +
           std::to_string(options_.widths) + settings_of(options, one) +
           settings_of(options_.shrink, one);
  }

  NetworkForBatch network_of(const Variant& variant) const {
    return [folder = variant.has_file ? steps_ : widths(), variant](int64_t batch) {
      return open_variant(folder, variant, batch);
    };
  }

  Status measure() {
    const double seconds = options_.shrink.measure_seconds;
    if (seconds == 0) return {};
    std::vector<NetworkForBatch> networks;
    for (const Variant& variant : all_) networks.push_back(network_of(variant));
    SHOAL_ASSIGN(const std::vector<double> ms,
                 shrink::measured_ms(devices_.runs, networks, seconds));
    for (size_t i = 0; i < all_.size(); ++i) all_[i].figures.ms = ms[i];
    return {};
  }

  Status write() {
    std::vector<Variant>& left = result_.catalog.variants = without_dominated(all_);
    for (const Variant& one : all_) {
      if (std::ranges::find(left, one) == left.end()) result_.dominated.push_back(one.name);
    }
    SHOAL_TRY(make_folder(options_.out));
    SHOAL_TRY(remove_stale());
    SHOAL_TRY(copy_file_to(widths() / kLargest, options_.out / kLargest));
    std::vector<OwnParts> own(left.size());
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i].has_file) {
        SHOAL_TRY(copy_file_to(file_of(left[i].name), options_.out / (left[i].name + ".onnx")));
        result_.folder_bytes += bytes_of(options_.out / (left[i].name + ".onnx"));
      } else {
        SHOAL_ASSIGN(own[i], read_own_parts(widths(), left[i].name));
      }
    }
    SHOAL_TRY(write_catalog(options_.out, result_.catalog, own));
    result_.largest_bytes = bytes_of(options_.out / kLargest);
    for (const char* file : {kLargest, "own.safetensors", "index.json"}) {
      result_.nested_bytes += bytes_of(options_.out / file);
    }
    result_.folder_bytes += result_.nested_bytes;
    return {};
  }

  // Files of variants that an earlier catalog in this folder had.
  Status remove_stale() const {
    const auto before = read_catalog(options_.out);
    if (!before.ok()) return {};
    for (const Variant& one : before->variants) {
      std::error_code error;
      if (one.has_file) fs::remove(options_.out / (one.name + ".onnx"), error);
      if (error) return Status(Code::kNotFound, one.name + ".onnx: " + error.message());
    }
    return {};
  }

  const shrink::ShrinkDevices devices_;
  const Model& model_;
  const NetworkForBatch given_;
  const fit::JudgedData& data_;
  const BuildOptions& options_;
  const fs::path steps_;
  const shrink::ShrinkCallbacks& callbacks_;
  std::vector<Variant> all_;  // the widest first
  BuildResult result_;
};

Status check(const BuildOptions& options) {
  if (options.out.empty()) return invalid("a catalog needs a folder");
  std::set<std::string> names;
  for (const VariantRecipe& recipe : options.variants) {
    if (!is_variant_name(recipe.name) || recipe.name == kWidths) {
      return invalid("'" + recipe.name + "' cannot be the name of a variant");
    }
    const bool is_width = recipe.name.size() == 2 && recipe.name[0] == 'v' && recipe.name[1] <= '9';
    if (is_width || !names.insert(recipe.name).second) {
      return invalid("two variants are called " + recipe.name);
    }
  }
  return shrink::check(options.shrink);
}

}  // namespace

Result<BuildResult> build(const shrink::ShrinkDevices& devices, const Model& model,
                          const fit::JudgedData& data, const BuildOptions& options,
                          const shrink::ShrinkCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  if (model.has_random_weights()) {
    return invalid(model.name() + " has random weights: train it first");
  }
  return Build(devices, model, data, options, callbacks).run();
}

}  // namespace shoal::catalog
