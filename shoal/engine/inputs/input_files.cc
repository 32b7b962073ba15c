// Files as inputs of a model: which of a folder are taken, and how they are read.
#include "shoal/engine/inputs/input_files.h"

#include <algorithm>

#include "shoal/engine/inputs/npy.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// The bits are the same; only the type differs.
Tensor as_declared(const Tensor& tensor, DType declared) {
  if (declared != DType::kBF16 || tensor.dtype() != DType::kU16) return tensor;
  Tensor bits({DType::kBF16, tensor.shape()});
  std::ranges::copy(tensor.bytes(), bits.bytes().begin());
  return bits;
}

}  // namespace

Result<std::vector<fs::path>> list_input_files(const fs::path& folder, size_t limit) {
  std::vector<fs::path> files;
  std::error_code error;
  // Not a range-based for, whose ++ throws at a folder inside that cannot be read.
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (is_image_file(path) || path.extension() == ".npy") files.push_back(path);
  }
  if (error) {
    return Status(Code::kNotFound, "cannot read " + folder.string() + ": " + error.message());
  }
  if (files.empty()) {
    return Status(Code::kNotFound, "no .jpg, .png or .npy file in " + folder.string());
  }
  // Folders list files in any order.
  std::ranges::sort(files);
  if (files.size() <= limit) return files;
  // Evenly spread: examples of one class are often neighbours.
  std::vector<fs::path> some;
  for (size_t i = 0; i < limit; ++i) some.push_back(files[i * files.size() / limit]);
  return some;
}

Result<Tensor> read_input_file(const fs::path& file, DType dtype, std::span<const int64_t> dims,
                               const Preprocess& how) {
  if (is_image_file(file)) {
    SHOAL_ASSIGN(const Tensor image, read_image(file));
    return image_for_input(image, dims, how);
  }
  SHOAL_ASSIGN(const Tensor array, read_npy(file));
  return as_declared(array, dtype);
}

}  // namespace shoal
