// Training for C.
#include "handles.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/train/step/weights/initial_weights.h"

namespace shoal::c {
namespace {

using train::Loss;
using train::OptimizerOptions;

// Enumerators of C are integers of any value.
Status check_options(const shoal_trainer_options& options) {
  if (options.batch < 1) return invalid("the batch is at least 1");
  if (options.rule < SHOAL_SGD || options.rule > SHOAL_ADAMW) {
    return invalid(std::to_string(options.rule) + " is no rule");
  }
  if (options.loss < SHOAL_CROSS_ENTROPY || options.loss > SHOAL_MEAN_SQUARE) {
    return invalid(std::to_string(options.loss) + " is no loss");
  }
  if (options.classes < 0 || options.memory_bytes < 0) {
    return invalid("classes and memory_bytes are not negative");
  }
  return {};
}

Result<Graph> network_of(Graph network, const shoal_trainer_options& options) {
  if (options.from_scratch != 0) {
    SHOAL_ASSIGN(network, train::with_initial_weights(network, options.seed));
  }
  if (options.classes > 0) {
    SHOAL_ASSIGN(network, train::retargeted(network, options.classes, options.seed));
  }
  return network;
}

Status create(const shoal_model* model, const shoal_device* device,
              const shoal_trainer_options* given, shoal_trainer** out) {
  SHOAL_TRY(require(model, "model"));
  SHOAL_TRY(require(out, "out"));
  SHOAL_ASSIGN(const auto options,
               read_options<shoal_trainer_options>(given, SHOAL_TRAINER_OPTIONS_INIT));
  SHOAL_TRY(check_options(options));
  SHOAL_ASSIGN(LoadedGraph loaded, model->model.graph_for_batch(options.batch));
  SHOAL_ASSIGN(const Graph network, network_of(std::move(loaded.graph), options));
  std::shared_ptr<Device> on = device_or_cpu(device);
  SHOAL_ASSIGN(train::Trainer trainer,
               train::Trainer::create(
                   *on, network,
                   {.optimizer = {.rule = static_cast<OptimizerOptions::Rule>(options.rule),
                                  .rate = options.rate,
                                  .momentum = options.momentum,
                                  .weight_decay = options.weight_decay},
                    .step = {.loss = {.kind = static_cast<Loss::Kind>(options.loss)}},
                    .memory_bytes = options.memory_bytes,
                    .seed = options.seed}));
  *out = new shoal_trainer{std::move(on), std::move(trainer), std::move(loaded.outputs)};
  return {};
}

Status step(shoal_trainer* trainer, const shoal_tensor* inputs, const shoal_tensor* targets,
            double rate_factor, float* loss) {
  SHOAL_TRY(require(trainer, "trainer"));
  SHOAL_TRY(require(inputs, "inputs"));
  SHOAL_TRY(require(targets, "targets"));
  SHOAL_ASSIGN(const float value,
               trainer->trainer.step(inputs->tensor, {&targets->tensor, 1}, rate_factor));
  if (loss != nullptr) *loss = value;
  return {};
}

// The model is a copy, by way of ONNX: later steps of the trainer do not change it.
Status to_model(const shoal_trainer* trainer, shoal_model** out) {
  SHOAL_TRY(require(trainer, "trainer"));
  SHOAL_TRY(require(out, "out"));
  SHOAL_ASSIGN(const Graph network, trainer->trainer.network());
  SHOAL_ASSIGN(auto bytes, onnx::to_onnx(network, trainer->outputs));
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  SHOAL_ASSIGN(Model model, parse_model(owner, *owner));
  *out = new shoal_model(std::move(model));
  return {};
}

Status save(const shoal_trainer* trainer, const char* path) {
  SHOAL_TRY(require(trainer, "trainer"));
  SHOAL_TRY(require(path, "path"));
  SHOAL_ASSIGN(const Graph network, trainer->trainer.network());
  return onnx::write_onnx(network, path, trainer->outputs);
}

}  // namespace
}  // namespace shoal::c

shoal_status* shoal_trainer_create(const shoal_model* model, shoal_device* device,
                                   const shoal_trainer_options* options, shoal_trainer** out) {
  return shoal::c::guarded([&] { return shoal::c::create(model, device, options, out); });
}

shoal_status* shoal_trainer_step(shoal_trainer* trainer, const shoal_tensor* inputs,
                                 const shoal_tensor* targets, double rate_factor, float* loss) {
  return shoal::c::guarded(
      [&] { return shoal::c::step(trainer, inputs, targets, rate_factor, loss); });
}

shoal_status* shoal_trainer_model(const shoal_trainer* trainer, shoal_model** out) {
  return shoal::c::guarded([&] { return shoal::c::to_model(trainer, out); });
}

shoal_status* shoal_trainer_save(const shoal_trainer* trainer, const char* path) {
  return shoal::c::guarded([&] { return shoal::c::save(trainer, path); });
}

void shoal_trainer_free(shoal_trainer* trainer) { delete trainer; }
