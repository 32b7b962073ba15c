// The flags shared by all commands that run a model.
#pragma once

#include <string>
#include <vector>

#include "apps/commands/model_settings.h"
#include "apps/flags/flags.h"
#include "cli.h"
#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/tensor/random_tensor.h"

namespace shoal::cli {

inline constexpr std::string_view kDefaultModel = kDigitsModel;

// The flags for the model and its device.
struct ModelFlags : config::DeviceSettings {
  std::string model{kDefaultModel};
  bool optimize = true;

  void add_to(Command& command, bool model_required, bool learns = false);
  // All but the model, for commands that have none.
  void add_computing_to(Command& command, bool learns = false);
};

// --device, whose help lists the devices there are.
Option* add_device_to(Command& command, std::string& device, const std::string& what);

// Opens the model, and prints its warning, if there is one.
Result<Model> open_model_with_warning(const std::string& name);
// Likewise for detectors; "zoo:scene" is that of the synthetic scene.
Result<Model> open_detector_model(const std::string& name);

Result<Session> open_session(const ModelFlags& flags, Device& device);

// The gate of --min-top1: a failure if `top1` is below.
Outcome require_accuracy(double top1, double least);

// With shapes as texts: "x=1x3x224x224".
Result<LoadedGraph> load_graph(const std::string& model, const std::vector<std::string>& shapes);
// The same after all passes.
Result<Graph> load_optimized(const std::string& model, const std::vector<std::string>& shapes);
Result<Session::Tensors> random_inputs(const Session& session,
                                       const std::vector<std::string>& shapes);

}  // namespace shoal::cli
