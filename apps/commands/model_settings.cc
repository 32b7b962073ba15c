#include "apps/commands/model_settings.h"

#include <algorithm>
#include <filesystem>

#include "shoal/base/files/user_folders.h"
#include "shoal/base/text/number_text.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/instruction_set.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/inputs/presets.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {
namespace {

Setting memory_setting(std::string& memory, bool learns) {
  const std::string what =
      "plenty: weights may take more room where that is faster; low: they may not";
  const std::string limit =
      "; 200MB: all values of a training step together, some computed twice if need be";
  return Setting("memory", memory, learns ? what + limit : what)
      .checked([learns](const std::string& text) -> Status {
        if (text == "plenty" || text == "low" || (learns && parse_byte_size(text))) return {};
        return invalid(text + " is not plenty or low" +
                       (learns ? ", nor a size such as 200MB" : ""));
      });
}

Status check_instructions(const std::string& name) {
  const auto sets = cpu::instruction_sets();
  return std::ranges::find(sets, name) != sets.end() ? Status()
                                                     : invalid("this machine has no " + name);
}

std::filesystem::path preset_folder() { return config_folder() / "presets"; }

}  // namespace

Setting device_setting(std::string& device, const std::string& what, bool profiles) {
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
  return Setting("device", device, what + kinds).checked([profiles](const std::string& name) {
    const bool known = profiles && (name == kHere || plan::find_cluster(name).ok());
    return known ? Status() : find_device_kind(name).status();
  });
}

SettingList settings_of(DeviceSettings& s, bool learns) {
  return {device_setting(s.device, "What computes", s.profiles),
          Setting("threads", s.threads, "Threads to use; 0: one per core")
              .in(0, 1024)
              .showing_default(),
          Setting("pin", s.pin, "Keep threads on cores of their own").of_this_machine(),
          Setting("share", s.share, "Be as slow as this part of one core: 0.25")
              .in(0.001, 1)
              .hiding_default()
              .of_this_machine(),
          Setting("tune", s.tune,
                  "How kernels are chosen: off (by estimate), fast (measure the likely ones), full")
              .one_of({"off", "fast", "full"}),
          memory_setting(s.memory, learns).of_this_machine(),
          Setting("packed-cache", s.packed,
                  "Keep packed weights in this file, one for each model, for the next start")
              .of_this_machine(),
          Setting("instructions", s.instructions, "Use this instruction set: AVX2, SSE4, ...")
              .checked(check_instructions)
              .or_none(),
          {"kernel", s.kernel, "Use this kernel wherever it can be: direct, winograd4, ..."}};
}

std::string DeviceSettings::profile() const {
  return profiles && plan::find_cluster(device).ok() ? device : "";
}

int64_t DeviceSettings::memory_limit() const { return parse_byte_size(memory).value_or(0); }

Result<std::unique_ptr<Device>> make_device(const DeviceSettings& settings) {
  if (!settings.instructions.empty()) cpu::use_instruction_set(settings.instructions);
  const Tune tune = settings.tune == "off"    ? Tune::kOff
                    : settings.tune == "full" ? Tune::kFull
                                              : Tune::kFast;
  const CpuOptions cpu{.threads = settings.threads,
                       .pin = settings.pin,
                       .share = settings.share,
                       .tune = tune,
                       .memory = settings.memory == "low" ? Memory::kLow : Memory::kPlenty,
                       .remember = tune != Tune::kOff,
                       .packed = settings.packed,
                       .prefer = settings.kernel};
  const bool here = settings.profiles && (settings.device == kHere || !settings.profile().empty());
  return shoal::make_device(here ? "cpu" : settings.device, {.cpu = cpu});
}

SettingList settings_of(ImageSettings& s) {
  Preprocess& image = s.image;
  return {Setting("preset", s.preset, "imagenet, digits, yolo, or one you saved").of_this_machine(),
          Setting("resize", image.resize, "Bring the short side to this many pixels")
              .in(1, 1 << 14)
              .or_none(),
          Setting("crop", image.crop, "Then take the centre square of this side")
              .in(1, 1 << 14)
              .or_none(),
          {"stretch", image.stretch, "Bring any image to the model's size"},
          {"mean", image.mean, "Subtract, after division by 255: R,G,B or one value"},
          {"std", image.std, "Then divide: R,G,B or one value"},
          {"scale", image.scale, "Divide by 255 first (default)"},
          {"bgr", image.bgr, "The model takes blue first"},
          Setting("layout", s.layout, "nchw or nhwc (default: what the model's input looks like)")
              .one_of({"nchw", "nhwc"}),
          Setting("save-preset", s.save_as, "Keep these settings under a name").of_this_machine()};
}

Result<Preprocess> resolve(ImageSettings settings, const Preprocess& before,
                           const GivenFlags& given) {
  ImageSettings all{.image = before};
  if (!settings.preset.empty()) {
    SHOAL_ASSIGN(all.image, load_preset(preset_folder(), settings.preset));
  }
  take_given(settings_of(all), settings_of(settings), given);
  if (!all.layout.empty()) all.image.nhwc = all.layout == "nhwc";
  if (!settings.save_as.empty()) {
    SHOAL_TRY(save_preset(preset_folder(), settings.save_as, all.image));
  }
  return all.image;
}

}  // namespace shoal::config
