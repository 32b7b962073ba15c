// The types of attributes by name: see attribute_kind.h.
#include "shoal/model/onnx/format/attribute_kind.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace shoal::onnx {
namespace {

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

}  // namespace

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

}  // namespace shoal::onnx
