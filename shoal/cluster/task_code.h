// TaskCode: what a task reads of a code, on the wire and on a worker.
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

// As a plan has it.
TaskCode task_code(const Graph& graph, const plan::Plan& plan, const plan::CodeRead& read);

void encode(const TaskCode& code, message::Code& to);

// Whatever passes can be decoded, from any members of which there are enough.
Result<TaskCode> decode(const message::Code& from);
Result<TaskCode> code_from(std::string_view bytes);

// The data that are not there (undefined), computed in their place.
void recover_data(const TaskCode& code, std::vector<Tensor>& members);

}  // namespace shoal::cluster
