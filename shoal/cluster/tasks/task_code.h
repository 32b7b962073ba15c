// TaskCode: the part of an erasure code that one task reads.
#pragma once

#include <string_view>
#include <vector>

#include "shoal/plan/coding/erasure.h"

namespace shoal::cluster {

namespace message {
class Code;
}

struct TaskCode {
  plan::Coefficients coefficients;
  size_t axis = 0;
  DType dtype = DType::kF32;
  std::vector<plan::Piece> members;  // data first, then parities; the same box but for the axis

  size_t data_count() const { return coefficients[0].size(); }
  TensorType type_of(size_t member) const { return {dtype, members[member].region.shape()}; }
};

// The code as a task of a plan's schedule reads it.
TaskCode task_code(const Graph& graph, const plan::Plan& plan, const plan::CodeRead& read);

void encode(const TaskCode& code, message::Code& to);

// kCorrupt unless the code can be decoded from any sufficient number of members.
Result<TaskCode> decode(const message::Code& from);
Result<TaskCode> code_from(std::string_view bytes);

// Computes the missing data (undefined tensors), in place. REQUIRES: as many members are defined as
// there are data.
void recover_data(const TaskCode& code, std::vector<Tensor>& members);

}  // namespace shoal::cluster
