// Labelled images on disk, in the formats everybody's data comes in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

namespace shoal {

struct Example {
  Tensor image;  // u8 [h, w, c]
  int64_t label = 0;
};

// Random access, read lazily where an example is a file of its own. Any threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual size_t size() const = 0;
  virtual Result<Example> at(size_t index) const = 0;
  // Which file an example is in, and from which byte on, for messages.
  virtual std::string place(size_t index) const = 0;
  // What was left out when it was opened with kSkip, a line each.
  virtual std::vector<std::string> damage() const { return {}; }
};

enum class Split {
  kAny,       // the held-out examples if there are such, else all there are
  kTraining,  // the examples to learn from
  kHeldOut,   // those only; kNotFound where they are not kept apart
};
enum class Damaged { kRefuse, kSkip };  // of a file that ends early: use what is whole, or nothing

// `format`, and the files of each split:
//   idx     MNIST's: train-images-idx3-ubyte and train-labels-idx1-ubyte; t10k-*; plain or .gz
//   cifar   records of one label byte and 3072 bytes of RGB planes: data_batch_1.bin ... or
//           train.bin; test_batch.bin or test.bin; cifar10-* too; plain or .gz
//   npy     u8 arrays train-images.npy [n, h, w] or [n, h, w, c] and train-labels.npy [n]
//   (integers),
//           or images.npy and labels.npy; test-*
//   folder  labels.txt with lines "file class-number ...", or one sub-folder per class, in order;
//           of train/ and test/ (or val/) where there are such folders
Result<std::unique_ptr<Dataset>> open_dataset(const std::filesystem::path& folder,
                                              std::string_view format, Split split = Split::kAny,
                                              Damaged damaged = Damaged::kRefuse);

// Some examples of another data set, which lives as long as this.
std::unique_ptr<Dataset> make_subset(std::shared_ptr<const Dataset> whole,
                                     std::vector<size_t> indices);

}  // namespace shoal
