// TensorProto -> Tensor: a view of the file where its bytes can be used in place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "shoal/base/files/file.h"
#include "shoal/base/limits.h"
#include "shoal/base/status.h"
#include "shoal/model/onnx/format/proto.h"
#include "shoal/model/tensor/dtype.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::onnx {

// Element types as a file gives them. Types that the engine does not have are refused by name.

// `number` is one of TensorProto.DataType. For a narrow one (shoal/model/ops/narrow_type.h) it is
// the type that holds it. kUnsupported for a type that exists, kCorrupt for other numbers.
Result<DType> element_type(int64_t number);

// A few bytes of a file can claim any dense size, so the sum of all sparse tensors is bounded well
// below the size that one tensor with real data may have.
inline constexpr int64_t kMostExpandedBytes = kLimits.max_folded_bytes / 4;

// Makes the tensors of one model. Tensors keep the memory that they view alive. Not thread-safe;
// loaded protos must outlive it, because they are the keys of its cache.
class TensorLoader {
 public:
  // `owner` keeps the bytes of the model alive. `mapping` is the same file, if it is one, so that
  // pages can be released once they are copied. External data is read from `folder` and nowhere
  // else; if it is empty, external data is refused.
  TensorLoader(std::shared_ptr<const void> owner, const MappedFile* mapping,
               std::filesystem::path folder);

  // Loading a proto again returns the same tensor, so inlining a function repeatedly costs no
  // memory.
  Result<Tensor> load(const TensorProto& proto);
  Result<Tensor> load(const SparseTensorProto& proto);

 private:
  struct Source {
    Bytes bytes;
    std::shared_ptr<const void> owner;
    const MappedFile* mapping;
  };

  Result<Tensor> read(const TensorProto& proto);
  Result<Tensor> expand(const SparseTensorProto& proto);
  Result<Source> external(const TensorProto& proto, size_t size);
  Result<std::shared_ptr<const MappedFile>> external_file(std::string_view location);

  std::shared_ptr<const void> owner_;
  const MappedFile* mapping_;
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;
  std::unordered_map<const void*, Tensor> loaded_;
  int64_t expanded_left_;  // bytes left for sparse tensors
};

}  // namespace shoal::onnx
