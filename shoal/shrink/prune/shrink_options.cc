#include "shoal/shrink/prune/shrink_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "shoal/plan/device_presets.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::shrink {
namespace {

constexpr std::array kImportances = {
    std::pair{Importance::kMagnitude, "magnitude"}, std::pair{Importance::kTaylor, "taylor"},
    std::pair{Importance::kRandom, "random"},       std::pair{Importance::kLasso, "lasso"},
    std::pair{Importance::kHoyer, "hoyer"},         std::pair{Importance::kDpruner, "dpruner"},
    std::pair{Importance::kDepth, "depth"},         std::pair{Importance::kSvd, "svd"},
    std::pair{Importance::kTucker, "tucker"}};
constexpr std::array kTeachers = {std::pair{Teacher::kNone, "none"},
                                  std::pair{Teacher::kDense, "dense"},
                                  std::pair{Teacher::kControl, "control"}};

template <class Names, class Kind>
std::string_view name_in(const Names& names, Kind kind) {
  return std::ranges::find(names, kind, [](const auto& entry) { return entry.first; })->second;
}

template <class Kind, class Names>
std::optional<Kind> kind_in(const Names& names, std::string_view name) {
  const auto position = std::ranges::find(
      names, name, [](const auto& entry) { return std::string_view(entry.second); });
  return position == names.end() ? std::nullopt : std::optional(position->first);
}

constexpr std::string_view kTime = "ms=";

Result<TimeTarget> parse_time(std::string_view text) {
  std::string_view number = text.substr(kTime.size());
  const bool is_share = number.ends_with('x');
  if (is_share) number.remove_suffix(1);
  double value = 0;
  const char* last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, value);
  if (number.empty() || error != std::errc() || end != last) {
    return invalid("a time is like ms=0.2, or ms=0.5x for a share of what it was, not " +
                   std::string(text));
  }
  return is_share ? TimeTarget{.share = value} : TimeTarget{.ms = value};
}

Status check(const TimeTarget& time) {
  SHOAL_TRY(compress::check(time.besides));
  // Also refuses NaN and infinity.
  if (time.share == 0 && time.ms > 0 && time.ms <= 1e9) return {};
  if (time.ms == 0 && time.share > 0 && time.share <= 1) return {};
  return invalid("a time is a number of milliseconds above 0, or a share in (0, 1]");
}

bool learns_first(Importance importance) {
  return importance == Importance::kLasso || importance == Importance::kHoyer ||
         importance == Importance::kDpruner;
}

Status check_method(const ShrinkOptions& options) {
  const bool learns = learns_first(options.importance);
  if (!(options.sparse_epochs >= 0 && options.strength >= 0)) {
    return invalid("sparse_epochs or strength is out of range");
  }
  if (!learns && options.sparse_epochs > 0) {
    return invalid("sparse_epochs are for methods that learn what goes");
  }
  if (options.strength > 0 && (!learns || options.importance == Importance::kDpruner)) {
    return invalid("a strength is for lasso and hoyer");
  }
  if (learns && epochs_before(options) >= options.recipe.epochs) {
    return invalid("the smaller network needs epochs of its own after those before it");
  }
  const bool needs_table = options.time || !options.device.empty();
  const bool drops_blocks = options.importance == Importance::kDepth || options.blocks > 0;
  if (drops_blocks && needs_table) {
    return invalid("depth has no times of blocks: it takes a target of size, and no device");
  }
  if (options.importance == Importance::kDepth && options.blocks > 0) {
    return invalid("depth leaves out as many blocks as the target needs");
  }
  if (!factorises(options.importance)) return {};
  // The first factor of a layer that halves its image makes an image of the size before.
  if (options.distill_features > 0) {
    return invalid("svd and tucker have no features of the teacher's layers to learn");
  }
  if (!options.device.empty()) return invalid("svd and tucker are timed here, not for a device");
  if (options.time && options.time->besides != compress::Target()) {
    return invalid("svd and tucker take a time or sizes, not both");
  }
  if (!options.time && options.target.units < 1) return invalid("svd and tucker remove no units");
  return {};
}

}  // namespace

bool factorises(Importance importance) {
  return importance == Importance::kSvd || importance == Importance::kTucker;
}

std::string_view name_of(Importance importance) { return name_in(kImportances, importance); }
std::optional<Importance> find_importance(std::string_view name) {
  return kind_in<Importance>(kImportances, name);
}

std::string_view name_of(Teacher teacher) { return name_in(kTeachers, teacher); }
std::optional<Teacher> find_teacher(std::string_view name) {
  return kind_in<Teacher>(kTeachers, name);
}

int64_t epochs_before(const ShrinkOptions& options) {
  if (!learns_first(options.importance)) return 0;
  if (options.sparse_epochs > 0) return options.sparse_epochs;
  return std::max<int64_t>(options.recipe.epochs / 3, 1);
}

fit::TrainingOptions usual_recipe() {
  fit::TrainingOptions recipe{.epochs = 10, .warm_up = 0.5};
  recipe.loss.distill = 0.5F;
  return recipe;
}

Status set_target(std::string_view text, ShrinkOptions& options) {
  std::optional<TimeTarget> time;
  std::optional<std::string> sizes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, comma - begin);
    begin = comma + 1;
    if (!part.starts_with(kTime)) {
      sizes = (sizes ? *sizes + "," : "") + std::string(part);
      continue;
    }
    if (time) return invalid("there are two times in " + std::string(text));
    SHOAL_ASSIGN(time, parse_time(part));
  }
  if (!time) {
    options.time.reset();
    SHOAL_ASSIGN(options.target, compress::parse_target(text));
    return {};
  }
  if (sizes) {
    SHOAL_ASSIGN(time->besides, compress::parse_target(*sizes));
  }
  SHOAL_TRY(check(*time));
  options.time = time;
  return {};
}

Status check(const ShrinkOptions& options) {
  SHOAL_TRY(options.time ? check(*options.time) : compress::check(options.target));
  if (!options.device.empty()) SHOAL_TRY(plan::find_cluster(options.device).status());
  if (!(options.max_drop >= 0)) return invalid("max_drop is out of range");
  if (!(options.measure_seconds >= 0)) return invalid("measure_seconds is out of range");
  if ((options.teacher == Teacher::kNone) != (options.recipe.loss.distill == 0)) {
    return invalid("a teacher and its share of the loss must be given together");
  }
  if (!(options.distill_features >= 0 && std::isfinite(options.distill_features)) ||
      (options.distill_features > 0 && options.teacher == Teacher::kNone)) {
    return invalid("distill_features is how much the features of a teacher count");
  }
  SHOAL_TRY(check_method(options));
  if (options.int8_epochs < 0) return invalid("int8_epochs is out of range");
  if (options.int8_epochs > 0 && !options.int8) return invalid("int8_epochs are for int8");
  if (options.resume && options.steps.empty()) return invalid("there is no run to resume");
  return check_recipe(options.recipe, "shrinking takes");
}

}  // namespace shoal::shrink
