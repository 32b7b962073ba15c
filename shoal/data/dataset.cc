#include "shoal/data/dataset.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/base/limits.h"
#include "shoal/data/image.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

Status corrupt(const fs::path& path, std::string message) {
  return Status(Code::kCorrupt, path.string() + ": " + std::move(message));
}

// A whole file, unpacked if it is gzip; zlib reads plain files as they are.
Result<std::vector<uint8_t>> read_maybe_gzip(const fs::path& path) {
  constexpr size_t kBlock = 1 << 20;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return Status(Code::kNotFound, "cannot open " + path.string());
  std::vector<uint8_t> bytes;
  int got = 0;
  do {
    const size_t size = bytes.size();
    bytes.resize(size + kBlock);
    got = gzread(file, bytes.data() + size, kBlock);
    bytes.resize(size + static_cast<size_t>(std::max(got, 0)));
  } while (got > 0 && static_cast<int64_t>(bytes.size()) < kLimits.max_tensor_bytes);
  gzclose(file);
  if (got < 0) return corrupt(path, "not a complete gzip file");
  return bytes;
}

// The first of `names` that exists in the folder, plain or with .gz.
Result<fs::path> find_file(const fs::path& folder, std::span<const std::string_view> names) {
  for (std::string_view name : names) {
    for (std::string_view suffix : {"", ".gz"}) {
      fs::path path = folder / (std::string(name) + std::string(suffix));
      if (fs::is_regular_file(path)) return path;
    }
  }
  return Status(Code::kNotFound, "no " + std::string(names[0]) + "[.gz] in " + folder.string());
}

// All images of one size, in memory. How the bytes lie is said by `pixel`.
class MemoryDataset : public Dataset {
 public:
  MemoryDataset(std::vector<uint8_t> images, std::vector<uint8_t> labels, Shape shape, bool planes)
      : images_(std::move(images)), labels_(std::move(labels)), shape_(shape), planes_(planes) {}

  size_t size() const override { return labels_.size(); }

  Result<Example> at(size_t index) const override {
    const auto count = static_cast<size_t>(shape_.count());
    const std::span<const uint8_t> raw(images_.data() + index * count, count);
    Tensor image({DType::kU8, shape_});
    std::span<uint8_t> out = image.data<uint8_t>();
    const auto channels = static_cast<size_t>(shape_[2]), pixels = count / channels;
    for (size_t i = 0; i < count; ++i) {
      out[planes_ ? i % pixels * channels + i / pixels : i] = raw[i];
    }
    return Example{std::move(image), labels_[index]};
  }

 private:
  std::vector<uint8_t> images_;
  std::vector<uint8_t> labels_;
  Shape shape_;
  bool planes_;  // one channel after the other
};

// An idx file: two zero bytes, the element type (8 = u8), the rank, the dimensions big-endian.
Result<Shape> idx_shape(const fs::path& path, std::span<const uint8_t> bytes, size_t rank) {
  if (bytes.size() < 4 + 4 * rank || bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 8 ||
      bytes[3] != rank) {
    return corrupt(path, "not an idx file of " + std::to_string(rank) + "-dimensional bytes");
  }
  Shape shape;
  Checked count(1);
  for (size_t d = 0; d < rank; ++d) {
    const uint8_t* p = bytes.data() + 4 + 4 * d;
    shape.push_back(int64_t{p[0]} << 24 | p[1] << 16 | p[2] << 8 | p[3]);
    count = count * shape[d];
  }
  if (!count.ok() || static_cast<uint64_t>(count.value()) != bytes.size() - 4 - 4 * rank) {
    return corrupt(path, "length does not match its header " + to_string(shape));
  }
  return shape;
}

Result<std::unique_ptr<Dataset>> open_idx(const fs::path& folder) {
  constexpr std::array<std::string_view, 2> kImages = {"t10k-images-idx3-ubyte",
                                                       "train-images-idx3-ubyte"};
  constexpr std::array<std::string_view, 2> kLabels = {"t10k-labels-idx1-ubyte",
                                                       "train-labels-idx1-ubyte"};
  SHOAL_ASSIGN(fs::path image_path, find_file(folder, kImages));
  SHOAL_ASSIGN(fs::path label_path, find_file(folder, kLabels));
  SHOAL_ASSIGN(auto images, read_maybe_gzip(image_path));
  SHOAL_ASSIGN(auto labels, read_maybe_gzip(label_path));
  SHOAL_ASSIGN(Shape shape, idx_shape(image_path, images, 3));
  SHOAL_ASSIGN(Shape label_shape, idx_shape(label_path, labels, 1));
  if (shape[0] != label_shape[0]) return corrupt(label_path, "not as many labels as images");
  images.erase(images.begin(), images.begin() + 16);
  labels.erase(labels.begin(), labels.begin() + 8);
  return std::unique_ptr<Dataset>(std::make_unique<MemoryDataset>(
      std::move(images), std::move(labels), Shape{shape[1], shape[2], 1}, false));
}

Result<std::unique_ptr<Dataset>> open_cifar(const fs::path& folder) {
  constexpr std::array<std::string_view, 3> kNames = {"test_batch.bin", "cifar10-test.bin",
                                                      "test.bin"};
  constexpr size_t kPixels = 3072, kRecord = kPixels + 1;
  SHOAL_ASSIGN(fs::path path, find_file(folder, kNames));
  SHOAL_ASSIGN(auto bytes, read_maybe_gzip(path));
  if (bytes.empty() || bytes.size() % kRecord != 0) {
    return corrupt(path, "length is not a multiple of " + std::to_string(kRecord));
  }
  std::vector<uint8_t> labels, images;
  for (size_t at = 0; at < bytes.size(); at += kRecord) {
    labels.push_back(bytes[at]);
    images.insert(images.end(), bytes.begin() + static_cast<ptrdiff_t>(at) + 1,
                  bytes.begin() + static_cast<ptrdiff_t>(at + kRecord));
  }
  return std::unique_ptr<Dataset>(std::make_unique<MemoryDataset>(
      std::move(images), std::move(labels), Shape{32, 32, 3}, true));
}

class FolderDataset : public Dataset {
 public:
  struct Entry {
    fs::path path;
    int64_t label = 0;
  };
  explicit FolderDataset(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  size_t size() const override { return entries_.size(); }
  Result<Example> at(size_t index) const override {
    SHOAL_ASSIGN(Tensor image, read_image(entries_[index].path));
    return Example{std::move(image), entries_[index].label};
  }

 private:
  std::vector<Entry> entries_;
};

Result<std::vector<FolderDataset::Entry>> read_label_file(const fs::path& folder) {
  std::ifstream file(folder / "labels.txt");
  std::vector<FolderDataset::Entry> entries;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    const size_t space = line.find_first_of(" \t");
    if (line.empty()) continue;
    int64_t label = -1;
    if (space != line.npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), label);
    }
    if (label < 0) {
      return corrupt(folder / "labels.txt",
                     "line " + std::to_string(number) + " is not 'file class-number'");
    }
    entries.push_back({folder / line.substr(0, space), label});
  }
  return entries;
}

std::vector<fs::path> sorted_children(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(folder, error)) children.push_back(entry.path());
  std::ranges::sort(children);
  return children;
}

Result<std::unique_ptr<Dataset>> open_folder(const fs::path& folder) {
  std::vector<FolderDataset::Entry> entries;
  if (fs::is_regular_file(folder / "labels.txt")) {
    SHOAL_ASSIGN(entries, read_label_file(folder));
  } else {
    int64_t label = 0;
    for (const fs::path& child : sorted_children(folder)) {
      if (!fs::is_directory(child)) continue;
      for (const fs::path& image : sorted_children(child)) entries.push_back({image, label});
      ++label;
    }
  }
  if (entries.empty()) {
    return Status(Code::kNotFound, "neither labels.txt nor class folders in " + folder.string());
  }
  return std::unique_ptr<Dataset>(std::make_unique<FolderDataset>(std::move(entries)));
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_dataset(const fs::path& folder, std::string_view format) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Status(Code::kNotFound, folder.string() + " is not a folder");
  }
  if (format == "idx") return open_idx(folder);
  if (format == "cifar") return open_cifar(folder);
  if (format == "folder") return open_folder(folder);
  return invalid("unknown data format " + std::string(format) + "; use idx, cifar or folder");
}

}  // namespace shoal
