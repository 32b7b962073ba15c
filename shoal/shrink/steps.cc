#include "shoal/shrink/steps.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <system_error>

#include "shoal/base/atomic_file.h"
#include "shoal/base/hash.h"
#include "shoal/base/json_text.h"
#include "shoal/fit/checkpoint.h"
#include "shoal/graph/text.h"

namespace shoal::shrink {
namespace {

constexpr size_t kNetworks = 4;  // of a run, at most
constexpr const char *kUnits = "units", *kTime = "time";

// A list in JSON.
std::string numbers(std::initializer_list<double> all) {
  std::string list;
  for (double number : all) list += (list.empty() ? "[" : ",") + json_number(number);
  return list + "]";
}

Status remove_file(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (!error) return {};
  return Status(Code::kNotFound, path.string() + ": " + error.message());
}

}  // namespace

// The recipe's settings leave out the epochs, because training may go on for longer; here they
// decide the rates of all networks. The text of a graph has the hashes of its weights.
std::string settings_of(const ShrinkOptions& options, const Graph& network) {
  const std::string text = to_text(network);
  const compress::Target& target = options.target;
  std::string settings = "{\"network\":\"" +
                         std::to_string(hash_of(std::as_bytes(std::span(text)))) +
                         "\",\"epochs\":" + std::to_string(options.recipe.epochs) +
                         ",\"method\":" + json_text(name_of(options.importance)) +
                         ",\"teacher\":" + json_text(name_of(options.teacher)) +
                         ",\"device\":" + json_text(options.device) + ",\"target\":";
  if (options.time) {
    settings += numbers({options.time->ms, options.time->share});
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
  const auto units = known.state.find(kUnits);
  if (units == known.state.end() || units->second.dtype() != DType::kI64) {
    return Status(Code::kCorrupt, choice_file().string() + ": there are no units in it");
  }
  Choice& choice = choice_.emplace();
  const auto of_file = units->second.data<int64_t>();
  choice.units.assign(of_file.begin(), of_file.end());
  const auto time = known.state.find(kTime);
  if (time == known.state.end()) return {};
  if (time->second.type() != TensorType{DType::kF64, {2}}) {
    return Status(Code::kCorrupt, choice_file().string() + ": there are no two times in it");
  }
  const auto ms = time->second.data<double>();
  choice.time = {ms[0], ms[1]};
  return {};
}

Status Steps::keep_choice(const Choice& choice) {
  choice_ = choice;
  if (folder_.empty()) return {};
  Tensor units({DType::kI64, {static_cast<int64_t>(choice.units.size())}});
  std::ranges::transform(choice.units, units.data<int64_t>().begin(),
                         [](size_t unit) { return static_cast<int64_t>(unit); });
  fit::Checkpoint kept{
      .progress = {}, .settings = settings_, .state = {{kUnits, units}}, .best = {}};
  if (choice.time) {
    kept.state.emplace(kTime, Tensor::of<double>({2}, {choice.time->before_ms, choice.time->ms}));
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
