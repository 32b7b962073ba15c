#include "shoal/model/onnx/program/onnx_model.h"

#include <algorithm>

#include "shoal/base/text/printable.h"
#include "shoal/model/onnx/format/tensors.h"
#include "shoal/model/onnx/opsets/normalize.h"

namespace shoal::onnx {
namespace {

Result<DeclaredType> declared_type(const TypeProto& proto) {
  if (proto.kind != "tensor") {
    return Status(Code::kUnsupported, "is a " + std::string(proto.kind) + ", not a tensor");
  }
  SHOAL_ASSIGN(const DType dtype, element_type(proto.element));
  DeclaredType type{dtype, std::nullopt};
  if (!proto.shape) return type;
  if (proto.shape->size() > Shape::kMaxRank) {
    return Status(Code::kUnsupported, "rank " + std::to_string(proto.shape->size()) +
                                          " is more than " + std::to_string(Shape::kMaxRank));
  }
  type.dims.emplace();
  for (const DimensionProto& dim : *proto.shape) {
    if (dim.value && (*dim.value < 0 || *dim.value > kLimits.max_dimension)) {
      return invalid("dimension " + std::to_string(*dim.value) + " is out of range");
    }
    if (dim.symbol.size() > kLimits.max_name_bytes)
      return invalid("a dimension's name is too long");
    // A number is binding; a symbol beside it would only repeat it.
    type.dims->push_back({dim.value, std::string(dim.value ? "" : dim.symbol)});
  }
  return type;
}

// The size of a type with open dimensions is at least this. One that is too large is refused before
// anything is bound.
Status check_size(const DeclaredType& type) {
  if (!type.dims || type.dims->size() > Shape::kMaxRank) return {};
  TensorType known{type.dtype, {}};
  for (const Dimension& dim : *type.dims) known.shape.push_back(dim.size.value_or(1));
  return check(known);
}

// Marks the slots whose shape some step depends on. CastLike reads only the type of its second
// input.
void mark_read_shapes(const Block& block, std::vector<bool>& read) {
  auto mark = [&](Slot slot) {
    if (slot != kNoSlot) read[static_cast<size_t>(slot)] = true;
  };
  for (const Step& step : block.steps) {
    const size_t count = step.op == "CastLike" ? 1 : step.inputs.size();
    for (size_t i = 0; i < std::min(count, step.inputs.size()); ++i) mark(step.inputs[i]);
    for (const Block& branch : step.branches) mark_read_shapes(branch, read);
  }
  for (Slot slot : block.results) mark(slot);
}

// A default must fit the declaration, or leaving the input out would give it another type.
bool fits(const TensorType& type, const DeclaredType& declared) {
  if (type.dtype != declared.dtype) return false;
  if (!declared.dims) return true;
  if (declared.dims->size() != type.shape.rank()) return false;
  for (size_t d = 0; d < type.shape.rank(); ++d) {
    if ((*declared.dims)[d].size.value_or(type.shape[d]) != type.shape[d]) return false;
  }
  return true;
}

Result<std::vector<ModelInput>> declared_inputs(const GraphProto& graph, const Program& program) {
  std::vector<ModelInput> inputs;
  std::vector<bool> read(program.slots.size(), false);
  mark_read_shapes(program.main, read);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueInfoProto& info = graph.inputs[i];
    const std::string place = "input " + printable(info.name);
    if (!info.type) return invalid("has no type").at(place);
    auto type = declared_type(*info.type);
    if (!type.ok()) return type.status().at(place);
    if (Status size = check_size(*type); !size.ok()) return size.at(place);
    const auto slot = static_cast<size_t>(program.inputs[i]);
    const int32_t constant = program.slots[slot].constant;
    if (constant >= 0) {
      const TensorType& stored = program.constants[static_cast<size_t>(constant)].type();
      if (!fits(stored, *type)) {
        return invalid("is declared as " + to_string(*type) + ", its initializer is " +
                       to_string(stored))
            .at(place);
      }
    }
    inputs.push_back({std::string(info.name), *std::move(type), constant >= 0, read[slot]});
  }
  return inputs;
}

Result<std::vector<ModelOutput>> declared_outputs(const GraphProto& graph) {
  std::vector<ModelOutput> outputs;
  for (const ValueInfoProto& info : graph.outputs) {
    ModelOutput output{std::string(info.name), std::nullopt};
    // The type of an output is optional in practice: it is inferred anyway.
    if (info.type && info.type->kind != "undefined") {
      auto type = declared_type(*info.type);
      if (!type.ok()) return type.status().at("output " + printable(info.name));
      output.type = *std::move(type);
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

std::string warning_of(const Program& program) {
  if (program.newest_opset <= kNewestOpset) return {};
  const std::string newest = std::to_string(kNewestOpset);
  return "opset " + std::to_string(program.newest_opset) + " is newer than " + newest +
         ", the newest known: every operator is read as that of " + newest;
}

Metadata metadata_of(const ModelProto& proto, const Program& program) {
  Metadata metadata;
  metadata.warning = warning_of(program);
  metadata.ir_version = proto.ir_version;
  // Text of the file that is shown to people goes through printable(), here and in every message.
  metadata.producer = printable(proto.producer);
  if (!proto.producer_version.empty()) metadata.producer += " " + printable(proto.producer_version);
  for (const OpsetProto& opset : proto.opsets) {
    metadata.opsets.emplace_back(printable(opset.domain), opset.version);
  }
  // Of two entries with one key the first counts, as in the Python package of ONNX's checker: a
  // valid file has none.
  for (const auto& [key, value] : proto.properties) {
    metadata.properties.emplace(std::string(key), std::string(value));
  }
  return metadata;
}

}  // namespace

std::string to_string(const DeclaredType& type) {
  std::string text(name_of(type.dtype));
  if (!type.dims) return text + "[...]";
  text += "[";
  for (size_t i = 0; i < type.dims->size(); ++i) {
    const Dimension& dim = (*type.dims)[i];
    text += i > 0 ? "," : "";
    text += dim.size ? std::to_string(*dim.size) : dim.symbol.empty() ? "?" : printable(dim.symbol);
  }
  return text + "]";
}

Result<std::shared_ptr<const Model>> Model::open(const std::filesystem::path& path) {
  SHOAL_ASSIGN(auto file, MappedFile::open(path));
  // External data may lie beside the model and nowhere else.
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  auto model = make(file, file->bytes(), file.get(), folder);
  if (!model.ok()) return model.status().at(printable(path.string(), kLimits.max_name_bytes));
  return model;
}

Result<std::shared_ptr<const Model>> Model::parse(std::shared_ptr<const void> owner, Bytes bytes,
                                                  const std::filesystem::path& folder) {
  return make(std::move(owner), bytes, nullptr, folder);
}

Result<std::shared_ptr<const Model>> Model::make(std::shared_ptr<const void> owner, Bytes bytes,
                                                 const MappedFile* mapping,
                                                 const std::filesystem::path& folder) {
  auto proto = parse_model(bytes);
  if (!proto.ok()) return proto.status().at("not a readable ONNX model");
  if (!proto->graph) return Status(Code::kCorrupt, "not an ONNX model: it has no graph");
  // IR version 3 is the first with today's opset imports.
  if (proto->ir_version < 3) {
    return Status(Code::kUnsupported,
                  "IR version " + std::to_string(proto->ir_version) + " is older than 3");
  }
  TensorLoader loader(owner, mapping, folder);
  std::shared_ptr<Model> model(new Model);
  // Names in the Program point into the file, so the Model keeps it.
  model->owner_ = std::move(owner);
  SHOAL_ASSIGN(model->program_, make_program(*proto, loader));
  SHOAL_ASSIGN(model->inputs_, declared_inputs(*proto->graph, model->program_));
  SHOAL_ASSIGN(model->outputs_, declared_outputs(*proto->graph));
  model->metadata_ = metadata_of(*proto, model->program_);
  return std::shared_ptr<const Model>(std::move(model));
}

}  // namespace shoal::onnx
