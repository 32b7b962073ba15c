// Codes on the wire and in tasks. A code arrives from a coordinator and is checked in full:
// recovery divides by its coefficients and walks its members' boxes without further checks.
#include "shoal/cluster/tasks/task_code.h"

#include <algorithm>
#include <set>

#include "messages.pb.h"
#include "shoal/cluster/messages/wire.h"

namespace shoal::cluster {
namespace {

Status misfit() { return Status(Code::kCorrupt, "the members of a code do not fit"); }

// OK iff the boxes differ only along the axis, where each begins at zero and parities are the
// longest.
Status check_members(const TaskCode& code) {
  const Region& first = code.members.back().region;
  if (code.axis >= first.begin.rank()) return misfit();
  std::set<ValueId> known;
  int64_t longest = 0;
  for (size_t i = 0; i < code.members.size(); ++i) {
    Region box = code.members[i].region;
    if (box.begin.rank() != first.begin.rank() || box.begin[code.axis] != 0) return misfit();
    const int64_t length = box.end[code.axis];
    if (i < code.data_count()) longest = std::max(longest, length);
    box.end[code.axis] = first.end[code.axis];
    if (box != first || plan::is_empty(box) || length < 1) return misfit();
    if (i >= code.data_count() && length != longest) return misfit();
    if (!known.insert(code.members[i].value).second) return misfit();
    SHOAL_TRY(check(code.type_of(i)));
  }
  return {};
}

}  // namespace

TaskCode task_code(const Graph& graph, const plan::Plan& plan, const plan::CodeRead& read) {
  const plan::ErasureCode& code = plan.codes[read.code];
  TaskCode its{code.coefficients, code.axis, graph[code.data[0]].type.dtype, read.data};
  its.members.insert(its.members.end(), read.parity.begin(), read.parity.end());
  return its;
}

void encode(const TaskCode& code, message::Code& to) {
  to.set_axis(static_cast<uint32_t>(code.axis));
  to.set_dtype(static_cast<uint32_t>(code.dtype));
  for (const plan::Piece& member : code.members) encode(member, *to.add_members());
  to.set_parities(static_cast<uint32_t>(code.coefficients.size()));
  for (const std::vector<double>& row : code.coefficients) {
    for (double c : row) to.add_coefficients(c);
  }
}

Result<TaskCode> decode(const message::Code& from) {
  TaskCode code;
  const auto members = static_cast<size_t>(from.members_size());
  const size_t parities = from.parities();
  if (parities >= members || parities == 0 || parities > plan::kMostParities) return misfit();
  const size_t data = members - parities;
  // Before the rows are cut out of the list. Both factors are bounded by the size of the message.
  if (static_cast<size_t>(from.coefficients_size()) != parities * data) return misfit();
  for (size_t p = 0; p < parities; ++p) {
    const auto row = from.coefficients().begin() + static_cast<int>(p * data);
    code.coefficients.emplace_back(row, row + static_cast<int>(data));
  }
  if (from.dtype() != static_cast<uint32_t>(DType::kF32) &&
      from.dtype() != static_cast<uint32_t>(DType::kI32)) {
    return misfit();
  }
  code.dtype = static_cast<DType>(from.dtype());
  SHOAL_TRY(plan::check_coefficients(code.coefficients, data, code.dtype == DType::kI32));
  code.axis = from.axis();
  for (const message::Piece& member : from.members()) {
    SHOAL_ASSIGN(plan::Piece piece, decode(member));
    code.members.push_back(std::move(piece));
  }
  SHOAL_TRY(check_members(code));
  return code;
}

Result<TaskCode> code_from(std::string_view bytes) {
  message::Code code;
  if (!code.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status(Code::kCorrupt, "a code cannot be read");
  }
  return decode(code);
}

void recover_data(const TaskCode& code, std::vector<Tensor>& members) {
  std::vector<bool> here;
  for (const Tensor& member : members) here.push_back(member.defined());
  const auto recoveries = plan::find_recoveries(code.coefficients, here);
  SHOAL_CHECK(recoveries.has_value());
  // All are computed before any is stored: recoveries read members that were received, not
  // recovered.
  std::vector<Tensor> found;
  for (const plan::Recovery& recovery : *recoveries) {
    const int64_t length = code.type_of(recovery.data).shape[code.axis];
    found.push_back(plan::recover(recovery, members, code.axis, length));
  }
  for (size_t i = 0; i < found.size(); ++i) members[(*recoveries)[i].data] = std::move(found[i]);
}

}  // namespace shoal::cluster
