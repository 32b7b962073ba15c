#include "apps/commands/image_settings.h"

#include <filesystem>

#include "shoal/base/files/user_folders.h"
#include "shoal/engine/inputs/presets.h"

namespace shoal::config {
namespace {

std::filesystem::path preset_folder() { return config_folder() / "presets"; }

}  // namespace

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
