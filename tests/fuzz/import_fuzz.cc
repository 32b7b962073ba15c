// Any bytes as a model: parsed, and bound with every open dimension 1.
#include <cstddef>
#include <cstdint>
#include <span>

#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/onnx_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  auto model = onnx::Model::parse(nullptr, std::as_bytes(std::span(data, size)));
  if (!model.ok()) return 0;
  auto known = onnx::declared_inputs(**model);
  if (known.ok()) (void)onnx::bind(*model, *known).ok();
  return 0;
}
