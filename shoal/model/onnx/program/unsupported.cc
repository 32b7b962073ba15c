#include "shoal/base/text/printable.h"
#include "shoal/model/onnx/program/program.h"

namespace shoal::onnx {
namespace {

// Bounds on the length of the message, and on the memory that a hostile file can take.
constexpr size_t kMaxOperators = 200;
constexpr size_t kMaxNodes = 20;

}  // namespace

void Unsupported::add(std::string_view domain, std::string_view op, std::string node,
                      int64_t opset) {
  const std::string name = (domain.empty() ? "" : printable(domain, 64) + ".") + printable(op, 64) +
                           (opset > 0 ? " of opset " + std::to_string(opset) : "");
  if (operators_.size() >= kMaxOperators && !operators_.contains(name)) {
    ++more_operators_;
    return;
  }
  Users& users = operators_[name];
  if (users.nodes.size() < kMaxNodes) {
    users.nodes.push_back(std::move(node));
  } else {
    ++users.more;
  }
}

Status Unsupported::status() const {
  if (operators_.empty()) return {};
  std::string text;
  for (const auto& [name, users] : operators_) {
    text += (text.empty() ? "" : ", ") + name + " (node ";
    for (size_t i = 0; i < users.nodes.size(); ++i) text += (i > 0 ? ", " : "") + users.nodes[i];
    if (users.more > 0) text += " and " + std::to_string(users.more) + " more";
    text += ")";
  }
  if (more_operators_ > 0) text += " and " + std::to_string(more_operators_) + " more nodes";
  return Status(Code::kUnsupported, "unsupported operators: " + text);
}

}  // namespace shoal::onnx
