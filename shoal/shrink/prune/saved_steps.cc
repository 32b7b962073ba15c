#include "shoal/shrink/prune/saved_steps.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <system_error>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/math/hash.h"
#include "shoal/base/text/json_text.h"
#include "shoal/model/graph/text.h"
#include "shoal/plan/search/wire_format.h"
#include "shoal/train/run/loop/checkpoint.h"

namespace shoal::shrink {
namespace {

constexpr size_t kNetworks = 5;  // of a run, at most
constexpr const char* kTimes = "ms";
constexpr const char* kBlocks = "blocks";
constexpr std::string_view kWeight = "weight.";  // before the name of one

// The units that are gone after a round.
std::string units_name(size_t round) { return "units." + std::to_string(round); }

// The ranks of layers after a round, two for each.
std::string ranks_name(size_t round) { return "ranks." + std::to_string(round); }

Tensor as_tensor(const std::vector<size_t>& units) {
  Tensor numbers({DType::kI64, {static_cast<int64_t>(units.size())}});
  std::ranges::transform(units, numbers.data<int64_t>().begin(),
                         [](size_t unit) { return static_cast<int64_t>(unit); });
  return numbers;
}

std::string numbers(std::initializer_list<double> all) {
  std::string list;
  for (double number : all) list += (list.empty() ? "[" : ",") + json_number(number);
  return list + "]";
}

plan::WireFormat format_of(const ShrinkOptions& options) {
  return options.wire ? options.wire->smallest : plan::WireFormat::kF32;
}

Status remove_file(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (!error) return {};
  return Status(Code::kNotFound, path.string() + ": " + error.message());
}

}  // namespace

const Removal* milder(const Choice& choice, double drop, double most) {
  const std::vector<Removal>& rounds = choice.rounds;
  const double part = drop > most ? most / drop : 0.5;
  auto number = static_cast<size_t>(part * static_cast<double>(rounds.size()));
  // Few units make rounds that remove no more than the one before.
  const Removal& last = rounds.back();
  const auto is_as_much = [&](const Removal& removal) {
    return removal.units.size() >= last.units.size() && removal.ranks == last.ranks;
  };
  while (number > 0 && is_as_much(rounds[number - 1])) --number;
  if (number == 0) return nullptr;
  const Removal& less = rounds[number - 1];
  if (less.units.empty() && less.ranks.empty()) return nullptr;
  return &rounds[number - 1];
}

// The recipe's settings leave out the epochs, because training may go on for longer; here they
// decide the rates of all networks. The text of a graph has the hashes of its weights.
std::string settings_of(const ShrinkOptions& options, const Graph& network) {
  const std::string text = to_text(network);
  const compress::Target& target = options.target;
  std::string settings = "{\"network\":\"" +
                         std::to_string(hash_of(std::as_bytes(std::span(text)))) +
                         "\",\"epochs\":" + std::to_string(options.recipe.epochs) +
                         ",\"method\":" + json_text(name_of(options.importance)) +
                         ",\"blocks\":" + std::to_string(options.blocks) +
                         ",\"sparse_epochs\":" + std::to_string(epochs_before(options)) +
                         ",\"strength\":" + json_number(options.strength) +
                         ",\"int8\":" + (options.int8 ? "true" : "false") +
                         ",\"int8_epochs\":" + std::to_string(options.int8_epochs) +
                         ",\"norms\":" + (options.norms ? "true" : "false") +
                         ",\"refit\":" + (options.refit ? "true" : "false") +
                         ",\"teacher\":" + json_text(name_of(options.teacher)) +
                         ",\"distill_features\":" + json_number(options.distill_features) +
                         ",\"device\":" + json_text(options.device) +
                         ",\"wire\":" + json_text(plan::name_of(format_of(options))) +
                         ",\"max_drop\":" + json_number(options.max_drop) + ",\"target\":";
  if (options.time) {
    const compress::Target& besides = options.time->besides;
    settings += numbers({options.time->ms, options.time->share, besides.units, besides.macs,
                         besides.parameters, besides.bytes});
  } else {
    settings += numbers({target.units, target.macs, target.parameters, target.bytes});
  }
  return settings + "," + fit::settings_of(options.recipe).substr(1);
}

Result<Steps> Steps::open(const ShrinkOptions& options, const Graph& network) {
  Steps steps(options.steps, settings_of(options, network));
  if (steps.folder_.empty()) return steps;
  std::error_code unknown;  // reading the file says more
  if (options.resume && (std::filesystem::exists(steps.choice_file(), unknown) || unknown)) {
    SHOAL_TRY(steps.read_choice());
    return steps;
  }
  SHOAL_TRY(make_folder(steps.folder_));
  SHOAL_TRY(steps.clear_files());
  return steps;
}

Status Steps::read_choice() {
  SHOAL_ASSIGN(const fit::Checkpoint known, fit::read_checkpoint(choice_file(), settings_));
  Choice choice;
  for (size_t round = 0;; ++round) {
    const auto units = known.state.find(units_name(round));
    if (units == known.state.end()) break;
    if (units->second.dtype() != DType::kI64) return damaged("units");
    const auto numbers = units->second.data<int64_t>();
    Removal& removal =
        choice.rounds.emplace_back(Removal{.units = {numbers.begin(), numbers.end()}});
    const auto ranks = known.state.find(ranks_name(round));
    if (ranks == known.state.end()) continue;
    if (ranks->second.dtype() != DType::kI64 || ranks->second.count() % 2 != 0) {
      return damaged("ranks");
    }
    const auto pairs = ranks->second.data<int64_t>();
    for (size_t i = 0; i < pairs.size(); i += 2) {
      removal.ranks.push_back({static_cast<size_t>(pairs[i]), static_cast<size_t>(pairs[i + 1])});
    }
  }
  if (choice.rounds.empty()) return damaged("units");
  if (const auto blocks = known.state.find(kBlocks); blocks != known.state.end()) {
    if (blocks->second.dtype() != DType::kI64) return damaged(kBlocks);
    const auto numbers = blocks->second.data<int64_t>();
    choice.blocks.assign(numbers.begin(), numbers.end());
  }
  if (const auto times = known.state.find(kTimes); times != known.state.end()) {
    const auto count = static_cast<int64_t>(choice.rounds.size() + 1);
    if (times->second.type() != TensorType{DType::kF64, {count}}) return damaged("times");
    const auto ms = times->second.data<double>();
    choice.before_ms = ms[0];
    for (size_t round = 0; round < choice.rounds.size(); ++round) {
      choice.rounds[round].ms = ms[round + 1];
    }
  }
  for (const auto& [name, tensor] : known.state) {
    if (name.starts_with(kWeight)) weights_.emplace(name.substr(kWeight.size()), tensor);
  }
  choice_ = std::move(choice);
  return {};
}

Status Steps::damaged(const char* what) const {
  return Status(Code::kCorrupt,
                choice_file().string() + ": there are no " + std::string(what) + " in it");
}

Status Steps::keep_choice(const Choice& choice, const Weights& weights) {
  choice_ = choice;
  weights_ = weights;
  if (folder_.empty()) return {};
  fit::Checkpoint kept{.progress = {}, .settings = settings_, .state = {}, .best = {}};
  for (const auto& [name, tensor] : weights) {
    kept.state.emplace(std::string(kWeight) + name, tensor);
  }
  if (!choice.blocks.empty()) kept.state.emplace(kBlocks, as_tensor(choice.blocks));
  std::vector<double> ms = {choice.before_ms.value_or(0)};
  for (size_t round = 0; round < choice.rounds.size(); ++round) {
    const std::vector<size_t>& units = choice.rounds[round].units;
    kept.state.emplace(units_name(round), as_tensor(units));
    const std::vector<compress::Ranks>& ranks = choice.rounds[round].ranks;
    Tensor pairs({DType::kI64, {static_cast<int64_t>(2 * ranks.size())}});
    for (size_t i = 0; i < ranks.size(); ++i) {
      pairs.data<int64_t>()[2 * i] = static_cast<int64_t>(ranks[i].outputs);
      pairs.data<int64_t>()[2 * i + 1] = static_cast<int64_t>(ranks[i].inputs);
    }
    if (!ranks.empty()) kept.state.emplace(ranks_name(round), pairs);
    ms.push_back(choice.rounds[round].ms.value_or(0));
  }
  if (choice.before_ms) {
    kept.state.emplace(
        kTimes, Tensor::of<double>({static_cast<int64_t>(ms.size())}, std::span<const double>(ms)));
  }
  return fit::write_checkpoint(choice_file(), kept);
}

std::filesystem::path Steps::checkpoint(size_t number) const {
  if (folder_.empty()) return {};
  return folder_ / ("network-" + std::to_string(number) + ".safetensors");
}

// The choice goes first: without it, checkpoints that are left are another run's.
Status Steps::clear_files() const {
  SHOAL_TRY(remove_file(choice_file()));
  for (size_t i = 0; i < kNetworks; ++i) SHOAL_TRY(remove_file(checkpoint(i)));
  return {};
}

Status Steps::clear() const {
  if (folder_.empty()) return {};
  SHOAL_TRY(clear_files());
  std::error_code not_empty;
  std::filesystem::remove(folder_, not_empty);
  return {};
}

}  // namespace shoal::shrink
