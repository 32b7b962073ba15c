// Flags for preparing images. Saved presets are JSON files in the user's configuration folder.
#include "preprocess_flags.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "shoal/base/user_folders.h"

namespace shoal::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path preset_folder() { return config_folder() / "presets"; }

// A name becomes part of a path: nothing in it may lead out of the folder.
Status check_name(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= 64 &&
                     name.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789-_") == name.npos;
  return plain ? Status() : invalid("a preset's name holds letters, digits, - and _ only");
}

json to_json(const Preprocess& p) {
  return {{"resize", p.resize}, {"crop", p.crop}, {"stretch", p.stretch},
          {"mean", p.mean},     {"std", p.std},   {"channels", p.channels},
          {"scale", p.scale},   {"bgr", p.bgr},   {"nhwc", p.nhwc}};
}

Preprocess from_json(const json& j) {
  Preprocess p;
  p.resize = j.value("resize", p.resize);
  p.crop = j.value("crop", p.crop);
  p.stretch = j.value("stretch", p.stretch);
  p.mean = j.value("mean", p.mean);
  p.std = j.value("std", p.std);
  p.channels = j.value("channels", p.channels);
  p.scale = j.value("scale", p.scale);
  p.bgr = j.value("bgr", p.bgr);
  p.nhwc = j.value("nhwc", p.nhwc);
  return p;
}

Result<Preprocess> load_preset(const std::string& name) {
  if (const auto known = find_preset(name)) return *known;
  SHOAL_TRY(check_name(name));
  const fs::path path = preset_folder() / (name + ".json");
  std::ifstream file(path);
  if (!file) {
    return Status(Code::kNotFound, "no preset " + name +
                                       "; there are imagenet, digits, yolo and "
                                       "what you saved with --save-preset");
  }
  try {
    return from_json(json::parse(file));
  } catch (const json::exception&) {
    return Status(Code::kCorrupt, path.string() + " is not a preset");
  }
}

Status save_preset(const std::string& name, const Preprocess& p) {
  SHOAL_TRY(check_name(name));
  std::error_code error;
  fs::create_directories(preset_folder(), error);
  std::ofstream file(preset_folder() / (name + ".json"));
  file << to_json(p).dump(2) << "\n";
  if (!file.flush()) return Status(Code::kExhausted, "cannot write to " + preset_folder().string());
  return {};
}

}  // namespace

void PreprocessFlags::add_to(Command& command) {
  constexpr const char* kGroup = "Image preprocessing";
  command_ = &command;
  command.add_option("--preset", preset_, "imagenet, digits, yolo, or one you saved")
      ->group(kGroup);
  command.add_option("--resize", given_.resize, "Bring the short side to this many pixels")
      ->check(in_range(1, 1 << 14))
      ->group(kGroup);
  command.add_option("--crop", given_.crop, "Then take the centre square of this side")
      ->check(in_range(1, 1 << 14))
      ->group(kGroup);
  command.add_flag("--stretch", given_.stretch, "Bring any image to the model's size")
      ->group(kGroup);
  command.add_option("--mean", given_.mean, "Subtract, after division by 255: R,G,B or one value")
      ->delimiter(',')
      ->group(kGroup);
  command.add_option("--std", given_.std, "Then divide: R,G,B or one value")
      ->delimiter(',')
      ->group(kGroup);
  command.add_flag("--scale,!--no-scale", given_.scale, "Divide by 255 first (default)")
      ->group(kGroup);
  command.add_flag("--bgr", given_.bgr, "The model takes blue first")->group(kGroup);
  command
      .add_option("--layout", layout_, "nchw or nhwc (default: what the model's input looks like)")
      ->check(one_of({"nchw", "nhwc"}))
      ->group(kGroup);
  command.add_option("--save-preset", save_as_, "Keep these settings under a name")->group(kGroup);
}

Result<Preprocess> PreprocessFlags::resolve() const {
  Preprocess p;
  if (!preset_.empty()) {
    SHOAL_ASSIGN(p, load_preset(preset_));
  }
  // Only flags that were given override the preset, not those with a default.
  auto given = [&](const char* flag) { return command_->count(flag) > 0; };
  if (given("--resize")) p.resize = given_.resize;
  if (given("--crop")) p.crop = given_.crop;
  if (given("--stretch")) p.stretch = given_.stretch;
  if (given("--mean")) p.mean = given_.mean;
  if (given("--std")) p.std = given_.std;
  if (given("--scale")) p.scale = given_.scale;
  if (given("--bgr")) p.bgr = given_.bgr;
  if (given("--layout")) p.nhwc = layout_ == "nhwc";
  if (!save_as_.empty()) SHOAL_TRY(save_preset(save_as_, p));
  return p;
}

}  // namespace shoal::cli
