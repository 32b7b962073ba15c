#include "shoal/watch/frame_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "shoal/data/image.h"

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

Result<std::unique_ptr<FrameSource>> open_source(const std::filesystem::path& source) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(source, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(source, error)) {
      if (is_image_file(entry.path())) files.push_back(entry.path());
    }
    if (files.empty()) return Status(Code::kNotFound, "no images in " + source.string());
    std::ranges::sort(files);
  } else if (!std::filesystem::exists(source, error)) {
    return Status(Code::kNotFound, "there is no " + source.string());
  } else if (is_image_file(source)) {
    files.push_back(source);
  } else {
    return Status(Code::kUnsupported,
                  source.string() + " is neither an image nor a folder of them");
  }
  return std::unique_ptr<FrameSource>(std::make_unique<ImageFiles>(std::move(files)));
}

}  // namespace shoal::watch
