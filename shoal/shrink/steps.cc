#include "shoal/shrink/steps.h"

#include <algorithm>
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
constexpr const char* kUnits = "units";

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
                         ",\"int8\":" + (options.int8 ? "true" : "false") +
                         ",\"int8_epochs\":" + std::to_string(options.int8_epochs) +
                         ",\"teacher\":" + json_text(name_of(options.teacher)) + ",\"target\":[";
  for (double most : {target.units, target.macs, target.parameters}) {
    settings += json_number(most) + ",";
  }
  return settings + json_number(target.bytes) + "]," + fit::settings_of(options.recipe).substr(1);
}

Result<Steps> Steps::open(const ShrinkOptions& options, const Graph& network) {
  Steps steps(options.steps, settings_of(options, network));
  if (steps.folder_.empty()) return steps;
  std::error_code unknown;  // reading the file says more
  if (options.resume && (std::filesystem::exists(steps.choice_file(), unknown) || unknown)) {
    SHOAL_ASSIGN(const fit::Checkpoint known,
                 fit::read_checkpoint(steps.choice_file(), steps.settings_));
    const auto units = known.state.find(kUnits);
    if (units == known.state.end() || units->second.dtype() != DType::kI64) {
      return Status(Code::kCorrupt, steps.choice_file().string() + ": there are no units in it");
    }
    const auto numbers = units->second.data<int64_t>();
    steps.choice_.emplace(numbers.begin(), numbers.end());
    return steps;
  }
  SHOAL_TRY(make_folder(steps.folder_));
  SHOAL_TRY(steps.clear_files());
  return steps;
}

Status Steps::keep_choice(const std::vector<size_t>& units) {
  choice_ = units;
  if (folder_.empty()) return {};
  Tensor numbers({DType::kI64, {static_cast<int64_t>(units.size())}});
  std::ranges::transform(units, numbers.data<int64_t>().begin(),
                         [](size_t unit) { return static_cast<int64_t>(unit); });
  return fit::write_checkpoint(
      choice_file(),
      {.progress = {}, .settings = settings_, .state = {{kUnits, numbers}}, .best = {}});
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
