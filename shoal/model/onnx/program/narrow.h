// Which values of a program have one of the element types that tensors here hold in a wider one
// (shoal/model/ops/narrow_type.h). It follows from the file alone, before any shape is known.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/model/onnx/format/constant.h"
#include "shoal/model/onnx/program/program.h"

namespace shoal::onnx {

// The number of the narrow type, TensorProto.DataType; 0: another type.
int64_t narrow_number(int64_t data_type);
int64_t narrow_number(std::span<const Argument> constant);  // of a Constant's attributes

// Of the first output of a step, whose inputs are among the slots. Only few operators of ONNX take
// narrow types, and the others compute with the values as they are held.
int64_t narrow_output(const Step& step, std::span<const SlotInfo> slots);

}  // namespace shoal::onnx
