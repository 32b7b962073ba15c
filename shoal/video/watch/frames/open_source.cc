#include "shoal/video/watch/frames/open_source.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "shoal/engine/inputs/image.h"
#include "shoal/video/watch/frames/scene.h"

namespace shoal::watch {
namespace {

// Grey images as three equal planes.
Tensor in_colour(Tensor image) {
  if (image.shape()[2] == 3) return image;
  Tensor colour({DType::kU8, {image.shape()[0], image.shape()[1], 3}});
  const auto from = image.data<uint8_t>();
  const auto to = colour.data<uint8_t>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i / 3];
  return colour;
}

class ImageFiles : public FrameSource {
 public:
  explicit ImageFiles(std::vector<std::filesystem::path> files) : files_(std::move(files)) {}

  Result<std::optional<Frame>> next() override {
    if (next_ == files_.size()) return std::optional<Frame>();
    const size_t number = next_++;
    SHOAL_ASSIGN(Tensor image, read_image(files_[number]));
    return std::optional<Frame>(Frame{.number = number,
                                      .name = files_[number].filename().string(),
                                      .image = in_colour(std::move(image))});
  }

  std::optional<size_t> size() const override { return files_.size(); }

 private:
  std::vector<std::filesystem::path> files_;
  size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_source(const std::string& source,
                                                 const VideoOptions& video) {
  if (source == kScene) return std::unique_ptr<FrameSource>(std::make_unique<SceneSource>());
  if (source.find("://") != std::string::npos) return open_video(source, video);
  const std::filesystem::path path = source;
  std::error_code error;
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (is_image_file(entry.path())) files.push_back(entry.path());
    }
    if (files.empty()) return Status(Code::kNotFound, "no images in " + source);
    std::ranges::sort(files);
  } else if (!std::filesystem::exists(path, error)) {
    return Status(Code::kNotFound, "there is no " + source);
  } else if (is_image_file(path)) {
    files.push_back(path);
  } else {
    return open_video(source, video);
  }
  return std::unique_ptr<FrameSource>(std::make_unique<ImageFiles>(std::move(files)));
}

Result<std::vector<std::unique_ptr<FrameSource>>> open_sources(
    const std::vector<std::string>& sources, const VideoOptions& video) {
  std::vector<std::unique_ptr<FrameSource>> all;
  for (const std::string& source : sources) {
    SHOAL_ASSIGN(auto opened, open_source(source, video));
    all.push_back(std::move(opened));
  }
  return all;
}

}  // namespace shoal::watch
