// The JSON of a checkpoint. nlohmann-json throws, so that parsing is in one try block, and an
// exception of any kind means a damaged file. The checksum has been verified before: a text that
// does not parse was written by something else.
#include "shoal/train/run/loop/checkpoint.h"

#include <nlohmann/json.hpp>

#include "shoal/base/text/printable.h"
#include "shoal/train/data/safetensors.h"
#include "shoal/train/run/setup/derived_options.h"

namespace shoal::fit {
namespace {

using nlohmann::json;

constexpr std::string_view kState = "state.", kBest = "best.";

json to_json(const TrainingProgress& progress) {
  json results = json::array();
  for (const EpochResult& r : progress.results) {
    results.push_back({r.loss, r.top1, r.held_out_loss, r.held_out_top1, r.seconds});
  }
  return {{"epoch", progress.epoch},       {"step", progress.step},
          {"loss_sum", progress.loss_sum}, {"right", progress.correct},
          {"seconds", progress.seconds},   {"results", results}};
}

TrainingProgress progress_from(const json& j) {
  TrainingProgress progress{.epoch = j.at("epoch"),
                            .step = j.at("step"),
                            .loss_sum = j.at("loss_sum"),
                            .correct = j.at("right"),
                            .seconds = j.at("seconds"),
                            .results = {}};
  for (const json& r : j.at("results")) {
    progress.results.push_back({r.at(0), r.at(1), r.at(2), r.at(3), r.at(4)});
  }
  return progress;
}

// Settings that an older version did not write count as null, and differ from every value.
Status require_same(const json& then, const json& now) {
  for (const auto& [name, value] : now.items()) {
    const json other = then.value(name, json());
    if (other == value) continue;
    return invalid("it was made with " + name + " " + other.dump() + ", not " + value.dump());
  }
  return {};
}

// Paths and names may be any bytes, and JSON is UTF-8. Other text becomes the list of its bytes, so
// that different texts stay different.
json exact(const std::string& text) {
  if (printable(text, text.size()) == text) return text;
  return std::vector<unsigned char>(text.begin(), text.end());
}

json exact(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(exact(text));
  return list;
}

}  // namespace

std::string settings_of(const TrainingOptions& options) {
  const train::OptimizerOptions& rule = options.optimizer;
  const train::Loss& loss = options.loss;
  const Preprocess& preprocess = options.preprocess;
  const Augment& augment = options.augment;
  json settings = {
      {"model", exact(options.model)},
      {"format", exact(options.format)},
      {"limit", options.limit},
      {"hold_out", options.hold_out},
      {"preprocess",
       {preprocess.resize, preprocess.crop, preprocess.stretch, preprocess.channels,
        preprocess.mean, preprocess.std, preprocess.scale, preprocess.bgr, preprocess.nhwc}},
      {"augment", {augment.crop, augment.shift, augment.flip, augment.noise}},
      {"batch", options.batch},
      {"seed", options.seed},
      {"bf16", options.bf16},
      {"memory", options.bf16 ? options.memory_bytes : 0},  // of no influence otherwise
      {"from_scratch", options.from_scratch},
      {"retarget", options.retarget},
      {"freeze", exact(options.freeze)},
      {"optimizer", name_of(rule.rule)},
      {"rate", trainer_options(options).optimizer.rate},
      {"momentum", {rule.momentum, rule.nesterov}},
      {"adam", {rule.beta1, rule.beta2, rule.epsilon}},
      {"weight_decay", rule.weight_decay},
      {"clip", rule.max_norm},
      {"penalty", exact(options.penalties)},
      {"schedule", {name_of(options.schedule), options.warm_up, options.drop_every, options.drop}},
      {"loss",
       {loss.smoothing, loss.focal, exact(options.teacher), loss.distill, loss.temperature}}};
  // Absent where there is one output, so that older checkpoints stay of use.
  if (!options.output_weights.empty()) settings["outputs"] = options.output_weights;
  if (options.self_distill > 0) settings["self_distill"] = options.self_distill;
  if (options.distill_features > 0) settings["distill_features"] = options.distill_features;
  // Likewise. The noise may not change on the way: epsilon is that of equal steps.
  const privacy::PrivacyOptions& privacy = options.privacy;
  if (privacy.is_on()) settings["privacy"] = {privacy.noise, privacy.clip};
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
  try {
    checkpoint.progress = progress_from(json::parse(file.metadata["course"]));
    SHOAL_TRY(
        require_same(json::parse(checkpoint.settings), json::parse(settings)).at(path.string()));
  } catch (const json::exception&) {
    return corrupt();
  }
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
