// Flags of commands that run a model, and the device and the session they stand for.
#include "model.h"

#include <cstdio>

#include "shoal/base/terminal/table.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/session/input_shapes.h"
#include "shoal/model/passes/passes.h"
#include "shoal/video/watch/frames/scene.h"

namespace shoal::cli {

Option* add_device_to(Command& command, std::string& device, const std::string& what) {
  return FlagGroup(command).add(config::device_setting(device, what));
}

void ModelFlags::add_to(Command& command, bool model_required, bool learns) {
  Option* option = command.add_option("model", model, "ONNX file or zoo:NAME");
  if (model_required) {
    option->required();
  } else {
    option->capture_default_str();
  }
  add_computing_to(command, learns);
}

void ModelFlags::add_computing_to(Command& command, bool learns) {
  command.add(settings_of(*this, learns));
  command.add({{"optimize", optimize, "Run the passes (default)"}});
}

Result<Model> open_model_with_warning(const std::string& name) {
  SHOAL_ASSIGN(Model model, open_model(name));
  if (const std::string warning = model.warning(); !warning.empty()) {
    std::fprintf(stderr, "warning: %s: %s\n", printable(name).c_str(), warning.c_str());
  }
  return model;
}

Result<Model> open_detector_model(const std::string& name) {
  return name == watch::kScene ? watch::scene_detector() : open_model_with_warning(name);
}

Result<Session> open_session(const ModelFlags& flags, Device& device) {
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.model));
  return model.session(device, {.optimize = flags.optimize});
}

Outcome require_accuracy(double top1, double least) {
  if (top1 >= least) return {};
  return {Exit::kAccuracy,
          "top-1 is " + fixed(top1, 2) + " %, below the asked " + fixed(least, 2) + " %"};
}

Result<LoadedGraph> load_graph(const std::string& name, const std::vector<std::string>& shapes) {
  SHOAL_ASSIGN(const InputShapes parsed, parse_input_shapes(shapes));
  SHOAL_ASSIGN(const Model model, open_model_with_warning(name));
  return model.graph(parsed);
}

Result<Graph> load_optimized(const std::string& name, const std::vector<std::string>& shapes) {
  SHOAL_ASSIGN(const LoadedGraph loaded, load_graph(name, shapes));
  return passes::optimize(loaded.graph);
}

Result<Session::Tensors> random_inputs(const Session& session,
                                       const std::vector<std::string>& shapes) {
  SHOAL_ASSIGN(const InputShapes parsed, parse_input_shapes(shapes));
  return random_inputs(session, parsed);
}

}  // namespace shoal::cli
