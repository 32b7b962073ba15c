// Flags for preparing images. Saved presets are in the user's configuration folder.
#include "preprocess_flags.h"

#include "shoal/base/user_folders.h"
#include "shoal/data/presets.h"

namespace shoal::cli {
namespace {

std::filesystem::path preset_folder() { return config_folder() / "presets"; }

}  // namespace

void PreprocessFlags::add_to(Command& command) {
  const FlagGroup all(command, "Image preprocessing");
  command_ = &command;
  all.add_option("--preset", preset_, "imagenet, digits, yolo, or one you saved");
  all.add_option("--resize", given_.resize, "Bring the short side to this many pixels",
                 in_range(1, 1 << 14));
  all.add_option("--crop", given_.crop, "Then take the centre square of this side",
                 in_range(1, 1 << 14));
  all.add_flag("--stretch", given_.stretch, "Bring any image to the model's size");
  all.add_option("--mean", given_.mean, "Subtract, after division by 255: R,G,B or one value")
      ->delimiter(',');
  all.add_option("--std", given_.std, "Then divide: R,G,B or one value")->delimiter(',');
  all.add_flag("--scale,!--no-scale", given_.scale, "Divide by 255 first (default)");
  all.add_flag("--bgr", given_.bgr, "The model takes blue first");
  all.add_option("--layout", layout_, "nchw or nhwc (default: what the model's input looks like)",
                 one_of({"nchw", "nhwc"}));
  all.add_option("--save-preset", save_as_, "Keep these settings under a name");
}

Result<Preprocess> PreprocessFlags::resolve(const Preprocess& before) const {
  Preprocess p = before;
  if (!preset_.empty()) {
    SHOAL_ASSIGN(p, load_preset(preset_folder(), preset_));
  }
  // Only flags that were given override the preset, not those with a default.
  auto given = [&](const char* flag) { return command_ != nullptr && command_->count(flag) > 0; };
  if (given("--resize")) p.resize = given_.resize;
  if (given("--crop")) p.crop = given_.crop;
  if (given("--stretch")) p.stretch = given_.stretch;
  if (given("--mean")) p.mean = given_.mean;
  if (given("--std")) p.std = given_.std;
  if (given("--scale")) p.scale = given_.scale;
  if (given("--bgr")) p.bgr = given_.bgr;
  if (given("--layout")) p.nhwc = layout_ == "nhwc";
  if (!save_as_.empty()) SHOAL_TRY(save_preset(preset_folder(), save_as_, p));
  return p;
}

}  // namespace shoal::cli
