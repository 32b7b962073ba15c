// Flags of commands that run a model, and the device and the session they stand for.
#include "model.h"

#include <algorithm>
#include <cstdio>

#include "shoal/base/byte_size.h"
#include "shoal/base/printable.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/devices/devices.h"
#include "shoal/models/input_shapes.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/watch/scene.h"
#include "table.h"

namespace shoal::cli {
namespace {

void add_memory(ModelFlags& flags, Command& command, bool learns) {
  const std::string what =
      "plenty: weights may take more room where that is faster; low: they may not";
  const std::string limit =
      "; 200MB: all values of a training step together, some computed twice if need be";
  command.add_setting("--memory", flags.memory, learns ? what + limit : what)
      ->check([learns](const std::string& text) -> std::string {
        if (text == "plenty" || text == "low" || (learns && parse_byte_size(text))) return "";
        return text + " is not plenty or low" + (learns ? ", nor a size such as 200MB" : "");
      });
}

}  // namespace

Option* add_device_to(Command& command, std::string& device, const std::string& what,
                      bool profiles) {
  std::string kinds;
  for (const DeviceKind& kind : device_kinds()) {
    kinds += (kinds.empty() ? ": " : ", ") + kind.name + " (" + kind.summary + ")";
  }
  if (profiles) {
    kinds += "; or computed here, for a device that plans know: here";
    for (const plan::DevicePreset& preset : plan::device_presets()) {
      kinds += ", " + std::string(preset.name);
    }
    kinds += ", 4xpi4/gigabit";
  }
  return command.add_setting("--device", device, what + kinds)
      ->check([profiles](const std::string& name) -> std::string {
        if (profiles && (name == config::kHere || plan::find_cluster(name).ok())) return "";
        const Status found = find_device_kind(name).status();
        return found.ok() ? "" : std::string(found.message());
      });
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
  add_device_to(command, device, "What computes", profiles);
  command.add_setting("--threads", threads, "Threads to use; 0: one per core", in_range(0, 1024));
  command.add_flag("--pin", pin, "Keep threads on cores of their own");
  command.add_option("--share", share, "Be as slow as this part of one core: 0.25",
                     in_range(0.001, 1.0));
  command.add_setting(
      "--tune", tune,
      "How kernels are chosen: off (by estimate), fast (measure the likely ones), full",
      one_of({"off", "fast", "full"}));
  add_memory(*this, command, learns);
  command.add_option("--packed-cache", packed,
                     "Keep packed weights in this file, one for each model, for the next start");
  command.add_option("--instructions", instructions, "Use this instruction set: AVX2, SSE4, ...")
      ->check([](const std::string& name) {
        const auto sets = cpu::instruction_sets();
        return std::ranges::find(sets, name) != sets.end() ? "" : "this machine has no " + name;
      });
  command.add_option("--kernel", kernel,
                     "Use this kernel wherever it can be: direct, winograd4, ...");
  command.add_flag("--optimize,!--no-optimize", optimize, "Run the passes (default)");
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
