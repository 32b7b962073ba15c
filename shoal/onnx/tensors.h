// TensorProto -> Tensor: a view of the file where its bytes can be used as they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "shoal/base/file.h"
#include "shoal/onnx/proto.h"
#include "shoal/tensor/tensor.h"

namespace shoal::onnx {

// Makes the tensors of one model. Tensors keep alive what they view.
class TensorLoader {
 public:
  // `owner` keeps the bytes of the model. `mapping` is the same file if it is one, so that pages
  // that were copied can be given back. External data is looked for in `folder`, nowhere else;
  // if that is empty it is refused.
  TensorLoader(std::shared_ptr<const void> owner, const MappedFile* mapping,
               std::filesystem::path folder);

  // The same proto gives the same tensor again, so a function inlined often costs no more.
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
  int64_t expanded_left_;  // bytes sparse tensors may still grow to; see tensors.cc
};

}  // namespace shoal::onnx
