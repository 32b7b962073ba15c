#include "apps/commands/plans/planned.h"

#include <utility>

#include "shoal/plan/comparison/comparison_facts.h"
#include "shoal/plan/stream/stream_facts.h"
#include "shoal/shrink/compress/quantization/calibration.h"

namespace shoal::config {

Result<Planned> make_planned(const PlanSettings& settings, plan::PlanOptions options,
                             const NamedGraph& model, const ProfileOf& profile_of,
                             const std::function<Result<std::unique_ptr<Device>>()>& make_device) {
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(model.graph));
  if (options.wire.smallest == plan::WireFormat::kI8) {
    SHOAL_ASSIGN(const auto device, make_device());
    SHOAL_ASSIGN(options.wire.largest, compress::random_magnitudes(model.graph, *device));
  }
  SHOAL_ASSIGN(auto made, compare_plans(settings, model.graph, std::move(cluster), options));
  return Planned{std::move(made), model.name, std::move(options)};
}

Result<PlannedStream> make_planned_stream(const PlanSettings& settings, NamedGraph model,
                                          const ProfileOf& profile_of) {
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(model.graph));
  SHOAL_ASSIGN(auto made, plan::compare_streams(std::move(model.graph), std::move(cluster),
                                                settings.stream_options(), settings.is_forced()));
  return PlannedStream{std::move(made), std::move(model.name)};
}

Json to_json(const Planned& planned) { return plan::to_json(planned, planned.model); }

Json to_json(const PlannedStream& planned) { return plan::to_json(planned, planned.model); }

}  // namespace shoal::config
