// The flags that every command shares that runs a model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/flags/flags.h"
#include "cli.h"
#include "shoal/base/status.h"
#include "shoal/device/device.h"
#include "shoal/models/model.h"
#include "shoal/session/session.h"
#include "shoal/tensor/random_tensor.h"

namespace shoal::cli {

inline constexpr std::string_view kDefaultModel = kDigitsModel;

// The flags that say which model runs on what.
struct ModelFlags {
  std::string model{kDefaultModel};
  std::string device = "cpu";
  int threads = 0;  // 0: as many as the machine has
  bool pin = false;
  double share = 1;
  bool optimize = true;
  std::string tune = "fast";
  std::string memory = "plenty";  // or low, or a size where `learns` allows one
  std::string packed;             // empty: not kept
  std::string instructions;       // empty: the best the processor has
  std::string kernel;             // empty: the fastest
  bool profiles = false;          // --device may also be "here" or a device that plans know

  void add_to(Command& command, bool model_required, bool learns = false);
  // All but the model, for commands that have none.
  void add_computing_to(Command& command, bool learns = false);
  int64_t memory_limit() const;  // in bytes; 0: none was given
  // The device that plans know, if --device names one; else empty.
  std::string profile() const;
};

// --device, whose help lists the devices there are; with `profiles`, those that plans know, too.
Option* add_device_to(Command& command, std::string& device, const std::string& what,
                      bool profiles = false);

// Opens the model, and prints its warning, if there is one.
Result<Model> open_model_with_warning(const std::string& name);
// The same for detectors, of which the synthetic scene has one: "zoo:scene".
Result<Model> open_detector_model(const std::string& name);

Result<std::unique_ptr<Device>> make_device(const ModelFlags& flags);
Result<Session> open_session(const ModelFlags& flags, Device& device);

// The gate of --min-top1: a failure if `top1` is below.
Outcome require_accuracy(double top1, double least);

// With shapes as texts: "x=1x3x224x224".
Result<LoadedGraph> load_graph(const std::string& model, const std::vector<std::string>& shapes);
Result<Session::Tensors> random_inputs(const Session& session,
                                       const std::vector<std::string>& shapes);

}  // namespace shoal::cli
