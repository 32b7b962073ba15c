// Labelled images on disk, in the formats everybody's data comes in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

namespace shoal {

struct Example {
  Tensor image;  // u8 [h, w, c]
  int64_t label = 0;
};

// Random access, read lazily where an example is a file of its own.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual size_t size() const = 0;
  virtual Result<Example> at(size_t index) const = 0;
};

// `format`:
//   idx     MNIST's files: t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (train-* if those are
//           absent), plain or .gz
//   cifar   records of one label byte and 3072 bytes of RGB planes: test_batch.bin and its like
//   folder  labels.txt with lines "file class-number ...", or one sub-folder per class, in order
Result<std::unique_ptr<Dataset>> open_dataset(const std::filesystem::path& folder,
                                              std::string_view format);

}  // namespace shoal
