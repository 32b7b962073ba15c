// A coordinator whose workers have given speeds, for tests.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "shoal/cluster/device/cluster_connection.h"

namespace shoal::cluster {

class GivenSpeeds : public ProfiledCluster {
 public:
  using Speeds = std::function<plan::ClusterProfile()>;

  GivenSpeeds(Coordinator& coordinator, Speeds speeds)
      : coordinator_(coordinator), speeds_(std::move(speeds)) {}

  Coordinator& coordinator() override { return coordinator_; }
  Result<plan::ClusterProfile> profile(const Graph&, const Workers&) override { return speeds_(); }
  Result<std::vector<plan::Prediction>> make_plans(
      const Graph& graph, const plan::ClusterProfile& profile,
      const plan::PlanOptions& options) const override {
    return plan::make_plans(graph, profile, options);
  }

 private:
  Coordinator& coordinator_;
  const Speeds speeds_;
};

inline std::shared_ptr<ProfiledCluster> with_speeds(Coordinator& coordinator,
                                                    GivenSpeeds::Speeds speeds) {
  return std::make_shared<GivenSpeeds>(coordinator, std::move(speeds));
}

}  // namespace shoal::cluster
