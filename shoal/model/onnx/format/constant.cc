#include "shoal/model/onnx/format/constant.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "shoal/base/overloaded.h"
#include "shoal/base/text/printable.h"
#include "shoal/model/onnx/format/proto.h"

namespace shoal::onnx {
namespace {

// The types of attributes. In ONNX the name implies the type, whatever the operator, with few
// exceptions.

// The types of attributes by name.

// The names that have one type in all supported operators, separated by spaces.
constexpr std::pair<AttributeKind, std::string_view> kNames[] = {
    {AttributeKind::kFloat,
     "alpha beta bias clip cubic_coeff_a epsilon extrapolation_value gamma height_scale "
     "high lambd low max mean min momentum ratio scale softcap spatial_scale width_scale"},
    {AttributeKind::kInt,
     "align_corners allowzero antialias axis batch_axis batch_dims block_size blocksize "
     "broadcast ceil_mode center_point_box chunk_size count_include_pad detect_negative "
     "detect_positive dtype end exclude_outside exclusive fmod group hidden_size "
     "ignore_index input_forget interleaved inverse is_causal is_test k keepdims kv_num_heads "
     "largest layout "
     "left_window_size linear_before_reset noop_with_empty_axes num_groups num_heads num_outputs "
     "num_scan_inputs "
     "offset_group "
     "onesided output_datatype output_dtype output_height output_sequence output_width "
     "periodic precision q_num_heads qk_matmul_output_mode reverse right_window_size "
     "rotary_embedding_dim "
     "sample_size "
     "sampling_ratio saturate select_last_index size sorted "
     "softmax_precision spatial start stash_type storage_order time_axis training_mode transA "
     "transB upper"},
    {AttributeKind::kString,
     "approximate auto_pad coordinate_transformation_mode direction equation "
     "keep_aspect_ratio_policy mode nearest_mode padding_mode reduction round_mode update_rule"},
    {AttributeKind::kFloats, "activation_alpha activation_beta scales"},
    {AttributeKind::kInts,
     "axes consumed_inputs dilations ends kernel_shape output_padding output_shape "
     "paddings pads perm pooled_shape scan_input_axes scan_input_directions scan_output_axes "
     "scan_output_directions shape split starts strides"},
    {AttributeKind::kStrings, "activations"},
};

std::unordered_map<std::string_view, AttributeKind> make_table() {
  std::unordered_map<std::string_view, AttributeKind> table;
  for (auto [kind, names] : kNames) {
    while (!names.empty()) {
      const size_t end = std::min(names.find(' '), names.size());
      table[names.substr(0, end)] = kind;
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  return table;
}

// Whether an attribute of this operator may have this type. Operators ignore an attribute of a
// wrong type, so the importer has to refuse it before it reaches them. Names that no supported
// operator has may be of any type. Any thread may call it.
bool is_kind_of(std::string_view op, std::string_view attribute, AttributeKind kind) {
  // The exceptions: names that have another type in one operator or opset.
  if (attribute == "value") {
    return kind == (op == "Pad" ? AttributeKind::kFloat : AttributeKind::kTensor);
  }
  if (attribute == "seed") {
    return kind == (op == "Dropout" ? AttributeKind::kInt : AttributeKind::kFloat);
  }
  // Cast had its type as text before opset 6, LpPool its exponent as a float in opset 1.
  if (attribute == "to") return kind == AttributeKind::kInt || kind == AttributeKind::kString;
  if (attribute == "p") return kind == AttributeKind::kInt || kind == AttributeKind::kFloat;
  // These operators were dropped from ONNX before the types of such names were settled.
  if (op == "Crop" || op == "ImageScaler") return true;
  static const auto table = make_table();
  const auto it = table.find(attribute);
  return it == table.end() || it->second == kind;
}

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of<T>(Shape{static_cast<int64_t>(values.size())}, std::span<const T>(values));
}

Result<Attribute> convert_one(const AttributeProto& proto, TensorLoader& loader) {
  using Out = Result<Attribute>;
  return std::visit(Overloaded{
                        [](float v) -> Out { return Attribute(v); },
                        [](int64_t v) -> Out { return Attribute(v); },
                        [](std::string_view v) -> Out { return Attribute(std::string(v)); },
                        [](const std::vector<float>& v) -> Out { return Attribute(v); },
                        [](const std::vector<int64_t>& v) -> Out { return Attribute(v); },
                        [](const std::vector<std::string_view>& v) -> Out {
                          return Attribute(std::vector<std::string>(v.begin(), v.end()));
                        },
                        [&](const std::shared_ptr<const TensorProto>& v) -> Out {
                          SHOAL_ASSIGN(Tensor tensor, loader.load(*v));
                          return Attribute(std::move(tensor));
                        },
                        [](const auto&) -> Out {
                          return Status(Code::kUnsupported, "has a type no operator here takes");
                        },
                    },
                    proto.value);
}

}  // namespace

// In a function, an attribute may refer to one of the call. A call may leave it out; the attribute
// is then absent, not an error.
Result<std::vector<Argument>> resolve(std::span<const AttributeProto> attributes,
                                      const CallAttributes& call) {
  std::vector<Argument> arguments;
  std::unordered_set<std::string_view> seen;
  for (const AttributeProto& attribute : attributes) {
    if (!seen.insert(attribute.name).second) {
      return invalid("attribute " + printable(attribute.name) + " is given twice");
    }
    if (attribute.reference.empty()) {
      arguments.push_back({attribute.name, &attribute});
      continue;
    }
    const auto it = call.find(attribute.reference);
    if (it == call.end()) continue;
    const AttributeProto* given = it->second;
    // The function declares the type it expects. A call with another would reach an operator as a
    // wrong type.
    if (attribute.kind != AttributeKind{} && given->kind != attribute.kind) {
      return invalid("attribute " + printable(attribute.name) + " has the wrong type in the call");
    }
    arguments.push_back({attribute.name, given});
  }
  return arguments;
}

Result<Attributes> convert(std::string_view op, std::span<const Argument> arguments,
                           TensorLoader& loader) {
  Attributes attributes;
  for (const Argument& argument : arguments) {
    if (!is_kind_of(op, argument.name, argument.proto->kind)) {
      return invalid("attribute " + printable(argument.name) + " has the wrong type");
    }
    auto value = convert_one(*argument.proto, loader);
    if (!value.ok()) return value.status().at("attribute " + printable(argument.name));
    attributes.emplace(argument.name, *std::move(value));
  }
  return attributes;
}

// Inlining copies the attributes of a function once per call, so their memory is charged by this
// size. Tensors are shared between the copies.
size_t size_of(const Attributes& attributes) {
  size_t bytes = 0;
  for (const auto& [name, value] : attributes) {
    bytes += sizeof(Attributes::value_type) + name.size();
    if (const auto* s = std::get_if<std::string>(&value)) bytes += s->size();
    if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) bytes += v->size() * 8;
    if (const auto* v = std::get_if<std::vector<float>>(&value)) bytes += v->size() * 4;
    if (const auto* v = std::get_if<std::vector<std::string>>(&value)) {
      for (const std::string& s : *v) bytes += sizeof(s) + s.size();
    }
  }
  return bytes;
}

Result<Tensor> constant_of(std::span<const Argument> arguments, TensorLoader& loader) {
  if (arguments.size() != 1) return invalid("a Constant has one attribute");
  using Out = Result<Tensor>;
  return std::visit(
      Overloaded{
          [](float v) -> Out { return Tensor::of<float>({}, {v}); },
          [](int64_t v) -> Out { return Tensor::of<int64_t>({}, {v}); },
          [](const std::vector<float>& v) -> Out { return vector_of(v); },
          [](const std::vector<int64_t>& v) -> Out { return vector_of(v); },
          [&](const std::shared_ptr<const TensorProto>& v) { return loader.load(*v); },
          [&](const std::shared_ptr<const SparseTensorProto>& v) { return loader.load(*v); },
          [](const auto&) -> Out {
            return Status(Code::kUnsupported, "a Constant that is not a tensor of numbers");
          },
      },
      arguments[0].proto->value);
}

}  // namespace shoal::onnx
