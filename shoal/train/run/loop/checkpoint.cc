// The JSON of a checkpoint. The checksum was verified: text that does not parse is of another
// program.
#include "shoal/train/run/loop/checkpoint.h"

#include "shoal/base/text/json.h"
#include "shoal/base/text/printable.h"
#include "shoal/train/data/safetensors.h"
#include "shoal/train/run/setup/derived_options.h"

namespace shoal::fit {
namespace {

constexpr std::string_view kState = "state.", kBest = "best.";

Json to_json(const TrainingProgress& progress) {
  Json results = Json::array();
  for (const EpochResult& r : progress.results) {
    results.push_back(Json::array({r.loss, r.top1, r.held_out_loss, r.held_out_top1, r.seconds}));
  }
  return {{"epoch", progress.epoch},       {"step", progress.step},
          {"loss_sum", progress.loss_sum}, {"right", progress.correct},
          {"seconds", progress.seconds},   {"results", results}};
}

Result<TrainingProgress> progress_from(std::string_view text) {
  SHOAL_ASSIGN(const Json json, Json::parse(text));
  TrainingProgress progress;
  SHOAL_TRY(json.get("epoch", progress.epoch));
  SHOAL_TRY(json.get("step", progress.step));
  SHOAL_TRY(json.get("loss_sum", progress.loss_sum));
  SHOAL_TRY(json.get("right", progress.correct));
  SHOAL_TRY(json.get("seconds", progress.seconds));
  std::vector<std::vector<double>> results;
  SHOAL_TRY(json.get("results", results));
  for (const std::vector<double>& r : results) {
    if (r.size() < 5) return Status(Code::kCorrupt, "an epoch lacks results");
    progress.results.push_back({r[0], r[1], r[2], r[3], r[4]});
  }
  return progress;
}

// Settings that an older version did not write count as null, and differ from every value.
Status require_same(const Json& then, const Json& now) {
  for (const auto& [name, value] : now.members()) {
    const Json* const found = then.find(name);
    const Json other = found == nullptr ? Json() : *found;
    if (other == value) continue;
    return invalid("it was made with " + name + " " + other.dump() + ", not " + value.dump());
  }
  return {};
}

// Paths and names may be any bytes, and JSON is UTF-8. Other text becomes the list of its bytes, so
// that different texts stay different.
Json exact(const std::string& text) {
  if (printable(text, text.size()) == text) return text;
  return std::vector<uint8_t>(text.begin(), text.end());
}

Json exact(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(exact(text));
  return list;
}

}  // namespace

std::string settings_of(const TrainingOptions& options) {
  const train::OptimizerOptions& rule = options.optimizer;
  const train::Loss& loss = options.loss;
  const Preprocess& preprocess = options.preprocess;
  const Augment& augment = options.augment;
  const auto list = [](std::initializer_list<Json> all) { return Json::array(all); };
  Json settings = {
      {"model", exact(options.model)},
      {"format", exact(options.format)},
      {"limit", options.limit},
      {"hold_out", options.hold_out},
      {"preprocess",
       list({preprocess.resize, preprocess.crop, preprocess.stretch, preprocess.channels,
             preprocess.mean, preprocess.std, preprocess.scale, preprocess.bgr, preprocess.nhwc})},
      {"augment", list({augment.crop, augment.shift, augment.flip, augment.noise})},
      {"batch", options.batch},
      {"seed", options.seed},
      {"bf16", options.bf16},
      {"memory", options.bf16 ? options.memory_bytes : 0},  // of no influence otherwise
      {"from_scratch", options.from_scratch},
      {"retarget", options.retarget},
      {"freeze", exact(options.freeze)},
      {"optimizer", name_of(rule.rule)},
      {"rate", trainer_options(options).optimizer.rate},
      {"momentum", list({rule.momentum, rule.nesterov})},
      {"adam", list({rule.beta1, rule.beta2, rule.epsilon})},
      {"weight_decay", rule.weight_decay},
      {"clip", rule.max_norm},
      {"penalty", exact(options.penalties)},
      {"schedule",
       list({name_of(options.schedule), options.warm_up, options.drop_every, options.drop})},
      {"loss",
       list({loss.smoothing, loss.focal, exact(options.teacher), loss.distill, loss.temperature})}};
  // Absent if there is one output, so that older checkpoints stay of use.
  if (!options.output_weights.empty()) settings["outputs"] = options.output_weights;
  if (options.self_distill > 0) settings["self_distill"] = options.self_distill;
  if (options.distill_features > 0) settings["distill_features"] = options.distill_features;
  // Likewise. The noise may not change on the way: epsilon is that of equal steps.
  const privacy::PrivacyOptions& privacy = options.privacy;
  if (privacy.is_on()) settings["privacy"] = list({privacy.noise, privacy.clip});
  return settings.dump();
}

Status write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  TensorFile file;
  for (const auto& [name, tensor] : checkpoint.state) {
    file.tensors[std::string(kState) + name] = tensor;
  }
  for (const auto& [name, tensor] : checkpoint.best) {
    file.tensors[std::string(kBest) + name] = tensor;
  }
  file.metadata = {{"course", to_json(checkpoint.progress).dump()},
                   {"settings", checkpoint.settings}};
  return write_safetensors(path, file);
}

Result<Checkpoint> read_checkpoint(const std::filesystem::path& path, std::string_view settings) {
  SHOAL_ASSIGN(TensorFile file, read_safetensors(path));
  const auto corrupt = [&] {
    return Status(Code::kCorrupt, path.string() + ": no checkpoint, or a damaged one");
  };
  // A tensor file without a checksum was not written by write_checkpoint().
  if (!file.checked) return corrupt();
  Checkpoint checkpoint{
      .progress = {}, .settings = file.metadata["settings"], .state = {}, .best = {}};
  auto progress = progress_from(file.metadata["course"]);
  const auto then = Json::parse(checkpoint.settings), now = Json::parse(settings);
  if (!progress.ok() || !then.ok() || !then->is_object() || !now.ok()) return corrupt();
  SHOAL_TRY(require_same(*then, *now).at(path.string()));
  checkpoint.progress = *std::move(progress);
  // The prefix separates two name spaces: a weight may have any name, the optimiser's included.
  for (auto& [name, tensor] : file.tensors) {
    const std::string_view prefix = name.starts_with(kBest) ? kBest : kState;
    if (!name.starts_with(prefix)) return corrupt();
    auto& part = prefix == kBest ? checkpoint.best : checkpoint.state;
    part[name.substr(prefix.size())] = std::move(tensor);
  }
  return checkpoint;
}

}  // namespace shoal::fit
