// Model: an ONNX file, checked and ready to be bound to concrete inputs (bind.h).
//
//   SHOAL_ASSIGN(auto model, onnx::Model::open("resnet18.onnx"));
//   for (const onnx::ModelInput& input : model->inputs()) ...
//
// Opsets 1 to 27, and later ones where they have not changed what the model uses. The file is
// mapped; weights are views of it where their alignment allows. A Model does not change, so any
// threads may use it at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/onnx/program/program.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::onnx {

// A dimension as a model declares it: a number, a symbol that stands for one, or neither.
struct Dimension {
  std::optional<int64_t> size;
  std::string symbol;
};

struct DeclaredType {
  DType dtype = DType::kF32;
  std::optional<std::vector<Dimension>> dims;  // nothing: any rank
};

std::string to_string(const DeclaredType& type);  // "f32[batch,3,224,224]", "?" where unknown

struct ModelInput {
  std::string name;
  DeclaredType type;
  bool optional = false;   // the model has a default for it
  bool shape_read = true;  // false: not read, or only its element type is
};

struct ModelOutput {
  std::string name;
  std::optional<DeclaredType> type;
};

struct Metadata {
  int64_t ir_version = 0;
  std::string producer;                                 // "pytorch 1.13.1"
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain ("" is ONNX's own), version
  std::string warning;                                  // empty: no warning
  std::map<std::string, std::string> properties;        // metadata_props, unchanged
};

class Model {
 public:
  static Result<std::shared_ptr<const Model>> open(const std::filesystem::path& path);

  // A model in memory that `owner` keeps alive. External data is read from `folder` and nowhere
  // else; if `folder` is empty, external data is refused.
  static Result<std::shared_ptr<const Model>> parse(std::shared_ptr<const void> owner, Bytes bytes,
                                                    const std::filesystem::path& folder = {});

  std::span<const ModelInput> inputs() const { return inputs_; }
  std::span<const ModelOutput> outputs() const { return outputs_; }
  const Metadata& metadata() const { return metadata_; }
  const Program& program() const { return program_; }  // for bind

 private:
  Model() = default;
  static Result<std::shared_ptr<const Model>> make(std::shared_ptr<const void> owner, Bytes bytes,
                                                   const MappedFile* mapping,
                                                   const std::filesystem::path& folder);

  std::shared_ptr<const void> owner_;  // keeps the bytes that program_ points into
  std::vector<ModelInput> inputs_;
  std::vector<ModelOutput> outputs_;
  Metadata metadata_;
  Program program_;
};

}  // namespace shoal::onnx
