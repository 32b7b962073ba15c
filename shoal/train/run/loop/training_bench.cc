#include "shoal/train/run/loop/training_bench.h"

#include <random>

#include "shoal/engine/device/hybrid.h"
#include "shoal/model/tensor/random_tensor.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::fit {

Result<TrainingBench> TrainingBench::create(Device& device, Graph network, const Options& options) {
  TrainingBench bench;
  bench.device_ = &device;
  bench.network_ = std::move(network);
  bench.options_ = {.optimizer = {.rate = 1e-6f, .momentum = 0.9f}};
  bench.options_.memory_bytes = options.memory_bytes;
  bench.options_.bf16 = options.bf16;
  bench.options_.update_on_device = options.update_on_device || !device.info().unified_memory;
  SHOAL_ASSIGN(auto trainer, train::Trainer::create(device, bench.network_, bench.options_));
  bench.trainer_ = std::make_unique<train::Trainer>(std::move(trainer));
  std::mt19937 rng(1);
  const TensorType& type = bench.network_[bench.network_.inputs()[0]].type;
  bench.images_ = random_tensor(type, rng);
  bench.labels_ = Tensor({DType::kI64, {type.shape[0]}});
  return bench;
}

Result<BenchWork> TrainingBench::work() const {
  const Device& first = first_device(*device_);
  SHOAL_ASSIGN(const train::StepWork work,
               train::step_work(network_, options_.step, options_.optimizer, first));
  return BenchWork{static_cast<double>(work.macs),
                   {{"planned_mb", static_cast<double>(trainer_->memory().planned) / 1e6},
                    {"device_name", first.info().name},
                    {"elsewhere", work.elsewhere}}};
}

}  // namespace shoal::fit
