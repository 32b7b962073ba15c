#include "apps/cluster_commands/train_on_cluster.h"

#include "shoal/base/text/printable.h"

namespace shoal::train_cluster {

Json to_json(const learn::RunRecord& record) {
  Json devices = Json::array();
  for (const auto& [worker, device] : record.devices) {
    const learn::DeviceRow& row = device.row;
    devices.push_back(
        {{"name", valid_utf8(device.name)},
         {"share", static_cast<double>(row.share) / static_cast<double>(record.micro_batches)},
         {"examples_per_s", examples_per_second(record, row)},
         {"lag_ms", 1e3 * row.lag_seconds},
         {"steps", row.steps},
         {"steps_late", row.late},
         {"state", device_cells(record, device).back()}});
  }
  return devices;
}

Facts facts_of(const Figures& figures, int64_t local_steps) {
  return {{"steps", figures.steps, "steps"},
          {"workers_used", figures.workers, "workers"},
          {"codec", std::string(name_of(figures.codec)), "codec"},
          {"step_ms", 1e3 * figures.step_seconds, "step ms", 1},
          {"step_ms_mean", 1e3 * figures.mean_seconds},
          {"step_ms_predicted", 1e3 * figures.predicted_seconds, "predicted ms", 1},
          {"single_step_ms", 1e3 * figures.single_seconds, "one alone ms", 1},
          {"speedup", figures.speedup(), "speed-up", 2},
          counted("bytes_per_step", figures.bytes, "bytes/step"),
          {"example_bytes_per_step", figures.example_bytes},
          {"together", figures.together},
          {"local_steps", local_steps},
          {"weights_sha256", figures.weights_sha256},
          {"replicas_differed", figures.differing},
          {"workers_lost", figures.lost.size()},
          {"lost_norms", figures.lost_norms},
          {"resumed_at", figures.resumed_at},
          {"devices", to_json(figures.record)},
          {"loss", figures.loss, "loss", 4},
          {"top1", figures.evaluation.top1(), "held-out top-1", 2, " %"}};
}

}  // namespace shoal::train_cluster
