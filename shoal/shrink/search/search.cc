// Architecture search: draw, simulate, train, choose.
#include "shoal/shrink/search/search.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "shoal/base/text/number_text.h"
#include "shoal/engine/session/model.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/shrink/search/candidates.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::search {
namespace {

// What a file of a search says about itself.
constexpr const char *kTop1 = "shoal.search.top1", *kRecipe = "shoal.search.recipe";

Result<Space> space_of(const SearchOptions& options, const Dataset& images) {
  Space space{.units = options.units, .vertices = options.vertices};
  space.network.macs = options.macs;
  space.network.classes = options.classes;
  space.network.seed = options.recipe.seed;
  if (images.size() == 0) return invalid("there are no examples to learn from");
  SHOAL_ASSIGN(const Example first, images.at(0));
  const Shape& shape = first.image.shape();  // [h, w, c]
  if (shape[0] != shape[1]) return invalid("the images of a search are square");
  space.network.size = shape[0];
  space.network.channels = shape[2];
  SHOAL_ASSIGN(const plan::DevicePreset device, plan::find_device(options.device));
  SHOAL_ASSIGN(const plan::LinkPreset link, plan::find_link(options.link));
  space.worker = device.profile();
  space.link = link.profile(0);
  SHOAL_TRY(check(space));
  return space;
}

// All that the weights of a network depend on besides its name and the examples.
std::string recipe_of(const SearchOptions& options, const fit::JudgedData& data) {
  const fit::TrainingOptions& recipe = options.recipe;
  std::ostringstream text;
  text << "macs " << options.macs << ", vertices " << options.vertices << ", epochs "
       << recipe.epochs << ", batch " << recipe.batch << ", seed " << recipe.seed << ", rate "
       << recipe.optimizer.rate << ", weight decay " << recipe.optimizer.weight_decay
       << ", examples " << data.data.training->size();
  return text.str();
}

// The accuracy that a file of an earlier search with this recipe says it has.
std::optional<double> known_top1(const std::filesystem::path& file, const std::string& recipe) {
  const auto model = open_model(file.string());
  if (!model.ok()) return {};
  const auto properties = model->properties();
  const auto top1 = properties.find(kTop1), made_by = properties.find(kRecipe);
  if (top1 == properties.end() || made_by == properties.end() || made_by->second != recipe) {
    return {};
  }
  double value = 0;
  const char* const end = top1->second.data() + top1->second.size();
  const auto [stopped, error] = std::from_chars(top1->second.data(), end, value);
  if (error != std::errc() || stopped != end || !(value >= 0 && value <= 100)) return {};
  return value;
}

class Search {
 public:
  Search(Device& device, const fit::JudgedData& data, const SearchOptions& options,
         const SearchCallbacks& callbacks)
      : device_(device), data_(data), options_(options), callbacks_(callbacks) {}

  Result<SearchResult> run() {
    SHOAL_TRY(check(options_));
    SHOAL_ASSIGN(space_, space_of(options_, *data_.data.training));
    SHOAL_ASSIGN(const std::vector<Candidate> candidates, simulate());
    SHOAL_TRY(make_folder());
    for (size_t i = 0; i < std::min(options_.trained, candidates.size()); ++i) {
      if (i > 0 && out_of_time()) {
        note(with_commas(static_cast<long long>(i)) + " networks have learned in the time given");
        break;
      }
      SHOAL_TRY(learn(candidates[i]));
    }
    return finish();
  }

 private:
  using Clock = std::chrono::steady_clock;

  Result<std::vector<Candidate>> simulate() {
    const size_t total = options_.drawn + options_.simulated;
    const auto done = [&](size_t count) {
      if (callbacks_.on_candidate) callbacks_.on_candidate(count, total);
    };
    SHOAL_ASSIGN(std::vector<Candidate> fastest,
                 fastest_candidates(space_, options_.recipe.seed * options_.drawn, options_.drawn,
                                    options_.simulated, done));
    SHOAL_ASSIGN(const double staged, staged_control_seconds(space_, fastest.size()));
    result_.drawn = options_.drawn;
    result_.simulated = fastest.size();
    result_.fastest_ms = 1e3 * fastest[0].simulated_seconds;
    result_.staged_ms = 1e3 * staged;
    note("fastest of " + std::to_string(fastest.size()) + " simulated: " + fastest[0].name + ", " +
         in_seconds(fastest[0].simulated_seconds) + "; with stages: " + in_seconds(staged));
    return fastest;
  }

  Status make_folder() {
    std::error_code error;
    std::filesystem::create_directories(options_.out, error);
    if (error) {
      return Status(Code::kUnavailable, options_.out.string() + ": " + error.message());
    }
    return {};
  }

  bool out_of_time() const { return options_.minutes > 0 && seconds() > 60 * options_.minutes; }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  void note(const std::string& line) {
    if (callbacks_.on_note) callbacks_.on_note(line);
  }

  fit::NetworkForBatch network_for(const Candidate& candidate) {
    return [space = space_, candidate](int64_t batch) -> Result<LoadedGraph> {
      SHOAL_ASSIGN(concurrent::Network network, network_of(candidate, space, batch));
      LoadedGraph loaded{.graph = std::move(network.graph), .outputs = {}};
      for (const ValueId output : loaded.graph.outputs()) {
        loaded.outputs.push_back(loaded.graph[output].name);
      }
      return loaded;
    };
  }

  Status learn(const Candidate& candidate) {
    const std::filesystem::path file = options_.out / (candidate.name + ".onnx");
    const std::string recipe = recipe_of(options_, data_);
    std::optional<double> top1 = known_top1(file, recipe);
    if (top1) note(file.string() + " has learned before");
    if (!top1) {
      fit::TrainingOptions training_options = options_.recipe;
      training_options.loss.distill = 0;
      fit::TrainingCallbacks training{.cancel = callbacks_.cancel};
      if (callbacks_.on_step) {
        training.on_step = [&](const fit::StepReport& step) {
          callbacks_.on_step(candidate.name, step);
        };
      }
      SHOAL_ASSIGN(const shrink::Trained trained,
                   shrink::retrain(device_, network_for(candidate), {}, data_.data,
                                   training_options, training));
      top1 = trained.held_out_top1;
      SHOAL_TRY(fit::export_network(trained.network, file,
                                    {{kTop1, fixed(*top1, 4)}, {kRecipe, recipe}}));
    }
    SHOAL_ASSIGN(const concurrent::Network network, network_of(candidate, space_, 1));
    result_.found.push_back({.name = candidate.name,
                             .ms = 1e3 * candidate.simulated_seconds,
                             .top1 = *top1,
                             .macs = network.macs,
                             .parameters = parameters(network.graph)});
    note(candidate.name + ": " + fixed(*top1, 2) + " % on held-out examples");
    return {};
  }

  Result<SearchResult> finish() {
    std::ranges::stable_sort(result_.found,
                             [](const Found& a, const Found& b) { return a.top1 > b.top1; });
    mark_front(result_.found);
    SHOAL_ASSIGN(const Model best,
                 open_model((options_.out / (result_.found[0].name + ".onnx")).string()));
    const auto network = [&](int64_t batch) { return fit::load_for_batch(best, batch); };
    SHOAL_ASSIGN(result_.test_top1,
                 shrink::top1_of(device_, network, *data_.test, options_.recipe));
    result_.seconds = seconds();
    return std::move(result_);
  }

  Device& device_;
  const fit::JudgedData& data_;
  const SearchOptions& options_;
  const SearchCallbacks& callbacks_;
  const Clock::time_point began_ = Clock::now();
  Space space_;
  SearchResult result_;
};

}  // namespace

Status check(const SearchOptions& options) {
  SHOAL_TRY(plan::find_device(options.device).status());
  SHOAL_TRY(plan::find_link(options.link).status());
  if (options.drawn < 1 || options.simulated < 1 || options.trained < 1) {
    return invalid("a search draws, simulates and trains at least one network");
  }
  if (options.minutes < 0) return invalid("a search takes no negative time");
  if (options.out.empty()) return invalid("a search needs a folder for its networks");
  return {};
}

void mark_front(std::vector<Found>& found) {
  const auto beats = [](const Found& a, const Found& b) {
    return a.top1 >= b.top1 && a.ms <= b.ms && (a.top1 > b.top1 || a.ms < b.ms);
  };
  for (Found& one : found) {
    one.on_front =
        std::ranges::none_of(found, [&](const Found& other) { return beats(other, one); });
  }
}

Result<SearchResult> search(Device& device, const fit::JudgedData& data,
                            const SearchOptions& options, const SearchCallbacks& callbacks) {
  return Search(device, data, options, callbacks).run();
}

}  // namespace shoal::search
