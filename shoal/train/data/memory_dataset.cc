// Data sets of one file or few, held in memory: idx, CIFAR's records, NumPy's arrays.
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/base/limits.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/train/data/dataset_formats.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

Status corrupt(const fs::path& path, std::string message) {
  return Status(Code::kCorrupt, path.string() + ": " + std::move(message));
}

// How much a file of `packed` bytes may unpack to. Labelled images shrink to a half or a tenth, and
// an untrusted file of zeros to a thousandth.
size_t most_unpacked(uintmax_t packed) {
  constexpr uintmax_t kAnyway = uintmax_t{64} << 20, kTimes = 100;
  const auto most = static_cast<uintmax_t>(kLimits.max_tensor_bytes);
  return static_cast<size_t>(std::min(most, std::max(kAnyway, std::min(packed, most) * kTimes)));
}

// A whole file, unpacked if it is gzip; zlib reads plain files as they are.
Result<std::vector<uint8_t>> read_maybe_gzip(const fs::path& path, Damaged damaged) {
  constexpr size_t kBlock = 1 << 20;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return Status(Code::kNotFound, "cannot open " + path.string());
  std::error_code error;
  const uintmax_t packed = fs::file_size(path, error);
  const size_t most = most_unpacked(error ? 0 : packed);
  std::vector<uint8_t> bytes;
  int got = 0;
  do {
    const size_t size = bytes.size();
    bytes.resize(size + kBlock);
    got = gzread(file, bytes.data() + size, kBlock);
    bytes.resize(size + static_cast<size_t>(std::max(got, 0)));
  } while (got > 0 && bytes.size() <= most);
  const bool whole = gzclose(file) == Z_OK && got >= 0;
  if (bytes.size() > most) {
    return corrupt(path, "unpacks to more than " + std::to_string(most >> 20) +
                             " MB, too much for a file of its size");
  }
  if (!whole && damaged == Damaged::kRefuse) {
    return corrupt(path,
                   "not a complete gzip file: ends after byte " + std::to_string(bytes.size()));
  }
  return bytes;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The first of `names` that exists in the folder, plain or with .gz.
std::optional<fs::path> find_file(const fs::path& folder, std::span<const std::string> names) {
  for (const std::string& name : names) {
    for (const char* suffix : {"", ".gz"}) {
      fs::path path = folder / (name + suffix);
      if (is_file(path)) return path;
    }
  }
  return std::nullopt;
}

// The files of CIFAR's training examples: data_batch_1.bin, data_batch_2.bin and so on.
std::vector<fs::path> numbered_files(const fs::path& folder) {
  std::vector<fs::path> paths;
  while (const auto path = find_file(
             folder, std::vector{"data_batch_" + std::to_string(paths.size() + 1) + ".bin"})) {
    paths.push_back(*path);
  }
  return paths;
}

Status absent(const fs::path& folder, const std::string& name) {
  return Status(Code::kNotFound, "no " + name + " in " + folder.string());
}

// Names in the order they are looked for.
std::vector<std::string> names_of(Split split, const std::vector<std::string>& training,
                                  const std::vector<std::string>& held_out) {
  if (split == Split::kTraining) return training;
  std::vector<std::string> names = held_out;
  if (split == Split::kAny) names.insert(names.end(), training.begin(), training.end());
  return names;
}

struct Records {
  fs::path file;
  size_t first_byte = 0;
  size_t stride = 1;
  size_t count = 0;
};

struct Images {
  Shape shape;  // [h, w, c]
  bool planes;  // one channel after the other
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
};

class MemoryDataset : public Dataset {
 public:
  MemoryDataset(Images images, std::vector<Records> records, std::vector<std::string> damage)
      : images_(std::move(images)), records_(std::move(records)), damage_(std::move(damage)) {}

  size_t size() const override { return images_.labels.size(); }
  std::vector<std::string> damage() const override { return damage_; }

  // Every call makes a tensor of its own, so that threads share nothing that they write.
  Result<Example> at(size_t index) const override {
    const auto count = static_cast<size_t>(images_.shape.count());
    const std::span<const uint8_t> raw(images_.pixels.data() + index * count, count);
    Tensor image({DType::kU8, images_.shape});
    std::span<uint8_t> out = image.data<uint8_t>();
    const auto channels = static_cast<size_t>(images_.shape[2]);
    if (!images_.planes || channels == 1) {
      std::ranges::copy(raw, out.begin());
    } else {
      const size_t pixels = count / channels;
      for (size_t c = 0; c < channels; ++c) {
        for (size_t i = 0; i < pixels; ++i) out[i * channels + c] = raw[c * pixels + i];
      }
    }
    return Example{std::move(image), images_.labels[index]};
  }

  std::string place(size_t index) const override {
    for (const Records& r : records_) {
      if (index < r.count) {
        return r.file.string() + " at byte " + std::to_string(r.first_byte + index * r.stride);
      }
      index -= r.count;
    }
    return "no such example";
  }

 private:
  Images images_;
  std::vector<Records> records_;
  std::vector<std::string> damage_;
};

Opened opened(Images images, std::vector<Records> records, std::vector<std::string> damage) {
  return std::unique_ptr<Dataset>(
      std::make_unique<MemoryDataset>(std::move(images), std::move(records), std::move(damage)));
}

// An idx file: two zero bytes, the element type (8 = u8), the rank, the dimensions big-endian.
struct Idx {
  fs::path path;
  Shape shape;  // with as many records as are whole
  size_t header = 0;
  std::vector<uint8_t> bytes;
  std::vector<std::string> damage;
};

Result<Idx> read_idx(const fs::path& path, size_t rank, Damaged damaged) {
  Idx idx{.path = path, .shape = {}, .header = 4 + 4 * rank, .bytes = {}, .damage = {}};
  SHOAL_ASSIGN(idx.bytes, read_maybe_gzip(path, damaged));
  const std::vector<uint8_t>& bytes = idx.bytes;
  if (bytes.size() < idx.header || bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 8 ||
      bytes[3] != rank) {
    return corrupt(path, "not an idx file of " + std::to_string(rank) + "-dimensional bytes");
  }
  // Dimensions are 32 bits each, so that their product may not fit into 64.
  Checked record(1);
  for (size_t d = 0; d < rank; ++d) {
    const uint8_t* p = bytes.data() + 4 + 4 * d;
    idx.shape.push_back(int64_t{p[0]} << 24 | p[1] << 16 | p[2] << 8 | p[3]);
    if (d > 0) record = record * idx.shape[d];
  }
  const Checked want = record * idx.shape[0];
  const auto have = static_cast<int64_t>(bytes.size() - idx.header);
  if (want.ok() && want.value() == have) return idx;
  const std::string message = "length does not match its header " + to_string(idx.shape);
  const bool ends_early = record.ok() && record.value() > 0 && want.value() > have;
  if (damaged == Damaged::kRefuse || !ends_early) return corrupt(path, message);
  idx.shape[0] = have / record.value();
  idx.damage = {path.string() + " at byte " + std::to_string(bytes.size()) + ": " + message};
  return idx;
}

}  // namespace

Opened open_idx(const fs::path& folder, Split split, Damaged damaged) {
  const std::string images_name = "-images-idx3-ubyte", labels_name = "-labels-idx1-ubyte";
  for (const std::string& part : names_of(split, {"train"}, {"t10k"})) {
    const auto image_path = find_file(folder, std::vector{part + images_name});
    const auto label_path = find_file(folder, std::vector{part + labels_name});
    if (!image_path && !label_path) continue;
    if (!image_path) return absent(folder, part + images_name + "[.gz]");
    if (!label_path) return absent(folder, part + labels_name + "[.gz]");
    SHOAL_ASSIGN(Idx images, read_idx(*image_path, 3, damaged));
    if (const Status status = check_images({DType::kU8, images.shape}); !status.ok()) {
      return corrupt(*image_path, std::string(status.message()));
    }
    SHOAL_ASSIGN(Idx labels, read_idx(*label_path, 1, damaged));
    std::vector<std::string> damage = std::move(images.damage);
    damage.insert(damage.end(), labels.damage.begin(), labels.damage.end());
    // Files that ended early may end at different examples.
    if (images.shape[0] != labels.shape[0] && damage.empty()) {
      return corrupt(*label_path, "not as many labels as images");
    }
    const auto count = static_cast<size_t>(std::min(images.shape[0], labels.shape[0]));
    images.bytes.erase(images.bytes.begin(),
                       images.bytes.begin() + static_cast<ptrdiff_t>(images.header));
    const uint8_t* first = labels.bytes.data() + labels.header;
    return opened({.shape = {images.shape[1], images.shape[2], 1},
                   .planes = false,
                   .pixels = std::move(images.bytes),
                   .labels = std::vector<int64_t>(first, first + count)},
                  {{*label_path, labels.header, 1, count}}, std::move(damage));
  }
  return absent(folder, names_of(split, {"train"}, {"t10k"})[0] + images_name + "[.gz]");
}

Opened open_cifar(const fs::path& folder, Split split, Damaged damaged) {
  constexpr size_t kPixels = 3072, kRecord = kPixels + 1;
  const std::vector<std::string> names =
      names_of(split, {"cifar10-train.bin", "train.bin"},
               {"test_batch.bin", "cifar10-test.bin", "test.bin"});
  std::vector<fs::path> paths;
  if (const auto path = find_file(folder, names)) paths = {*path};
  // The numbered files are looked for last: some copies have both forms.
  if (paths.empty() && split != Split::kHeldOut) paths = numbered_files(folder);
  if (paths.empty()) return absent(folder, names[0] + "[.gz]");
  Images images{.shape = {32, 32, 3}, .planes = true, .pixels = {}, .labels = {}};
  std::vector<Records> records;
  std::vector<std::string> damage;
  for (const fs::path& path : paths) {
    SHOAL_ASSIGN(const auto bytes, read_maybe_gzip(path, damaged));
    const size_t count = bytes.size() / kRecord;
    if (count == 0 || bytes.size() % kRecord != 0) {
      const std::string message = "length is not a multiple of " + std::to_string(kRecord);
      if (damaged == Damaged::kRefuse) return corrupt(path, message);
      damage.push_back(path.string() + " at byte " + std::to_string(count * kRecord) + ": " +
                       message);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* record = bytes.data() + i * kRecord;
      images.labels.push_back(record[0]);
      images.pixels.insert(images.pixels.end(), record + 1, record + kRecord);
    }
    records.push_back({path, 0, kRecord, count});
  }
  return opened(std::move(images), std::move(records), std::move(damage));
}

Opened open_npy(const fs::path& folder, Split split) {
  for (const std::string& part : names_of(split, {"train-", ""}, {"test-"})) {
    const fs::path image_path = folder / (part + "images.npy");
    const fs::path label_path = folder / (part + "labels.npy");
    if (!is_file(image_path)) continue;
    if (!is_file(label_path)) return absent(folder, part + "labels.npy");
    SHOAL_ASSIGN(const Tensor images, read_npy(image_path));
    SHOAL_ASSIGN(const Tensor labels, read_npy(label_path));
    const Shape& shape = images.shape();
    if (const Status status = check_images(images.type()); !status.ok()) {
      return corrupt(image_path, std::string(status.message()));
    }
    if (labels.shape() != Shape{shape[0]} || Floats::contains(labels.dtype())) {
      return corrupt(label_path, "should be " + std::to_string(shape[0]) + " integers, is " +
                                     to_string(labels.type()));
    }
    std::vector<int64_t> classes;
    visit<AllTypes>(labels.dtype(), [&]<class T>() {
      for (T x : labels.data<T>()) classes.push_back(static_cast<int64_t>(x));
    });
    const auto bytes = images.data<uint8_t>();
    const size_t stride = labels.bytes().size() / std::max<size_t>(classes.size(), 1);
    std::error_code error;
    const size_t header = fs::file_size(label_path, error) - labels.bytes().size();
    if (error) return system_status(error.value()).at(label_path.string());
    const size_t count = classes.size();
    return opened({.shape = {shape[1], shape[2], shape.rank() == 4 ? shape[3] : 1},
                   .planes = false,
                   .pixels = {bytes.begin(), bytes.end()},
                   .labels = std::move(classes)},
                  {{label_path, header, stride, count}}, {});
  }
  return absent(folder, names_of(split, {"train-", ""}, {"test-"})[0] + "images.npy");
}

}  // namespace shoal::data
