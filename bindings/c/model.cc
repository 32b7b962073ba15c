// Models for C.
#include <cstddef>
#include <span>

#include "handles.h"
#include "shoal/model/onnx/export/export.h"

namespace shoal::c {
namespace {

Status open_model(const char* name, shoal_model** out) {
  SHOAL_TRY(require(name, "name"));
  SHOAL_TRY(require(out, "out"));
  SHOAL_ASSIGN(Model model, shoal::open_model(name));
  *out = new shoal_model(std::move(model));
  return {};
}

// The bytes are copied because C cannot express their ownership. Weights are views of the copy.
Status parse_copy(const void* data, size_t bytes, shoal_model** out) {
  SHOAL_TRY(require(data, "data"));
  SHOAL_TRY(require(out, "out"));
  const auto* const first = static_cast<const std::byte*>(data);
  const auto copy = std::make_shared<const std::vector<std::byte>>(first, first + bytes);
  SHOAL_ASSIGN(Model model, parse_model(copy, *copy));
  *out = new shoal_model(std::move(model));
  return {};
}

// Fills as much of the struct as the caller knows. Strings and arrays belong to the model.
Status fill(shoal_value_info* info, const TensorInfo& value) {
  if (info->struct_size < sizeof info->struct_size) {
    return invalid("struct_size is too small; begin with SHOAL_VALUE_INFO_INIT");
  }
  const shoal_value_info full{
      .struct_size = info->struct_size,
      .name = value.name.c_str(),
      .dtype = value.dtype ? static_cast<shoal_dtype>(*value.dtype) : shoal_dtype{-1},
      .rank = value.dims ? static_cast<int32_t>(value.dims->size()) : -1,
      .shape = value.dims ? value.dims->data() : nullptr,
      .optional = value.optional ? 1 : 0,
  };
  std::memcpy(info, &full, std::min(info->struct_size, sizeof full));
  return {};
}

using Values = Result<std::vector<TensorInfo>>;

Status describe(const shoal_model* model, const Values& (shoal_model::*values)() const,
                size_t index, shoal_value_info* info) {
  SHOAL_TRY(require(model, "model"));
  SHOAL_TRY(require(info, "info"));
  const Values& known = (model->*values)();
  if (!known.ok()) return known.status();
  if (index >= known->size()) {
    return invalid("the model has " + std::to_string(known->size()) + ", not number " +
                   std::to_string(index));
  }
  return fill(info, (*known)[index]);
}

// There is no status to return here. shoal_model_input() tells why a model has none.
size_t count(const shoal_model* model, const Values& (shoal_model::*values)() const) noexcept try {
  if (model == nullptr) return 0;
  const Values& known = (model->*values)();
  return known.ok() ? known->size() : 0;
} catch (const std::bad_alloc&) {
  return 0;
}

Status save(const shoal_model* model, const char* path) {
  SHOAL_TRY(require(model, "model"));
  SHOAL_TRY(require(path, "path"));
  SHOAL_ASSIGN(const LoadedGraph loaded, model->model.graph());
  return onnx::write_onnx(loaded.graph, path, loaded.outputs);
}

}  // namespace
}  // namespace shoal::c

shoal_status* shoal_model_open(const char* name, shoal_model** out) {
  return shoal::c::guarded([&] { return shoal::c::open_model(name, out); });
}

shoal_status* shoal_model_parse(const void* data, size_t bytes, shoal_model** out) {
  return shoal::c::guarded([&] { return shoal::c::parse_copy(data, bytes, out); });
}

size_t shoal_model_input_count(const shoal_model* model) {
  return shoal::c::count(model, &shoal_model::inputs);
}

size_t shoal_model_output_count(const shoal_model* model) {
  return shoal::c::count(model, &shoal_model::outputs);
}

shoal_status* shoal_model_input(const shoal_model* model, size_t index, shoal_value_info* info) {
  return shoal::c::guarded(
      [&] { return shoal::c::describe(model, &shoal_model::inputs, index, info); });
}

shoal_status* shoal_model_output(const shoal_model* model, size_t index, shoal_value_info* info) {
  return shoal::c::guarded(
      [&] { return shoal::c::describe(model, &shoal_model::outputs, index, info); });
}

shoal_status* shoal_model_save(const shoal_model* model, const char* path) {
  return shoal::c::guarded([&] { return shoal::c::save(model, path); });
}

void shoal_model_free(shoal_model* model) { delete model; }
