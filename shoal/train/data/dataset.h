// Labelled images on disk, in common formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// An image and its class.
struct Example {
  Tensor image;       // u8 [h, w, c]
  int64_t label = 0;  // the number of its class, from 0
};

// Random access to examples, which are read lazily if each is a file of its own. Methods are safe
// for concurrent use by multiple threads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  // How many examples there are.
  virtual size_t size() const = 0;
  // An example. Fails, naming file and byte, if it cannot be read. REQUIRES: index < size().
  virtual Result<Example> at(size_t index) const = 0;
  // The file and the first byte of an example, for messages.
  virtual std::string place(size_t index) const = 0;
  // The examples that kSkip left out, a line each.
  virtual std::vector<std::string> damage() const { return {}; }
};

// Which examples of a data set.
enum class Split {
  kAny,       // the held-out examples if there are any, otherwise all
  kTraining,  // the examples to learn from
  kHeldOut,   // held-out examples only; kNotFound if they are not kept apart
};
// What happens to a file that ends early: it is refused, or its whole examples are used.
enum class Damaged { kRefuse, kSkip };

// The data set in a folder. kNotFound if the folder, or the split asked for, is not there;
// kCorrupt, naming file and byte, where a file is damaged; kInvalidArgument for another format.
// `format`, and the files of each split:
//   idx     MNIST's: train-images-idx3-ubyte and train-labels-idx1-ubyte; t10k-*; plain or .gz
//   cifar   records of one label byte and 3072 bytes of RGB planes: data_batch_1.bin ... or
//           train.bin; test_batch.bin or test.bin; cifar10-* too; plain or .gz
//   npy     u8 arrays train-images.npy [n, h, w] or [n, h, w, c] and integers train-labels.npy [n],
//           or images.npy and labels.npy; test-*
//   folder  labels.txt with lines "file class-number ...", files being below its folder, or one
//           sub-folder per class, in order; of train/ and test/ (or val/) if there are such
// A .gz file may unpack to 64 MB, or to 100 times its size if that is more; kCorrupt beyond.
Result<std::unique_ptr<Dataset>> open_dataset(const std::filesystem::path& folder,
                                              std::string_view format, Split split = Split::kAny,
                                              Damaged damaged = Damaged::kRefuse);

// Arrays in memory as a data set, which shares their elements: images u8 [n, h, w] or [n, h, w, c],
// labels integers [n]. Fails with kInvalidArgument if they are something else.
Result<std::unique_ptr<Dataset>> make_array_dataset(const Tensor& images, const Tensor& labels);

// Some examples of another data set, which the result keeps alive. REQUIRES: indices are below
// whole->size().
std::unique_ptr<Dataset> make_subset(std::shared_ptr<const Dataset> whole,
                                     std::vector<size_t> indices);

}  // namespace shoal

#pragma GCC visibility pop
